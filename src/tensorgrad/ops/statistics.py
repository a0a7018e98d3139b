"""Statistics: variance and standard deviation, covariance and correlation, sums and means that leave NaN out."""

import math
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.precision import computes_halves_in_single
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.dims import count_along, kept, reduced_dims, without
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.outs import store_parts
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.results import return_type

PUBLIC = {"": "var std var_mean std_mean cov corrcoef nansum nanmean count_nonzero aminmax"}

# Variance and standard deviation


@computes_halves_in_single
def _var_mean(x, dims, correction, keepdim):
    n = count_along(x.shape, dims)
    centre = np.add.reduce(x, axis=dims, keepdims=True)
    centre = centre / np.asarray(n, centre.dtype)
    far = x - centre
    squares = far * far if x.dtype.kind != "c" else far.real**2 + far.imag**2
    total = np.add.reduce(squares, axis=dims, keepdims=keepdim)
    variance = total / np.asarray(max(n - correction, 0), total.dtype)
    return variance, centre if keepdim else centre.reshape(without(x.shape, dims))


@computes_halves_in_single
def _std_mean(x, dims, correction, keepdim):
    variance, centre = _var_mean(x, dims, correction, keepdim)
    return np.sqrt(variance), centre


def _var_back(g, x, dims, correction):
    n = count_along(x.shape, dims)
    far = x - xp.mean_kept(x, dims)
    g = xp.reshape(g, kept(x.shape, dims))
    if n > correction:
        return g * (2.0 / (n - correction)) * far
    return g * xp.where(far == 0, np.nan, np.inf)


def _std_back(g, x, out, dims, correction):
    return _var_back(xp.where(out == 0, xp.zeros_like(g), g / (2 * out)), x, dims, correction)


@number
@computes_halves_in_single
def mean_kept(x, dims):
    return np.add.reduce(x, axis=dims, keepdims=True) / np.asarray(count_along(x.shape, dims), x.dtype)


tensors["mean_kept"] = lambda x, dims: x.mean(dims, keepdim=True) if dims else x


def _both_back(of_deviation):
    """The gradient of (deviation, mean)."""

    def back(g, x, dims, correction, deviation=None):
        g_deviation, g_mean = g
        parts = []
        if g_deviation is not None:
            parts.append(of_deviation(g_deviation, x, deviation, dims, correction))
        if g_mean is not None:
            share = xp.reshape(g_mean, kept(x.shape, dims)) / max(count_along(x.shape, dims), 1)
            parts.append(xp.expand(share, tuple(x.shape)))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    return back


_var_mean_back = _both_back(lambda g, x, _, dims, correction: _var_back(g, x, dims, correction))
_std_mean_back = _both_back(_std_back)
_var = Primitive(
    "var", lambda x, dims, correction, keepdim: _var_mean(x, dims, correction, keepdim)[0], fresh=True, batch="dims",
    fit=True, rules={"x": lambda g, x, dims, correction: _var_back(g, x, dims, correction)}, shown={"dims": "dim"},
)  # fmt: skip
_std = Primitive(
    "std", lambda x, dims, correction, keepdim: _std_mean(x, dims, correction, keepdim)[0], fresh=True, batch="dims",
    fit=True, rules={"x": lambda g, x, out, dims, correction: _std_back(g, x, out, dims, correction)}, shown={"dims": "dim"},
)  # fmt: skip
_var_and_mean = Primitive(
    "var_mean", lambda x, dims, correction, keepdim: _var_mean(x, dims, correction, keepdim), count=True, batch="dims", fit=True,
    rules={"x": lambda g, x, dims, correction: _var_mean_back(g, x, dims, correction)},
)  # fmt: skip
_std_and_mean = Primitive(
    "std_mean", lambda x, dims, correction, keepdim: _std_mean(x, dims, correction, keepdim), count=True, batch="dims", fit=True,
    uses=(0,), rules={"x": lambda g, x, out, dims, correction: _std_mean_back(g, x, dims, correction, out[0])},
)  # fmt: skip


