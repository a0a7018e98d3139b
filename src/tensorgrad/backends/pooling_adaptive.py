"""Pooling whose windows do not come at a fixed stride: adaptive, fractional, and unpooling by index.

Adaptive windows that turn out regular go to the kernels for regular ones. Otherwise a mean is taken along one dimension
after the other (and so is its gradient: the windows that hold an input are neighbours, so it is a sum over a range
too), and a maximum looks at the n-th place of all windows at once, or window by window where those are few and large.
Winners are int64 positions in the flattened pooled dimensions here, as PyTorch returns them.
"""

import itertools
import math

import numpy as np

from tensorgrad.backends.pooling import (
    average_pool,
    average_pool_gradient,
    keep_larger,
    largest_of_window,
    max_pool,
    max_pool_indices,
)
from tensorgrad.backends.precision import computes_halves_in_single


def adaptive_windows(length, windows):
    """Where each of the windows begins and ends that cover a dimension as evenly as possible.

    >>> adaptive_windows(5, 3)
    (array([0, 1, 3]), array([2, 4, 5]))
    """
    number = np.arange(windows)
    return number * length // windows, -(-(number + 1) * length // windows)


@computes_halves_in_single
def adaptive_average_pool(x, size):
    """The means of as many windows as `size` says in each of the last dimensions.

    >>> adaptive_average_pool(np.array([[1.0, 2, 3, 4, 5]]), (3,))
    array([[1.5, 3. , 4.5]])
    """
    spatial = x.shape[-len(size) :]
    kernel = _regular(spatial, size)
    if kernel:
        return average_pool(x, kernel, kernel, (0,) * len(size), size)
    for dim in range(-len(size), 0):
        starts, ends = adaptive_windows(spatial[dim], size[dim])
        x = _sum_ranges(x, dim, starts, ends)
    x /= _counts(spatial, size).astype(x.dtype)
    return x


@computes_halves_in_single
def adaptive_average_pool_gradient(g, spatial):
    """Transpose of `adaptive_average_pool`: each g shared out over its window.

    >>> adaptive_average_pool_gradient(np.array([[2.0, 3.0, 4.0]]), (5,))
    array([[1., 2., 1., 3., 2.]])
    """
    size = g.shape[-len(spatial) :]
    kernel = _regular(spatial, size)
    if kernel:
        return average_pool_gradient(g, spatial, kernel, kernel, (0,) * len(size))
    g = g / _counts(spatial, size).astype(g.dtype)
    for dim in range(-1, -len(size) - 1, -1):
        starts, ends = adaptive_windows(spatial[dim], size[dim])
        places = np.arange(spatial[dim])  # the windows that hold an input follow one another
        g = _sum_ranges(g, dim, ends.searchsorted(places, "right"), starts.searchsorted(places, "right"))
    return g


@computes_halves_in_single
def adaptive_max_pool(x, size):
    """The largest number of each adaptive window, and its flat position.

    >>> adaptive_max_pool(np.array([[1.0, 2, 5, 4, 3]]), (3,))
    (array([[2., 5., 4.]]), array([[1, 2, 3]]))
    """
    spatial = x.shape[-len(size) :]
    kernel = _regular(spatial, size)
    if kernel:
        window = kernel, kernel, (0,) * len(size), (1,) * len(size)
        largest, winners = max_pool(x, *window, size)
        return largest, max_pool_indices(winners, spatial, *window)
    samples = x.reshape(math.prod(x.shape[: -len(size)]), *spatial)
    per_dim = [adaptive_windows(n, windows) for n, windows in zip(spatial, size)]
    taps = [int(max(ends - starts, default=0)) for starts, ends in per_dim]
    if math.prod(size) < math.prod(taps):
        largest, indices = _max_by_window(samples, size, per_dim)
    else:  # a shorter window sees its last place again, which changes nothing
        reads = [
            np.minimum(starts[:, None] + np.arange(n), ends[:, None] - 1) for (starts, ends), n in zip(per_dim, taps)
        ]
        largest, indices = _max_by_tap(samples, [read[None] for read in reads])
    return largest.reshape(*x.shape[: -len(size)], *size), indices.reshape(*x.shape[: -len(size)], *size)


def fractional_max_pool(x, kernel, size, samples):
    """The largest number of windows whose places are random: `samples` holds a number in [0, 1) for each channel
    (the first of x's dimensions flattened) and dimension, the last dimension first in two dimensions, as in PyTorch.

    >>> fractional_max_pool(np.array([[[1.0, 4, 2, 0], [3, 1, 0, 5]]]), (1, 2), (1, 2), np.array([[0.5, 0.1]]))
    (array([[[3., 5.]]]), array([[[4, 7]]]))
    """
    dims = len(size)
    planes = x.reshape(math.prod(x.shape[:-dims]), *x.shape[-dims:])
    order = (1, 0) if dims == 2 else range(dims)
    reads = []
    for dim, (length, k, windows) in enumerate(zip(x.shape[-dims:], kernel, size)):
        starts = _fractional_starts(samples.reshape(len(planes), dims)[:, order[dim]], length, k, windows)
        reads.append(starts[..., None] + np.arange(k))
    largest, indices = computes_halves_in_single(_max_by_tap)(planes, reads)
    return largest.reshape(*x.shape[:-dims], *size), indices.reshape(*x.shape[:-dims], *size)


def _fractional_starts(samples, length, kernel, windows):
    """Where the windows of each channel begin, in the precision of the samples; the last one ends with the array."""
    starts = np.full((len(samples), windows), length - kernel, np.int64)
    if windows > 1:
        step = samples.dtype.type(length - kernel) / samples.dtype.type(windows - 1)
        number = np.arange(windows - 1).astype(samples.dtype)
        starts[:, :-1] = ((number + samples[:, None]) * step).astype(np.int64)
        starts[:, :-1] -= (samples[:, None] * step).astype(np.int64)
    return starts


