"""The one place where operations meet names: take them off, compute, put the names of the rule on.

Two doors lead here. A primitive with a named operand comes from `Primitive.apply` and its relatives. Functions and methods
whose kind has a rule (rules.py) are given a second face, once the first name is used: it takes dimensions by name and hands
the function tensors without names, so that nothing inside has to know of names.
"""

import functools
import importlib
import inspect
import sys

from tensorgrad.names import rules
from tensorgrad.names.values import named, names_of, place_of, plain_spec, strip
from tensorgrad.ops import index, primitive
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.tensor import Tensor

UNSUPPORTED = (
    "aten::{name} is not yet supported with named tensors. Please drop names via `tensor = tensor.rename(None)`, call the op "
    "with an unnamed tensor, and set names on the result of the operation."
)
DIMS = {"dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "source", "destination", "dimension", "axis"}
SPACES = ("", "nn.functional", "linalg", "special", "fft")


class Call:
    """What a rule sees of an operation: its arguments by name, and the names of tensors among them."""

    def __init__(self, name, arguments, first):
        self.name, self.arguments, self.first = name, arguments, first

    def value(self, word, otherwise=None):
        """An argument."""
        return self.arguments.get(word, otherwise)

    def names(self, word):
        """The names of the tensor that is this argument; () if there is none."""
        value = self.arguments.get(word)
        return names_of(value) if isinstance(value, Tensor) else ()

    @property
    def own(self):
        """The names of the first tensor."""
        return names_of(self.first)

    @property
    def ndim(self):
        return len(self.first._spec.shape)

    def dims(self, *words):
        """Dimensions of the first tensor, given by this argument, counted from the front; None where it is not given."""
        value = next((self.arguments[word] for word in words if self.arguments.get(word) is not None), None)
        if value is None or isinstance(value, bool):
            return None
        values = value if isinstance(value, (tuple, list)) else (value,)
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = values[0]
        return tuple(d % self.ndim if self.ndim else 0 for d in values)

    def tensors(self):
        """All tensors among the arguments, in order."""
        found = []
        for value in self.arguments.values():
            found += [v for v in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(v, Tensor)]
        return found

    def refuse(self):
        raise RuntimeError(UNSUPPORTED.format(name=self.name))


def is_named(value):
    if isinstance(value, Tensor):
        return value._spec.names is not None
    return isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) and v._spec.names is not None for v in value)


def speaks(value):
    """Whether an argument tells dimensions by name."""
    return isinstance(value, str) or (isinstance(value, (tuple, list)) and any(map(speaks, value)))


class Stripped:
    """Arguments without names, and which tensor each stands for."""

    def __init__(self):
        self.originals = {}

    def of(self, value):
        if isinstance(value, Tensor):
            if value._spec.names is None:
                return value
            twin = strip(value)
            self.originals[id(twin)] = (twin, value)
            return twin
        if type(value) in (tuple, list):
            return type(value)(map(self.of, value))
        return value

    def restored(self, result, names):
        """A result with its names: one of the arguments itself, a view of one, or something new."""
        known = self.originals.get(id(result))
        if known is not None:
            twin, original = known
            if original._array is not twin._array or original._node is not twin._node:  # written to
                original._array, original._node = twin._array, twin._node
                return named(original, names)
            if tuple(names or (None,) * len(original._spec.shape)) == names_of(original):
                return original
            return named(strip(original), names)
        alias = result._alias
        if alias is not None and alias.base is not None:
            known = self.originals.get(id(alias.base))
            if known is not None:
                alias.base = known[1]
        return named(result, names)


def finished(result, names, stripped):
    """The result, or all tensors in it, with names: one list for all, or a list of lists."""
    if isinstance(result, Tensor):
        return stripped.restored(result, names)
    if isinstance(result, (tuple, list)):
        each = names if isinstance(names, list) else [names] * len(result)
        parts = [finished(r, n, stripped) for r, n in zip(result, each, strict=True)]
        if type(result) in (tuple, list):
            return type(result)(parts)
        return type(result)(parts) if not hasattr(type(result), "_fields") else type(result)(*parts)
    return result


# Functions and methods


