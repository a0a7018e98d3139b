"""Masks: what they leave out plays no part, also where it is infinite or no number."""

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.backends.choosing import at_least_zero, keep, select, times


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize("size", [0, 5, 40_000, 100_001])
def test_the_same_as_where(dtype, size):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, size)).astype(dtype)
    if dtype in (np.float32, np.float64) and size:
        a[::7], b[::5], a[0] = np.nan, np.inf, -0.0
    mask = random.random(size) < 0.3
    np.testing.assert_array_equal(select(mask, a, b), np.where(mask, a, b))
    np.testing.assert_array_equal(keep(a, mask), np.where(mask, a, dtype(0)))
    np.testing.assert_array_equal(select(mask, a[::-1], b), np.where(mask, a[::-1], b))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int32])
@pytest.mark.parametrize("value", [0, 3, float("-inf"), float("nan")])
@pytest.mark.parametrize("shape", [(3, 4), (300, 200)])
def test_masks_are_filled(dtype, value, shape):
    if not dtype.is_floating_point and value - value != 0:
        return
    x = torch.linspace(-9, 9, shape[0] * shape[1]).view(shape).to(dtype)
    row = torch.arange(shape[1]) % 3 == 0
    for mask in (x > 1, row, (x > 1).t().contiguous().t()):
        want = np.where(mask.numpy(), np.array(value, x.numpy().dtype), x.numpy())
        for own in (x, x.t().contiguous().t()):
            filled, written = own.masked_fill(mask, value), own.clone().masked_fill_(mask, value)
            assert filled.dtype == written.dtype == dtype and filled.is_contiguous()
            np.testing.assert_array_equal(filled.numpy(), want)
            np.testing.assert_array_equal(written.numpy(), want)


@pytest.mark.parametrize("size", [4, 50_000])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
        torch.relu,
        lambda x: x.clamp(min=0),
        lambda x: torch.nn.functional.threshold(x, 0, 0),
        lambda x: x.masked_fill(x <= 0, 0),
    ],
)
def test_an_infinite_gradient_does_not_reach_what_was_not_chosen(function, size):
    x = torch.linspace(-1, 1, size).requires_grad_()
    (g,) = torch.autograd.grad(function(x).log().sum(), x)
    assert (g[x < 0] == 0).all() and torch.allclose(g[x > 0], 1 / x[x > 0])
    (first,) = torch.autograd.grad(function(x).log().sum(), x, create_graph=True)
    assert (first[x < 0] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [5, 40_000, 100_001, 300_000])
def test_at_least_zero_and_results_written_elsewhere(dtype, size):
    random = np.random.default_rng(0)
    a = random.normal(size=size).astype(dtype)
    a[::7], a[1::5], a[2], a[3] = np.nan, np.inf, -0.0, -np.inf
    mask, room = random.random(size) < 0.3, np.empty(size, dtype)
    np.testing.assert_array_equal(at_least_zero(a), np.maximum(a, 0))
    assert at_least_zero(a, out=room) is room
    np.testing.assert_array_equal(room, np.maximum(a, 0))
    np.testing.assert_array_equal(at_least_zero(a[::-1]), np.maximum(a[::-1], 0))
    np.testing.assert_array_equal(times(a, mask, out=room), np.where(mask, a, dtype(0)))
    np.testing.assert_array_equal(room, np.where(mask, a, dtype(0)))
    np.testing.assert_array_equal(times(a, a[::-1], out=room), a * a[::-1])


def test_relu_lets_the_gradient_of_what_is_no_number_through():
    x = torch.tensor([np.nan, -1.0, 0.0, -0.0, 2.0, np.inf, -np.inf], requires_grad=True)
    x.relu().sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 0, 1, 1, 0]
