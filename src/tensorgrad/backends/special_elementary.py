"""Logarithms, exponentials and quotients of them in the form that neither overflows nor cancels.

NumPy has the rest under the same names, with PyTorch's values: exp2, expm1, hypot, logaddexp2, nextafter and frexp.
"""

import math

import numpy as np

from .special_evaluate import elementwise


@elementwise
def entr(x):
    """-x log(x), what an outcome of probability x adds to an entropy; -inf below 0.

    >>> entr(np.array([0.0, 0.5, 1.0, -1.0]))
    array([ 0.        ,  0.34657359, -0.        ,        -inf])
    """
    y = -x * np.log(x)
    y[x <= 0] = -np.inf
    y[x == 0] = 0
    return y


@elementwise
def xlogy(x, y):
    """x log(y), and 0 where x is 0 and y is a number.

    >>> xlogy(np.array([0.0, 2.0]), np.array([0.0, 3.0]))
    array([0.        , 2.19722458])
    """
    return _unless_zero(x, y, np.log(y))


@elementwise
def xlog1py(x, y):
    """x log(1 + y), and 0 where x is 0 and y is a number.

    >>> xlog1py(np.array([0.0, 2.0]), np.array([-1.0, 1e-20]))
    array([0.e+00, 2.e-20])
    """
    return _unless_zero(x, y, np.log1p(y))


def _unless_zero(x, y, logarithm):
    product = x * logarithm
    product[(x == 0) & ~np.isnan(y)] = 0
    return product


@elementwise(half_as_is=True)  # as PyTorch, which rounds each of the three steps
def logit(x, eps=None):
    """log(x / (1 - x)), the inverse of expit; with eps >= 0, x is first brought into [eps, 1 - eps].

    >>> logit(np.array([0.0, 0.5, 0.75])), logit(np.array([-1.0]), eps=0.25)
    (array([      -inf, 0.        , 1.09861229]), array([-1.09861229]))
    """
    if eps is not None and eps >= 0:
        x = np.where(x < eps, x.dtype.type(eps), np.where(x > 1 - eps, x.dtype.type(1 - eps), x))
    return np.log(x / (1 - x))


@elementwise(complex_too=True)
def expit(x):
    """The logistic sigmoid, 1 / (1 + exp(-x)).

    >>> expit(np.array([0.0, -1000.0, 1000.0]))
    array([0.5, 0. , 1. ])
    """
    y = np.exp(-x)
    y += 1
    return np.divide(1, y, out=y)


@elementwise
def softplus(x, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta, which is x itself as far as one can see where beta x > threshold.

    >>> softplus(np.array([0.0, -100.0, 100.0]))
    array([6.93147181e-01, 3.72007598e-44, 1.00000000e+02])
    """
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


@elementwise
def logsigmoid(x):
    """log(expit(x)).

    >>> logsigmoid(np.array([0.0, 100.0, -1000.0]))
    array([-6.93147181e-01, -3.72007598e-44, -1.00000000e+03])
    """
    y = np.abs(x)
    np.exp(np.negative(y, out=y), out=y)
    np.log1p(y, out=y)
    return np.subtract(np.minimum(x, 0), y, out=y)


@elementwise(complex_too=True)
def sinc(x):
    """sin(πx) / (πx), 1 at 0.

    >>> sinc(np.array([0.0, 0.5, 1.5]))
    array([ 1.        ,  0.63661977, -0.21220659])
    """
    angle = x * x.dtype.type(math.pi)
    y = np.sin(angle) / angle
    y[x == 0] = 1
    return y


@elementwise(complex_too=True)
def log1p(x):
    """log(1 + x), accurate also where x is small; complex x too.

    >>> log1p(np.array([1e-20 + 1e-10j]))
    array([1.5e-20+1.e-10j])
    """
    return _complex_log1p(x) if x.dtype.kind == "c" else np.log1p(x)


def _complex_log1p(z):
    x, y = z.real, z.imag
    result = np.empty_like(z)
    size = np.hypot(1 + x, y)
    near = (size > 0.5) & (size < 2)  # where its logarithm would cancel
    result.real = np.where(near, 0.5 * np.log1p(x * (2 + x) + y * y), np.log(size))
    result.imag = np.arctan2(y, 1 + x)
    return result


@elementwise(complex_too=True)
def logaddexp(x, y):
    """log(exp(x) + exp(y)); of complex numbers too.

    >>> logaddexp(np.array([0.0, 1000.0]), np.array([0.0, 1000.0]))
    array([6.93147181e-01, 1.00069315e+03])
    """
    if x.dtype.kind == "c":
        return _complex_logaddexp(x, y)
    difference = np.abs(x - y)
    difference[x == y] = 0  # also of infinities
    return np.maximum(x, y) + np.log1p(np.exp(-difference))


def _complex_logaddexp(x, y):
    larger = np.where(x.real < y.real, y, x)
    smaller = np.where(x.real < y.real, x, y)
    result = larger + _complex_log1p(np.exp(smaller - larger))
    infinite = np.isinf(larger.real) & (larger.real == smaller.real)
    result[infinite] = np.where(larger.real > 0, np.log(np.exp(larger) + np.exp(smaller)), smaller)[infinite]
    result[np.isnan(x.real) | np.isnan(y.real)] = complex(math.nan, math.nan)
    return result
