"""Normal numbers out of uniform ones, with the roundings of PyTorch's CPU kernels. Where they are drawn: random.py.

Box and Muller (1958): sqrt(-2 log u) times the cosine and the sine of 2 pi v are two independent normal numbers.
- float32 in blocks of 16: eight u then eight v become eight cosine numbers then eight sine numbers. PyTorch takes the
  single-precision logarithm and sines of Moshier's Cephes library, in fused multiply-adds (its AVX2 build). The same
  steps stand here, each fused one as a product in float64, which is exact, and one rounding of the sum to float32: so
  the numbers are PyTorch's to the last bit, whatever NumPy's own functions do on this machine.
- float64 takes the C library's functions, as PyTorch does. Here too: NumPy's logarithm may differ in the last bit.
"""

import math

import numpy as np

BLOCK = 1 << 14  # pairs at a time


def _single(value):
    """A float32 constant: as a 0-d array it costs a small operation half of what a scalar does."""
    return np.array(value, np.float32)


def _double(value):
    """The same constant rounded to float32 but held in float64, for the exact products."""
    return np.array(value, np.float32).astype(np.float64)


# log(1 + x) = x - x**2 / 2 + x**3 * p(x) for 1 + x between sqrt(1/2) and sqrt(2), highest power first
LOGARITHM = [
    _double(coefficient)
    for coefficient in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
]
# cos x = 1 - z / 2 + z**2 * p(z) and sin x = x + x * z * q(z) where z = x**2 and |x| <= pi / 4: rows of (p, q)
WAVES = [
    _double([[p], [q]])
    for p, q in (
        (2.443315711809948e-5, -1.9515295891e-4),
        (-1.388731625493765e-3, 8.3321608736e-3),
        (4.166664568298827e-2, -1.6666654611e-1),
    )
]
LOG_2_HIGH, LOG_2_LOW = _single(0.693359375), _single(-2.12194440e-4)
QUARTER_HIGH, QUARTER_MIDDLE, QUARTER_LOW = (
    _single(0.78515625),
    _single(2.4187564849853515625e-4),
    _double(-3.77489497744594108e-8),
)
PER_QUARTER = _single(4 / math.pi)
TWO_PI = _single(2 * math.pi)
ONE, HALF, MINUS_TWO, ZERO = _single(1), _single(0.5), _single(-2), _single(0)
ROOT_HALF = np.array(0x3F3504F3, np.int32)  # the bits of float32 sqrt(1/2)
EXPONENT, UP, TWO, TO_EVEN, TO_SIGN, TO_SWAP, ALL = (np.array(value, np.int32) for value in (23, 1, 2, -2, 29, 30, 31))
SIGN = np.array(-(2**31), np.int32)


def fused(a, b, c):
    """a * b + c rounded once to float32, for float32 values of which `b` is held in float64.

    >>> fused(np.float32([0.1]), np.float64([3]), np.float32(1))
    array([1.3], dtype=float32)
    """
    result = a.astype(np.float64)
    result *= b
    result += c
    return result.astype(np.float32)


def log_single(x):
    """The logarithm of float32 numbers in (0, 1].

    >>> log_single(np.float32([1, 0.5]))
    array([ 0.       , -0.6931472], dtype=float32)
    """
    bits = x.view(np.int32)
    exponent = (bits - ROOT_HALF) >> EXPONENT
    x = (bits - (exponent << EXPONENT)).view(np.float32)
    x -= ONE
    exponent = exponent.astype(np.float32)
    wide = x.astype(np.float64)
    total = wide * LOGARITHM[0]
    total += LOGARITHM[1]
    for coefficient in LOGARITHM[2:]:
        total = total.astype(np.float32).astype(np.float64)
        total *= wide
        total += coefficient
    total = total.astype(np.float32)
    square = x * x
    total *= x
    total = fused(total, square, exponent * LOG_2_LOW)
    square *= HALF
    total -= square
    x += total
    exponent *= LOG_2_HIGH
    x += exponent
    return x


