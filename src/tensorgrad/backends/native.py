"""Where a backend asks for kernels compiled for this processor (the `jit` extra); without them it works with NumPy.

LLVM takes a fifth of a second to load, so the first `PATIENCE` of work is left to NumPy: small programs never wait.
The environment's TENSORGRAD_JIT=0 turns compiled kernels off, TENSORGRAD_JIT=1 does not wait.
"""

import contextlib
import functools
import importlib
import importlib.util
import os
import warnings

import numpy as np

from tensorgrad.backends import crew
from tensorgrad.backends.choosing import times
from tensorgrad.spec import LARGE

ndarray = np.ndarray

PATIENCE = 0.02  # seconds of NumPy's work before LLVM is loaded
_state = {"on": False if os.environ.get("TENSORGRAD_JIT") == "0" else None, "seconds": 0.0}


def ready(seconds):
    """Whether compiled kernels may be used for work that takes NumPy about so many seconds."""
    if _state["on"]:
        return True
    if _state["on"] is None:
        _state["seconds"] += seconds
        if _state["seconds"] > PATIENCE or os.environ.get("TENSORGRAD_JIT") == "1":
            _state["on"] = _usable()
            return _state["on"]
    return False


def on():
    """Whether compiled kernels are in use."""
    return bool(_state["on"])


def _usable():
    """Whether LLVM is there and can compile for this processor."""
    if importlib.util.find_spec("llvmlite") is None:
        return False
    try:
        from tensorgrad.kernels import machine

        machine.engine()
    except Exception as error:  # whatever LLVM says, NumPy still works
        warnings.warn(f"compiled kernels are off, NumPy is used instead: {error}", RuntimeWarning, stacklevel=2)
        return False
    return True


LEAST = 1 << 11  # numbers from which one compiled loop (4 us to call) is faster than what it stands for


def suits(*arrays):
    """Whether arrays (None counts as one) are many numbers of one type that compiled kernels know, and those are at hand."""
    first = arrays[0]
    if type(first) is not ndarray or first.size < LEAST or first.dtype not in (np.float32, np.float64):
        return False
    for a in arrays:
        if a is not None and (type(a) is not ndarray or a.dtype != first.dtype or not a.flags.aligned):
            return False
    return _state["on"] or ready(first.size * 3e-9)


def loop(kernel, arrays, numbers, size):
    """kernel(*arrays, *numbers), element by element, in one compiled loop over so many numbers; None where that cannot be."""
    if size >= LEAST and (_state["on"] or ready(size * 1e-9)):
        return module("eager").pointwise(kernel, arrays, numbers)
    return None


# Bound by memory: threads gain less.
LIGHT = {np.add, np.subtract, np.multiply, np.negative, np.absolute, np.square}


def large(kernel, arrays, numbers=(), dtype=None):
    """kernel(*arrays, *numbers), element by element, of large arrays: in one compiled loop, or else in NumPy by all cores.

    >>> large(lambda a, b, by: a * b + by, [np.ones(2), np.array([1.0, 2.0])], (3.0,))
    array([4., 5.])
    """
    kernel = getattr(kernel, "__wrapped__", kernel)  # of `fused`
    size = max([a.size for a in arrays])
    if size >= LARGE:
        order = _order(arrays)
        if order is not None:
            lead = [(1,) * (len(order) - a.ndim) + a.shape for a in arrays]
            turned = [a.reshape(s).transpose(order) if a.ndim else a for a, s in zip(arrays, lead, strict=True)]
            return large(kernel, turned, numbers, dtype).transpose(np.argsort(order))
        result = loop(kernel, arrays, numbers, size)
        if result is not None:
            return result
    if size < (4 * LARGE if kernel in LIGHT else LARGE):
        return kernel(*arrays, *numbers)
    if not numbers:
        return crew.pointwise(kernel, arrays, dtype)
    if crew.writes(kernel):
        return crew.pointwise(lambda *parts, out=None: kernel(*parts, *numbers, out=out), arrays, dtype)
    return crew.pointwise(lambda *parts: kernel(*parts, *numbers), arrays, dtype)


def _order(arrays):
    """The dimensions in the order in which the numbers of the first array of full shape lie; None where that is theirs."""
    first = arrays[0]
    if first.flags.c_contiguous and all([a.size <= first.size for a in arrays]):
        return None
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    found = next((a for a in arrays if a.shape == shape), None)
    if found is None or found.flags.c_contiguous or min(found.strides) <= 0:
        return None
    dims = list(range(found.ndim))
    order = sorted(dims, key=lambda dim: -found.strides[dim])
    return None if order == dims else order


def fused(kernel):
    """A kernel of element-by-element steps, done in one loop where arrays are large: fused(kernel)(*arrays, *numbers).

    >>> fused(lambda x, by: x * x + by)(np.array([1.0, 2.0]), 1.0)
    array([2., 5.])
    """

    def call(x, *rest):
        if type(x) is ndarray and x.size >= LEAST:
            arrays, numbers = [x], []
            for value in rest:
                (arrays if type(value) is ndarray else numbers).append(value)
            if x.size >= LARGE:
                return large(kernel, arrays, tuple(numbers))
            result = loop(kernel, arrays, tuple(numbers), x.size)
            if result is not None:
                return result
        return kernel(x, *rest)

    return functools.wraps(kernel)(call)


def fused_gradient(slope):
    """g times a slope, as a function (g, *arrays and numbers), done in one loop where arrays are large."""

    def call(g, *values):
        size = g.size if type(g) is ndarray else 0
        if size == 1 and values:  # of a loss that is one number
            size = getattr(values[0], "size", 0)
        if size >= LEAST:
            arrays, order = [g], []
            for value in values:
                if type(value) is ndarray:
                    arrays.append(value)
                    order.append(...)
                else:
                    order.append(value)
            if size >= LARGE:
                return large(placed, arrays, (tuple(order),))
            result = loop(placed, arrays, (tuple(order),), size)
            if result is not None:
                return result
        return times(g, slope(*values))

    def placed(*arguments, out=None):
        """The gradient of arrays, with the numbers where they belong."""
        g, *arrays, order = arguments
        arrays = iter(arrays)
        return times(g, slope(*[next(arrays) if value is ... else value for value in order]), out)

    return call


@functools.cache
def module(name):
    """A module of tensorgrad.kernels, which is imported only when it is needed."""
    return importlib.import_module(f"tensorgrad.kernels.{name}")


@contextlib.contextmanager
def using(on):
    """Compiled kernels always or never, for a while; ModuleNotFoundError where there are none."""
    if on and not _usable():
        raise ModuleNotFoundError(
            "compiled kernels need llvmlite: pip install 'tensorgrad-engine[jit]'", name="llvmlite"
        )
    before, _state["on"] = _state["on"], on
    try:
        yield
    finally:
        _state["on"] = before


PRODUCT_FROM = 1 << 22  # multiply-adds from which the compiled kernel's start (10 us) is less than what it gains


def product(a, b):
    """a @ b by the compiled kernel, or None where NumPy is to do it."""
    if a.dtype not in (np.float32, np.float64) or not (_state["on"] or ready(a.size * b.shape[-1] * 2e-11)):
        return None
    return module("product").multiply(a, b)
