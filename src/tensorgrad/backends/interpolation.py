"""Resizing the last dimensions of an array: each number of the result is a weighted sum of a few places along each dimension.

A `Line` says which places and weights along one dimension: nearest (one place), linear (two), cubic (four), and filters
widened over all places that shrink into one (antialias). Resizing is linear, and goes one dimension after the other.
"""

import functools

import numpy as np

from tensorgrad.backends.precision import computes_halves_in_single


def resize(x, lines):
    """x with its last dimensions resized, each as a Line says.

    >>> resize(np.array([1.0, 3.0]), (line("linear", 2, 4, None, False, np.float64),))
    array([1. , 1.5, 2.5, 3. ])
    """
    rounded = x.dtype == np.uint8 and any(step.weights is not None for step in lines)
    out = _resize(x.astype(np.float32) if rounded else x, lines)
    return np.clip(np.rint(out), 0, 255).astype(np.uint8) if rounded else out


@computes_halves_in_single
def _resize(x, lines):
    for back, step in enumerate(reversed(lines), 1):
        axis = x.ndim - back
        if step.weights is None:
            x = x.take(step.places[:, 0], axis)
            continue
        along = (-1, *[1] * (back - 1))
        total = None
        for tap in range(step.places.shape[1]):
            part = x.take(step.places[:, tap], axis)
            part *= step.weights[:, tap].astype(x.dtype).reshape(along)
            total = part if total is None else np.add(total, part, total)
        x = total
    return x


@computes_halves_in_single
def resize_gradient(g, lines):
    """Transpose of `resize`: each g shared out over the places it came from.

    >>> resize_gradient(np.ones(4), (line("linear", 2, 4, None, False, np.float64),))
    array([2., 2.])
    """
    for back, step in enumerate(lines[::-1], 1):
        axis = g.ndim - back
        along = (-1, *[1] * (back - 1))
        before = slice(None)
        gx = np.zeros((*g.shape[:axis], step.size, *g.shape[axis + 1 :]), g.dtype)
        for tap in range(step.places.shape[1]):
            places = step.places[:, tap]
            part = g if step.weights is None else g * step.weights[:, tap].astype(g.dtype).reshape(along)
            if not places.size:
                continue
            starts = np.flatnonzero(np.diff(places, prepend=-1))  # places only rise
            sums = part if len(starts) == len(places) else np.add.reduceat(part, starts, axis=axis)
            gx[(*[before] * axis, places[starts])] += sums
        g = gx
    return g


class Line:
    """Along one dimension: the `size` of the input, `places` (outputs, taps) and `weights` (None: all one)."""

    def __init__(self, size, places, weights):
        self.size, self.places, self.weights = size, places, weights


@functools.lru_cache(maxsize=256)
def line(mode, size, wanted, scale, align, precision):
    """The Line of a mode from `size` places to `wanted`; scale: how much larger a user said, or None.

    >>> line("nearest", 2, 4, None, False, np.float32).places[:, 0]
    array([0, 0, 1, 1])
    """
    if mode in ("nearest", "nearest-exact"):
        ratio = np.float32(1.0 / scale) if scale else np.float32(size) / np.float32(wanted)
        shift = np.float32(0.5 if mode == "nearest-exact" else 0)
        places = np.floor((np.arange(wanted, dtype=np.float32) + shift) * ratio).astype(np.int64)
        return Line(size, np.minimum(places, size - 1)[:, None], None)
    number = precision
    if align:
        ratio = number(size - 1) / number(wanted - 1) if wanted > 1 else number(0)
    else:
        ratio = number(1.0 / scale) if scale else number(size) / number(wanted)
    if mode.endswith("antialias"):
        return _filtered(mode.removesuffix(" antialias"), size, wanted, ratio, number)
    at = np.arange(wanted, dtype=number)
    at = ratio * at if align else ratio * (at + number(0.5)) - number(0.5)
    if mode == "linear":
        if wanted == size:
            return Line(size, np.arange(size)[:, None], None)
        at = np.maximum(at, 0)
        first = np.minimum(at.astype(np.int64), size - 1)
        part = np.clip(at - first, 0, 1).astype(number)
        second = first + (first < size - 1)
        return Line(size, np.stack([first, second], 1), np.stack([1 - part, part], 1))
    first = np.floor(at)
    part = at - first
    places = np.clip(first.astype(np.int64)[:, None] + np.arange(-1, 3), 0, size - 1)
    weights = cubic(np.stack([part + 1, part, 1 - part, 2 - part], 1), number(-0.75))
    return Line(size, places, weights)


def cubic(x, a):
    """Keys' cubic kernel at distances x >= 0.

    >>> cubic(np.array([0.0, 1.0, 2.0]), -0.75)
    array([1., 0., 0.])
    """
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


FILTERS = {
    "linear": (2, lambda x: np.maximum(1 - np.abs(x), 0)),
    "cubic": (4, lambda x: cubic(np.abs(x), x.dtype.type(-0.5))),
    "lanczos": (6, lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0).astype(x.dtype)),
}


def _filtered(mode, size, wanted, ratio, number):
    """The Line of a filter stretched over all places that shrink into one."""
    width, kernel = FILTERS[mode]
    support = number(width * 0.5) * max(ratio, number(1))
    inverse = number(1) / ratio if ratio >= 1 else number(1)
    centre = ratio * (np.arange(wanted, dtype=number) + number(0.5))
    first = np.maximum((centre - support + number(0.5)).astype(np.int64), 0)
    count = np.minimum((centre + support + number(0.5)).astype(np.int64), size) - first
    taps = np.arange(max(int(count.max(initial=1)), 1))
    weights = kernel(((taps + first[:, None]) - centre[:, None] + number(0.5)).astype(number) * inverse)
    weights = np.where(taps < count[:, None], weights, 0).astype(number)
    weights /= weights.sum(1, keepdims=True)
    return Line(size, np.minimum(first[:, None] + taps, size - 1), weights)
