"""The orthogonal polynomials: Chebyshev's of four kinds, also shifted to [0, 1], Hermite's, Laguerre's and Legendre's.

Each is its three-term recurrence, run for all numbers of a block at once up to the highest degree in it. Chebyshev's of
higher degree between -1 and 1 are the quotients of sines and cosines that define them. A degree is cut to a whole
number; below 0 the polynomial is 0.
"""

import numpy as np

from .special_evaluate import by_range, elementwise

CLOSED_FROM = 9  # the degree from which sines and cosines are quicker, and as accurate


def _recurrence(x, degree, first, step):
    """The polynomials of the given degrees, from the one of degree 1 and the step from two of them to the next."""
    result = np.zeros_like(x)
    result[degree == 0] = 1
    top = int(degree.max(initial=0))
    before, current = np.ones_like(x), first
    for k in range(1, top + 1):
        if k > 1:
            before, current = current, step(k - 1, current, before)
        here = np.flatnonzero(degree == k)
        result[here] = current.take(here)
    return result


def _whole(n):
    """The degree as PyTorch's cast to a 64-bit integer gives it, where what does not fit is negative."""
    return np.trunc(np.where(np.abs(n) < 2.0**63, n, -1))


def _chebyshev(x, n, extra, closed):
    """Chebyshev's polynomials, which differ in the one of degree 1, (1 or 2) x + extra, and in their closed form."""
    degree = _whole(n)

    def steps(x, degree):
        twice = 2 * x
        first = x if extra is None else twice + extra
        return _recurrence(x, degree, first, lambda k, current, before: twice * current - before)

    def quotient(x, degree):
        return closed(degree, np.arccos(x))

    kind = np.where((np.abs(x) < 1) & (degree >= CLOSED_FROM), 1, 0)
    return by_range(kind, (1,), (steps, quotient), x, degree)


def _t(x, n):
    return _chebyshev(x, n, None, lambda n, angle: np.cos(n * angle))


def _u(x, n):
    return _chebyshev(x, n, 0, lambda n, angle: np.sin((n + 1) * angle) / np.sin(angle))


def _v(x, n):
    return _chebyshev(x, n, -1, lambda n, angle: np.cos((n + 0.5) * angle) / np.cos(0.5 * angle))


def _w(x, n):
    return _chebyshev(x, n, 1, lambda n, angle: np.sin((n + 0.5) * angle) / np.sin(0.5 * angle))


@elementwise
def chebyshev_polynomial_t(x, n):
    """Chebyshev's polynomial of the first kind, cos(n θ) for x = cos θ.

    >>> chebyshev_polynomial_t(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([-0.5, 26. ])
    """
    return _t(x, n)


@elementwise
def chebyshev_polynomial_u(x, n):
    """Chebyshev's polynomial of the second kind, sin((n + 1) θ) / sin θ for x = cos θ.

    >>> chebyshev_polynomial_u(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([ 0., 56.])
    """
    return _u(x, n)


@elementwise
def chebyshev_polynomial_v(x, n):
    """Chebyshev's polynomial of the third kind, cos((n + 1/2) θ) / cos(θ/2) for x = cos θ.

    >>> chebyshev_polynomial_v(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([-1., 41.])
    """
    return _v(x, n)


@elementwise
def chebyshev_polynomial_w(x, n):
    """Chebyshev's polynomial of the fourth kind, sin((n + 1/2) θ) / sin(θ/2) for x = cos θ.

    >>> chebyshev_polynomial_w(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([ 1., 71.])
    """
    return _w(x, n)


@elementwise
def shifted_chebyshev_polynomial_t(x, n):
    """chebyshev_polynomial_t of 2 x - 1.

    >>> shifted_chebyshev_polynomial_t(np.array([0.75, 2.0]), np.array([2.0, 3.0]))
    array([-0.5, 99. ])
    """
    return _t(2 * x - 1, n)


@elementwise
def shifted_chebyshev_polynomial_u(x, n):
    """chebyshev_polynomial_u of 2 x - 1.

    >>> shifted_chebyshev_polynomial_u(np.array([0.75, 2.0]), np.array([2.0, 3.0]))
    array([  0., 204.])
    """
    return _u(2 * x - 1, n)


@elementwise
def shifted_chebyshev_polynomial_v(x, n):
    """chebyshev_polynomial_v of 2 x - 1.

    >>> shifted_chebyshev_polynomial_v(np.array([0.75, 2.0]), np.array([2.0, 3.0]))
    array([ -1., 169.])
    """
    return _v(2 * x - 1, n)


@elementwise
def shifted_chebyshev_polynomial_w(x, n):
    """chebyshev_polynomial_w of 2 x - 1.

    >>> shifted_chebyshev_polynomial_w(np.array([0.75, 2.0]), np.array([2.0, 3.0]))
    array([  1., 239.])
    """
    return _w(2 * x - 1, n)


@elementwise(wide=True)
def hermite_polynomial_h(x, n):
    """Hermite's polynomial as in physics, orthogonal for the weight exp(-x²).

    >>> hermite_polynomial_h(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([-1., 40.])
    """
    twice = 2 * x
    return _recurrence(x, _whole(n), twice, lambda k, current, before: twice * current - 2 * k * before)


@elementwise(wide=True)  # its terms cancel
def hermite_polynomial_he(x, n):
    """Hermite's polynomial as in probability, orthogonal for the weight exp(-x²/2).

    >>> hermite_polynomial_he(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([-0.75,  2.  ])
    """
    return _recurrence(x, _whole(n), x, lambda k, current, before: x * current - k * before)


@elementwise
def laguerre_polynomial_l(x, n):
    """Laguerre's polynomial, orthogonal on [0, ∞) for the weight exp(-x).

    >>> laguerre_polynomial_l(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([ 0.125     , -0.33333333])
    """

    def step(k, current, before):
        return ((2 * k + 1 - x) * current - k * before) / (k + 1)

    return _recurrence(x, _whole(n), 1 - x, step)


@elementwise
def legendre_polynomial_p(x, n):
    """Legendre's polynomial, orthogonal on [-1, 1].

    >>> legendre_polynomial_p(np.array([0.5, 2.0]), np.array([2.0, 3.0]))
    array([-0.125, 17.   ])
    """

    def step(k, current, before):
        return ((2 * k + 1) * x * current - k * before) / (k + 1)

    return _recurrence(x, _whole(n), x, step)
