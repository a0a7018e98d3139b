"""Random numbers inside vmap: others for every row, the same for all, or an error, as `randomness=` says.

Every draw comes through `draw` in ops/random_primitives.py, which asks `decide` first. The innermost vmap is asked, then,
with what it made of the draw, the one around it, and so on.
"""

import threading

import numpy as np

from tensorgrad.func import levels
from tensorgrad.func.batching import RANDOM, all_batched, everywhere, rows, rule
from tensorgrad.func.levels import Payload
from tensorgrad.ops import random_primitives as primitives
from tensorgrad.ops.primitive import PRIMITIVES, Primitive, wrap
from tensorgrad.tensor import Tensor

SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch\n"
    'Use randomness="different", or draw outside and pass the numbers in.'
)
INPLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this "
    "is necessary for your usage, please file an issue with functorch.\nClone a tensor that is mapped over instead."
)


class _Asked(threading.local):
    """Which levels have been asked about the draw at hand: all from this number on."""

    def __init__(self):
        self.number = float("inf")


asked = _Asked()


def next_level():
    """The innermost vmap that has not been asked."""
    return next(
        (level for level in reversed(levels.stack.levels) if level.kind == "vmap" and level.number < asked.number), None
    )


def beyond(level, primitive, inputs, params, inplace=False):
    """The draw as the levels around this one see it."""
    before, asked.number = asked.number, level.number
    try:
        return primitives.draw(primitive, inputs, params, inplace)
    finally:
        asked.number = before


def decide(primitive, inputs, params, inplace):
    """What vmap makes of a draw; None where its payloads lead to the batching rule below, or there is no vmap."""
    if not levels.stack.levels:
        return None
    level = next_level()
    if level is None:
        return None
    if level.randomness == "error":
        raise RuntimeError(RANDOM)
    if any(is_row(tensor, level) for tensor in inputs):
        return None
    if level.randomness == "same":
        return beyond(level, primitive, inputs, params, inplace)
    if inplace:
        raise RuntimeError(INPLACE)
    if inputs:
        return primitive.apply(tuple(rows(everywhere(tensor, level.size), level) for tensor in inputs), params)
    if primitive is primitives.permutation:
        return rows(beyond(level, permutations, (), (level.size, *params)), level)
    if primitive is permutations:
        size, generator, count, dtype = params
        both = beyond(level, permutations, (), (level.size * size, generator, count, dtype))
        return rows(both.reshape(level.size, size, count), level)
    generator, distribution, shape, *rest = params
    return rows(beyond(level, primitive, (), (generator, distribution, (level.size, *shape), *rest)), level)


primitives.interceptors.append(decide)


def is_row(tensor, level):
    """Whether a tensor has a row for each row of this level."""
    array = tensor._array if isinstance(tensor, Tensor) else None
    while isinstance(array, Payload):
        if array.owner is level:
            return array.batched
        if array.level < level.number:
            return False
        array = array.inside()[0]._array
    return False


def _permutations(size, generator, count, dtype):
    return (
        np.stack([generator.draw("randperm", count, dtype) for _ in range(size)])
        if size
        else np.empty((0, count), dtype)
    )


permutations = Primitive("randperms", _permutations, arity=0, params=("size", "generator", "count", "dtype"))
FILLS = ("uniform_", "normal_", "random_from_to", "random_to", "random_", "bernoulli_", "exponential_", "cauchy_",
         "log_normal_", "geometric_")  # fmt: skip


@rule(*FILLS)
def fill(apply, values, batched, params, size):
    """Fill all rows, or fill one and copy it to all."""
    (x,), level = values, next_level()
    primitive = apply.__self__
    inplace = apply == primitive.rewrite
    if level.randomness == "different":
        return beyond(level, primitive, (x,), params, inplace)
    row = wrap(np.zeros(tuple(x._spec.shape[1:]), x._spec.dtype.numpy))
    row = beyond(level, primitive, (row,), params, True)
    return x.copy_(row) if inplace else everywhere(row, size).clone()


@rule(
    "bernoulli",
    "bernoulli_tensor_",
    "bernoulli_like",
    "normal_mean",
    "normal_std",
    "normal_mean_std",
    "poisson",
    "binomial",
    "_standard_gamma",
    "_sample_dirichlet",
)
def from_parameters(apply, values, batched, params, size):
    """Draw for all rows, each from its own parameters."""
    level, primitive = next_level(), apply.__self__
    if level.randomness == "same":
        if primitive is PRIMITIVES["bernoulli_like"]:
            ones = wrap(np.zeros(tuple(values[0]._spec.shape[1:]), values[0]._spec.dtype.numpy))
            return everywhere(beyond(level, primitive, (ones,), params), size)
        raise RuntimeError(SAME)
    values = lined(all_batched(values, batched, size))
    return beyond(level, primitive, values, params, apply == primitive.rewrite)


def lined(values):
    """All rows of each operand with as many dimensions."""
    rank = max(len(value._spec.shape) for value in values)
    shapes = [tuple(value._spec.shape) for value in values]
    return tuple(
        value if len(shape) == rank else value.reshape((shape[0], *(1,) * (rank - len(shape)), *shape[1:]))
        for value, shape in zip(values, shapes, strict=True)
    )


@rule("multinomial")
def multinomial(apply, values, batched, params, size):
    """Rows of one row of weights are several rows of weights; rows of several are more."""
    (x,), level = values, next_level()
    if level.randomness == "same":
        raise RuntimeError(SAME)
    shape = x._spec.shape
    found = beyond(level, apply.__self__, (x.reshape((-1, shape[-1])) if len(shape) > 2 else x,), params)
    return found.reshape((*shape[:-1], params[0])) if len(shape) > 2 else found
