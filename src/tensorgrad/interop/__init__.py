"""Meeting other libraries: PyTorch's programs and checkpoints, safetensors, NumPy's archives."""

import importlib

from .torch_name import install_as_torch

_LAZY = ("npz", "safetensors")
__all__ = ["install_as_torch"]


def __getattr__(name):
    """Formats of files are imported when they are first named."""
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY})
