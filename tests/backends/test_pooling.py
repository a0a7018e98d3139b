"""Pooling, with NumPy and with compiled kernels, against each window looked at by itself."""

import itertools

import numpy as np
import pytest

from tensorgrad.backends import native, pooling

WINDOWS = [  # shape, kernel, stride, padding, dilation, ceil_mode
    ((4, 6, 20, 21), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((4, 6, 20, 21), (3, 2), (1, 1), (1, 0), (1, 1), False),
    ((2, 8, 16, 16), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 5, 21, 67), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 5, 21, 37), (2, 2), (2, 2), (0, 0), (1, 1), True),
    ((3, 4, 30, 31), (5, 4), (3, 4), (2, 1), (1, 2), True),
    ((12, 40, 31), (3,), (2,), (1,), (2,), True),
    ((2, 3, 9, 10, 11), (2, 3, 2), (2, 2, 1), (1, 1, 0), (1, 1, 2), True),
    ((3, 4, 40, 40), (20, 20), (7, 7), (3, 2), (1, 1), True),
    ((2, 3, 8, 9), (2, 3), (2, 3), (0, 0), (1, 1), False),  # few windows that tile
    ((2, 3, 48), (4,), (4,), (0,), (1,), False),
    ((2, 2, 4, 4, 6), (2, 1, 3), (2, 1, 3), (0, 0, 0), (1, 1, 1), False),
]


@pytest.fixture(params=["numpy", "compiled"])
def way(request):
    if request.param == "compiled":
        pytest.importorskip("llvmlite")
    with native.using(request.param == "compiled"):
        yield request.param


def windows(spatial, size, kernel, stride, padding, dilation):
    """For each result: its index, and the (place in x, number in the window) of what the window sees."""
    for at in np.ndindex(*size):
        seen = []
        for number, tap in enumerate(itertools.product(*map(range, kernel))):
            place = tuple(o * s - p + k * d for o, s, p, k, d in zip(at, stride, padding, tap, dilation, strict=True))
            if all(0 <= i < n for i, n in zip(place, spatial, strict=True)):
                seen.append((place, number))
        yield at, seen


@pytest.mark.parametrize("unordered", [True, False])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_the_largest_and_where_it_was(way, case, unordered):
    shape, kernel, stride, padding, dilation, ceil_mode = case
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, shape).astype(np.float32)  # many are equal: the first wins
    x.ravel()[::11] = -np.inf
    x[0, 0] = -np.inf
    if unordered:
        x[1, 1].flat[:40] = np.nan
    spatial = shape[2:]
    size = pooling.pooled_size(spatial, kernel, stride, padding, dilation, ceil_mode)
    y, winners = pooling.max_pool(x, kernel, stride, padding, dilation, size)
    g = rng.integers(-4, 5, y.shape).astype(np.float32)
    gx, truth = pooling.max_pool_gradient(g, winners, spatial, kernel, stride, padding, dilation), np.zeros_like(x)
    for at, seen in windows(spatial, size, kernel, stride, padding, dilation):
        numbers = np.stack([x[(..., *place)] for place, _ in seen])
        best = numbers.argmax(0)
        unordered = np.isnan(numbers)
        best = np.where(unordered.any(0), len(seen) - 1 - unordered[::-1].argmax(0), best)  # the last NaN wins
        assert np.array_equal(y[(..., *at)], np.take_along_axis(numbers, best[None], 0)[0], equal_nan=True)
        assert (winners[(..., *at)] == np.array([n for _, n in seen])[best]).all()
        for k, (place, _) in enumerate(seen):
            truth[(..., *place)] += g[(..., *at)] * (best == k)
    assert (gx == truth).all()


@pytest.mark.parametrize("count_padding", [True, False])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_the_mean_and_its_transpose(way, case, count_padding):
    shape, kernel, stride, padding, _, ceil_mode = case
    ones = (1,) * len(kernel)
    rng = np.random.default_rng(1)
    x, spatial = rng.standard_normal(shape), shape[2:]
    size = pooling.pooled_size(spatial, kernel, stride, padding, ones, ceil_mode)
    y = pooling.average_pool(x, kernel, stride, padding, size, count_padding)
    g = rng.standard_normal(y.shape)
    gx, truth = pooling.average_pool_gradient(g, spatial, kernel, stride, padding, count_padding), np.zeros(shape)
    counts = np.broadcast_to(pooling.window_counts(spatial, kernel, stride, padding, size, count_padding), size)
    for at, seen in windows(spatial, size, kernel, stride, padding, ones):
        np.testing.assert_allclose(y[(..., *at)], sum(x[(..., *p)] for p, _ in seen) / counts[at], atol=1e-13)
        for place, _ in seen:
            truth[(..., *place)] += g[(..., *at)] / counts[at]
    np.testing.assert_allclose(gx, truth, atol=1e-12)
