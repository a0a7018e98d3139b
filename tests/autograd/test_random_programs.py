"""The smallest cases of what random programs found, with PyTorch's answers written down."""

import numpy as np
import pytest

import tensorgrad as torch

NAN = float("nan")


def leaf(*numbers, dtype=None):
    return torch.tensor(numbers, dtype=dtype or torch.float64, requires_grad=True)


def test_grad_of_a_tensor_that_the_walk_passes_is_what_arrives_before_its_hooks():
    def gradients(*wanted):
        b = leaf(1.0, 2.0)
        v = b * 1
        v.register_hook(lambda g: g * 2)
        b.register_hook(lambda g: g * 3)
        return [g.tolist() for g in torch.autograd.grad((v**2).sum(), [{"b": b, "v": v}[name] for name in wanted])]

    assert gradients("b", "v") == [[12.0, 24.0], [2.0, 4.0]]
    assert gradients("v") == [[4.0, 8.0]]
    v = leaf(1.0, 2.0) * 1
    v.register_hook(lambda g: g * 2)
    (v**2).sum().backward(inputs=[v])
    assert v.grad.tolist() == [4.0, 8.0]


def test_an_operation_in_place_on_a_view_of_a_number():
    x = leaf(1.0, 2.0)
    total = x.sum()
    total.movedim(-1, 0).mul_(3)
    (total * total).backward()
    assert x.grad.tolist() == [54.0, 54.0]


def test_whole_numbers_never_require_grad():
    x = leaf(1.0, 2.0)
    for dtype in (torch.bool, torch.int64):
        whole = torch.zeros(2, dtype=dtype)
        whole[...] = x
        whole[0] = x[1]
        whole.copy_(x)
        assert not whole.requires_grad and whole.grad_fn is None


def test_an_expanded_view_without_repetition_can_be_written():
    x = torch.zeros(2, 3)
    x.T.expand(-1, -1).add_(1)
    x.T.expand(1, 3, 2).mul_(2)
    assert x.tolist() == [[2.0] * 3] * 2
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(2).expand(3, 2).add_(1)


def test_scatter_with_numbers_and_longer_sources():
    zero = torch.zeros((), dtype=torch.int64)
    src = leaf(5.0, 7.0)
    out = torch.zeros((), dtype=torch.float64).scatter(0, zero, src)
    assert out.item() == 5.0 and out.requires_grad
    assert torch.zeros(()).scatter_add(0, zero, torch.tensor([2.0, 3.0])).item() == 2.0
    assert torch.zeros(1).scatter_(0, torch.zeros(1, dtype=torch.int64), torch.tensor(4.0)).tolist() == [4.0]
    with pytest.raises(RuntimeError, match="same number of dimensions as src tensor"):
        torch.zeros(()).scatter(0, zero, torch.zeros(1, 3))