def pick(x, indices, dims):
    """x at flat positions in its last `dims` dimensions: max_unpool's gradient, and max pooling once it has chosen.

    >>> pick(np.array([[[1.0, 2], [3, 4]]]), np.array([[[3]]]), 2)
    array([[[4.]]])
    """
    flat = x.ravel().take(_whole_positions(indices, x.shape, dims))
    return flat.reshape(indices.shape)


def place(values, indices, spatial):
    """Values added at flat positions of the last dimensions, which get the sizes `spatial`: transpose of `pick`.

    >>> place(np.array([[1.0, 2.0, 4.0]]), np.array([[0, 3, 3]]), (4,))
    array([[1., 0., 0., 6.]])
    """
    out = np.zeros((*values.shape[: -len(spatial)], *spatial), values.dtype)
    if values.size:
        np.add.at(out.reshape(-1), _whole_positions(indices, out.shape, len(spatial)), values.ravel())
    return out


def max_unpool(values, indices, spatial):
    """Values written at flat positions of the last dimensions, zero elsewhere; of several, the last one stays.

    >>> max_unpool(np.array([[5.0, 6.0]]), np.array([[1, 2]]), (4,))
    array([[0., 5., 6., 0.]])
    """
    out = np.zeros((*values.shape[: -len(spatial)], *spatial), values.dtype)
    out.reshape(-1)[_whole_positions(indices, out.shape, len(spatial))] = values.ravel()
    return out


def _whole_positions(indices, shape, dims):
    """Positions in the whole array, from those in the last dimensions of each sample."""
    samples = math.prod(shape[:-dims])
    area = math.prod(shape[-dims:])
    return (indices.reshape(samples, math.prod(indices.shape[-dims:])) + np.arange(samples)[:, None] * area).ravel()


def _regular(spatial, size):
    """The kernel and stride of windows that tile the sizes exactly, or None."""
    if all(windows and n % windows == 0 for n, windows in zip(spatial, size)):
        return tuple(n // windows for n, windows in zip(spatial, size))
    return None


def _counts(spatial, size):
    counts = np.ones((), np.int64)
    for n, windows in zip(spatial, size):
        starts, ends = adaptive_windows(n, windows)
        counts = counts[..., None] * (ends - starts)
    return counts


def _sum_ranges(x, dim, starts, ends):
    """Sums over ranges along one dimension (counted from the end)."""
    after = (slice(None),) * (-dim - 1)
    shape = list(x.shape)
    shape[dim] = len(starts)
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    if longest > max(16, len(starts)):
        total = np.empty(shape, x.dtype)
        for window, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
            np.add.reduce(x[(..., slice(start, end), *after)], axis=dim, out=total[(..., window, *after)])
        return total
    total = np.zeros(shape, x.dtype)
    for i in range(longest):
        longer = lengths > i
        if longer.all():
            total += x.take(starts + i, axis=dim)
        else:
            total[(..., longer, *after)] += x.take(starts[longer] + i, axis=dim)
    return total


def _max_by_window(samples, size, per_dim):
    largest = np.empty((len(samples), *size), samples.dtype)
    indices = np.empty(largest.shape, np.int64)
    positions = np.arange(math.prod(samples.shape[1:])).reshape(samples.shape[1:])
    for window in np.ndindex(*size):
        inside = tuple(slice(starts[o], ends[o]) for o, (starts, ends) in zip(window, per_dim))
        found = largest_of_window(samples[(..., *inside)], positions[inside])
        largest[(..., *window)], indices[(..., *window)] = found
    return largest, indices


def _max_by_tap(samples, reads):
    """reads, for each dimension: (samples or 1, windows, taps) places to read."""
    spatial = samples.shape[1:]
    dims = len(spatial)
    if not len(samples):
        size = (0, *[read.shape[1] for read in reads])
        return np.empty(size, samples.dtype), np.empty(size, np.int64)
    steps = [math.prod(spatial[dim + 1 :]) for dim in range(dims)]
    taps = [read.shape[2] for read in reads]

    def positions(tap):
        total = 0
        for dim, (read, i, step) in enumerate(zip(reads, tap, steps)):
            along = [len(read), *[1] * dims]
            along[dim + 1] = read.shape[1]
            total = total + read[..., i].reshape(along) * step
        return total

    rows, area = samples.ravel(), math.prod(spatial)
    within = np.arange(len(samples)).reshape(len(samples), *[1] * dims) * area
    largest = winners = None
    for number, tap in enumerate(itertools.product(*map(range, taps))):
        candidate = rows.take(positions(tap) + within)
        if largest is None:
            largest, winners = candidate, np.zeros(candidate.shape, np.int32)
            scratch = np.empty(candidate.shape, bool), np.empty_like(winners)
            continue
        keep_larger(largest, winners, candidate, number, scratch)
    if largest.dtype.kind == "f" and np.isnan(largest).any():  # the last NaN of a window wins
        winners[np.isnan(largest)] = 0
        for number, tap in enumerate(itertools.product(*map(range, taps))):
            candidate = rows.take(positions(tap) + within)
            np.maximum(winners, np.isnan(candidate) * np.int32(number), out=winners)
    indices = np.zeros(largest.shape, np.int64)
    sample = np.arange(len(samples)).reshape(len(samples), *[1] * dims)
    for dim, (read, i) in enumerate(zip(reads, np.unravel_index(winners, taps))):
        along = [1] * (dims + 1)
        along[dim + 1] = read.shape[1]
        window = np.arange(read.shape[1]).reshape(along)
        indices += read[sample if len(read) > 1 else 0, window, i] * steps[dim]
    return largest, indices
