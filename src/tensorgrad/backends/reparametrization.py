"""How a gamma or beta number moves when its parameter does, the quantile held still. Arrays in, arrays out.

For a density p(t; a) the number x with a fixed share F of the density below it moves by dx/da = -(dF/da) / p(x; a).
dF/da is the integral of dp/da from 0 to x or, with the other sign, from x on: of the two, the one whose integrand has
one sign throughout is taken, so that nothing cancels. With t = x exp(-w) and its like the integrand falls off smoothly
over w from 0 to infinity, and a double exponential rule sums it to almost full precision. For small gamma numbers a
power series does. (PyTorch has rational approximations here, good to three or four digits.)
"""

import numpy as np

from tensorgrad.backends.special import digamma

STEP = 0.08
_t = np.arange(-4, 4 + STEP / 2, STEP)
NODES = np.exp(np.pi / 2 * np.sinh(_t))  # w = exp(pi / 2 sinh t): evenly spaced in t
WEIGHTS = STEP * np.pi / 2 * np.cosh(_t) * NODES
CHUNK = 2048  # numbers at once
SERIES_BELOW = 4.0


def standard_gamma_grad(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d x / d a of gamma numbers `x` of scale one with shapes `a`.

    >>> standard_gamma_grad(np.array([1.0, 20.0]), np.array([0.5, 20.0])).round(4)
    array([0.807 , 1.0084])
    """
    return _by_chunks(_gamma_chunk, a, x)


def dirichlet_grad(x: np.ndarray, a: np.ndarray, total: np.ndarray) -> np.ndarray:
    """d x / d a of beta numbers `x` with parameters `a` and `total - a`, divided by 1 - x.

    >>> dirichlet_grad(np.array([0.5]), np.array([1.0]), np.array([2.0])).round(4)
    array([0.6931])
    """
    return _by_chunks(_beta_chunk, a, x, total)


def _by_chunks(function, a, *others):
    """A function of flat float64 arrays on arrays of any shape and dtype; as many numbers at once as fit a cache."""
    shape = np.broadcast_shapes(a.shape, *(other.shape for other in others))
    flat = [np.broadcast_to(array, shape).astype(np.float64).ravel() for array in (a, *others)]
    result = np.empty(flat[0].size)
    with np.errstate(all="ignore"):
        for start in range(0, result.size, CHUNK):
            part = slice(start, start + CHUNK)
            result[part] = function(*(array[part] for array in flat))
    return result.reshape(shape).astype(a.dtype)


def _integral(scale, integrand):
    """The integral over w from 0 on, for each number; its integrand, a function of a column of w, is as wide as `scale`."""
    values = integrand(NODES[:, None] * scale) * WEIGHTS[:, None]
    return np.where(np.isfinite(values), values, 0).sum(0) * scale


def _gamma_chunk(a, x):
    small = x < SERIES_BELOW
    result = np.empty_like(a)
    result[small] = _gamma_series(a[small], x[small])
    result[~small] = _gamma_integral(a[~small], x[~small])
    return result


def _gamma_series(a, x):
    """x times the sum of x^n / (a (a + 1) ... (a + n)) (digamma(a + n + 1) - log x)."""
    log, psi = np.log(x), digamma(a + 1)
    term = x / a
    total = term * (psi - log)
    for n in range(1, 40):  # x^n / n! is below 1e-20 by then
        term = term * (x / (a + n))
        psi = psi + 1 / (a + n)
        total += term * (psi - log)
    return total


def _gamma_integral(a, x):
    mean = digamma(a)  # of the logarithm
    gap = np.log(x) - mean
    above = gap > 0
    slope = np.abs(a - x)
    scale = 1 / (slope / 2 + np.sqrt(slope * slope / 4 + x))

    def integrand(w):  # t = x exp(w) above the middle, x exp(-w) below it
        moved = np.where(above, w, -w)
        return np.exp(a * moved - x * np.expm1(moved)) * np.abs(gap + moved)

    return x * _integral(scale, integrand)


def _beta_chunk(a, x, total):
    b, rest, log = total - a, 1 - x, np.log(x)
    mean = digamma(a) - digamma(total)  # of the logarithm of t
    above = log > mean
    # Above the middle the integral goes on to t = 1, below it to t = 0. `near` is how far away that end is, and `first`
    # the parameter of the density there; `far` and `second` are those of the other end.
    near, far, first, second = (np.where(above, *pair) for pair in ((rest, x), (x, rest), (b, a), (a, b)))
    split = (second < 1) & (far < 0.5)  # a long way whose steps are even in the logarithm of `far`: up to the half
    start = np.where(split, 0.5, near)
    other = np.where(split, 0.5, far)
    slope = np.abs(first - (second - 1) * start / other)
    scale = 1 / (slope / 2 + np.sqrt(slope * slope / 4 + total * start / other + 1e-300))

    def integrand(w):  # at start exp(-w) from the end
        shrunk, grown = start * np.exp(-w), np.log1p(start * -np.expm1(-w) / other)
        distance = np.where(above, np.log1p(-shrunk) - mean, mean - np.log(start) + w)
        return np.exp((second - 1) * grown - first * w) * np.abs(distance)

    height = (first - 1) * np.log(start / near) + (second - 1) * np.log(other / far)  # of the density, seen from x
    integral = start * np.exp(height) * _integral(scale, integrand)
    if split.any():
        integral[split] += _beta_way(*(v[split] for v in (near, far, first, second, above, mean)))
    return integral / rest


def _beta_way(near, far, first, second, above, mean):
    """The part of the integral from x up to the half, in the logarithm of the distance to the other end."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    length = np.log(0.5 / far)
    w = (nodes[:, None] + 1) / 2 * length
    place = far * np.exp(w)
    distance = np.where(above, np.log(place) - mean, mean - np.log1p(-place))
    values = np.exp(second * w + (first - 1) * np.log((1 - place) / near)) * np.abs(distance)
    return far * (weights @ values) / 2 * length
