"""From the names of the operands to those of the result, one rule a kind of operation. Which operation has which: table.py.

A rule takes a Call and returns the names of the result: a tuple, None (a result without names), a list (one entry for each of
several results), or a function of the result where its number of dimensions decides. Rules raise PyTorch's errors before
anything is computed.
"""

import functools

import numpy as np

from tensorgrad.dtypes import dtype
from tensorgrad.names.values import UNSUPPORTED, check_distinct, names_of, place_of, shown, unify
from tensorgrad.ops.fitting import dim_of
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor


class Call:
    """What a rule sees of an operation: its arguments by name, with dimensions as numbers, and the names of tensors."""

    def __init__(self, name, arguments, function=None, bound=None):
        self.name, self.arguments, self.function, self.bound = name, arguments, function, bound

    def get(self, word, otherwise=None):
        """An argument."""
        value = self.arguments.get(word)
        return otherwise if value is None else value

    def names(self, *words):
        """The names of the tensor that is this argument (the first of these there is); () without one."""
        for word in words:
            value = self.arguments.get(word)
            if isinstance(value, Tensor):
                return names_of(value)
        return ()

    def tensors(self):
        """All tensors among the arguments, in order; those in lists too."""
        return list(tensors_in(self.arguments.values()))

    @functools.cached_property
    def own(self):
        """The names of the first tensor."""
        return names_of(self.tensors()[0])

    def dims(self, *words):
        """The dimensions that an argument tells, counted from the front; None if it tells none."""
        value = next((self.arguments[w] for w in words if self.arguments.get(w) is not None), None)
        if value is None or isinstance(value, (bool, Tensor)):
            return None
        values = value if isinstance(value, (tuple, list)) else (value,)
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = values[0]
        return tuple(dim_of(d, len(self.own)) for d in values)

    def refuse(self):
        raise RuntimeError(UNSUPPORTED.format(name=self.name))


def tensors_in(values):
    """All tensors among values and in lists of them, in order."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from tensors_in(value)


def distinct(names, *operands):
    """The names of a product, which must differ."""
    known = [name for name in names if name is not None]
    if len(set(known)) != len(known):
        raise RuntimeError(
            f"Matrix multiplying Tensor{shown(operands[0])} with Tensor{shown(operands[1])} would produce output tensor with "
            f"duplicate names {shown(names)}. Please rename the input tensors with `Tensor.rename` to prevent this."
        )
    return tuple(names)


# The same dimensions


def same_names(call):
    """Whether tensors are equal says their names too; nothing is computed where those differ."""
    a, b = map(names_of, call.tensors()[:2])
    return None if a == b else Known(False)


class Known:
    """The result of a function that need not be computed."""

    def __init__(self, value):
        self.value = value


def keep(call):
    """The result has the dimensions of the first tensor."""
    return call.own


def merged(call):
    """Pointwise: names are lined up from the right."""
    return functools.reduce(unify, map(names_of, call.tensors()))


def copied(call):
    """A new tensor of another, with its names."""
    names = tuple(call.get("names") or call.own)
    if names != call.own and any(name is not None for name in call.own):
        raise RuntimeError(
            f"Name mismatch: specified out tensor with names {shown(call.own)} are not the same as the computed output names "
            f"{shown(names)}. Please rename the out tensor's dims with `Tensor.rename`."
        )
    return names


def chosen(call):
    """where: of a condition alone, the places at which it holds."""
    return merged(call) if len(call.tensors()) > 1 or call.get("input") is not None else None


def scattered(call):
    """masked_scatter: the mask may have more dimensions."""
    return unify(call.own, call.names("mask"))


def with_statistics(call):
    """A normalized tensor, and what it was normalized by."""
    return lambda result: [call.own, *[None] * (len(result) - 1)]


def drawn(call):
    """multinomial: samples for each row."""
    return (*call.own[:-1], None)


def fresh(call):
    """The dimensions of the result are none of the operands'."""
    return None


plain = fresh  # what is returned is no tensor


def picked(call):
    """Elements that a mask picks: the names of both must go together, but nothing is left of them."""
    merged(call)


