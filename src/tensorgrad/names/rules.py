"""From the names of the operands to those of the result, one rule a kind of operation. Which operation has which: table.py.

A rule takes a Call and returns the names of the result: a tuple, None (a result without names), a list (one entry for each of
several results), or a function of the result where its number of dimensions decides. Rules raise PyTorch's errors before
anything is computed.
"""

import functools

import numpy as np

from tensorgrad.names.values import UNSUPPORTED, check_distinct, names_of, place_of, shown, strip, unify
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
        found = []
        for value in self.arguments.values():
            found += [v for v in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(v, Tensor)]
        return found

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


def keep(call):
    """The result has the dimensions of the first tensor."""
    return call.own


def merged(call):
    """Pointwise: names are lined up from the right."""
    return functools.reduce(unify, map(names_of, call.tensors()))


def fresh(call):
    """The dimensions of the result are none of the operands'."""
    return None


plain = fresh  # what is returned is no tensor


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


def selected(call):
    return without(call.own, call.dims("dim"))


def unbound(call):
    names = without(call.own, call.dims("dim"))
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


# Products


def product_names(a, b):
    """The names of a @ b: those of the batch unified, the contracted ones gone."""
    if len(a) == 1 and len(b) == 1:
        unify(a, b, "dot")
        return ()
    lead = unify(a[:-2], b[:-2], "matmul") if len(a) > 1 and len(b) > 1 else (a[:-2] if len(b) < 2 else b[:-2])
    return distinct((*lead, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ())), a, b)


OPERANDS = (("input", "a"), ("other", "mat2", "vec", "tensor", "vec2", "b"))


def contracted(call):
    return product_names(call.names("input", "a", "self"), call.names(*OPERANDS[1]))


def contracted_plus(call):
    """input + a @ b."""
    a, b = call.names("batch1", "mat1", "mat", "a"), call.names("batch2", "mat2", "vec", "b")
    names = product_names(a, b)
    return unify(call.own, names[1:] if call.name.startswith("addbmm") else names)


def contracted_all(call):
    return functools.reduce(product_names, map(names_of, call.tensors()))


def outer(call):
    a, b = call.names("input"), call.names("vec2")
    return distinct((*a, *b), a, b)


def outer_plus(call):
    a, b = call.names("vec1", "a"), call.names("vec2", "b")
    return unify(call.own, distinct((*a, *b), a, b))


def inner(call):
    a, b = call.names("input"), call.names("other")
    return distinct((*a[:-1], *b[:-1]), a, b) if a and b else unify(a, b)


def tensordot(call):
    a, b, dims = call.names("a"), call.names("b"), call.get("dims", 2)
    if isinstance(dims, int):
        return distinct((*a[: len(a) - dims], *b[dims:]), a, b)
    left, right = ((d,) if isinstance(d, int) else d for d in dims)
    gone = [{dim_of(d, len(n)) for d in which} for n, which in ((a, left), (b, right))]
    return distinct((*without(a, gone[0]), *without(b, gone[1])), a, b)


def distances(call):
    a, b = call.names("x1"), call.names("x2")
    return distinct((*unify(a[:-2], b[:-2]), a[-2], b[-2]), a, b)


def layer(call):
    """x @ w.T + b: the last dimension becomes that of the outputs, which has the name that the weight gives it."""
    x, w = call.names("input", "x"), call.names("weight", "w")
    return unify(distinct((*x[:-1], *w[:-1]), x, w), call.names("bias", "b"))


def two_layer(call):
    x, w = unify(call.names("input1")[:-1], call.names("input2")[:-1]), call.names("weight")
    return distinct((*x, w[0]), x, w)


def convolved(call):
    """The channels keep their name unless the weight has one for those that come out."""
    x, w = list(call.own), call.names("weight", "w")
    rank = len(w) - 2
    out = w[1] if "transpose" in call.name else w[0]
    if out is not None:
        x[-rank - 1] = out
    return distinct(x, call.own, w)


def looked_up(call):
    """A row of the table for each index."""
    weight, index = call.names("weight"), call.names("input", "indices")
    return distinct((*index, weight[1]), weight, index)


def bags(call):
    names = call.names("input", "indices")
    return (names[0] if len(names) == 2 else None, call.names("weight")[1])


