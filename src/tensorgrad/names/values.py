"""What a name is, how names go together, and how a tensor gets and loses its names.

A tensor with names holds a `Named` where others hold their array (see func/levels.py): around a NumPy array, or around the
value of a transform. Names are always outermost. The tape is the tensor's own, as if it had none.
"""

import threading

import numpy as np

from tensorgrad.autograd.views import alias_of
from tensorgrad.func.levels import Payload
from tensorgrad.spec import spec_of
from tensorgrad.tensor import Tensor

ndarray, new = np.ndarray, object.__new__

UNSUPPORTED = (
    "aten::{name} is not yet supported with named tensors. Please drop names via `tensor = tensor.rename(None)`, call the op "
    "with an unnamed tensor, and set names on the result of the operation."
)


# Names


def shown(names):
    """Names as PyTorch's errors spell them: ['N', None]."""
    return "[" + ", ".join(map(one, names)) + "]"


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


def check_names(names, ndim):
    """Names for a tensor of so many dimensions, as a tuple."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise TypeError(
            f"received an invalid combination of arguments: names must be a tuple of strings or None, one for each dimension, "
            f"but got {names!r}"
        )
    names = tuple(map(check_name, names))
    if len(names) != ndim:
        raise RuntimeError(
            f"Number of names ({len(names)}) and number of dimensions in tensor ({ndim}) do not match. Attempted to create a "
            f"tensor with names {shown(names)}"
        )
    check_distinct(names)
    return names


def check_distinct(names):
    known = [name for name in names if name is not None]
    if len(set(known)) != len(known):
        raise RuntimeError(f"Cannot construct a tensor with duplicate names. Got names: {shown(names)}.")


def place_of(name, names):
    """The dimension that has this name."""
    if name is None:
        raise RuntimeError("Please look up dimensions by name, got: name = None.")
    check_name(name)
    if name not in names:
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
    for x, y in zip(left[::-1], right[::-1], strict=True):
        if x is not None and y is not None and x != y:
            raise RuntimeError(
                f"Error when attempting to {action} dims {shown(a)} and dims {shown(b)}: dim {one(x)} and dim {one(y)} are at "
                "the same position from the right but do not match."
            )
        for name, other, others in ((x, y, b), (y, x, a)):
            if name is not None and other is None and name in others:
                raise RuntimeError(
                    f"Misaligned dims when attempting to {action} dims {shown(a)} and dims {shown(b)}: dim {one(name)} appears "
                    "in a different position from the right across both lists.\nBring the dimensions into one order with "
                    "align_to or align_as."
                )
    return tuple(x if y is None else y for x, y in zip(left, right, strict=True))


# Tensors


class Named(Payload):
    """The array of a tensor whose dimensions have names; they are in `spec`."""

    __slots__ = ("array",)

    def __init__(self, array, spec):
        self.array, self.spec, self.level, self.owner = array, spec, float("inf"), None

    flags = property(lambda self: self.array.flags)
    strides = property(lambda self: self.array.strides)

    def apply(self, primitive, inputs, params, inplace=False):
        """A primitive with a named operand: compute without names, and put on those of the primitive's rule."""
        from tensorgrad.names import dispatch

        return (dispatch.write_primitive if inplace else dispatch.apply_primitive)(primitive, inputs, params)

    def apply_function(self, function, inputs):
        raise RuntimeError(UNSUPPORTED.format(name=function.__name__))

    def detach(self, tensor):
        return named(strip(tensor).detach(), self.spec.names)

    def like(self, name, tensor, dtype=None):
        import tensorgrad

        return named(getattr(tensorgrad, name + "_like")(strip(tensor), dtype=dtype), self.spec.names)

    def fresh(self, make, shape):
        return self.array.fresh(make, shape) if isinstance(self.array, Payload) else make(shape)

    @staticmethod
    def store(out, result, operands):
        """Write a result into the tensor given as `out=`, where one of them has names."""
        from tensorgrad.names.dispatch import Without
        from tensorgrad.ops.fitting import store

        names = checked_out(out, result._spec.names)
        with Without([out]):
            store(out, strip(result), [strip(t) if isinstance(t, Tensor) else t for t in operands])
        return named(out, names)

    def inside(self):
        """The tensors in this payload."""
        return self.array.inside() if isinstance(self.array, Payload) else ()

    def plain(self, tensor):
        return tensor

    def viewable(self, shape):
        from tensorgrad.ops.shape import viewable

        return viewable(self.array, shape)

    def numpy(self, tensor=None):
        return self.array if type(self.array) is ndarray else self.array.numpy(tensor)

    def tolist(self):
        return (self.array if type(self.array) is not ndarray else unnamed(self)).tolist()

    def item(self):
        return unnamed(self).item()

    def truth(self):
        return bool(unnamed(self))

    def dynamic(self, name):
        raise RuntimeError(UNSUPPORTED.format(name=name))

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)

    def show(self, tensor):
        """The text of a tensor inside a transform."""
        text = self.array.show(strip(tensor))[:-1]
        return (
            f"{text[:-1]},\n    names={self.spec.names}\n)"
            if text.endswith("\n")
            else f"{text}, names={self.spec.names})"
        )

    def no_numbers(self):
        return RuntimeError(UNSUPPORTED.format(name="data_ptr"))


