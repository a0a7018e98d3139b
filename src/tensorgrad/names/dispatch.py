"""The one place where operations meet names: take them off, compute, put the names of the rule on."""

import inspect

from tensorgrad.names import rules
from tensorgrad.names.table import DIMS, PRIMITIVES
from tensorgrad.names.values import UNSUPPORTED, Named, checked_out, handle, named, names_of, strip
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.tensor import Tensor


def is_named(value):
    if isinstance(value, Tensor):
        return value._spec.names is not None
    return isinstance(value, (tuple, list)) and any(map(is_named, value))


def speaks(value):
    """Whether an argument tells dimensions by name."""
    return isinstance(value, str) or (isinstance(value, (tuple, list)) and any(map(speaks, value)))


def family(tensor):
    """A tensor, and those that a write to it is told to: its base and all views of that."""
    alias = tensor._alias
    views = () if alias is None else [ref() for ref in alias.version.views]
    base = None if alias is None else alias.base
    return [member for member in (tensor, base, *views) if member is not None]


class Without:
    """`with Without(tensors):` these very objects have no names, nor have their bases and views; afterwards all have theirs."""

    def __init__(self, tensors):
        members = {id(member): member for tensor in tensors for member in family(tensor)}
        self.tensors = [t for t in members.values() if type(t._array) is Named]

    def __enter__(self):
        self.names = [t._spec.names for t in self.tensors]
        for tensor in self.tensors:
            named(tensor, None)

    def __exit__(self, *_):
        for tensor, names in zip(self.tensors, self.names, strict=True):
            if len(names) == len(tensor._spec.shape):
                named(tensor, names)


class Stripped:
    """Arguments without names, and which tensor each stands for; `targets` are stripped elsewhere."""

    def __init__(self, targets=()):
        self.targets, self.originals, self.given = {id(t) for t in targets}, {}, set()

    def of(self, value):
        if isinstance(value, Tensor):
            if type(value._array) is not Named or id(value) in self.targets:
                self.given.add(id(value))
                return value
            twin = strip(value)
            self.originals[id(twin)] = (twin, value)
            return twin
        if type(value) in (tuple, list):
            return type(value)(map(self.of, value))
        if type(value) is dict:
            return {word: self.of(v) for word, v in value.items()}
        return value

    def restored(self, result, names):
        """A result with its names: one of the arguments itself, a view of one, or something new."""
        if id(result) in self.originals:
            original = self.originals[id(result)][1]
            same = tuple(names or (None,) * len(names_of(original))) == names_of(original)
            return original if same else handle(original, names)
        if id(result) in self.given:
            return result if names is None or names_of(result) == tuple(names) else handle(result, names)
        alias = result._alias
        if alias is not None and id(alias.base) in self.originals:
            alias.base = self.originals[id(alias.base)][1]
        return named(result, names)


def finished(result, names, stripped):
    """The result, or all tensors in it, with names: one tuple for all, or a list with an entry for each."""
    if callable(names):
        names = names(result)
    if isinstance(result, Tensor):
        return stripped.restored(result, names)
    if isinstance(result, (tuple, list)):
        names = names if isinstance(names, list) else [names] * len(result)
        parts = [finished(r, n, stripped) for r, n in zip(result, names, strict=True)]
        return type(result)(*parts) if hasattr(type(result), "_fields") else type(result)(parts)
    return result


# Functions and methods


def bind(name, signature, args, kwargs):
    """(bound arguments with dimensions as numbers, the tensors among them, `out`, words that no signature tells)."""
    given = dict(kwargs)
    for numpy_word, word in (("axis", "dim"), ("keepdims", "keepdim")):
        if numpy_word in given and numpy_word not in signature.parameters:
            given[word] = given.pop(numpy_word)
    out = given.pop("out", None)
    more = {"outdim": given.pop("outdim")} if name == "diagonal" and "outdim" in given else {}
    bound = signature.bind(*args, **given)
    tensors = list(rules.tensors_in(bound.arguments.values()))
    if tensors:
        own = names_of(tensors[0])
        for words in (bound.arguments, *(bound.arguments[w] for w in CATCH_ALL if w in bound.arguments)):
            for word in (*DIMS, "args") if name == "flip" else DIMS:
                if word in words and speaks(words[word]):
                    words[word] = rules.resolved(words[word], own)
    return bound, tensors, out, more


