"""The weights of convolutions in another order in memory."""

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay the weights of all two-dimensional convolutions of a module out in this order; their values stay.

    >>> conv = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(2, 3, 3), torch.channels_last)
    >>> conv.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    from tensorgrad.nn import Conv2d, ConvTranspose2d

    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay the weights of all three-dimensional convolutions of a module out in this order; their values stay.

    >>> conv = torch.nn.utils.convert_conv3d_weight_memory_format(torch.nn.Conv3d(2, 3, 3), torch.channels_last_3d)
    >>> conv.weight.is_contiguous(memory_format=torch.channels_last_3d)
    True
    """
    from tensorgrad.nn import Conv3d, ConvTranspose3d

    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module, memory_format, kinds):
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module
