"""Small tools around training, under PyTorch's module path. Each is imported when it is first named."""

import importlib


def __getattr__(name):
    try:
        return importlib.import_module(f"tensorgrad.utils.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"tensorgrad.utils.{name}":
            raise
    raise AttributeError(f"module 'tensorgrad.utils' has no attribute '{name}'")