def attended(call):
    query, value = call.names("query"), call.names("value")
    return distinct((*query[:-1], value[-1]), query, value)


# Matrices


def turned(call):
    """An inverse: the last two dimensions change places."""
    return (*call.own[:-2], call.own[-1], call.own[-2])


def matrix_reduced(call):
    return call.own[:-2]


def matrix_reduced_each(call):
    return lambda result: [call.own[:-2]] * len(result)


def solved(call):
    """A x = B: the rows of x are the columns of A."""
    a, b = call.names("A"), call.names("B")
    return distinct((*a[:-2], a[-1], *b[len(a) - 1 :]), a, b) if call.get("left", True) else call.refuse()


def singular(call):
    *lead, rows, columns = call.own
    right = (
        (columns, None)
        if call.function.__module__.endswith("linalg") is False and call.name == "svd"
        else (None, columns)
    )
    return [(*lead, rows, None), (*lead, None), (*lead, *right)]


def spectrum(call):
    return (*call.own[:-2], None)


def eigen(call):
    *lead, rows, _ = call.own
    return [(*lead, None), (*lead, rows, None)]


def orthogonal(call):
    *lead, rows, columns = call.own
    return [(*lead, rows, None), (*lead, None, columns)]


def matrix_normed(call):
    dims = call.dims("dim")
    return call.own if call.get("keepdim") else without(call.own, dims)


# Indexing


def indexed(call):
    """x[...]: an int takes a dimension away, a slice keeps it, None makes one, tensors give those they have."""
    names, index = call.own, call.get("index")
    return index_names(names, index, call.tensors()[0].shape)


def index_names(names, index, shape):
    items = index if type(index) is tuple else (index,)
    if isinstance(index, list):
        items = (
            (wrap(np.asarray(index)),) if not any(isinstance(i, (slice, list, Tensor)) for i in index) else tuple(index)
        )
    used = sum(consumes(i) for i in items)
    out, picks, place, dim = [], [], None, 0
    for position, item in enumerate(items):
        if item is Ellipsis:
            skip = len(names) - used
            out += names[dim : dim + skip]
            dim += skip
        elif item is None or isinstance(item, (bool, np.bool_)):
            out.append(None)
        elif isinstance(item, slice):
            out.append(names[dim])
            dim += 1
        elif isinstance(item, Tensor) and not item._spec.shape and item._spec.dtype.category == 1:
            dim += 1
        elif isinstance(item, (Tensor, list, tuple, np.ndarray)):
            apart = place is not None and picks[-1][0] != position - 1
            place = 0 if apart else len(out) if place is None else place
            wide = consumes(item)
            rank, own = pick(item)
            picks.append(
                (position, own if own is not None else (names[dim] if rank == 1 and wide == 1 else None,) * rank)
            )
            dim += wide
        else:
            dim += 1
    out += names[dim:]
    if picks:
        lead = (None,) * max(len(own) for _, own in picks) if len(picks) > 1 else picks[0][1]
        for _, own in picks if len(picks) > 1 else ():
            lead = unify(lead, own) if all(n not in names for n in own if n) else lead
        out[place:place] = lead
    return tuple(out)


def consumes(item):
    """How many dimensions an item of an index takes."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Tensor) and item._spec.dtype.category == 0:
        return len(item._spec.shape)
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def pick(item):
    """(how many dimensions a picking index gives, its names or None)."""
    if isinstance(item, Tensor):
        if item._spec.dtype.category == 0:
            return 1, None
        return len(item._spec.shape), item._spec.names
    array = np.asarray([strip(i).numpy() if isinstance(i, Tensor) else i for i in item])
    return (1 if array.dtype == bool else array.ndim), None


def assigned(call):
    """x[...] = value: the value's names must go with those of what it replaces."""
    value, target = call.get("value"), call.tensors()[0]
    if isinstance(value, Tensor) and value._spec.names is not None:
        part = index_names(call.own, call.get("index"), target.shape)
        names = names_of(value)
        unify(part, names[len(names) - len(part) :] if len(names) > len(part) else names, "assign")
    return call.own


def refuse(call):
    return call.refuse()


def resolved(value, names):
    """Dimensions by number."""
    if isinstance(value, str):
        return place_of(value, names)
    if isinstance(value, (tuple, list)):
        return type(value)([resolved(v, names) for v in value])
    return value
