"""Picking elements: gather, index_select, take, masks, and the places of what is not zero."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.scatter import within
from tensorgrad.ops import fitting
from tensorgrad.ops.choices import _gather
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.indexing import _take_primitive, getitem
from tensorgrad.ops.outs import write_apart
from tensorgrad.ops.primitive import wrap

PUBLIC = {
    "": "gather index_select take take_along_dim masked_select nonzero nonzero_static argwhere _unsafe_masked_index "
    "_unsafe_masked_index_put_accumulate"
}

ndarray = np.ndarray

# Along a dimension


def checked_dim(input, index, dim, name, who="input"):
    """The dim of gather and scatter, counted from the front, after PyTorch's checks of the index."""
    check_tensor(name, index, "index", 3)
    dim = dim_of(dim, len(input._spec.shape))
    spec = index._spec
    if not spec.size:
        return dim
    if spec.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if len(spec.shape or (1,)) != len(input._spec.shape or (1,)):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {who} tensor")
    check_bounds(index, dim, input._spec.shape[dim] if input._spec.shape else 1)
    return dim


def check_bounds(index, dim, n, error=RuntimeError, prefix="", low=0):
    """Raise if an index is not below n (or below `low`)."""
    array = index._array
    if type(array) is not ndarray or not array.size or (low == 0 and within(array, n)):
        return
    least, most = array.min(), array.max()
    if least < low or most >= n:
        raise error(
            f"{prefix}index {least if least < low else most} is out of bounds for dimension {dim} with size {n}"
        )


def gather(input, dim, index, *, sparse_grad=False, out=None):
    """out[i][j] = input[index[i][j]][j] for dim 0, and likewise for the others.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    check_tensor("gather", input)
    if sparse_grad:
        raise NotImplementedError("gather: sparse_grad=True is not supported: tensorgrad has no sparse tensors")
    dim = checked_dim(input, index, dim, "gather")
    reached, shape = index._spec.shape, input._spec.shape
    if reached != shape:
        for d, (n, m) in enumerate(zip(reached, shape, strict=False)):
            if d != dim and n > m and index._spec.size:
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(reached)} to be no larger than self "
                    f"{list(shape)} apart from dimension {dim}"
                )
    if out is not None:
        dtype = input._spec.dtype
        return write_apart(out, "gather", (input, index), dtype, lambda: _gather(input, index, dim))
    return _gather.apply((input, index), (dim,))


def take_along_dim(input, indices, dim=None, *, out=None):
    """Elements by their index along a dimension, which broadcasts along the others (without `dim`: of all elements).

    >>> x = torch.tensor([[3., 1.], [2., 4.]]); torch.take_along_dim(x, x.argsort(1), 1)
    tensor([[1., 3.],
            [2., 4.]])
    """
    check_tensor("take_along_dim", input)
    check_tensor("take_along_dim", indices, "indices", 2)
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    else:
        if len(input._spec.shape) != len(indices._spec.shape):
            raise RuntimeError(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                f"{len(input.shape)} dimensions for input, and {len(indices.shape)} dimensions for indices"
            )
        if indices._spec.dtype is not dtypes.int64:
            raise RuntimeError(
                f"torch.take_along_dim(): dtype of indices should be Long but got {indices._spec.dtype.title}"
            )
        dim = dim_of(dim, len(input.shape))
        rest = [(*shape[:dim], 1, *shape[dim + 1 :]) for shape in (input._spec.shape, indices._spec.shape)]
        if rest[0] != rest[1]:
            shape = fitting.broadcast_shapes(*rest)
            input = input.expand(*shape[:dim], input.shape[dim], *shape[dim + 1 :])
            indices = indices.expand(*shape[:dim], indices.shape[dim], *shape[dim + 1 :])
    array, n = indices._array, input.shape[dim] if input.shape else 1
    if type(array) is not ndarray or not within(array, n):
        check_bounds(indices, dim, n, low=-n)
        indices = indices % n
    return gather(input, dim, indices, out=out)


# Whole slices, and elements by their number

_select_slices = _take_primitive.variant("index_select", "IndexSelectBackward0")
_take_elements = _take_primitive.variant("take", "TakeBackward0")


def index_select(input, dim, index, *, out=None):
    """The given indices of one dimension.

    >>> torch.index_select(torch.tensor([10, 20, 30]), 0, torch.tensor([2, 0]))
    tensor([30, 10])
    """
    check_tensor("index_select", input)
    check_tensor("index_select", index, "index", 3)
    if index._spec.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if len(index._spec.shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    dim, shape = dim_of(dim, len(input._spec.shape)), input._spec.shape
    if not shape and index._spec.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._spec.size} value(s)")
    array, n = index._array, shape[dim] if shape else 1
    if type(array) is ndarray and not within(array, n):
        raise IndexError("index out of range in self")

    def select():
        if not shape:
            return _select_slices((input.reshape(1), index.reshape(1)), (0,)).reshape(())
        return _select_slices.apply((input, index if index._spec.shape else index.reshape(1)), ((dim,),))

    if out is None:
        return select()
    message = "index_select(): self and result must have the same scalar type"
    return write_apart(out, "index_select", (input, index), input._spec.dtype, select, message)


def take(input, index, *, out=None):
    """Elements by their position in the flattened tensor.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    check_tensor("take", input)
    check_tensor("take", index, "index", 2)
    flat_index("take", input, index)
    if not input._spec.size and index._spec.size:
        raise IndexError("take(): tried to take from an empty tensor")
    pick = lambda: _take_elements((input.reshape(-1), index), (0,))
    if out is None:
        return pick()
    message = (
        "take(): self and out expected to have the same dtype, but got self.dtype = {expected} and out.dtype = {found}"
    )
    return write_apart(out, "take", (input, index), input._spec.dtype, pick, message)


