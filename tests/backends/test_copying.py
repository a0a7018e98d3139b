"""Copies in order are what NumPy's are, whatever order the numbers lie in."""

import itertools

import numpy as np
import pytest

from tensorgrad.backends import copying, crew


@pytest.fixture(params=["alone", "shared"])
def small(request, monkeypatch):
    """Blocks so small that small arrays have many."""
    for name, value in {"LINES": 4, "LENGTH": 8, "LEAST": 4, "SHORTEST": 2, "COPIED": 8}.items():
        monkeypatch.setattr(copying, name, value)
    if request.param == "shared":
        monkeypatch.setattr(copying, "SHARED", 1)
        monkeypatch.setattr(crew, "threads", lambda: 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.complex128, bool])
@pytest.mark.parametrize("shape", [(5, 9), (8, 8), (17, 30), (3, 1, 12, 7), (2, 3, 10, 5), (1, 1, 20), (0, 4), ()])
def test_any_order_of_dimensions(small, shape, dtype):
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    for order in itertools.permutations(range(len(shape))):
        view = x.transpose(order)
        copy = copying.in_order(view)
        assert copy.flags.c_contiguous and not np.shares_memory(copy, x)
        assert copy.dtype == dtype and np.array_equal(copy, view)


def test_views_of_parts(small):
    x = np.arange(30 * 40.0).reshape(30, 40)
    for view in (
        x[::2, 3:].T,
        x[::-1].T,
        x[:, ::-1].T,
        x[5:6].T,
        np.broadcast_to(x[0], (20, 40)).T,
        x.T[3:, None, ::2],
    ):
        assert np.array_equal(copying.in_order(view), view)


def test_large_matrices():
    x = np.arange(1030 * 2050, dtype=np.float32).reshape(1030, 2050)
    assert np.array_equal(copying.in_order(x.T), x.T)
    images = x[:1024, :2048].reshape(8, 128, 32, 64)
    assert np.array_equal(copying.in_order(images.transpose(0, 2, 3, 1)), images.transpose(0, 2, 3, 1))
    last = images.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    assert np.array_equal(copying.in_order(last), images)
