"""What reductions share: which dimensions go, the shape with them kept, and a gradient spread over what was reduced."""

import math

from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor, dims_of


def kept(shape, dims):
    """The shape with the reduced dimensions kept as 1."""
    return tuple(1 if i in dims else n for i, n in enumerate(shape))


def without(shape, dims):
    """The shape without the reduced dimensions."""
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def count_along(shape, dims):
    """How many numbers each result of a reduction is made of."""
    return math.prod(shape[d] for d in dims)


def spread(g, x, dims):
    """The gradient of a sum: the same number for all that was summed."""
    return xp.expand(xp.reshape(g, kept(x.shape, dims)) if g.shape else g, x.shape)


def reduced_dims(input, dim, name):
    """The dimensions that a reduction is asked for, counted from the front."""
    check_tensor(name, input)
    if dim is not None and not isinstance(dim, (int, str, tuple, list)) and not hasattr(dim, "__index__"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(input).__name__}, {type(dim).__name__})"
        )
    return dims_of(dim, len(input._spec.shape), name)
