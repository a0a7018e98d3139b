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
