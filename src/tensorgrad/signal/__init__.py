"""Signals: PyTorch's `torch.signal`, which holds the windows."""

from tensorgrad.signal import windows

__all__ = ["windows"]
