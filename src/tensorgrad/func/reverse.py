"""Reverse mode as functions of functions: grad, grad_and_value, vjp.

A gradient begins at a `Root`: a second handle on an input, so that what is asked here is told apart from what is asked
outside. Between transforms that make no payloads all roots lie on one tape; inside vmap or forward mode the inputs are
lifted to that level first, whose tape is its own (see levels.py).
"""

import functools

import numpy as np

from tensorgrad.autograd import engine, modes
from tensorgrad.autograd.differentiate import own
from tensorgrad.autograd.engine import checked_gradient
from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.autograd.modes import state
from tensorgrad.func.levels import Level, Payload, Root, dropped, entered, in_graph, innermost, rooted, with_names
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint

ndarray = np.ndarray


def name_of(function):
    return getattr(function, "__name__", repr(function))


# The walk back


def pull(outputs, roots, cotangents, create=None, closed=False):
    """The gradients of `outputs` with respect to `roots`, given those that arrive: a list with None for what has none.

    create: whether they are recorded themselves; by default if something outside depends on them. closed: whether the
    graph is known to begin nowhere but at the roots, so that all of it has to be walked.
    """
    if not roots:
        return []
    owner = owner_of(roots[0])
    pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o._node is not None and owner_of(o) is owner]
    if not pairs:
        return [None] * len(roots)
    if create is None:
        create = state.recording and (
            any(in_graph(c) for _, c in pairs) or outlook([o._node for o, _ in pairs], roots[0]._node.level)[0]
        )
    tensors = create or owner is not None or any(isinstance(c._array, Payload) for _, c in pairs)
    captures = {root._node: None for root in roots}
    starts = [(o._node, c if tensors else c._array) for o, c in pairs]
    if owner is None:
        captured = engine.run(starts, keep=True, tensors=tensors, record=create, captures=captures, closed=closed)
    else:  # only this level's tape is at rest: what is outside goes on recording
        recording, owner.recording = owner.recording, create and owner.recording
        try:
            captured = engine.run(
                starts, keep=True, tensors=True, record=state.recording, captures=captures, closed=closed
            )
        finally:
            owner.recording = recording
    results = []
    for root in roots:
        g = captured.get(root._node)
        if g is not None and not isinstance(g, Tensor):
            g = np.asarray(g)
            g = wrap(g if g.flags.owndata and g.flags.writeable else np.array(g))
        results.append(g)
    return list(own(results, [c for _, c in pairs]))


def owner_of(tensor):
    """The level whose tape a tensor is on; None for that of plain tensors."""
    array = tensor._array
    return array.owner if isinstance(array, Payload) else None


def outlook(nodes, level):
    """(whether a graph leads to a leaf, or to where another transform that is still at work takes a gradient;
    whether it begins nowhere but at roots of this level that nothing lies behind)."""
    seen, pending, closed = set(nodes), list(nodes), True
    for node in pending:
        kind = type(node)
        if kind is Root:
            if node.level is not level:
                closed = False
                if node.level.alive:
                    return True, False
            elif node.edges[0] is not None:
                closed = False
        elif kind is AccumulateGrad:
            return True, False
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                pending.append(edge)
    return False, closed


def rooted_together(tensors, others=()):
    """Handles on tensors from which a gradient begins, at the deepest level among them and the others."""
    owner = None
    for tensor in (*tensors, *others):
        array = tensor._array if isinstance(tensor, Tensor) else None
        if isinstance(array, Payload) and (owner is None or array.level > owner.number):
            owner = array.owner
    level = Level("grad")
    level.alive = False  # nobody else is inside: see outlook
    return [rooted(tensor, owner, level) for tensor in tensors]


def roots_of(tensors, level):
    """Handles on the arguments of a transformed function."""
    home = innermost()
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        if tensor._spec.dtype.category < 2:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return [rooted(tensor, home, level) for tensor in tensors]


def settle(tensor, level, recording):
    """A value computed from roots, as it looks outside: part of the graph only if something outside asks for that."""
    if tensor._node is not None and not (recording and outlook([tensor._node], level)[0]):
        tensor = dropped(tensor)
    return unlifted(tensor)


def unlifted(tensor):
    """Without the payload that a value needs no more."""
    array = tensor._array
    if tensor._node is None and isinstance(array, Payload):
        return array.plain(tensor)
    return tensor


# Arguments


