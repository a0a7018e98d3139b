"""Padding at the borders, in four ways and for one to three dimensions."""

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.modules.utils import ntuple

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
           "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]  # fmt: skip


class _Pad(Module):
    """A size for each side of the last `dims` dimensions."""

    __constants__ = ["padding"]
    dims, mode = 0, None

    def __init__(self, padding):
        super().__init__()
        self.padding = ntuple(2 * self.dims, padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with a value."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPadNd(_Pad):
    """Pads with what stands at the other end."""

    mode = "circular"

    def forward(self, input):
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class _ReflectionPadNd(_Pad):
    """Pads with the mirror image."""

    mode = "reflect"


class _ReplicationPadNd(_Pad):
    """Pads with the border."""

    mode = "replicate"


class CircularPad1d(_CircularPadNd):
    """Pad sequences with what stands at the other end.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    dims = 1


class CircularPad2d(_CircularPadNd):
    """Pad images with what stands at the other end.

    >>> torch.nn.CircularPad2d(1)(torch.ones(1, 2, 2)).shape
    tensorgrad.Size([1, 4, 4])
    """

    dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad volumes with what stands at the other end.

    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    tensorgrad.Size([1, 4, 4, 4])
    """

    dims = 3


class ConstantPad1d(_ConstantPadNd):
    """Pad sequences with a value.

    >>> torch.nn.ConstantPad1d(1, 9.)(torch.tensor([[1., 2., 3.]]))
    tensor([[9., 1., 2., 3., 9.]])
    """

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad images with a value.

    >>> torch.nn.ConstantPad2d(1, 9.)(torch.ones(1, 2, 2)).shape
    tensorgrad.Size([1, 4, 4])
    """

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad volumes with a value.

    >>> torch.nn.ConstantPad3d(1, 9.)(torch.ones(1, 2, 2, 2)).shape
    tensorgrad.Size([1, 4, 4, 4])
    """

    dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pad sequences with their mirror image.

    >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad images with their mirror image.

    >>> torch.nn.ReflectionPad2d(1)(torch.ones(1, 2, 2)).shape
    tensorgrad.Size([1, 4, 4])
    """

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad volumes with their mirror image.

    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    tensorgrad.Size([1, 4, 4, 4])
    """

    dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pad sequences with their border.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad images with their border.

    >>> torch.nn.ReplicationPad2d(1)(torch.ones(1, 2, 2)).shape
    tensorgrad.Size([1, 4, 4])
    """

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad volumes with their border.

    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    tensorgrad.Size([1, 4, 4, 4])
    """

    dims = 3


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pad sequences with zeros.

    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[0., 1., 2., 3., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pad images with zeros.

    >>> torch.nn.ZeroPad2d(1)(torch.ones(1, 2, 2)).shape
    tensorgrad.Size([1, 4, 4])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pad volumes with zeros.

    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    tensorgrad.Size([1, 4, 4, 4])
    """