def _deviation(primitive, name):
    def function(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None and correction is not None:
            raise fitting.wrong_arguments(name, (input, dim, unbiased, correction))
        correction = (1 if unbiased in (None, True) else 0) if correction is None else correction
        dims = reduced_dims(input, dim, name)
        spec = input._spec
        if spec.dtype.category < FLOAT:
            who = "std and var" if name in ("std", "var") else name
            raise RuntimeError(f"{who} only support{'s' * (who == name)} floating point and complex dtypes")
        if count_along(spec.shape, dims) <= correction and math.prod(without(spec.shape, dims)):
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
                "numel divided by output numel).",
                stacklevel=3,
            )
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dims, correction, keepdim))
        return primitive(input, dims, correction, keepdim)

    function.__name__ = function.__qualname__ = name
    return fitting.with_axis(function)


var, std = _deviation(_var, "var"), _deviation(_std, "std")
var_mean, std_mean = _deviation(_var_and_mean, "var_mean"), _deviation(_std_and_mean, "std_mean")
var.__doc__ = """The variance (with Bessel's correction unless `correction=0`).

    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """
std.__doc__ = """The standard deviation (with Bessel's correction unless `correction=0`).

    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """
var_mean.__doc__ = """The variance and the mean.

    >>> torch.var_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """
std_mean.__doc__ = """The standard deviation and the mean.

    >>> torch.std_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """

