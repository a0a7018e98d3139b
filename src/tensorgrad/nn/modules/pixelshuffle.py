"""Channels to places, and places to channels."""

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Make images larger and channels fewer.

    >>> torch.nn.PixelShuffle(2)(torch.ones(1, 4, 3, 3)).shape
    tensorgrad.Size([1, 1, 6, 6])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Make images smaller and channels more.

    >>> torch.nn.PixelUnshuffle(2)(torch.ones(1, 1, 6, 6)).shape
    tensorgrad.Size([1, 4, 3, 3])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"
