"""Gradients of convolutions by themselves: PyTorch's `torch.nn.grad`."""

from tensorgrad.autograd import modes
from tensorgrad.nn import functional as F

__all__ = [f"conv{n}d_{what}" for n in (1, 2, 3) for what in ("input", "weight")]


def _gradient(n, input, weight, wanted, grad_output, stride, padding, dilation, groups):
    """The gradient of one operand of a convolution, from what arrives at the result."""
    from tensorgrad.autograd import grad

    with modes.enable_grad():
        result = getattr(F, f"conv{n}d")(input, weight, None, stride, padding, dilation, groups)
    return grad(result, wanted, grad_output)[0]


def _of_input(n):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        input = grad_output.new_zeros(tuple(input_size)).requires_grad_()
        return _gradient(n, input, weight.detach(), input, grad_output, stride, padding, dilation, groups)

    gradient.__name__ = gradient.__qualname__ = f"conv{n}d_input"
    gradient.__doc__ = f"""The gradient of the input of conv{n}d, whose size is given.

    >>> weight, g = torch.ones({("1, " * (n + 2))[:-2]}), torch.ones({("1, " * (n + 2))[:-2]})
    >>> torch.nn.grad.conv{n}d_input(({("1, " * (n + 2))[:-2]}), weight, g).item()
    1.0
    """
    return gradient


def _of_weight(n):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = grad_output.new_zeros(tuple(weight_size)).requires_grad_()
        return _gradient(n, input.detach(), weight, weight, grad_output, stride, padding, dilation, groups)

    gradient.__name__ = gradient.__qualname__ = f"conv{n}d_weight"
    gradient.__doc__ = f"""The gradient of the weight of conv{n}d, whose size is given.

    >>> input, g = torch.ones({("1, " * (n + 2))[:-2]}), torch.ones({("1, " * (n + 2))[:-2]})
    >>> torch.nn.grad.conv{n}d_weight(input, ({("1, " * (n + 2))[:-2]}), g).item()
    1.0
    """
    return gradient


conv1d_input, conv1d_weight = _of_input(1), _of_weight(1)
conv2d_input, conv2d_weight = _of_input(2), _of_weight(2)
conv3d_input, conv3d_weight = _of_input(3), _of_weight(3)
