"""Exponentials that add up to 1, by rows of neighbours: softmax, its logarithm, cross entropy and their gradients.

The largest number of a row is taken away from all of it only where exponentials would grow too large or vanish: that shows
in their sum, while finding the largest takes NumPy as long as the exponentials of a short row. Large arrays are worked on in
blocks of rows by all cores; the only arrays of full size are results.
"""

import numpy as np

from tensorgrad.backends import crew
from tensorgrad.backends.constants import constant
from tensorgrad.backends.summing import row_dots, row_sums
from tensorgrad.spec import LARGE

LEAST, MOST = 1e-20, 1e20  # sums between these are as exact as those of numbers up to 1; so is what they divide
SOME = 1 << 15  # numbers from which it pays to tell NumPy how to broadcast
FEW, MODERATE = 1 << 10, 40.0**2  # so few numbers show at once, by the sum of their squares, that none is beyond 40


def suits(x, dim, *others):
    """Whether these functions can do it: rows of neighbours, of float32 or float64.

    >>> suits(np.ones((2, 3)), 1), suits(np.ones((2, 3)), 0)
    (True, False)
    """
    if type(x) is not np.ndarray or dim != x.ndim - 1 or x.dtype.char not in "fd" or not x.size:
        return False
    if not x.flags.c_contiguous:
        return False
    return not others or all(t.dtype == x.dtype and t.shape == x.shape and t.flags.c_contiguous for t in others)


def _by_rows(block, *arrays, result=None):
    """block(alone, out, *arrays) of small arrays, or of blocks of their rows, side by side; result: the shape, if not theirs."""
    first = arrays[0]
    if first.ndim != 2 and result is None:
        return _by_rows(block, *[a.reshape(-1, a.shape[-1]) for a in arrays]).reshape(first.shape)
    if first.size < LARGE:
        return block(False, None, *arrays) if first.size < SOME else crew.unbuffered(block, False, None, *arrays)
    out = np.empty(first.shape if result is None else result, first.dtype)
    crew.rows(lambda low, high: block(True, out[low:high], *[a[low:high] for a in arrays]), *first.shape)
    return out


def _exponentials(alone, out, x):
    """exp(x - shift), the shift of each row (or None), and the sums of rows."""
    if x.size <= FEW:
        if np.vdot(x, x) < MODERATE:
            y = np.exp(x, out=out)
            return y, None, row_sums(y)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.exp(x, out=out)
            total = row_sums(out, alone)
        if np.minimum.reduce(total) > LEAST and np.maximum.reduce(total) < MOST:
            return out, None, total
    shift = np.maximum.reduce(x, axis=1)
    y = np.subtract(x, shift[:, None], out=out)
    np.exp(y, out=y)
    return y, shift, row_sums(y, alone)


def _softmax(alone, out, x):
    y, _, total = _exponentials(alone, out, x)
    y /= total[:, None]
    return y


def softmax(x):
    """exp(x) / sum(exp(x)) of each row.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _by_rows(_softmax, x)


def _log_softmax(alone, out, x):
    y, shift, total = _exponentials(alone, out, x)
    if shift is None:  # the logarithm of the sum may be close to x: no digit of their difference is to be lost
        rest = np.log(total, dtype=np.float64)
        shift = np.rint(rest)
        rest -= shift
        shift, rest = shift.astype(x.dtype), rest.astype(x.dtype)
    else:
        rest = np.log(total)
    np.subtract(x, shift[:, None], out=y)
    y -= rest[:, None]
    # Where one number has all, rounding may leave a little more than 0
    if y.size <= FEW or np.maximum.reduce(y, axis=None) > 0:
        np.minimum(y, constant(0, y.dtype), out=y)
    return y


def log_softmax(x):
    """The logarithm of softmax(x).

    >>> log_softmax(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[-6.93147181e-01, -6.93147181e-01],
           [ 0.00000000e+00, -1.00000000e+03]])
    """
    return _by_rows(_log_softmax, x)


def _softmax_gradient(_, out, y, g):
    out = np.subtract(g, row_dots(g, y)[:, None], out=out)
    out *= y
    return out


def softmax_gradient(g, y):
    """y * (g - sum(g * y)).

    >>> softmax_gradient(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]))
    array([[ 0.25, -0.25]])
    """
    return _by_rows(_softmax_gradient, y, g)


def _log_softmax_gradient(alone, out, y, g):
    out = np.exp(y, out=out)
    out *= row_sums(g, alone)[:, None]
    return np.subtract(g, out, out=out)


def log_softmax_gradient(g, y):
    """g - exp(y) * sum(g).

    >>> log_softmax_gradient(np.array([[1.0, 0.0]]), np.log([[0.5, 0.5]]))
    array([[ 0.5, -0.5]])
    """
    return _by_rows(_log_softmax_gradient, y, g)


def _cross_entropy(alone, out, x, target):
    _, shift, total = _exponentials(alone, None, x)
    loss = x[np.arange(len(x)), target]
    if shift is None:
        loss = np.subtract(np.log(total, dtype=np.float64), loss, out=loss if out is None else out, casting="same_kind")
        return np.maximum(loss, constant(0, loss.dtype), out=loss)
    np.subtract(shift, loss, out=loss)
    return np.add(loss, np.log(total), out=out)


def cross_entropy(x, target):
    """log(sum(exp(x))) - x[target] of each row of a matrix.

    >>> cross_entropy(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([1, 0]))
    array([0.69314718, 0.        ])
    """
    return _by_rows(_cross_entropy, x, target, result=len(x))


def _cross_entropy_gradient(alone, out, x, target, scale):
    y, _, total = _exponentials(alone, out, x)
    places = np.arange(len(x)), target
    wrong = y[places] / total - constant(1, x.dtype)  # exactly 0 where the target has all
    y *= (scale / total)[:, None]
    y[places] = wrong * scale
    return y


def cross_entropy_gradient(x, target, scale):
    """softmax(x) less 1 at the target, times the scale of each row of a matrix.

    >>> cross_entropy_gradient(np.array([[0.0, 0.0]]), np.array([1]), np.array([1.0]))
    array([[ 0.5, -0.5]])
    """
    return _by_rows(_cross_entropy_gradient, x, target, scale, result=x.shape)
