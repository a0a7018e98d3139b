"""Normalization of an array to mean 0 and variance 1 over some of its dimensions, and its gradient.

Arrays come as (A, B, J, K): each of the B groups is normalized over the other dimensions. Layer normalization is
(1, rows, 1, features), batch normalization (samples, channels, 1, places), group normalization (1, samples * groups,
channels of a group, places). Work goes group by group in pieces that stay in the cache, so that the only array of full size
besides the input is the result. Half types are computed in float32; the statistics stay in it.
"""

import math

import numpy as np

from tensorgrad.backends import native
from tensorgrad.backends.precision import is_half

PIECE = 1 << 16  # numbers worked on at a time


def normalize(x, w, b, eps, mean=None, rstd=None):
    """(normalized, mean, 1 / deviation, variance) of x (A, B, J, K); w and b scale and shift, with sizes 1 where shared.

    Given a mean and an inverse deviation, these are used.

    >>> normalize(np.array([1.0, 3.0]).reshape(1, 1, 1, 2), None, None, 0.0)[0].ravel()
    array([-1.,  1.])
    """
    _, groups, _, _ = x.shape
    if _is_native(x, w, b):
        return native.module("rows").normalize(np.ascontiguousarray(x), w, b, eps, mean, rstd)
    half = is_half(x.dtype)
    work = np.dtype(np.float32) if half else x.dtype
    out = np.empty(x.shape, x.dtype)
    given = mean is not None
    variance = None
    if not given:
        mean, rstd, variance = np.empty(groups, work), np.empty(groups, work), np.empty(groups, work)
    w, b = (None if t is None else t.astype(work, copy=False) for t in (w, b))
    for some, (centred, squares) in _pieces(x, work, 2):
        part = x[:, some].astype(work, copy=False)
        np.subtract(part, _mean_of(part, mean, some, given), out=centred)
        if not given:
            np.multiply(centred, centred, out=squares)
            variance[some] = _sums(squares) / squares[:, 0].size
            rstd[some] = 1 / np.sqrt(variance[some] + eps)
        factor = rstd[some, None, None]
        if w is not None and w.shape[3] == 1:
            factor = factor * _of(w, some)
        target = centred if half else out[:, some]
        np.multiply(centred, factor, out=target)
        if w is not None and w.shape[3] > 1:
            target *= w
        if b is not None:
            target += _of(b, some)
        if half:
            out[:, some] = target
    return out, mean, rstd, variance


def _mean_of(part, mean, some, given):
    if not given:
        mean[some] = _sums(part) / part[:, 0].size
    return mean[some, None, None]


def normalize_gradient(g, x, w, mean, rstd, wanted, given=False, by_place=False):
    """The gradients of x, w and b of `normalize`, those that are wanted.

    given: the statistics were; by_place: each place of a group has a scale of its own.

    >>> x, g = np.array([1.0, 3.0]).reshape(1, 1, 1, 2), np.array([1.0, 0.0]).reshape(1, 1, 1, 2)
    >>> gx, _, _ = normalize_gradient(g, x, None, np.array([2.0]), np.array([0.5]), (True, False, False))
    >>> gx.ravel()
    array([ 0.1875, -0.1875])
    """
    if _is_native(x, g, w):
        g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
        return native.module("rows").normalize_gradient(g, x, w, mean, rstd, wanted, given, by_place)
    half = is_half(x.dtype)
    work = np.dtype(np.float32) if half else x.dtype
    gx = np.empty(x.shape, x.dtype) if wanted[0] else None
    shape = (1, x.shape[1], x.shape[2], 1) if not by_place else (1, 1, 1, x.shape[3])
    gw, gb = (np.zeros(shape, work) if want else None for want in wanted[1:])
    w = None if w is None else w.astype(work, copy=False)
    for some, (normal, products) in _pieces(x, work, 2):
        slope = g[:, some].astype(work, copy=False)
        np.subtract(x[:, some].astype(work, copy=False), mean[some, None, None], out=normal)
        normal *= rstd[some, None, None]
        np.multiply(slope, normal, out=products)
        count = products[:, 0].size
        factor = None if w is None else _of(w, some)
        if by_place:
            if gb is not None:
                gb += _column_sums(slope)
            if gw is not None:
                gw += _column_sums(products)
            if gx is None:
                continue
            if factor is not None:
                products *= factor
            first, second = None, _sums(products)
            if factor is not None:
                slope = np.multiply(slope, factor, out=products)
        else:
            lines, product_lines = _lines(slope), _lines(products)  # (b, J)
            if gb is not None:
                gb[0, some, :, 0] = lines
            if gw is not None:
                gw[0, some, :, 0] = product_lines
            if gx is None:
                continue
            if factor is not None:
                np.multiply(slope, factor, out=products)
                slope = products
                lines, product_lines = lines * factor[0, ..., 0], product_lines * factor[0, ..., 0]
            first, second = np.add.reduce(lines, 1), np.add.reduce(product_lines, 1)
        if given:
            np.multiply(slope, rstd[some, None, None], out=gx[:, some], casting="unsafe")
            continue
        if first is None:
            first = _sums(slope)
        normal *= (second / -count)[:, None, None]
        normal += slope
        normal -= (first / count)[:, None, None]
        np.multiply(normal, rstd[some, None, None], out=gx[:, some] if not half else normal)
        if half:
            gx[:, some] = normal
    return gx, gw, gb


