"""Random integers, permutations, yes or no: the part of `Stream` (random.py) that takes words as they come."""

import math
import operator

import numpy as np

from .mt19937 import LOW_53, MersenneTwister
from .random_checks import (
    BOTH,
    DIGITS,
    FLOATS,
    check_bernoulli,
    check_permutation,
    expanded,
    integer_bounds,
    name_of,
    narrowed,
    require,
)

LOOP = 500  # places up to which a permutation is made swap by swap


def swapped(partners: np.ndarray) -> np.ndarray:
    """The integers 0, 1, 2 ... after each, in turn, has changed places with its partner, which stands further on.

    >>> swapped(np.array([2, 2, 3]))
    array([2, 0, 3, 1])
    """
    count = len(partners) + 1
    if count < LOOP:
        order = list(range(count))
        for place, partner in enumerate(partners.tolist()):
            order[place], order[partner] = order[partner], order[place]
        return np.array(order)
    # The same without a loop. What stands at place i when its turn comes was brought there by the last step before that
    # had i for a partner, from that step's own place, and so on back: `came_from` follows the steps to their start.
    places = np.arange(count)
    moved = partners > places[:-1]
    came_from = places.copy()
    came_from[partners[moved]] = places[:-1][moved]  # of several steps with one partner the last one stays
    while True:
        further = came_from[came_from]
        if np.array_equal(further, came_from):
            break
        came_from = further
    # Step i brings to place i what stands at its partner: the partner itself, or what the step before it with the same
    # partner left there. Sorting puts those steps side by side.
    steps = np.sort((partners << 32) | places[:-1])
    again = np.flatnonzero(steps[1:] >> 32 == steps[:-1] >> 32)
    steps &= 0xFFFFFFFF
    order = np.append(partners, came_from[-1])
    order[steps[again + 1]] = came_from[steps[again]]
    return order


class Integers(MersenneTwister):
    """What a stream of words gives without mathematics.

    >>> Integers(0).randperm(4)
    array([0, 1, 3, 2])
    """

    __slots__ = ()

    def random(self, shape, dtype) -> np.ndarray:
        """Integers from 0 to all that the dtype counts without a gap: `random_` without bounds.

        >>> Integers(0).random((2,), np.uint8)
        array([172,  47], dtype=uint8)
        """
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype)
        require(dtype, BOTH | {"bool"}, "random_kernel_cpu")
        if dtype.kind == "b":
            span = 2
        elif name_of(dtype) in FLOATS:
            span = (1 << DIGITS[name_of(dtype)]) + 1
        else:
            span = int(np.iinfo(dtype).max) + 1
        return self._integers(shape, dtype, 0, span, wide=name_of(dtype) in ("int64", "float64"))

    def randint(self, shape, dtype, low: int, high: int | None) -> np.ndarray:
        """Integers from `low` to below `high`, or to the largest of the dtype: `randint`, `random_(from, to)`.

        >>> Integers(0).randint((5,), np.int64, 0, 10)
        array([4, 9, 3, 0, 3])
        """
        dtype = np.dtype(dtype)
        low = operator.index(low)
        lowest = -(1 << 63)
        if high is None and low == lowest:  # every 64-bit integer
            require(dtype, BOTH - {"float16"}, "random_full_64_bits_range_kernel_cpu")
            if name_of(dtype) not in ("int64", "float64", "float32", "bfloat16"):
                raise RuntimeError(
                    "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
                )
            return narrowed(self.words64(math.prod(shape)).view(np.int64), dtype).reshape(shape)
        low, last = integer_bounds(dtype, low, None if high is None else operator.index(high))
        span = last - low + 1
        return self._integers(shape, dtype, low, span, wide=span >= 1 << 28)

    def _integers(self, shape, dtype, low, span, wide):
        def draw(size):
            words = self.words64(size) if wide else self.words(size)
            if span & (span - 1) == 0:
                words &= words.dtype.type(span - 1)
            else:
                span_word = words.dtype.type(span)  # quotient, product, difference: faster than NumPy's remainder
                words -= words // span_word * span_word
            if low:
                words = words.astype(np.uint64, copy=False)
                words += np.uint64(low % (1 << 64))
            return narrowed(words.view(np.int64) if words.itemsize == 8 else words, dtype)

        return self.in_blocks(math.prod(shape), dtype, draw).reshape(shape)

    def randperm(self, count: int, dtype=np.int64) -> np.ndarray:
        """The integers below `count` in random order: `randperm`.

        >>> Integers(0).randperm(5)
        array([4, 0, 1, 3, 2])
        """
        dtype = np.dtype(dtype)
        count = operator.index(count)
        if count < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
        check_permutation(count, dtype)
        if count < 2:
            return np.zeros(count, dtype)
        words = self.words(count - 1) if count < (1 << 32) // 20 else self.words64(count - 1)
        partners = (words % np.arange(count, 1, -1, dtype=words.dtype)).astype(np.int64)
        partners += np.arange(count - 1)
        return narrowed(swapped(partners), dtype)

    def bernoulli(self, shape, dtype, p=0.5) -> np.ndarray:
        """One with probability `p`, a number or an array, and zero otherwise: `bernoulli_`, `bernoulli`, dropout.

        >>> Integers(0).bernoulli((5,), np.float32, 0.8)
        array([0., 1., 1., 0., 1.], dtype=float32)
        """
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if not isinstance(p, np.ndarray):
            check_bernoulli(p)
            if count:
                require(dtype, BOTH | {"bool"}, "bernoulli_scalar_cpu_")
            below = np.uint64(math.ceil(float(p) * 2.0**53))  # fraction < p, said of the fraction's 53 bits
            draw = lambda size: ((self.words64(size) & LOW_53) < below).astype(dtype, copy=False)
            return self.in_blocks(count, dtype, draw).reshape(shape)
        if not count:
            return np.empty(shape, dtype)
        require(dtype, BOTH | {"bool"}, "bernoulli_tensor_cpu_self_")
        require(p.dtype, FLOATS, "bernoulli_tensor_cpu_p_")
        p = expanded(p, shape)
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false. Probabilities lie in [0, 1]."
            )
        if p.dtype == np.float64:
            chosen = self.fractions64(count) < p.ravel()
        else:
            chosen = self.fractions32(count) < p.astype(np.float32).ravel()
        return chosen.astype(dtype).reshape(shape)
