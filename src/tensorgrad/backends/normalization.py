"""Normalization of an array to mean 0 and variance 1 over some of its dimensions, and its gradient.

Arrays come as (A, B, J, K): each of the B groups is normalized over the other dimensions. Layer normalization is
(1, rows, 1, features), batch normalization (samples, channels, 1, places), group normalization (1, samples * groups,
channels of a group, places): A or J is 1. Large arrays are worked on in blocks of groups by all cores, so that the only array
of full size besides the input is the result. Half types are computed in float32; the statistics stay in it.
"""

import numpy as np

from tensorgrad.backends import crew, native
from tensorgrad.backends.constants import constant
from tensorgrad.backends.summing import column_sums, row_dots, row_sums
from tensorgrad.spec import LARGE

SHORT = 1 << 9  # a product of two vectors is quicker than two products that broadcast such rows
SOME = 1 << 15  # numbers from which it pays to tell NumPy how to broadcast


def normalize(x, w, b, eps, mean=None, rstd=None, centred=True):
    """(normalized, mean, 1 / deviation, variance) of x (A, B, J, K); w and b scale and shift, with sizes 1 where shared.

    Given a mean and an inverse deviation, these are used. centred=False: the mean counts as 0.

    >>> normalize(np.array([1.0, 3.0]).reshape(1, 1, 1, 2), None, None, 0.0)[0].ravel()
    array([-1.,  1.])
    """
    if _is_native(x, w, b):
        return native.module("rows").normalize(np.ascontiguousarray(x), w, b, eps, mean, rstd, centred)
    if x.dtype.itemsize == 2:
        w, b = _widened(w), _widened(b)
    if x.size < LARGE:
        given = (False, None, x, w, b, eps, mean, rstd, centred)
        y, mean, rstd, variance = _normalize(*given) if x.size < SOME else crew.unbuffered(_normalize, *given)
        y = y.reshape(x.shape)
        return (y if y.dtype == x.dtype else y.astype(x.dtype)), mean, rstd, variance
    out, found = np.empty(x.shape, x.dtype), {}

    def work(low, high):
        some = slice(low, high)
        given = [None if t is None else t[some] for t in (mean, rstd)]
        found[low] = _normalize(True, out[:, some], x[:, some], _of(w, some), _of(b, some), eps, *given, centred)[1:]

    crew.rows(work, x.shape[1], x[:, :1].size)
    return out, *[None if t[0] is None else np.concatenate(t) for t in _in_order(found)]


def normalize_gradient(g, x, w, mean, rstd, wanted, given=False, by_place=False, centred=True):
    """The gradients of x, w and b of `normalize`, those that are wanted.

    given: the statistics were; by_place: each place of a group has a scale of its own.

    >>> x, g = np.array([1.0, 3.0]).reshape(1, 1, 1, 2), np.array([1.0, 0.0]).reshape(1, 1, 1, 2)
    >>> gx, _, _ = normalize_gradient(g, x, None, np.array([2.0]), np.array([0.5]), (True, False, False))
    >>> gx.ravel()
    array([ 0.1875, -0.1875])
    """
    if _is_native(x, g, w):
        g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
        return native.module("rows").normalize_gradient(g, x, w, mean, rstd, wanted, given, by_place, centred)
    if x.dtype.itemsize == 2:
        w = _widened(w)
    if x.size < LARGE:
        all_of_it = (False, None, g, x, w, mean, rstd, wanted, given, by_place, centred)
        gx, gw, gb = _gradient(*all_of_it) if x.size < SOME else crew.unbuffered(_gradient, *all_of_it)
        gx = None if gx is None else gx.reshape(x.shape).astype(x.dtype, copy=False)
    else:
        gx, found = np.empty(x.shape, x.dtype) if wanted[0] else None, {}

        def work(low, high):
            some = slice(low, high)
            found[low] = _gradient(
                True, None if gx is None else gx[:, some], g[:, some], x[:, some], _of(w, some),
                None if mean is None else mean[some], rstd[some], wanted, given, by_place, centred,
            )[1:]  # fmt: skip

        crew.rows(work, x.shape[1], x[:, :1].size)
        join = (lambda parts: np.add.reduce(parts, axis=0)) if by_place else np.concatenate
        gw, gb = (None if t[0] is None else join(t) for t in _in_order(found))
    shape = (1, 1, 1, -1) if by_place else (1, x.shape[1], x.shape[2], 1)
    return gx, *[None if t is None else t.reshape(shape) for t in (gw, gb)]


def normalize_by_size(x, w, eps):
    """(normalized, 1 / root mean square) of the rows of x, scaled by w.

    >>> normalize_by_size(np.array([[3.0, 4.0]]), None, 0.0)[1]
    array([[0.28284271]])
    """
    w = None if w is None else w.reshape(1, 1, 1, -1)
    out, _, rstd, _ = normalize(x[None, :, None], w, None, eps, centred=False)
    return out.reshape(x.shape), rstd[:, None]


def normalize_by_size_gradient(g, x, w, rows, wanted):
    """The gradients of x and w of `normalize_by_size`.

    >>> gx, gw = normalize_by_size_gradient(np.ones((1, 2)), np.ones((1, 2)), np.ones(2), np.ones((1, 1)), (True, True))
    >>> gx, gw
    (array([[0., 0.]]), array([1., 1.]))
    """
    w = None if w is None else w.reshape(1, 1, 1, -1)
    g, x = g[None, :, None], x[None, :, None]
    gx, gw, _ = normalize_gradient(g, x, w, None, rows[:, 0], (*wanted, False), False, True, centred=False)
    return None if gx is None else gx[0, :, 0], None if gw is None else gw.ravel()


