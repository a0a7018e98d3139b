"""Reductions: many numbers become few. Sums, products, extremes, means, deviations, softmax."""

import builtins
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of
from tensorgrad.ops.primitive import Primitive


def _kept(shape, dims):
    """The shape with the reduced dimensions kept as 1."""
    return tuple(1 if i in dims else n for i, n in enumerate(shape))


def _spread(g, x, dims):
    """The gradient of a sum: the same number for all that was summed."""
    return xp.expand(xp.reshape(g, _kept(x.shape, dims)), x.shape)


def _sum_kernel(x, dims, keepdim):
    if x.dtype.kind == "V" or (x.dtype.itemsize == 2 and x.dtype.kind == "f"):
        return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=np.float32).astype(x.dtype)
    return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=x.dtype)


_sum_all = Primitive(
    "sum", _sum_kernel, transpose=lambda g, x, dims, keepdim: _spread(g, x, dims), shown={"dims": "dim"}
)
_sum_dims = _sum_all.variant("sum_dim", "SumBackward1")


def _reduced(input, dim, name):
    """The dims of a reduction, and whether the user named any."""
    check_tensor(name, input)
    if isinstance(dim, str) or (isinstance(dim, (tuple, list)) and builtins.any(isinstance(d, str) for d in dim)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got a dim of {dim!r}: this tensor has no names"
        )
    if dim is not None and not isinstance(dim, (int, tuple, list)) and not hasattr(dim, "__index__"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(input).__name__}, {type(dim).__name__})"
        )
    return dims_of(dim, len(input._spec.shape), name)


def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of all elements, or along dimensions.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), 0)
    tensor([4., 6.])
    """
    dims = _reduced(input, dim, "sum")
    if dtype is None and input._spec.dtype.category < FLOAT:
        dtype = dtypes.int64
    if dtype is not None and dtype is not input._spec.dtype:
        input = input.to(dtype)
    primitive = _sum_all if dim is None else _sum_dims
    if out is not None:
        return fitting.write_out(out, "sum", (input,), lambda: primitive(input, dims, keepdim))
    return primitive(input, dims, keepdim)


def mean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of all elements, or along dimensions.

    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]), 0)
    tensor([2., 3.])
    """
    dims = _reduced(input, dim, "mean")
    if dtype is not None and dtype is not input._spec.dtype:
        input = input.to(dtype)
    if input._spec.dtype.category < FLOAT:
        raise RuntimeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {input._spec.dtype.title}"
        )
    primitive = _mean_all if dim is None else _mean_dims
    if out is not None:
        return fitting.write_out(out, "mean", (input,), lambda: primitive(input, dims, keepdim))
    return primitive(input, dims, keepdim)


def _count(shape, dims):
    return math.prod(shape[d] for d in dims)


def _mean_kernel(x, dims, keepdim):
    total = _sum_kernel(x if x.dtype.itemsize != 2 else x.astype(np.float32), dims, keepdim)
    n = _count(x.shape, dims)
    if not n:
        return np.full(np.shape(total), np.nan, x.dtype)
    return (total / n).astype(x.dtype, copy=False)


_mean_all = Primitive(
    "mean", _mean_kernel, transpose=lambda g, x, dims: _spread(g / builtins.max(_count(x.shape, dims), 1), x, dims)
)
_mean_dims = _mean_all.variant("mean_dim", "MeanBackward1")


def _prod_back(g, x, out, dims):
    """g * out / x where that is safe; where a factor is zero, the product of all others."""
    shape = _kept(x.shape, dims)
    g, out = g.reshape(shape), out.reshape(shape)
    if fitting.certain((x != 0).all()):
        return (g * out / x).conj() if x.is_complex() else g * out / x
    moved = x.movedim(dims, tuple(range(-len(dims), 0))).flatten(len(x.shape) - len(dims)) if dims else x.reshape(1)
    n = moved.shape[-1]
    ones = moved.new_ones((*moved.shape[:-1], 1))
    before = wrap_cat([ones, moved[..., : n - 1]]).cumprod(-1)
    after = wrap_cat([ones, moved[..., 1:].flip(-1)]).cumprod(-1).flip(-1)
    others = (before * after).conj()
    if dims:
        kept = [n for i, n in enumerate(x.shape) if i not in dims]
        others = others.reshape(*kept, *(x.shape[d] for d in dims)).movedim(tuple(range(-len(dims), 0)), dims)
    return g * others.reshape(x.shape)


