"""The bits under every random number: PyTorch's CPU generator, word for word. Distributions are in random.py.

The generator is the classic 32-bit Mersenne Twister (Matsumoto and Nishimura, 1998), seeded by `init_genrand` with the
low 32 bits of the seed. NumPy's `RandomState` is the same stream: NumPy draws the words, this file turns them into

- float32 fractions: one word each, its low 24 bits over 2**24;
- float64 fractions: two words each, the first the high half, the low 53 bits of both over 2**53.

A fraction u becomes u * scale + shift with one rounding: PyTorch's compiler fuses the two operations, NumPy does not.
`affine32` and `affine64` give the fused result, by exact products and the exact error of a sum.
"""

import os
from typing import Any

import numpy as np

BLOCK = 1 << 14  # numbers made at a time: their temporaries stay in the cache
LONG = 1 << 11  # from here `randint` makes words faster than `random_raw`, which costs less to call
WORDS = 624  # of the twister's state
LOW_24 = np.array(0xFFFFFF, np.uint32)
LOW_53 = np.array((1 << 53) - 1, np.uint64)
HALF = np.array(32, np.uint64)
LITTLE_32, LITTLE_64 = np.dtype("<u4"), np.dtype("<u8")
UNIT_24 = np.array(2.0**-24, np.float32)
UNIT_53 = np.array(2.0**-53)
SPLIT = 134217729.0  # 2**27 + 1, halves a float64's digits so that products of the halves are exact


