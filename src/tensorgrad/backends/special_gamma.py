"""The gamma family: lgamma, digamma, polygamma, multigammaln and the Hurwitz zeta function.

From 3 on, lgamma and its first two derivatives are Stirling's series, its correction a polynomial in 1/x². Between 1
and 3 they are their zeros times a polynomial in (x - √3) / (x + √3), which puts 0 and infinity, where the functions
misbehave, equally far away. Elsewhere they are led there by Γ(x + 1) = x Γ(x) and by reflection,
Γ(x) Γ(-x) = -π / (x sin πx). The further derivatives are sums that the zeta function knows.
zeta is the Euler-Maclaurin formula: twelve terms of the sum, then the integral and twelve corrections for the rest.
"""

import math

import numpy as np

from .special_evaluate import Chebyshev, by_range, elementwise

ROOT_THREE = math.sqrt(3)
NEAR = 2 - ROOT_THREE  # how far (x - √3) / (x + √3) goes for x from 1 to 3
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
DIGAMMA_ZERO = 1.4616321325302124, 1.243814993891891e-8  # digamma(x) = 0, in two parts of which the first is short

# lgamma(x) / ((x - 1) (x - 2)), and x times what Stirling's formula lacks
LGAMMA = Chebyshev(
    -NEAR,
    NEAR,
    9,
    """
    0.4570375227598587637 -0.1145747619029521914 4.7973092949881231e-3 -7.376004106416602e-4 5.89610659722762e-5
    -8.5568069588843e-6 8.220552578995e-7 -1.164520192847e-7 1.22222835357e-8 -1.7114436631e-9 1.893247989e-10
    -2.63394196e-11 3.017427e-12 -4.181e-13 4.91075e-14 -6.7859e-15 8.121e-16 -1.12e-16
""",
)
STIRLING = Chebyshev(
    0,
    1 / 9,
    4,
    """
    0.08318246048291985493 -1.497586044069407e-4 1.0941071496987e-6 -1.95072935682e-8 6.0242675559e-10
    -2.734164673e-11 1.6562559e-12 -1.257678e-13 1.14612e-14 -1.2144e-15 1.461e-16
""",
)

# digamma(x) / (x - its zero), and x² times what log(x) - 1 / (2 x) lacks
DIGAMMA = Chebyshev(
    -NEAR,
    NEAR,
    10,
    """
    0.8940404519972739691 -0.3208294985113297365 0.0305009459496344789 -4.357291997157919e-3 5.611345550084939e-4
    -7.86233317523484e-5 1.0508662773241e-5 -1.454871960722e-6 1.963519415237e-7 -2.70297082149e-8 3.6629721988e-9
    -5.027783742e-10 6.82830953e-11 -9.3569651e-12 1.272434e-12 -1.74184e-13 2.37067e-14 -3.243e-15 4.416e-16
    -6.04e-17
""",
)
DIGAMMA_LARGE = Chebyshev(
    0,
    1 / 9,
    4,
    """
    0.08288720722321932732 -4.4074791499411448e-4 5.24557677761154e-6 -1.274225030413e-7 4.91156464665e-9
    -2.642013331e-10 1.8337966e-11 -1.5583788e-12 1.562214e-13 -1.79735e-14 2.3243e-15 -3.3238e-16
""",
)


# the derivative of digamma, and x³ times what 1 / x + 1 / (2 x²) lacks of it
TRIGAMMA = Chebyshev(
    -NEAR,
    NEAR,
    12,
    """
    0.893028563609973235 -0.6011676856010039803 0.122695195659972056 -0.0231222640828869269 4.0946454437068082e-3
    -6.91691834566538e-4 1.12804849596533e-4 -1.79204968679928e-5 2.7909545710867e-6 -4.280374628664e-7
    6.48507548495e-8 -9.7286129784e-9 1.4475446662e-9 -2.139065745e-10 3.14244949e-11 -4.5931915e-12 6.684138e-13
    -9.6893e-14 1.39974e-14 -2.0159e-15 2.895e-16 -4.15e-17
""",
)
TRIGAMMA_LARGE = Chebyshev(
    0,
    1 / 9,
    5,
    """
    0.164913173239501001 -1.7224824138753073e-3 3.00180925459275e-5 -9.4567810757654e-7 4.42325288739e-8
    -2.7695069278e-9 2.175294098e-10 -2.05015678e-11 2.2453938e-12 -2.790152e-13 3.86182e-14 -5.86807e-15 9.676e-16
    -1.715e-16
""",
)


