"""Order statistics of many numbers: median, mode, quantile, and those that leave NaN out."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.choices import choosing
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.outs import store_parts
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.reduction import _overall_back
from tensorgrad.ops.results import return_type
from tensorgrad.ops.sorting import order_of, place_of

PUBLIC = {"": "median nanmedian mode quantile nanquantile"}


def _is_nan(x):
    return x != x


def _median_place(x, dim):
    """The index of the median along a dim; of the first NaN where there is one."""
    where = place_of(x, (x.shape[dim] - 1) // 2, dim)
    if x.dtype.kind in "fV":
        unordered = _is_nan(x)
        if unordered.any():
            first = np.argmax(unordered, dim, keepdims=True)
            where = np.where(unordered.any(dim, keepdims=True), first, where)
    return where


def _nanmedian_place(x, dim):
    """The index of the median of what is not NaN."""
    count = np.add.reduce(~_is_nan(x), axis=dim, keepdims=True, dtype=np.int64)
    return np.take_along_axis(order_of(x, dim), np.maximum(count - 1, 0) // 2, dim)


def _mode_place(x, dim):
    """The index of the last of the most frequent, and of several such of the smallest."""
    order = order_of(x, dim)
    ordered = np.moveaxis(np.take_along_axis(x, order, dim), dim, -1)
    starts = np.ones(ordered.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    places = np.arange(x.shape[dim])
    length = places - np.maximum.accumulate(np.where(starts, places, 0), -1)
    best = np.moveaxis(np.argmax(length, -1, keepdims=True), -1, dim)
    return np.take_along_axis(order, best, dim)


_median_at = choosing("median_dim", _median_place, "MedianBackward1")
_nanmedian_at = choosing("nanmedian_dim", _nanmedian_place, "NanmedianBackward1")
_mode_at = choosing("mode", _mode_place)


def _median_of_all(place):
    """The median of the dims, which are all of a tensor (or of a row of them)."""

    def kernel(x, dims):
        flat = x.reshape(*x.shape[: x.ndim - len(dims)], -1)
        return np.take_along_axis(flat, place(flat, -1), -1)[..., 0]

    return kernel


def _whole_median(name, place, node):
    return Primitive(
        name, _median_of_all(place), fresh=True, batch="dims", node=node, params=("dims",),
        rules={"x": lambda g, x, out, dims: _overall_back(g, x, out, dims)},
    )  # fmt: skip


_median_all = _whole_median("median", _median_place, "MedianBackward0")
_nanmedian_all = _whole_median("nanmedian", _nanmedian_place, "NanmedianBackward0")


def _middle(name, of_all, at):
    result = return_type(name)

    def function(input, dim=None, keepdim=False, *, out=None):
        check_tensor(name, input)
        spec = input._spec
        if spec.dtype.is_complex or spec.dtype is dtypes.bool_:
            raise NotImplementedError(f"\"median_cpu\" not implemented for '{spec.dtype.title}'")
        if dim is None:
            if not spec.size:
                value = input.new_full((), np.nan if spec.dtype.is_floating_point else np.iinfo(spec.dtype.numpy).min)
            else:
                value = of_all(input, tuple(range(len(spec.shape))))
            return value if out is None else fitting.store(out, value)
        return _at(name, input, dim, keepdim, out, at, result)

    function.__name__ = function.__qualname__ = name
    return fitting.with_axis(function)


def _at(name, input, dim, keepdim, out, at, result):
    """The form along one dim, with indices."""
    shape = input._spec.shape
    dim = dim_of(dim, len(shape))
    if shape and not shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    if out is not None:
        return store_parts(out, name, result(at(input.detach(), dim, keepdim)), (input,))
    return result(at(input, dim, keepdim))


median = _middle("median", _median_all, _median_at)
nanmedian = _middle("nanmedian", _nanmedian_all, _nanmedian_at)
median.__doc__ = """The middle one of all elements in order, or along a dimension with its index; of two, the lower.

    >>> torch.median(torch.tensor([3., 1., 2.]))
    tensor(2.)
    """
nanmedian.__doc__ = """The middle one of all elements in order that are not NaN, or along a dimension with its index.

    >>> torch.nanmedian(torch.tensor([3., torch.nan, 2.]))
    tensor(2.)
    """
_mode_result = return_type("mode")


def mode(input, dim=-1, keepdim=False, *, out=None):
    """The most frequent element along a dimension, and where it stands last; of several, the smallest.

    >>> torch.mode(torch.tensor([1, 2, 2, 3])).values
    tensor(2)
    """
    check_tensor("mode", input)
    if input._spec.dtype.is_complex:
        raise NotImplementedError(f"\"mode_cpu\" not implemented for '{input._spec.dtype.title}'")
    return _at("mode", input, dim, keepdim, out, _mode_at, _mode_result)


mode = fitting.with_axis(mode)

# Quantiles

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name, input, q, dim, keepdim, interpolation, leaves_nan_out):
    check_tensor(name, input)
    spec = input._spec
    if not spec.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if spec.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, fitting.Tensor):
        if len(q.shape) > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q._spec.dtype is not spec.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if q._spec.size and not fitting.certain(((q >= 0) & (q <= 1)).all()) and type(q._array) is np.ndarray:
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    else:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        q = input.new_tensor(q)
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    ndim = len(spec.shape)
    if dim is None:
        ordered, shape = input.flatten(), (1,) * ndim if keepdim else ()
    else:
        dim = dim_of(dim, ndim)
        ordered = input.movedim(dim, -1) if ndim else input.reshape(1)
        rest = tuple(ordered.shape)[:-1]
        shape = (*rest[:dim], 1, *rest[dim:]) if keepdim and ndim else rest
    ordered = ordered.sort(-1)[0]
    found = _at_ranks(ordered, _ranks(ordered, q.reshape(-1), leaves_nan_out), interpolation)
    return found.movedim(-1, 0).reshape(*q.shape, *shape)


def _ranks(ordered, q, leaves_nan_out):
    """Where the quantiles stand among the elements in order, as fractions."""
    last = ordered.shape[-1] - 1
    if leaves_nan_out:
        present = (ordered == ordered).sum(-1, keepdim=True)
        return (q * (present - 1)).clamp(min=0)
    unordered = (ordered != ordered).any(-1, keepdim=True)
    return (q * last).masked_fill(unordered, last)


def _at_ranks(ordered, ranks, interpolation):
    """The elements at fractional ranks."""
    if interpolation in ("lower", "higher", "nearest"):
        whole = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
        return ordered.gather(-1, whole.long())
    below = ranks.long()
    low, high = ordered.gather(-1, below), ordered.gather(-1, ranks.ceil().long())
    weights = ranks.new_full(ranks.shape, 0.5) if interpolation == "midpoint" else ranks - below
    return low.lerp(high, weights)


@takes_out
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-th quantiles of all elements or along a dimension.

    >>> torch.quantile(torch.tensor([0., 1., 2., 3.]), 0.5)
    tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@takes_out
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-th quantiles of the elements that are not NaN, of all or along a dimension.

    >>> torch.nanquantile(torch.tensor([0., 1., torch.nan, 2.]), 0.5)
    tensor(1.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


quantile, nanquantile = fitting.with_axis(quantile), fitting.with_axis(nanquantile)


class Methods:
    """The methods of these operations."""

    median, nanmedian, mode, quantile, nanquantile = median, nanmedian, mode, quantile, nanquantile
