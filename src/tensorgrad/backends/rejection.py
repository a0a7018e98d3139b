"""Random numbers that are proposed and accepted or thrown away: Poisson, binomial, gamma. Drawn one by one, in Python.

How many fractions a number takes depends on the fractions, so PyTorch's order leaves little to vectorise: what does
not depend on them is computed for the whole array, the rest in a lean loop. `draw()` gives the next float64 fraction.

- Poisson: below a rate of 10, multiply fractions until they fall under exp(-rate); from there Hoermann's PTRS (1993).
- Binomial: below 10 expected successes, add up geometric gaps; from there Hoermann's BTRS (1993).
- Gamma: Marsaglia and Tsang (2000), with a boost below a shape of 1.
"""

import math

import numpy as np

SMALLEST_INTEGER = -(2**63)  # what a C cast makes of a float64 that no 64-bit integer holds
STIRLING_TAIL = [
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)) for k in range(10)
]


def one_by_one(stream, left: list, most: int = 4096):
    """Fractions of a stream, one at a time; `left[0]` says how many numbers are still to be made.

    Each takes one fraction at least, so that many can be drawn at once and none is drawn in vain.

    >>> from tensorgrad.backends.random import Stream
    >>> fractions = one_by_one(Stream(0), [2])
    >>> round(next(fractions), 4)
    0.9701
    """
    while True:
        yield from stream.fractions64(min(left[0], most)).tolist()


def stirling_tail(k: float) -> float:
    """What Stirling's formula leaves of log k!: exactly below 10, by its series from there.

    >>> round(stirling_tail(0.0), 6), round(stirling_tail(10.0), 6)
    (0.081061, 0.007574)
    """
    if k < 10:
        return STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def poisson_numbers(rates: list, draw, left: list) -> list:
    """One Poisson number for each positive rate.

    >>> poisson_numbers([2.0], iter([0.9, 0.5, 0.2]).__next__, [1])
    [2]
    """
    numbers = []
    for index, rate in enumerate(rates):
        left[0] = len(rates) - index
        if rate >= 10:
            numbers.append(_poisson_by_rejection(rate, draw))
            continue
        floor = math.exp(-rate)
        count, product = 0, draw()
        while product > floor:
            count += 1
            product *= draw()
        numbers.append(count)
    return numbers


def _poisson_by_rejection(rate, draw):
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = (2 * a / us + b) * u + rate + 0.43
        k = math.floor(k) if abs(k) < 2.0**63 else SMALLEST_INTEGER
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        log_v = math.log(v) if v else -math.inf
        if log_v + log_inverse_alpha - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def binomial_numbers(counts: np.ndarray, chances: np.ndarray, draw, left: list) -> list:
    """One binomial number for each positive count and chance up to one half, computed in the dtype of the arrays.

    >>> binomial_numbers(np.array([3.0]), np.array([0.5]), iter([0.4, 0.3, 0.9]).__next__, [1])
    [1]
    """
    one = counts.dtype.type(1)
    mean = counts * chances
    deviation = np.sqrt(mean * (one - chances))
    odds = chances / (one - chances)
    middle = np.floor((counts + one) * chances)
    log_miss = np.log1p(-chances)
    numbers = []
    rows = zip(*(column.tolist() for column in (counts, chances, mean, deviation, odds, middle, log_miss)))
    for index, (count, chance, expected, spread, ratio, mode, gap) in enumerate(rows):
        left[0] = counts.size - index
        if expected >= 10:
            numbers.append(_binomial_by_rejection(count, chance, expected, spread, ratio, mode, draw))
            continue
        successes, trials = 0, _geometric(draw(), gap)
        while trials <= count:
            successes += 1
            trials += _geometric(draw(), gap)
        numbers.append(successes)
    return numbers


def _geometric(fraction, log_miss):
    return math.ceil(math.log(fraction) / log_miss) if fraction else math.inf


def _binomial_by_rejection(count, chance, expected, spread, ratio, mode, draw):
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    c = expected + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + c)
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        if v == 0:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
            + stirling_tail(mode)
            + stirling_tail(count - mode)
            - stirling_tail(k)
            - stirling_tail(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def gamma_numbers(shapes: np.ndarray, draw, left: list, spare: float | None) -> tuple[list, float | None]:
    """One gamma number for each positive shape, and the normal number left over for the next call.

    >>> values, spare = gamma_numbers(np.array([2.0]), iter([0.5, 0.1, 0.3]).__next__, [1], None)
    >>> round(values[0], 4), round(spare, 4)
    (1.1415, 0.0)
    """
    kind = shapes.dtype.type
    third = kind(np.float32(1 / 3))
    boosted = shapes < 1
    exponents = np.where(boosted, kind(1) / shapes, 0)
    d = (np.where(boosted, shapes + kind(1), shapes) - third).astype(np.float64)
    c = 1.0 / np.sqrt(9.0 * d)
    squeeze = float(np.float32(0.0331))
    log, sqrt = math.log, math.sqrt
    numbers = []
    for index, (exponent, d, c) in enumerate(zip(exponents.tolist(), d.tolist(), c.tolist())):  # noqa: B020
        left[0] = shapes.size - index
        scale = math.pow(1 - draw(), exponent) if exponent else 1.0
        while True:
            if spare is None:
                angle = 2.0 * math.pi * draw()
                radius = sqrt(-2.0 * math.log1p(-draw()))
                x, spare = radius * math.cos(angle), radius * math.sin(angle)
            else:
                x, spare = spare, None
            root = 1.0 + c * x
            if root <= 0:
                continue
            v = root * root * root
            u = 1.0 - draw()
            square = x * x
            if u < 1.0 - squeeze * square * square or log(u) < 0.5 * square + d * (1.0 - v + log(v)):
                numbers.append(scale * d * v)
                break
    return numbers, spare