def _near_polynomial(series, x):
    return series((x - ROOT_THREE) / (x + ROOT_THREE))


def _distance_to_whole(x):
    return x - np.rint(x)


@elementwise(few=math.lgamma)
def lgamma(x):
    """The logarithm of the absolute value of the gamma function.

    >>> lgamma(np.array([1.0, 5.0, -0.5, -1.0]))
    array([0.        , 3.17805383, 1.26551212,        inf])
    """
    return by_range(x, (-1.0, 0.0, 1.0, 3.0), (_lgamma_left, _lgamma_minus, _lgamma_small, _lgamma_near, _lgamma_large))


def _lgamma_near(x):
    return (x - 1) * (x - 2) * _near_polynomial(LGAMMA, x) + 0.0  # not -0 at the zeros


def _lgamma_large(x):
    inverse = 1 / x
    y = inverse * STIRLING(inverse * inverse)
    y += HALF_LOG_TWO_PI - 0.5
    y += (x - 0.5) * (np.log(x) - 1)
    return y


def _lgamma_small(x):
    return lgamma_plus_one(x) - np.log(x)


def lgamma_plus_one(x):
    """lgamma(x + 1) for 0 <= x <= 1, also where x + 1 rounds to 1; a kernel."""
    return x * (x - 1) * _near_polynomial(LGAMMA, x + 1)


def _lgamma_minus(x):
    product = x * (x + 1)
    return product * _near_polynomial(LGAMMA, x + 2) - np.log(-product)


def _lgamma_left(x):
    y = np.minimum(-x, 2.0**60)  # a whole number from far below that on
    sine = np.abs(np.sin(math.pi * _distance_to_whole(y)))
    return np.log(math.pi / (y * sine)) - by_range(y, (3.0,), (_lgamma_near, _lgamma_large))


@elementwise
def digamma(x):
    """The derivative of lgamma.

    >>> digamma(np.array([1.0, 0.0, -1.0, 100.0]))
    array([-0.57721566,        -inf,         nan,  4.60016185])
    """
    return by_range(x, (0.0, 1.0, 3.0), (_digamma_left, _digamma_small, _digamma_near, _digamma_large))


def _digamma_near(x):
    distance = x - DIGAMMA_ZERO[0]
    distance -= DIGAMMA_ZERO[1]
    return distance * _near_polynomial(DIGAMMA, x)


def _digamma_large(x):
    inverse = 1 / x
    square = inverse * inverse
    return np.log(x) - 0.5 * inverse - square * DIGAMMA_LARGE(square)


def _digamma_small(x):
    return _digamma_near(x + 1) - 1 / x


def _digamma_left(x):
    distance = _distance_to_whole(x)
    distance[distance == 0] = np.nan
    return by_range(1 - x, (3.0,), (_digamma_near, _digamma_large)) - math.pi / np.tan(math.pi * distance)


def polygamma(n, x, out=None):
    """The derivative of order n >= 0 of digamma.

    >>> polygamma(1, np.array([1.0, 2.5]))
    array([1.64493407, 0.49035776])
    """
    if n < 2:
        return (trigamma if n else digamma)(x, out=out)
    return _polygamma(x, n=n, out=out)


@elementwise(wide=True)
def _polygamma(x, n):
    factor = (-1.0) ** (n + 1) * (math.factorial(n) if n <= 170 else math.inf)
    return factor * _zeta(np.full_like(x, n + 1), x)


