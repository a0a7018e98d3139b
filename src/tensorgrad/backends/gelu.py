"""gelu and its slope on float32, in the fewest passes that NumPy can make of them.

The normal distribution function of x is (1 + tanh(x q(x²))) / 2, and q is so smooth that a short continued fraction in x²
holds wherever float32 can tell that function from 0 and 1: each of its divisions is worth three steps of a polynomial. The
result is off by at most 4e-7 where x is negative and by 3e-7 of itself where it is positive.
"""

import math

import numpy as np

# q(u) = A + B u + C / (u + D + E / (u + F)), the one whose largest error in gelu is least
A, B, C, D, E, F = (
    np.array(number, np.float32)
    for number in (1.17781571, 0.01822147236, -2.50651672, -25.93487961, 1543.856431, 47.4562827)
)
ONE, HALF, MINUS_HALF, DENSITY = (np.array(number, np.float32) for number in (1, 0.5, -0.5, 1 / math.sqrt(2 * math.pi)))


def _twice_below(x, out=None):
    """Twice the probability that a normal variable is below x, and a block of scratch."""
    square = np.multiply(x, x, out=np.empty_like(x))
    y = np.add(square, F, out=np.empty_like(x) if out is None else out)
    np.divide(E, y, out=y)
    y += square
    y += D
    np.divide(C, y, out=y)
    square *= B
    square += A
    y += square
    y *= x
    np.tanh(y, out=y)
    y += ONE
    return y, square


def gelu(x, out=None):
    """x times the probability that a normal variable is below x, for float32.

    >>> gelu(np.array([-1.0, 0.0, 1.0], np.float32))
    array([-0.15865526,  0.        ,  0.8413447 ], dtype=float32)
    """
    y, _ = _twice_below(x, out)
    y *= x
    y *= HALF
    return y


def gelu_slope(x):
    """The slope of gelu: that probability, and x times the density.

    >>> gelu_slope(np.array([-1.0, 0.0, 1.0], np.float32))
    array([-0.08331548,  0.5       ,  1.0833155 ], dtype=float32)
    """
    y, density = _twice_below(x)
    y *= HALF
    np.multiply(x, x, out=density)
    density *= MINUS_HALF
    np.exp(density, out=density)
    density *= x
    density *= DENSITY
    y += density
    return y
