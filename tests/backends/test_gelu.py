"""gelu in float32: its numbers against float64's error function, and numbers that are none."""

import math

import numpy as np
import pytest

from tensorgrad.backends.gelu import gelu, gelu_slope

NAN, INF = math.nan, math.inf


def below(x):
    """The probability that a normal variable is below x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def test_gelu_and_its_slope_are_right_to_the_last_digits():
    x = np.concatenate([np.linspace(-40, 40, 20_001), np.linspace(-7, 7, 100_001)]).astype(np.float32)
    exact = np.array([v * below(v) for v in x.tolist()])
    error = np.abs(gelu(x) - exact)
    assert error[x < 0].max() < 4e-7
    assert (error[x > 0] / exact[x > 0]).max() < 3e-7
    slope = [below(v) + v * math.exp(-v * v / 2) / math.sqrt(2 * math.pi) for v in x.tolist()]
    np.testing.assert_allclose(gelu_slope(x), slope, rtol=0, atol=3e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values():
    x = np.array([INF, NAN, 1e30, -1e30, 0.0, -0.0, 1e-30, -1e-40], np.float32)
    found = gelu(x)
    np.testing.assert_array_equal(found, np.array([INF, NAN, 1e30, -0.0, 0.0, -0.0, 5e-31, -5e-41], np.float32))
    np.testing.assert_array_equal(np.signbit(found[3:6]), [True, False, True])
    np.testing.assert_array_equal(gelu_slope(x[1:]), np.array([NAN, 1, 0, 0.5, 0.5, 0.5, 0.5], np.float32))


def test_any_shape_and_order_in_memory():
    x = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(gelu(x.T), gelu(x).T)
    np.testing.assert_array_equal(gelu(x[:, ::2]), gelu(x)[:, ::2])
    assert gelu(x[:0]).shape == (0, 6)
    assert gelu(x[0, 0].reshape(())).shape == () and gelu_slope(x[0, 0].reshape(())).dtype == np.float32
