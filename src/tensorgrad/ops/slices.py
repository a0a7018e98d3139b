"""Placing whole slices along a dimension, index_add and its kin, and single elements by their position: put."""

import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.masking import _masked_fill
from tensorgrad.ops.scattering import _scatter, _scatter_add, _scatter_reduce, applied, number_tensor
from tensorgrad.ops.selection import check_bounds, flat_index

PUBLIC = {"": "index_add index_copy index_fill index_reduce put"}

# Each is a scatter whose index is one line, expanded; filling is filling by a mask.
_index_add = _scatter_add.variant("index_add", "IndexAddBackward0")
_index_copy = _scatter.variant("index_copy", "IndexCopyBackward0")
_index_fill = _masked_fill.variant("index_fill", "IndexFillBackward1")
_index_fill_number = _masked_fill.variant("index_fill.number", "IndexFillBackward0")
_index_reduce = _scatter_reduce.variant("index_reduce", "IndexReduceBackward0")


def _line_along(input, dim, index, source):
    """An index of slices as one for scatter: expanded to the shape of the source."""
    if not source._spec.shape:
        return index.reshape(())
    shape = [1] * len(source._spec.shape)
    shape[dim] = -1
    return index.reshape(shape).expand(source.shape)


def _slices(name, input, dim, index, source):
    """(dim, index for scatter, source) of index_add and index_reduce after PyTorch's checks."""
    check_tensor(name, input)
    check_tensor(name, index, "index", 3)
    check_tensor(name, source, "source", 4)
    dim = dim_of(dim, len(input._spec.shape))
    if index._spec.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {index._spec.dtype.title}")
    if len(index.shape) > 1:
        raise IndexError(
            f"{name}_(): Index is supposed to be a vector, but got dim: {len(index.shape)} with type: "
            f"{index._spec.dtype.title} and size: {list(index.shape)}"
        )
    if source._spec.dtype is not input._spec.dtype:
        raise RuntimeError(
            f"{name}_(): self ({input._spec.dtype.title}) and source ({source._spec.dtype.title}) must have the same scalar type"
        )
    ours, theirs = list(input.shape), list(source.shape)
    if (theirs or [1])[dim : dim + 1] != [index._spec.size] and len(ours) == len(theirs) | (not theirs):
        raise RuntimeError(
            f"{name}_(): Number of indices ({index._spec.size}) should be equal to source.size(dim): "
            f"({(theirs or [1])[dim]}), for dim: {dim}"
        )
    if ours[:dim] + ours[dim + 1 :] != theirs[:dim] + theirs[dim + 1 :] or len(ours) != len(theirs):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{ours} source.shape = {theirs}"
        )
    return dim, _line_along(input, dim, index, source), source


def index_add(input, dim, index, source, *, alpha=1, out=None):
    """A copy with source[k] added to slice index[k] along a dimension.

    >>> torch.index_add(torch.zeros(2, 2), 0, torch.tensor([1, 1]), torch.ones(2, 2))
    tensor([[0., 0.],
            [2., 2.]])
    """
    return _added(input, dim, index, source, alpha, False, out)


def index_add_(self, dim, index, source, *, alpha=1):
    """The in-place form of `index_add`.

    >>> torch.zeros(2).index_add_(0, torch.tensor([1]), torch.ones(1), alpha=3)
    tensor([0., 3.])
    """
    return _added(self, dim, index, source, alpha, True)


def _added(input, dim, index, source, alpha, inplace, out=None):
    dim, line, source = _slices("index_add", input, dim, index, source)
    check_bounds(index, dim, input.shape[dim] if input.shape else 1)
    if alpha != 1:
        if isinstance(alpha, float) and input._spec.dtype.category < dtypes.FLOAT:
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
        source = source * alpha
    return applied(_index_add, "index_add", (input, line, source), (dim,), inplace, out)


def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """A copy with source[k] combined into slice index[k] along a dimension: by "prod", "mean", "amax" or "amin".

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([1, 1]), torch.tensor([4., 7.]), "prod")
    tensor([ 1., 28.])
    """
    return _combined(input, dim, index, source, reduce, include_self, False, out)


def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """The in-place form of `index_reduce`.

    >>> torch.ones(2).index_reduce_(0, torch.tensor([1]), torch.tensor([4.]), "amax")
    tensor([1., 4.])
    """
    return _combined(self, dim, index, source, reduce, include_self, True)


def _combined(input, dim, index, source, reduce, include_self, inplace, out=None):
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warnings.warn("index_reduce() is in beta and the API may change at any time.", stacklevel=3)
    dim, line, source = _slices("index_reduce", input, dim, index, source)
    array, n = index._array, input.shape[dim] if input.shape else 1
    if type(array) is np.ndarray and array.size and (array.min() < 0 or array.max() >= n):
        raise IndexError("index out of range in self")
    return applied(_index_reduce, "index_reduce", (input, line, source), (dim, reduce, include_self), inplace, out)


