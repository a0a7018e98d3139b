"""Convolutions and transposed convolutions of sequences, images and volumes."""

import math

from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.modules.lazy import LazyModuleMixin
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.modules.utils import _reverse_repeat_tuple, ntuple
from tensorgrad.nn.parameter import Parameter, UninitializedParameter
from tensorgrad.ops.creation import empty

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]  # fmt: skip


class _ConvNd(Module):
    """What all convolutions share: sizes, weights, and how they print."""

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
                     "out_channels", "kernel_size"]  # fmt: skip

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding,
                 groups, bias, padding_mode, device=None, dtype=None):  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.transposed, self.output_padding, self.groups, self.padding_mode = (
            transposed,
            output_padding,
            groups,
            padding_mode,
        )
        self._reversed_padding_repeated_twice = self._both_sides()
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*shape, *kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _both_sides(self):
        """How much is padded before and after each dimension, the last one first."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = []
        for dilation, size in reversed(list(zip(self.dilation, self.kernel_size))):
            total = dilation * (size - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def reset_parameters(self):
        """Draw the weights again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros = (0,) * len(self.kernel_size)
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.kernel_size):
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    """A convolution of n dimensions."""

    dims, function = 0, None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        n = self.dims
        super().__init__(
            in_channels, out_channels, ntuple(n, kernel_size), ntuple(n, stride),
            padding if isinstance(padding, str) else ntuple(n, padding), ntuple(n, dilation), False, (0,) * n, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self.dims
        return getattr(F, self.function)(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """A convolution of sequences.

    >>> torch.nn.Conv1d(2, 3, kernel_size=2)(torch.ones(1, 2, 5)).shape
    tensorgrad.Size([1, 3, 4])
    """

    dims, function = 1, "conv1d"


class Conv2d(_Conv):
    """A convolution of images.

    >>> torch.nn.Conv2d(2, 3, kernel_size=3, padding=1)(torch.ones(1, 2, 5, 5)).shape
    tensorgrad.Size([1, 3, 5, 5])
    """

    dims, function = 2, "conv2d"


class Conv3d(_Conv):
    """A convolution of volumes.

    >>> torch.nn.Conv3d(2, 3, kernel_size=2)(torch.ones(1, 2, 4, 4, 4)).shape
    tensorgrad.Size([1, 3, 3, 3, 3])
    """

    dims, function = 3, "conv3d"


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution of n dimensions: the gradient of a convolution as a layer."""

    dims, function = 0, None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        n = self.dims
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, ntuple(n, kernel_size), ntuple(n, stride), ntuple(n, padding), ntuple(n, dilation),
            True, ntuple(n, output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input, output_size):
        """The output padding that gives the output a wanted size."""
        if output_size is None:
            return self.output_padding
        n = self.dims
        batched = input.dim() == n + 2
        sizes = list(output_size)
        if len(sizes) == (n + 2 if batched else n + 1):
            sizes = sizes[2 if batched else 1 :]
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{n + 2 if batched else n + 1} elements (got {len(sizes)})"
            )
        lead, smallest, largest = (2 if batched else 1), [], []
        for d in range(n):
            size = (input.size(d + lead) - 1) * self.stride[d] - 2 * self.padding[d]
            size += self.dilation[d] * (self.kernel_size[d] - 1) + 1
            smallest.append(size)
            largest.append(size + self.stride[d] - 1)
        if any(not low <= size <= high for low, size, high in zip(smallest, sizes, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for an input "
                f"of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(sizes, smallest)]

    def forward(self, input, output_size=None):
        output_padding = self._output_padding(input, output_size)
        return getattr(F, self.function)(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of sequences.

    >>> torch.nn.ConvTranspose1d(2, 3, kernel_size=2)(torch.ones(1, 2, 4)).shape
    tensorgrad.Size([1, 3, 5])
    """

    dims, function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of images.

    >>> torch.nn.ConvTranspose2d(2, 3, kernel_size=2, stride=2)(torch.ones(1, 2, 4, 4)).shape
    tensorgrad.Size([1, 3, 8, 8])
    """

    dims, function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of volumes.

    >>> torch.nn.ConvTranspose3d(2, 3, kernel_size=2)(torch.ones(1, 2, 2, 2, 2)).shape
    tensorgrad.Size([1, 3, 3, 3, 3])
    """

    dims, function = 3, "conv_transpose3d"


class _LazyConvXdMixin(LazyModuleMixin):
    """Learns the number of input channels from the first input."""

    def _wait(self, out_channels, bias, device, dtype):
        """Leave the shape of the weights open."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        """Draw the weights, once their shape is known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Take the number of channels from an input."""
        if not self.has_uninitialized_params():
            return
        n = self.dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}"
            )
        self.in_channels = input.shape[1] if input.dim() == n + 2 else input.shape[0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.transposed:
            shape = (self.in_channels, self.out_channels // self.groups)
        else:
            shape = (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*shape, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        LazyModuleMixin.__init__(self, 0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device,
                                 dtype)  # fmt: skip
        self._wait(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        LazyModuleMixin.__init__(self, 0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
                                 padding_mode, device, dtype)  # fmt: skip
        self._wait(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that learns the number of input channels from the first input.

    >>> layer = torch.nn.LazyConv1d(3, 2); _ = layer(torch.ones(1, 2, 5)); layer
    Conv1d(2, 3, kernel_size=(2,), stride=(1,))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that learns the number of input channels from the first input.

    >>> layer = torch.nn.LazyConv2d(3, 2); _ = layer(torch.ones(1, 2, 5, 5)); layer
    Conv2d(2, 3, kernel_size=(2, 2), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that learns the number of input channels from the first input.

    >>> layer = torch.nn.LazyConv3d(3, 2); _ = layer(torch.ones(1, 2, 5, 5, 5)); layer.in_channels
    2
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d that learns the number of input channels from the first input.

    >>> layer = torch.nn.LazyConvTranspose1d(3, 2); _ = layer(torch.ones(1, 2, 5)); layer.in_channels
    2
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d that learns the number of input channels from the first input.

    >>> layer = torch.nn.LazyConvTranspose2d(3, 2); _ = layer(torch.ones(1, 2, 5, 5)); layer.in_channels
    2
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d that learns the number of input channels from the first input.

    >>> layer = torch.nn.LazyConvTranspose3d(3, 2); _ = layer(torch.ones(1, 2, 3, 3, 3)); layer.in_channels
    2
    """

    cls_to_become = ConvTranspose3d
