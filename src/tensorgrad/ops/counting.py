"""Making tensors of numbers that follow one another: arange, linspace, logspace."""

import builtins
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.data import finished, numpy_dtype
from tensorgrad.ops.fitting import is_number
from tensorgrad.ops.primitive import wrap


def _plain(value):
    return value.item() if isinstance(value, fitting.Tensor) else value


def arange(*args, start=None, end=None, step=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False, names=None):  # fmt: skip
    """Numbers from start (0) to end, end not included, step (1) apart.

    >>> torch.arange(1, 4)
    tensor([1, 2, 3])
    """
    args = [_plain(a) for a in args]
    if len(args) == 1:
        end = args[0] if end is None else end
        start = start if end is not args[0] else (start if start is not None else 0)
        if end is not args[0]:
            start = args[0]
    elif args:
        start, end, step = (*args, step)[:3]
    start, end, step = (_plain(0 if start is None else start), _plain(end), _plain(1 if step is None else step))
    if end is None or not all(is_number(v) for v in (start, end, step)):
        raise TypeError("arange() received an invalid combination of arguments: it takes numbers (start, end, step)")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    count = math.ceil((end - start) / step)
    whole = all(isinstance(v, (builtins.int, np.integer)) for v in (start, end, step))
    d = dtype or (out._spec.dtype if out is not None else dtypes.int64 if whole else dtypes.get_default_dtype())
    if whole:
        array = np.arange(start, start + count * step, step, dtype=np.int64).astype(d.numpy, copy=False)
    else:
        array = (start + np.arange(count) * step).astype(numpy_dtype(d))
    if out is not None:
        return fitting.store(out, wrap(array))
    return finished(array, None, device, requires_grad, layout, pin_memory, names)


def range(start, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False):
    """Numbers from start to end, end included (PyTorch's deprecated relative of arange).

    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    if end is None:
        start, end = 0, start
    count = math.floor((end - start) / step) + 1
    array = (start + np.arange(count) * step).astype(numpy_dtype(dtype))
    result = finished(array, None, device, requires_grad)
    return result if out is None else fitting.store(out, result)


def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """`steps` numbers from start to end, both included, evenly spaced.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    result = finished(
        _spaced(_plain(start), _plain(end), _plain(steps), "linspace", dtype), None, device, requires_grad, layout
    )
    return result if out is None else fitting.store(out, result)


def _spaced(start, end, steps, name, dtype):
    """PyTorch's way: the first half is counted from the start, the second from the end, in the dtype of the result."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    complex_ends = isinstance(start, builtins.complex) or isinstance(end, builtins.complex)
    d = dtype or (dtypes.default_complex() if complex_ends else dtypes.get_default_dtype())
    kind = (
        d.numpy
        if d.category >= dtypes.FLOAT and d.itemsize != 2
        else np.dtype(np.float64 if d.category < 2 else np.float32)
    )
    if steps == 1:
        return np.array([start]).astype(d.numpy)
    first, last = kind.type(start), kind.type(end)
    if d.category == dtypes.INTEGER:
        first, last = np.float64(start), np.float64(end)
    step = (last - first) / kind.type(builtins.max(steps - 1, 1))
    places = np.arange(steps)
    up, down = first + step * places.astype(kind), last - step * (steps - 1 - places).astype(kind)
    return np.where(places < steps // 2, up, down).astype(d.numpy)


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):  # fmt: skip
    """`steps` powers of `base`, with exponents from start to end evenly spaced.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    d = dtype or dtypes.get_default_dtype()
    exponents = _spaced(
        _plain(start), _plain(end), _plain(steps), "logspace", d if d.category >= dtypes.FLOAT else dtypes.float64
    )
    array = np.power(exponents.dtype.type(base), exponents).astype(d.numpy)
    result = finished(array, None, device, requires_grad, layout)
    return result if out is None else fitting.store(out, result)