def _is_native(x, *others):
    """Whether a compiled kernel is to do this: lines of neighbours that are worth a loop."""
    return x.size >= native.LEAST and x.shape[2] * x.shape[3] >= 8 and native.suits(x, *others)


def _widened(w):
    return None if w is None else w.astype(np.float32)


def _of(w, some):
    """What of a scale belongs to some groups."""
    return w if w is None or w.shape[1] == 1 else w[:, some]


def _in_order(found):
    """What blocks found, each kind together, in the order of the blocks."""
    return zip(*[found[low] for low in sorted(found)], strict=True)


# Some groups: as rows (B, J * K), or as lines of each sample (A, B, K). t[:, None] fits a number for each group to both.
# alone: in a thread that must not wait for BLAS's.


def _flat(x):
    samples, groups, channels, places = x.shape
    return x.reshape(groups, channels * places) if samples == 1 else x.reshape(samples, groups, channels * places)


def _single(x):
    return _flat(x if x.dtype.itemsize > 2 else x.astype(np.float32))


def _group_sums(x, alone):
    if x.ndim == 2:
        return row_sums(x, alone)
    if x.shape[2] == 1:
        return column_sums(x[..., 0], alone)
    return np.add.reduce(row_sums(x, alone), axis=0)


def _group_dots(x, y, alone):
    if x.ndim == 2:
        return row_dots(x, y)
    if x.shape[2] == 1:
        return column_sums((x * y)[..., 0], alone)
    return np.add.reduce(row_dots(x, y), axis=0)


def _with_scale(ufunc, x, w, out):
    """ufunc(x, w) for a scale of places, of channels or of groups."""
    channels, places = w.shape[2:]
    if not w.size:
        return x  # it is empty, too
    if places > 1:
        return ufunc(x, w.reshape(-1), out)
    if channels == 1:
        return ufunc(x, w.reshape(-1, 1), out)
    lines = (len(x), channels, x.shape[1] // channels)
    out = None if out is None else out.reshape(lines)
    return ufunc(x.reshape(lines), w.reshape(-1, channels, 1), out).reshape(x.shape)


def _normalize(alone, out, x, w, b, eps, mean, rstd, centred):
    """`normalize` of some groups; the result is flat."""
    half, variance = x.dtype.itemsize == 2, None
    samples, _, channels, places = x.shape
    x, place = _single(x), None if out is None else _flat(out)
    count = constant(samples * channels * places, x.dtype)
    y = None if half else place
    if centred:
        if mean is None:
            mean = _group_sums(x, alone)
            mean /= count
        x = y = np.subtract(x, mean[:, None], y, order="C")
    if rstd is None:
        variance = _group_dots(x, x, alone)
        variance /= count
        rstd = variance + constant(eps, x.dtype)
        np.sqrt(rstd, rstd)
        np.divide(constant(1, x.dtype), rstd, rstd)
    if w is not None and w.shape[2] == w.shape[3] == 1:
        y = np.multiply(x, (rstd * w.reshape(-1))[:, None], y, order="C")
    elif w is not None and 1 < w.shape[3] < SHORT and not alone:
        y = np.multiply(x, rstd[:, None].dot(w.reshape(1, -1)), y, order="C")
    else:
        y = np.multiply(x, rstd[:, None], y, order="C")
        if w is not None:
            _with_scale(np.multiply, y, w, y)
    if b is not None:
        _with_scale(np.add, y, b, y)
    if half and place is not None:
        place[...] = y
    return y, mean, rstd, variance


def _gradient(alone, out, g, x, w, mean, rstd, wanted, given, by_place, centred):
    """`normalize_gradient` of some groups: (flat, of the scale, of the shift)."""
    half, (samples, _, channels, places) = x.dtype.itemsize == 2, x.shape
    g, x, place = _single(g), _single(x), None if out is None else _flat(out)
    count = constant(samples * channels * places, x.dtype)
    y = None if half else place
    room = np.subtract(x, mean[:, None]) if centred else None
    x = room if centred else x
    by_group = w is not None and not by_place and channels == 1
    if by_place:
        products = g * x
        gw = column_sums(products, alone, rstd) if wanted[1] else None
        gb = column_sums(g, alone) if wanted[2] else None
        if w is None:
            first, second = row_sums(g, alone), row_sums(products, alone)
        else:
            first, second = row_dots(g, w.reshape(-1)), row_dots(products, w.reshape(-1))
    elif channels != 1:
        lines = (len(x), channels, places)
        first, second = row_sums(g.reshape(lines), alone), row_dots(g.reshape(lines), x.reshape(lines))
        gw, gb = second * rstd[:, None], first
        if w is not None:
            scale = w.reshape(w.shape[1], channels)
            first, second = first * scale, second * scale
        first, second = np.add.reduce(first, axis=1), np.add.reduce(second, axis=1)
    else:
        gb, second = _group_sums(g, alone), _group_dots(g, x, alone)
        gw, first = second * rstd, gb
    if not wanted[1]:
        gw = None
    if not wanted[2]:
        gb = None
    if not wanted[0]:
        return None, gw, gb
    if by_group:
        factor = rstd * w.reshape(-1)
    else:
        factor = rstd
        g = g if w is None else _with_scale(np.multiply, g, w, y)
    if given:
        y = np.multiply(g, factor[:, None], y)
    else:
        second *= rstd * rstd / count
        room = np.multiply(x, second[:, None], room)
        if centred:
            room += (first / count)[:, None]
        y = np.subtract(g, room, y)
        y *= factor[:, None]
    if half and place is not None:
        place[...] = y
    return y, gw, gb
