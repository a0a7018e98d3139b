"""Making tensors of numbers that follow one another: arange, linspace, logspace."""

import builtins
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import is_int, no_such_call
from tensorgrad.ops.data import dtype_beside_out, finished
from tensorgrad.ops.fitting import is_number
from tensorgrad.ops.primitive import wrap

INTS, MOST = frozenset({builtins.int}), 1 << 62


def _plain(value):
    return value.item() if isinstance(value, fitting.Tensor) and not value._spec.shape else value


def _given(result, out, *options):
    """A new tensor around an array, or the array in `out`."""
    return finished(result, None, *options) if out is None else fitting.store(out, wrap(result))


def _numbers(name, **values):
    """Real numbers, as PyTorch takes them."""
    for position, (word, value) in enumerate(values.items()):
        if not is_number(value):
            raise TypeError(
                f"{name}(): argument '{word}' (position {position + 1}) must be Number, not {fitting.kind_name(value)}"
            )
        if isinstance(value, (builtins.complex, np.complexfloating)):
            raise RuntimeError("value cannot be converted to type double without overflow")
    return values.values()


def _check_range(start, end, step):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def arange(*args, start=None, end=None, step=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False, names=None):  # fmt: skip
    """Numbers from start (0) to end, end not included, step (1) apart.

    >>> torch.arange(1, 4)
    tensor([1, 2, 3])
    """
    if dtype is None and out is None and 0 < len(args) < 4 and INTS.issuperset(map(type, args)):  # the usual call
        first, last, width = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        if start is end is step is None and (last - first) * width > 0 and MOST > first > -MOST < last < MOST:
            return finished(
                np.arange(first, last, width, np.int64), None, device, requires_grad, layout, pin_memory, names
            )
    words = ["end"] if len(args) == 1 and end is None else ["start", "end", "step"]
    given = {"start": start, "end": end, "step": step}
    for word, arg in zip(words, args, strict=False):
        if given[word] is not None:
            raise no_such_call("arange", args, {word: given[word]}, "Number start, Number end, Number step = 1")
        given[word] = arg
    if len(args) > 3 or given["end"] is None:
        raise no_such_call("arange", args, {}, "Number end", "Number start, Number end, Number step = 1")
    given = {word: _plain(value) for word, value in given.items()}
    _numbers("arange", end=given["end"])
    start, end, step = _numbers(
        "arange", start=given["start"] or 0, end=given["end"], step=1 if given["step"] is None else given["step"]
    )
    whole = all(isinstance(v, (builtins.int, np.integer, np.bool_)) for v in (start, end, step))
    d = dtype_beside_out(dtype, out, dtypes.int64 if whole else None, "arange")
    if d.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{d.title}'")
    _check_range(start, end, step)
    if d.category == dtypes.INTEGER:
        for value in (start, end, step):
            fitting.exact_number(value, dtypes.int64)
        first, last, width = builtins.int(start), builtins.int(end), builtins.int(step)
        if d is dtypes.int64:
            if width == 0:
                raise ValueError("step must be nonzero")
            start, end, step = first, last, width  # the numbers are cut before they are counted
        count = builtins.max(
            0, -((start - end) // step) if whole or d is dtypes.int64 else math.ceil((end - start) / step)
        )
        array = (first + np.arange(count, dtype=np.int64) * width).astype(d.numpy, copy=False)
    else:
        count = -((start - end) // step) if whole else math.ceil((end - start) / step)
        array = (start + np.arange(count) * step).astype(d.numpy)
    return _given(array, out, device, requires_grad, layout, pin_memory, names)


def range(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, names=None):
    """Numbers from start to end, end included (PyTorch's deprecated relative of arange).

    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    start, end, step = _numbers("range", start=_plain(start), end=_plain(end), step=_plain(step))
    d = dtype_beside_out(dtype, out, None, "range")
    _check_range(start, end, step)
    count = math.floor((end - start) / step) + 1
    array = (start + np.arange(count) * step).astype(d.numpy)
    return _given(array, out, device, requires_grad, layout, False, names)


def _ends(name, start, end, steps, dtype, out, more=()):
    """(start, end, number of steps, dtype) of linspace and logspace, checked."""
    for word, value in (("start", start), ("end", end)):
        if isinstance(value, fitting.Tensor) and value._spec.shape:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {word} with "
                f"{len(value._spec.shape)} dimension(s)."
            )
    start, end = _plain(start), _plain(end)
    if not is_number(start) or not is_number(end) or not is_int(steps):
        shown = [v for v in (start, end, steps, *more) if v is not None]
        raise no_such_call(name, shown, {}, "Number start, Number end, int steps")
    steps = steps.__index__()
    wide = any(isinstance(v, (builtins.complex, np.complexfloating)) for v in (start, end))
    d = dtype_beside_out(dtype, out, dtypes.default_complex() if wide else None, name)
    if wide and not d.is_complex:
        inferred = "double" if dtypes.default_complex() is dtypes.complex128 else "float"
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<{inferred}> can't be safely cast to passed dtype {d.title}"
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if d.category == dtypes.BOOL:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if d.category == dtypes.INTEGER:
        start, end = builtins.int(start), builtins.int(end)
    return start, end, steps, d


def linspace(start, end, steps=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False, names=None):  # fmt: skip
    """`steps` numbers from start to end, both included, evenly spaced.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    start, end, steps, d = _ends("linspace", start, end, steps, dtype, out)
    kind = {dtypes.INTEGER: np.dtype(np.float64)}.get(d.category, np.dtype(np.float32) if d.itemsize == 2 else d.numpy)
    array = _spaced(start, end, steps, kind).astype(d.numpy)
    return _given(array, out, device, requires_grad, layout, pin_memory, names)


def _spaced(start, end, steps, kind):
    """PyTorch's way: the first half is counted from the start, the second from the end, each step rounded to `kind`."""
    first, last = (np.array(v).astype(kind) for v in (start, end))
    if steps == 1:
        return first.reshape(1)
    step = np.asarray((last - first) / np.array(builtins.max(steps - 1, 1)).astype(kind))
    places = np.arange(steps)
    up, down = first + step * places.astype(kind), last - step * (steps - 1 - places).astype(kind)
    return np.where(places < steps // 2, up, down)


def logspace(start, end, steps=None, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False, names=None):  # fmt: skip
    """`steps` powers of `base`, with exponents from start to end evenly spaced.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    start, end, steps, d = _ends("logspace", start, end, steps, dtype, out, (base,) if base != 10.0 else ())
    if d.itemsize == 2:
        start, end = (np.array(v).astype(d.numpy) for v in (start, end))
    kind = np.dtype(np.float32) if d.category == dtypes.INTEGER or d.itemsize == 2 else d.numpy
    powers = np.power(
        _plain(base), _spaced(start, end, steps, kind).astype(np.complex128 if d.is_complex else np.float64)
    )
    return _given(_cast_as_c(powers, d), out, device, requires_grad, layout, pin_memory, names)


def _cast_as_c(values, d):
    """Floats in a dtype, integers by way of 64 bits: what does not fit is cut off, not refused."""
    if d.category == dtypes.INTEGER and d.itemsize < 8:
        values = values.astype(np.int64)
    return values.astype(d.numpy)
