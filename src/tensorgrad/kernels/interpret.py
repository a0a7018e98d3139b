"""Loops without LLVM: each step of a program done by NumPy, whole arrays at a time.

The numbers are those of the compiled loops to rounding; only the time differs.
"""

import numpy as np

from tensorgrad.backends import special
from tensorgrad.kernels.symbol import MAPS, REDUCTIONS
from tensorgrad.kernels.values import VIEWS

FUNCTIONS = {name: ufunc for ufunc, name in MAPS.items()} | {"absolute": np.absolute, "power": np.power}
REDUCING = {name: ufunc for ufunc, name in REDUCTIONS.items()}


def interpreted(step, plan, array_of):
    """A function that runs one nest; `array_of(value, held)` finds the array of a stored Value."""

    def run(bound, held):
        known = {}

        def argument(value):
            if value in known and value.op not in ("reduce", "scatter"):
                return known[value]
            if value.op == "const":
                return np.asarray(value.attr[1], value.dtype)
            if value.op == "iota":
                return along(value.shape, value.attr)
            if value.op in VIEWS and value.args[0].op in ("const", "iota"):
                return viewed(value, argument(value.args[0]))
            access = plan.access(value)
            return seen(array_of(access.base, held), access, value)

        with np.errstate(all="ignore"):
            for value in step.members:
                known[value] = compute(value, argument)
        for value in step.members:
            if value.op == "part":
                target, axis, start = value.attr
                where = (slice(None),) * axis + (slice(start, start + value.shape[axis]),)
                np.copyto(array_of(target, held)[where], known[value], casting="unsafe")
            elif value in plan.stored:
                np.copyto(array_of(value, held), known[value], casting="unsafe")

    return run


def compute(value, argument):
    """The numbers of one Value."""
    op = value.op
    if op == "reduce":
        kind, axes = value.attr
        ufunc = REDUCING[kind]
        x = np.broadcast_to(argument(value.args[0]), value.args[0].shape)
        if value.dtype.name == "bfloat16" or value.dtype.kind == "b":
            return ufunc.reduce(x, axis=axes)
        return ufunc.reduce(x, axis=axes, dtype=value.dtype)
    if op == "scatter":
        index, updates = (argument(a) for a in value.args)
        total = np.zeros(value.shape, value.dtype)
        np.add.at(total, rows(index, value.shape[0]), np.broadcast_to(updates, value.args[1].shape))
        return total
    if op == "gather":
        table, index = (argument(a) for a in value.args)
        return table[rows(index, value.args[0].shape[0])]
    if op == "embed":
        whole = np.zeros(value.shape, value.dtype)
        starts, steps = value.attr
        (arg,) = value.args
        where = tuple(
            slice(a, a + s * (n - 1) + 1 if n else a, s) for a, s, n in zip(starts, steps, arg.shape, strict=True)
        )
        whole[where] = argument(arg)
        return whole
    args = [argument(a) for a in value.args]
    if op in ("copy", "part"):
        return args[0]
    if op == "concat":
        return np.concatenate([np.broadcast_to(x, a.shape) for x, a in zip(args, value.args, strict=True)], value.attr)
    if op == "cast":
        return cast(args[0], value.dtype)
    if op == "where":
        return np.where(*args).astype(value.dtype, copy=False)
    if op in ("erf", "erfc"):
        return getattr(special, op)(np.asarray(args[0]))
    return FUNCTIONS[op](*args).astype(value.dtype, copy=False)


def evaluated(order, known):
    """The array of the last of some Values, each after those it is made of; `known` has the arrays of inputs."""

    def argument(value):
        if value.op == "const":
            return np.asarray(value.attr[1], value.dtype)
        return along(value.shape, value.attr) if value.op == "iota" else known[value]

    known = dict(known)
    with np.errstate(all="ignore"):
        for value in order:
            if value.op in VIEWS:
                known[value] = viewed(value, argument(value.args[0]))
            elif value not in known and value.op not in ("const", "iota"):
                known[value] = (
                    np.matmul(*map(argument, value.args)) if value.op == "matmul" else compute(value, argument)
                )
    return np.asarray(argument(order[-1]))


def cast(x, dtype):
    return x != 0 if dtype.kind == "b" else x.astype(dtype)


def rows(index, count):
    """Indices as the compiled loops take them: negative ones from the end, and none outside."""
    return np.clip(np.where(index < 0, index + count, index), 0, count - 1)


def along(shape, axis):
    """The place of each element along an axis."""
    ones = [1] * len(shape)
    ones[axis] = shape[axis]
    return np.broadcast_to(np.arange(shape[axis]).reshape(ones), shape)


def viewed(value, x):
    if value.op == "reshape":
        return np.reshape(x, value.shape)
    if value.op == "permute":
        return x.transpose(value.attr)
    if value.op == "expand":
        return np.broadcast_to(x, value.shape)
    starts, steps = value.attr
    return x[
        tuple(
            slice(a, a + s * n if a + s * n >= 0 else None, s)
            for a, s, n in zip(starts, steps, value.shape, strict=True)
        )
    ]


def seen(array, access, value):
    """An array as an access sees it."""
    if not access.offset and array.shape == value.shape and strides_of(array) == access.strides:
        return array
    size = array.itemsize
    start = array if not access.offset else start_at(array, access.offset)
    return np.lib.stride_tricks.as_strided(start, value.shape, [s * size for s in access.strides])


def strides_of(array):
    return tuple(s // array.itemsize for s in array.strides)


def start_at(array, offset):
    """An array of one element, `offset` elements after the first one of another array."""
    whole = np.lib.stride_tricks.as_strided(array, (offset + 1,), (array.itemsize,))
    return whole[offset:]