def each(call):
    """Every tensor among several keeps its names."""
    return [names_of(t) for t in call.tensors()]


def each_merged(call):
    names = merged(call)
    return lambda result: [names] * len(result)


def per_element(call):
    """A loss for each element, or one number for all."""
    names = functools.reduce(unify, (call.names(w) for w in ("input", "target", "input1", "input2", "x", "a", "b")))
    return names if call.get("reduction") in ("none", 0) and call.get("reduce") is not True else ()


def per_sample(call):
    """The same for a loss whose classes, dimension 1 (or the only one), are gone from the result."""
    names = call.names("input", "x")
    kept = () if len(names) < 2 else (names[0], *names[2:])
    target = call.get("target")
    unify(names if isinstance(target, Tensor) and len(target.shape) == len(names) else kept, call.names("target"))
    return kept if call.get("reduction") in ("none", 0) else ()


def per_row(call):
    """A loss for each row."""
    names = functools.reduce(
        unify, (call.names(w) for w in ("input", "anchor", "positive", "negative", "input1", "input2"))
    )
    return names[:-1] if call.get("reduction") == "none" else ()


# Fewer dimensions


def without(names, dims):
    return tuple(name for i, name in enumerate(names) if i not in dims)


def dropped(call):
    """Reductions."""
    if isinstance(call.get("dim"), Tensor) or call.get("other") is not None:  # the larger of two
        return merged(call)
    dims = call.dims("dim", "dims", "axis")
    if not dims:
        dims = tuple(range(len(call.own)))
    return call.own if call.get("keepdim") else without(call.own, dims)


def dropped_each(call):
    """Reductions with several results."""
    names = dropped(call)
    return lambda result: [names] * len(result) if isinstance(result, tuple) else names


def quantiles(call):
    """A reduction with a result for each of several quantiles."""
    q = call.get("q")
    lead = (None,) if isinstance(q, Tensor) and q.shape else ()
    return (*lead, *dropped(call))


def row_reduced(call):
    """Two operands, of which the last dimension (or `dim`) goes."""
    names = merged(call)
    dim = dim_of(call.get("dim", -1), len(names))
    return names if call.get("keepdim") else without(names, (dim,))


def scalar(call):
    return ()


def the_dim(call):
    dims = call.dims("dim")
    if dims is None:
        raise RuntimeError("Please look up dimensions by name, got: name = None.")
    return dims


def selected(call):
    return without(call.own, the_dim(call))


def unbound(call):
    names = without(call.own, the_dim(call))
    return lambda result: [names] * len(result)


def squeezed(call):
    shape = call.tensors()[0].shape
    dims = call.dims("dim")
    gone = [i for i, n in enumerate(shape) if n == 1 and (dims is None or i in dims)]
    return without(call.own, gone)


def diagonal(call):
    names, (a,), (b,) = call.own, call.dims("dim1"), call.dims("dim2")
    return (*without(names, (a, b)), call.get("outdim"))


# More and other dimensions


def unsqueezed(call):
    names = list(call.own)
    names.insert(dim_of(call.get("dim"), len(names) + 1), None)
    return tuple(names)


def split(call):
    return lambda result: [call.own] * len(result)


def by_probe(call):
    """Dimensions in another order: the function is asked where it puts those of an empty tensor."""
    names = call.own
    sizes = tuple(range(2, len(names) + 2))
    probe = wrap(np.broadcast_to(np.float32(0), sizes))
    bound = call.bound
    for word, value in bound.arguments.items():
        bound.arguments[word] = probe if isinstance(value, Tensor) else value
    return tuple(names[n - 2] for n in call.function(*bound.args, **bound.kwargs)._spec.shape)


def rotated(call):
    names, (a, b) = list(call.own), call.dims("dims")
    if call.get("k", 1) % 2:
        names[a], names[b] = names[b], names[a]
    return tuple(names)


def expanded(call):
    """New dimensions in front."""
    names = call.own
    return lambda result: (None,) * (len(result._spec.shape) - len(names)) + names


def expanded_as(call):
    return unify(call.own, call.names("other"))


