"""Dimensions with names, as a family of operations: what it holds is in the room of its own, names/."""

from tensorgrad.names.methods import Methods, align_tensors

PUBLIC = {"": "align_tensors"}

__all__ = ["PUBLIC", "Methods", "align_tensors"]