def dressed(function, name, rule):
    """The function, with names."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    takes_dims = [word for word in signature.parameters if word in DIMS] or name in rules.BY_NAME

    @functools.wraps(function)
    def call(*args, **kwargs):
        for value in args:
            if is_named(value) or (takes_dims and speaks(value)):
                return call_named(function, name, rule, signature, args, kwargs)
        for value in kwargs.values():
            if is_named(value) or (takes_dims and speaks(value)):
                return call_named(function, name, rule, signature, args, kwargs)
        return function(*args, **kwargs)

    call.with_names = True
    return call


def call_named(function, name, rule, signature, args, kwargs):
    """Call a function whose operands have names, or which takes dimensions by name."""
    special = rules.BY_NAME.get(name)
    if special is not None:
        done = special(function, args, kwargs)
        if done is not NotImplemented:
            return done
    bound = signature.bind(*args, **kwargs)
    first = next(
        (t for v in bound.arguments.values() for t in (v if isinstance(v, (tuple, list)) else (v,)) if isinstance(t, Tensor)),
        None,
    )  # fmt: skip
    if first is None:
        return function(*args, **kwargs)
    for word, value in bound.arguments.items():
        if word in DIMS and speaks(value):
            bound.arguments[word] = resolved(value, names_of(first))
    given = dict(bound.arguments)
    arguments = signature.bind(*bound.args, **bound.kwargs)
    arguments.apply_defaults()
    call = Call(name, dict(arguments.arguments), first)
    if name.endswith("_") and not name.startswith("__"):
        return write_named(call, function, rule, bound)
    out = given.get("out")
    before = rule(call) if getattr(rule, "early", False) else None
    stripped = Stripped()
    for word, value in given.items():
        bound.arguments[word] = stripped.of(value)
    result = function(*bound.args, **bound.kwargs)
    names = before if before is not None else rule(call, result)
    result = finished(result, names, stripped)
    return named(out, names) if isinstance(out, Tensor) and not isinstance(result, tuple) else result


def resolved(value, names):
    """Dimensions by number."""
    if isinstance(value, str):
        return place_of(value, names)
    if isinstance(value, (tuple, list)):
        return tuple(resolved(v, names) for v in value)
    return value


def write_named(call, function, rule, bound):
    """An in-place function: the tensor that is written to keeps its identity, so its names are put aside for a while."""
    target, names = call.first, rule(call, call.first)
    spec, stripped = target._spec, Stripped()
    for word, value in bound.arguments.items():
        bound.arguments[word] = value if value is target else stripped.of(value)
    target._spec = plain_spec(target)
    try:
        result = function(*bound.args, **bound.kwargs)
    except BaseException:
        target._spec = spec
        raise
    target._spec = plain_spec(target)
    named(target, names)
    return result


# Primitives


def named_apply(prim, inputs, params):
    """Apply a primitive to operands some of which have names."""
    rule = rule_of(prim)
    call = call_of(prim, inputs, params)
    if rule is None:
        call.refuse()
    before = rule(call) if getattr(rule, "early", False) else None
    stripped = Stripped()
    result = prim.apply(tuple(stripped.of(t) for t in inputs), params)
    return finished(result, before if before is not None else rule(call, result), stripped)


def named_inplace(prim, inputs, params, compute):
    """The same in place."""
    rule = rules.refined if isinstance(prim, Pointwise) or prim.name in ("copy", "fill") else rules.kept
    target = inputs[0]
    names, spec, stripped = rule(call_of(prim, inputs, params), target), target._spec, Stripped()
    others = tuple(stripped.of(t) for t in inputs[1:])
    target._spec = plain_spec(target)
    try:
        prim.inplace((target, *others), params, compute)
    except BaseException:
        target._spec = spec
        raise
    target._spec = plain_spec(target)
    return named(target, names)


def call_of(prim, inputs, params):
    if prim.arity is None:
        arguments = {"tensors": tuple(inputs)}
    else:
        arguments = dict(zip(prim.inputs, inputs, strict=False))
    arguments.update(zip(prim.params, params, strict=False))
    first = next(t for t in inputs if isinstance(t, Tensor))
    return Call(prim.name.split(".")[0], arguments, first)


def rule_of(prim):
    """The rule of a primitive: by its kind where it is pointwise, else by its name."""
    if isinstance(prim, Pointwise):
        return rules.unified
    return rules.PRIMITIVES.get(prim.name) or rules.RULES.get(prim.name)


# Installing


def install():
    """Give what has a rule its second face; from now on, what is imported later gets it too."""
    primitive.named_apply, primitive.named_inplace = named_apply, named_inplace
    index.dress = dress
    for space in SPACES:
        module = sys.modules.get("tensorgrad" + (f".{space}" if space else ""))
        if module is None:
            continue
        for name, value in list(vars(module).items()):
            if callable(value) and not isinstance(value, type) and not name.startswith("_"):
                face = dress(name, value)
                if face is not value:
                    setattr(module, name, face)
    for owner in Tensor.__mro__[:-1]:
        for name, value in list(vars(owner).items()):
            face = dress(name, value)
            if face is not value:
                setattr(owner, name, face)
    importlib.import_module("tensorgrad.names.methods")


def dress(name, value):
    """The face of a public function, method or property under this name that knows of names."""
    if isinstance(value, property):
        rule = rules.PROPERTIES.get(name)
        if rule is None or getattr(value.fget, "with_names", False):
            return value
        return property(dressed(value.fget, name, rule), value.fset, value.fdel, value.__doc__)
    if isinstance(value, (staticmethod, classmethod, index.LaterMethod)) or getattr(value, "with_names", False):
        return value
    rule = rules.RULES.get(name)
    if rule is None or not callable(value) or getattr(value, "primitive", None) is not None and rule is rules.unified:
        return value
    return dressed(value, name, rule)