def flat_index(name, input, index):
    """Raise for what cannot be an index into the flattened tensor."""
    if index._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index._spec.dtype.title}")
    array, n = index._array, input._spec.size
    if type(array) is ndarray and array.size and n:
        low, high = array.min(), array.max()
        if low < -n or high >= n:
            raise IndexError(
                f"out of range: tried to access index {low if low < -n else high} on a tensor of {n} elements."
            )


# Masks


def masked_select(input, mask, *, out=None):
    """The elements where the mask is true, in one dimension.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    check_tensor("masked_select", input)
    check_tensor("masked_select", mask, "mask", 2)
    if type(mask._array) is not ndarray:
        return masked_select(input, mask._array.dynamic("masked_select"))
    if mask._spec.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if broken := fitting.broadcast_error((input, mask)):
        raise broken
    shape = fitting.broadcast_shapes(input.shape, mask.shape)

    def pick():
        places = np.broadcast_to(mask._array, shape).reshape(-1).nonzero()[0]
        return _select_masked((input.expand(shape).reshape(-1), wrap(places)), (0,))

    if out is None:
        return pick()
    message = "masked_select(): self and result must have the same scalar type"
    return write_apart(out, "masked_select", (input, mask), input._spec.dtype, pick, message)


_select_masked = _take_primitive.variant("masked_select", "MaskedSelectBackward0")


def _in_range(input, indices):
    """Indices brought into range: what lies outside is masked by the caller."""
    return tuple(None if i is None else i.clamp(-max(n, 1), n - 1) for i, n in zip(indices, input.shape, strict=False))


def _picked_by(indices):
    return tuple(slice(None) if i is None else i for i in indices)


def _unsafe_masked_index(input, mask, indices, fill):
    """input[indices] where the mask is true, `fill` elsewhere; there an index may lie out of range.

    >>> torch._unsafe_masked_index(torch.tensor([5, 6]), torch.tensor([True, False]), [torch.tensor([1, 9])], 0)
    tensor([6, 0])
    """
    if not input._spec.size:
        return mask.new_full(mask.shape, fill, dtype=input._spec.dtype)
    return getitem(input, _picked_by(_in_range(input, indices))).masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """A copy with values added at the indices where the mask is true; elsewhere an index may lie out of range.

    >>> torch._unsafe_masked_index_put_accumulate(
    ...     torch.tensor([5, 6]), torch.tensor([True, False]), [torch.tensor([1, 9])], torch.tensor([10, 20]))
    tensor([ 5, 16])
    """
    if not input._spec.size:
        return input.clone()
    kept = values.masked_fill(mask.logical_not(), 0)
    return input.index_put(_in_range(input, indices), kept, accumulate=True)


# What is not zero


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that are not zero.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    check_tensor("nonzero", input)
    if type(input._array) is not ndarray:
        return nonzero(input._array.dynamic("nonzero"), as_tuple=as_tuple)
    if as_tuple:
        return tuple(wrap(p) for p in np.atleast_1d(input._array).nonzero())
    result = wrap(_places(input._array))
    if out is None:
        return result
    message = "nonzero: Expected out tensor to have scalar type Long but got scalar type {found}"
    return write_apart(out, "nonzero", (input,), dtypes.int64, lambda: result, message)


def _places(array):
    """An array of one row of indices for each element that is not zero."""
    places = np.atleast_1d(array).nonzero()
    return np.stack(places, 1) if array.ndim else np.zeros((len(places[0]), 0), np.int64)


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The indices of the elements that are not zero, in a result of `size` rows.

    >>> torch.nonzero_static(torch.tensor([0, 3, 0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    check_tensor("nonzero_static", input)
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if type(input._array) is not ndarray:
        return nonzero_static(input._array.dynamic("nonzero_static"), size=size, fill_value=fill_value)
    found = _places(input._array)[:size]
    result = np.full((size, input._array.ndim), fill_value, np.int64)
    result[: len(found)] = found
    return wrap(result) if out is None else fitting.store(out, wrap(result))


def argwhere(input):
    """The indices of the elements that are not zero.

    >>> torch.argwhere(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    return nonzero(input)


class Methods:
    """The methods of these operations."""

    gather, index_select, take, take_along_dim = gather, index_select, take, take_along_dim
    masked_select, nonzero, nonzero_static, argwhere = masked_select, nonzero, nonzero_static, argwhere
