"""Arguments that are numbers: taken as PyTorch takes them, refused in its words."""

import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting


def wrong_type(name, argument, position, expected, value):
    """The TypeError for an argument of a wrong type."""
    found = fitting.kind_name(value)
    return TypeError(f"{name}(): argument '{argument}' (position {position}) must be {expected}, not {found}")


def float_argument(name, argument, position, value):
    """A number, or a tensor of one that has no gradient, where PyTorch takes a float."""
    if isinstance(value, fitting.Tensor) and not value._spec.shape and value._node is None:
        value = value.item()
    if not fitting.is_number(value) or isinstance(value, complex):
        raise wrong_type(name, argument, position, "float", value)
    return value


def is_int(value):
    """Whether PyTorch takes a value for an int."""
    if isinstance(value, fitting.Tensor):
        return value._spec.size == 1 and value._spec.dtype.category == dtypes.INTEGER
    return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_))


def int_argument(name, argument, position, value):
    """A whole number, where PyTorch takes an int."""
    if not is_int(value):
        raise wrong_type(name, argument, position, "int", value)
    return operator.index(value)


def no_such_call(name, args, kwargs, *forms):
    """The TypeError for arguments that fit none of a function's forms."""
    got = [fitting.kind_name(arg) for arg in args]
    got += [f"{key}={fitting.kind_name(arg)}" for key, arg in kwargs.items()]
    lines = "".join(f"\n * ({form})" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(got)}), but expected one of:{lines}\n"
    )
