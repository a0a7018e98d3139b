"""Names of results and refusals as PyTorch 1.13's own tests of named tensors have them."""

import io
from collections import OrderedDict

import pytest
from subject import raises, torch

F = torch.nn.functional


def make(dims, factory=torch.ones):
    """A tensor from `"N:2,C:3"`, `"None:2"` or `"2,3"`."""
    if not dims:
        return factory([])
    if ":" not in dims:
        return factory([int(n) for n in dims.split(",")])
    pairs = [dim.split(":") for dim in dims.split(",")]
    return factory([int(n) for _, n in pairs], names=[None if name == "None" else name for name, _ in pairs])


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("mm", "N:3,C:2 W:2,H:5", "N H"),
        ("mm", "3,2 W:2,H:5", "None H"),
        ("mm", "N:3,C:2 2,5", "N None"),
        ("mv", "N:3,C:2 W:2", "N"),
        ("mv", "3,2 W:2", "None"),
        ("addmv", "3 N:3,C:2 H:2", "N"),
        ("addmm", "3,5 N:3,C:2 W:2,H:5", "N H"),
        ("addmm", "N:3,None:5 N:3,C:2 W:2,H:5", "N H"),
        ("bmm", "N:7,A:3,B:2 N:7,A:2,B:5", "N A B"),
        ("bmm", "7,3,2 N:7,A:2,B:5", "N None B"),
        ("bmm", "N:7,A:3,B:2 7,2,5", "N A None"),
        ("dot", "C:2 W:2", ""),
        ("matmul", "A:2 B:2", ""),
        ("matmul", "A:3,C:2 B:2", "A"),
        ("matmul", "A:5,C:3,D:2 B:2", "A C"),
        ("matmul", "C:2 A:2,B:3", "B"),
        ("matmul", "C:2 A:3,B:2,D:5", "A D"),
        ("matmul", "A:3,B:2 A:2,B:3", "A B"),
        ("matmul", "C:5,A:3,B:2 A:2,B:3", "C A B"),
        ("matmul", "C:5,A:3,B:2 None:1,A:2,B:3", "C A B"),
        ("matmul", "C:5,A:3,B:2 None:2,None:1,A:2,B:3", "None C A B"),
        ("cdist", "M:3,N:1,first:2,features:7 N:5,second:11,features:7", "M N first second"),
    ],
)
def test_products(name, operands, result):
    expected = tuple(None if word == "None" else word for word in result.split())
    tensors = [make(dims) for dims in operands.split()]
    assert getattr(torch, name)(*tensors).names == expected
    if name in ("mm", "bmm", "mv", "addmm", "addmv"):
        assert getattr(torch, name)(*tensors, out=torch.empty(0)).names == expected


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("mm", "N:3,C:2 W:2,N:5", "with duplicate names ['N', 'N']"),
        ("bmm", "N:7,A:3,B:2 N:7,B:2,A:5", "with duplicate names ['N', 'A', 'A']"),
        ("bmm", "N:3,A:3,B:3 M:3,A:3,B:3", "matmul: Expected 'N' (index 0 of ['N', 'A', 'B']) to match 'M' "
                                           "(index 0 of ['M', 'A', 'B']) but they do not match."),
        ("bmm", "N:3,A:3,B:3 None:3,N:3,B:3", "matmul: Cannot match 'N' (index 0 of ['N', 'A', 'B']) with None (index 0 of "
                                              "[None, 'N', 'B']) because the latter names already have 'N'. Are your tensors "
                                              "misaligned?"),
        ("matmul", "N:3,A:3,B:3 A:3,N:3,B:3", "but they do not match."),
    ],
)  # fmt: skip
def test_products_that_are_refused(name, operands, message):
    with raises(RuntimeError, message):
        getattr(torch, name)(*[make(dims) for dims in operands.split()])


def test_in_place_and_out_must_have_the_names_that_are_computed():
    with raises(
        RuntimeError,
        "specified out tensor with names ['N', None] are not the same as the computed output names ['N', 'C']",
    ):
        make("N:2,None:3").masked_fill_((make("2,3") > 0).rename("N", "C"), 3.14)
    with raises(RuntimeError, "Name mismatch"):
        make("None:2,C:3").add_(make("N:2,C:3"))
    for source, out in (("N:2,None:3", "N:2,C:3"), ("N:2,C:3", "N:2,None:3"), ("2,3", "N:2,C:3")):
        with raises(RuntimeError, "Name mismatch"):
            torch.abs(make(source), out=make(out))
    assert not torch.abs(make("2,3"), out=make("2,3")).has_names()
    for name in ("add", "pow", "atan2"):
        assert getattr(torch, name)(make("N:2,C:3"), make("C:3"), out=torch.empty(0)).names == ("N", "C")
    assert torch.cumsum(make("N:2,C:3"), "C", out=torch.empty(0)).names == ("N", "C")
    assert torch.masked_select(make("N:2,C:3"), make("C:3") > 0, out=torch.empty(0)).names == (None,)


