"""make_tensor: random tensors of any dtype for tests, PyTorch's numbers for PyTorch's seeds."""

import math
import warnings
from collections.abc import Sequence

from tensorgrad import dtypes
from tensorgrad.ops.complexes import view_as_real
from tensorgrad.ops.creation import empty
from tensorgrad.ops.random import randint

__all__ = ["make_tensor"]


def make_tensor(
    *shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
    memory_format=None,
):  # fmt: skip
    """Random numbers from `low` up to (but without) `high`, by default from -9 to 9.

    >>> _ = torch.manual_seed(0); torch.testing.make_tensor(3, dtype=torch.int64, device="cpu")
    tensor([ 6, -5, -9])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]
    shape = tuple(shape)
    dtypes.check_device(device)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    whole = dtype.category < dtypes.FLOAT
    if requires_grad and whole:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    apart = noncontiguous and math.prod(shape) > 1
    made = (*shape[:-1], 2 * shape[-1]) if apart else shape
    low, high = _bounds(low, high, dtype)
    if whole:
        result = randint(low, high, made, dtype=dtype)
    else:
        result = empty(made, dtype=dtype)
        numbers = view_as_real(result) if dtype.is_complex else result
        if high - low >= dtypes.finfo(dtype).max:
            numbers.uniform_(low / 2, high / 2).mul_(2)
        else:
            numbers.uniform_(low, high)
    if apart:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if whole else dtypes.finfo(dtype).tiny
    return result.requires_grad_(True) if requires_grad else result


def _bounds(low, high, dtype):
    """The bounds within those of the dtype; whole ones for whole numbers."""
    if dtype is dtypes.bool_:
        least, beyond, usual = 0, 2, (0, 2)
    elif dtype.category < dtypes.FLOAT:
        info = dtypes.iinfo(dtype)
        least, beyond, usual = info.min, info.max + (dtype is not dtypes.int64), (-9, 10)
    else:
        info = dtypes.finfo(dtype)
        least, beyond, usual = info.min, info.max, (-9, 9)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low == high and dtype.category >= dtypes.FLOAT:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will "
            "be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= beyond:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {beyond})"
        )
    low, high = min(max(low, least), beyond), min(max(high, least), beyond)
    return (low, high) if dtype.category >= dtypes.FLOAT else (math.ceil(low), math.ceil(high))
