"""Reductions: many numbers become few. Sums, means, products, extremes, and truth.

Deviations and quantiles are in statistics.py, running sums in cumulative.py, softmax in softmax.py.
"""

import builtins

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.precision import is_half
from tensorgrad.backends.summing import sums
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.choices import choosing
from tensorgrad.ops.dims import count_along, kept, reduced_dims, spread
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.outs import store_parts
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.results import return_type


def _sum_kernel(x, dims, keepdim):
    if is_half(x.dtype):
        return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=np.float32).astype(x.dtype)
    return sums(x, dims, keepdim)


_sum_all = Primitive(
    "sum", _sum_kernel, transpose=lambda g, x, dims, keepdim: spread(g, x, dims), shown={"dims": "dim"}, batch="dims"
)
_sum_dims = _sum_all.variant("sum_dim", "SumBackward1")


def _in_dtype(input, dtype, name):
    """The input converted as `dtype=` asks."""
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {fitting.kind_name(dtype)}")
    return input if dtype is input._spec.dtype else input.to(dtype)


def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of all elements, or along dimensions.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), 0)
    tensor([4., 6.])
    """
    dims = reduced_dims(input, dim, "sum")
    if dtype is None and input._spec.dtype.category < FLOAT:
        dtype = dtypes.int64
    if dtype is not None:
        input = _in_dtype(input, dtype, "sum")
    primitive = _sum_all if dim is None else _sum_dims
    if out is not None:
        return fitting.write_out(out, "sum", (input,), lambda: primitive(input, dims, keepdim))
    return primitive(input, dims, keepdim)


def mean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of all elements, or along dimensions.

    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]), 0)
    tensor([2., 3.])
    """
    dims = reduced_dims(input, dim, "mean")
    if dtype is not None:
        input = _in_dtype(input, dtype, "mean")
    if input._spec.dtype.category < FLOAT:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input._spec.dtype.title}"
        )
    primitive = _mean_all if dim is None else _mean_dims
    if out is not None:
        return fitting.write_out(out, "mean", (input,), lambda: primitive(input, dims, keepdim))
    return primitive(input, dims, keepdim)


def _mean_kernel(x, dims, keepdim):
    total = _sum_kernel(x if x.dtype.itemsize != 2 else x.astype(np.float32), dims, keepdim)
    n = count_along(x.shape, dims)
    if not n:
        return np.full(np.shape(total), np.nan, x.dtype)
    return (total / n).astype(x.dtype, copy=False)


_mean_all = Primitive(
    "mean", _mean_kernel, shown={"dims": "dim"}, batch="dims",
    transpose=lambda g, x, dims, keepdim: spread(g / builtins.max(count_along(x.shape, dims), 1), x, dims),
)  # fmt: skip
_mean_dims = _mean_all.variant("mean_dim", "MeanBackward1")

# Products


def _prod_kernel(x, dims, keepdim):
    if is_half(x.dtype):
        return np.multiply.reduce(x, axis=dims, keepdims=keepdim, dtype=np.float32).astype(x.dtype)
    return np.multiply.reduce(x, axis=dims, keepdims=keepdim, dtype=x.dtype)


def _prod_back(g, x, out, dims):
    """g * out / x where that is safe; where a factor is zero, the product of all others."""
    shape = kept(x.shape, dims)
    g, out = g.reshape(shape), out.reshape(shape)
    if fitting.certain((x != 0).all()):
        return g * (out / x).conj()
    if not dims:
        return g
    moved = x.movedim(dims, tuple(range(-len(dims), 0))).flatten(len(x.shape) - len(dims))
    n = moved.shape[-1]
    if not n:
        return g.expand(x.shape)
    ones = moved.new_ones((*moved.shape[:-1], 1))
    before = _joined([ones, moved[..., : n - 1]]).cumprod(-1)
    after = _joined([ones, moved[..., 1:].flip(-1)]).cumprod(-1).flip(-1)
    others = (before * after).conj()
    rest = [n for i, n in enumerate(x.shape) if i not in dims]
    others = others.reshape(*rest, *(x.shape[d] for d in dims)).movedim(tuple(range(-len(dims), 0)), dims)
    return g * others


def _joined(parts):
    from tensorgrad.ops.joining import cat

    return cat(parts, -1)


_prod = Primitive(
    "prod", _prod_kernel, on_tensors=True, fresh=True, batch="dims", shown={"dims": "dim"},
    rules={"x": lambda g, x, out, dims: _prod_back(g, x, out, dims)},
)  # fmt: skip
_prod_dim = _prod.variant("prod_dim", "ProdBackward1")


