"""Exponentials that add up without overflow: logsumexp, softmax, log_softmax and their relatives, each one node."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import native, soft
from tensorgrad.backends.precision import computes_halves_in_single
from tensorgrad.backends.summing import sums
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.dims import kept, reduced_dims
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "logsumexp softmax log_softmax _softmax_backward_data",
    "nn.functional": "softmax=layer_softmax log_softmax=layer_log_softmax softmin",
    "ops.aten": "_safe_softmax",
}

# logsumexp


@computes_halves_in_single
def _logsumexp_kernel(x, dims, keepdim):
    top = np.maximum.reduce(x.real, axis=dims, keepdims=True, initial=-np.inf)
    top = np.where(np.abs(top) == np.inf, top.dtype.type(0), top)
    y = np.exp(x - top)
    total = np.log(np.add.reduce(y, axis=dims, keepdims=keepdim))
    total += top if keepdim else top.reshape(total.shape)
    return total


def _weights(x, out, dims):
    """The softmax of what was summed."""
    return xp.exp(x - xp.reshape(out, kept(x.shape, dims)))


_logsumexp = Primitive(
    "logsumexp", lambda x, dims, keepdim: _logsumexp_kernel(x, dims, keepdim), fresh=True, batch="dims",
    rules={"x": lambda g, x, out, dims: xp.reshape(g, kept(x.shape, dims)) * xp.conj(_weights(x, out, dims))},
    pushforward=lambda t, x, out, dims, keepdim: _summed(t * _weights(x, out, dims), dims, keepdim),
)  # fmt: skip


def _summed(x, dims, keepdim):
    return x.sum(dims, keepdim) if dims else x


def logsumexp(input, dim, keepdim=False, *, out=None):
    """log(sum(exp(x))) along dimensions, without overflow.

    >>> torch.logsumexp(torch.tensor([1000., 1000.]), 0)
    tensor(1000.6932)
    """
    dims = reduced_dims(input, dim, "logsumexp")
    if input._spec.dtype.category < FLOAT:
        input = input.to(dtypes.get_default_dtype())
    if out is not None:
        return fitting.write_out(out, "logsumexp", (input,), lambda: _logsumexp(input, dims, keepdim))
    return _logsumexp(input, dims, keepdim)


logsumexp = fitting.with_axis(logsumexp)

# softmax and log_softmax


def _is_native(dim, x, *others):
    """Whether a compiled kernel is to do this: along lines of neighbours."""
    return dim == x.ndim - 1 and native.suits(x, *others) and (not others or others[0].shape == x.shape)


@computes_halves_in_single
def _softmax_kernel(x, dim):
    if not x.ndim or not x.size:
        return np.exp(x - x) if not x.ndim else x.copy()
    if _is_native(dim, x):
        return native.module("rows").soft("softmax", x)
    if soft.suits(x, dim):
        return soft.softmax(x)
    y = np.subtract(x, np.maximum.reduce(x, axis=dim, keepdims=True), order="C")
    np.exp(y, y)
    y /= sums(y, dim, True)
    return y


@computes_halves_in_single
def _log_softmax_kernel(x, dim):
    if not x.ndim or not x.size:
        return x - x
    if _is_native(dim, x):
        return native.module("rows").soft("log_softmax", x)
    if soft.suits(x, dim):
        return soft.log_softmax(x)
    y = np.subtract(x, np.maximum.reduce(x, axis=dim, keepdims=True), order="C")
    y -= np.log(sums(np.exp(y), dim, True))
    return y


@number
@computes_halves_in_single
def softmax_back(g, y, dim):
    """y * (g - sum(g * y)), the gradient and, with a tangent for g, the tangent."""
    if _is_native(dim, y, g):
        return native.module("rows").soft("softmax_back", y, g)
    if soft.suits(y, dim, g):
        return soft.softmax_gradient(g, y)
    weighted = g * y
    if not y.ndim:
        return weighted - y * weighted
    np.subtract(g, sums(weighted, dim, True), weighted)
    weighted *= y
    return weighted


def _softmax_back_on_tensors(g, y, dim):
    weighted = g * y
    return weighted - y * (weighted.sum(dim, keepdim=True) if y.shape else weighted)


tensors["softmax_back"] = _softmax_back_on_tensors


@number
@computes_halves_in_single
def log_softmax_back(g, y, dim):
    if _is_native(dim, y, g):
        return native.module("rows").soft("log_softmax_back", y, g)
    if soft.suits(y, dim, g):
        return soft.log_softmax_gradient(g, y)
    weights = np.exp(y)
    weights *= sums(g, dim, True) if y.ndim else g
    return np.subtract(g, weights, weights) if y.ndim else g - weights


tensors["log_softmax_back"] = lambda g, y, dim: g - y.exp() * (g.sum(dim, keepdim=True) if y.shape else g)

_softmax = Primitive(
    "softmax", lambda x, dim: _softmax_kernel(x, dim), fresh=True, batch="dims", shown={"dim": "dim"},
    rules={"x": lambda g, y, dim: xp.softmax_back(g, y, dim)},
    pushforward=lambda t, y, dim: _softmax_back_on_tensors(t, y, dim),
)  # fmt: skip
_log_softmax = Primitive(
    "log_softmax", lambda x, dim: _log_softmax_kernel(x, dim), fresh=True, batch="dims", shown={"dim": "dim"},
    rules={"x": lambda g, y, dim: xp.log_softmax_back(g, y, dim)},
    pushforward=lambda t, y, dim: t - ((t * y.exp()).sum(dim, keepdim=True) if y.shape else t * y.exp()),
)  # fmt: skip


def _over_dim(primitive, name, input, dim, dtype, out):
    check_tensor(name, input)
    if dtype is not None and dtype is not input._spec.dtype:
        input = input.to(dtype)
    if input._spec.dtype.category < FLOAT or input._spec.dtype.is_complex:
        raise NotImplementedError(f"\"{name}_lastdim_kernel_impl\" not implemented for '{input._spec.dtype.title}'")
    dim = dim_of(dim, len(input._spec.shape))
    if out is not None:
        return fitting.write_out(out, name, (input,), lambda: primitive(input, dim))
    return primitive(input, dim)


def softmax(input, dim, dtype=None, *, out=None):
    """exp(x) / sum(exp(x)) along a dimension.

    >>> torch.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return _over_dim(_softmax, "softmax", input, dim, dtype, out)


