"""Batching rules of indexing, gather and scatter (see batching.py).

An index of rows picks from each row by itself: the number of the row joins the index as its first part.
"""

import numpy as np

from tensorgrad.func.batching import all_batched, all_rows_spec, everywhere, padded, rule, shifted
from tensorgrad.ops.primitive import PRIMITIVES, wrap
from tensorgrad.ops.shape import _inverse
from tensorgrad.spec import spec_for


def lined_up(indices, batched, places, ndim, size):
    """(indices, places, order) for all rows of a tensor of `ndim` dimensions a row.

    order: how the dimensions that NumPy's indexing gives are to be read, as dimensions of the result (rows first), or None.
    """
    rank = max(len(i._spec.shape) - b for i, b in zip(indices, batched, strict=True))
    together = tuple(places) == tuple(range(places[0], places[0] + len(places)))
    rest = ndim - len(places)
    moved = shifted(tuple(places))
    if not any(batched):
        order = None if together else (*range(1, rank + 1), 0, *range(rank + 1, rank + 1 + rest))
        return tuple(indices), moved, order
    indices = [padded(i, rank) if b else i for i, b in zip(indices, batched, strict=True)]
    numbers = wrap(np.arange(size).reshape(size, *(1,) * rank))
    before = places[0]
    order = None
    if together and before:
        order = (
            0,
            *range(before + 1, before + rank + 1),
            *range(1, before + 1),
            *range(before + rank + 1, 1 + rest + rank),
        )
    return (numbers, *indices), (0, *moved), order


@rule("index", "index_select", "take", "masked_select")
def index(apply, values, batched, params, size):
    x, *indices = all_batched(values[:1], batched[:1], size) + tuple(values[1:])
    indices, places, order = lined_up(indices, batched[1:], params[0], len(x._spec.shape) - 1, size)
    result = apply((x, *indices), (places,))
    return result if order is None else result.permute(_inverse(order))


@rule("put_zeros")
def put_zeros(apply, values, batched, params, size):
    spec, places = params
    g, *indices = all_batched(values[:1], batched[:1], size) + tuple(values[1:])
    indices, places, order = lined_up(indices, batched[1:], places, len(spec.shape), size)
    g = g if order is None else g.permute(order)
    return apply((g, *indices), (all_rows_spec(spec, size), places))


@rule("index_put")
def index_put(apply, values, batched, params, size):
    places, accumulate = params
    (x,) = all_batched(values[:1], batched[:1], size)
    given, indices = values[1], values[2:]
    ndim = len(x._spec.shape) - 1
    rank = max(len(i._spec.shape) - b for i, b in zip(indices, batched[2:], strict=True)) + ndim - len(places)
    indices, places, order = lined_up(indices, batched[2:], places, ndim, size)
    if batched[1] or order is not None:
        given = padded(given if batched[1] else everywhere(given, size), rank)
    if order is not None:
        given = given.permute(order)
    return apply((x, given, *indices), (places, accumulate))


@rule("copy", "fill")
def copy(apply, values, batched, params, size):
    a, b = values
    return apply((a, padded(b, len(a._spec.shape) - 1) if batched[1] else b), ())


@rule("masked_fill", "masked_fill.number", "index_fill", "index_fill.number")
def masked_fill(apply, values, batched, params, size):
    x, *others = values
    (x,) = all_batched((x,), batched[:1], size)
    rank = len(x._spec.shape) - 1
    others = [padded(v, rank) if b else v for v, b in zip(others, batched[1:], strict=True)]
    return apply((x, *others), ())


@rule("scatter_zeros")
def scatter_zeros(apply, values, batched, params, size):
    spec, dim = params
    g, index = all_batched(values, batched, size)
    narrow = not spec.shape
    g, index = wide(g, size), wide(index, size)
    spec = all_rows_spec(spec, size)
    if narrow:
        spec = spec_for((size, 1), spec.dtype)
    result = apply((g, index), (spec, dim + 1))
    return result.reshape((size,)) if narrow else result


@rule("gather")
def gather(apply, values, batched, params, size):
    x, index = all_batched(values, batched, size)
    narrow = len(index._spec.shape) == 1
    result = apply((wide(x, size), wide(index, size)), (params[0] + 1,))
    return result.reshape((size,)) if narrow else result


@rule(
    "scatter",
    "scatter.number",
    "scatter_add",
    "scatter_reduce",
    "index_add",
    "index_copy",
    "index_reduce",
)
def scatter(apply, values, batched, params, size):
    values = all_batched(values, batched, size)
    narrow = len(values[0]._spec.shape) == 1
    result = apply(tuple(wide(v, size) for v in values), (params[0] + 1, *params[1:]))
    return result.reshape((size,)) if narrow and result is not None else result


def wide(value, size):
    """Rows of numbers as rows of one element."""
    return PRIMITIVES["view"].apply((value,), ((size, 1),)) if len(value._spec.shape) == 1 else value
