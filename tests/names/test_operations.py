"""Names through operations: each kind has its rule, and what has none says so."""

import pytest
from subject import raises, torch

F = torch.nn.functional


def x():
    return torch.arange(24.0).reshape(2, 3, 4).rename("N", "C", "L")


def named(*names):
    return torch.ones(*range(2, 2 + len(names)), names=names)


# Pointwise


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (("N", "C"), ("N", "C"), ("N", "C")),
        (("N", "C"), ("C",), ("N", "C")),
        (("N", None), (None, "C"), ("N", "C")),
        ((None, None), ("N", "C"), ("N", "C")),
        (("N", "C"), (), ("N", "C")),
    ],
)
def test_pointwise_operations_unify_names_from_the_right(a, b, result):
    left, right = torch.ones((2,) * len(a), names=a), torch.ones((2,) * len(b), names=b)
    for function in (torch.add, torch.mul, torch.maximum, torch.atan2, torch.eq):
        assert function(left, right).names == result
    assert (left + right).names == (left > right).names == (left**right).names == result
    assert torch.where(left > 0, left, right).names == torch.lerp(left, right, 0.5).names == result
    assert (2 - left).names == (left / 2).names == a


def test_names_that_do_not_match_are_refused():
    with raises(
        RuntimeError,
        "Error when attempting to broadcast dims ['X'] and dims ['Z']: dim 'X' and dim 'Z' are at the same position from the "
        "right but do not match.",
    ):
        torch.ones(3, names=("X",)) + torch.ones(3, names=("Z",))
    with raises(
        RuntimeError,
        "Misaligned dims when attempting to broadcast dims ['N', 'C'] and dims ['N', None, None]: dim 'N' appears in a "
        "different position from the right across both lists.",
    ):
        torch.ones(2, 2, names=("N", "C")) + torch.ones(2, 2, 2, names=("N", None, None))


def test_functions_of_one_tensor_keep_names():
    for name in ("exp", "abs", "sigmoid", "isnan", "erf", "neg", "floor", "lgamma", "logical_not"):
        assert getattr(torch, name)(x()).names == ("N", "C", "L")
        assert getattr(x(), name)().names == ("N", "C", "L")
    assert x().clamp(0, 1).names == x().pow(2).names == F.gelu(x()).names == F.relu(x()).names == ("N", "C", "L")


# Reductions


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "amax", "std", "var", "logsumexp", "any", "all", "nansum", "norm"]
)
def test_reductions_drop_the_dimensions_that_they_are_told(name):
    word = {} if name != "norm" else {"p": 2}
    reduce = getattr(torch, name)
    t, plain = x(), x().rename(None)
    assert reduce(t, dim="C", **word).names == getattr(t, name)(dim="C", **word).names == ("N", "L")
    assert reduce(t, dim="C", keepdim=True, **word).names == ("N", "C", "L")
    assert torch.equal(reduce(t, dim="C", **word).rename(None), reduce(plain, dim=1, **word))
    assert reduce(t, dim=-1, **word).names == ("N", "C")


def test_several_dimensions_by_name():
    assert x().sum(("N", "C")).names == ("L",)
    assert x().sum(("N", "C")).tolist() == x().rename(None).sum((0, 1)).tolist()
    assert x().mean(["C", "L"]).names == ("N",) and x().sum().names == () and x().sum(axis="N").names == ("C", "L")
    with raises(RuntimeError, "dim 1 appears multiple times in the list of dims"):
        x().sum(("C", "C"))


@pytest.mark.parametrize("name", ["max", "min", "median", "mode", "kthvalue"])
def test_reductions_with_indices_name_both(name):
    more = (1,) if name == "kthvalue" else ()
    values, indices = getattr(x(), name)(*more, dim="L")
    assert values.names == indices.names == ("N", "C")


def test_unknown_names_are_refused():
    with raises(RuntimeError, "Name 'Q' not found in Tensor['N', 'C', 'L']."):
        x().sum("Q")
    with raises(RuntimeError, "Name 'Q' not found in Tensor[None, None]."):
        torch.ones(2, 2).softmax("Q")
    with raises(RuntimeError, "Name 'Q' not found in Tensor['N', 'C', 'L']."):
        x().transpose("N", "Q")


# Products


def test_products_contract():
    state, step = torch.ones(9, 5, names=("batch", "D")), torch.ones(5, 4, names=("in", "out"))
    assert (state @ step).names == torch.matmul(state, step).names == torch.mm(state, step).names == ("batch", "out")
    assert (state @ torch.ones(5, 4)).names == ("batch", None)
    assert (state @ torch.ones(5, names=("in",))).names == ("batch",)
    assert (torch.ones(5, names=("a",)) @ torch.ones(5, names=("a",))).names == ()
    many = torch.ones(2, 9, 5, names=("heads", "batch", "D"))
    assert (many @ step).names == ("heads", "batch", "out")
    assert torch.bmm(many, torch.ones(2, 5, 4, names=("heads", "in", "out"))).names == ("heads", "batch", "out")
    assert torch.addmm(torch.ones(4, names=("out",)), state, step).names == ("batch", "out")
    assert torch.outer(torch.ones(2, names=("a",)), torch.ones(3, names=("b",))).names == ("a", "b")
    assert torch.tensordot(many, step, ([2], [0])).names == ("heads", "batch", "out")
    assert torch.tensordot(many, step, (["D"], ["in"])).names == ("heads", "batch", "out")


