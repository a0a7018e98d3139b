"""Operations on elements of large arrays, which all cores share, give what small ones give."""

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.backends import crew, native
from tensorgrad.spec import LARGE

ROWS, COLUMNS = 263, 1021


@pytest.fixture(autouse=True, params=["numpy", "loops"])
def how(request, monkeypatch):
    monkeypatch.setattr(crew, "threads", lambda: 3)
    monkeypatch.setattr(crew, "BLOCK", 10_007)
    monkeypatch.setattr(native, "LIGHT", ())
    if request.param == "loops":
        pytest.importorskip("llvmlite")
    with native.using(request.param == "loops"):
        yield


def leaf(*shape, dtype=torch.float32, low=0.5):
    generator = np.random.default_rng(sum(shape))
    return torch.tensor(generator.random(shape) + low, dtype=dtype).requires_grad_()


def parts(function, *operands):
    """The same by rows, each of which is small."""
    rows = [[x[i] if x.ndim == 2 and len(x) == ROWS else x.reshape(-1) if x.ndim == 2 and len(x) == 1 else x
             for x in operands] for i in range(ROWS)]  # fmt: skip
    rows = [[x if x.ndim else x.reshape(()) for x in row] for row in rows]
    return torch.stack([function(*row) for row in rows])


UNARY = {
    "exp": lambda x: x.exp(), "sqrt": lambda x: x.sqrt(), "sigmoid": lambda x: x.sigmoid(), "tanh": lambda x: x.tanh(),
    "relu": lambda x: (x - 1).relu(), "number": lambda x: 2.5 * x - 1, "power": lambda x: x**3,
    "gelu": torch.nn.functional.gelu, "compare": lambda x: (x > 1) * x, "clamp": lambda x: x.clamp(0.7, 1.2),
}  # fmt: skip
BINARY = {
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": lambda a, b: a**b,
    "atan2": torch.atan2, "maximum": torch.maximum, "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25), "less": lambda a, b: torch.where(a < b, a, b),
}  # fmt: skip


def agrees(function, *operands):
    whole, pieces = function(*operands), parts(function, *operands)
    assert whole._spec is pieces._spec and operands[0]._spec.size >= LARGE
    torch.testing.assert_close(whole, pieces)
    g = torch.tensor(np.random.default_rng(1).random(whole.shape), dtype=whole.dtype)
    for ours, theirs in zip(
        torch.autograd.grad(whole, operands, g), torch.autograd.grad(pieces, operands, g), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, dtype):
    agrees(UNARY[name], leaf(ROWS, COLUMNS, dtype=dtype))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [(ROWS, COLUMNS), (COLUMNS,), (1, COLUMNS), (ROWS, 1), ()])
def test_two_operands(name, other):
    agrees(BINARY[name], leaf(ROWS, COLUMNS), leaf(*other, low=0.6))


def test_other_memory_and_types():
    x = leaf(ROWS, COLUMNS).detach()
    for y in (
        x.t(),
        x[:, ::2],
        x.flip(0),
        x.half(),
        x.bfloat16(),
        (x * 100).to(torch.int64),
        x > 1,
        x.to(torch.complex64),
    ):
        y = y.repeat(2, 1)
        whole = y + 1
        assert torch.equal(whole, torch.cat([piece + 1 for piece in y.split(100)])) and whole.dtype == (y[:1] + 1).dtype
        assert torch.equal(y * y, torch.cat([piece * piece for piece in y.split(100)]))


def test_special_values_in_every_part():
    x = torch.ones(LARGE * 2)
    for place in (0, LARGE, LARGE + 77, LARGE * 2 - 1):
        for value in (float("nan"), float("inf"), -float("inf"), -0.0):
            x[place] = value
            near = slice(max(place - 1, 0), place + 2)
            for function in (torch.exp, lambda t: t + t, torch.sigmoid, torch.abs):
                torch.testing.assert_close(function(x)[near], function(x[near]), equal_nan=True)
        x[place] = 1


def test_errors_name_both_shapes():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(1021\) must match the size of tensor b \(263\)"):
        leaf(ROWS, COLUMNS) + leaf(ROWS)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.ones(LARGE * 2, dtype=torch.int64) // 0


def test_in_place_and_out():
    x, y = leaf(ROWS, COLUMNS).detach(), leaf(ROWS, COLUMNS, low=2).detach()
    wanted, out = x + y, torch.empty(ROWS, COLUMNS)
    assert torch.add(x, y, out=out) is out and torch.equal(out, wanted)
    assert torch.equal(x.clone().add_(y), wanted)
    w = leaf(ROWS, COLUMNS)
    (w * 2).mul_(y).sum().backward()
    torch.testing.assert_close(w.grad, 2 * y)


def test_second_derivatives_and_tangents():
    x = leaf(ROWS, COLUMNS, dtype=torch.float64)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 6 * x.detach())
    _, tangent = torch.func.jvp(lambda t: t.exp() * t, (x.detach(),), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, ((x + 1) * x.exp()).detach())


def test_results_lie_as_their_operands_do():
    x, cube = leaf(COLUMNS, ROWS).detach().t(), leaf(7, 131, 293).detach().permute(2, 0, 1)
    row, column = leaf(COLUMNS).detach(), leaf(ROWS, 1).detach()
    for function in (torch.exp, torch.sigmoid, torch.relu, lambda t: t + t, lambda t: t * 2, lambda t: 2 - t.abs()):
        for t in (x, cube, cube[:, :, 1:]):
            found, want = function(t), function(t.contiguous())
            torch.testing.assert_close(found, want)
            assert found.stride() == torch.empty_like(t).stride() != want.stride()
    assert (x + row).stride() == (row + x * column).stride() == (x > 1).stride() == x.stride()
    torch.testing.assert_close(row + x * column, row + x.contiguous() * column)
    w = x.clone().requires_grad_()
    (w.exp() * row).sum().backward()
    torch.testing.assert_close(w.grad, x.exp() * row)


@pytest.mark.parametrize("dim", [0, 1])
def test_large_tensors_put_together(dim):
    x, y = leaf(ROWS, COLUMNS), leaf(COLUMNS, ROWS).detach().t()
    whole = torch.cat([x, y, x[:0] if dim == 0 else x[:, :0]], dim)
    assert whole.is_contiguous()
    if dim == 0:
        assert torch.equal(whole[:ROWS], x) and torch.equal(whole[ROWS:], y)
    else:
        assert torch.equal(whole[:, :COLUMNS], x) and torch.equal(whole[:, COLUMNS:], y)
    whole.sum().backward()
    assert torch.equal(x.grad, torch.ones(ROWS, COLUMNS))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_large_squared_errors(reduction):
    x, y = leaf(ROWS, COLUMNS), leaf(ROWS, COLUMNS, low=0.0).detach()
    loss = torch.nn.functional.mse_loss(x, y, reduction=reduction)
    square = (x.detach().double() - y.double()) ** 2
    torch.testing.assert_close(loss.double(), getattr(square, reduction)(), rtol=1e-6, atol=0)
    loss.backward()
    scale = 2 / x.numel() if reduction == "mean" else 2
    torch.testing.assert_close(x.grad, (x.detach() - y) * scale)
