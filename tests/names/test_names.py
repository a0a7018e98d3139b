"""Dimensions with names: how tensors get them, how they are shown, and what PyTorch's methods for names do."""

import copy
import pickle
import subprocess
import sys

import pytest
from subject import raises, torch


def images(**options):
    return torch.arange(24.0).reshape(2, 3, 4).rename("N", "C", "L", **options)


MAKERS = [
    ("ones", (2, 3)), ("zeros", (2, 3)), ("empty", (2, 3)), ("rand", (2, 3)), ("randn", (2, 3)), ("eye", (2, 3)),
    ("full", ((2, 3), 7.0)), ("tensor", ([[1.0, 2.0]],)), ("randint", (0, 5, (2, 3))), ("normal", (0.0, 1.0, (2, 3))),
    ("empty_strided", ((2, 3), (3, 1))), ("empty_permuted", ((2, 3), (1, 0))),
]  # fmt: skip


@pytest.mark.parametrize(("maker", "args"), MAKERS)
def test_every_function_that_makes_tensors_takes_names(maker, args):
    assert getattr(torch, maker)(*args, names=("N", "C")).names == ("N", "C")


@pytest.mark.parametrize(
    ("maker", "args"),
    [("arange", (3,)), ("linspace", (0, 1, 3)), ("logspace", (0, 1, 3)), ("randperm", (3,)), ("range", (1, 3))],
)
def test_every_function_that_counts_takes_names(maker, args):
    assert getattr(torch, maker)(*args, names=["T"]).names == ("T",)


def test_a_tensor_without_names_has_none_for_each_dimension():
    x = torch.ones(2, 3)
    assert x.names == (None, None) and not x.has_names()
    assert torch.ones(2, 3, names=(None, None)).has_names() is False


def test_some_dimensions_may_have_no_name():
    x = torch.ones(2, 3, names=("N", None))
    assert x.names == ("N", None) and x.has_names()


def test_a_leaf_with_names_requires_a_gradient_from_the_start():
    x = torch.ones(2, names=("N",), requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.names == ("N",)


def test_names_are_printed():
    assert repr(torch.ones(2, names=("N",))) == "tensor([1., 1.], names=('N',))"
    assert repr(torch.ones(1, 2, names=("N", None))) == "tensor([[1., 1.]], names=('N', None))"
    shown = repr(torch.ones(2, names=("N",), requires_grad=True) * 2)
    assert shown == "tensor([2., 2.], grad_fn=<MulBackward0>, names=('N',))"


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (("N", "N"), RuntimeError, "Cannot construct a tensor with duplicate names. Got names: ['N', 'N']."),
        (("N",), RuntimeError, "Number of names (1) and number of dimensions in tensor (2) do not match. Attempted to create "
                               "a tensor with names ['N']"),
        (("a b", "C"), RuntimeError, "Invalid name: a valid identifier contains only digits, alphabetical characters, and/or "
                                     "underscore and starts with a non-digit. got: 'a b'."),
        (("1", "C"), RuntimeError, "got: '1'."),
        (("", "C"), RuntimeError, "got: ''."),
        ((1, "C"), TypeError, "names must be strings or None"),
        ("NC", TypeError, "names must be a tuple of strings or None"),
    ],
)  # fmt: skip
def test_names_that_no_tensor_can_have_are_refused(names, kind, message):
    with raises(kind, message):
        torch.ones(2, 2, names=names)


# rename, refine_names


def test_rename_gives_all_names_or_some_or_none():
    x = images()
    assert x.rename("a", None, "c").names == ("a", None, "c")
    assert x.rename(N="batch", L="time").names == ("batch", "C", "time")
    assert x.rename("batch", ...).names == ("batch", "C", "L")
    assert x.rename(None).names == (None, None, None)
    assert x.names == ("N", "C", "L")


def test_renamed_tensors_share_memory_and_graph():
    x = torch.ones(3, names=("N",), requires_grad=True)
    y = x.rename("M")
    assert y.data_ptr() == x.data_ptr() and y._base is x
    (y * 3).sum().backward()
    assert x.grad.names == ("N",) and x.grad.tolist() == [3.0, 3.0, 3.0]


