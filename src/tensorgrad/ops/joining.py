"""Tensors put together, turned around, repeated and copied."""

import builtins

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of, sizes_of
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.reshaping import _fit, _inverse, _permute, expand, ravel, reshape

# Putting together


def _cat_back(g, specs, dim):
    out, start, lead = [], 0, (builtins.slice(None),) * dim
    for spec in specs:
        if spec.shape == (0,) and len(spec.shape) != _ndim(g):
            out.append(xp.zeros_like(g)[:0].reshape((0,)) if _ndim(g) else None)
            continue
        stop = start + spec.shape[dim]
        out.append(_fit(g[(*lead, builtins.slice(start, stop))], spec))
        start = stop
    return tuple(out)


def _ndim(g):
    return len(g.shape)


_cat = Primitive(
    "cat", lambda arrays, dim: np.concatenate([a for a in arrays if a.shape != (0,)] or arrays, dim),
    arity=None, pullback=_cat_back, linear=True, fresh=False,
)  # fmt: skip
_stack = Primitive(
    "stack", lambda arrays, dim: np.stack(arrays, dim), arity=None, linear=True, fresh=False,
    pullback=lambda g, specs, dim: tuple(
        _fit(g[(builtins.slice(None),) * dim + (i,)], spec) for i, spec in enumerate(specs)
    ),
)  # fmt: skip


def _same_dtype(tensors, name):
    if isinstance(tensors, fitting.Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, fitting.Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
    if not tensors:
        raise RuntimeError(
            f"{'torch.cat(): expected a non-empty list of Tensors' if name == 'cat' else 'stack expects a non-empty TensorList'}"
        )
    common = dtypes.result_dtype(tensors)
    return tuple(x if x._spec.dtype is common else x.to(common) for x in tensors)


def cat(tensors, dim=0, *, out=None):
    """Tensors joined along an existing dimension.

    >>> torch.cat([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    tensors = _same_dtype(tensors, "cat")
    ndim = builtins.max(len(x.shape) for x in tensors)
    for position, x in enumerate(tensors):
        if not x._spec.shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    whole = [x for x in tensors if tuple(x.shape) != (0,)] or list(tensors)
    dim = dim_of(dim, ndim)
    for position, x in enumerate(whole[1:], 1):
        if len(x.shape) != len(whole[0].shape):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(whole[0].shape)} and {len(x.shape)}"
            )
        for d, (n, m) in enumerate(zip(whole[0].shape, x.shape, strict=True)):
            if d != dim and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for tensor "
                    f"number {position} in the list."
                )
    if out is not None:
        return fitting.write_out(out, "cat", tensors, lambda: _cat(tensors, dim))
    return _cat(tensors, dim)


concat = concatenate = cat
tensor_functions["concatenated"] = lambda pieces, dim, like: cat(pieces, dim)
tensor_functions["stacked"] = lambda pieces, dim, like: stack(pieces, dim)


def stack(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dimension.

    >>> torch.stack([torch.ones(2), torch.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    tensors = _same_dtype(tensors, "stack")
    shape = tensors[0].shape
    dim = dim_of(dim, len(shape) + 1)
    for position, x in enumerate(tensors):
        if x.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(x.shape)} at "
                f"entry {position}"
            )
    if out is not None:
        return fitting.write_out(out, "stack", tensors, lambda: _stack(tensors, dim))
    return _stack(tensors, dim)


_flip = Primitive(
    "flip", lambda x, dims: np.ascontiguousarray(np.flip(x, dims)), transpose=lambda g, dims: xp.flip(g, dims)
)
_roll = Primitive("roll", lambda x, shifts, dims: np.roll(x, shifts, dims),
                  transpose=lambda g, shifts, dims: xp.roll(g, tuple(-s for s in shifts), dims), fresh=True)  # fmt: skip


def flip(input, *dims):
    """The elements in reverse order along dimensions.

    >>> torch.arange(3).flip(0)
    tensor([2, 1, 0])
    """
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return _flip(input, dims_of(tuple(dims), len(input._spec.shape)) if dims else ())


def roll(input, shifts, dims=None):
    """The elements shifted along dimensions, coming in again at the other end.

    >>> torch.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    if dims is None or dims == ():
        return reshape(_roll(ravel(input), tuple(shifts), (0,) * len(shifts)), input.shape)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return _roll(input, tuple(shifts), tuple(dim_of(d, len(input._spec.shape)) for d in dims))


def repeat(input, *sizes):
    """The tensor copied as often as `sizes` says along each dimension.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    sizes = sizes_of(sizes, "repeat")
    shape = tuple(input.shape)
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * lead + shape
    twice = reshape(input, [n for size in shape for n in (1, size)])
    wide = expand(twice, [n for times, size in zip(sizes, shape, strict=True) for n in (times, size)])
    return clone(reshape(wide, [times * size for times, size in zip(sizes, shape, strict=True)]))


def tile(input, *dims):
    """Like `repeat`, with missing leading dims taken as 1.

    >>> torch.tensor([1, 2]).tile(2)
    tensor([1, 2, 1, 2])
    """
    dims = sizes_of(dims, "tile")
    return repeat(input, (1,) * (len(input.shape) - len(dims)) + dims)


# Copies

_clone = Primitive("clone", lambda x: _copied(x), transpose=lambda g: g, passes=True)


def _copied(x):
    """A copy in the same order in memory; expanded dimensions become real."""
    if x.flags.forc or 0 not in x.strides:
        return x.copy(order="K")
    return x.copy()


_contiguous = Primitive("contiguous", lambda x: x.copy(), transpose=lambda g: g, node="CloneBackward0")


def clone(input, *, memory_format=dtypes.preserve_format):
    """A copy that is part of the graph.

    >>> x = torch.ones(2); y = x.clone(); y[0] = 5; x
    tensor([1., 1.])
    """
    check_tensor("clone", input)
    if memory_format is dtypes.contiguous_format:
        return _contiguous(input)
    if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        return _channels_last(input, memory_format)
    return _clone(input)


def contiguous(input, memory_format=dtypes.contiguous_format):
    """The tensor itself if its elements lie in order, else a copy that does.

    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if input.is_contiguous(memory_format):
        return input
    if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        return _channels_last(input, memory_format)
    return _contiguous(input)


def _channels_last(input, memory_format):
    ndim = 4 if memory_format is dtypes.channels_last else 5
    if len(input.shape) != ndim:
        raise RuntimeError(f"required rank {ndim} tensor to use {memory_format.name} format")
    last = (0, *range(2, ndim), 1)
    return _permute(_contiguous(_permute(input, last)), _inverse(last))