def check_argnums(argnums, count):
    """The argnums as a tuple of positions."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    wanted = (argnums,) if isinstance(argnums, int) else argnums
    if not wanted:
        raise RuntimeError("argnums must be non-empty")
    places = []
    for argnum in wanted:
        if not -count <= argnum < count:
            raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
        places.append(argnum % count)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(places)}")
    return tuple(places)


def chosen(args, argnums):
    """The arguments to differentiate: one, or a tuple of them."""
    places = check_argnums(argnums, len(args))
    return args[places[0]] if isinstance(argnums, int) else tuple(args[i] for i in places)


def with_chosen(args, argnums, values):
    """All arguments, with these in the places of the chosen ones."""
    places = check_argnums(argnums, len(args))
    args = list(args)
    for place, value in zip(places, (values,) if isinstance(argnums, int) else values, strict=True):
        args[place] = value
    return tuple(args)


def split_aux(result, has_aux, name):
    """(output, aux), checked."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def settled_aux(aux, settle_one):
    def visit(value):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return settle_one(value)

    return tree_map(visit, aux)


# Transforms


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func` and its value.

    >>> torch.func.grad_and_value(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    (tensor([ 3., 12.]), tensor(9.))
    """

    @functools.wraps(func, updated=())
    def wrapper(*args, **kwargs):
        if (names := with_names(func)) is not None:
            run = functools.partial(grad_and_value, argnums=argnums, has_aux=has_aux)
            return names.grad_and_value(run, func, argnums, args, kwargs)
        recording = state.recording
        with entered(Level("grad")) as level, modes.enable_grad():
            inputs, spec = tree_flatten(chosen(args, argnums))
            roots = roots_of(inputs, level)
            result = func(*with_chosen(args, argnums, tree_unflatten(roots, spec)), **kwargs)
            output, aux = split_aux(result, has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output._spec.shape:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{len(output._spec.shape)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            cotangent = one_for(output)
            outside, closed = (False, False) if output._node is None else outlook([output._node], level)
            outside = outside and recording
            modes.set_recording(recording)  # until the end of enable_grad
            gradients = pull([output], roots, [cotangent], outside, closed)
        gradients = [zeros_at(r) if g is None else unlifted(g) for g, r in zip(gradients, roots, strict=True)]
        gradient, value = tree_unflatten(gradients, spec), unlifted(output if outside else dropped(output))
        if not has_aux:
            return gradient, value
        return gradient, (value, settled_aux(aux, functools.partial(settle, level=level, recording=recording)))

    return wrapper


def one_for(output):
    """The gradient to start from at a scalar."""
    if output._node is None:
        return None
    if not output._spec.dtype.is_floating_point:
        checked_gradient(wrap(np.empty((), output._spec.dtype.numpy)), None)  # raises
    return wrap(np.ones((), output._spec.dtype.numpy))


def zeros_at(root):
    return unlifted(dropped(root)).new_zeros(root._spec.shape)


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func`, whose result is a scalar, with respect to its first argument
    (or those that `argnums` counts).

    >>> torch.func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapper(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func, *primals, has_aux=False):
    """The value of `func` and a function from gradients of the value to gradients of the arguments.

    >>> value, pull_back = torch.func.vjp(torch.sin, torch.tensor(0.)); pull_back(torch.tensor(2.))
    (tensor(2.),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func, primals, argnums=None, has_aux=False):
    """vjp, with respect to all arguments or to those counted."""
    if (names := with_names(func)) is not None:
        run = functools.partial(vjp_of, argnums=argnums, has_aux=has_aux)
        return names.vjp(run, func, argnums, has_aux, primals)
    recording = state.recording
    with entered(Level("grad")) as level, modes.enable_grad():
        inputs, spec = tree_flatten(primals if argnums is None else chosen(primals, argnums))
        roots = roots_of(inputs, level)
        values = tree_unflatten(roots, spec)
        result = func(*(values if argnums is None else with_chosen(primals, argnums, values)))
        result, aux = split_aux(result, has_aux, "vjp(f, *primals)")
        outputs, output_spec = tree_flatten(result)
        for output in outputs:
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(output)}"
                )
        if not outputs:
            raise RuntimeError(
                f"vjp(f, *primals): Expected f to be a function that has non-empty output (got output = {list(outputs)})"
            )
    finish = functools.partial(settle, level=level, recording=recording)

    def pull_back(cotangents, retain_graph=True, create_graph=None):
        given, given_spec = tree_flatten(cotangents)
        if given_spec != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {treespec_pprint(given_spec)}, primal output: {treespec_pprint(output_spec)}"
            )
        for position, (output, cotangent) in enumerate(zip(outputs, given, strict=True)):
            given[position] = checked_gradient(output, cotangent, position)
        gradients = pull(outputs, roots, given, None if create_graph is None or create_graph else False)
        gradients = [zeros_at(r) if g is None else unlifted(g) for g, r in zip(gradients, roots, strict=True)]
        return tree_unflatten(gradients, spec)

    results = tree_unflatten([finish(o) for o in outputs], output_spec)
    return (results, pull_back, settled_aux(aux, finish)) if has_aux else (results, pull_back)