def test_rename_in_place():
    x = torch.ones(2, 3)
    assert x.rename_("N", "C") is x and x.names == ("N", "C")
    x.names = ("a", "b")
    assert x.names == ("a", "b")
    x.names = None
    assert not x.has_names()


def test_what_rename_refuses():
    x = images()
    with raises(
        RuntimeError, "rename: Tried to rename dim 'Q' to dim z in Tensor['N', 'C', 'L'] but dim 'Q' does not exist"
    ):
        x.rename(Q="z")
    with raises(RuntimeError, "rename: This function takes either positional args or keyword args, but not both."):
        x.rename("a", "b", "c", N="d")
    with raises(RuntimeError, "rename_: More than one Ellipsis ('...') found in names"):
        x.rename_("...", "a", ...)
    with raises(RuntimeError, "Cannot construct a tensor with duplicate names. Got names: ['C', 'C', 'L']."):
        x.rename(N="C")


def test_refine_names_only_adds():
    x = torch.ones(2, 3, 4, names=("N", None, None))
    assert x.refine_names("N", "C", None).names == ("N", "C", None)
    assert x.refine_names(..., "L").names == ("N", None, "L")
    assert torch.ones(2, 3).refine_names(["N", "C"]).names == ("N", "C")


def test_what_refine_names_refuses():
    x = torch.ones(2, 3, names=("N", None))
    start = "refine_names: cannot coerce Tensor['N', None] to Tensor"
    with raises(RuntimeError, start + "['M', 'C'] because 'N' is different from 'M' at index 0"):
        x.refine_names("M", "C")
    with raises(RuntimeError, start + "[None, 'C'] because 'N' is more specific than None at index 0"):
        x.refine_names(None, "C")
    with raises(RuntimeError, start + "['N'] because they have a different number of dims (2 and 1 respectively)."):
        x.refine_names("N")


# align_to, align_as, align_tensors


def test_align_to_brings_dimensions_into_order_and_makes_missing_ones():
    x = images()
    y = x.align_to("L", "H", "N", "C")
    assert y.names == ("L", "H", "N", "C") and y.shape == (4, 1, 2, 3)
    assert y[3, 0, 1, 2].item() == x[1, 2, 3].item()
    assert x.align_to("L", ...).names == ("L", "N", "C")
    assert x.align_to("...", "N").names == ("C", "L", "N")
    assert torch.ones(2, 3, names=(None, "C")).align_to("C", ...).names == ("C", None)


def test_what_align_to_refuses():
    with raises(
        RuntimeError, "align_to: All input dims must be named. Found unnamed dim at index 0 of Tensor[None, 'C']"
    ):
        torch.ones(2, 3, names=(None, "C")).align_to("C", "N")
    with raises(
        RuntimeError, "align_to: Cannot find dim 'L' from Tensor['N', 'C', 'L'] in desired alignment ['C', 'N']."
    ):
        images().align_to("C", "N")
    with raises(RuntimeError, "align_to: the desired order of dimensions cannot contain a None name, got ['N', None]"):
        images().align_to("N", None)
    with raises(RuntimeError, "duplicate names"):
        images().align_to("N", "N", ...)


def test_align_as_and_align_tensors():
    scale = torch.tensor([1.0, 10.0, 100.0], names=("C",))
    x = images()
    y = x * scale.align_as(x)
    assert y.names == x.names and y[1, 2].tolist() == [100 * v for v in x[1, 2].tolist()]
    a, b = torch.align_tensors(x, scale)
    assert a.names == b.names == ("N", "C", "L") and b.shape == (1, 3, 1)


# flatten and unflatten


