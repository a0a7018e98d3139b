"""Filling where a mask is true: with one value, or with the elements of a source in their order."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.choosing import LEAST, keep, select
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as on_tensors
from tensorgrad.ops.fitting import c_type, check_tensor
from tensorgrad.ops.outs import c_name
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.scattering import _scatter_add, moves, number_tensor

PUBLIC = {"": "masked_fill masked_scatter"}


def _masked_fill_kernel(x, mask, value, inplace=False):
    if x.size >= LEAST and type(x) is np.ndarray and x.flags.c_contiguous:
        filled = select(mask, value, x)
        if not inplace:
            return filled
        x[...] = filled
        return x
    if not inplace:
        x = x.copy()
    np.copyto(x, value, where=mask)
    return x


@number
def unmasked(g, mask):
    return keep(g, ~mask) if type(g) is np.ndarray else np.where(mask, g.dtype.type(0), g)


on_tensors["unmasked"] = lambda g, mask: g.masked_fill(mask, 0)


@number
def sum_masked(g, mask):
    return np.asarray(np.add.reduce(g * mask, axis=None, dtype=g.dtype))


on_tensors["sum_masked"] = lambda g, mask: (g * mask).sum()

_masked_fill = Primitive(
    "masked_fill", _masked_fill_kernel, arity=3, params=(), mutates=True, fresh=True, node="MaskedFillBackward1",
    rules={"x": lambda g, mask: xp.unmasked(g, mask), "value": lambda g, mask: xp.sum_masked(g, mask)},
    pushforward=lambda x, t_x, mask, value, t_value: _masked_fill(
        x.new_zeros(x.shape) if t_x is None else t_x, mask, value.new_zeros(()) if t_value is None else t_value),
)  # fmt: skip
_masked_fill_number = _masked_fill.variant("masked_fill.number", "MaskedFillBackward0")


def masked_fill(input, mask, value):
    """A copy with `value` where the mask is true.

    >>> torch.masked_fill(torch.tensor([1., 2.]), torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    primitive, value = _mask_operands(input, mask, value)
    if input._spec.shape != mask._spec.shape:
        if broken := fitting.broadcast_error((input, mask)):
            raise broken
        shape = fitting.broadcast_shapes(input.shape, mask.shape)
        if shape != input.shape:
            input = input.expand(shape)
    return primitive(input, mask, value)


def masked_fill_(self, mask, value):
    """The in-place form of `masked_fill`.

    >>> torch.tensor([1., 2.]).masked_fill_(torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    primitive, value = _mask_operands(self, mask, value)
    if broken := fitting.broadcast_error((self, mask)):
        raise broken
    shape = fitting.broadcast_shapes(self.shape, mask.shape)
    if shape != self.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}")
    return primitive.inplace((self, mask, value), ())


def _mask_operands(input, mask, value):
    """(primitive, value as a 0-d tensor of the input's dtype) after PyTorch's checks."""
    check_tensor("masked_fill", input)
    check_tensor("masked_fill", mask, "mask", 2)
    dtype = input._spec.dtype
    if mask._spec.dtype is not dtypes.bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask._spec.dtype)}"
        )
    if not isinstance(value, fitting.Tensor):
        return _masked_fill_number, number_tensor(value, dtype)
    if value._spec.shape:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(value.shape)} dimension(s)."
        )
    if value.is_complex() and not dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {c_type(dtype)} without overflow")
    return _masked_fill, value if value._spec.dtype is dtype else value.to(dtype)


def masked_scatter(input, mask, source):
    """A copy with the first elements of `source`, in their order, where the mask is true.

    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
    _check_masked_source(input, mask, source)
    if broken := fitting.broadcast_error((input, mask)):
        raise broken
    shape = fitting.broadcast_shapes(input.shape, mask.shape)
    return _masked_scatter(input.expand(shape), mask.expand(shape), source)


def masked_scatter_(self, mask, source):
    """The in-place form of `masked_scatter`.

    >>> torch.zeros(3).masked_scatter_(torch.tensor([True, False, True]), torch.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
    _check_masked_source(self, mask, source)
    return _masked_scatter.inplace((self, mask.expand(self.shape), source), ())


def _check_masked_source(input, mask, source):
    check_tensor("masked_scatter", mask, "mask", 2)
    check_tensor("masked_scatter", source, "source", 3)
    if mask._spec.dtype is not dtypes.bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask._spec.dtype.title}"
        )
    if input._spec.dtype is not source._spec.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{input._spec.dtype.title} and {source._spec.dtype.title}"
        )


def _masked_scatter_kernel(x, mask, source, inplace=False):
    if not inplace:
        x = x.copy()
    count = np.count_nonzero(mask)
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    x[mask] = source.reshape(-1)[:count]
    return x


@number
def masked_source(g, mask, spec):
    """The gradient of the source: what arrives where the mask is true, and zeros for the elements not used."""
    used = g[mask]
    whole = np.zeros(spec.size, g.dtype)
    whole[: used.size] = used
    return whole.reshape(spec.shape)


def _masked_source_on_tensors(g, mask, spec):
    order = (mask.reshape(-1).cumsum(0) - 1).clamp(min=0)
    flat = g.masked_fill(~mask, 0).reshape(-1)
    whole = _scatter_add(g.new_zeros(max(spec.size, 1)), order.clamp(max=max(spec.size - 1, 0)), flat, 0)
    return whole[: spec.size].reshape(spec.shape)


on_tensors["masked_source"] = _masked_source_on_tensors
_masked_scatter = Primitive(
    "masked_scatter", _masked_scatter_kernel, arity=3, params=(), mutates=True, fresh=True,
    rules={
        "x": lambda g, mask: xp.unmasked(g, mask),
        "source": lambda g, mask, source_spec: xp.masked_source(g, mask, source_spec),
    },
    pushforward=lambda x, t_x, mask, source, t_source: _masked_scatter(*moves(x, t_x, mask, source, t_source)),
)  # fmt: skip


class Methods:
    """The methods of these operations."""

    masked_fill, masked_fill_, masked_scatter, masked_scatter_ = (
        masked_fill,
        masked_fill_,
        masked_scatter,
        masked_scatter_,
    )
