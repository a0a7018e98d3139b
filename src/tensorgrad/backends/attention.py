"""Attention on arrays, block by block: softmax(scale * q k^T + mask) v, and its gradients.

Arrays are (..., queries, width) and (..., keys, width), whose leading dimensions broadcast. The scores are computed for a
block of leading indices and queries at a time and never kept: of each query its largest score and the inverse of its sum
are, from which the backward pass has the weights again. Causal blocks end at their last key. Half types are computed in float32.
"""

import functools
import math

import numpy as np

from tensorgrad.backends import native
from tensorgrad.backends.precision import is_half

BLOCK = 1 << 18  # scores at a time
LEAST = 1 << 14  # multiply-adds from which compiled blocks are used


def attend(q, k, v, mask, causal, scale):
    """(result, the largest score and the inverse of the sum of exponentials of each query).

    >>> q, k, v = np.zeros((1, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]])
    >>> attend(q, k, v, None, False, 1.0)[0], attend(q, k, v, None, True, 1.0)[0]
    (array([[2.]]), array([[1.]]))
    """
    given = q.dtype
    if is_half(given):
        q, k, v, mask = single(q, k, v, mask)
    batch, queries, keys = sizes_of(q, k, v, mask)
    q, k, v, mask = expanded(batch, q, k, v, mask)
    out = like(q, (*batch, queries, v.shape[-1]))
    sums = np.empty((*batch, queries, 2), q.dtype)
    if compiled(q, k, v, mask):
        native.module("attention").attend(q, k, v, out, sums, causal, scale)
        return (out.astype(given) if is_half(given) else out), sums
    for at, rows, stop in blocks(batch, queries, keys, causal):
        some = (*at, ..., rows, slice(None))
        if not stop:
            out[some], sums[some] = 0, 0
            continue
        scores = scores_of(q[some], k[at], mask, at, rows, stop, causal, scale)
        top = np.maximum.reduce(scores, -1, keepdims=True)
        if mask is not None:  # a query may see nothing
            top[top == -np.inf] = 0
        scores -= top
        np.exp(scores, out=scores)
        total = np.add.reduce(scores, -1, keepdims=True)
        if mask is not None:
            total[total == 0] = 1
        np.reciprocal(total, out=total)
        result = np.matmul(scores, v[at][..., :stop, :], out=out[some])
        result *= total
        sums[some][..., :1], sums[some][..., 1:] = top, total
    return (out.astype(given) if is_half(given) else out), sums


def attend_backward(g, q, k, v, mask, sums, causal, scale, wanted):
    """The gradients of q, k, v and mask, those that are wanted.

    >>> q, k, v = np.zeros((1, 1)), np.ones((2, 1)), np.array([[1.0], [3.0]])
    >>> sums, wanted = attend(q, k, v, None, False, 1.0)[1], (False, True, True, False)
    >>> [x.ravel() for x in attend_backward(np.ones((1, 1)), q, k, v, None, sums, False, 1.0, wanted)[1:3]]
    [array([0., 0.]), array([0.5, 0.5])]
    """
    given = q.dtype
    shapes = [None if x is None else x.shape for x in (q, k, v, mask)]
    kind = None if mask is None else mask.dtype
    if is_half(given):
        g, q, k, v, mask = single(g, q, k, v, mask)
    batch, queries, keys = sizes_of(q, k, v, mask)
    q, k, v, mask = expanded(batch, q, k, v, mask)
    quick = compiled(q, k, v, mask)
    gq, gk, gv = (like(x, x.shape) if want or quick else None for x, want in zip((q, k, v), wanted[:3], strict=True))
    gm = np.zeros((*np.broadcast_shapes((1,) * (len(batch) + 2), shapes[3]),), q.dtype) if wanted[3] else None
    whole = None
    if quick:
        native.module("attention").attend_backward(g, q, k, v, sums, gq, gk, gv, causal, scale)
    for at, rows, stop in () if quick else blocks(batch, queries, keys, causal):
        some, first = (*at, ..., rows, slice(None)), at != whole
        whole = at
        if first:
            for part in (gk, gv):
                if part is not None and (stop < keys or rows.stop < queries):
                    part[at] = 0
        add = not first or stop < keys
        if not stop:
            if gq is not None:
                gq[some] = 0
            continue
        top, factor = sums[some][..., :1], sums[some][..., 1:]
        slope, left, right = g[some] * factor, q[some], k[at][..., :stop, :]
        weights = scores_of(left, k[at], mask, at, rows, stop, causal, scale)
        weights -= top  # and no division by the sum: the gradients that arrive are divided
        np.exp(weights, out=weights)
        if gv is not None:
            into(gv[at][..., :stop, :], weights.swapaxes(-1, -2), slope, add)
        change = np.matmul(slope, v[at][..., :stop, :].swapaxes(-1, -2))
        change -= np.einsum("...i,...i->...", change, weights)[..., None] * factor
        change *= weights
        if gm is not None:
            collect(gm, change, at, rows, stop, batch)
        if gq is not None:
            part = np.matmul(change, right, out=gq[some])
            part *= scale
        if gk is not None:
            into(gk[at][..., :stop, :], change.swapaxes(-1, -2), left * left.dtype.type(scale), add)
    found = [gq, gk, gv, gm]
    for i, x in enumerate(found):
        if not wanted[i]:
            found[i] = None
        elif x is not None:
            x = summed(x, shapes[i])
            found[i] = x.astype(given if i < 3 else kind) if is_half(given) else x
    return found


