"""Neural networks, with PyTorch's module paths. Modules are imported when they are first named."""

import importlib

from tensorgrad.nn import modules
from tensorgrad.nn.modules import FILE_OF

_PARAMETERS = ("Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter")
_ROOMS = ("attention", "functional", "grad", "init", "parallel", "parameter", "utils")

__all__ = [*sorted(FILE_OF), *_PARAMETERS, *_ROOMS, "DataParallel", "modules"]


def __getattr__(name):
    if name in FILE_OF:
        value = globals()[name] = getattr(modules, name)
        return value
    if name in _PARAMETERS:
        value = globals()[name] = getattr(importlib.import_module("tensorgrad.nn.parameter"), name)
        return value
    if name == "DataParallel":
        return importlib.import_module("tensorgrad.nn.parallel").DataParallel
    if name in _ROOMS:
        return importlib.import_module(f"tensorgrad.nn.{name}")
    raise AttributeError(f"module 'tensorgrad.nn' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
