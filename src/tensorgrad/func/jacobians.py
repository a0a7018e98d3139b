"""Forward mode as functions of functions, and Jacobians: jvp, linearize, jacrev, jacfwd, hessian.

A Jacobian is one pass for all rows of the identity: vmap over the function that pulls a gradient back (jacrev) or pushes a
tangent forward (jacfwd).
"""

import functools

import numpy as np

from tensorgrad.func.forward import Dual, dual
from tensorgrad.func.levels import Level, entered, with_names
from tensorgrad.func.reverse import chosen, settled_aux, split_aux, vjp_of, with_chosen
from tensorgrad.func.vmap import vmap
from tensorgrad.ops.creation import zeros_like
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import tree_flatten, tree_map, tree_structure, tree_unflatten

FORWARD_SIZE = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
    "Tensor is of size {} while the given forward gradient is of size {}."
)


def check_primal(primal):
    if primal._spec.dtype.category < 2:
        raise ValueError(f"Expected primal to be floating point or complex, but got: torch.{primal._spec.dtype.name}")


def check_tangent(primal, tangent):
    """Raise PyTorch's errors for a tangent that does not fit; returns the tangent."""
    check_primal(primal)
    if tuple(tangent.shape) != tuple(primal.shape):
        raise RuntimeError(FORWARD_SIZE.format(list(primal.shape), list(tangent.shape)))
    if tangent._spec.dtype.category < 2:
        raise ValueError(f"Expected tangent to be floating point or complex, but got: torch.{tangent._spec.dtype.name}")
    return tangent


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """The value of `func` at `primals` and how it moves when they move along `tangents`.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(func, primals, tangents, argnums=None, strict=False, has_aux=False):
    """jvp, with respect to all arguments or to those counted (then `tangents` is nested as those are)."""
    if (names := with_names(func)) is not None and isinstance(primals, tuple):
        run = functools.partial(jvp_of, argnums=argnums, strict=strict, has_aux=has_aux)
        return names.jvp(run, func, argnums, primals, tangents)
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    moving = primals if argnums is None else chosen(primals, argnums)
    values, spec = tree_flatten(moving)
    directions, direction_spec = tree_flatten(tangents)
    if direction_spec != spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
            f"primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with "
            f"structure {direction_spec}"
        )
    for leaves, what in ((values, "primals"), (directions, "tangents")):
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): Expected {what} to only contain Tensors, got {type(leaf)}"
                )
        if not leaves:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {what} to contain at least one Tensor.")
    level = Level("jvp", Dual)
    with entered(level):
        inputs = [dual(v, check_tangent(v, t), level) for v, t in zip(values, directions, strict=True)]
        args = tree_unflatten(inputs, spec)
        result = func(*(args if argnums is None else with_chosen(primals, argnums, args)))
        result, aux = split_aux(result, has_aux, "jvp(f, primals, tangents)")
        outputs, output_spec = tree_flatten(result)
        for output in outputs:
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type "
                    f"{type(output)}"
                )
        if not outputs:
            raise RuntimeError("jvp(f, primals, tangents): Expected f to be a function that has non-empty output")
        pairs = [parts(output, level, strict) for output in outputs]
        value, moved = (tree_unflatten(list(each), output_spec) for each in zip(*pairs, strict=True))
        if not has_aux:
            return value, moved
        return value, moved, settled_aux(aux, lambda t: parts(t, level, False)[0])


def parts(output, level, strict):
    """Value and tangent of a result."""
    payload = output._array
    primal, tangent = output, None
    if isinstance(payload, Dual) and payload.owner is level:
        primal, tangent = payload.primal, payload.tangent
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
                "with strict=True."
            )
        tangent = primal.new_zeros(primal._spec.shape)
    return primal, tangent


def linearize(func, *primals):
    """The value of `func` at `primals` and the linear function that says how it moves there.

    >>> value, push_forward = torch.func.linearize(torch.sin, torch.tensor(0.)); push_forward(torch.tensor(2.))
    tensor(2.)
    """
    values, spec = tree_flatten(primals)
    for leaf in values:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"linearize(f, *primals): Expected primals to only contain Tensors, got {type(leaf)}")
    output, pull_back = vjp_of(func, primals)
    output_spec = tree_structure(output)
    probes = tree_map(lambda o: zeros_like(o.detach()), output)
    # What is pulled back is linear in the probe; the gradient of that is the push forward.
    _, push = vjp_of(lambda probe: pull_back(probe), (probes,))

    def push_forward(*tangents):
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}")
        for position, (tangent, primal) in enumerate(zip(given, values, strict=True)):
            if tuple(tangent.shape) != tuple(primal.shape):
                raise RuntimeError(
                    f"tangent:{position} with shape {tangent.shape} in flattened pytree doesn't match the shape "
                    f"{primal.shape} of the corresponding primal."
                )
            if tangent._spec.dtype is not primal._spec.dtype:
                raise RuntimeError(
                    f"tangent:{position} with dtype {tangent.dtype} in flattened pytree doesn't match the dtype "
                    f"{primal.dtype} of the corresponding primal."
                )
        moved, _ = tree_flatten(push(tree_unflatten(given, spec))[0])
        return tree_unflatten(moved, output_spec)

    return output, push_forward


# Jacobians


def identity_rows(leaves):
    """For each tensor, the rows of the identity over all elements of all of them."""
    total, start, result = sum(leaf._spec.size for leaf in leaves), 0, []
    for leaf in leaves:
        size = leaf._spec.size
        block = np.zeros((total, size), leaf._spec.dtype.numpy)
        block[np.arange(start, start + size), np.arange(size)] = 1
        result.append(wrap(block.reshape(total, *leaf._spec.shape)))
        start += size
    return result


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func`, computed backward: one vectorised pass for all elements of the result.

    >>> torch.func.jacrev(lambda x: x ** 3)(torch.ones(2))
    tensor([[3., 0.],
            [0., 3.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapper(*args):
        if (names := with_names(func)) is not None:
            run = functools.partial(jacrev, argnums=argnums, has_aux=has_aux, chunk_size=chunk_size)
            return names.jacobian(run, func, argnums, has_aux, args)
        results = vjp_of(func, args, argnums, has_aux)
        output, pull_back = results[:2]
        outputs, output_spec = tree_flatten(output)
        rows = identity_rows(outputs)
        jacobian = vmap(lambda *row: pull_back(tree_unflatten(list(row), output_spec)), chunk_size=chunk_size)(*rows)
        columns, input_spec = tree_flatten(jacobian)
        # columns: for each input all elements of all outputs; wanted: for each output a structure like the inputs'
        blocks, start = [], 0
        for leaf in outputs:
            stop = start + leaf._spec.size
            block = [
                (c if len(outputs) == 1 else c[start:stop]).reshape((*leaf._spec.shape, *c._spec.shape[1:]))
                for c in columns
            ]
            blocks.append(tree_unflatten(block, input_spec))
            start = stop
        result = tree_unflatten(blocks, output_spec)
        return (result, results[2]) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of `func`, computed forward: one vectorised pass for all elements of the input.

    >>> torch.func.jacfwd(lambda x: x ** 3)(torch.ones(2))
    tensor([[3., 0.],
            [0., 3.]])
    """

    @functools.wraps(func, updated=())
    def wrapper(*args):
        if (names := with_names(func)) is not None:
            run = functools.partial(jacfwd, argnums=argnums, has_aux=has_aux, randomness=randomness)
            return names.jacobian(run, func, argnums, has_aux, args)
        moving = args if argnums is None else chosen(args, argnums)
        values, spec = tree_flatten(moving)
        for value in values:
            if not isinstance(value, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
            check_primal(value)
        aux = None

        def push(*row):
            nonlocal aux
            result = jvp_of(func, args, tree_unflatten(list(row), spec), argnums, False, has_aux)
            if has_aux:
                return result[1], result[2]
            return result[1]

        outcome = vmap(push, randomness=randomness, out_dims=(0, None) if has_aux else 0)(*identity_rows(values))
        tangents, aux = outcome if has_aux else (outcome, None)
        rows, output_spec = tree_flatten(tangents)
        blocks = []
        for row in rows:
            start, block = 0, []
            for value in values:
                size = value._spec.size
                part = row if len(values) == 1 else row[start : start + size]
                start += size
                ndim = len(part._spec.shape) - 1
                moved = part.permute(*range(1, ndim + 1), 0) if ndim else part
                block.append(moved.reshape((*part._spec.shape[1:], *value._spec.shape)))
            blocks.append(tree_unflatten(block, spec))
        result = tree_unflatten(blocks, output_spec)
        return (result, aux) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """A function that returns the Hessian of `func`: forward over reverse.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
