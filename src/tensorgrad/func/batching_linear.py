"""Batching rules of products (see batching.py)."""

import math

from tensorgrad.func.batching import everywhere, leading_of, padded, rule
from tensorgrad.ops.primitive import PRIMITIVES

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_stacked = leading_of(2, 2)


@rule("matmul", "mm")
def matmul(apply, values, batched, params, size):
    a, b = values
    if batched == [True, False] and len(b._spec.shape) == 2:  # one large product rather than many small ones
        shape = a._spec.shape
        return apply((a.reshape(math.prod(shape[:-1]), shape[-1]), b), ()).reshape((*shape[:-1], b._spec.shape[1]))
    return _stacked(apply, values, batched, params, size)


@rule("mv")
def mv(apply, values, batched, params, size):
    a, b = values
    mm = PRIMITIVES["mm"].apply
    if not batched[0]:
        return mm((b, a.t()), ())
    if not batched[1]:
        shape = a._spec.shape
        return apply((a.reshape(shape[0] * shape[1], shape[2]), b), ()).reshape(shape[:2])
    return PRIMITIVES["matmul"].apply((a, b.unsqueeze(-1)), ()).squeeze(-1)


@rule("vm")
def vm(apply, values, batched, params, size):
    a, b = values
    if not batched[1]:
        return PRIMITIVES["mm"].apply((a, b), ())
    if not batched[0]:
        return PRIMITIVES["matmul"].apply((a, b), ())
    return PRIMITIVES["matmul"].apply((a.unsqueeze(1), b), ()).squeeze(1)


@rule("dot")
def dot(apply, values, batched, params, size):
    a, b = values
    if batched[0] and batched[1]:
        return (a * b).sum(1)
    return PRIMITIVES["mv"].apply((a, b) if batched[0] else (b, a), ())


rule("outer")(leading_of(1, 1))


@rule("linear", "linear_half")
def linear(apply, values, batched, params, size):
    x, w, b = values
    if not batched[1] and not batched[2]:
        return apply(values, ())
    lead = x._spec.shape[batched[0] : -1]
    flat = x.reshape((size, -1, x._spec.shape[-1]) if batched[0] else (-1, x._spec.shape[-1]))
    y = flat @ w.transpose(-1, -2)
    if len(y._spec.shape) == 2:
        y = everywhere(y, size)
    return y.reshape((size, *lead, y._spec.shape[-1])) + (padded(b, len(lead) + 1) if batched[2] else b)


@rule("einsum")
def einsum(apply, values, batched, params, size):
    terms, output = params[0].split("->")
    letter = next(c for c in LETTERS if c not in params[0])
    marked = [letter * b + term for term, b in zip(terms.split(","), batched, strict=True)]
    return apply(tuple(values), (",".join(marked) + "->" + letter + output,))
