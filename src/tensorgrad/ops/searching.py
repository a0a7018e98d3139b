"""Finding values: where they belong in sorted ones, and whether they are among others."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor, is_number, wrong_arguments
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.sorting import sortable

PUBLIC = {"": "searchsorted bucketize isin"}
ndarray = np.ndarray


def _search(line, values, right):
    """Where values belong in sorted lines: one for all, or one for each row of values (halved until found)."""
    line, values = sortable(line), sortable(values)
    if line.ndim == 1:
        places = np.searchsorted(line, values, "right" if right else "left")
        return np.where(values != values, line.size, places) if values.dtype.kind == "f" else np.asarray(places)
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, line.shape[-1], np.int64)
    for _ in range(int(line.shape[-1]).bit_length()):
        middle = (low + high) >> 1
        found = np.take_along_axis(line, np.minimum(middle, line.shape[-1] - 1), -1)
        open_ = low < high
        further = open_ & ~(found > values if right else found >= values)
        low = np.where(further, middle + 1, low)
        high = np.where(open_ & ~further, middle, high)
    return low


def _rows_of_lines(apply, values, batched, params, size):
    """vmap: a line for each row makes the values of each row one row."""
    line, given = values
    if not batched[0] and len(line._spec.shape) == 1:
        return apply((line, given), params)
    line = line if batched[0] else line.expand(size, *line.shape)
    given = given if batched[1] else given.expand(size, *given.shape)
    if len(line._spec.shape) > 2:
        return apply((line, given), params)
    return apply((line, given.reshape(size, -1)), params).reshape(given.shape)


_searchsorted = Primitive(
    "searchsorted", lambda line, values, right, kind: _search(line, values, right).astype(kind, copy=False), arity=2,
    params=("right", "kind"), batch=_rows_of_lines,
)  # fmt: skip


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where values belong in sorted ones: the index before which each keeps the order.

    >>> torch.searchsorted(torch.tensor([1., 3., 5.]), torch.tensor([3., 6.]))
    tensor([1, 3])
    """
    check_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    scalar = is_number(input)
    if scalar:
        input = wrap(np.asarray(input))
        if sorted_sequence._spec.dtype.category >= input._spec.dtype.category:
            input = input.to(sorted_sequence._spec.dtype)
    check_tensor("searchsorted", input, "self", 2)
    line, values = sorted_sequence._spec, input._spec
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    right = right or side == "right"
    if sorter is not None:
        _check_sorter(sorted_sequence, sorter)
    if len(line.shape) != 1 and (not values.shape or not line.shape):
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(line.shape)}) and input value's dim({len(values.shape)}) numel({values.size})"
        )
    if len(line.shape) != 1 and line.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(line.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    if out is not None and out._spec.dtype is not (dtypes.int32 if out_int32 else dtypes.int64):
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
            f"whether out_int32 flag is True, but we got output tensor's dtype {out._spec.dtype.title} and out_int32 flag is "
            f"{out_int32}"
        )
    for dtype in (line.dtype, values.dtype):
        if dtype.is_complex or dtype is dtypes.bool_:
            raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{dtype.title}'")
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    result = _searchsorted(sorted_sequence, input, right, np.int32 if out_int32 else np.int64)
    return result if out is None else fitting.store(out, result)


def _check_sorter(line, sorter):
    check_tensor("searchsorted", sorter, "sorter")
    if sorter.shape != line.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(line.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter._spec.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter._spec.dtype.title}"
        )
    array = sorter._array
    if type(array) is ndarray and array.size and (array.min() < 0 or array.max() >= array.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the bucket between sorted boundaries that each value falls into.

    >>> torch.bucketize(torch.tensor([3., 6.]), torch.tensor([1., 3., 5.]))
    tensor([1, 3])
    """
    check_tensor("bucketize", boundaries, "boundaries", 2)
    if len(boundaries.shape) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries.shape)})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# Among others


def _isin_rows(apply, values, batched, params, size):
    """vmap: where every row has others of its own, all are compared."""
    elements, others = values
    if not batched[1]:
        return apply((elements, others), params)
    if not batched[0]:
        elements = elements.expand(size, *elements.shape)
    one = elements.unsqueeze(-1)
    found = (one == others.reshape(size, *(1,) * (len(elements.shape) - 1), -1)).any(-1)
    return found.logical_not() if params[0] else found


_isin = Primitive(
    "isin", lambda elements, others, invert: np.isin(sortable(elements), sortable(others), invert=invert), arity=2,
    params=("invert",), batch=_isin_rows,
)  # fmt: skip


def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Whether each element is among others.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    if not isinstance(elements, fitting.Tensor) and not isinstance(test_elements, fitting.Tensor):
        raise wrong_arguments("isin", (elements, test_elements))
    elements, test_elements = (wrap(np.asarray(v)) if is_number(v) else v for v in (elements, test_elements))
    check_tensor("isin", elements, "elements")
    check_tensor("isin", test_elements, "test_elements", 2)
    for tensor in (elements, test_elements):
        if tensor._spec.dtype.is_complex or tensor._spec.dtype is dtypes.bool_:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {tensor._spec.dtype.title}")
    result = _isin(elements, test_elements, bool(invert))
    return result if out is None else fitting.store(out, result)
