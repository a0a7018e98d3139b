"""Sums of large arrays are NumPy's, as accurate, whatever their length and kind."""

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.backends.choosing import at_least_zero
from tensorgrad.backends.summing import sums


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((100, 100), 1), ((100, 100), 0), ((3, 5000), -1), ((100_003,), 0), ((4, 50, 60), (1, 2)), ((4, 50, 60), (0, 1, 2)),
        ((0, 9000), 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("keepdims", [True, False])
def test_the_same_as_numpy(shape, axis, dtype, keepdims):
    x = (np.random.default_rng(0).normal(size=shape) * 100).astype(dtype)
    for given in (x, x.T if axis == 0 else x[..., ::-1]):
        got, want = sums(given, axis, keepdims), np.add.reduce(given.astype(np.float64), axis, keepdims=keepdims)
        assert got.dtype == dtype and got.shape == want.shape
        scale = np.add.reduce(np.abs(given.astype(np.float64)), axis, keepdims=keepdims)
        assert (np.abs(got - want) <= 2e-7 * (dtype is np.float32) * scale + 1e-13 * scale).all()


def test_numbers_that_are_none():
    x = np.ones((100, 100), np.float32)
    x[3, 4], x[5, 6], x[7, 8], x[7, 9] = np.nan, np.inf, np.inf, -np.inf
    got = sums(x, 1)
    assert np.isnan(got[[3, 7]]).all() and got[5] == np.inf and np.isnan(sums(x, (0, 1)))
    y = at_least_zero(np.where(x == 1, np.float32(-1), x))
    assert np.isnan(y[3, 4]) and y[5, 6] == np.inf and y[7, 9] == 0 and y[0, 0] == 0


@pytest.mark.parametrize("shape", [(200, 300), (5, 200, 100), (40, 40)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128, torch.int8])
def test_columns_laid_out_as_rows(shape, dtype):
    x = (torch.arange(torch.Size(shape).numel()) % 100).reshape(shape).to(dtype)
    turned = x.transpose(-1, -2)
    laid = turned.contiguous()
    assert laid.is_contiguous() and torch.equal(laid, turned)
    assert (laid.numpy() == np.swapaxes(x.numpy(), -1, -2)).all() and laid.data_ptr() != x.data_ptr()