CATCH_ALL = ("kwargs", "named")  # what functions call their **words


def call_named(function, name, rule, signature, args, kwargs, inplace=False):
    """Call a function whose operands have names, or which takes dimensions by name."""
    try:
        bound, tensors, out, more = bind(name, signature, args, kwargs)
    except TypeError:  # the function says better what is wrong with its arguments
        return function(*args, **kwargs)
    words = {} if out is None else {"out": out}
    if not more and not is_named((*tensors, out)):  # nothing but a word, of a dimension or not
        return function(*bound.args, **bound.kwargs, **words)
    whole = inspect.BoundArguments(signature, dict(bound.arguments))
    whole.apply_defaults()
    arguments = {**whole.arguments, **more}
    for word in CATCH_ALL:
        arguments.update(arguments.pop(word, ()))
    call = rules.Call(name, arguments, function, whole)
    names = rule(call)
    if isinstance(names, rules.Known):
        return names.value
    inplace = inplace or call.get("inplace") is True
    outs = list(rules.tensors_in((out,)))
    targets = [*(tensors[:1] if inplace else ()), *outs]
    if not callable(names) and (outs or rule is rules.merged):
        check_targets(targets, names)
    stripped = Stripped(targets)
    for word, value in bound.arguments.items():
        bound.arguments[word] = stripped.of(value)
    with Without(targets):
        result = function(*bound.args, **bound.kwargs, **words)
    if not targets:
        return finished(result, names, stripped)
    if callable(names):
        names = names(tensors[0] if inplace else result)
        check_targets(outs, names)
    for position, target in enumerate(targets):
        named(target, names[position] if isinstance(names, list) else names)
    return result


def check_targets(targets, names):
    """Raise if a tensor that is written to has other names than those of the result."""
    for position, target in enumerate(targets):
        checked_out(target, names[position] if isinstance(names, list) else names)


# Primitives


def primitive_rule(primitive):
    """The rule of a primitive: by its kind, or by its name; None if it has none."""
    if isinstance(primitive, Pointwise):
        return rules.merged
    found = PRIMITIVES.get(primitive.name)
    if found is None and primitive.batch == "dims":
        return along
    if found is None and {"dims"} == set(primitive.params) and primitive.view:
        return lambda call: tuple(call.own[d] for d in call.get("dims"))
    return found


def along(call):
    """A primitive with dimensions among its parameters keeps all dimensions, or drops those."""
    names, dims = call.own, call.dims("dims", "dim")

    def finish(result):
        first = result if isinstance(result, Tensor) else result[0]
        lost = len(names) - len(first._spec.shape)
        if lost and lost != len(dims or ()):
            call.refuse()
        kept = rules.without(names, dims) if lost else names
        return kept if isinstance(result, Tensor) else [kept] * len(result)

    return finish


def call_of(primitive, inputs, params):
    words = {"tensors": tuple(inputs)} if primitive.arity is None else dict(zip(primitive.inputs, inputs, strict=False))
    return rules.Call(primitive.name, {**words, **dict(zip(primitive.params, params, strict=False))})


def apply_primitive(primitive, inputs, params):
    """Apply a primitive to operands some of which have names."""
    rule = primitive_rule(primitive)
    if rule is None:
        raise RuntimeError(UNSUPPORTED.format(name=primitive.name))
    names = rule(call_of(primitive, inputs, params))
    stripped = Stripped()
    result = primitive.apply(tuple(stripped.of(t) for t in inputs), params)
    return finished(result, names, stripped)


def write_primitive(primitive, inputs, params):
    """The same in place: what is written to takes the names of the result."""
    target, call = inputs[0], call_of(primitive, inputs, params)
    rule = primitive_rule(primitive)
    if rule is None:
        raise RuntimeError(UNSUPPORTED.format(name=primitive.name + "_"))
    names = rule(call)
    if rule is rules.merged:
        checked_out(target, names)
    stripped = Stripped([target])
    with Without([target]):
        primitive.rewrite((target, *(stripped.of(t) for t in inputs[1:])), params)
    return named(target, names(target) if callable(names) else names)
