"""Pooling over the last one, two or three dimensions of an array: the largest or the mean of each window.

A window of k places is k strided slices of x, so a maximum is k - 1 rounds of elementwise work, and a sum is taken
along one dimension after the other. Which place won is kept as its number in the window, one byte (the flat indices
PyTorch returns take eight, and are made from it when asked for). Where windows do not overlap the gradient goes back
slice by slice without any index array, otherwise by `np.add.at` on flat positions.
A winner's gradient is masked as an integer, so an infinity beside a zero stays one.
Measured on 64x32x28x28 by 2, one thread: 1.2 ms forward and 1.1 ms back (PyTorch 8.8 and 1.0); back by assignment
through an index array takes eight times the memory and no less time, `copyto(where=...)` 6.8 ms. Windows of 3 at
stride 1: slices 21 ms back, flat positions 4.9 ms.

`kernel`, `stride`, `padding`, `dilation` and `size` are tuples with a number per pooled dimension.
"""

import functools
import itertools
import math

import numpy as np

from tensorgrad.backends import native
from tensorgrad.backends.precision import computes_halves_in_single
from tensorgrad.backends.summing import sums

SMALL = 1 << 11  # numbers up to which all windows are laid out side by side
CHUNK = 1 << 18  # numbers of the result worked on at a time: bounds the temporaries, stays in the cache


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode=False):
    """The sizes of a pooling's result; with ceil_mode a last window may hang over the end, but must begin inside.

    >>> pooled_size((7,), (2,), (2,), (0,), (1,)), pooled_size((7,), (2,), (2,), (0,), (1,), ceil_mode=True)
    ((3,), (4,))
    """
    result = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        windows = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (windows - 1) * s >= n + p:
            windows -= 1
        result.append(windows)
    return tuple(result)


