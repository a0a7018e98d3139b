"""Data for training."""

from .digits import load_digits

__all__ = ["load_digits"]
