"""What a name is, how names go together, and how a tensor gets and loses its names."""

import numpy as np

from tensorgrad.autograd.views import alias_of
from tensorgrad.spec import spec_of
from tensorgrad.tensor import Tensor

ndarray, new = np.ndarray, object.__new__


# Names


def shown(names):
    """Names as PyTorch's errors spell them: ['N', None]."""
    return "[" + ", ".join("None" if name is None else f"'{name}'" for name in names) + "]"


def one(name):
    return "None" if name is None else f"'{name}'"


def check_name(name):
    """A name, or None."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise TypeError(f"names must be strings or None, but got {type(name).__name__}: {name!r}")
    if not name.isidentifier() or not name.isascii():
        raise RuntimeError(
            "Invalid name: a valid identifier contains only digits, alphabetical characters, and/or underscore and starts with "
            f"a non-digit. got: '{name}'."
        )
    return name


def check_names(names, ndim=None):
    """Names for a tensor of so many dimensions, as a tuple; None for none at all."""
    if names is None:
        return None
    if isinstance(names, str):
        names = (names,)
    names = tuple(map(check_name, names))
    if ndim is not None and len(names) != ndim:
        raise RuntimeError(
            f"Number of names ({len(names)}) and number of dimensions in tensor ({ndim}) do not match. Attempted to create a "
            f"tensor with names {shown(names)}."
        )
    check_distinct(names)
    return names if any(name is not None for name in names) else None


def check_distinct(names):
    known = [name for name in names if name is not None]
    if len(set(known)) != len(known):
        raise RuntimeError(f"Cannot construct a tensor with duplicate names. Got names: {shown(names)}.")


def place_of(name, names):
    """The dimension that has this name."""
    if name is None:
        raise RuntimeError("Please look up dimensions by name, got: name = None.")
    if name not in names:
        check_name(name)
        raise RuntimeError(f"Name '{name}' not found in Tensor{shown(names)}.")
    return names.index(name)


def unify(a, b, action="broadcast"):
    """The names of dimensions that are lined up from the right: None goes with any name, two names must be equal.

    >>> from tensorgrad.names import unify
    >>> unify(("N", None), ("D",))
    ('N', 'D')
    """
    length = max(len(a), len(b))
    left, right = (None,) * (length - len(a)) + tuple(a), (None,) * (length - len(b)) + tuple(b)
    result = []
    for x, y in zip(left, right, strict=True):
        if x is not None and y is not None and x != y:
            raise RuntimeError(
                f"Error when attempting to {action} dims {shown(a)} and dims {shown(b)}: dim {one(x)} and dim {one(y)} are at "
                "the same position from the right but do not match."
            )
        result.append(x if y is None else y)
    for place, (x, y) in enumerate(zip(left, right, strict=True)):
        for name, others in ((x, right), (y, left)):
            if name is not None and name in others and others.index(name) != place:
                raise RuntimeError(
                    f"Misaligned dims when attempting to {action} dims {shown(a)} and dims {shown(b)}: dim {one(name)} appears "
                    "in a different position from the right across both lists.\nPut the dimensions in one order with align_to "
                    "or align_as."
                )
    return tuple(result)


# Tensors


def names_of(tensor):
    """The names of all dimensions of a tensor, None for those that have none."""
    names = tensor._spec.names
    return (None,) * len(tensor._spec.shape) if names is None else names


def plain_spec(tensor):
    """The Spec of a tensor without names."""
    array, spec = tensor._array, tensor._spec
    plain = spec_of(array) if type(array) is ndarray else array.spec
    return plain.variant(inference=True) if spec.inference and not plain.inference else plain


def spec_with(plain, names):
    """The Spec of a tensor with these names."""
    if names is None or not any(name is not None for name in names):
        return plain
    return plain.variant(inference=plain.inference, transformed=True, names=tuple(names))


def named(tensor, names):
    """Give a tensor names, in place (they are taken as checked); returns it."""
    if names is not None or tensor._spec.names is not None:
        tensor._spec = spec_with(plain_spec(tensor), names)
    return tensor


def strip(tensor):
    """The tensor without names: another handle on the same memory, graph and version."""
    if tensor._spec.names is None:
        return tensor
    twin = new(Tensor)
    twin._array, twin._spec, twin._node, twin._alias = tensor._array, plain_spec(tensor), tensor._node, alias_of(tensor)
    return twin