def test_the_gradient_of_an_empty_choice_of_rows():
    x = torch.ones(3, 2, requires_grad=True)
    x[[0, 0], 2:].sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: torch.tensor(1.0).roll(0, 0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda: torch.tensor(1.0).unflatten(0, (1, -1)), RuntimeError, "unflatten got an unexpected error:"),
        (
            lambda: torch.zeros(()).addcdiv_(torch.zeros(4), torch.zeros(3, 2)),
            RuntimeError,
            r"The size of tensor a \(4\) must match the size of tensor b \(2\) at non-singleton dimension 1",
        ),
        (
            lambda: torch.add(torch.ones(2), x := torch.ones(()), out=x),
            RuntimeError,
            r"output with shape \[\] doesn't match the broadcast shape \[2\]",
        ),
    ],
)
def test_errors_in_words(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_number_over_a_tensor_is_a_multiple_of_the_reciprocal():
    x = torch.tensor([7.0, 25.0])
    assert (3 / x).tolist() == (x.reciprocal() * 3).tolist() == [0.4285714626312256, 0.11999999731779099]
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    half = x * 0.5
    y = 1 / half
    with torch.no_grad():
        half.zero_()  # the result is what is saved
    y.sum().backward()
    assert x.grad.tolist() == [-0.5, -0.125]


def test_the_sign_of_nan_is_zero():
    x = torch.tensor([NAN, -2.0, 0.0], requires_grad=True)
    assert x.sign().tolist() == x.sgn().tolist() == [0.0, -1.0, 0.0]
    x.abs().nansum().backward()
    assert x.grad.tolist() == [0.0, -1.0, 0.0]
    assert torch.tensor([NAN, 1.0]).half().sign().tolist() == [0.0, 1.0]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_resizing_stays_in_the_memory():
    base = torch.arange(6.0)
    tail = base[3:]
    tail.resize_(3)
    assert tail.tolist() == [3.0, 4.0, 5.0]
    assert tail.resize_(2, 1).tolist() == [[3.0], [4.0]] and tail.storage_offset() == 3
    row = base[:3]
    torch.add(torch.ones(2), 1, out=row)
    assert row.tolist() == [2.0, 2.0] and base.tolist() == [2.0, 2.0, 2.0, 3.0, 4.0, 5.0]


def test_alpha_counts_in_the_dtype_of_the_result():
    byte = torch.tensor([214], dtype=torch.uint8)
    assert torch.add(torch.tensor([37], dtype=torch.int32), byte, alpha=2).tolist() == [465]
    assert torch.sub(torch.tensor([0.5]), byte, alpha=2).tolist() == [-427.5]
    assert torch.ones(2).add_(torch.tensor([1, 2]), alpha=0.5).tolist() == [1.5, 2.0]
    assert torch.rsub(byte, 1000, alpha=2).tolist() == [(1000 - 428) % 256]
    x, y = torch.tensor([1.0]), torch.tensor([0.7]).bfloat16()
    expected = np.float32(1) + np.float32(0.3) * np.float32(y.item())
    assert torch.add(x, y, alpha=0.3).item() == expected
    w = torch.tensor([2.0], requires_grad=True)
    out = torch.sub(x, w, alpha=4)
    out.backward()
    assert w.grad.tolist() == [-4.0] and out.grad_fn.name() == "SubBackward0"
    for one, alpha, message in (
        (1, 0.5, "argument alpha must not be a floating point number"),
        (1, True, "Boolean alpha only supported for Boolean results"),
        (1.0, 2j, "argument alpha must not be a complex number"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.add(torch.tensor([one]), torch.tensor([one]), alpha=alpha)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_numbers_beside_half_types_are_not_rounded_in_products_and_quotients(dtype):
    x = (torch.arange(1, 500) / 100).to(dtype)
    wide, number = x.float(), torch.tensor(0.99)
    assert torch.equal(x * 0.99, (wide * 0.99).to(dtype)) and torch.equal(0.99 * x, x * 0.99)
    assert torch.equal(x / 0.99, (wide / 0.99).to(dtype)) and torch.equal(x / number, x / 0.99)
    assert (
        torch.equal(x * number, x * 0.99)
        and torch.equal(number * x, x * number.to(dtype))
        and torch.equal(x.clone().mul_(0.99), x * 0.99)
    )
    assert torch.equal(x + 0.99, (wide + torch.tensor(0.99, dtype=dtype).float()).to(dtype))


def test_numbers_that_whole_types_cannot_hold():
    for number in (300, -1.5, float("inf")):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            torch.zeros(2, dtype=torch.uint8)[0] = number
    x = torch.zeros(2, dtype=torch.uint8)
    x[0] = -1
    assert x.tolist() == [255, 0]
    assert torch.zeros(2).copy_(3).tolist() == [3.0, 3.0]
    assert torch.tensor([1.0, NAN, 2.0]).nansum(dtype=torch.int64).item() == 3


def test_windows_know_their_storage():
    x = torch.arange(9.0)
    windows = x[3:].unfold(0, 2, 2)
    assert windows.storage_offset() == 3 and windows.unfold(1, 2, 2).storage_offset() == 3
    assert windows.as_strided((2,), (4,), 1).tolist() == [1.0, 5.0]
    assert torch.arange(9.0).reshape(3, 3).unfold(0, 2, 2).as_strided((3,), (3,)).tolist() == [0.0, 3.0, 6.0]


def test_grad_of_a_result_written_to_after_it_was_made():
    x = leaf(2.0, 4.0)
    y = x.reciprocal()
    with torch.no_grad():
        y.copy_(x)
    (g,) = torch.autograd.grad((y**2).sum(), y)  # the walk ends at y: its own derivative is not asked for
    assert g.tolist() == [4.0, 8.0]


def test_copies_of_what_was_expanded_are_contiguous():
    x = torch.arange(3.0).expand(2, 3)
    for copy in (x.double(), torch.zeros_like(x), torch.empty_like(x), x.to(torch.int64)):
        assert copy.stride() == (3, 1) and copy.view(-1).shape == (6,)


def test_a_gradient_through_a_tangent_of_an_operation_in_place():
    def inplace(x):
        y = x * 1.0
        y.mul_(x)
        return y

    def tangent(f):
        return lambda x: torch.func.jvp(f, (x,), (x.cos(),))[1]

    def gradient(f):
        return lambda x: torch.func.vjp(f, x)[1](x)[0]

    x = torch.tensor([-0.95, -0.09, -0.85], dtype=torch.float64)
    cosine, sine = x.cos(), x.sin()
    once = 2 * cosine * x - 2 * x * x * sine  # of 2 x cos(x)
    assert torch.allclose(gradient(tangent(inplace))(x), once)
    assert torch.allclose(gradient(tangent(gradient(inplace)))(x), 2 * once)