def log_softmax(input, dim, dtype=None, *, out=None):
    """log(softmax(x)) along a dimension.

    >>> torch.log_softmax(torch.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    return _over_dim(_log_softmax, "log_softmax", input, dim, dtype, out)


def _implied_dim(name, input, dim, stacklevel):
    """The dimension that the functions of torch.nn.functional take when none is given."""
    if dim is not None:
        return dim
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if len(input.shape) in (0, 1, 3) else 1


def layer_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along a dimension.

    >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax(input, _implied_dim("softmax", input, dim, _stacklevel), dtype)


def layer_log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) along a dimension.

    >>> torch.nn.functional.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return log_softmax(input, _implied_dim("log_softmax", input, dim, _stacklevel), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x) along a dimension.

    >>> torch.nn.functional.softmin(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax(-input, _implied_dim("softmin", input, dim, _stacklevel), dtype)


# What PyTorch has beside them


def _softmax_backward_data(grad_output, output, dim, input_dtype, *, grad_input=None):
    """The gradient of softmax from its output.

    >>> torch._softmax_backward_data(torch.tensor([1., 0.]), torch.tensor([0.5, 0.5]), 0, torch.float32)
    tensor([ 0.2500, -0.2500])
    """
    dim = dim_of(dim, len(output._spec.shape))
    if output._spec.dtype.itemsize == 2:
        grad_output, output = grad_output.to(dtypes.float32), output.to(dtypes.float32)
    result = _softmax_back_on_tensors(grad_output, output, dim)
    result = result if result._spec.dtype is input_dtype else result.to(input_dtype)
    return result if grad_input is None else fitting.store(grad_input, result)


def _safe_softmax(self, dim, dtype=None):
    """softmax along a dimension, zeros where all is minus infinity.

    >>> torch.ops.aten._safe_softmax(torch.tensor([-torch.inf, -torch.inf]), 0)
    tensor([0., 0.])
    """
    empty = self == -np.inf
    if self.shape:
        empty = empty.all(dim, keepdim=True)
    return softmax(self.masked_fill(empty, 0), dim, dtype).masked_fill(empty, 0)


_safe_softmax.default = _safe_softmax


class Methods:
    """The methods of these operations."""

    logsumexp, softmax, log_softmax = logsumexp, softmax, log_softmax