def cos_sin_single(x):
    """The cosines and the sines of float32 angles from 0 to 2 pi.

    >>> cos_sin_single(np.float32([0, 1]))
    (array([1.       , 0.5403023], dtype=float32), array([0.        , 0.84147096], dtype=float32))
    """
    quarter = (x * PER_QUARTER).astype(np.int32)
    quarter += UP
    quarter &= TO_EVEN  # 0, 2, 4, 6, 8: the nearest multiple of pi / 2, counted in quarters of pi
    turned = quarter.astype(np.float32)
    x = x - turned * QUARTER_HIGH
    x -= turned * QUARTER_MIDDLE
    x = fused(turned, QUARTER_LOW, x)
    square = x * x
    wide = square.astype(np.float64)
    waves = wide * WAVES[0]
    waves += WAVES[1]
    waves = fused(waves.astype(np.float32), wide, WAVES[2])
    waves *= square
    cos, sin = waves
    square *= HALF
    cos = fused(cos, wide, -square)
    cos += ONE
    sin = fused(sin, x, x)
    # After an odd number of quarter turns the two change places; each then takes the sign of its quadrant.
    cos_bits, sin_bits = cos.view(np.int32), sin.view(np.int32)
    swap = (quarter << TO_SWAP) >> ALL
    swap &= cos_bits ^ sin_bits
    cos_bits ^= swap
    sin_bits ^= swap
    sin_bits ^= (quarter << TO_SIGN) & SIGN
    quarter += TWO
    cos_bits ^= (quarter << TO_SIGN) & SIGN
    return cos, sin


def normals_single(uniform: np.ndarray) -> None:
    """Turn float32 fractions into standard normal numbers in place, in blocks of 16.

    >>> numbers = np.linspace(0, 0.9, 16, dtype=np.float32)
    >>> normals_single(numbers)
    >>> numbers[[1, 8, 9]]
    array([-0.34073043,  0.        , -0.08748478], dtype=float32)
    """
    halves = uniform.view("V32").reshape(-1, 2)  # eight float32 numbers as one item, so that they move together
    for start in range(0, len(halves), BLOCK // 8):
        part = halves[start : start + BLOCK // 8]
        first, angle = np.ascontiguousarray(part.T).view(np.float32)
        np.subtract(ONE, first, out=first)  # from [0, 1) to (0, 1]
        radius = log_single(first)
        radius *= MINUS_TWO
        np.sqrt(radius, out=radius)
        angle *= TWO_PI
        cos, sin = cos_sin_single(angle)
        cos *= radius
        sin *= radius
        cos += ZERO  # no negative zeros
        sin += ZERO
        part[:, 0] = cos.view("V32")
        part[:, 1] = sin.view("V32")


def c_library(function, values: np.ndarray) -> np.ndarray:
    """A function of `math` over float64 numbers: the C library's last bit, at 40 ns a number.

    >>> c_library(math.log, np.array([1.0, 2.0]))
    array([0.        , 0.69314718])
    """
    return np.fromiter(map(function, values.tolist()), np.float64, values.size)


def normals_double(uniform: np.ndarray) -> None:
    """Turn float64 fractions into standard normal numbers in place, in the same blocks of 16.

    >>> numbers = np.linspace(0, 0.9, 16)
    >>> normals_double(numbers)
    >>> numbers[[1, 8, 9]]
    array([-0.34073044, -0.        , -0.08748471])
    """
    halves = uniform.reshape(-1, 2, 8)
    for start in range(0, len(halves), BLOCK // 8):
        first, second = halves[start : start + BLOCK // 8].swapaxes(0, 1)  # views: writing to them fills `uniform`
        radius = np.sqrt(-2.0 * c_library(math.log, (1.0 - first).ravel())).reshape(first.shape)
        angle = 2.0 * math.pi * second
        np.multiply(radius, np.cos(angle), out=first)
        np.multiply(radius, np.sin(angle), out=second)


def normal_pairs(uniform: np.ndarray) -> np.ndarray:
    """Standard normal numbers of float64 fractions, two of two: PyTorch's way below 16 numbers.

    >>> normal_pairs(np.array([0.125, 0.5]))
    array([0.83255461, 0.83255461])
    """
    radius = np.sqrt(-2.0 * c_library(math.log1p, -uniform[1::2]))
    angle = 2.0 * math.pi * uniform[0::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
