"""Names through transforms: a transform sees tensors without names, the function that it transforms sees them with names.

A `Border` stands around that function. It takes the names off what goes into a transform, puts them on inside, takes them off
what the function returns, and says what names the results of the transform have.
"""

import functools

from tensorgrad.names.values import check_distinct, handle, names_of, place_of, strip, unify
from tensorgrad.ops.fitting import dim_of
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten


def own_names(leaf):
    return leaf._spec.names if isinstance(leaf, Tensor) else None


def bare(tree):
    """Without names."""
    return tree_map(lambda leaf: strip(leaf) if isinstance(leaf, Tensor) else leaf, tree)


def dressed(tree, names):
    """With names, one tuple (or None) for each leaf."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([put_on(leaf, n) for leaf, n in zip(leaves, names, strict=True)], spec)


def put_on(leaf, names):
    if names is None or not isinstance(leaf, Tensor):
        return leaf
    return handle(leaf, names)


class Border:
    """A function whose arguments and results have names inside and none outside."""

    def __init__(self, func, args, kwargs=None):
        self.inputs = [own_names(leaf) for leaf in tree_flatten(args)[0]]
        self.words = [own_names(leaf) for leaf in tree_flatten(kwargs or {})[0]]
        self.args, self.kwargs = bare(args), bare(kwargs or {})
        self.outputs = []

        @functools.wraps(func, updated=())
        def inner(*args, **kwargs):
            result = func(*dressed(args, self.inputs), **dressed(kwargs, self.words))
            leaves, spec = tree_flatten(result)
            self.outputs = [own_names(leaf) for leaf in leaves]
            return tree_unflatten([strip(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves], spec)

        inner.border = self
        self.inner = inner


def matched(tree, names, what):
    """Tangents or gradients without names; those that they have must go with those of what they belong to."""
    leaves, spec = tree_flatten(tree)
    if len(leaves) == len(names):
        for leaf, own in zip(leaves, names, strict=True):
            if own_names(leaf) is not None and own is not None:
                unify(own, leaf._spec.names, f"match {what}")
    return tree_unflatten([strip(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves], spec)


# vmap


def vmap(run, func, in_dims, out_dims, args, kwargs):
    """vmap, whose dimensions may be told by name (of all arguments that have it, or of each); a row has the other names."""
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec) if not isinstance(in_dims, (int, str)) else [in_dims] * len(leaves)
    border, mapped = Border(func, args, kwargs), None
    if dims is None or not isinstance(in_dims, (int, str, tuple)):  # reported there
        return run(border.inner, in_dims, out_dims)(*border.args, **border.kwargs)
    found = (
        [isinstance(leaf, Tensor) and in_dims in names_of(leaf) for leaf in leaves] if isinstance(in_dims, str) else ()
    )
    if any(found):  # one name for all: what has no such dimension is the same for all rows
        dims = [in_dims if has else None for has in found]
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None or not isinstance(leaf, Tensor):
            continue
        names = names_of(leaf)
        if isinstance(dim, str):
            dims[i] = dim = place_of(dim, names)
        if isinstance(dim, int) and -len(names) <= dim < len(names):
            dim %= len(names)
            mapped = mapped or names[dim]
            rest = (*names[:dim], *names[dim + 1 :])
            border.inputs[i] = rest if any(name is not None for name in rest) else None
    places = []

    def inner(*args, **kwargs):
        result = border.inner(*args, **kwargs)
        found, structure = tree_flatten(result)
        spread = [out_dims] * len(found) if isinstance(out_dims, (int, str)) else None
        spread = spread or _broadcast_to_and_flatten(out_dims, structure) or [0] * len(found)
        places[:] = [0 if isinstance(place, str) else place for place in spread]
        return result

    inner.border = border
    functools.update_wrapper(inner, func, updated=())
    name = next((place for place in tree_flatten(out_dims)[0] if isinstance(place, str)), mapped)
    outs = tree_map(lambda place: 0 if isinstance(place, str) else place, out_dims)
    result = run(inner, tuple(tree_unflatten(dims, spec)), outs)(*border.args, **border.kwargs)
    found, _ = tree_flatten(result)
    names = []
    for leaf, own, place in zip(found, border.outputs, places, strict=True):
        whole = list(own or ())
        if isinstance(leaf, Tensor) and place is not None:
            rank = len(leaf._spec.shape)
            whole = whole or [None] * (rank - 1)
            whole.insert(dim_of(place, rank), None if name in whole else name)
        names.append(tuple(whole) if any(n is not None for n in whole) else None)
    return dressed(result, names)


# Reverse and forward mode


def grad_and_value(run, func, argnums, args, kwargs):
    """A gradient has the names of its argument."""
    border = Border(func, args, kwargs)
    gradient, value = run(border.inner)(*border.args, **border.kwargs)
    return dressed(gradient, input_names(args, argnums)), dressed(value, border.outputs)


def input_names(args, argnums):
    from tensorgrad.func.reverse import chosen

    return [own_names(leaf) for leaf in tree_flatten(args if argnums is None else chosen(args, argnums))[0]]


def vjp(run, func, argnums, has_aux, args):
    border = Border(func, args)
    output, pull_back, *aux = run(border.inner, border.args)
    inputs, count = input_names(args, argnums), len(tree_flatten(output)[0])

    def named_pull_back(cotangents, **options):
        gradients = pull_back(matched(cotangents, border.outputs[:count], "gradient"), **options)
        return dressed(gradients, inputs)

    results = (dressed(output, border.outputs[:count]), named_pull_back)
    return (*results, dressed(aux[0], border.outputs[count:])) if has_aux else results


def jvp(run, func, argnums, args, tangents):
    border = Border(func, args)
    tangents = matched(tangents, input_names(args, argnums), "tangent")
    value, moved, *aux = run(border.inner, border.args, tangents)
    count = len(tree_flatten(value)[0])
    results = (dressed(value, border.outputs[:count]), dressed(moved, border.outputs[:count]))
    return (*results, dressed(aux[0], border.outputs[count:])) if aux else results


# Jacobians


def both_sides(rows, columns, leaf):
    """The names of a Jacobian: those of the result, then those of the argument, `d_` before one that is there already."""
    if rows is None and columns is None:
        return None
    rank = len(leaf._spec.shape)
    rows = tuple(rows or (None,) * (rank - len(columns or ())))
    names = list(rows)
    for name in columns or (None,) * (rank - len(rows)):
        while name is not None and name in names:
            name = "d_" + name
        names.append(name)
    check_distinct(names)
    return tuple(names)


def jacobian(run, func, argnums, has_aux, args):
    border = Border(func, args)
    result = run(border.inner)(*border.args)
    aux = ()
    if has_aux:
        result, aux = result
    blocks = tree_flatten(result)[0]
    inputs = input_names(args, argnums)
    rows = len(blocks) // len(inputs)
    pairs = [(out, own) for out in border.outputs[:rows] for own in inputs]
    result = dressed(result, [both_sides(out, own, leaf) for (out, own), leaf in zip(pairs, blocks, strict=True)])
    return (result, dressed(aux, border.outputs[rows:])) if has_aux else result


# compile


def any_named(leaves):
    return any(own_names(leaf) is not None for leaf in leaves)


def compiled(whole, args, kwargs):
    """A compiled function whose arguments have names: it is compiled without them, once for each choice of names."""
    from tensorgrad.compiler.trace import CannotTrace

    for leaf in tree_flatten((args, kwargs))[0]:
        if isinstance(leaf, Tensor) and leaf._alias is not None and own_names(leaf._alias.base) is not None:
            raise CannotTrace(
                f"compile: a view of a tensor with names {leaf._alias.base.names} was handed to a compiled function, which is "
                "not supported yet: hand it a clone() of the view"
            )
    known = whole.__dict__.setdefault("with_names", {})
    names = tuple(map(own_names, tree_flatten((args, kwargs))[0]))
    if names not in known:
        border = Border(whole.function, args, kwargs)
        known[names] = border, type(whole)(border.inner, whole.fallback, whole.explaining)
    border, function = known[names]
    return dressed(function(*bare(args), **bare(kwargs)), border.outputs)


# torch.autograd.functional


def functional(name, function):
    """One of the functions of autograd.functional, for tensors with names."""

    @functools.wraps(function)
    def call(func, inputs, *rest, **options):
        args = inputs if isinstance(inputs, tuple) else (inputs,)
        border = Border(func, args)
        plain = border.args if isinstance(inputs, tuple) else border.args[0]
        result = function(border.inner, plain, *bare(rest), **bare(options))
        if name in ("jacobian", "hessian"):
            blocks = tree_flatten(result)[0]
            rows = border.outputs if name == "jacobian" else border.inputs
            pairs = [(out, own) for out in rows for own in border.inputs]
            return dressed(result, [both_sides(a, b, leaf) for (a, b), leaf in zip(pairs, blocks, strict=True)])
        value, moved = result
        return dressed(value, border.outputs), dressed(moved, border.outputs if name == "jvp" else border.inputs)

    return call


def checked(function):
    """gradcheck, for tensors with names."""

    @functools.wraps(function)
    def call(func, inputs, *rest, **options):
        args = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        border = Border(func, tuple(args))
        return function(border.inner, border.args, *bare(rest), **bare(options))

    return call


def make_dual(function):
    @functools.wraps(function)
    def call(tensor, tangent, **options):
        names = own_names(tensor)
        result = function(strip(tensor), matched(tangent, [names], "tangent"), **options)
        return result if names is None else handle(result, names)

    return call


def unpack_dual(function):
    @functools.wraps(function)
    def call(tensor, **options):
        names = own_names(tensor)
        if names is None:
            return function(tensor, **options)
        parts = function(strip(tensor), **options)
        return type(parts)(*(None if part is None else handle(part, names) for part in parts))

    return call
