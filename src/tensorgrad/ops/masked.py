"""torch.masked: reductions and normalizations that leave out the elements where a mask is false.

What is left out is replaced by the number that changes nothing (0 in a sum, 1 in a product); the rest is the plain operation.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of
from tensorgrad.ops.primitive import wrap

PUBLIC = {
    "masked": """sum=masked_sum prod=masked_prod cumsum=masked_cumsum cumprod=masked_cumprod amax=masked_amax amin=masked_amin
        argmax=masked_argmax argmin=masked_argmin mean=masked_mean median=masked_median logsumexp=masked_logsumexp
        logaddexp=masked_logaddexp norm=masked_norm var=masked_var std=masked_std softmax=masked_softmax
        log_softmax=masked_log_softmax softmin=masked_softmin normalize=masked_normalize""",
}


def _named(name):
    """A function under its public name."""

    def rename(function):
        function.__name__ = function.__qualname__ = name
        return function

    return rename


# Masks


def _mask_of(input, mask):
    """A mask as wide as the input."""
    check_tensor("_input_mask", mask, "mask")
    if len(mask.shape) > len(input.shape):
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    if mask._spec.dtype is not dtypes.bool_:
        mask = mask.to(dtypes.bool_)
    return mask if mask.shape == input.shape else mask.broadcast_to(input.shape)


def _least(name, dtype):
    """The smallest number of a dtype: what no maximum is."""
    if dtype is dtypes.bool_:
        raise NotImplementedError(f"identity of {name} on torch.bool input")
    if dtype.is_complex:
        raise TypeError(f"{name}: complex numbers have no order, so there is no identity of {name} on {dtype} input")
    return -np.inf if dtype.category >= FLOAT else dtypes.iinfo(dtype).min


def _greatest(name, dtype):
    lowest = _least(name, dtype)
    return np.inf if lowest == -np.inf else dtypes.iinfo(dtype).max


def _kept(input, mask, instead):
    """The input with another number where the mask is false."""
    return input if mask is None else input.masked_fill(~_mask_of(input, mask), instead)


def _prepared(name, input, dim, dtype):
    """(the input in the dtype asked for, its dimensions that go)."""
    check_tensor(name, input)
    dims = dims_of(None if dim == () else dim, len(input.shape), name)
    return (input if dtype is None else input.to(dtype)), dims


def _sum_dtype(input, dtype):
    if dtype is not None:
        return dtype
    return dtypes.int64 if input._spec.dtype.category < FLOAT else input._spec.dtype


def _float_dtype(name, input, dtype):
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        told = f"Optional dtype must be either a floating point or complex dtype. Got: {dtype}"
    elif dtype is None and input._spec.dtype.category < FLOAT:
        told = f"Input dtype must be either a floating point or complex dtype. Got: {input._spec.dtype}"
    else:
        return dtype or input._spec.dtype
    raise ValueError(f"{name}(): Could not infer output dtype. {told}")


# Reductions


@_named("sum")
def masked_sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements where the mask is true.

    >>> torch.masked.sum(torch.tensor([1., 2., 3.]), mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    check_tensor("sum", input)
    input, dims = _prepared("sum", input, dim, _sum_dtype(input, dtype))
    kept = _kept(input, mask, 0)
    return kept.sum(dims, keepdim=bool(keepdim), dtype=input._spec.dtype)


@_named("prod")
def masked_prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements where the mask is true.

    >>> torch.masked.prod(torch.tensor([1., 2., 3.]), mask=torch.tensor([True, False, True]))
    tensor(3.)
    """
    check_tensor("prod", input)
    result, dims = _prepared("prod", input, dim, _sum_dtype(input, dtype))
    result = _kept(result, mask, 1)
    if not dims and dim is not None and dim != ():
        dims = (0,)  # a number has this dimension when it is asked for
    for d in sorted(dims, reverse=True):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


def _running(name, input, dim, dtype, mask, instead):
    check_tensor(name, input)
    (dim,) = dims_of(dim, len(input.shape), name) or (0,)
    input = input if dtype is None else input.to(dtype)
    return getattr(_kept(input, mask, instead), name)(dim).to(input._spec.dtype)


