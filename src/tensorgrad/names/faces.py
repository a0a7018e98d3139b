"""Public functions and methods that take dimensions by name and tensors with names: their second face.

They get it when the first name is used. Until then a program pays nothing for names, not even an import; and pointwise
operations, the hot path, never get one: a tensor with names is off their fast path anyway, like the value of a transform.
"""

import functools
import importlib
import inspect
import sys

from tensorgrad.names.dispatch import call_named, is_named, speaks
from tensorgrad.names.table import DIMS, rule_of
from tensorgrad.ops import index
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor

ROOMS = ("", "nn.functional", "linalg", "fft", "special", "masked")
WHOLE = {
    "flatten": "methods",
    "unflatten": "methods",
    "einsum": "einsum",
    "tensordot": "einsum",
}  # functions that have forms of their own for names
SEVERAL = (tuple, list, str, Size)
_faces = {}  # (id of a function, rule, whether it writes in place) -> (function, its face)


def face(function, name, room=""):
    """The function as it is called when names are in use; itself if they are none of its business."""
    inplace = name.endswith("_") and not name.endswith("__")
    rule = rule_of(name, room) or (rule_of(name.removesuffix("_"), room) if inplace else None)
    if name in ("__setitem__", "__matmul__", "__rmatmul__"):
        inplace = name == "__setitem__"
    if (rule is None and name not in WHOLE) or getattr(function, "takes_names", False):
        return function
    key = id(function), rule, inplace
    if key in _faces:
        return _faces[key][1]
    signature = signature_of(function, name)
    words = {p.name for p in signature.parameters.values()}
    by_name = bool(words & set(DIMS)) or "kwargs" in words or "named" in words or name in ("size", "stride", "einsum")
    whole = WHOLE.get(name)
    if whole is not None:
        whole = getattr(importlib.import_module("tensorgrad.names." + whole), name)

    def with_names(args, kwargs):
        result = NotImplemented if whole is None else whole(function, *args, **kwargs)
        return (
            call_named(function, name, rule, signature, args, kwargs, inplace) if result is NotImplemented else result
        )

    @functools.wraps(function)
    def call(*args, **kwargs):
        for value in args:
            if isinstance(value, Tensor):
                if value._spec.names is None:
                    continue
            elif type(value) not in SEVERAL or not (is_named(value) or (by_name and speaks(value))):
                continue
            return with_names(args, kwargs)
        for word, value in kwargs.items():
            if is_named(value) or (word in DIMS and speaks(value)):
                return with_names(args, kwargs)
        return function(*args, **kwargs)

    call.takes_names = True
    family = vars(sys.modules.get(function.__module__, object))
    if family.get(function.__name__) is function:  # where pickles look for it
        family[function.__name__] = call
    _faces[key] = (function, call)
    return call


def signature_of(function, name):
    """The signature of a function; one that takes anything is a form of another: `squeeze_`, `squeeze_copy`."""
    signature = inspect.signature(function)
    base = name.removesuffix("_copy").removesuffix("_")
    if "args" in signature.parameters and base != name:
        other = getattr(sys.modules["tensorgrad"], base, None)
        if inspect.isfunction(other):
            return inspect.signature(other)
    return signature


class LaterFace:
    """A method whose family is not imported yet: it gets its face when it is."""

    def __init__(self, later):
        self.later = later

    def __get__(self, tensor, owner):
        name = self.later.name
        setattr(index.LaterMixin, name, with_face(name, self.later.found()))
        return getattr(owner if tensor is None else tensor, name)


def with_face(name, value):
    """A member of Tensor, with its face if it has one."""
    if isinstance(value, property):
        getter = face(value.fget, name)
        return value if getter is value.fget else property(getter, value.fset, value.fdel, value.__doc__)
    if isinstance(value, index.LaterMethod):
        return LaterFace(value)
    if inspect.isfunction(value):
        return face(value, name)
    return value


def install():
    """Give every function and method that has a rule its second face."""
    find = index.find

    def find_with_face(room, name):
        value = find(room, name)
        return face(value, name, room) if inspect.isfunction(value) else value

    for room in ROOMS:
        module = sys.modules.get("tensorgrad" + (f".{room}" if room else ""))
        for name, value in list(vars(module).items()) if module is not None else ():
            if inspect.isfunction(value) and value.__module__.startswith("tensorgrad.ops"):
                setattr(module, name, face(value, name, room))
    index.find = find_with_face
    sys.modules["tensorgrad"]._find = find_with_face
    for owner in Tensor.__mro__[:-1]:
        for name, value in list(vars(owner).items()):
            faced = with_face(name, value)
            if faced is not value:
                setattr(owner, name, faced)
    importlib.import_module("tensorgrad.names.differentiation").install()
    known = {key[0]: faced for key, (_, faced) in _faces.items()}
    known[id(find)] = find_with_face
    for module_name, module in list(sys.modules.items()):  # what others imported by name before
        if module is not None and not module_name.startswith("tensorgrad.names"):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                faced = known.get(id(value))
                if faced is not None and inspect.isfunction(value) and module is not index:
                    module.__dict__[name] = faced
