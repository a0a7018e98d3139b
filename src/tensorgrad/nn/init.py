"""Ways to fill a tensor before training, in place: PyTorch's numbers for PyTorch's seeds."""

import contextlib
import functools
import math
import threading
import warnings

from tensorgrad.autograd import modes

__all__ = ["calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
           "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
           "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
           "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_"]  # fmt: skip

_GAIN_1 = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


class _Filling(threading.local):
    """Whether this thread fills tensors."""

    on = True


_filling = _Filling()


@contextlib.contextmanager
def unfilled():
    """Within this, the functions of this file leave tensors as they are.

    >>> with torch.nn.init.unfilled():
    ...     torch.nn.init.ones_(torch.zeros(1))
    tensor([0.])
    """
    before, _filling.on = _filling.on, False
    try:
        yield
    finally:
        _filling.on = before


def _fills(function):
    """What all functions that fill have in common: nothing is recorded, and inside `unfilled` nothing is done."""

    @functools.wraps(function)
    def fill(tensor, *args, **kwargs):
        if not _filling.on:
            return tensor
        with modes.no_grad():
            return function(tensor, *args, **kwargs)

    return fill


def calculate_gain(nonlinearity, param=None):
    """How much wider the weights before a nonlinearity should be, so that signals keep their size.

    >>> torch.nn.init.calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in _GAIN_1:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@_fills
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers spread evenly from a to b.

    >>> _ = torch.manual_seed(0); torch.nn.init.uniform_(torch.empty(2))
    tensor([0.4963, 0.7682])
    """
    return tensor.uniform_(a, b, generator=generator)


@_fills
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal numbers.

    >>> _ = torch.manual_seed(0); torch.nn.init.normal_(torch.empty(3))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    return tensor.normal_(mean, std, generator=generator)


@_fills
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers, none below a or above b.

    >>> _ = torch.manual_seed(0); bool((torch.nn.init.trunc_normal_(torch.empty(100)).abs() <= 2).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if _normal_share((b - mean) / std) - _normal_share((a - mean) / std) > 0.3:
        return _drawn_again(tensor, mean, std, a, b, generator)
    return _accepted(tensor, mean, std, a, b, generator)


def _drawn_again(tensor, mean, std, a, b, generator):
    """Normal numbers; those outside are drawn again until there are none."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()  # as the dtype of the tensor rounds them
    tensor.normal_(mean, std, generator=generator)
    outside = (tensor < low) | (tensor > high)
    while outside.any():
        tensor.copy_(tensor.new_empty(tensor.shape).normal_(mean, std, generator=generator).where(outside, tensor))
        outside = (tensor < low) | (tensor > high)
    return tensor


def _accepted(tensor, mean, std, a, b, generator):
    """Even numbers, each drawn again until one is accepted with the chance that its density has beside the highest."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    waiting = None
    while waiting is None or waiting.any():
        candidates = tensor.new_empty(tensor.shape).uniform_(a, b, generator=generator)
        tensor.copy_(candidates if waiting is None else candidates.where(waiting, tensor))
        density = candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        refused = tensor.new_empty(tensor.shape).uniform_(generator=generator).log_() > density
        waiting = refused if waiting is None else refused & waiting
    return tensor


def _normal_share(x):
    """How much of the normal distribution lies below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@_fills
def constant_(tensor, val):
    """One value everywhere.

    >>> torch.nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


def ones_(tensor):
    """Ones.

    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


@_fills
def zeros_(tensor):
    """Zeros.

    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


@_fills
def eye_(tensor):
    """Ones on the diagonal of a matrix, zeros elsewhere: a linear layer that changes nothing.

    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_()
    n = min(tensor.shape)
    for i in range(n):
        tensor[i, i] = 1
    return tensor


@_fills
def dirac_(tensor, groups=1):
    """A convolution's weights that hand as many input channels on as possible.

    >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    ndim = tensor.ndimension()
    if ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_channels = tensor.size(0) // groups
    center = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(out_channels, tensor.size(1))):
            tensor[(group * out_channels + channel, channel, *center)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """How many numbers go into each output of a layer with these weights, and out of each input."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Even numbers, so wide that signals and gradients keep their size (Glorot).

    >>> _ = torch.manual_seed(0); torch.nn.init.xavier_uniform_(torch.empty(1, 2))
    tensor([[-0.0106,  0.7586]])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers, so wide that signals and gradients keep their size (Glorot).

    >>> _ = torch.manual_seed(0); torch.nn.init.xavier_normal_(torch.empty(1, 2))
    tensor([[ 1.2582, -0.2396]])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Even numbers, so wide that signals keep their size through a nonlinearity (He).

    >>> _ = torch.manual_seed(0); torch.nn.init.kaiming_uniform_(torch.empty(1, 2))
    tensor([[-0.0130,  0.9291]])
    """
    if _nothing_to_do(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(fan))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers, so wide that signals keep their size through a nonlinearity (He).

    >>> _ = torch.manual_seed(0); torch.nn.init.kaiming_normal_(torch.empty(1, 2))
    tensor([[ 1.5410, -0.2934]])
    """
    if _nothing_to_do(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def _nothing_to_do(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


@_fills
def orthogonal_(tensor, gain=1, generator=None):
    """A matrix whose rows (or columns, the fewer) are orthogonal and of one length.

    >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3)); torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    from tensorgrad import linalg

    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    flat = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = flat.size(0) < flat.size(1)
    q, r = linalg.qr(flat.t() if wide else flat)
    q = q * r.diagonal().sign()  # so that each orthogonal matrix is equally likely
    if wide:
        q = q.t()
    tensor.view_as(q).copy_(q)
    return tensor.mul_(gain)


@_fills
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers in a matrix, with a share of each column set to zero.

    >>> int((torch.nn.init.sparse_(torch.empty(10, 4), sparsity=0.3) == 0).sum())
    12
    """
    from tensorgrad.ops.random import randperm

    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _old_name(function):
    """A function under its name of before the underscore."""
    new, old = function.__name__, function.__name__[:-1]

    @functools.wraps(function)
    def deprecated(*args, **kwargs):
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The old name of `{new}`."
    return deprecated


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = _old_name(xavier_uniform_), _old_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _old_name(kaiming_uniform_), _old_name(kaiming_normal_)
orthogonal, sparse = _old_name(orthogonal_), _old_name(sparse_)
