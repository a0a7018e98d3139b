"""Sorting, the largest and smallest, order statistics along a dimension, and the different values of a tensor."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.precision import is_half
from tensorgrad.ops import fitting
from tensorgrad.ops.choices import chosen_back, chosen_moves
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.outs import store_parts, write_apart
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.results import return_type

PUBLIC = {"": "sort argsort msort topk kthvalue unique unique_consecutive"}
ndarray = np.ndarray


def sortable(x):
    """An array that NumPy sorts fast and with NaN last."""
    return x.astype(np.float32) if is_half(x.dtype) else x


def order_of(x, dim, descending=False):
    """The indices that sort along a dimension; equal ones stay in their order, NaN counts as the largest."""
    x = sortable(x)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)


def _sort_kernel(x, dim, descending):
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    order = order_of(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


_sort = Primitive(
    "sort", _sort_kernel, count=True, uses=(1,), fresh=True, batch="dims",
    pullback=lambda g, x_spec, out, dim: chosen_back(g, x_spec, out, dim),
    pushforward=lambda t, out, dim: chosen_moves(t, out, dim),
)  # fmt: skip
_argsort = Primitive("argsort", lambda x, dim, descending: _sort_kernel(x, dim, descending)[1], batch="dims")
_sort_result = return_type("sort")


def _check_sortable(input):
    check_tensor("sort", input)
    if input._spec.dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")


def sort(input, dim=-1, descending=False, stable=False, *, out=None):
    """The elements in order along a dimension, and where each came from (equal ones keep their order).

    >>> torch.sort(torch.tensor([3., 1., 2.]))
    torch.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))
    """
    _check_sortable(input)
    dim = dim_of(dim, len(input._spec.shape))
    if out is not None:
        return store_parts(out, "sort", _sort_result(_sort(input.detach(), dim, descending)), (input,), exact=True)
    return _sort_result(_sort(input, dim, descending))


def argsort(input, dim=-1, descending=False, *, stable=False, out=None):
    """The indices that sort a tensor along a dimension.

    >>> torch.argsort(torch.tensor([3., 1., 2.]))
    tensor([1, 2, 0])
    """
    _check_sortable(input)
    dim = dim_of(dim, len(input._spec.shape))
    result = _argsort(input, dim, descending)
    return result if out is None else fitting.store(out, result)


def msort(input, *, out=None):
    """The elements in order along the first dimension.

    >>> torch.msort(torch.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    _check_sortable(input)
    if out is None:
        return sort(input, 0)[0]
    return write_apart(out, "msort", (input,), input._spec.dtype, lambda: sort(input, 0)[0])


# The largest, the smallest, the k-th


def _topk_kernel(x, k, dim, largest):
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    key, n = sortable(x), x.shape[dim]
    if 8 * k >= n or not k:
        where = np.take(order_of(x, dim, largest), np.arange(k), dim)
    else:
        part = np.argpartition(key, n - k if largest else k - 1 if k else 0, dim)
        part = np.take(part, range(n - k, n) if largest else range(k), dim)
        where = np.take_along_axis(part, order_of(np.take_along_axis(key, part, dim), dim, largest), dim)
    return np.take_along_axis(x, where, dim), where


_topk = Primitive(
    "topk", _topk_kernel, count=True, uses=(1,), fresh=True, batch="dims",
    pullback=lambda g, x_spec, out, dim: chosen_back(g, x_spec, out, dim),
    pushforward=lambda t, out, dim: chosen_moves(t, out, dim),
)  # fmt: skip
_topk_result = return_type("topk")


def topk(input, k, dim=-1, largest=True, sorted=True, *, out=None):
    """The k largest (or smallest) elements along a dimension, in order, and where they stand.

    >>> torch.topk(torch.tensor([3., 1., 2.]), 2).values
    tensor([3., 2.])
    """
    check_tensor("topk", input)
    spec = input._spec
    if not isinstance(k, int):
        raise TypeError(f"topk(): argument 'k' (position 2) must be int, not {fitting.kind_name(k)}")
    dim = dim_of(dim, len(spec.shape))
    if not 0 <= k <= (spec.shape[dim] if spec.shape else 1):
        raise RuntimeError("selected index k out of range")
    if spec.dtype.is_complex:
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if spec.dtype is dtypes.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if out is not None:
        parts = _topk_result(_topk(input.detach(), k, dim, bool(largest)))
        return store_parts(out, "topk", parts, (input,), exact=True)
    return _topk_result(_topk(input, k, dim, bool(largest)))


def place_of(x, k, dim):
    """The index of the k-th smallest (from 0) along a dimension, which is kept."""
    key = sortable(x)
    order = np.argpartition(key, k, dim) if x.shape[dim] > 512 else np.argsort(key, dim, kind="stable")
    return np.take(order, [k], dim)


def _kth_kernel(x, k, dim, keepdim):
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    where = place_of(x, k - 1, dim)
    values = np.take_along_axis(x, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


_kthvalue = Primitive(
    "kthvalue", _kth_kernel, count=True, uses=(1,), fresh=True, batch="dims",
    pullback=lambda g, x_spec, out, dim, keepdim: chosen_back(g, x_spec, out, dim, keepdim),
    pushforward=lambda t, out, dim, keepdim: chosen_moves(t, out, dim, keepdim),
)  # fmt: skip
_kthvalue_result = return_type("kthvalue")


def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest element along a dimension (counted from 1), and where it stands.

    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2)
    torch.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(2))
    """
    check_tensor("kthvalue", input)
    spec = input._spec
    dim = dim_of(dim, len(spec.shape))
    n = spec.shape[dim] if spec.shape else 1
    if not n:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    if spec.dtype.is_complex or spec.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"kthvalue_cpu\" not implemented for '{spec.dtype.title}'")
    if out is not None:
        from tensorgrad.ops.outs import apart

        parts = _kthvalue_result(_kthvalue(input.detach(), k, dim, keepdim))
        for target, part in zip(out, parts, strict=False):
            apart(target, (input,), part._array.shape)
        return store_parts(out, "kthvalue", parts, (input,))
    return _kthvalue_result(_kthvalue(input, k, dim, keepdim))


# Different values


def _distinct(name, input, dim, return_inverse, return_counts, find):
    """What unique and unique_consecutive have in common; find(rows) gives (kept places, inverse, counts)."""
    check_tensor(name, input)
    if type(input._array) is not ndarray:
        input = input._array.dynamic(name)
        return _distinct(name, input, dim, return_inverse, return_counts, find)
    if input._spec.dtype.is_complex:
        raise NotImplementedError(f"\"unique\" not implemented for '{input._spec.dtype.title}'")
    x = input._array
    if dim is None:
        first, inverse, counts = find(sortable(x.reshape(-1, 1)))
        values, inverse = x.reshape(-1)[first], inverse.reshape(x.shape)
    else:
        dim = dim_of(dim, x.ndim)
        if x.size == 0 and any(n == 0 for d, n in enumerate(x.shape) if d != dim):
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
        if not x.ndim:
            x = x.reshape(1)
        first, inverse, counts = find(
            sortable(np.moveaxis(x, dim, 0).reshape(x.shape[dim], x.size // max(x.shape[dim], 1)))
        )
        values = np.take(x, first, dim)
    results = [wrap(values)]
    if return_inverse:
        results.append(wrap(inverse.astype(np.int64)))
    if return_counts:
        results.append(wrap(counts.astype(np.int64)))
    return results[0] if len(results) == 1 else tuple(results)


def _runs(rows):
    """(first place of each run of equal rows, number of its run for each row, lengths)."""
    n = len(rows)
    starts = np.ones(n, bool)
    if n:
        starts[1:] = (rows[1:] != rows[:-1]).any(1)
    first = starts.nonzero()[0]
    return first, starts.cumsum() - 1, np.diff(np.append(first, n))


def _sorted_runs(rows):
    """The same of the rows in order."""
    if rows.shape[1] == 1:
        order = np.argsort(rows[:, 0], kind="stable")
    else:
        order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    first, numbers, counts = _runs(rows[order])
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = numbers
    return order[first], inverse, counts


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order, or the different slices of a dimension.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _distinct("unique", input, dim, return_inverse, return_counts, _sorted_runs)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without those that equal the one before, or the slices of a dimension.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _distinct("unique_consecutive", input, dim, return_inverse, return_counts, _runs)


class Methods:
    """The methods of these operations."""

    sort, argsort, msort, topk, kthvalue = sort, argsort, msort, topk, kthvalue
    unique, unique_consecutive = unique, unique_consecutive