# Covariance


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables (rows) over observations (columns).

    >>> torch.cov(torch.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensor("cov", input)
    if len(input.shape) > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {len(input.shape)} dimensions"
        )
    if input._spec.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if len(input.shape) < 2 else input
    n = x.shape[1]
    weights = None
    for name, given, kind, integral in (
        ("fweights", fweights, "integral", True),
        ("aweights", aweights, "floating point", False),
    ):
        if given is None:
            continue
        check_tensor("cov", given, name)
        _check_weights(name, given, kind, integral, n)
        weights = given if weights is None else weights * given
    total = weights.sum() if weights is not None else x.new_tensor(n, dtype=dtypes.int64)
    if weights is not None and n and fitting.certain(total == 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    norm = total - correction
    if aweights is not None and correction:
        norm = total - correction * (weights * aweights).sum() / total
    if fitting.certain(norm <= 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=2,
        )
        norm = norm.new_zeros(())
    centred = x - ((x if weights is None else x * weights).sum(1) / total).unsqueeze(1)
    weighted = centred if weights is None else centred * weights
    return (centred @ weighted.mT.conj() / norm).squeeze()


def _check_weights(name, weights, kind, integral, n):
    """What cov asks of weights."""
    if len(weights.shape) > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(weights.shape)} dimensions"
        )
    category = weights._spec.dtype.category
    if (category != dtypes.INTEGER) if integral else not weights._spec.dtype.is_floating_point:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights._spec.dtype.title} dtype"
        )
    if weights._spec.size != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights._spec.size} != {n}"
        )
    if n and fitting.certain(weights.min() < 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def corrcoef(input):
    """The matrix of the correlation coefficients of variables (rows) over observations (columns).

    >>> torch.corrcoef(torch.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensor("corrcoef", input)
    if len(input.shape) > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{len(input.shape)} dimensions"
        )
    c = cov(input)
    if not c.shape:
        return c / c
    spread = (c.diagonal().real if c.is_complex() else c.diagonal()).sqrt()
    c = c / spread.unsqueeze(1) / spread.unsqueeze(0)
    if not c.is_complex():
        return c.clamp(-1, 1)
    import tensorgrad

    return tensorgrad.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))


# Leaving out NaN


def _nansum_kernel(x, dims, keepdim):
    if x.dtype.kind in "iub":
        return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=x.dtype)
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    total = np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=wide, where=x == x, initial=0)
    return np.asarray(total).astype(x.dtype, copy=False)


_nansum = Primitive(
    "nansum", _nansum_kernel, fresh=True, batch="dims",
    rules={"x": lambda g, x, dims: xp.reshape(g, kept(x.shape, dims)) * (x == x)},
    pushforward=lambda t, x, dims, keepdim: _masked_sum(t, x, dims, keepdim),
)  # fmt: skip


def _masked_sum(t, x, dims, keepdim):
    kept_part = t.masked_fill(x != x, 0)
    return kept_part.sum(dims, keepdim) if dims else kept_part


def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of all elements, or along dimensions, with NaN counted as zero.

    >>> torch.nansum(torch.tensor([1., torch.nan, 2.]))
    tensor(3.)
    """
    dims = reduced_dims(input, dim, "nansum")
    if input._spec.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if dtype is None and input._spec.dtype.category < FLOAT:
        dtype = dtypes.int64
    if dtype is not None and dtype is not input._spec.dtype:
        if dtype.category < FLOAT <= input._spec.dtype.category:  # an integer cannot be NaN
            input = input.masked_fill(input != input, 0)
        input = input.to(dtype)
    if out is not None:
        if isinstance(out, fitting.Tensor) and out._spec.dtype.category < input._spec.dtype.category:
            raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{out._spec.dtype.title}'")
        return fitting.write_out(out, "nansum", (input,), lambda: _nansum(input, dims, keepdim))
    return _nansum(input, dims, keepdim)


def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of all elements that are not NaN, or along dimensions.

    >>> torch.nanmean(torch.tensor([1., torch.nan, 2.]))
    tensor(1.5000)
    """
    check_tensor("nanmean", input)
    if input._spec.dtype.category < FLOAT:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input._spec.dtype.title}"
        )
    present = (input == input).sum(dim, keepdim)
    if out is not None:
        return nansum(input, dim, keepdim, dtype=dtype, out=out).div_(present)
    return nansum(input, dim, keepdim, dtype=dtype) / present


nansum, nanmean = fitting.with_axis(nansum), fitting.with_axis(nanmean)

_count_nonzero = Primitive(
    "count_nonzero", lambda x, dims: np.add.reduce(x != 0, axis=dims, dtype=np.int64), batch="dims"
)


def count_nonzero(input, dim=None):
    """How many elements are not zero, of all or along dimensions.

    >>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), dim=0)
    tensor([1, 2])
    """
    dims = reduced_dims(input, dim, "count_nonzero")
    return _count_nonzero(input, dims)


# Both extremes


def _aminmax_kernel(x, dims, keepdim):
    return np.minimum.reduce(x, axis=dims, keepdims=keepdim), np.maximum.reduce(x, axis=dims, keepdims=keepdim)


def _aminmax_back(g, x, out, dims):
    total = None
    for part, extreme in zip(g, out, strict=True):
        if part is None:
            continue
        shape = kept(x.shape, dims)
        chosen = x == xp.reshape(extreme, shape)
        share = xp.reshape(part, shape) * chosen / xp.sum_kept(chosen, dims, part)
        total = share if total is None else total + share
    return total


_aminmax = Primitive(
    "aminmax", _aminmax_kernel, count=True, batch="dims", fit=True,
    rules={"x": lambda g, x, out, dims: _aminmax_back(g, x, out, dims)},
)  # fmt: skip
_aminmax_result = return_type("aminmax", ("min", "max"))


def aminmax(input, *, dim=None, keepdim=False, out=None):
    """The smallest and the largest element of all or along a dimension.

    >>> torch.aminmax(torch.tensor([3., 1., 2.])).max
    tensor(3.)
    """
    check_tensor("aminmax", input)
    if input._spec.dtype.is_complex:
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{input._spec.dtype.title}'")
    shape = input._spec.shape
    if dim is not None:
        dim = dim_of(dim, len(shape))
        if shape and not shape[dim]:
            raise IndexError(f"aminmax(): Expected reduction dim {dim} to have non-zero size.")
    elif not input._spec.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    dims = tuple(range(len(shape))) if dim is None else (dim,) if shape else ()
    if out is not None:
        parts = _aminmax_result(_aminmax(input.detach(), dims, keepdim))
        return store_parts(out, "aminmax", parts, (input,), exact=True)
    return _aminmax_result(_aminmax(input, dims, keepdim))


class Methods:
    """The methods of these operations."""

    var, std, cov, corrcoef = var, std, cov, corrcoef
    nansum, nanmean, count_nonzero, aminmax = nansum, nanmean, count_nonzero, aminmax