@computes_halves_in_single
def max_pool(x, kernel, stride, padding, dilation, size):
    """The largest number of each window, and its place in the window counted row by row (NaN counts as largest).

    >>> max_pool(np.array([[1.0, 5, 2, 2]]), (2,), (2,), (0,), (1,), (2,))
    (array([[5., 2.]]), array([[1, 0]], dtype=uint8))
    """
    if _is_native(x, kernel, stride, dilation, size, padding):
        return native.module("pools").max_pool(x, kernel, stride, padding, dilation, size)
    tiles = _tiles(x.shape, kernel, stride, padding, dilation, size)
    if tiles is not None and (found := _max_of_tiles(x, tiles)) is not None:
        return found
    lead, spatial = x.shape[: -len(size)], x.shape[-len(size) :]
    taps = math.prod(kernel)
    samples = x.reshape(math.prod(lead), *spatial)
    largest = np.empty((len(samples), *size), x.dtype)
    winners = np.empty(largest.shape, np.uint8 if taps <= 256 else np.int32)
    if taps > 16 * math.prod(size):  # few large windows: one after the other, each at once
        for window in np.ndindex(*size):
            corner = [o * s - p for o, s, p in zip(window, stride, padding)]
            skipped = [max(0, -(a // d)) for a, d in zip(corner, dilation)]
            inside = [slice(a + i * d, a + d * (k - 1) + 1, d) for a, i, d, k in zip(corner, skipped, dilation, kernel)]
            seen = samples[(..., *inside)]
            counted = tuple(slice(i, i + n) for i, n in zip(skipped, seen.shape[1:]))
            numbers = np.arange(taps).reshape(kernel)[counted]
            largest[(..., *window)], winners[(..., *window)] = largest_of_window(seen, numbers)
        return largest.reshape(*lead, *size), winners.reshape(*lead, *size)
    places, whole = _places(spatial, kernel, stride, padding, dilation, size)
    # a window's first place inside wins if all are -infinity
    first_winners = 0 if whole else _first_inside(size, kernel, stride, padding, dilation)
    step = max(1, CHUNK // max(1, math.prod(size)))
    for first in range(0, len(samples), step):
        some = slice(first, first + step)
        winners[some] = first_winners
        _max_pool_chunk(samples[some], largest[some], winners[some], places, whole)
    return largest.reshape(*lead, *size), winners.reshape(*lead, *size)


class _Tiles:
    """Few windows that tile an array: how to lay them out side by side, one a row."""

    def __init__(self, lead, kernel, size):
        taps = math.prod(kernel)
        first, dims = len(lead), len(size)
        self.split = (*lead, *[n for pair in zip(size, kernel) for n in pair])
        self.order = (*range(first), *range(first, first + 2 * dims, 2), *range(first + 1, first + 2 * dims, 2))
        self.back = (*range(first), *[d for i in range(dims) for d in (first + i, first + dims + i)])
        self.pooled, self.windows = (*lead, *size), (*lead, *size, *kernel)
        self.rows = (math.prod(self.pooled), taps)
        self.starts = np.arange(0, math.prod(self.rows), taps)  # where each window begins
        self.number = np.uint8 if taps <= 256 else np.int32


@functools.lru_cache(maxsize=256)
def _tiles(shape, kernel, stride, padding, dilation, size):
    """The layout of windows that cover the pooled dimensions once and are few, else None."""
    spatial = shape[-len(size) :]
    if stride != kernel or any(padding) or set(dilation) != {1} or not 0 < math.prod(shape) <= SMALL:
        return None
    if tuple(spatial) != tuple(n * k for n, k in zip(size, kernel)):
        return None
    return _Tiles(shape[: -len(size)], kernel, size)


def _max_of_tiles(x, tiles):
    """The largest of each window and its number, all at once; None where a NaN is among them."""
    windows = x.reshape(tiles.split).transpose(tiles.order).reshape(tiles.rows)
    winners = windows.argmax(1)
    largest = windows.reshape(-1).take(winners + tiles.starts)
    if largest.dtype.kind == "f" and math.isnan(largest.dot(largest)):  # a sum of squares is NaN if one of them is
        return None
    return largest.reshape(tiles.pooled), winners.astype(tiles.number).reshape(tiles.pooled)


def largest_of_window(seen, numbers):
    """Of each row of windows seen (samples, *window): the largest number, and which of `numbers` stands at its place.

    >>> largest_of_window(np.array([[3.0, 7.0], [4.0, 1.0]]), np.array([10, 20]))
    (array([7., 4.]), array([20, 10]))
    """
    seen = seen.reshape(len(seen), -1)
    where = seen.argmax(axis=1)
    largest = np.take_along_axis(seen, where[:, None], 1)[:, 0]
    if seen.dtype.kind == "f":
        unordered = np.isnan(largest)
        if unordered.any():  # the last NaN wins
            where[unordered] = seen.shape[1] - 1 - np.isnan(seen[unordered])[:, ::-1].argmax(axis=1)
    return largest, numbers.ravel().take(where)


def _max_pool_chunk(x, largest, winners, places, whole):
    if whole:  # the first place of every window lies inside
        np.copyto(largest, x[places[0][1]])
    else:
        largest[...] = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    numbers, scratch = np.empty(largest.size, x.dtype), (np.empty(largest.size, bool), np.empty_like(winners))
    for place, (outputs, inputs) in enumerate(places):
        if whole and place == 0:
            continue
        seen = x[inputs]
        candidate = numbers[: seen.size].reshape(seen.shape)  # a copy in one run: three operations read it
        np.copyto(candidate, seen)
        keep_larger(largest[outputs], winners[outputs], candidate, place, scratch)
    if x.dtype.kind == "f":
        unordered = np.isnan(largest)
        if unordered.any():  # the last NaN of a window wins
            winners[unordered] = 0
            for place, (outputs, inputs) in enumerate(places):
                part = winners[outputs]
                np.maximum(part, np.isnan(x[inputs]) * winners.dtype.type(place), out=part)


def keep_larger(largest, winners, candidate, number, scratch):
    """Where candidate is larger, let it and its number replace the ones so far; the numbers come in rising order.

    >>> largest, winners = np.array([1.0, 5.0]), np.zeros(2, np.uint8)
    >>> keep_larger(largest, winners, np.array([4.0, 4.0]), 3, (np.empty(2, bool), np.empty(2, np.uint8)))
    >>> largest, winners
    (array([4., 5.]), array([3, 0], dtype=uint8))
    """
    mask, winning = (array.reshape(-1)[: candidate.size].reshape(candidate.shape) for array in scratch)
    np.greater(candidate, largest, out=mask)
    np.maximum(largest, candidate, out=largest)
    np.multiply(mask.view(np.uint8), winners.dtype.type(number), out=winning)
    np.maximum(winners, winning, out=winners)


def max_pool_indices(winners, spatial, kernel, stride, padding, dilation):
    """Flat positions in the pooled dimensions of x of the winners that `max_pool` returned.

    >>> max_pool_indices(np.array([[1, 0]], np.uint8), (4,), (2,), (2,), (0,), (1,))
    array([[1, 2]])
    """
    corner, within = np.zeros((), np.int64), np.zeros((), np.int64)
    size = winners.shape[-len(spatial) :]
    for dim, (n, k, s, p, d) in enumerate(zip(size, kernel, stride, padding, dilation)):
        step = math.prod(spatial[dim + 1 :])
        corner = corner[..., None] + (np.arange(n) * s - p) * step
        within = within[..., None] + np.arange(k) * (d * step)
    indices = within.ravel().take(winners)
    indices += corner
    return indices


@computes_halves_in_single
def max_pool_gradient(g, winners, spatial, kernel, stride, padding, dilation):
    """g carried to the winners' places in an array with these pooled dimensions: transpose of `max_pool_selected`.

    >>> max_pool_gradient(np.array([[3.0, 4]]), np.array([[1, 0]], np.uint8), (4,), (2,), (2,), (0,), (1,))
    array([[0., 3., 4., 0.]])
    """
    dims = len(spatial)
    if _is_native(g, kernel, stride, dilation, g.shape[-dims:], padding):
        return native.module("pools").max_pool_gradient(g, winners, spatial, kernel, stride, padding, dilation)
    window = kernel, stride, padding, dilation
    shape = (*g.shape[:-dims], *spatial)
    tiles = _tiles(shape, *window, g.shape[-dims:])
    if tiles is not None:
        rows = np.zeros(tiles.rows, g.dtype)
        rows.reshape(-1)[winners.reshape(-1) + tiles.starts] = g.reshape(-1)
        return rows.reshape(tiles.windows).transpose(tiles.back).reshape(shape)
    gx = np.zeros(shape, g.dtype)
    if not all(s > d * (k - 1) for k, s, d in zip(kernel, stride, dilation)):
        g = g.reshape(-1)
        for places, some in _flat_winners(winners, spatial, *window):
            np.add.at(gx.reshape(-1), places, g[some])
        return gx
    bits = gx.view(_bits(g.dtype))
    g = np.ascontiguousarray(g).view(bits.dtype)
    mask = np.empty(g.shape, bool)
    for place, (outputs, inputs) in enumerate(_places(spatial, *window, g.shape[-dims:])[0]):
        np.equal(winners, place, out=mask)
        np.multiply(g[outputs], mask[outputs], out=bits[inputs])
    return gx


def max_pool_selected(x, winners, kernel, stride, padding, dilation):
    """x at the winners' places: what `max_pool` is around x, a linear function.

    >>> max_pool_selected(np.array([[1.0, 5, 2, 2]]), np.array([[0, 1]], np.uint8), (2,), (2,), (0,), (1,))
    array([[1., 2.]])
    """
    selected = np.empty(winners.size, x.dtype)
    for places, some in _flat_winners(winners, x.shape[-len(kernel) :], kernel, stride, padding, dilation):
        x.ravel().take(places, out=selected[some], mode="clip")
    return selected.reshape(winners.shape)


def _flat_winners(winners, spatial, *window):
    """Chunk by chunk of the winners: their flat positions in the whole of x, and which winners they are."""
    size = winners.shape[-len(spatial) :]
    area, windows = math.prod(spatial), math.prod(size)
    winners = winners.reshape(math.prod(winners.shape[: -len(spatial)]), *size)
    step = max(1, CHUNK // max(1, windows))
    for first in range(0, len(winners), step):
        indices = max_pool_indices(winners[first : first + step], spatial, *window).reshape(-1, windows)
        indices += (np.arange(len(indices))[:, None] + first) * area
        yield indices.ravel(), slice(first * windows, (first + step) * windows)


@computes_halves_in_single
def average_pool(x, kernel, stride, padding, size, count_padding=True, divisor=None):
    """The mean of each window; padding counts as zeros or not at all, unless a divisor is given.

    >>> average_pool(np.array([[1.0, 5, 2, 2]]), (2,), (2,), (0,), (2,))
    array([[3., 2.]])
    """
    spatial = x.shape[-len(size) :]
    if _is_native(x, kernel, stride, (1,) * len(size), size):
        counts = divisor or window_counts(spatial, kernel, stride, padding, size, count_padding)
        return native.module("pools").average_pool(x, kernel, stride, padding, size, counts)
    if kernel == spatial and not any(padding) and all(n == 1 for n in size):
        x = sums(np.ascontiguousarray(x), tuple(range(x.ndim - len(size), x.ndim)), keepdims=True)
    else:
        for dim in (*range(-2, -len(size) - 1, -1), -1):  # the last at the end: until then whole rows are added
            x = _sum_windows(x, dim, kernel[dim], stride[dim], padding[dim], size[dim])
    counts = divisor or window_counts(spatial, kernel, stride, padding, size, count_padding)
    if x.dtype.kind in "iu":
        quotient = np.abs(x) // np.abs(counts)
        return np.where((x < 0) != (divisor is not None and divisor < 0), -quotient, quotient).astype(x.dtype)
    x /= counts.astype(x.dtype) if isinstance(counts, np.ndarray) else counts
    return x


@computes_halves_in_single
def average_pool_gradient(g, spatial, kernel, stride, padding, count_padding=True, divisor=None):
    """Transpose of `average_pool`: each g shared out over its window.

    >>> average_pool_gradient(np.array([[3.0, 4]]), (4,), (2,), (2,), (0,))
    array([[1.5, 1.5, 2. , 2. ]])
    """
    size = g.shape[-len(spatial) :]
    counts = divisor or window_counts(spatial, kernel, stride, padding, size, count_padding)
    if _is_native(g, kernel, stride, (1,) * len(size), size):
        return native.module("pools").average_pool_gradient(g, spatial, kernel, stride, padding, counts)
    g = g / (counts.astype(g.dtype) if isinstance(counts, np.ndarray) else counts)
    for dim in (-1, *range(-len(spatial), -1)):
        g = _spread_windows(g, dim, kernel[dim], stride[dim], padding[dim], spatial[dim])
    return g


@functools.lru_cache(maxsize=256)
def window_counts(spatial, kernel, stride, padding, size, count_padding):
    """How many places each window has, what hangs over the padded end not counted: a number if all have the same.

    >>> window_counts((5,), (2,), (2,), (0,), (3,), True)
    array([2, 2, 1])
    """
    counts = np.ones((), np.int64)
    for n, k, s, p, windows in zip(spatial, kernel, stride, padding, size):
        start = np.arange(windows) * s - p
        end = np.minimum(start + k, n + p)
        if not count_padding:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        counts = counts[..., None] * (end - start)
    counts.flags.writeable = False
    return counts if counts.size == 0 or np.ptp(counts) else int(counts.flat[0])


def _is_native(x, kernel, stride, dilation, size, padding=None):
    """Whether a compiled kernel is to do this: windows that overlap, or a maximum of pairs (else slices are as fast)."""
    if x.size < native.LEAST or 0 in size:
        return False
    special = kernel == stride == (2, 2) and padding == (0, 0)
    special = special or any(d * (k - 1) >= s for k, s, d in zip(kernel, stride, dilation))
    return special and native.suits(x)


def _sum_windows(x, dim, kernel, stride, padding, windows):
    """Sums of windows along one dimension."""
    length = x.shape[dim]
    if windows == 1 and padding == 0 and kernel <= length:
        return np.add.reduce(x[_along(dim, slice(kernel))], axis=dim, dtype=x.dtype, keepdims=True)
    everywhere, elsewhere = _parts(length, dim, kernel, stride, padding, windows)
    if len(everywhere) > 1:  # the first two at once, into fresh memory
        total = np.add(x[everywhere[0]], x[everywhere[1]])
    elif everywhere:
        total = x[everywhere[0]].copy()
    else:
        shape = list(x.shape)
        shape[dim] = windows
        total = np.zeros(shape, x.dtype)
    for inputs in everywhere[2:]:
        total += x[inputs]
    for outputs, inputs in elsewhere:
        total[outputs] += x[inputs]
    return total


def _spread_windows(g, dim, kernel, stride, padding, length):
    """Transpose of `_sum_windows`."""
    shape = list(g.shape)
    windows, shape[dim] = shape[dim], length
    tiled = kernel == stride and windows * stride - padding >= length
    gx = np.empty(shape, g.dtype) if tiled else np.zeros(shape, g.dtype)
    if windows == 1:
        gx[_along(dim, slice(max(0, kernel - padding)))] = g
        return gx
    everywhere, elsewhere = _parts(length, dim, kernel, stride, padding, windows)
    for outputs, inputs in (*[(..., inputs) for inputs in everywhere], *elsewhere):
        if kernel <= stride:
            gx[inputs] = g[outputs]
        else:
            gx[inputs] += g[outputs]
    return gx


@functools.lru_cache(maxsize=256)
def _parts(length, dim, kernel, stride, padding, windows):
    """For each place in windows along one dimension the inputs it sees, as indexes: where all windows have it, and the
    outputs and inputs where not."""
    everywhere, elsewhere = [], []
    for i in range(kernel):
        outputs, inputs = _overlap(length, i - padding, stride, windows)
        if outputs == slice(0, windows, 1):
            everywhere.append(_along(dim, inputs))
        else:
            elsewhere.append((_along(dim, outputs), _along(dim, inputs)))
    return everywhere, elsewhere


def _along(dim, where):
    """The index that takes `where` along a dimension counted from the end."""
    return (..., where, *[slice(None)] * (-dim - 1))


@functools.lru_cache(maxsize=256)
def _places(spatial, kernel, stride, padding, dilation, size):
    """Each place in a window, row by row: the outputs whose window has it inside x, and the inputs they see there;
    and whether that is all outputs for all places."""
    per_dim = [
        [_overlap(length, i * d - p, s, n) for i in range(k)]
        for length, k, s, p, d, n in zip(spatial, kernel, stride, padding, dilation, size)
    ]
    whole = all(outputs == slice(0, n, 1) for found, n in zip(per_dim, size) for outputs, _ in found)
    places = itertools.product(*per_dim)
    return [
        ((..., *[outputs for outputs, _ in place]), (..., *[inputs for _, inputs in place])) for place in places
    ], whole


def _overlap(length, offset, stride, windows):
    """Among windows starting at offset, offset + stride, ...: those that start within the length, and where."""
    first = max(0, -(offset // stride))
    last = min(windows, (length - 1 - offset) // stride + 1)
    if last <= first:
        return slice(0, 0, 1), slice(0, 0, stride)
    start = first * stride + offset
    return slice(first, last, 1), slice(start, start + (last - first - 1) * stride + 1, stride)


def _first_inside(size, kernel, stride, padding, dilation):
    """For each window, the number of its first place that lies inside."""
    number = np.zeros((), np.int64)
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        outside = np.maximum(p - np.arange(n) * s, 0)
        number = number[..., None] * k + -(-outside // d)
    return number


def _bits(dtype):
    return np.dtype(f"i{dtype.itemsize}")
