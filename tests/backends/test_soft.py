"""Softmax and what belongs to it: float32 against the same in float64, for rows of any kind and arrays of any size."""

import warnings

import numpy as np
import pytest

from tensorgrad.backends import soft
from tensorgrad.spec import LARGE

SHAPES = [(1, 1), (8, 8), (3, 5, 7), (40, 100), (1, 5000), (3000, 2), (LARGE // 300 + 1, 300), (2, LARGE)]
KINDS = {
    "plain": lambda x: x,
    "far": lambda x: x * 1000,
    "high": lambda x: x + 1000,
    "low": lambda x: x - 1000,
    "denormal": lambda x: x - 95,
    "sure": lambda x: x + 12 * (np.arange(x.shape[-1]) == 0),
}


def numbers(shape, kind):
    return KINDS[kind](np.random.default_rng(0).normal(size=shape)).astype(np.float32)


def exact(x):
    """The logarithm of softmax in float64."""
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_and_its_logarithm(shape, kind):
    x = numbers(shape, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights, logarithms = soft.softmax(x), soft.log_softmax(x)
    want = exact(x)
    assert weights.dtype == logarithms.dtype == np.float32 and weights.shape == logarithms.shape == shape
    np.testing.assert_allclose(logarithms, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weights, np.exp(want), rtol=2e-6, atol=1e-18)
    np.testing.assert_allclose(weights.sum(-1, dtype=np.float64), 1, rtol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) == 2])
def test_cross_entropy_and_its_gradient(shape, kind):
    x, rows = numbers(shape, kind), np.arange(shape[0])
    target = np.random.default_rng(1).integers(0, shape[1], shape[0])
    target[: shape[0] // 2] = 0
    want = exact(x)
    np.testing.assert_allclose(soft.cross_entropy(x, target), -want[rows, target], rtol=1e-6, atol=1e-6)
    scale = np.linspace(1, 2, shape[0], dtype=np.float32)
    slope = np.exp(want)
    slope[rows, target] -= 1
    found = soft.cross_entropy_gradient(x, target, scale)
    np.testing.assert_allclose(found, slope * scale[:, None], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients(shape):
    rng = np.random.default_rng(0)
    g, y = rng.normal(size=shape).astype(np.float32), exact(numbers(shape, "plain"))
    weights = np.exp(y)
    want = weights * (g - (g * weights).sum(-1, keepdims=True))
    np.testing.assert_allclose(soft.softmax_gradient(g, weights.astype(np.float32)), want, rtol=1e-5, atol=1e-6)
    want = g - weights * g.sum(-1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(soft.log_softmax_gradient(g, y.astype(np.float32)), want, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("count", [15, 6000, LARGE])
def test_numbers_that_are_none(count):
    x = np.zeros((5, count // 5), np.float32)
    x[0, 0], x[1, 0], x[2], x[3, 0] = -np.inf, np.nan, -np.inf, np.inf
    with np.errstate(all="ignore"):
        found, loss = soft.softmax(x), soft.cross_entropy(x, np.zeros(5, np.int64))
    assert found[0, 0] == 0 and np.isfinite(found[[0, 4]]).all()
    assert np.isnan(found[1:3]).all() and np.isnan(found[3, 0])
    assert loss[0] == np.inf and np.isnan(loss[1:4]).all() and np.isfinite(loss[4])


@pytest.mark.parametrize("shape", [(5, 1), (100, 3), (3000, 7), (LARGE // 100, 128)])
def test_one_class_has_all(shape):
    """Rounding makes no loss negative, no probability greater than 1 and no gradient where the truth has none."""
    x, target = numbers(shape, "plain") * 3, np.arange(shape[0]) % shape[1]
    x[np.arange(shape[0]), target] += 40
    assert soft.log_softmax(x).max() <= 0
    loss = soft.cross_entropy(x, target)
    assert loss.min() >= 0 and loss.max() < 3e-7
    gradient = soft.cross_entropy_gradient(x, target, np.ones(shape[0], np.float32))
    assert not gradient[np.arange(shape[0]), target].any()


def test_gradient_of_tiny_scale():
    """The numbers that exponentials are divided by keep all their digits."""
    x, target = numbers((300, 40), "plain") + 63, np.arange(300) % 40
    found = soft.cross_entropy_gradient(x, target, np.full(300, 1e-12, np.float32)).astype(np.float64)
    np.testing.assert_allclose(found * 1e12, np.exp(exact(x)) - np.eye(40)[target], rtol=1e-4, atol=1e-6)
