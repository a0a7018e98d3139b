"""Writing every element of a tensor: copy_, fill_, zero_."""

import numpy as np

from tensorgrad.ops import fitting
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive, wrap

PUBLIC = {"": "fill fill_ zero_"}

ndarray = np.ndarray


def _copy_kernel(a, b, inplace=False):
    if not inplace:
        a = np.empty_like(a)
    np.copyto(a, b, casting="unsafe")
    return a


def _fit_either(g, spec):
    return fitting.fit_array(g, spec) if isinstance(g, (ndarray, np.generic)) else fitting.fit_tensor(g, spec)


_copy = Primitive(
    "copy", _copy_kernel, arity=2, params=(), node="CopyBackwards", mutates=True, fresh=False,
    rules={"a": lambda g: xp.zeros_like(g), "b": lambda g, b_spec: _fit_either(g, b_spec)},
)  # fmt: skip


def copy_(self, src, non_blocking=False):
    """Write the elements of `src`, broadcast and converted, into this tensor.

    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    if fitting.is_number(src):
        src = wrap(np.asarray(src))
    check_tensor("copy_", src, "other", 1)
    shape = src._spec.shape
    if shape and shape != self._spec.shape and type(src._array) is ndarray and type(self._array) is ndarray:
        fit = len(src.shape) <= len(self.shape) and all(
            n in (1, m) for n, m in zip(reversed(src.shape), reversed(self.shape), strict=False)
        )
        if not fit:
            raise fitting.broadcast_error((self, src)) or RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                f"{list(fitting.broadcast_shapes(self.shape, src.shape))}"
            )
    return _copy.inplace((self, src), ())


def _fill_kernel(a, b, inplace=False):
    if not inplace:
        a = np.empty_like(a)
    np.copyto(a, b, casting="unsafe")
    return a


_fill = Primitive(
    "fill", _fill_kernel, arity=2, params=(), mutates=True, node="FillBackward1",
    rules={"a": lambda g: xp.zeros_like(g), "b": lambda g, b_spec: _fit_either(g, b_spec)},
)  # fmt: skip


def _fill_value(value, dtype):
    """What a tensor is filled with, as a 0-d tensor."""
    if isinstance(value, fitting.Tensor):
        if value._spec.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions."
            )
        return value
    return wrap(fitting.exact_number(value, dtype, halves=False))


def fill(input, value):
    """A tensor of the same shape and dtype with one value everywhere.

    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    check_tensor("fill", input)
    return _fill(input, _fill_value(value, input._spec.dtype))


def fill_(self, value):
    """Set every element to one value.

    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    return _fill.inplace((self, _fill_value(value, self._spec.dtype)), ())


def zero_(self):
    """Set every element to zero.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    return fill_(self, 0)


class FillingMixin:
    """copy_, fill_ and zero_."""

    __slots__ = ()

    copy_, fill_, zero_ = copy_, fill_, zero_
