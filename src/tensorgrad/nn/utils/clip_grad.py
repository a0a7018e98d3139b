"""Gradients that are too large are made smaller: by their common norm, or each number by itself."""

import functools
import math
import types
import warnings
from collections.abc import Iterable

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.autograd.modes import mode
from tensorgrad.autograd.views import alias_of
from tensorgrad.ops.creation import tensor
from tensorgrad.tensor import Tensor, wrap

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


@modes.no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of several tensors as if they were one vector.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.]), torch.tensor([4.])])
    tensor(5.)
    """
    from tensorgrad.linalg import vector_norm
    from tensorgrad.ops.joining import stack

    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    arrays = plain_arrays(tensors) if norm_type == 2.0 else None
    if arrays is not None:
        squares = [float(np.dot(flat, flat)) for flat in [array.reshape(-1) for array in arrays]]
        total = wrap(np.array(math.sqrt(sum(squares)), arrays[0].dtype))
    else:
        total = vector_norm(stack([vector_norm(each, norm_type) for each in tensors]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@modes.no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients whose norm is known, in place, so that it is at most `max_norm`.

    >>> p = torch.nn.Parameter(torch.zeros(2)); p.grad = torch.tensor([3., 4.])
    >>> torch.nn.utils.clip_grads_with_norm_(p, 1.0, torch.tensor(5.)); p.grad
    tensor([0.6000, 0.8000])
    """
    grads = _gradients(parameters)
    if not grads:
        return
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)  # no branch: NaN reaches the gradients
    arrays = plain_arrays(grads) if scale._spec.dtype is grads[0]._spec.dtype and not scale.ndim else None
    if arrays is not None:
        write_arrays(grads, arrays, lambda array: np.multiply(array, scale._array, out=array))
        return
    for grad in grads:
        grad.mul_(scale if scale.dtype is grad.dtype else scale.to(grad.dtype))


@modes.no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters, in place, so that their common norm is at most `max_norm`; the norm before.

    >>> p = torch.nn.Parameter(torch.zeros(2)); p.grad = torch.tensor([3., 4.])
    >>> torch.nn.utils.clip_grad_norm_([p], max_norm=1.0), p.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    if not isinstance(parameters, Tensor):
        listed = list(parameters)
        if not listed and isinstance(parameters, types.GeneratorType):
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
        parameters = listed
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


@functools.wraps(clip_grad_norm_)
def clip_grad_norm(*args, **kwargs):
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


clip_grad_norm.__name__ = clip_grad_norm.__qualname__ = "clip_grad_norm"
clip_grad_norm.__doc__ = "The old name of `clip_grad_norm_`."


@modes.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bring every number of the gradients of parameters between -clip_value and clip_value, in place.

    >>> p = torch.nn.Parameter(torch.zeros(2)); p.grad = torch.tensor([3., -0.5])
    >>> torch.nn.utils.clip_grad_value_([p], 1.0); p.grad
    tensor([ 1.0000, -0.5000])
    """
    clip_value, grads = float(clip_value), _gradients(parameters)
    arrays = plain_arrays(grads)
    if arrays:
        low, high = np.array(-clip_value, arrays[0].dtype), np.array(clip_value, arrays[0].dtype)
        write_arrays(grads, arrays, lambda array: np.minimum(np.maximum(array, low, out=array), high, out=array))
        return
    for grad in grads:
        grad.clamp_(min=-clip_value, max=clip_value)


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def plain_arrays(grads):
    """The arrays of gradients that are plain numbers of one dtype in memory of their own, or None: then Tensors do it."""
    if mode.special:
        return None
    arrays, dtype = [], grads[0]._spec.dtype if grads else None
    for grad in grads:
        spec, array = grad._spec, grad._array
        if not spec.plain or spec.dtype is not dtype or spec.inference or grad._node is not None:
            return None
        if array.dtype.char not in "fd" or not array.flags.carray:
            return None
        arrays.append(array)
    return arrays


def write_arrays(grads, arrays, change):
    """Change arrays where they lie, and tell the graph."""
    for grad, array in zip(grads, arrays, strict=True):
        change(array)
        alias_of(grad).version.bump()
