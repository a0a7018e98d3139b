"""Convolution and its adjoints, with NumPy and with compiled kernels, against the sum written out tap by tap."""

import itertools

import numpy as np
import pytest

from tensorgrad import settings
from tensorgrad.backends import convolution as kernels
from tensorgrad.backends import crew, native

GEOMETRIES = [  # x, w, stride, padding, dilation, groups
    ((2, 3, 8, 9), (5, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((5, 4, 12, 13), (8, 4, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((5, 4, 12, 13), (8, 2, 3, 2), (2, 3), (0, 2), (2, 1), 2),
    ((7, 6, 31), (12, 3, 5), (2,), (3,), (2,), 2),
    ((3, 4, 6, 7, 8), (8, 4, 3, 2, 3), (1, 2, 1), (1, 0, 2), (1, 1, 2), 1),
    ((3, 8, 9, 9), (8, 1, 3, 3), (2, 1), (1, 1), (1, 1), 8),
    ((2, 3, 8, 9), (5, 3, 1, 1), (3, 3), (0, 0), (1, 1), 1),
    ((2, 3, 8, 9), (5, 3, 1, 1), (1, 1), (2, 2), (1, 1), 1),
    ((2, 3, 5, 5), (13, 3, 5, 5), (1, 1), (4, 4), (1, 1), 1),
    ((1, 9, 70, 80), (11, 9, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # one sample for all threads
    ((1, 48, 201, 70), (2, 48, 3, 2), (2, 1), (1, 1), (1, 1), 1),  # larger than a panel
    ((1, 4, 4000), (4, 4, 3), (1,), (1,), (1,), 1),
    ((9, 17, 11, 12), (19, 17, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # from here on in tiles
    ((2, 32, 25, 24), (64, 16, 3, 3), (1, 1), (0, 2), (1, 1), 2),
    ((1, 16, 150, 133), (16, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 18, 4, 603), (35, 18, 3, 3), (1, 1), (0, 0), (1, 1), 1),  # one row of tiles, wider than what is done together
    ((4, 48, 14, 15), (96, 16, 3, 3), (1, 1), (3, 1), (1, 1), 3),
]


def places(spatial, tap, stride, padding, dilation, size):
    """Which results see x at a tap, and where, as pairs of index arrays."""
    found = []
    for n, k, s, p, d, m in zip(spatial, tap, stride, padding, dilation, size, strict=True):
        at = np.arange(m) * s + k * d - p
        keep = (at >= 0) & (at < n)
        found.append((np.flatnonzero(keep), at[keep]))
    return [f for f, _ in found], [f for _, f in found]


def by_taps(x, w, g, stride, padding, dilation, groups):
    """The convolution, and the gradients of x and w, one tap after the other in float64."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    size = kernels.convolution_size(x.shape[2:], w.shape[2:], stride, padding, dilation)
    y = np.zeros((len(x), len(w), *size))
    gx, gw = np.zeros(x.shape), np.zeros(w.shape)
    per_in, per_out = x.shape[1] // groups, len(w) // groups
    for tap in itertools.product(*map(range, w.shape[2:])):
        to, at = places(x.shape[2:], tap, stride, padding, dilation, size)
        for group in range(groups):
            ins, outs = slice(group * per_in, (group + 1) * per_in), slice(group * per_out, (group + 1) * per_out)
            weights = w[(outs, slice(None), *tap)]
            inside = np.ix_(range(len(x)), range(x.shape[1])[ins], *at)
            results = np.ix_(range(len(x)), range(len(w))[outs], *to)
            y[results] += np.einsum("oc,nc...->no...", weights, x[inside])
            if g is not None:
                gx[inside] += np.einsum("oc,no...->nc...", weights, g[results])
                gw[(outs, slice(None), *tap)] = np.einsum("noq,ncq->oc", *(
                    a.reshape(*a.shape[:2], -1) for a in (g[results].astype(np.float64), x[inside])
                ))  # fmt: skip
    return y, gx, gw


@pytest.fixture(params=["numpy", "compiled"])
def way(request):
    if request.param == "compiled":
        pytest.importorskip("llvmlite")
    with native.using(request.param == "compiled"):
        yield request.param


def close(found, truth, dtype):
    scale = np.abs(truth).max(initial=1e-3)
    return np.abs(found - truth).max(initial=0) < scale * (3e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_convolution_and_its_adjoints(way, geometry, dtype):
    x_shape, w_shape, *window, groups = geometry
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    bias = rng.standard_normal(w_shape[0]).astype(dtype)
    y = kernels.convolution(x, w, *window, groups, bias)
    g = rng.standard_normal(y.shape).astype(dtype)
    true_y, true_gx, true_gw = by_taps(x, w, g, *window, groups)
    assert close(y - bias.reshape(-1, *[1] * len(window[0])), true_y, dtype)
    assert close(kernels.convolution_input_gradient(g, w, x_shape, *window, groups), true_gx, dtype)
    assert close(kernels.convolution_weight_gradient(g, x, w_shape, *window, groups), true_gw, dtype)


def test_operands_of_any_strides(way):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 9, 8, 4)).transpose(0, 3, 1, 2)
    w = rng.standard_normal((3, 3, 4, 6))[::-1].transpose(3, 2, 0, 1)
    y = kernels.convolution(x, w, (1, 1), (1, 1), (1, 1))
    assert close(y, by_taps(x, w, None, (1, 1), (1, 1), (1, 1), 1)[0], np.float64)


@pytest.mark.parametrize("channels", [4, 16])
def test_an_infinity_reaches_only_the_weights_that_see_it(way, channels):
    x, g = np.ones((2, 1, channels, 40, 40), np.float32)
    x[0, 0, 0, 0] = np.inf  # the last row and column of taps never see the corner
    gw = kernels.convolution_weight_gradient(g, x, (channels, channels, 3, 3), (1, 1), (1, 1), (1, 1))
    assert np.isinf(gw[:, 0, :2, :2]).all()
    assert np.isfinite(gw[:, 0, 2]).all() and np.isfinite(gw[:, 0, :, 2]).all() and np.isfinite(gw[:, 1:]).all()


def test_an_infinity_stays_in_its_windows(way):
    x, w = np.ones((1, 16, 40, 40), np.float32), np.ones((16, 16, 3, 3), np.float32)
    x[0, 3, 5, 5], x[0, 4, 20, 20] = np.inf, np.nan
    y = kernels.convolution(x, w, (1, 1), (1, 1), (1, 1))
    assert np.isinf(y[:, :, 4:7, 4:7]).all() and np.isnan(y[:, :, 19:22, 19:22]).all()
    assert np.isfinite(y).sum() == 16 * (40 * 40 - 18)


def test_results_are_the_same_whichever_way(way):
    """Small integers have exact sums: both ways give the very same numbers."""
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, (8, 16, 20, 20)).astype(np.float32)
    w = rng.integers(-4, 5, (24, 16, 3, 3)).astype(np.float32)
    y = kernels.convolution(x, w, (1, 1), (1, 1), (1, 1))
    assert (y == by_taps(x, w, None, (1, 1), (1, 1), (1, 1), 1)[0]).all()


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("cores", [1, 3])
def test_panels_of_any_layout_give_the_same(monkeypatch, flat, cores):
    """Many small panels, shared among threads or not, with border columns cut off afterwards or none."""
    monkeypatch.setattr(kernels, "PANEL_BYTES", 1 << 11)
    monkeypatch.setattr(kernels, "CUT_COST", -1e9 if flat else 1e9)
    monkeypatch.setattr(kernels, "SHARED_COST", 0)
    monkeypatch.setattr(settings, "cores", lambda: cores)
    monkeypatch.setattr(crew, "threads", lambda: cores)
    kernels._plan.cache_clear()
    try:
        with native.using(False):
            for geometry in GEOMETRIES[:9]:
                test_convolution_and_its_adjoints(None, geometry, np.float64)
    finally:
        kernels._plan.cache_clear()
