"""Normalization within a sample: LayerNorm, GroupNorm, RMSNorm, and local response normalization."""

from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.ops.creation import empty

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divide each channel by the strength of its neighbours.

    >>> torch.nn.LocalResponseNorm(2)(torch.ones(1, 1, 2))
    tensor([[[1.0000, 1.0000]]])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Local response normalization of images, the older form.

    >>> torch.nn.CrossMapLRN2d(1)(torch.ones(1, 1, 1, 1))
    tensor([[[[0.9999]]]])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        before = (self.size - 1) // 2
        squares = F.pad(input * input, (0, 0, 0, 0, before, self.size - 1 - before))
        channels = input.size(1)
        sums = sum(squares[:, shift : shift + channels] for shift in range(self.size))
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """Normalize over the last dimensions.

    >>> torch.nn.LayerNorm(2)(torch.tensor([1., 3.]))
    tensor([-1.0000,  1.0000], grad_fn=<NativeLayerNormBackward0>)
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps, self.elementwise_affine = tuple(normalized_shape), eps, elementwise_affine
        for name, there in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            made = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalize over groups of channels.

    >>> torch.nn.GroupNorm(1, 2)(torch.tensor([[1., 3.]]))
    tensor([[-1.0000,  1.0000]], grad_fn=<NativeGroupNormBackward0>)
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name, there in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(empty(num_channels, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divide by the root of the mean square over the last dimensions.

    >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([1., 7.]))
    tensor([0.2000, 1.4000])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps, self.elementwise_affine = tuple(normalized_shape), eps, elementwise_affine
        made = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
