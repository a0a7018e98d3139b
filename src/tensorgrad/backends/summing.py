"""Sums of rows and columns, and of products along rows: BLAS makes them three to six times as fast as np.add.reduce.

A sum is a product with ones, which are exact, and keeps numbers that are none. At most `LONGEST` numbers are added in one go, and
then their sums, so that little is lost to rounding. Large arrays are shared by the crew rather than by BLAS's own threads,
unless those are the ones of compiled loops. The crew's threads must not wait for BLAS's: what they call says `alone=True`, and is
done by einsum.
"""

import functools
import math

import numpy as np

from tensorgrad.backends import crew, native
from tensorgrad.spec import LARGE

LONGEST = 1 << 8  # how many numbers are added in one go
LEAST = 1 << 10  # numbers from which `sums` asks whether BLAS can do it


def sums(x, axis, keepdims=False):
    """np.add.reduce(x, axis, keepdims=keepdims) in the dtype of x; axis: an int, or a tuple of several.

    >>> sums(np.ones((2, 3)), 1), sums(np.ones((2, 3)), (0, 1))
    (array([3., 3.]), np.float64(6.0))
    """
    if type(x) is np.ndarray and x.size >= LEAST and x.dtype.char in "fd" and x.flags.c_contiguous:
        ndim = x.ndim
        if type(axis) is int:
            axis = (axis,)
        if ndim == len(axis):
            total = row_sums(x.reshape(1, -1))
            return total.reshape((1,) * ndim) if keepdims else total[0]
        gone = [d % ndim for d in axis]
        kept = ndim - len(gone)
        if gone and min(gone) == kept:
            shape = x.shape[:kept]
            result = row_sums(x if ndim == 2 else x.reshape(math.prod(shape), -1))
            shape = (*shape, *(1,) * len(gone)) if keepdims else shape
            return result if result.shape == shape else result.reshape(shape)
        if gone and max(gone) == len(gone) - 1:
            shape = x.shape[len(gone) :]
            result = column_sums(x if ndim == 2 else x.reshape(-1, math.prod(shape)))
            shape = (*(1,) * len(gone), *shape) if keepdims else shape
            return result if result.shape == shape else result.reshape(shape)
    return np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


@functools.lru_cache(maxsize=256)
def _ones(length, kind):
    ones = np.ones(length, kind)
    ones.flags.writeable = False
    return ones


def row_sums(m, alone=False):
    """The sums of floats along the last dimension of a matrix, or of an array of any shape.

    >>> row_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    length = m.shape[-1]
    if alone:
        if length <= LONGEST:
            return np.einsum("...i->...", m)
    elif m.ndim > 2:
        return row_sums(m.reshape(math.prod(m.shape[:-1]), length)).reshape(m.shape[:-1])
    elif length <= LONGEST:
        return m.dot(_ones(length, m.dtype.char)) if m.size < LARGE or native.on() else _by_crew(m)
    whole = length - length % LONGEST
    parts = m[..., :whole].reshape(*m.shape[:-1], whole // LONGEST, LONGEST)
    if alone or whole == length:
        parts = row_sums(parts, alone)
    else:
        parts = parts @ _ones(LONGEST, m.dtype.char) if m.size < LARGE else np.einsum("ijk->ij", parts)
    total = row_sums(parts, alone)
    if whole < length:
        total += np.add.reduce(m[..., whole:], axis=-1)
    return total


def _by_crew(m):
    """The sums of the short rows of a large matrix."""
    out = np.empty(len(m), m.dtype)

    def work(low, high):
        out[low:high] = row_sums(m[low:high], True)

    crew.rows(work, *m.shape)
    return out


def column_sums(m, alone=False, weights=None):
    """The sum of each column of a matrix of floats, or that of its numbers times a weight for each row.

    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]])), column_sums(np.ones((2, 1)), weights=np.array([1.0, 2.0]))
    (array([4., 6.]), array([3.]))
    """
    length = len(m)
    if m.size >= LARGE and not alone:
        found = {}

        def work(low, high):
            found[low] = column_sums(m[low:high], True, None if weights is None else weights[low:high])

        crew.rows(work, *m.shape)
        return np.add.reduce([found[low] for low in sorted(found)], axis=0)
    if length <= LONGEST:
        if alone:
            return np.einsum("ij->j", m) if weights is None else np.einsum("i,ij->j", weights, m)
        return (_ones(length, m.dtype.char) if weights is None else weights).dot(m)
    whole = length - length % LONGEST
    parts = m[:whole].reshape(whole // LONGEST, LONGEST, m.shape[1])
    if weights is not None:
        given = weights[:whole].reshape(whole // LONGEST, LONGEST)
        parts = np.einsum("ij,ijk->ik", given, parts) if alone else (given[:, None] @ parts)[:, 0]
    else:
        parts = np.einsum("ijk->ik", parts) if alone else _ones(LONGEST, m.dtype.char) @ parts
    total = column_sums(parts, alone)
    if whole < length:
        total += column_sums(m[whole:], alone, None if weights is None else weights[whole:])
    return total


def row_dots(a, b):
    """The sums of a * b along the last dimension; b may be one row for all.

    >>> row_dots(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    length = a.shape[-1]
    if length <= LONGEST:
        return np.vecdot(a, b)
    whole = length - length % LONGEST
    parts = [t[..., :whole].reshape(*t.shape[:-1], whole // LONGEST, LONGEST) for t in (a, b)]
    total = np.add.reduce(np.vecdot(*parts), axis=-1)
    if whole < length:
        total += np.vecdot(a[..., whole:], b[..., whole:])
    return total
