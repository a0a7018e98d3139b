"""Meeting other libraries: programs written for PyTorch run here under its name."""

from .torch_name import install_as_torch

__all__ = ["install_as_torch"]