@elementwise
def trigamma(x):
    """The derivative of digamma.

    >>> trigamma(np.array([1.0, 2.5, 0.0]))
    array([1.64493407, 0.49035776,        inf])
    """
    return by_range(x, (0.0, 1.0, 3.0), (_trigamma_left, _trigamma_small, _trigamma_near, _trigamma_large))


def _trigamma_near(x):
    return _near_polynomial(TRIGAMMA, x)


def _trigamma_large(x):
    inverse = 1 / x
    square = inverse * inverse
    return inverse + square * (0.5 + inverse * TRIGAMMA_LARGE(square))


def _trigamma_small(x):
    inverse = 1 / x
    return _trigamma_near(x + 1) + inverse * inverse


def _trigamma_left(x):
    distance = _distance_to_whole(x)
    distance = np.where(
        (distance == 0) & (x < 0), x, distance
    )  # at a pole what the rounding of π leaves, as in PyTorch
    ratio = math.pi / np.sin(math.pi * distance)
    return ratio * ratio - by_range(1 - x, (3.0,), (_trigamma_near, _trigamma_large))


def multigammaln(x, p, out=None):
    """The logarithm of the multivariate gamma function of dimension p.

    >>> multigammaln(np.array([2.0, 3.5]), 2)
    array([0.45158271, 2.46648573])
    """
    total = p * (p - 1) / 4 * math.log(math.pi)
    for index in range(p):
        total = total + lgamma(x - x.dtype.type(index / 2))
    if out is None:
        return total
    out[...] = total
    return out


@elementwise(wide=True)
def zeta(s, q):
    """The Hurwitz zeta function: the sum of (q + k)^-s over k = 0, 1, 2, ...

    >>> zeta(np.array([2.0, 3.0, 2.0]), np.array([1.0, 0.5, -1.0]))
    array([1.64493407, 8.41439832,        inf])
    """
    return _zeta(s, q)


# the Bernoulli numbers B(2), B(4) ... B(24); the formula has them over the factorials
BERNOULLI = (
    (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
    + (-3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138, -236364091 / 2730)
)  # fmt: skip
CORRECTIONS = tuple(number / math.factorial(2 * index + 2) for index, number in enumerate(BERNOULLI))


def _zeta(s, q):
    y = by_range(q, (0.0,), (_zeta_left, _zeta_right), s, q)
    y[(q <= 0) & ((q == np.floor(q)) | np.isinf(s))] = np.inf
    y[(s < 1) | (q == np.inf)] = np.nan
    y[s == 1] = np.inf
    return y


def _zeta_right(s, q):
    return by_range(q - s, (12.0,), (_zeta_sum, _zeta_rest), s, q + 0.0)  # not -0


def _zeta_sum(s, q):
    total = np.zeros_like(q)
    for _ in range(12):
        total += np.power(q, -s)
        q = q + 1
    enough = np.power(q, -s) < 1e-18 * total  # where the corrections may overflow
    return np.where(enough, total, total + _zeta_rest(s, q))


def _zeta_rest(s, q):
    """The sum from q on, for large q."""
    square = 1 / (q * q)
    correction = np.full_like(q, CORRECTIONS[-1])
    for index in range(len(CORRECTIONS) - 1, 0, -1):
        correction *= (s + (2 * index - 1)) * (s + 2 * index) * square
        correction += CORRECTIONS[index - 1]
    correction *= s / q
    correction += 0.5
    return np.power(q, 1 - s) * (1 / (s - 1) + correction / q)


def _zeta_left(s, q):
    """For whole s, from the sum over all whole numbers, which depends on the distance to the nearest one alone."""
    distance = _distance_to_whole(q)
    side = np.copysign(1, distance)
    sign = 1 - 2 * (s % 2)
    total = np.power(distance, -s) + np.power(distance - side, -s)  # may cancel, exactly
    total += np.power(distance + side, -s)
    total += _zeta_right(s, 2 + distance) + sign * (_zeta_right(s, 2 - distance) - _zeta_right(s, 1 - q))
    return total