def test_copy_takes_on_names():
    assert torch.empty(2, 5).copy_(torch.empty(5, 2).t().rename_("N", "C")).names == ("N", "C")
    assert make("N:2,C:5").copy_(torch.empty(5, 2).t().rename_("N", "C")).names == ("N", "C")


def test_masks():
    for x, mask in (("N:2,C:3", "N:2,C:3"), ("C:3", "N:2,C:3"), ("N:2,C:3", "C:3")):
        assert torch.masked_select(make(x), make(mask) > 0).names == (None,)
    assert make("N:2,C:3").masked_fill(make("C:3") > 0, 3.14).names == ("N", "C")
    for function in (torch.masked_select, lambda x, mask: x.masked_fill(mask, 3.14)):
        with raises(RuntimeError, "do not match"):
            function(make("N:2,C:3"), make("D:3") > 0)


def test_cat():
    with raises(RuntimeError, "do not match"):
        torch.cat([make("N:2,C:3"), make("C:3,N:2")])
    with raises(RuntimeError, "zero-dim"):
        torch.cat([make(""), make("")])
    with raises(RuntimeError, "same number of dimensions"):
        torch.cat([make("N:2,C:3"), make("C:3")])
    assert torch.cat([make("N:2,C:3"), make("N:2,C:3")], out=torch.empty(0)).names == ("N", "C")


def test_equality_is_of_names_too():
    x = torch.rand(2, 3)
    assert torch.equal(x.rename("N", "C"), x.clone().rename("N", "C"))
    assert not torch.equal(x.rename("M", "C"), x.rename("N", "C"))
    assert not torch.equal(x.rename(None, "C"), x.rename("N", "C"))


def test_tensors_of_tensors():
    x = make("N:1,D:1")
    with pytest.warns(UserWarning, match="copy construct"):
        assert torch.tensor(x).names == torch.tensor(x, names=None).names == ("N", "D")
        assert torch.tensor(x.rename(None), names=("N", "C")).names == ("N", "C")
        with raises(RuntimeError, "Name mismatch"):
            torch.tensor(x, names=("N", "C"))
    assert torch.tensor([[1]], names=[]).names == (None, None)


def test_sizes_and_strides_by_name():
    t = make("N:2,None:3,C:5")
    assert t.size("N") == 2 and t.size("C") == 5 and t.stride("N") == 15
    for function in (t.size, t.stride):
        with raises(RuntimeError, "Name 'channels' not found in Tensor['N', None, 'C']."):
            function("channels")
    with raises(RuntimeError, "Name 'N' not found in Tensor[None, None]."):
        make("2,3").size("N")
    with raises(RuntimeError, "Please look up dimensions by name, got: name = None."):
        t.select(None, 1)
    with raises(RuntimeError, "Please look up dimensions by name, got: name = None."):
        t.sum([None, "C"])


def test_resizing():
    x = make("N:2")
    assert x.resize_([2]).names == ("N",)
    with raises(
        RuntimeError,
        "Cannot resize named tensor with resize_ or resize_as_ (tried to resize Tensor['N'] with size [2] to [3])",
    ):
        x.resize_([3])


def test_diagonals():
    t = make("A:2,B:3,C:5,D:7")
    assert t.diagonal().names == ("C", "D", None) and t.diagonal(1, 3).names == ("A", "C", None)
    assert t.diagonal(outdim="E", dim1="B", dim2="D").names == ("A", "C", "E")
    assert t.as_strided([210], [1]).names == (None,)