def prod(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The product of all elements, or along a dimension.

    >>> torch.prod(torch.tensor([2., 3., 4.]))
    tensor(24.)
    """
    check_tensor("prod", input)
    if isinstance(dim, (tuple, list)):
        raise fitting.wrong_arguments("prod", (input, dim))
    dims = reduced_dims(input, dim, "prod")
    if dtype is None and input._spec.dtype.category < FLOAT:
        dtype = dtypes.int64
    if dtype is not None:
        input = _in_dtype(input, dtype, "prod")
    primitive = _prod if dim is None else _prod_dim
    if out is not None:
        return fitting.write_out(out, "prod", (input,), lambda: primitive(input, dims, keepdim))
    return primitive(input, dims, keepdim)


# Extremes. Over all elements or several dims a tie shares the gradient; along one dim the chosen index has it.


def _extreme_back(g, x, out, dims):
    shape = kept(x.shape, dims)
    chosen = x == xp.reshape(out, shape)
    return xp.reshape(g, shape) * chosen / xp.sum_kept(chosen, dims, g)


def _overall_back(g, x, out, dims):
    """The same where NaN is the extreme: every NaN has a share."""
    top = xp.reshape(out, kept(x.shape, dims))
    chosen = (x == top) | ((x != x) & (top != top))
    return xp.reshape(g, top.shape) * chosen / xp.sum_kept(chosen, dims, g)


@number
def sum_kept(chosen, dims, like):
    if is_half(like.dtype):
        return np.add.reduce(chosen, axis=dims, keepdims=True, dtype=np.float32).astype(like.dtype)
    return np.add.reduce(chosen, axis=dims, keepdims=True, dtype=like.dtype)


tensors["sum_kept"] = lambda chosen, dims, like: (
    chosen.to(like.dtype).sum(dims, keepdim=True) if dims else chosen.to(like.dtype)
)


def _extreme_along(ufunc):
    def kernel(x, dims, keepdim):
        return ufunc.reduce(x, axis=dims, keepdims=keepdim)

    return kernel


_shared = lambda g, x, out, dims: _extreme_back(g, x, out, dims)
_amax = Primitive(
    "amax", _extreme_along(np.maximum), fresh=True, batch="dims", rules={"x": _shared}, shown={"dims": "dim"}
)
_amin = Primitive(
    "amin", _extreme_along(np.minimum), fresh=True, batch="dims", rules={"x": _shared}, shown={"dims": "dim"}
)
_overall = {"x": lambda g, x, out, dims: _overall_back(g, x, out, dims)}
_max_all = Primitive(
    "max_all", _extreme_along(np.maximum), fresh=True, batch="dims", rules=_overall, node="MaxBackward1"
)
_min_all = Primitive(
    "min_all", _extreme_along(np.minimum), fresh=True, batch="dims", rules=_overall, node="MinBackward1"
)


_max_at = choosing("max", lambda x, dim: x.argmax(dim, keepdims=True))
_min_at = choosing("min", lambda x, dim: x.argmin(dim, keepdims=True))


def _extreme(name, over_all, at, result_class, pair):
    def function(input, dim=None, keepdim=False, *, other=None, out=None):
        check_tensor(name, input)
        if isinstance(dim, fitting.Tensor):
            dim, other = None, dim
        if other is not None:
            return pair(input, other, out=out)
        if dim is None:
            if input._spec.dtype.is_complex:
                raise NotImplementedError(f"\"{name}_all\" not implemented for '{input._spec.dtype.title}'")
            if not input._spec.size:
                raise RuntimeError(EMPTY.format(name=name))
            dims = tuple(range(len(input._spec.shape)))
            if out is not None:
                return fitting.write_out(out, name, (input,), lambda: over_all(input, dims, False))
            return over_all(input, dims, False)
        if isinstance(dim, (tuple, list)):
            raise fitting.wrong_arguments(name, (input, dim))
        dim = dim_of(dim, len(input._spec.shape))
        if input._spec.dtype.is_complex:
            raise RuntimeError(f"{name}(): does not support complex input")
        _not_empty(name, input, (dim,))
        if out is not None:
            return store_parts(out, name, result_class(at(input.detach(), dim, keepdim)), (input,))
        return result_class(at(input, dim, keepdim))

    function.__name__ = function.__qualname__ = name
    return function


EMPTY = (
    "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
    "argument."
)


def _not_empty(name, input, dims):
    """Raise where a dimension that has no elements is to give one."""
    for dim in dims:
        if input._spec.shape and not input._spec.shape[dim]:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _pair(name):
    def function(*args, **kwargs):
        from tensorgrad.ops import comparison

        return getattr(comparison, name)(*args, **kwargs)

    return function


max = _extreme("max", _max_all, _max_at, return_type("max"), _pair("maximum"))
min = _extreme("min", _min_all, _min_at, return_type("min"), _pair("minimum"))
max.__doc__ = """The largest element; along a dimension, with its index; of two tensors, element by element.

    >>> torch.max(torch.tensor([[1., 5.], [3., 2.]]), 1).indices
    tensor([1, 0])
    """
min.__doc__ = """The smallest element; along a dimension, with its index; of two tensors, element by element.

    >>> torch.min(torch.tensor([[1., 5.], [3., 2.]]), 1).values
    tensor([1., 2.])
    """


def _shared_extreme(primitive, name):
    def function(input, dim=(), keepdim=False, *, out=None):
        dims = reduced_dims(input, dim, name)
        if input._spec.dtype.is_complex:
            raise NotImplementedError(f"\"{name[1:]}_values_cpu\" not implemented for '{input._spec.dtype.title}'")
        if dim == () and not input._spec.size:
            raise RuntimeError(EMPTY.format(name=name))
        _not_empty(name, input, dims)
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dims, keepdim))
        return primitive(input, dims, keepdim)

    function.__name__ = function.__qualname__ = name
    return function


amax, amin = _shared_extreme(_amax, "amax"), _shared_extreme(_amin, "amin")
amax.__doc__ = """The largest element of all or along dimensions; ties share the gradient.

    >>> torch.amax(torch.tensor([[1., 5.], [3., 2.]]), 0)
    tensor([3., 5.])
    """
amin.__doc__ = """The smallest element of all or along dimensions; ties share the gradient.

    >>> torch.amin(torch.tensor([[1., 5.], [3., 2.]]), 0)
    tensor([1., 2.])
    """


def _arg(name):
    primitive = Primitive(name, _where(getattr(np, name)))

    def function(input, dim=None, keepdim=False, *, out=None):
        check_tensor(name, input)
        spec = input._spec
        if spec.dtype.is_complex or spec.dtype.category == 0:
            raise RuntimeError(f"{name}(): does not support {'complex' if spec.dtype.is_complex else 'bool'} input")
        if dim is not None:
            dim = dim_of(dim, len(spec.shape))
            _not_empty(name, input, (dim,))
        elif not spec.size:
            raise IndexError(EMPTY.format(name=name).partition(" Specify")[0])
        result = primitive(input, dim if spec.shape else None, keepdim)
        return result if out is None else fitting.store(out, result)

    function.__name__ = function.__qualname__ = name
    return function


def _where(choose):
    def kernel(x, dim, keepdim):
        return choose(x, axis=dim, keepdims=keepdim)

    return kernel


argmax, argmin = _arg("argmax"), _arg("argmin")
argmax.__doc__ = """The index of the largest element.

    >>> torch.argmax(torch.tensor([1., 5., 3.]))
    tensor(1)
    """
argmin.__doc__ = """The index of the smallest element.

    >>> torch.argmin(torch.tensor([1., 5., 3.]))
    tensor(0)
    """


def _truth(kernel, name):
    primitive = Primitive(name, lambda x, dims, keepdim: kernel(x != 0, axis=dims, keepdims=keepdim), batch="dims")

    def function(input, dim=None, keepdim=False, *, out=None):
        dims = reduced_dims(input, dim, name) if dim != () else ()
        result = primitive(input, dims, keepdim)
        if input._spec.dtype is dtypes.uint8:
            result = result.to(dtypes.uint8)
        return result if out is None else fitting.store(out, result)

    function.__name__ = function.__qualname__ = name
    return function


any, all = _truth(np.logical_or.reduce, "any"), _truth(np.logical_and.reduce, "all")
any.__doc__ = """Whether any element is non-zero.

    >>> torch.any(torch.tensor([False, True]))
    tensor(True)
    """
all.__doc__ = """Whether all elements are non-zero.

    >>> torch.all(torch.tensor([False, True]))
    tensor(False)
    """


sum, mean, prod, max, min, amax, amin, argmax, argmin, any, all = map(
    fitting.with_axis, (sum, mean, prod, max, min, amax, amin, argmax, argmin, any, all)
)


class ReductionMixin:
    """Reductions as methods."""

    __slots__ = ()

    sum, mean, prod = sum, mean, prod
    max, min, amax, amin, argmax, argmin, any, all = max, min, amax, amin, argmax, argmin, any, all