def wrap_cat(parts):
    from tensorgrad.ops.shape import cat

    return cat(parts, -1)


_prod = Primitive(
    "prod", lambda x, dims, keepdim: np.multiply.reduce(x, axis=dims, keepdims=keepdim, dtype=x.dtype), on_tensors=True, fresh=True,
    rules={"x": lambda g, x, out, dims: _prod_back(g, x, out, dims)},
)  # fmt: skip


def prod(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The product of all elements, or along a dimension.

    >>> torch.prod(torch.tensor([2., 3., 4.]))
    tensor(24.)
    """
    dims = _reduced(input, dim, "prod")
    if dtype is None and input._spec.dtype.category < FLOAT:
        dtype = dtypes.int64
    if dtype is not None and dtype is not input._spec.dtype:
        input = input.to(dtype)
    if out is not None:
        return fitting.write_out(out, "prod", (input,), lambda: _prod(input, dims, keepdim))
    return _prod(input, dims, keepdim)


_cumsum = Primitive(
    "cumsum", lambda x, dim: np.add.accumulate(x, dim, dtype=x.dtype) if x.ndim else x.copy(),
    transpose=lambda g, dim: xp.cumsum_back(g, dim), fresh=True,
)  # fmt: skip


@number
def cumsum_back(g, dim):
    return np.flip(np.add.accumulate(np.flip(g, dim), dim), dim) if g.ndim else g


tensors["cumsum_back"] = lambda g, dim: _cumsum(g.flip(dim), dim).flip(dim) if g.shape else g
_cumprod = Primitive(
    "cumprod", lambda x, dim: np.multiply.accumulate(x, dim, dtype=x.dtype) if x.ndim else x.copy(), on_tensors=True, fresh=True,
    rules={"x": lambda g, x, y, dim: _cumprod_back(g, x, y, dim)},
)  # fmt: skip


def _cumprod_back(g, x, y, dim):
    if not x.shape:
        return g
    if fitting.certain((x != 0).all()):
        return cumsum_back_tensor(g * y.conj(), dim) / x.conj()
    n, total = x.shape[dim], []
    for i in range(n):  # with zeros: the derivative of every later product with respect to x[i], one by one
        ones = x.narrow(dim, i, 1) * 0 + 1
        head = x.narrow(dim, 0, i).prod(dim, keepdim=True) if i else ones
        tail = _cumprod(wrap_cat_dim([ones, x.narrow(dim, i + 1, n - i - 1)], dim), dim)
        total.append((g.narrow(dim, i, n - i) * (head * tail).conj()).sum(dim, keepdim=True))
    return wrap_cat_dim(total, dim)


def wrap_cat_dim(parts, dim):
    from tensorgrad.ops.shape import cat

    return cat(parts, dim)


def cumsum_back_tensor(g, dim):
    return tensors["cumsum_back"](g, dim)


def _cumulative(primitive, name):
    def function(input, dim, *, dtype=None, out=None):
        check_tensor(name, input)
        if dtype is None and input._spec.dtype.category < FLOAT:
            dtype = dtypes.int64
        if dtype is not None and dtype is not input._spec.dtype:
            input = input.to(dtype)
        dim = dim_of(dim, len(input._spec.shape))
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dim))
        return primitive(input, dim)

    function.__name__ = function.__qualname__ = name
    return function


cumsum, cumprod = _cumulative(_cumsum, "cumsum"), _cumulative(_cumprod, "cumprod")
cumsum.__doc__ = """The running sum along a dimension.

    >>> torch.cumsum(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """
cumprod.__doc__ = """The running product along a dimension.

    >>> torch.cumprod(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """

# Extremes. Over all elements or several dims a tie shares the gradient; along one dim the chosen index has it.


def _extreme_back(g, x, out, dims):
    shape = _kept(x.shape, dims)
    chosen = x == xp.reshape(out, shape)
    return xp.reshape(g, shape) * chosen / xp.sum_kept(chosen, dims, g)


@number
def sum_kept(chosen, dims, like):
    return np.add.reduce(chosen, axis=dims, keepdims=True, dtype=like.dtype)


tensors["sum_kept"] = lambda chosen, dims, like: (
    chosen.to(like.dtype).sum(dims, keepdim=True) if dims else chosen.to(like.dtype)
)
_amax = Primitive("amax", lambda x, dims, keepdim: np.maximum.reduce(x, axis=dims, keepdims=keepdim), fresh=True,
                  rules={"x": lambda g, x, out, dims: _extreme_back(g, x, out, dims)})  # fmt: skip
_amin = Primitive("amin", lambda x, dims, keepdim: np.minimum.reduce(x, axis=dims, keepdims=keepdim), fresh=True,
                  rules={"x": lambda g, x, out, dims: _extreme_back(g, x, out, dims)})  # fmt: skip
_max_all, _min_all = _amax.variant("max_all", "MaxBackward1"), _amin.variant("min_all", "MinBackward1")


def _extreme_at(choose, name):
    """The extreme along one dim with its index, as two outputs."""

    def kernel(x, dim, keepdim):
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        where = np.expand_dims(choose(x, dim), dim)
        values = np.take_along_axis(x, where, dim)
        return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))

    def back(g, x_spec, out, dim, keepdim):
        g, where = g[0], out[1]
        if g is None:
            return None
        if not x_spec.shape:
            return g
        if not keepdim:
            g, where = xp.unsqueeze(g, dim), xp.unsqueeze(where, dim)
        return xp.scatter_zeros(g, where, x_spec, dim)

    return Primitive(name, kernel, rules={"x": back}, count=True, fresh=True, node=name.capitalize()[:3] + "Backward0")


_max_at, _min_at = _extreme_at(np.argmax, "max"), _extreme_at(np.argmin, "min")


class values_indices(tuple):
    """A result with fields `values` and `indices`."""

    __slots__ = ()
    kind = "values_indices"

    def __new__(cls, pair):
        return super().__new__(cls, pair)

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __repr__(self):
        return f"torch.return_types.{self.kind}(\nvalues={self[0]!r},\nindices={self[1]!r})"


def return_type(kind):
    """The class of the named pair that `kind` returns."""
    return type(kind, (values_indices,), {"kind": kind, "__slots__": ()})


_max_result, _min_result = return_type("max"), return_type("min")


def _extreme(name, over_all, at, result_class, pair):
    def function(input, dim=None, keepdim=False, *, other=None, out=None):
        check_tensor(name, input)
        if isinstance(dim, fitting.Tensor):
            dim, other = None, dim
        if other is not None:
            return pair(input, other, out=out)
        if input._spec.dtype.is_complex:
            raise NotImplementedError(f"\"{name}\" not implemented for '{input._spec.dtype.title}'")
        if dim is None:
            if not input._spec.size:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
                )
            return over_all(input, tuple(range(len(input._spec.shape))), False)
        dim = dim_of(dim, len(input._spec.shape))
        if input._spec.shape and not input.shape[dim]:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        if out is not None:
            with_grad = at(input.detach(), dim, keepdim)
            return result_class([fitting.store(o, r) for o, r in zip(out, with_grad, strict=True)])
        return result_class(at(input, dim, keepdim))

    function.__name__ = function.__qualname__ = name
    return function


def _pair(name):
    def function(*args, **kwargs):
        from tensorgrad.ops import comparison

        return getattr(comparison, name)(*args, **kwargs)

    return function


max = _extreme("max", _max_all, _max_at, _max_result, _pair("maximum"))
min = _extreme("min", _min_all, _min_at, _min_result, _pair("minimum"))
max.__doc__ = """The largest element; along a dimension, with its index; of two tensors, element by element.

    >>> torch.max(torch.tensor([[1., 5.], [3., 2.]]), 1).indices
    tensor([1, 0])
    """
min.__doc__ = """The smallest element; along a dimension, with its index; of two tensors, element by element.

    >>> torch.min(torch.tensor([[1., 5.], [3., 2.]]), 1).values
    tensor([1., 2.])
    """


def _amaxmin(primitive, name):
    def function(input, dim=(), keepdim=False, *, out=None):
        dims = _reduced(input, dim, name)
        if dim == () and not input._spec.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument."
            )
        for d in dims:
            if not input.shape[d]:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dims, keepdim))
        return primitive(input, dims, keepdim)

    function.__name__ = function.__qualname__ = name
    return function


amax, amin = _amaxmin(_amax, "amax"), _amaxmin(_amin, "amin")
amax.__doc__ = """The largest element of all or along dimensions; ties share the gradient.

    >>> torch.amax(torch.tensor([[1., 5.], [3., 2.]]), 0)
    tensor([3., 5.])
    """
amin.__doc__ = """The smallest element of all or along dimensions; ties share the gradient.

    >>> torch.amin(torch.tensor([[1., 5.], [3., 2.]]), 0)
    tensor([1., 2.])
    """


def _arg(choose, name):
    def function(input, dim=None, keepdim=False, *, out=None):
        check_tensor(name, input)
        if not input._spec.size and dim is None:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        ndim = len(input._spec.shape)
        if dim is not None:
            dim = dim_of(dim, ndim)
            if ndim and not input.shape[dim]:
                raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        primitive = _argmax if name == "argmax" else _argmin
        result = primitive(input, None if dim is None or not ndim else dim, keepdim)
        return result if out is None else fitting.store(out, result)

    function.__name__ = function.__qualname__ = name
    return function


_argmax = Primitive("argmax", lambda x, dim, keepdim: np.argmax(x, axis=dim, keepdims=keepdim))
_argmin = Primitive("argmin", lambda x, dim, keepdim: np.argmin(x, axis=dim, keepdims=keepdim))
argmax, argmin = _arg(np.argmax, "argmax"), _arg(np.argmin, "argmin")
argmax.__doc__ = """The index of the largest element.

    >>> torch.argmax(torch.tensor([1., 5., 3.]))
    tensor(1)
    """
argmin.__doc__ = """The index of the smallest element.

    >>> torch.argmin(torch.tensor([1., 5., 3.]))
    tensor(0)
    """


def _truth(kernel, name):
    primitive = Primitive(name, lambda x, dims, keepdim: kernel(x != 0, axis=dims, keepdims=keepdim))

    def function(input, dim=None, keepdim=False, *, out=None):
        dims = _reduced(input, dim, name)
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

# Deviations


def _var_kernel(x, dims, correction, keepdim):
    if x.dtype.itemsize == 2:
        return _var_kernel(x.astype(np.float32), dims, correction, keepdim).astype(x.dtype)
    n = _count(x.shape, dims)
    centre = x - _mean_kernel(x, dims, True)
    squares = centre * centre if x.dtype.kind != "c" else centre.real**2 + centre.imag**2
    total, divisor = np.add.reduce(squares, axis=dims, keepdims=keepdim), builtins.max(n - correction, 0)
    return total / np.asarray(divisor, total.dtype)


def _var_back(g, x, dims, correction):
    n = _count(x.shape, dims)
    centre = x - xp.mean_kept(x, dims)
    scale = 2.0 / (n - correction) if n - correction > 0 else (math.inf if n == correction else 0.0)
    return xp.reshape(g, _kept(x.shape, dims)) * scale * centre


@number
def mean_kept(x, dims):
    return _mean_kernel(x, dims, True)


tensors["mean_kept"] = lambda x, dims: mean(x, dims, True) if dims else x
_var = Primitive(
    "var", _var_kernel, fresh=True, rules={"x": lambda g, x, dims, correction: _var_back(g, x, dims, correction)}
)
_std = Primitive(
    "std", lambda x, dims, correction, keepdim: np.sqrt(_var_kernel(x, dims, correction, keepdim)), fresh=True,
    rules={"x": lambda g, x, out, dims, correction: _var_back(xp.where(out == 0, xp.zeros_like(g), g / (2 * out)), x, dims, correction)},
)  # fmt: skip


def _deviation(primitive, name):
    def function(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None and correction is not None:
            raise TypeError(
                f"{name}() received an invalid combination of arguments: give unbiased or correction, not both"
            )
        correction = (1 if unbiased in (None, True) else 0) if correction is None else correction
        dims = _reduced(input, dim, name)
        if input._spec.dtype.category < FLOAT:
            raise RuntimeError("std and var only support floating point and complex dtypes")
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dims, correction, keepdim))
        return primitive(input, dims, correction, keepdim)

    function.__name__ = function.__qualname__ = name
    return function


var, std = _deviation(_var, "var"), _deviation(_std, "std")
var.__doc__ = """The variance (with Bessel's correction unless `correction=0`).

    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """
std.__doc__ = """The standard deviation (with Bessel's correction unless `correction=0`).

    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of all elements, or along dimensions.

    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    check_tensor("norm", input)
    if dtype is not None:
        input = input.to(dtype)
    dims = _reduced(input, dim, "norm")
    if input._spec.dtype.category < FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got " + input._spec.dtype.title
        )
    if p in ("fro", None):
        p = 2
    if p == "nuc":
        raise NotImplementedError("norm: p='nuc' is not supported here; use linalg.matrix_norm")
    result = _vector_norm(input, float(p), dims, keepdim)
    return result if out is None else fitting.store(out, result)


def _norm_kernel(x, p, dims, keepdim):
    size = np.abs(x)
    if p == math.inf:
        return np.maximum.reduce(size, axis=dims, keepdims=keepdim)
    if p == -math.inf:
        return np.minimum.reduce(size, axis=dims, keepdims=keepdim)
    if p == 0:
        return np.add.reduce(size != 0, axis=dims, keepdims=keepdim).astype(size.dtype)
    if p == 1:
        return np.add.reduce(size, axis=dims, keepdims=keepdim)
    if p == 2:
        return np.sqrt(np.add.reduce(size * size, axis=dims, keepdims=keepdim))
    return np.add.reduce(size**p, axis=dims, keepdims=keepdim) ** (1 / p)


def _norm_back(g, x, out, p, dims):
    shape = _kept(x.shape, dims)
    g, out = g.reshape(shape), out.reshape(shape)
    direction = x.sgn() if x.is_complex() else x.sign()
    if p == 0:
        return x * 0
    if p == 1:
        return g * direction
    if p in (math.inf, -math.inf):
        chosen = x.abs() == out
        return g * direction * chosen / chosen.to(g.dtype).sum(dims, keepdim=True)
    if p == 2:
        return g * (x / out).masked_fill(out == 0, 0)
    scale = (x.abs() / out) ** (p - 1)
    return (g * direction * scale).masked_fill((out == 0) | ((x == 0) if p < 1 else (out == 0)), 0)


_vector_norm = Primitive(
    "vector_norm", _norm_kernel, on_tensors=True, fresh=True, node="LinalgVectorNormBackward0",
    rules={"x": lambda g, x, out, p, dims: _norm_back(g, x, out, p, dims)},
)  # fmt: skip


# logsumexp, softmax, log_softmax


def _logsumexp_kernel(x, dims, keepdim):
    top = np.maximum.reduce(x, axis=dims, keepdims=True, initial=-np.inf)
    safe = np.where(np.isfinite(top), top, 0)
    total = np.log(np.add.reduce(np.exp(x - safe), axis=dims, keepdims=True)) + safe
    return total if keepdim else total.reshape([n for i, n in enumerate(x.shape) if i not in dims])


_logsumexp = Primitive(
    "logsumexp", _logsumexp_kernel, fresh=True,
    rules={"x": lambda g, x, out, dims: xp.reshape(g, _kept(x.shape, dims)) * xp.exp(x - xp.reshape(out, _kept(x.shape, dims)))},
)  # fmt: skip


def logsumexp(input, dim, keepdim=False, *, out=None):
    """log(sum(exp(x))) along dimensions, without overflow.

    >>> torch.logsumexp(torch.tensor([1000., 1000.]), 0)
    tensor(1000.6932)
    """
    dims = _reduced(input, dim, "logsumexp")
    if input._spec.dtype.category < FLOAT:
        input = input.to(dtypes.get_default_dtype())
    if out is not None:
        return fitting.write_out(out, "logsumexp", (input,), lambda: _logsumexp(input, dims, keepdim))
    return _logsumexp(input, dims, keepdim)


def _softmax_kernel(x, dim):
    if x.dtype.itemsize == 2:
        return _softmax_kernel(x.astype(np.float32), dim).astype(x.dtype)
    if not x.ndim or not x.size:
        return np.ones_like(x)
    y = x - np.maximum.reduce(x, axis=dim, keepdims=True)
    np.exp(y, y)
    y /= np.add.reduce(y, axis=dim, keepdims=True)
    return y


def _log_softmax_kernel(x, dim):
    if x.dtype.itemsize == 2:
        return _log_softmax_kernel(x.astype(np.float32), dim).astype(x.dtype)
    if not x.ndim or not x.size:
        return np.zeros_like(x)
    y = x - np.maximum.reduce(x, axis=dim, keepdims=True)
    y -= np.log(np.add.reduce(np.exp(y), axis=dim, keepdims=True))
    return y


_softmax = Primitive(
    "softmax", _softmax_kernel, fresh=True,
    rules={"x": lambda g, y, dim: _softmax_back(g, y, dim)},
)  # fmt: skip


def _softmax_back(g, y, dim):
    weighted = g * y
    return weighted - y * xp.sum_along(weighted, dim)


_log_softmax = Primitive(
    "log_softmax", _log_softmax_kernel, fresh=True,
    rules={"x": lambda g, y, dim: g - xp.exp(y) * xp.sum_along(g, dim)},
)  # fmt: skip


@number
def sum_along(x, dim):
    return np.add.reduce(x, axis=dim, keepdims=True) if x.ndim else x


tensors["sum_along"] = lambda x, dim: x.sum(dim, keepdim=True)


def _softmax_function(primitive, name):
    def function(input, dim=None, _stacklevel=3, dtype=None, *, out=None):
        check_tensor(name, input)
        if dim is None:
            import warnings

            warnings.warn(
                f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                stacklevel=2,
            )
            dim = 0 if len(input.shape) in (0, 1, 3) else 1
        if isinstance(_stacklevel, dtypes.dtype):
            dtype = _stacklevel
        if dtype is not None and dtype is not input._spec.dtype:
            input = input.to(dtype)
        if input._spec.dtype.category < FLOAT or input._spec.dtype.is_complex:
            raise NotImplementedError(f"\"{name}_lastdim_kernel_impl\" not implemented for '{input._spec.dtype.title}'")
        dim = dim_of(dim, len(input._spec.shape))
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dim))
        return primitive(input, dim)

    function.__name__ = function.__qualname__ = name
    return function


softmax, log_softmax = _softmax_function(_softmax, "softmax"), _softmax_function(_log_softmax, "log_softmax")
softmax.__doc__ = """exp(x) / sum(exp(x)) along a dimension.

    >>> torch.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
log_softmax.__doc__ = """log(softmax(x)) along a dimension.

    >>> torch.log_softmax(torch.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """


sum, mean, prod, cumsum, cumprod, max, min, amax, amin, argmax, argmin, any, all, var, std, logsumexp = map(
    fitting.with_axis,
    (sum, mean, prod, cumsum, cumprod, max, min, amax, amin, argmax, argmin, any, all, var, std, logsumexp),
)


class ReductionMixin:
    """Reductions as methods."""

    __slots__ = ()

    sum, mean, prod, cumsum, cumprod = sum, mean, prod, cumsum, cumprod
    max, min, amax, amin, argmax, argmin, any, all = max, min, amax, amin, argmax, argmin, any, all
    var, std, norm, logsumexp, softmax, log_softmax = var, std, norm, logsumexp, softmax, log_softmax