def test_flatten():
    t = make("N:2,C:3,D:5,H:7,W:11", torch.rand)
    for flat in (t.flatten("D", "W", "features"), t.flatten(2, 4, "features"), t.flatten(["D", "H", "W"], "features")):
        assert flat.names == ("N", "C", "features") and torch.equal(flat.rename(None), t.rename(None).view(2, 3, -1))
    sentences = make("N:2,T:3,H:5,D:7").transpose("T", "H")
    assert sentences.flatten("N", "H", "N_H").names == ("N_H", "T", "D")
    for dims in (["D", "W"], ["H", "D", "W"]):
        with raises(RuntimeError, "must be consecutive in"):
            t.flatten(dims, "features")
    with raises(RuntimeError, "cannot be empty"):
        make("2,3").flatten((), "abcd")
    with raises(IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"):
        make("2,3").flatten(0, 2, "N")
    with raises(RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"):
        make("2,3").flatten(1, 0, "N")


def test_unflatten():
    for pairs in ((("A", 2), ("B", 2)), [("A", 2), ("B", 2)], (["A", 2], ["B", 2]), OrderedDict(A=2, B=2)):
        assert torch.equal(make("A:4").unflatten("A", pairs), make("A:2,B:2"))
    assert make("A:2,B:0").unflatten("B", (["B1", 3], ["B2", -1], ["B3", 4])).shape == (2, 3, 0, 4)
    assert make("N:7,D:30,K:11").unflatten("K", (("K", 11), ("H", 1))).names == ("N", "D", "K", "H")
    with raises(TypeError, "unflatten(): argument 'dim' (position 1) must be int, not str"):
        make("A:1").unflatten("A", (1, 1))
    with raises(RuntimeError, "input is a named tensor but no names were given for unflattened sizes"):
        make("A:1").unflatten(0, (1, 1))
    with raises(
        RuntimeError, "Provided sizes [3, -1] don't multiply up to the size of dim 1 ('B': 4) in Tensor['A', 'B']"
    ):
        make("A:2,B:4").unflatten("B", (("B1", 3), ("B2", -1)))
    with raises(RuntimeError, "the unspecified dimension size -1 can be any value and is ambiguous"):
        make("A:2,B:0").unflatten("B", (("B1", 0), ("B2", -1)))
    for nothing in (None, OrderedDict()):
        with raises(RuntimeError, "sizes must be non-empty"):
            make("D:4").unflatten("D", nothing)


def test_globs():
    assert make("").rename("...").names == () and make("").rename(None).names == ()
    assert make("1,1,1,1").rename("N", "...", "W").names == ("N", None, None, "W")
    assert make("1,1,1,1").rename("...", None, None, None, None).names == (None,) * 4
    assert make("N:1,C:1,H:1,W:1").rename("N", "C", "H", "...", "W").names == ("N", "C", "H", "W")
    for tensor in (make(""), make("1,1")):
        with raises(RuntimeError, "dim 'N' does not exist"):
            tensor.rename(N="batch")


def test_alignment():
    t = make("N:7,H:3,W:5,C:2")
    assert t.align_to("...").names == ("N", "H", "W", "C")
    assert t.align_to("W", "...", "N").shape == (5, 3, 2, 7)
    assert t.align_to("N", "...", "C", "D", "H", "W").shape == (7, 2, 1, 3, 5)
    assert make("None:2,None:3,None:5,C:7").align_to("C", "...").names == ("C", None, None, None)
    with raises(RuntimeError, "duplicate names"):
        t.align_to("...", "N", "N")


def test_what_keeps_names():
    t = make("N:2,D:2", torch.rand)
    for name, args in (
        ("cauchy_", ()), ("exponential_", ()), ("geometric_", (0.5,)), ("log_normal_", ()), ("normal_", ()), ("random_", (1,)),
        ("uniform_", ()), ("zero_", ()), ("fill_", (1,)), ("polygamma_", (1,)), ("bernoulli_", (0.5,)), ("requires_grad_", ()),
        ("detach_", ()), ("relu_", ()), ("double", ()), ("bool", ()), ("type", (torch.int64,)), ("narrow", (0, 0, 1)),
        ("index_fill_", ("D", torch.tensor([0]), 5)),
    ):  # fmt: skip
        assert getattr(t.clone(), name)(*args).names == ("N", "D"), name
    assert (
        F.threshold(t, 0, 1).names
        == F.dropout(t.clone(), inplace=True).names
        == torch.full_like(t, 3).names
        == ("N", "D")
    )
    assert torch.bernoulli(t, out=torch.empty(0)).names == torch.polygamma(1, t).names == ("N", "D")


def test_files_take_no_names():
    with raises(RuntimeError, "NYI: Named tensors don't support serialization."):
        torch.save(make("N:2"), io.BytesIO())


def test_a_gradient_is_wanted_of_tensors_with_some_names_only():
    x, y = make("3,3").requires_grad_(), make("N:3,C:3").requires_grad_()
    (x * y).sum().backward()
    assert x.grad.names == (None, None) and y.grad.names == ("N", "C")