def test_flatten_to_a_name_and_back():
    x = images()
    flat = x.flatten(["C", "L"], "features")
    assert flat.names == ("N", "features") and flat.shape == (2, 12)
    assert x.flatten("C", "L", "features").names == x.flatten(1, 2, "features").names == ("N", "features")
    back = flat.unflatten("features", (("C", 3), ("L", 4)))
    assert back.names == x.names and torch.equal(back, x)
    assert flat.unflatten("features", {"C": -1, "L": 4}).shape == (2, 3, 4)
    assert x.flatten(1).names == ("N", None)


def test_what_flatten_and_unflatten_refuse():
    x = images()
    with raises(RuntimeError, "dims ['N', 'L'] must be consecutive in Tensor['N', 'C', 'L']"):
        x.flatten(["N", "L"], "z")
    with raises(RuntimeError, "flatten(tensor, dims, out_dim): dims cannot be empty"):
        x.flatten([], "z")
    with raises(RuntimeError, "Name 'Q' not found in Tensor['N', 'C', 'L']."):
        x.flatten(["Q", "L"], "z")
    with raises(RuntimeError, "unflatten: Provided sizes [3, 2] don't multiply up to the size of dim 2 ('L': 4)"):
        x.unflatten("L", (("a", 3), ("b", 2)))
    with raises(RuntimeError, "Cannot construct a tensor with duplicate names."):
        x.unflatten("L", (("N", 2), ("b", 2)))


# What tensors with names share with all others


def test_copies_and_pickles_keep_names():
    x = images().clone()
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.detach(), x.data, x.clone()):
        assert y.names == x.names and torch.equal(y, x)


def test_numbers_are_read_as_of_any_tensor():
    x = images()
    assert x.tolist() == x.rename(None).tolist() and x.numpy().shape == (2, 3, 4)
    assert x.sum().item() == 276.0 and float(x[0, 0, 1]) == 1.0 and bool((x >= 0).all())
    assert len(x) == 2 and [row.names for row in x] == [("C", "L")] * 2
    assert x.size("C") == 3 and x.stride("N") == 12 and x.is_contiguous()


def test_a_tensor_without_names_pays_nothing():
    program = (
        "import sys, tensorgrad as t\n"
        "assert not [m for m in sys.modules if m.startswith('tensorgrad.names')]\n"
        "add, plus, exp, spec = t.add, t.Tensor.__add__, t.Tensor.exp, t.ones(2, 2)._spec\n"
        "t.ones(1, names=('N',))\n"
        "assert t.add is add and t.Tensor.__add__ is plus and t.Tensor.exp is exp\n"
        "assert t.ones(2, 2)._spec is spec and spec.fast"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_name_is_looked_for_where_there_has_been_none_yet():
    program = (
        "import tensorgrad as t\n"
        "for call in (lambda: t.ones(2, 3).sum('N'), lambda: t.softmax(t.ones(2, 3), 'N'), lambda: t.ones(2, 3).sum(('N', 'C'))):\n"
        "    try: call()\n"
        "    except RuntimeError as error: assert str(error) == \"Name 'N' not found in Tensor[None, None].\"\n"
        "    else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_first_name_may_be_that_of_a_flattened_dimension():
    for first in ("x.flatten(0, 1, 'z').names == ('z',)", "x.flatten((0, 1), 'z').names == ('z',)",
                  "x.unflatten(1, (('C', 3), ('L', 2))).names == (None, 'C', 'L')"):  # fmt: skip
        subprocess.run(
            [sys.executable, "-c", f"import tensorgrad; x = tensorgrad.ones(2, 6); assert {first}"], check=True
        )


def test_the_first_names_may_come_in_several_threads_at_once():
    program = (
        "import tensorgrad as t; from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda _: t.ones(3, names=('N',)).sum('N').item(), range(8)))\n"
        "assert found == [3.0] * 8"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_functions_imported_before_the_first_name_take_names_too():
    program = (
        "from tensorgrad import ones, sum; from tensorgrad.nn.functional import softmax, linear, gelu\n"
        "x = ones(2, 3, names=('N', 'C'))\n"
        "assert sum(x, 'C').names == ('N',) and softmax(x, 'C').names == gelu(x).names == ('N', 'C')\n"
        "assert linear(x, ones(4, 3)).names == ('N', None)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
