"""Helpers that distributions share: broadcasting parameters, probabilities and their logits, attributes made once."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorgrad as tg
from tensorgrad.autograd.modes import enable_grad
from tensorgrad.nn import functional as F
from tensorgrad.tensor import Tensor

euler_constant = 0.57721566490153286060

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]  # fmt: skip


def is_number(value) -> bool:
    """Whether a value is a plain number."""
    return isinstance(value, (int, float, complex))


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the dtype of the first tensor.

    >>> torch.distributions.utils.broadcast_all(1, torch.tensor([2., 3.]))
    (tensor([1., 1.]), tensor([2., 3.]))
    """
    tensors = [isinstance(value, Tensor) for value in values]
    if not all(known or is_number(value) for known, value in zip(tensors, values)):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if not all(tensors):
        first = next((value.dtype for value in values if isinstance(value, Tensor)), tg.get_default_dtype())
        values = tuple(v if isinstance(v, Tensor) else tg.tensor(v, dtype=first) for v in values)
    return tuple(tg.broadcast_tensors(*values))


def all_true(tensor) -> bool:
    """Whether every element is true; plain arrays are asked directly."""
    array = tensor._array
    return bool(array.all() if type(array) is np.ndarray else tensor.all())


def _standard_normal(shape, dtype, device=None):
    return tg.empty(shape, dtype=dtype).normal_()


def _sum_rightmost(value, dim):
    """The sum over the last dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds (binary), or of unnormalized log-probabilities along the last dim.

    >>> torch.distributions.utils.logits_to_probs(torch.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """
    return tg.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept a rounding error away from 0 and 1.

    >>> torch.distributions.utils.clamp_probs(torch.tensor([0., 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = tg.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The log-odds (binary) or logarithms of probabilities.

    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    safe = clamp_probs(probs)
    logs = tg.log(safe)
    return logs - tg.log1p(-safe) if is_binary else logs


class lazy_property:
    """An attribute that is computed when it is first read, with gradients, and then kept.

    >>> class Twice:
    ...     @torch.distributions.utils.lazy_property
    ...     def value(self): print("computing"); return 2
    >>> twice = Twice(); twice.value + twice.value
    computing
    4
    """

    def __init__(self, wrapped: Callable):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance, owner=None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a lazy property is on its class: a property, for those who ask."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def _lower(n, diag):
    """The mask of the lower triangle of an n x n matrix."""
    place = tg.arange(n)
    return place < place.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Any:
    """The lower triangles of matrices, row by row, as vectors.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices with vectors in their lower triangles, row by row.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1., 3., 4.]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    length, twice = vec.shape[-1], 1 + 2 * diag
    n = (-twice + math.sqrt(twice**2 + 8 * length + 4 * abs(diag) * (diag + 1))) / 2
    if round(n) - n > tg.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    size = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    mat[..., _lower(size, diag)] = vec
    return mat
