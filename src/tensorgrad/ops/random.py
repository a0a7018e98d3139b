"""Random tensors: PyTorch's numbers for PyTorch's seeds."""


class RandomMixin:
    """Random fills as methods."""

    __slots__ = ()