@_named("cumsum")
def masked_cumsum(input, dim, *, dtype=None, mask=None):
    """The running sum of the elements where the mask is true.

    >>> torch.masked.cumsum(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    return _running("cumsum", input, dim, dtype, mask, 0)


@_named("cumprod")
def masked_cumprod(input, dim, *, dtype=None, mask=None):
    """The running product of the elements where the mask is true.

    >>> torch.masked.cumprod(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    return _running("cumprod", input, dim, dtype, mask, 1)


@_named("amax")
def masked_amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the elements where the mask is true.

    >>> torch.masked.amax(torch.tensor([1., 2., 3.]), mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    input, dims = _prepared("amax", input, dim, dtype)
    return _kept(input, mask, _least("amax", input._spec.dtype)).amax(dims, bool(keepdim))


@_named("amin")
def masked_amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the elements where the mask is true.

    >>> torch.masked.amin(torch.tensor([1., 2., 3.]), mask=torch.tensor([False, True, True]))
    tensor(2.)
    """
    input, dims = _prepared("amin", input, dim, dtype)
    return _kept(input, mask, _greatest("amin", input._spec.dtype)).amin(dims, bool(keepdim))


def _place(name, input, dim, keepdim, dtype, mask, instead):
    check_tensor(name, input)
    if dim is not None and not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {fitting.kind_name(dim)}")
    input = input if dtype is None else input.to(dtype)
    kept = _kept(input, mask, instead(name, input._spec.dtype))
    return getattr(kept, name)(dim, bool(keepdim)).to(input._spec.dtype)


@_named("argmax")
def masked_argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest of the elements is for which the mask is true; in the input's dtype, as PyTorch tells it.

    >>> torch.masked.argmax(torch.tensor([1, 2, 3]), mask=torch.tensor([True, True, False]))
    tensor(1)
    """
    return _place("argmax", input, dim, keepdim, dtype, mask, _least)


@_named("argmin")
def masked_argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest of the elements is for which the mask is true; in the input's dtype, as PyTorch tells it.

    >>> torch.masked.argmin(torch.tensor([1, 2, 3]), mask=torch.tensor([False, True, True]))
    tensor(1)
    """
    return _place("argmin", input, dim, keepdim, dtype, mask, _greatest)


def _counted(input, dims, mask, keepdim, dtype):
    """How many elements each result of a reduction is made of."""
    mask = wrap(np.ones(input.shape, bool)) if mask is None else _mask_of(input, mask)
    return mask.sum(dims, keepdim=keepdim, dtype=dtype) if dims else mask.to(dtype)


@_named("mean")
def masked_mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements where the mask is true.

    >>> torch.masked.mean(torch.tensor([1., 2., 3.]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    check_tensor("mean", input)
    input, dims = _prepared("mean", input, dim, _float_dtype("mean", input, dtype))
    if mask is None:
        return input.mean(dims or None, bool(keepdim))
    total = masked_sum(input, dims, keepdim=keepdim, mask=mask)
    return total / _counted(input, dims, mask, bool(keepdim), total._spec.dtype)


@_named("median")
def masked_median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median along a dimension of the elements where the mask is true.

    >>> torch.masked.median(torch.tensor([1., 9., 3., 2.]), mask=torch.tensor([True, False, True, True]))
    tensor(2.)
    """
    check_tensor("median", input)
    dim = dim_of(dim, len(input.shape), "median")
    input = input if dtype is None else input.to(dtype)
    kind = input._spec.dtype
    if mask is None:
        return input.median(dim, keepdim).values
    if kind.category < FLOAT:
        if not _mask_of(input, mask).any(dim).all():
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        input = input.to(dtypes.float32)
    return _kept(input, mask, np.nan).nanmedian(dim, keepdim).values.to(kind)


@_named("logsumexp")
def masked_logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(x))) of the elements where the mask is true.

    >>> torch.masked.logsumexp(torch.tensor([0., 5., 0.]), 0, mask=torch.tensor([True, False, True]))
    tensor(0.6931)
    """
    input, dims = _prepared("logsumexp", input, dim, dtype)
    kind = input._spec.dtype
    least = -np.inf if kind.is_complex else _least("logsumexp", kind)
    return _kept(input, mask, least).logsumexp(dims, keepdim).to(kind)


@_named("logaddexp")
def masked_logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(a) + exp(b)), where only the elements count for which their mask is true.

    >>> torch.masked.logaddexp(torch.tensor([0., 1.]), torch.tensor([0., 2.]), other_mask=torch.tensor([True, False]))
    tensor([0.6931, 1.0000])
    """
    check_tensor("logaddexp", input)
    check_tensor("logaddexp", other, "other", 2)
    dtype = dtype or input._spec.dtype
    pair = []
    for value, mask in ((input, input_mask), (other, other_mask)):
        value = value.to(dtype)
        pair.append(_kept(value, mask, _least("logaddexp", dtype)))
    return pair[0].logaddexp(pair[1]).to(dtype)


