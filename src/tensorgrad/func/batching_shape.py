"""Batching rules of views, of what puts tensors together, and of copies (see batching.py)."""

import math

from tensorgrad.func.batching import all_batched, all_rows_spec, leading, over_dims, rule, shifted
from tensorgrad.ops import parts
from tensorgrad.ops.primitive import PRIMITIVES

WHOLE = slice(None)


@rule("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "squeeze_all", "squeeze_several")
def shape_of_rows(apply, values, batched, params, size):
    return apply(values, ((size, *params[0]),))


@rule("permute", "transpose", "t")
def order_of_dims(apply, values, batched, params, size):
    return apply(values, ((0, *shifted(params[0])),))


@rule("expand")
def expand(apply, values, batched, params, size):
    (x,), (shape,) = values, params
    have = x._spec.shape
    if len(have) <= len(shape):
        x = PRIMITIVES["view"].apply((x,), ((have[0], *(1,) * (len(shape) + 1 - len(have)), *have[1:]),))
    return apply((x,), ((size, *shape),))


def part_params(name, params):
    """The parameters of a view of a part (see `partial_view` in ops/shape.py) for all rows."""
    if name == "diagonal":
        offset, dim1, dim2 = params
        return offset, dim1 + 1, dim2 + 1
    return ((WHOLE, *params[0]),)


@rule("slice", "select", "new_axis", "alias")
def part(apply, values, batched, params, size):
    return apply(values, (part_params("slice", params[0]),))


@rule("diagonal")
def diagonal(apply, values, batched, params, size):
    return apply(values, (part_params("diagonal", params[0]),))


@rule("embed")
def embed(apply, values, batched, params, size):
    primitive, inner, spec = params
    return apply(values, (primitive, (part_params(primitive.name, inner[0]),), all_rows_spec(spec, size)))


@rule("window_sum")
def window_sum(apply, values, batched, params, size):
    spec, dim, *rest = params
    return apply(values, (all_rows_spec(spec, size), dim + 1, *rest))


def strided_params(params, size, step, base=0):
    """The parameters of a strided view (see ops/parts.py) for all rows, each a storage of `step` elements."""
    shape, stride, offset, (own_shape, own_stride, own_offset) = params
    layout = (size, *own_shape), (step, *own_stride), base + own_offset
    return (size, *shape), (step, *stride), base + offset, layout


@rule("strided_sum", "strided_take", "strided_scatter")
def strided(apply, values, batched, params, size):
    *_, count = parts._storage(*params)
    return apply(all_batched(values, batched, size), strided_params(params, size, count))


@rule("as_strided")
def as_strided(apply, values, batched, params, size):
    """The rows are laid out one after another first, so that each is a storage of its own."""
    x = values[0].contiguous()
    step = math.prod(x._spec.shape[1:])
    return apply((x,), strided_params(params, size, step, parts.layout_of(x)[2]))


@rule("repeat")
def repeat(apply, values, batched, params, size):
    (x,), (sizes,) = values, params
    shape = x._spec.shape
    if len(shape) <= len(sizes):
        x = PRIMITIVES["unsafe_view"].apply((x,), ((size, *(1,) * (len(sizes) + 1 - len(shape)), *shape[1:]),))
    return apply((x,), ((1, *sizes),))


@rule("cat")
def cat(apply, values, batched, params, size):
    rank = max(len(v._spec.shape) - b for v, b in zip(values, batched, strict=True))
    kept = [  # old programs join tensors of no elements to anything
        (v, b) for v, b in zip(values, batched, strict=True)
        if rank == 1 or (tuple(v._spec.shape[1:]) if b else tuple(v._spec.shape)) != (0,)
    ]  # fmt: skip
    values, batched = zip(*kept, strict=True)
    return apply(all_batched(values, batched, size), (params[0] + 1,))


@rule("stack")
def stack(apply, values, batched, params, size):
    return apply(all_batched(values, batched, size), (params[0] + 1,))


for _name in ("unfold", "split", "split_with_sizes", "unbind", "flip", "roll"):
    rule(_name)(over_dims(PRIMITIVES[_name]))
rule("clone", "contiguous", "view_as_real", "view_as_complex", "real", "imag", "conj", "to_copy", "view_dtype")(leading)