def like(x, shape):
    """An empty array of a shape, laid out like another, as PyTorch's results are like the queries."""
    return (
        np.empty_like(x, shape=shape)
        if x.strides[-1] == x.itemsize and 0 not in x.strides
        else np.empty(shape, x.dtype)
    )


def compiled(q, k, v, mask):
    """Whether code made for this processor does the work."""
    if mask is not None:
        return False
    work = q.size * k.shape[-2]
    return work >= LEAST and native.ready(work * 1e-10) and native.module("attention").fits(q, k, v)


def single(*arrays):
    return [None if a is None else a.astype(np.float32) if is_half(a.dtype) else a for a in arrays]


def sizes_of(q, k, v, mask):
    """(leading dimensions, number of queries, number of keys)."""
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2], () if mask is None else mask.shape[:-2])
    return batch, q.shape[-2], k.shape[-2]


def expanded(batch, q, k, v, mask):
    """All with the same leading dimensions, the mask with all its dimensions (some of stride 0)."""
    if mask is not None:
        mask = np.broadcast_to(mask, (*batch, q.shape[-2], k.shape[-2]))
    return *(x if x.shape[:-2] == batch else np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (q, k, v)), mask


def blocks(batch, queries, keys, causal):
    """(leading index, slice of queries, how many keys they see) of one block after another."""
    whole, inner = queries * keys, len(batch)
    while inner and math.prod(batch[inner - 1 :]) * whole <= BLOCK:
        inner -= 1
    step = queries if whole <= BLOCK else max(16, BLOCK // max(keys, 1))
    for at in np.ndindex(batch[:inner]):
        for start in range(0, queries, max(step, 1)):
            rows = slice(start, min(start + step, queries))
            yield at, rows, min(rows.stop, keys) if causal else keys


@functools.lru_cache(maxsize=64)
def triangle(rows, columns, dtype):
    """Minus infinity above the diagonal."""
    return np.triu(np.full((rows, columns), -np.inf, dtype), 1)


def scores_of(q, k, mask, at, rows, stop, causal, scale):
    """The scores of a block, with the mask."""
    scores = np.matmul(q * q.dtype.type(scale), k[..., :stop, :].swapaxes(-1, -2))
    if causal and rows.start < stop:
        scores[..., rows.start :] += triangle(rows.stop - rows.start, stop - rows.start, scores.dtype)
    if mask is not None:
        part = mask[at][..., rows, :stop]
        if part.dtype == bool:
            np.copyto(scores, -np.inf, where=~part)
        else:
            scores += part
    return scores


def into(target, a, b, add):
    """A product written to, or added to, a target."""
    if add:
        target += np.matmul(a, b)
    else:
        np.matmul(a, b, out=target)


def collect(gm, change, at, rows, stop, batch):
    """Add the gradient of a block's scores to that of a mask, summed where the mask broadcasts."""
    where = tuple(slice(None) if n == 1 else i for i, n in zip(at, gm.shape, strict=False))
    shape = (*(1,) * len(at), *change.shape)
    lines, columns = rows if gm.shape[-2] != 1 else slice(None), slice(0, stop) if gm.shape[-1] != 1 else slice(None)
    target = gm[tuple(slice(w, w + 1) if isinstance(w, int) else w for w in where)][..., lines, columns]
    target += summed(change.reshape(shape), target.shape)


def summed(x, shape):
    """Summed over what was broadcast."""
    lead = x.ndim - len(shape)
    dims = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] != 1))
    x = np.add.reduce(x, dims, keepdims=True) if dims else x
    return x.reshape(shape) if x.shape != shape else x