@_named("norm")
def masked_norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of the elements where the mask is true.

    >>> torch.masked.norm(torch.tensor([3., 9., 4.]), 2, mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    from tensorgrad.ops.norms import vector_norm

    input, dims = _prepared("norm", input, dim, dtype)
    if ord is None:
        ord = 2.0
    return vector_norm(_kept(input, mask, 0 if ord >= 0 else np.inf), ord, dims, bool(keepdim), dtype=dtype)


def _variance(name, input, dim, unbiased, correction, keepdim, dtype, mask):
    check_tensor(name, input)
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    kind = dtype or (input._spec.dtype if input._spec.dtype.category >= FLOAT else dtypes.float32)
    if input._spec.dtype is dtypes.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    work = dtypes.float32 if kind.itemsize == 2 else kind
    input, dims = _prepared(name, input, dim, work)
    count = _counted(input, dims, mask, True, work)
    apart = _kept(input, mask, 0) - masked_sum(input, dims, keepdim=True, mask=mask) / count
    squares = masked_sum(apart * apart.conj(), dims, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = count.reshape(squares.shape)
    if correction:
        count = (count.real if count._spec.dtype.is_complex else count).sub(correction).clamp_min(0).to(work)
    return squares / count, kind


@_named("var")
def masked_var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements where the mask is true.

    >>> torch.masked.var(torch.tensor([1., 9., 3.]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    result, dtype = _variance("var", input, dim, unbiased, correction, bool(keepdim), dtype, mask)
    return result.to(dtype)


@_named("std")
def masked_std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements where the mask is true.

    >>> torch.masked.std(torch.tensor([1., 9., 3.]), mask=torch.tensor([True, False, True]))
    tensor(1.4142)
    """
    result, dtype = _variance("std", input, dim, unbiased, correction, bool(keepdim), dtype, mask)
    return result.sqrt().to(dtype)


# Normalizations


def _soft(name, input, dim, dtype, mask, instead):
    from tensorgrad import nn

    check_tensor(name, input)
    dim = dim_of(dim, len(input.shape), name)
    return getattr(nn.functional, name)(_kept(input, mask, instead(name, input._spec.dtype)), dim, dtype=dtype)


@_named("softmax")
def masked_softmax(input, dim, *, dtype=None, mask=None):
    """softmax over the elements where the mask is true.

    >>> torch.masked.softmax(torch.tensor([0., 5., 0.]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _soft("softmax", input, dim, dtype, mask, _least)


@_named("log_softmax")
def masked_log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax over the elements where the mask is true.

    >>> torch.masked.log_softmax(torch.tensor([0., 5., 0.]), 0, mask=torch.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return _soft("log_softmax", input, dim, dtype, mask, _least)


@_named("softmin")
def masked_softmin(input, dim, *, dtype=None, mask=None):
    """softmin over the elements where the mask is true.

    >>> torch.masked.softmin(torch.tensor([0., 5., 0.]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _soft("softmin", input, dim, dtype, mask, _greatest)


@_named("normalize")
def masked_normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements where the mask is true, divided by their norm; zeros elsewhere.

    >>> torch.masked.normalize(torch.tensor([3., 9., 4.]), 2., 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    length = masked_norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    length = length.maximum(wrap(np.asarray(eps, length._spec.dtype.numpy)))
    return _kept(input if dtype is None else input.to(dtype), mask, 0) / length