def index_copy(input, dim, index, source, *, out=None):
    """A copy with source[k] written to slice index[k] along a dimension.

    >>> torch.index_copy(torch.zeros(2, 2), 0, torch.tensor([1]), torch.ones(1, 2))
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _copied(input, dim, index, source, False, out)


def index_copy_(self, dim, index, source):
    """The in-place form of `index_copy`.

    >>> torch.zeros(2).index_copy_(0, torch.tensor([1]), torch.ones(1))
    tensor([0., 1.])
    """
    return _copied(self, dim, index, source, True)


def _copied(input, dim, index, source, inplace, out=None):
    check_tensor("index_copy", input)
    check_tensor("index_copy", index, "index", 3)
    check_tensor("index_copy", source, "source", 4)
    dim = dim_of(dim, len(input._spec.shape))
    ours, theirs, k = tuple(input.shape), tuple(source.shape), index._spec.size
    if len(index.shape) > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(index.shape)})")
    if not theirs and k != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {k})")
    if len(ours) != len(theirs) and ours and theirs:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(theirs)}), destination dimensionality ({len(ours)})"
        )
    if index._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index._spec.dtype.title}")
    if input._spec.dtype is not source._spec.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{input._spec.dtype.title} and (source) {source._spec.dtype.title}"
        )
    rest, other = ours[:dim] + ours[dim + 1 :], theirs[:dim] + theirs[dim + 1 :]
    if rest != other:
        shown = lambda shape: ", ".join(map(str, shape))
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{shown(rest)} at dimension {dim} and source slice shape: {shown(other)} at dimension {dim if theirs else 0}."
        )
    if theirs and k != theirs[dim]:
        raise IndexError(f"index_copy_(): Number of indices ({k}) should be equal to source.size(dim) ({theirs[dim]})")
    check_bounds(index, dim, ours[dim] if ours else 1, IndexError, "index_copy_(): ")
    line = _line_along(input, dim, index, source)
    return applied(_index_copy, "index_copy", (input, line, source), (dim,), inplace, out)


def index_fill(input, dim, index, value):
    """A copy with one value in the given slices along a dimension.

    >>> torch.index_fill(torch.zeros(2, 2), 1, torch.tensor([1]), 5)
    tensor([[0., 5.],
            [0., 5.]])
    """
    return _filled(input, dim, index, value, False)


def index_fill_(self, dim, index, value):
    """The in-place form of `index_fill`.

    >>> torch.zeros(2).index_fill_(0, torch.tensor([1]), 5)
    tensor([0., 5.])
    """
    return _filled(self, dim, index, value, True)


def _filled(input, dim, index, value, inplace):
    check_tensor("index_fill", input)
    check_tensor("index_fill", index, "index", 3)
    if isinstance(value, fitting.Tensor) and value.shape:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(value.shape)} dimension(s)."
        )
    is_complex = value.is_complex() if isinstance(value, fitting.Tensor) else isinstance(value, complex)
    if is_complex and not input._spec.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if index._spec.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if len(index.shape) > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    dim = dim_of(dim, len(input._spec.shape))
    n = input.shape[dim] if input.shape else 1
    check_bounds(index, dim, n, IndexError, low=-n)
    primitive, dtype = _index_fill_number, input._spec.dtype
    if isinstance(value, fitting.Tensor):
        primitive, value = _index_fill, value.to(dtype)
    else:
        value = number_tensor(value, dtype)
    if type(index._array) is not np.ndarray or (index._spec.size and index._array.min() < 0):
        index = index % n
    mask = index.new_zeros(n, dtype=dtypes.bool_)
    mask = _scatter(mask, index.reshape(-1), mask.new_ones(()).expand(index._spec.size), 0)
    mask = mask.reshape([-1 if d == dim else 1 for d in range(len(input.shape))])
    return applied(primitive, "index_fill", (input, mask, value), (), inplace)


# Single elements


def put(input, index, source, accumulate=False):
    """A copy with `source` written (or added) at positions in the flattened tensor.

    >>> torch.put(torch.zeros(2, 2), torch.tensor([3]), torch.tensor([5.]))
    tensor([[0., 0.],
            [0., 5.]])
    """
    check_tensor("put", input)
    _check_put(input, index, source)
    flat = input.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(input.shape)


def put_(self, index, source, accumulate=False):
    """The in-place form of `put`.

    >>> torch.zeros(2).put_(torch.tensor([1]), torch.tensor([5.]))
    tensor([0., 5.])
    """
    _check_put(self, index, source)
    if self.is_contiguous():
        self.view(-1).index_put_((index.reshape(-1),), source.reshape(-1), accumulate)
        return self
    return self.copy_(put(self, index, source, accumulate))


def _check_put(input, index, source):
    check_tensor("put_", index, "index", 2)
    check_tensor("put_", source, "source", 3)
    if index._spec.size != source._spec.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._spec.size}, index.numel() = {index._spec.size}"
        )
    if input._spec.dtype is not source._spec.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input._spec.dtype.title} and source.dtype = {source._spec.dtype.title}"
        )
    flat_index("put_", input, index)
    if not input._spec.size and index._spec.size:
        raise IndexError("put_(): tried to put elements into an empty tensor")


class Methods:
    """The methods of these operations."""

    index_add, index_add_, index_copy, index_copy_ = index_add, index_add_, index_copy, index_copy_
    index_fill, index_fill_, index_reduce, index_reduce_ = index_fill, index_fill_, index_reduce, index_reduce_
    put, put_ = put, put_