def joined(call):
    """cat: all have the same dimensions."""
    return functools.reduce(
        lambda a, b: unify(a, b, "cat"), (names_of(t) for t in call.tensors() if t.shape != (0,)), ()
    )


def stacked(call):
    names = list(functools.reduce(lambda a, b: unify(a, b, "stack"), map(names_of, call.tensors())))
    names.insert(dim_of(call.get("dim", 0), len(names) + 1), None)
    return tuple(names)


def at_least(rank, names):
    """The names of a tensor that gets at least so many dimensions."""
    missing = rank - len(names)
    if missing <= 0:
        return names
    if rank == 3:
        return (None, *names, None) if len(names) == 1 else (*names, None) if names else (None,) * 3
    return (None,) * missing + tuple(names)


def widened(call):
    """atleast_2d and its like, of one tensor or of several."""
    rank, tensors = int(call.name[-2]), call.tensors()
    names = [at_least(rank, names_of(t)) for t in tensors]
    return lambda result: names[0] if isinstance(result, Tensor) else names


def piled(call):
    """hstack and its like: cat of tensors with at least so many dimensions."""
    rank = {"hstack": 1, "dstack": 3}.get(call.name, 2)
    parts = [names_of(t) for t in call.tensors()]
    if call.name == "column_stack":
        parts = [(*names, None) if len(names) == 1 else names for names in parts]
    return functools.reduce(lambda a, b: unify(a, b, "cat"), (at_least(rank, names) for names in parts))


def resized(call):
    """resize_: names allow no other size."""
    sizes, old = call.get("sizes", ()), call.tensors()[0].shape
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else tuple(sizes)
    if sizes != tuple(old):
        raise RuntimeError(
            f"Cannot resize named tensor with resize_ or resize_as_ (tried to resize Tensor{shown(call.own)} with size "
            f"{list(old)} to {list(sizes)}). This may be caused by passing a named tensor as an `out=` argument; please ensure "
            "that the sizes are the same. "
        )
    return call.own


def reshaped(call):
    """view(dtype) keeps the dimensions, and so does the shape that is there already; another one says nothing of them."""
    shape, old = call.get("shape", ()), call.tensors()[0].shape
    if len(shape) == 1 and isinstance(shape[0], dtype):
        return call.own
    return lambda result: call.own if result.shape == old else call.refuse()


def flattened(call):
    names = call.own
    (first,), (last,) = call.dims("start_dim") or (0,), call.dims("end_dim") or (len(names) - 1,)
    if first >= last:
        return names or (None,)
    return (*names[:first], None, *names[last + 1 :])


def unflattened(call):
    names, (dim,) = call.own, call.dims("dim")
    sizes = call.get("sizes")
    count = len(sizes) if isinstance(sizes, (tuple, list)) else 1
    return (*names[:dim], *(None,) * count, *names[dim + 1 :])


def one_more(call):
    return (*call.own, None)


def on_diagonals(call):
    """The last dimension becomes the diagonal of two new ones."""
    standard = call.get("dim1") == -2 and call.get("dim2") == -1
    return (*call.own[:-1], None, None) if standard else call.refuse()


def one_less(call):
    return call.own[:-1]


def flat_or_kept(call):
    """Along a dimension the dimensions stay; without one the result is flat."""
    return call.own if call.get("dim") is not None else (None,)


def gathered(call):
    return unify(call.own, call.names("index", "indices")) if call.get("dim") is not None else None


def grid(call):
    """meshgrid: each line gives a dimension."""
    names = [n[0] if n else None for n in map(names_of, call.tensors())]
    if call.get("indexing") == "xy" and len(names) > 1:
        names[:2] = names[1::-1]
    check_distinct(names)
    return lambda result: [tuple(names)] * len(result)


def like_index(call):
    """One element for each index."""
    return call.names("index")


def searched(call):
    return call.names("input")


# Neither


def refuse(call):
    return call.refuse()


def resolved(value, names):
    """Dimensions by number."""
    if isinstance(value, str):
        return place_of(value, names)
    if isinstance(value, (tuple, list)):
        return type(value)([place_of(v, names) if v is None else resolved(v, names) for v in value])
    return value