def two_sum(a, b):
    """A float64 sum and what its rounding lost, so that both together are exact (Knuth).

    >>> two_sum(1e16, 1.0)
    (1e+16, 1.0)
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a, b):
    """A float64 product and what its rounding lost (Dekker).

    >>> two_product(1.0 + 2.0**-30, 1.0 + 2.0**-30)[1] == 2.0**-60
    True
    """
    product = a * b
    a_high = a * SPLIT - (a * SPLIT - a)
    b_high = b * SPLIT - (b * SPLIT - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def affine32(x, scale, shift):
    """x * scale + shift for float32 numbers given as float64, rounded once to float32.

    >>> affine32(np.array([0.1, 0.2]), 3.0, 1.0)
    array([1.3, 1.6], dtype=float32)
    """
    total = np.asarray(x * scale)  # exact: 24 digits times 24 digits fit into 53
    if shift:
        if abs(shift) > abs(scale) * 2.0**-26:
            total = total + shift  # exact again
        else:
            # Next to so small a shift the sum loses digits, which can decide a tie of the second rounding: keep a trace
            # of them in the last bit ("round to odd").
            total, lost = two_sum(total, shift)
            even = (total.view(np.int64) & 1) == 0
            total = np.where((lost != 0) & even, np.nextafter(total, np.copysign(np.inf, lost)), total)
    return total.astype(np.float32)


def affine64(x, scale, shift):
    """x * scale + shift for float64 numbers, rounded once (as `math.fma`, also on arrays).

    >>> affine64(np.array([0.5, 0.25]), 3.0, 1.0)
    array([2.5 , 1.75])
    """
    if not shift or abs(scale) > 2.0**900:  # nothing to fuse; or the halves of the product would overflow
        return x * scale + shift
    product, error = two_product(x, scale)
    total, lost = two_sum(product, shift)
    return total + (lost + error)


class MersenneTwister:
    """The stream of 32-bit words of one seed, and the fractions in [0, 1) made of them.

    >>> MersenneTwister(5489).words(2)
    array([3499211612,  581869302], dtype=uint32)
    """

    __slots__ = ("_bits", "_drawn", "_numbers", "_seed")

    def __init__(self, seed: int):
        self._start(seed)

    def _start(self, seed: int) -> None:
        """Begin the stream of `seed`; the twister itself is made by the first draw, so that seeding costs nothing."""
        self._seed = seed
        self._bits: Any = None
        self._numbers: Any = None
        self._drawn = False

    def _make(self) -> Any:
        """NumPy's twister, and the RandomState that reads it."""
        from numpy.random import MT19937, RandomState  # 15 ms, so not before somebody draws

        bits = MT19937(0)
        self._numbers = RandomState(bits)
        self._numbers.seed(self._seed & 0xFFFFFFFF)
        self._bits = bits
        return bits

    def words(self, count: int) -> np.ndarray:
        """The next 32-bit words.

        >>> MersenneTwister(0).words(3)
        array([2357136044, 2546248239, 3071714933], dtype=uint32)
        """
        bits = self._bits or self._make()
        if count:
            self._drawn = True
        if count < LONG:
            return bits.random_raw(count).astype(np.uint32)
        return self._numbers.randint(0, 1 << 32, count, np.uint32)

    def words64(self, count: int) -> np.ndarray:
        """The next 64-bit words: two draws each, the high half first.

        >>> MersenneTwister(0).words64(1)
        array([10123822223749065263], dtype=uint64)
        """
        # Two words in memory are one little-endian number, its halves swapped.
        pairs = self.words(2 * count).astype(LITTLE_32, copy=False).view(LITTLE_64)
        swapped = pairs >> HALF
        pairs <<= HALF
        swapped |= pairs
        return swapped

    def fractions32(self, count: int, scale=None, shift=None) -> np.ndarray:
        """Float32 numbers in [0, 1), a word each; or those times `scale` plus `shift`, rounded once.

        >>> MersenneTwister(0).fractions32(2)
        array([0.4962566, 0.7682218], dtype=float32)
        """
        if count > BLOCK:
            return self.in_blocks(count, np.float32, lambda size: self.fractions32(size, scale, shift))
        bits = self.words(count)
        bits &= LOW_24
        if scale is not None:
            return affine32(bits.astype(np.float64), scale * 2.0**-24, shift)
        fractions = bits.astype(np.float32)
        fractions *= UNIT_24
        return fractions

    def fractions64(self, count: int, scale=None, shift=None) -> np.ndarray:
        """Float64 numbers in [0, 1), two words each; or those times `scale` plus `shift`, rounded once.

        >>> MersenneTwister(0).fractions64(2)
        array([0.970053  , 0.70781986])
        """
        if count > BLOCK:
            return self.in_blocks(count, np.float64, lambda size: self.fractions64(size, scale, shift))
        bits = self.words64(count)
        bits &= LOW_53
        fractions = bits.view(np.int64).astype(np.float64)
        fractions *= UNIT_53
        return fractions if scale is None else affine64(fractions, scale, shift)

    def in_blocks(self, count: int, dtype, draw) -> np.ndarray:
        """`draw(count)`, but piece by piece if that is long: what lies between words and numbers stays in the cache.

        >>> twister = MersenneTwister(0)
        >>> twister.in_blocks(2, np.float32, twister.fractions32)
        array([0.4962566, 0.7682218], dtype=float32)
        """
        if count <= BLOCK:
            return draw(count)
        out = np.empty(count, dtype)
        for start in range(0, count, BLOCK):
            part = out[start : start + BLOCK]
            part[...] = draw(part.size)
        return out

    def _position(self) -> tuple[np.ndarray, int]:
        """The words of the state and the place of the next among them: 0 before the first draw, as PyTorch counts."""
        state = (self._bits or self._make()).state["state"]
        return state["key"], state["pos"] if self._drawn else 0

    def _move(self, seed: int, key: np.ndarray, position: int) -> None:
        """Take the place that `_position` told."""
        self._start(seed)
        # Before the first draw nothing is left of the block either: the next word makes a new one.
        self._make().state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position or WORDS}}
        self._drawn = position != 0


def entropy() -> int:
    """A 64-bit seed from the operating system.

    >>> 0 <= entropy() < 2**64
    True
    """
    return int.from_bytes(os.urandom(8), "little")
