"""Reading and adding at places given by index arrays: gather and scatter with every reduction.

Everything is reduced to flat positions in a contiguous array. NumPy's `ufunc.at` has a fast loop for exactly that case
(1.5 ns a number; 9 to 16 ns through an index array over rows), and `take` on flat positions is up to twice as fast as
`take_along_axis`. Measured and slower for the gradient of an embedding (4096 rows of 128 into 50,000: 1.3 ms): sorting
and `add.reduceat` (6.4 ms), `bincount` (17 ms, it makes a whole float64 result), a Python loop over rows (3.5 ms; rows of
2048 are quicker so, 2.1 ms against 4.8 for 2048 of them), a product with a one-hot matrix (wins only for ten rows or so).

Indices are trusted: they are int64, in range and not negative.
"""

import functools
import math

import numpy as np

from tensorgrad.backends import crew, native

REDUCTIONS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
WIDE = 768  # numbers of a row from which rows are added one by one
SHARED = 1 << 18  # numbers that two threads copy in less time than one
UNSIGNED = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}  # in one pass over these, negative numbers are large ones
KEPT = 1 << 10  # numbers of an index up to which it is remembered where lines begin
_PAIRS = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}


def flat_places(shape, axis, index):
    """Flat positions in an array of `shape` of what `index`, as gather and scatter use it, points at along `axis`.

    >>> flat_places((2, 3), 1, np.array([[2], [0]]))
    array([[2],
           [3]])
    """
    if index.ndim == 0:
        return index
    step = math.prod(shape[axis + 1 :])
    places = index if step == 1 else index * step
    offset = (_known_offset if index.size <= KEPT else _offset)(shape, axis, index.shape)
    return places if offset is None else places + offset


def _offset(shape, axis, reached):
    """Where the lines along an axis begin in an array of `shape`, of those that an index of shape `reached` takes from."""
    offset = None
    for dim, length in enumerate(reached):
        if dim != axis and length > 1:
            along = [1] * len(reached)
            along[dim] = length
            step = math.prod(shape[dim + 1 :])
            places = np.arange(0, length * step, step).reshape(along)
            offset = places if offset is None else offset + places
    return offset


_known_offset = functools.lru_cache(maxsize=256)(_offset)


def gather(x, axis, index):
    """x at `index` along one axis; index may be smaller than x along the others.

    >>> gather(np.array([[1, 2], [3, 4]]), 1, np.array([[0, 0], [1, 0]]))
    array([[1, 1],
           [4, 3]])
    """
    if x.size == 0 or index.size == 0:
        return np.empty(index.shape, x.dtype)
    line = repeated_line(index, axis)
    if line is not None and all(n == m or dim == axis for dim, (n, m) in enumerate(zip(x.shape, index.shape))):
        return x.take(line, axis)
    if index.size < SHARED or index.dtype != np.int64:
        return x.reshape(-1).take(_places(x, axis, index)).reshape(index.shape)
    flat, out = x.reshape(-1), np.empty(index.shape, x.dtype)

    def work(low, high, places):
        flat.take(places, out=out[low:high], mode="clip")

    _by_rows(x.shape, axis, index, work)
    return out


