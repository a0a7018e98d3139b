"""Rearranging the channels and pixels of images: pixel_shuffle, pixel_unshuffle, channel_shuffle."""

from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.spatial import merged, split

PUBLIC = {
    "": "pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle",
    "nn.functional": "pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle",
}


@number
def pixels_apart(x, factor):
    """(..., C * f * f, H, W) as (..., C, H * f, W * f)."""
    *lead, channels, height, width = x.shape
    x = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    x = x.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return x.reshape(*lead, channels // factor**2, height * factor, width * factor)


@number
def pixels_together(x, factor):
    """The reverse."""
    *lead, channels, height, width = x.shape
    x = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    x = x.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return x.reshape(*lead, channels * factor**2, height // factor, width // factor)


@number
def channels_mixed(x, groups):
    """The channels of the groups taken in turn."""
    samples, channels, *rest = x.shape
    return x.reshape(samples, groups, channels // groups, *rest).swapaxes(1, 2).reshape(x.shape)


_pixels_apart = Primitive(
    "pixels_apart", pixels_apart, batch="leading", node="PixelShuffleBackward0",
    transpose=lambda g, factor: xp.pixels_together(g, factor),
)  # fmt: skip
_pixels_together = Primitive(
    "pixels_together", pixels_together, batch="leading", node="PixelUnshuffleBackward0",
    transpose=lambda g, factor: xp.pixels_apart(g, factor),
)  # fmt: skip
_channels_mixed = Primitive(
    "channels_mixed", channels_mixed, node="ChannelShuffleBackward0",
    batch=lambda apply, values, batched, params, size: split(apply((merged(values[0]),), params), size),
    transpose=lambda g, groups: xp.channels_mixed(g, g.shape[1] // groups),
)  # fmt: skip


def pixel_shuffle(input, upscale_factor):
    """Larger images of fewer channels: each square of channels becomes a square of pixels.

    >>> torch.pixel_shuffle(torch.arange(4.).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    check_tensor("pixel_shuffle", input)
    shape = input._spec.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    if shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return _pixels_apart(input, upscale_factor) if upscale_factor > 1 else input.clone()


def pixel_unshuffle(input, downscale_factor):
    """Smaller images of more channels: the reverse of `pixel_shuffle`.

    >>> torch.pixel_unshuffle(torch.arange(4.).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    check_tensor("pixel_unshuffle", input)
    shape = input._spec.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for word, dim in (("height", -2), ("width", -1)):
        if shape[dim] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({dim})={shape[dim]} is not "
                f"divisible by {downscale_factor}"
            )
    return _pixels_together(input, downscale_factor) if downscale_factor > 1 else input.clone()


def channel_shuffle(input, groups):
    """Take the channels of the groups in turn.

    >>> torch.channel_shuffle(torch.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    check_tensor("channel_shuffle", input)
    shape = input._spec.shape
    if len(shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    return _channels_mixed(input, groups)


def native_channel_shuffle(input, groups):
    """Take the channels of the groups in turn.

    >>> torch.native_channel_shuffle(torch.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return channel_shuffle(input, groups)