def test_products_whose_names_would_repeat_are_refused():
    a = torch.ones(3, 3, names=("N", "D"))
    with raises(
        RuntimeError,
        "Matrix multiplying Tensor['N', 'D'] with Tensor['D', 'N'] would produce output tensor with duplicate names "
        "['N', 'N']. Please rename the input tensors with `Tensor.rename` to prevent this.",
    ):
        a @ a.t()


def test_einsum_carries_names_and_may_be_spelled_in_them():
    a, b = torch.rand(2, 3, names=("batch", "D")), torch.rand(3, 4, names=("D", "out"))
    expected = a.rename(None) @ b.rename(None)
    for result in (torch.einsum("bd,do->bo", a, b), torch.einsum("batch D, D out -> batch out", a, b),
                   torch.einsum("D batch, out D -> batch out", a, b)):  # fmt: skip
        assert result.names == ("batch", "out") and torch.allclose(result, expected)
    plain = torch.einsum("batch D, D out -> out batch", a.rename(None), b.rename(None))
    assert plain.names == ("out", "batch") and torch.allclose(plain.rename(None), expected.t())
    assert torch.einsum("... D, D out -> ... out", torch.ones(7, 2, 3, names=("T", "batch", "D")), b).names == (
        "T",
        "batch",
        "out",
    )
    assert torch.einsum("batch D, D out", a, b).names == ("batch", "out")
    assert torch.einsum("bd,do->bo", a, b.rename("in", "out")).names == ("batch", "out")
    with raises(RuntimeError, "dim 'heads' of operand 1, Tensor['heads', 'D'], does not match dim 'batch'"):
        torch.einsum("bd,bd->b", a, torch.ones(2, 3, names=("heads", "D")))


# Shapes


def test_a_view_in_the_shape_that_is_there_keeps_names():
    assert x().view(2, -1, 4).names == x().reshape(2, 3, 4).names == x().view(torch.int32).names == ("N", "C", "L")
    assert x().view_as(torch.ones(2, 3, 4)).names == ("N", "C", "L")


def test_orders_of_dimensions():
    assert (
        x().transpose("N", "L").names
        == x().permute(2, 1, 0).names
        == x().permute("L", "C", "N").names
        == ("L", "C", "N")
    )
    assert x().movedim("N", -1).names == ("C", "L", "N") and x().mT.names == ("N", "L", "C")
    assert x().swapaxes(0, "C").names == ("C", "N", "L")
    assert named("a", "b").T.names == named("a", "b").t().names == ("b", "a")


def test_dimensions_come_and_go():
    one = torch.ones(2, 1, 3, names=("N", "C", "L"))
    assert one.squeeze().names == one.squeeze("C").names == one.squeeze(1).names == ("N", "L")
    assert x().unsqueeze(1).names == ("N", None, "C", "L")
    assert x().select("C", 0).names == x()[:, 0].names == ("N", "L")
    assert [t.names for t in x().unbind("C")] == [("N", "L")] * 3
    assert x().expand(5, 2, 3, 4).names == (None, "N", "C", "L")
    assert x().diagonal(dim1="C", dim2="L", outdim="D").names == ("N", "D") and x().diagonal(0, 1, 2).names == (
        "N",
        None,
    )


def test_pieces_keep_names():
    for parts in (x().split(2, "C"), x().chunk(2, "L"), torch.tensor_split(x(), 2, dim="L")):
        assert {t.names for t in parts} == {("N", "C", "L")}
    assert x().narrow("C", 0, 2).names == x().index_select("C", torch.tensor([0])).names == ("N", "C", "L")
    assert (
        x().flip("C").names
        == x().roll(1, "L").names
        == x().cumsum("C").names
        == x().sort("L")[1].names
        == ("N", "C", "L")
    )
    assert (
        F.softmax(x(), "C").names
        == x().log_softmax("C").names
        == torch.topk(x(), 2, "L").values.names
        == ("N", "C", "L")
    )


def test_joining():
    assert torch.cat([x(), x().rename(None)], "C").names == ("N", "C", "L")
    assert torch.stack([x(), x()], 1).names == ("N", None, "C", "L")
    with raises(RuntimeError, "Error when attempting to cat dims ['a'] and dims ['b']"):
        torch.cat([torch.ones(1, names=("a",)), torch.ones(1, names=("b",))])