def _by_rows(shape, axis, index, work):
    """work(low, high, flat positions) on rows of an index: as many at a time as stay in the cache, by all cores."""
    step, offset = math.prod(shape[axis + 1 :]), _offset(shape, axis, index.shape)

    def part(low, high):
        places = index[low:high] if step == 1 else index[low:high] * step
        if offset is not None:
            places = places + (offset[low:high] if len(offset) > 1 else offset)
        work(low, high, places)

    crew.rows(part, len(index), index.size // len(index))


def take(x, index, axis=0):
    """x.take(index, axis), by all cores where many long rows are copied; NumPy's IndexError for places out of bounds.

    >>> take(np.array([[1, 2], [3, 4]]), np.array([1, -1, 0]))
    array([[3, 4],
           [3, 4],
           [1, 2]])
    """
    if axis or type(x) is not np.ndarray or not x.size or not x.flags.c_contiguous:
        return x.take(index, axis)
    rows = len(x)
    length = x.size // rows
    if length < 16 or index.size * length < SHARED:
        return x.take(index, axis)
    if index.min() < -rows or index.max() >= rows:
        return x.take(index, axis)  # raises
    out, places = np.empty((*index.shape, *x.shape[1:]), x.dtype), index.reshape(-1)
    table, lines = x.reshape(rows, -1), out.reshape(places.size, -1)
    crew.share(lambda low, high: table.take(places[low:high], 0, lines[low:high], "wrap"), places.size)
    return out


def repeated_line(index, axis):
    """The one line that an index repeats along all other axes (as an expanded one does), or None."""
    if index.ndim < 2 or (0 not in index.strides and 1 not in index.shape):
        return None
    if any(
        stride and length > 1 for dim, (stride, length) in enumerate(zip(index.strides, index.shape)) if dim != axis
    ):
        return None
    return index[tuple(slice(None) if dim == axis else 0 for dim in range(index.ndim))]


def _places(x, axis, index):
    """Flat positions, with a number taken as an array of one."""
    if index.ndim == 0 or index.dtype != np.int64:
        index = np.atleast_1d(index).astype(np.int64, copy=False)
    return flat_places(x.shape or (1,), axis, index)


def scatter(x, axis, index, values, inplace=False):
    """A copy of x with values (an array at least as large as index, or a number) written at `index` along one axis.

    >>> scatter(np.zeros((2, 3)), 1, np.array([[0], [2]]), 1.0)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    out = _writable(x, inplace)
    if axis and index.size >= SHARED and index.dtype == np.int64:  # no row writes where another does
        flat, values = out.reshape(-1), np.broadcast_to(_matching(values, index), index.shape)

        def work(low, high, places):
            flat[places] = values[low:high]

        _by_rows(x.shape, axis, index, work)
    elif index.size:
        out.reshape(-1)[_places(x, axis, index)] = _matching(values, index)
    return _written(x, out, inplace)


def scatter_add(x, axis, index, values, inplace=False):
    """A copy of x with values added at `index` along one axis; the transpose of `gather`.

    >>> scatter_add(np.zeros(3), 0, np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]))
    array([4., 0., 2.])
    """
    out = _writable(x, inplace)
    if index.size:
        values = _matching(values, index)
        line = repeated_line(index, axis)
        if line is not None and np.shape(values) == (*x.shape[:axis], line.size, *x.shape[axis + 1 :]):
            index_add_into(out, axis, line, values)
        else:
            values = np.broadcast_to(values, index.shape or (1,))
            np.add.at(out.reshape(-1), _places(x, axis, index).ravel(), values.ravel())
    return _written(x, out, inplace)


def _writable(x, inplace):
    """A contiguous array to write into: x itself, if it is to be changed and lies so."""
    return x if inplace and x.flags.c_contiguous else np.array(x, order="C")


def _written(x, out, inplace):
    if inplace and out is not x:
        x[...] = out
        return x
    return out


def scatter_reduce(x, axis, index, values, reduce, include_self=True, inplace=False):
    """A copy of x with values combined at `index`: "sum", "prod", "mean", "amax" or "amin"; with x or in place of it.

    >>> scatter_reduce(np.array([1.0, 2.0]), 0, np.array([0, 0]), np.array([4.0, 7.0]), "mean", include_self=False)
    array([5.5, 2. ])
    """
    out = _writable(x, inplace)
    if not index.size:
        return out
    places = _places(x, axis, index).ravel()
    values = np.broadcast_to(_matching(values, index), index.shape or (1,)).ravel()
    flat = out.reshape(-1)
    if not include_self:
        flat[places] = _start(reduce, x.dtype)
    REDUCTIONS[reduce].at(flat, places, values)
    if reduce == "mean":
        counts = np.bincount(places, minlength=flat.size) + (1 if include_self else 0)
        _divide_by_counts(flat, np.maximum(counts, 1))
    return _written(x, out, inplace)


def index_add_into(target, axis, index, values):
    """Add values[k] to slice index[k] of a contiguous target, in place: the gradient of an embedding, of x[index].

    >>> table = np.zeros((3, 2))
    >>> index_add_into(table, 0, np.array([0, 0, 2]), np.ones((3, 2)))
    >>> table
    array([[2., 2.],
           [0., 0.],
           [1., 1.]])
    """
    if not values.size:
        return
    rows = axis == 0 and index.ndim == 1 and target.ndim == values.ndim == 2 and target.shape[1] >= 16
    if rows and native.suits(values, target) and native.module("rows").add_rows(target, index, values):
        return
    before, inner = math.prod(target.shape[:axis]), math.prod(target.shape[axis + 1 :])
    if axis == 0 and inner >= WIDE:
        lines = target.reshape(len(target), inner)
        for place, row in zip(index.reshape(-1).tolist(), values.reshape(-1, inner)):
            line = lines[place]
            np.add(line, row, line)
        return
    flat, values = target.reshape(-1), np.ascontiguousarray(values, target.dtype)
    pair = _PAIRS.get(target.dtype)
    if pair and inner % 2 == 0:  # two neighbours at a time, as one complex number: half the positions
        flat, values, inner = flat.view(pair), values.reshape(-1).view(pair), inner // 2
    places = index * inner
    if inner > 1:
        places = places[:, None] + np.arange(inner)
    if before > 1:
        step = target.shape[axis] * inner
        places = np.arange(0, before * step, step).reshape(-1, *[1] * places.ndim) + places
    np.add.at(flat, places.ravel(), values.reshape(-1))


def within(index, size):
    """Whether all numbers of an array of integers are at least 0 and below `size`.

    >>> within(np.array([0, 2]), 3), within(np.array([0, -1]), 3)
    (True, False)
    """
    return index.size == 0 or bool(np.maximum.reduce(index.view(UNSIGNED[index.itemsize]), None) < size)


def _matching(values, index):
    """The part of values that index reaches."""
    if isinstance(values, np.ndarray) and values.ndim:
        return values[tuple(map(slice, index.shape or (1,)))]
    return values


def _start(reduce, dtype):
    """What leaves every number as it is under a reduction."""
    if reduce == "prod":
        return 1
    if reduce in ("sum", "mean"):
        return 0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    if dtype.kind == "b":
        return reduce == "amin"
    return -np.inf if reduce == "amax" else np.inf


def _divide_by_counts(flat, counts):
    if flat.dtype.kind in "iu":
        np.floor_divide(flat, counts, out=flat, casting="unsafe")
    else:
        np.divide(flat, counts.astype(flat.dtype), out=flat)