def normalize_by_size(x, w, eps):
    """(normalized, 1 / root mean square) of the rows of x, scaled by w.

    >>> normalize_by_size(np.array([[3.0, 4.0]]), None, 0.0)[1]
    array([[0.28284271]])
    """
    if _is_native(x[None, :, None], w):
        w = None if w is None else w.reshape(1, 1, 1, -1)
        x = np.ascontiguousarray(x)
        out, _, rows, _ = native.module("rows").normalize(x[None, :, None], w, None, eps, None, None, centred=False)
        return out.reshape(x.shape), rows[:, None]
    work = np.dtype(np.float32) if is_half(x.dtype) else x.dtype
    out, rows = np.empty(x.shape, x.dtype), np.empty((len(x), 1), work)
    for some, (products,) in _row_pieces(x, work, 1):
        part = x[some].astype(work, copy=False)
        np.multiply(part, part, out=products)
        rows[some] = 1 / np.sqrt(np.add.reduce(products, 1, keepdims=True) / x.shape[1] + eps)
        np.multiply(part, rows[some], out=products)
        if w is not None:
            products *= w
        out[some] = products
    return out, rows


def normalize_by_size_gradient(g, x, w, rows, wanted):
    """The gradients of x and w of `normalize_by_size`.

    >>> gx, gw = normalize_by_size_gradient(np.ones((1, 2)), np.ones((1, 2)), np.ones(2), np.ones((1, 1)), (True, True))
    >>> gx, gw
    (array([[0., 0.]]), array([1., 1.]))
    """
    if _is_native(x[None, :, None], g, w):
        g, x = (np.ascontiguousarray(t)[None, :, None] for t in (g, x))
        gx, gw, _ = native.module("rows").normalize_gradient(
            g,
            x,
            None if w is None else w.reshape(1, 1, 1, -1),
            None,
            rows[:, 0],
            (*wanted, False),
            False,
            True,
            centred=False,
        )
        return None if gx is None else gx.reshape(g.shape[1], -1), None if gw is None else gw.ravel()
    work = np.dtype(np.float32) if is_half(x.dtype) else x.dtype
    gx = np.empty(x.shape, x.dtype) if wanted[0] else None
    gw = np.zeros(x.shape[1], work) if wanted[1] else None
    for some, (normal, products) in _row_pieces(x, work, 2):
        slope = g[some].astype(work, copy=False)
        np.multiply(x[some].astype(work, copy=False), rows[some], out=normal)
        np.multiply(slope, normal, out=products)
        if gw is not None:
            gw += np.add.reduce(products, 0)
        if gx is None:
            continue
        if w is not None:
            products *= w
        normal *= np.add.reduce(products, 1, keepdims=True) / -x.shape[1]
        normal += slope if w is None else np.multiply(slope, w, out=products)
        normal *= rows[some]
        gx[some] = normal
    return gx, gw


def _is_native(x, *others):
    """Whether a compiled kernel is to do this: lines of neighbours that are worth a loop."""
    return x.shape[2] * x.shape[3] >= 8 and native.suits(x, *others)


def _pieces(x, work, count):
    """Slices of the groups, and for each some scratch arrays of its shape."""
    size = x[:, :1].size
    step = max(1, PIECE // max(1, size))
    step = min(step, max(1, x.shape[1]))
    scratch = [np.empty(step * size, work) for _ in range(count)]
    for first in range(0, x.shape[1], step):
        some = slice(first, min(first + step, x.shape[1]))
        shape = (x.shape[0], some.stop - first, *x.shape[2:])
        yield some, [array[: math.prod(shape)].reshape(shape) for array in scratch]


def _row_pieces(x, work, count):
    """The same for the rows of a matrix."""
    step = min(max(1, PIECE // max(1, x.shape[1])), max(1, len(x)))
    scratch = [np.empty((step, x.shape[1]), work) for _ in range(count)]
    for first in range(0, len(x), step):
        some = slice(first, min(first + step, len(x)))
        yield some, [array[: some.stop - first] for array in scratch]


def _of(w, some):
    """What of a scale belongs to some groups."""
    return w[:, some] if w.shape[1] > 1 else w


def _lines(x):
    """Sums over the first and the last dimension."""
    if x.shape[3] == 1:
        return np.add.reduce(x[..., 0], 0)
    if x.shape[0] == 1:
        return np.add.reduce(x[0], 2)
    return np.add.reduce(np.add.reduce(x, 3), 0)


def _sums(x):
    """Sums of each group."""
    lines = _lines(x)
    return lines[:, 0] if lines.shape[1] == 1 else np.add.reduce(lines, 1)


def _column_sums(x):
    """Sums over all but the last dimension."""
    return np.add.reduce(x.reshape(-1, x.shape[3]) if x.size else x[0, 0], 0)
