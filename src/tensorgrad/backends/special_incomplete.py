"""The regularized incomplete gamma functions: gammainc, from 0 to x, and gammaincc, from x on; they add up to 1.

Four methods share the plane. Where a >= 20 and x is within half of a: Temme's uniform expansion, erfc and a double
series in 1/a and in η, where η²/2 = x/a - 1 - log(x/a). Elsewhere, for x < a or x < 1.5, the power series, which gives
gammainc, and for a < 1 a rearrangement of it, which gives gammaincc; for larger x the continued fraction, which gives
gammaincc. Each is relatively accurate for the function it gives; the other is 1 minus it where it is not small.
"""

import functools
import math

import numpy as np

from .special_errors import erfcx
from .special_evaluate import by_range, elementwise
from .special_gamma import BERNOULLI, STIRLING, lgamma, lgamma_plus_one

TINY = 1e-17  # what a term must exceed to count


@elementwise(wide=True)
def gammainc(a, x):
    """The regularized lower incomplete gamma function: the integral of t^(a-1) exp(-t) from 0 to x, over Γ(a).

    >>> gammainc(np.array([1.0, 2.0, 100.0]), np.array([1.0, 0.0, 100.0]))
    array([0.63212056, 0.        , 0.5132988 ])
    """
    return _incomplete(a, x, lower=True)


@elementwise(wide=True)
def gammaincc(a, x):
    """The regularized upper incomplete gamma function: the integral of t^(a-1) exp(-t) from x on, over Γ(a).

    >>> gammaincc(np.array([1.0, 2.0, 100.0]), np.array([1.0, 0.0, 100.0]))
    array([0.36787944, 1.        , 0.4867012 ])
    """
    return _incomplete(a, x, lower=False)


def _incomplete(a, x, lower):
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    where = np.flatnonzero(inside)
    if where.size == x.size:
        return _inside(a, x, lower)
    y = np.full_like(x, np.nan)
    y[where] = _inside(a.take(where), x.take(where), lower)
    zero, one = (0, 1) if lower else (1, 0)
    y[x == np.inf] = one
    y[a == np.inf] = zero
    y[(x == np.inf) & (a == np.inf)] = np.nan
    y[x == 0] = zero
    y[a == 0] = one
    y[(a == 0) & ~(x > 0) | (a < 0) | (x < 0)] = np.nan
    return y


def _inside(a, x, lower):
    method = np.where(x < np.maximum(a, 1.5), 1, 2)
    method[(a >= 20) & (x > 0.5 * a) & (x < 1.5 * a)] = 0
    uniform = functools.partial(_uniform, lower=lower)
    if lower:
        ways = uniform, _series, lambda a, x: 1 - _fraction(a, x)
    else:
        method[(a < 1) & (x < 1.5)] = 3
        ways = uniform, lambda a, x: 1 - _series(a, x), _fraction, _small
    return np.clip(by_range(method, range(1, len(ways)), ways, a, x), 0, 1)


def _front(a, x):
    """x^a exp(-x) / Γ(a + 1)."""
    return by_range(a, (3.0, 20.0), (_front_small, _front_middle, _front_large), a, np.minimum(x, 1e4 + 2 * a))


def _front_small(a, x):
    return np.exp(-lgamma(1 + a)) * np.exp(-x) * np.power(x, a)


def _front_middle(a, x):
    return np.exp(-x) * np.power(x / a, a) * np.exp(a) / _root(a)


def _front_large(a, x):
    return np.exp(a * np.log(x / a) - (x - a)) / _root(a)


def _root(a):
    """Γ(a + 1) / (a/e)^a, by Stirling's formula: √(2πa) and its correction."""
    inverse = 1 / a
    return np.sqrt(2 * math.pi * a) * np.exp(inverse * STIRLING(inverse * inverse))


def _series(a, x):
    """gammainc as 1 + x / (a + 1) + x² / ((a + 1) (a + 2)) + ..."""
    one = np.ones_like(x)
    return _add_powers(x, a + 1, one, one) * _front(a, x)


def _add_powers(x, denominator, term, total):
    """The sum, from its last term and what it is divided by next; goes on with what has not settled."""
    for _ in range(8):
        term = term * (x / denominator)
        total = total + term
        denominator = denominator + 1
    return _go_on(_add_powers, np.flatnonzero(term > TINY * total), x, denominator, term, total)