def unnamed(payload):
    """A tensor around what a Named holds."""
    tensor = new(Tensor)
    tensor._array, tensor._node, tensor._alias = payload.array, None, None
    tensor._spec = plain_spec(payload.array)
    return tensor


def names_of(tensor):
    """The names of all dimensions of a tensor, None for those that have none."""
    names = tensor._spec.names
    return (None,) * len(tensor._spec.shape) if names is None else names


def plain_spec(array, inference=False):
    """The Spec of a tensor without names that holds this array."""
    spec = spec_of(array) if type(array) is ndarray else array.spec
    return spec.variant(inference=True) if inference and not spec.inference else spec


def named(tensor, names):
    """Give a tensor names (taken as checked), or none, in place; returns it."""
    array, inference = tensor._array, tensor._spec.inference
    has = type(array) is Named
    if has:
        array = array.array
    elif names is None:
        return tensor
    spec = plain_spec(array, inference)
    if names is not None and any(name is not None for name in names):
        if len(names) != len(spec.shape):
            raise RuntimeError(f"names {shown(names)} do not fit a result of {len(spec.shape)} dimensions")
        use_names()
        spec = spec.variant(inference=spec.inference, transformed=True, names=tuple(names))
        array = Named(array, spec)
    tensor._array, tensor._spec = array, spec
    return tensor


def strip(tensor):
    """The tensor without names: another handle on the same memory, graph and version."""
    array = tensor._array
    if type(array) is not Named:
        return tensor
    twin = new(Tensor)
    twin._array, twin._spec = array.array, plain_spec(array.array, tensor._spec.inference)
    twin._node, twin._alias = tensor._node, alias_of(tensor)
    return twin


def handle(tensor, names):
    """Another handle on the same memory, graph and version, with these names."""
    tensor = strip(tensor)
    twin = new(Tensor)
    twin._array, twin._spec, twin._node, twin._alias = tensor._array, tensor._spec, tensor._node, alias_of(tensor)
    return named(twin, names)


def checked_out(out, names):
    """The names that a tensor given as `out=` gets: those of the result, which its own must be if it has any."""
    own = out._spec.names
    names = (None,) * len(out._spec.shape) if names is None else tuple(names)
    if own is not None and own != names:
        raise RuntimeError(
            f"Name mismatch: specified out tensor with names {shown(own)} are not the same as the computed output names "
            f"{shown(names)}. Please rename the out tensor's dims with `Tensor.rename`."
        )
    return names


_in_use, _beginning = False, threading.Lock()


def use_names():
    """From the first name on, functions take dimensions by name; other threads wait until they do."""
    global _in_use
    if not _in_use:
        from tensorgrad.names.faces import install

        with _beginning:
            if not _in_use:
                install()
                _in_use = True