def test_indexing():
    assert x()[0].names == ("C", "L") and x()[..., 1].names == ("N", "C") and x()[:, :, 1:2].names == ("N", "C", "L")
    assert x()[None, 0].names == (None, "C", "L")
    assert x()[:, torch.tensor([2, 0])].names == x()[:, [2, 0]].names == ("N", "C", "L")
    assert x()[:, torch.tensor([[2, 0]])].names == ("N", None, None, "L")
    assert x()[:, torch.tensor([2, 0], names=("picked",))].names == ("N", "picked", "L")
    assert x()[x() > 3].names == x().masked_select(x() > 3).names == (None,)
    assert x()[torch.tensor([0, 1]), torch.tensor([1, 2])].names == (None, "L")
    apart = torch.ones(2, 3, 4, 5, names=("N", "C", "H", "W"))[
        :, torch.tensor([0, 1, 2, 0]), :, torch.tensor([1, 2, 3, 4])
    ]
    assert apart.shape == (4, 2, 4) and apart.names == (None, "N", "H")


def test_writing_by_index():
    t = x()
    t[0, :, 1] = torch.ones(3, names=("C",))
    assert t[0, :, 1].tolist() == [1.0] * 3 and t.names == ("N", "C", "L")
    with raises(RuntimeError, "Error when attempting to assign dims ['C'] and dims ['L']"):
        t[0, :, 1] = torch.ones(3, names=("L",))


def test_functions_of_several_forms():
    assert [t.names for t in torch.where(x() > 3)] == [(None,)] * 3
    assert torch.where(x() > 3, x(), 0.0).names == torch.max(x(), x()).names == ("N", "C", "L")
    assert torch.multinomial(x()[0] + 1, 2).names == ("C", None)
    assert x().std("C", False).names == ("N", "L") and x().std(True).names == ()


def test_wrong_arguments_are_reported_by_the_function():
    with raises(TypeError, "softmax()"):
        x().softmax()
    with raises(RuntimeError, "einsum(): output subscript zz does not appear in the equation for any input operand"):
        torch.einsum("batch q, q out -> zz", torch.ones(2, 3), torch.ones(3, 4))


def test_conversions_keep_names():
    assert (
        x().double().names
        == x().to(torch.int64).names
        == x().clone().names
        == x().contiguous().names
        == ("N", "C", "L")
    )
    assert x().type_as(torch.ones(1).double()).names == ("N", "C", "L")
    assert (
        torch.zeros_like(x()).names == torch.randn_like(x()).names == torch.full_like(x(), 3).names == ("N", "C", "L")
    )


# In place and out=


def test_in_place_operations_take_on_names():
    t = torch.zeros(2, 3)
    t += torch.ones(2, 3, names=("N", "C"))
    assert t.names == ("N", "C") and t.sum().item() == 6
    assert t.mul_(2).add_(torch.ones(3, names=("C",))) is t and t.tolist() == [[3.0] * 3] * 2
    assert t.zero_().fill_(2).clamp_(0, 1).names == t.normal_().names == ("N", "C")
    assert (
        t.t_().names == ("C", "N") and t.unsqueeze_(0).names == (None, "C", "N") and t.squeeze_(0).names == ("C", "N")
    )
    with raises(RuntimeError, "dim 'N' and dim 'Q' are at the same position from the right but do not match."):
        t.add_(torch.ones(2, names=("Q",)))
    assert t.names == ("C", "N")


def test_out_takes_the_names_of_the_result_or_has_them_already():
    a = torch.ones(2, 3, names=("N", "C"))
    out = torch.empty(2, 3)
    assert torch.add(a, a, out=out) is out and out.names == ("N", "C")
    assert torch.mul(a, 3, out=out).tolist() == [[3.0] * 3] * 2
    assert torch.sum(a, "C", out=torch.empty(2)).names == ("N",)
    values, _ = torch.max(a, "C", out=(torch.empty(2), torch.empty(2, dtype=torch.int64)))
    assert values.names == ("N",)
    with raises(
        RuntimeError,
        "Name mismatch: specified out tensor with names ['X', 'Y'] are not the same as the computed output names ['N', 'C']. "
        "Please rename the out tensor's dims with `Tensor.rename`.",
    ):
        torch.add(a, a, out=torch.empty(2, 3, names=("X", "Y")))


def test_writes_into_views_reach_their_base():
    t = x().clone()
    row = t[0]
    row.mul_(0)
    assert t[0].abs().sum().item() == 0 and row._base is t
    leaf = torch.ones(2, 3, names=("N", "C"), requires_grad=True)
    y = leaf * 2
    y[0] = 0
    y.select("C", 1).mul_(5)
    y.sum().backward()
    assert leaf.grad.tolist() == [[0.0, 0.0, 0.0], [2.0, 10.0, 2.0]]


# What is refused


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.view(24), lambda t: t.reshape(6, 4), lambda t: t.view_as(torch.ones(24)), lambda t: torch.kron(t, t),
        lambda t: t.as_strided_((2,), (1,)), lambda t: torch.pdist(t[0]), lambda t: torch.linalg.lstsq(t, t),
        lambda t: torch.cov(t[0]), lambda t: Square.apply(t),
    ],
)  # fmt: skip
def test_an_operation_without_a_rule_says_so(call):
    with raises(
        RuntimeError, "is not yet supported with named tensors. Please drop names via `tensor = tensor.rename(None)`"
    ):
        call(x())


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t * t

    @staticmethod
    def backward(ctx, g):
        return g