def _go_on(method, unsettled, *state):
    """The total, which is last in the state, after the method went on with the numbers named."""
    total = state[-1]
    if unsettled.size == total.size:
        return method(*state)
    if unsettled.size:
        total[unsettled] = method(*[array.take(unsettled) for array in state])
    return total


def _small(a, x):
    """gammaincc as 1 - x^a / Γ(a + 1), then the rest of the power series for exp(-t) under the integral."""
    logarithm = a * np.log(x) - lgamma_plus_one(a)
    term = np.full_like(x, -1)
    total = np.zeros_like(x)
    for index in range(1, 21):
        term *= x * (-1 / index)
        total += term / (a + index)
    return a * total * np.exp(logarithm) - np.expm1(logarithm)


def _fraction(a, x):
    """gammaincc as Legendre's continued fraction, summed as the series of the differences of its convergents."""
    b = x + 1 - a
    inverse = 1 / b
    return _add_convergents(a, b, np.ones_like(x), inverse, inverse, inverse) * _front(a, x) * a


def _add_convergents(a, b, index, inverse, term, total):
    for _ in range(8):
        b = b + 2
        inverse = 1 / (b + index * (a - index) * inverse)
        term = term * (b * inverse - 1)
        total = total + term
        index = index + 1
    return _go_on(
        _add_convergents, np.flatnonzero(np.abs(term) > TINY * np.abs(total)), a, b, index, inverse, term, total
    )


def _uniform(a, x, lower):
    mu = (x - a) / a
    t = mu / (2 + mu)
    square = t * t
    series = np.full_like(x, 1 / 33)
    for index in range(14, -1, -1):
        series *= square
        series += 1 / (2 * index + 3)
    half_square = mu * t - 2 * t * square * series  # η²/2 = μ - log(1 + μ), the logarithm by its series in t
    eta = np.copysign(np.sqrt(2 * half_square), mu)
    inverse = 1 / a
    double = np.zeros_like(x)
    for coefficients in reversed(_temme_coefficients()):
        row = np.full_like(x, coefficients[0])
        for coefficient in coefficients[1:]:
            row *= eta
            row += coefficient
        double *= inverse
        double += row
    above = mu > 0
    tail = 0.5 * erfcx(np.sqrt(a * half_square))
    correction = double / np.sqrt(2 * math.pi * a)
    tail += np.where(above, correction, -correction)
    tail *= np.exp(-a * half_square)  # gammaincc above a, gammainc below
    return np.where(above == lower, 1 - tail, tail)


@functools.cache
def _temme_coefficients():
    """For each power of 1/a the coefficients of the powers of η, highest first, by Temme's recurrence."""
    rows, columns = 11, 21
    length = columns + 2 * rows
    mu = [0.0, 1.0]  # x/a - 1 in powers of η, from μ dμ/dη = η (1 + μ)
    for n in range(2, length + 2):
        known = sum(mu[i] * mu[n + 1 - i] for i in range(2, n))
        mu.append((mu[n - 1] - known * (n + 1) / 2) / (n + 1))
    reciprocal = [1.0]  # η/μ
    for n in range(1, length + 1):
        reciprocal.append(-sum(mu[i + 1] * reciprocal[n - i] for i in range(1, n + 1)))
    stirling = [0.0] * (rows + 1)  # the exponent of Γ(a) / (√(2π/a) (a/e)^a), and its exponential, in powers of 1/a
    for j in range(1, rows // 2 + 1):
        stirling[2 * j - 1] = BERNOULLI[j - 1] / (2 * j * (2 * j - 1))
    gamma = [1.0]
    for n in range(1, rows):
        gamma.append(sum(k * stirling[k] * gamma[n - k] for k in range(1, n + 1)) / n)
    table = [reciprocal[1:]]
    for k in range(1, rows):
        before = table[-1]
        source = (-1) ** k * gamma[k]
        table.append([(n + 2) * before[n + 2] + source * reciprocal[n + 1] for n in range(len(before) - 2)])
    return [row[: columns - 2 * k][::-1] for k, row in enumerate(table)]
