"""Tensors put together, turned around, repeated and copied."""

import builtins
import itertools

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.copying import in_order, put
from tensorgrad.ops import fitting
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of, sizes_of
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.reshaping import _fit, ravel, reshape
from tensorgrad.spec import LARGE

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


def _concatenated(arrays, dim):
    first = arrays[0]
    if first.size >= LARGE and type(first) is np.ndarray and all([a.ndim == first.ndim for a in arrays]):
        return _put_together(arrays, dim)
    try:
        whole = np.concatenate(arrays, dim)
    except ValueError:  # what has shape (0,) may be among others of any rank
        whole = np.concatenate([a for a in arrays if a.shape != (0,)], dim)
    return _in_order(whole)


def _put_together(arrays, dim):
    """The same of large arrays: each is copied to its place by all cores."""
    shape = list(arrays[0].shape)
    shape[dim] = builtins.sum([a.shape[dim] for a in arrays])
    whole, end = np.empty(shape, arrays[0].dtype), 0
    for a in arrays:
        start, end = end, end + a.shape[dim]
        put(whole[(*(builtins.slice(None),) * dim, builtins.slice(start, end))], a)
    return whole


def _in_order(whole):
    """NumPy joins transposed arrays to a transposed one."""
    return whole if whole.flags.c_contiguous else np.ascontiguousarray(whole)


def _ndim(g):
    return len(g.shape)


def _stacked(arrays, dim):
    wider = (*(builtins.slice(None),) * dim, None)
    return _in_order(np.concatenate([a[wider] for a in arrays], dim))


_cat = Primitive(
    "cat", _concatenated, arity=None, pullback=_cat_back, linear=True, passes=True,  # pieces that share no memory
)  # fmt: skip
_stack = Primitive(
    "stack", _stacked, arity=None, linear=True, passes=True,
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
        if name == "cat":
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    common = dtypes.result_dtype(tensors)
    return tuple(x if x._spec.dtype is common else x.to(common) for x in tensors)


def _one_spec(tensors):
    """The shape and dtype that all of a list of tensors have, or None."""
    kind = type(tensors)
    if (kind is not list and kind is not tuple) or not tensors:
        return None
    spec = getattr(tensors[0], "_spec", None)
    for x in tensors:
        if getattr(x, "_spec", None) is not spec:
            return None
    return spec


def _check_joined(out, tensors):
    """Raise if `out` cannot take tensors that are put together."""
    fitting.check_tensor("cat", out, "out")
    dtype = dtypes.result_dtype(tensors)
    if not dtypes.can_cast(dtype, out._spec.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out._spec.dtype.title}")
    fitting.check_writable(out)
    if any(x is out or (x._spec.size and np.may_share_memory(x._array, out._array)) for x in tensors):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def cat(tensors, dim=0, *, out=None):
    """Tensors joined along an existing dimension.

    >>> torch.cat([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    if out is None and (spec := _one_spec(tensors)) is not None and (shape := spec.shape):
        return _cat.apply(tensors, (dim_of(dim, len(shape)),))
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
        _check_joined(out, tensors)
        return fitting.write_out(out, "cat", tensors, lambda: _cat(tensors, dim))
    return _cat(tensors, dim)


concat = concatenate = cat
tensor_functions["concatenated"] = lambda pieces, dim, like: cat(pieces, dim)
tensor_functions.setdefault("sum_dims", lambda x, dims, keepdim: x.sum(dims, keepdim=keepdim))
tensor_functions["stacked"] = lambda pieces, dim, like: stack(pieces, dim)


def stack(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dimension.

    >>> torch.stack([torch.ones(2), torch.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    if out is None and (spec := _one_spec(tensors)) is not None:
        return _stack.apply(tensors, (dim_of(dim, len(spec.shape) + 1),))
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
        _check_joined(out, tensors)
        return fitting.write_out(out, "stack", tensors, lambda: _stack(tensors, dim))
    return _stack(tensors, dim)


def _rolled(x, shifts, dims):
    """np.roll in a third of the time: each block of numbers is copied to where it goes."""
    total = [0] * x.ndim
    for shift, dim in zip(shifts, dims, strict=True):
        total[dim] += shift
    ways = []  # for each dimension: from where to where
    for n, shift in zip(x.shape, total, strict=True):
        cut = shift % n if n else 0
        whole = ((builtins.slice(None), builtins.slice(None)),)
        ends = (
            (builtins.slice(n - cut), builtins.slice(cut, None)),
            (builtins.slice(n - cut, None), builtins.slice(cut)),
        )
        ways.append(ends if cut else whole)
    out = np.empty(x.shape, x.dtype)
    for way in itertools.product(*ways):
        out[tuple([to for _, to in way])] = x[tuple([place for place, _ in way])]
    return out


# Not fresh: the gradient of flip is a view
_flip = Primitive("flip", lambda x, dims: in_order(np.flip(x, dims)), transpose=lambda g, dims: xp.flip(g, dims))
_roll = Primitive(
    "roll", lambda x, shifts, dims: _rolled(x, shifts, dims) if type(x) is np.ndarray else np.roll(x, shifts, dims),
    transpose=lambda g, shifts, dims: xp.roll(g, tuple(-s for s in shifts), dims), fresh=True,
)  # fmt: skip


def flip(input, *args, dims=None):
    """The elements in reverse order along dimensions.

    >>> torch.arange(3).flip(0)
    tensor([2, 1, 0])
    """
    check_tensor("flip", input)
    if (not args) == (dims is None):
        raise TypeError("flip() received an invalid combination of arguments: it takes a tensor and dims")
    dims = sizes_of(args or (dims,), "flip")
    return _flip(input, dims_of(dims, len(input._spec.shape)) if dims and input._spec.shape else ())


def roll(input, shifts, dims=None):
    """The elements shifted along dimensions, coming in again at the other end.

    >>> torch.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    check_tensor("roll", input)
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if dims is None or dims == () or dims == []:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return reshape(_roll(ravel(input), tuple(shifts), (0,) * len(shifts)), input.shape)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input._spec.shape:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return _roll(input, tuple(shifts), tuple(dim_of(d, len(input._spec.shape)) for d in dims))


def _alternating(sizes, shape):
    """The shape of a tensor repeated `sizes` times: how often and how long, dimension by dimension."""
    shape = (1,) * (len(sizes) - len(shape)) + tuple(shape)
    return tuple([n for pair in zip(sizes, shape, strict=True) for n in pair])


def _repeated(x, sizes):
    wide = _alternating(sizes, x.shape)
    x = x.reshape([n if i % 2 else 1 for i, n in enumerate(wide)])
    return xp.expand(x, wide).copy().reshape([times * n for times, n in zip(wide[::2], wide[1::2], strict=True)])


_repeat = Primitive(
    "repeat", _repeated, fresh=True,
    transpose=lambda g, x, sizes: xp.reshape(
        xp.sum_dims(xp.reshape(g, _alternating(sizes, x.shape)), tuple(range(0, 2 * len(sizes), 2)), False), x.shape
    ),
)  # fmt: skip


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
    if any(n < 0 for n in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
    return _repeat(input, sizes)


def tile(input, *dims):
    """Like `repeat`, with missing leading dims taken as 1.

    >>> torch.tensor([1, 2]).tile(2)
    tensor([1, 2, 1, 2])
    """
    dims = sizes_of(dims, "tile")
    return repeat(input, (1,) * (len(input.shape) - len(dims)) + dims)
