"""Activations: functions of one tensor as modules. Attention, which has weights, is in attention.py."""

from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.modules.attention import MultiheadAttention
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.ops.creation import empty

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
           "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
           "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
           "Threshold"]  # fmt: skip


class Threshold(Module):
    """Numbers up to a threshold become one value.

    >>> torch.nn.Threshold(0., 9.)(torch.tensor([-1., 1.]))
    tensor([9., 1.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}{_inplace(self)}"


class ReLU(Module):
    """Negative numbers become zero.

    >>> torch.nn.ReLU()(torch.tensor([-1., 1.]))
    tensor([0., 1.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.relu(input, inplace=True) if self.inplace else F.relu(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """Negative numbers are scaled by a random slope.

    >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1., 1.]))
    tensor([-0.2000,  1.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{_inplace(self)}"


class CELU(Module):
    """An exponential below zero, smooth for every alpha.

    >>> torch.nn.CELU()(torch.tensor([-1., 1.]))
    tensor([-0.6321,  1.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}{_inplace(self)}"


class ELU(Module):
    """An exponential below zero.

    >>> torch.nn.ELU()(torch.tensor([-1., 1.]))
    tensor([-0.6321,  1.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}{_inplace(self)}"


class SELU(Module):
    """ELU scaled so that signals keep mean 0 and deviation 1.

    >>> torch.nn.SELU()(torch.tensor([-1., 1.]))
    tensor([-1.1113,  1.0507])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.selu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class GELU(Module):
    """Each number times the share of the normal distribution below it.

    >>> torch.nn.GELU()(torch.tensor([-1., 1.]))
    tensor([-0.1587,  0.8413])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """Small numbers become zero.

    >>> torch.nn.Hardshrink()(torch.tensor([0.4, 0.6]))
    tensor([0.0000, 0.6000])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Softshrink(Module):
    """Numbers move towards zero, small ones become it.

    >>> torch.nn.Softshrink()(torch.tensor([0.25, 1.0]))
    tensor([0.0000, 0.5000])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class Hardsigmoid(Module):
    """A sigmoid of straight lines.

    >>> torch.nn.Hardsigmoid()(torch.tensor([-3., 0., 3.]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """Each number times its hardsigmoid.

    >>> torch.nn.Hardswish()(torch.tensor([-3., 0., 3.]))
    tensor([-0.,  0.,  3.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class SiLU(Module):
    """Each number times its sigmoid.

    >>> torch.nn.SiLU()(torch.tensor([-1., 1.]))
    tensor([-0.2689,  0.7311])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """Each number times the tanh of its softplus.

    >>> torch.nn.Mish()(torch.tensor([-1., 1.]))
    tensor([-0.3034,  0.8651])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.mish(input, inplace=self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """Negative numbers become small.

    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1., 1.]))
    tensor([-0.1000,  1.0000])
    """

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}{_inplace(self)}"


class Softplus(Module):
    """A smooth ReLU: log(1 + exp(beta x)) / beta.

    >>> torch.nn.Softplus()(torch.tensor([0., 1.]))
    tensor([0.6931, 1.3133])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class GLU(Module):
    """One half of the numbers, gated by the sigmoid of the other.

    >>> torch.nn.GLU()(torch.tensor([2., 0.]))
    tensor([1.])
    """

    __constants__ = ["dim"]

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmin(Module):
    """Softmax of the negative.

    >>> torch.nn.Softmin(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.softmin(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(Module):
    """Positive numbers with sum 1.

    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.softmax(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of softmax.

    >>> torch.nn.LogSoftmax(dim=0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.log_softmax(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> torch.nn.Sigmoid()(torch.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input):
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent.

    >>> torch.nn.Tanh()(torch.ones(1))
    tensor([0.7616])
    """

    def forward(self, input):
        return input.tanh()


class LogSigmoid(Module):
    """The logarithm of the sigmoid.

    >>> torch.nn.LogSigmoid()(torch.zeros(1))
    tensor([-0.6931])
    """

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|).

    >>> torch.nn.Softsign()(torch.ones(1))
    tensor([0.5000])
    """

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> torch.nn.Tanhshrink()(torch.ones(1))
    tensor([0.2384])
    """

    def forward(self, input):
        return F.tanhshrink(input)


class Hardtanh(Module):
    """Numbers held between two limits.

    >>> torch.nn.Hardtanh()(torch.tensor([-2., 0.5]))
    tensor([-1.0000,  0.5000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                import warnings

                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=2
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}{_inplace(self)}"


class ReLU6(Hardtanh):
    """Numbers held between 0 and 6.

    >>> torch.nn.ReLU6()(torch.tensor([-1., 7.]))
    tensor([0., 6.])
    """

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class PReLU(Module):
    """Negative numbers are scaled by a slope that is learned.

    >>> torch.nn.PReLU()(torch.tensor([-1., 1.])).tolist()
    [-0.25, 1.0]
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """The first slope."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softmax2d(Module):
    """Softmax over the channels of images.

    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


def _inplace(module):
    return ", inplace=True" if module.inplace else ""
