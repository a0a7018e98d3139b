"""vmap: a function of one row becomes a function of all rows at once. The rows themselves are in batching.py."""

import functools

from tensorgrad.func import randomness as _  # noqa: F401 (random numbers ask there)
from tensorgrad.func.batching import Batched, everywhere, rows
from tensorgrad.func.levels import Level, entered, with_names
from tensorgrad.func.reverse import name_of
from tensorgrad.ops.fitting import dim_of
from tensorgrad.ops.primitive import PRIMITIVES
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_structure, tree_unflatten

RANDOMNESS = ("error", "different", "same")


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies `func` to every row of its tensors, all at once.

    in_dims says which dimension of each argument holds the rows (None: the argument is the same for all), nested as the
    arguments are; out_dims where the rows go in the results. Random functions raise an error unless `randomness` is "same"
    or "different" for all rows. With chunk_size, that many rows are computed at a time.

    >>> torch.vmap(torch.dot)(torch.ones(3, 5), torch.ones(3, 5))
    tensor([5., 5., 5.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args, **kwargs):
        if (names := with_names(func)) is not None:
            run = functools.partial(vmap, randomness=randomness, chunk_size=chunk_size)
            return names.vmap(run, func, in_dims, out_dims, args, kwargs)
        size, dims, leaves, spec = rows_of(func, in_dims, args)
        if chunk_size is None:
            return mapped(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
        return in_chunks(func, size, dims, leaves, spec, out_dims, randomness, kwargs, chunk_size)

    return wrapped


def rows_of(func, in_dims, args):
    """(number of rows, dimension of each leaf, leaves, structure), checked."""
    name = name_of(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = [in_dims] * len(leaves) if type(in_dims) is int else _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
            f"in_dims has structure {tree_structure(in_dims)} but inputs has structure {spec}."
        )
    sizes = []
    for position, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be either an "
                "integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of type "
                f"{type(leaf)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        ndim = len(leaf._spec.shape)
        if not -ndim <= dim < ndim:
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor "
                f"of dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
            )
        dims[position] = dim + ndim if dim < 0 else dim
        sizes.append(leaf._spec.shape[dim])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0], dims, leaves, spec


def mapped(func, size, dims, leaves, spec, out_dims, randomness, kwargs):
    """Run the function once, on all rows."""
    level = Level("vmap", Batched, size, randomness)
    with entered(level):
        inputs = [
            leaf if dim is None else rows(to_front(leaf, dim), level) for leaf, dim in zip(leaves, dims, strict=True)
        ]
        outputs = func(*tree_unflatten(inputs, spec), **kwargs)
        return unwrapped(func, level, outputs, out_dims)


def to_front(tensor, dim):
    """The tensor with this dimension first."""
    if dim == 0:
        return tensor
    order = (dim, *(d for d in range(len(tensor._spec.shape)) if d != dim))
    return PRIMITIVES["permute"].apply((tensor,), (order,))


def to_place(tensor, dim):
    """The tensor with its first dimension here."""
    dim = dim_of(dim, len(tensor._spec.shape))
    if dim == 0:
        return tensor
    order = (*range(1, dim + 1), 0, *range(dim + 1, len(tensor._spec.shape)))
    return PRIMITIVES["permute"].apply((tensor,), (order,))


def unwrapped(func, level, outputs, out_dims):
    """The results of all rows, the mapped dimension where out_dims says."""
    name = name_of(func)
    leaves, spec = tree_flatten(outputs)
    if type(out_dims) is int or out_dims is None:
        dims = [out_dims] * len(leaves)
    else:
        for dim in tree_flatten(out_dims)[0]:
            if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int)):
                raise ValueError(
                    f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                    "representing where in the outputs the vmapped dimension should appear."
                )
        if isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
            dims = list(out_dims)
        else:
            dims = _broadcast_to_and_flatten(out_dims, spec)
        if dims is None:
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
                f"`outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure {spec}."
            )
    results = [unwrap(leaf, dim, level, name) for leaf, dim in zip(leaves, dims, strict=True)]
    return tree_unflatten(results, spec)


def unwrap(leaf, dim, level, name):
    if not isinstance(leaf, Tensor):
        if dim is None:
            return leaf
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set out_dims= to "
            "None for output?"
        )
    payload = leaf._array
    inner, batched = leaf, False
    if isinstance(payload, Batched) and payload.owner is level:
        inner, batched = payload.inner, payload.batched
    if dim is None:
        if batched:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return inner
    whole = inner if batched else everywhere(inner, level.size)
    return whole if dim == 0 else to_place(whole, dim)


def in_chunks(func, size, dims, leaves, spec, out_dims, randomness, kwargs, chunk_size):
    """Run the function on some rows at a time, and put the results together."""
    if not size:
        return mapped(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
    parts, structure = [], None
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        piece = [
            leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims, strict=True)
        ]
        outputs = mapped(func, count, dims, piece, spec, out_dims, randomness, kwargs)
        part, structure = tree_flatten(outputs)
        parts.append(part)
    spread = (
        [out_dims] * len(parts[0])
        if type(out_dims) is int or out_dims is None
        else (_broadcast_to_and_flatten(out_dims, structure))
    )
    joined = []
    for dim, *pieces in zip(spread, *parts, strict=True):
        joined.append(pieces[0] if dim is None or len(pieces) == 1 else PRIMITIVES["cat"].apply(
            tuple(pieces), (dim_of(dim, len(pieces[0]._spec.shape)),)
        ))  # fmt: skip
    return tree_unflatten(joined, structure)
