"""Pooling: each window of the input becomes one number."""

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.modules.utils import ntuple

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
           "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
           "MaxUnpool3d"]  # fmt: skip


class _MaxPoolNd(Module):
    """The largest number of each window."""

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    function = None

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        return getattr(F, self.function)(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _MaxUnpoolNd(Module):
    """Puts numbers back to where a max pooling found them."""

    dims, function = 0, None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        n = self.dims
        self.kernel_size = ntuple(n, kernel_size)
        self.stride, self.padding = ntuple(n, stride if stride is not None else kernel_size), ntuple(n, padding)

    def forward(self, input, indices, output_size=None):
        return getattr(F, self.function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    """The mean of each window."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    function = None

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return getattr(F, self.function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPoolNd(Module):
    """The norm of each window."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    function = None

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return getattr(F, self.function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class _AdaptiveAvgPoolNd(Module):
    """The means of as many windows as the output has places."""

    __constants__ = ["output_size"]
    function = None

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return getattr(F, self.function)(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    """The largest numbers of as many windows as the output has places."""

    __constants__ = ["output_size", "return_indices"]
    function = None

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input):
        return getattr(F, self.function)(input, self.output_size, self.return_indices)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _FractionalMaxPoolNd(Module):
    """The largest numbers of windows that are placed at random."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    dims, function = 0, None

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        n, name = self.dims, type(self).__name__
        if any(size <= 0 for size in ntuple(n, kernel_size)):
            raise ValueError(f"kernel_size must be greater than zero for all dimensions, but got {kernel_size}")
        self.kernel_size, self.return_indices = ntuple(n, kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = ntuple(n, output_size) if output_size is not None else None
        self.output_ratio = ntuple(n, output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        return getattr(F, self.function)(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of a sequence.

    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        Module.__init__(self)
        self.kernel_size = ntuple(1, kernel_size)
        self.stride, self.padding = ntuple(1, stride if stride is not None else kernel_size), ntuple(1, padding)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of an image.

    >>> torch.nn.AvgPool2d(2)(torch.ones(1, 4, 4)).shape
    tensorgrad.Size([1, 2, 2])
    """

    function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of a volume.

    >>> torch.nn.AvgPool3d(2)(torch.ones(1, 4, 4, 4)).shape
    tensorgrad.Size([1, 2, 2, 2])
    """

    function = "avg_pool3d"


class MaxPool1d(_MaxPoolNd):
    """The largest number of each window of a sequence.

    >>> torch.nn.MaxPool1d(2)(torch.ones(1, 4)).shape
    tensorgrad.Size([1, 2])
    """

    function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest number of each window of an image.

    >>> torch.nn.MaxPool2d(2)(torch.ones(1, 4, 4)).shape
    tensorgrad.Size([1, 2, 2])
    """

    function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest number of each window of a volume.

    >>> torch.nn.MaxPool3d(2)(torch.ones(1, 4, 4, 4)).shape
    tensorgrad.Size([1, 2, 2, 2])
    """

    function = "max_pool3d"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put numbers back to where a MaxPool1d found them.

    >>> x, i = torch.nn.MaxPool1d(2, return_indices=True)(torch.ones(1, 4)); torch.nn.MaxUnpool1d(2)(x, i).shape
    tensorgrad.Size([1, 4])
    """

    dims, function = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Put numbers back to where a MaxPool2d found them.

    >>> x, i = torch.nn.MaxPool2d(2, return_indices=True)(torch.ones(1, 4, 4)); torch.nn.MaxUnpool2d(2)(x, i).shape
    tensorgrad.Size([1, 4, 4])
    """

    dims, function = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Put numbers back to where a MaxPool3d found them.

    >>> x, i = torch.nn.MaxPool3d(2, return_indices=True)(torch.ones(1, 4, 4, 4)); torch.nn.MaxUnpool3d(2)(x, i).shape
    tensorgrad.Size([1, 4, 4, 4])
    """

    dims, function = 3, "max_unpool3d"


class LPPool1d(_LPPoolNd):
    """The norm of each window of a sequence.

    >>> torch.nn.LPPool1d(2, 2)(torch.ones(1, 4)).shape
    tensorgrad.Size([1, 2])
    """

    function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The norm of each window of an image.

    >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 4, 4)).shape
    tensorgrad.Size([1, 2, 2])
    """

    function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The norm of each window of a volume.

    >>> torch.nn.LPPool3d(2, 2)(torch.ones(1, 4, 4, 4)).shape
    tensorgrad.Size([1, 2, 2, 2])
    """

    function = "lp_pool3d"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows of a sequence as the output has places.

    >>> torch.nn.AdaptiveAvgPool1d(3)(torch.ones(1, 4)).shape
    tensorgrad.Size([1, 3])
    """

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many windows of an image as the output has places.

    >>> torch.nn.AdaptiveAvgPool2d(3)(torch.ones(1, 4, 4)).shape
    tensorgrad.Size([1, 3, 3])
    """

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows of a volume as the output has places.

    >>> torch.nn.AdaptiveAvgPool3d(3)(torch.ones(1, 4, 4, 4)).shape
    tensorgrad.Size([1, 3, 3, 3])
    """

    function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Largest numbers of as many windows of a sequence as the output has places.

    >>> torch.nn.AdaptiveMaxPool1d(3)(torch.ones(1, 4)).shape
    tensorgrad.Size([1, 3])
    """

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Largest numbers of as many windows of an image as the output has places.

    >>> torch.nn.AdaptiveMaxPool2d(3)(torch.ones(1, 4, 4)).shape
    tensorgrad.Size([1, 3, 3])
    """

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Largest numbers of as many windows of a volume as the output has places.

    >>> torch.nn.AdaptiveMaxPool3d(3)(torch.ones(1, 4, 4, 4)).shape
    tensorgrad.Size([1, 3, 3, 3])
    """

    function = "adaptive_max_pool3d"


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Largest numbers of windows of an image that are placed at random.

    >>> torch.nn.FractionalMaxPool2d(2, output_size=3)(torch.ones(1, 4, 4)).shape
    tensorgrad.Size([1, 3, 3])
    """

    dims, function = 2, "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Largest numbers of windows of a volume that are placed at random.

    >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.ones(1, 4, 4, 4)).shape
    tensorgrad.Size([1, 3, 3, 3])
    """

    dims, function = 3, "fractional_max_pool3d"
