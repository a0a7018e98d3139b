"""Joining dimensions into one, and splitting one into several."""

from tensorgrad.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Join dimensions, all but the batch by default.

    >>> torch.nn.Flatten()(torch.ones(2, 3, 4)).shape
    tensorgrad.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split a dimension.

    >>> torch.nn.Unflatten(1, (3, 4))(torch.ones(2, 12)).shape
    tensorgrad.Size([2, 3, 4])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if isinstance(dim, int):
            self._require(unflattened_size, int, "ints")
        elif isinstance(dim, str):
            self._require(unflattened_size, tuple, "tuples")
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim, self.unflattened_size = dim, unflattened_size

    @staticmethod
    def _require(sizes, kind, words):
        """The sizes must be a tuple of ints, or of (name, size) for a named dimension."""
        expected = "tuple of ints" if kind is int else "tuple of tuples"
        if not isinstance(sizes, (tuple, list) if kind is int else tuple):
            raise TypeError(f"unflattened_size must be a {expected}, but found type {type(sizes).__name__}")
        for position, size in enumerate(sizes):
            if not isinstance(size, kind):
                raise TypeError(
                    f"unflattened_size must be {expected}, but found element of type {type(size).__name__} at pos {position}"
                )

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
