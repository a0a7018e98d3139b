"""The names of products: contracted dimensions go, the others stay. And of the layers and matrices that are made of products."""

import functools

from tensorgrad.names.rules import distinct, without
from tensorgrad.names.values import names_of, one, shown, unify
from tensorgrad.ops.fitting import dim_of


def batch_names(a, b, name):
    """The names of the batch dimensions, all but the last two, lined up from the right."""
    found = []
    for back in range(3, max(len(a), len(b)) + 1):
        x, y = a[-back] if back <= len(a) else None, b[-back] if back <= len(b) else None
        places = [f"{one(n)} (index {len(all) - back} of {shown(all)})" for n, all in ((x, a), (y, b))]
        if x is not None and y is not None and x != y:
            raise RuntimeError(f"{name}: Expected {places[0]} to match {places[1]} but they do not match.")
        for known, other, others, shown_pair in ((x, y, b, places), (y, x, a, places[::-1])):
            if known is not None and other is None and known in others:
                raise RuntimeError(
                    f"{name}: Cannot match {shown_pair[0]} with {shown_pair[1]} because the latter names already have "
                    f"{one(known)}. Are your tensors misaligned?"
                )
        found.append(y if x is None else x)
    return tuple(found[::-1])


def product_names(a, b):
    """The names of a @ b: those of the batch unified, the contracted ones gone."""
    if len(a) == 1 and len(b) == 1:
        return ()
    lead = batch_names(a, b, "matmul") if len(a) > 1 and len(b) > 1 else (a[:-2] if len(b) < 2 else b[:-2])
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
    return distinct((*batch_names(a, b, "cdist"), a[-2], b[-2]), a, b)


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
    query, key, value = (call.names(word) for word in ("query", "key", "value"))
    lead = functools.reduce(unify, (names[:-2] for names in (query, key, value)))
    return distinct((*lead, query[-2], value[-1]), query, value)


def many_heads(call):
    """The dimensions of the query, and for each of its places the weights of those of the key."""
    query, key = call.names("query"), call.names("key")
    source = key[0] if key[0] not in query[:2] else None
    heads = () if call.get("average_attn_weights", True) is not False else (None,)
    return [query, (*query[1:-1], *heads, query[0], source)]


def recurrent(call):
    """Outputs for each step of the input, and states with layers in front."""
    args, names = call.get("args"), call.own
    out = (*names[:-1], None)
    if len(names) < 3:  # packed
        return lambda result: [out, *[None] * (len(result) - 1)]
    batch_first = call.get("batch_first", args[8] if len(args) > 8 else False)
    state = (None, names[0 if batch_first else 1], None)
    return lambda result: [out, *[state] * (len(result) - 1)]


def aligned_loss(call):
    """ctc_loss: one for each sample."""
    names = call.names("log_probs")
    return names[1:-1] if call.get("reduction") in ("none", 0) else ()


def blocks(call):
    """Of all dimensions only the batch is left."""
    names, rank = call.own, len(call.tensors()[0].shape)
    lead = names[:1] if rank == (4 if call.name == "unfold" else 3) else ()
    return lambda result: (*lead, *(None,) * (len(result._spec.shape) - len(lead)))


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


def with_info(rule):
    """The rule of a function that also says for each matrix whether it went well."""
    return lambda call: [rule(call), call.own[:-2]]


def singular(call):
    *lead, rows, columns = call.own
    right = (None, columns) if "full_matrices" in call.arguments else (columns, None)
    return [(*lead, rows, None), (*lead, None), (*lead, *right)]


def factors(call):
    """A matrix of factors, and the pivots or scales of its rows; with _ex also whether it went well."""
    lead = call.own[:-2]
    return [call.own, (*lead, None), *([lead] if call.name.endswith("_ex") else ())]


def lower_upper(call):
    *lead, rows, columns = call.own
    return [(*lead, rows, None), (*lead, None, None), (*lead, None, columns)]


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
