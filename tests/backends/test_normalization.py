"""Normalization of arrays of any arrangement and size, and its gradients, against the formula in float64."""

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.backends.normalization import (
    normalize,
    normalize_by_size,
    normalize_by_size_gradient,
    normalize_gradient,
)
from tensorgrad.spec import LARGE

# x (A, B, J, K), and the shape of its scale
CASES = {
    "layer": ((1, 8, 1, 8), (1, 1, 1, 8)),
    "layer, one feature": ((1, 8, 1, 1), (1, 1, 1, 1)),
    "layer, long rows": ((1, 3, 1, 3001), (1, 1, 1, 3001)),
    "layer, large": ((1, LARGE // 500 + 7, 1, 500), (1, 1, 1, 500)),
    "layer, few large rows": ((1, 3, 1, LARGE), (1, 1, 1, LARGE)),
    "batch": ((4, 3, 1, 10), (1, 3, 1, 1)),
    "batch, one sample": ((1, 3, 1, 10), (1, 3, 1, 1)),
    "batch, no places": ((300, 5, 1, 1), (1, 5, 1, 1)),
    "batch, large": ((3, 40, 1, LARGE // 100), (1, 40, 1, 1)),
    "batch, large, no places": ((LARGE // 50, 60, 1, 1), (1, 60, 1, 1)),
    "group": ((1, 6, 4, 9), (1, 6, 4, 1)),
    "group, as many as places": ((1, 5, 5, 5), (1, 5, 5, 1)),
    "group, large": ((1, 64, 4, LARGE // 200), (1, 64, 4, 1)),
}


def made(case, dtype=np.float32, shift=0.0):
    shape, scale = CASES[case]
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=shape) + shift, rng.normal(size=shape)
    return [t.astype(dtype) for t in (x, g, rng.normal(size=scale) + 2, rng.normal(size=scale))]


def exact(x, w, b, eps):
    x, w, b = (t.astype(np.float64) for t in (x, w, b))
    mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (
        (x - mean) / np.sqrt(variance + eps) * w + b,
        mean.ravel(),
        1 / np.sqrt(variance + eps).ravel(),
        variance.ravel(),
    )


def exact_gradient(g, x, w, eps, centred=True, given=False):
    g, x, w = (t.astype(np.float64) for t in (g, x, w))
    average = lambda t: t.mean((0, 2, 3), keepdims=True)
    move = x - average(x) if centred else x
    rstd = 1 / np.sqrt(average(move * move) + eps)
    normal, slope = move * rstd, g * w
    axes = tuple(i for i, n in enumerate(w.shape) if n == 1)
    gx = slope if given else slope - normal * average(slope * normal)
    gx = gx - average(slope) if centred and not given else gx
    return gx * rstd, (g * normal).sum(axes, keepdims=True), g.sum(axes, keepdims=True)


def near(found, want, tolerance):
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance * max(np.abs(want).max(initial=0), 1e-30))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("case", CASES)
def test_normalized_and_statistics(case, dtype):
    x, _, w, b = made(case, dtype, 3)
    tolerance = {np.float64: 1e-12, np.float32: 2e-6, np.float16: 1e-3}[dtype]
    out, *statistics = normalize(x, w, b, 1e-5)
    want, *expected = exact(x, w, b, 1e-5)
    assert out.dtype == dtype and out.shape == x.shape
    if x[:, 0].size > 1:
        near(out, want, tolerance)
        for found, one in zip(statistics, expected, strict=True):
            assert found.dtype == (np.float64 if dtype is np.float64 else np.float32)
            near(found, one, 1e-12 if dtype is np.float64 else 2e-6)
    plain = normalize(x, None, None, 1e-5, *statistics[:2])[0]
    near(plain, exact(x, w * 0 + 1, b * 0, 1e-5)[0], tolerance)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("case", CASES)
def test_gradients(case, dtype, given):
    x, g, w, b = made(case, dtype)
    if x[:, 0].size == 1:
        return
    _, mean, rstd, _ = normalize(x, w, b, 1e-5)
    tolerance = {np.float64: 1e-11, np.float32: 5e-6, np.float16: 1e-3}[dtype]
    by_place = w.shape[3] > 1
    found = normalize_gradient(g, x, w, mean, rstd, (True, True, True), given, by_place)
    want = exact_gradient(g, x, w, 1e-5, given=given)
    for one, expected in zip(found, want, strict=True):
        one = one if one.shape == expected.shape else one.sum(1, keepdims=True)
        near(one, expected, tolerance)
    assert found[0].dtype == dtype
    alone = normalize_gradient(g, x, w, mean, rstd, (False, True, False), given, by_place)
    assert alone[0] is None and alone[2] is None and (alone[1] == found[1]).all()
    plain = normalize_gradient(g, x, None, mean, rstd, (True, False, False), given, by_place)[0]
    near(plain, exact_gradient(g, x, w * 0 + 1, 1e-5, given=given)[0], tolerance)


@pytest.mark.parametrize("shape", [(5, 7), (5, 1), (LARGE // 300 + 3, 300)])
def test_by_size(shape):
    rng = np.random.default_rng(0)
    x, g, w = (rng.normal(size=n).astype(np.float32) for n in (shape, shape, shape[1]))
    out, rows = normalize_by_size(x, w, 1e-6)
    wide = x.astype(np.float64)
    rstd = 1 / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-6)
    near(out, wide * rstd * w, 1e-6)
    near(rows, rstd, 1e-6)
    gx, gw = normalize_by_size_gradient(g, x, w, rows, (True, True))
    want = exact_gradient(*(t[None, :, None] for t in (g, x)), w[None, None, None], 1e-6, centred=False)
    np.testing.assert_allclose(gx, want[0][0, :, 0], rtol=3e-6, atol=1e-6 * np.abs(g * w * rstd).max())
    near(gw, want[1].ravel(), 3e-6)


@pytest.mark.parametrize("case", ["layer, long rows", "layer, large", "batch", "batch, large", "group, large"])
def test_far_from_zero(case):
    """Numbers around ten thousand: their mean is known to half a thousandth, and that is all that may be lost."""
    x, _, w, b = made(case, np.float32, 1e4)
    out, mean, rstd, _ = normalize(x, w, b, 1e-5)
    want, expected, deviation, _ = exact(x, w, b, 1e-5)
    near(mean, expected, 3e-7)
    near(rstd, deviation, 1e-4)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("case", CASES)
def test_arrays_in_another_order(case):
    x, g, w, b = made(case)
    _, mean, rstd, _ = normalize(x, w, b, 1e-5)
    gradient = lambda g, x: normalize_gradient(g, x, w, mean, rstd, (True, True, True), False, w.shape[3] > 1)
    for order in ((3, 2, 0, 1), (0, 2, 3, 1), (2, 1, 3, 0)):
        turned = [np.ascontiguousarray(t.transpose(order)).transpose(np.argsort(order)) for t in (x, g)]
        for found, want in zip(normalize(turned[0], w, b, 1e-5), normalize(x, w, b, 1e-5), strict=True):
            near(found, want, 1e-5)
        for found, want in zip(gradient(*turned[::-1]), gradient(g, x), strict=True):
            near(found, want, 1e-4)


def test_empty_arrays():
    for shape in ((1, 0, 1, 4), (1, 4, 1, 0), (0, 4, 1, 3), (1, 0, 2, 3)):
        x = np.zeros(shape, np.float32)
        with np.errstate(all="ignore"):
            out, mean, rstd, _ = normalize(x, None, None, 1e-5)
            gx = normalize_gradient(x, x, None, mean, rstd, (True, False, False))[0]
        assert out.shape == gx.shape == shape and mean.shape == (shape[1],)


@pytest.mark.parametrize(
    ("shape", "scale"), [((1, 2, 1, 0), (1, 1, 1, 0)), ((1, 0, 1, 3), (1, 1, 1, 3)), ((1, 2, 0, 3), (1, 2, 0, 1))]
)
def test_scales_of_empty_arrays(shape, scale):
    x, w = np.zeros(shape, np.float32), np.ones(scale, np.float32)
    with np.errstate(all="ignore"):
        out, mean, rstd, _ = normalize(x, w, w, 1e-5)
        gx, gw, gb = normalize_gradient(x, x, w, mean, rstd, (True, True, True), False, scale[3] != 1)
    assert out.shape == gx.shape == shape
    assert gw.size == gb.size == (0 if 0 in scale else 3) and not gw.any()


@pytest.mark.parametrize(
    ("shape", "of"), [((2, 0), "layer"), ((0,), "layer"), ((2, 3, 0), "layer"), ((2, 0, 3), "group")]
)
def test_layers_of_no_features(shape, of):
    x, w = torch.zeros(shape, requires_grad=True), torch.ones(0, requires_grad=True)
    norm = torch.nn.functional.layer_norm if of == "layer" else torch.nn.functional.group_norm
    norm(x, (0,) if of == "layer" else 1, w, w).sum().backward()
    assert x.grad.shape == shape and w.grad.shape == (0,)
