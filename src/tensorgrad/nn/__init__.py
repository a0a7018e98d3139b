"""Neural networks, with PyTorch's module paths."""

from tensorgrad.nn import functional

__all__ = ["functional"]
