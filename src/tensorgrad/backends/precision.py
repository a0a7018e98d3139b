"""Half types on the CPU: the kernels compute them in float32 and round once at the end, as PyTorch does.

NumPy has no BLAS for float16 and walks it one number at a time; bfloat16 (from ml_dtypes) likewise.
"""

import functools

import numpy as np


def is_half(dtype):
    """Whether a NumPy dtype is float16 or bfloat16 (which NumPy sees as a void type of two bytes).

    >>> is_half(np.dtype(np.float16)), is_half(np.dtype(np.int16))
    (True, False)
    """
    return dtype.itemsize == 2 and dtype.kind in "fV"


def computes_halves_in_single(kernel):
    """Make a kernel carry half-precision arrays to float32 and its floating results back; others pass untouched."""

    @functools.wraps(kernel)
    def wrapped(first, *rest, **named):
        half = first.dtype
        if half.itemsize != 2 or half.kind not in "fV":
            return kernel(first, *rest, **named)
        rest = [_widened(value) for value in rest]
        result = kernel(first.astype(np.float32), *rest, **{name: _widened(value) for name, value in named.items()})
        if isinstance(result, tuple):
            return tuple(_narrowed(part, half) for part in result)
        return _narrowed(result, half)

    return wrapped


def _widened(value):
    return (
        value.astype(np.float32) if hasattr(value, "astype") and is_half(value.dtype) else value
    )  # (also symbols of compile)


def _narrowed(value, half):
    return value.astype(half) if hasattr(value, "astype") and value.dtype == np.float32 else value
