"""Activations made of straight lines: rectifiers, and numbers kept within bounds. Each is one node with a short slope.

Where a condition chooses between numbers, arithmetic does it: a branch for each element costs ten times as much.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.both import arrays, xp
from tensorgrad.ops.elementwise import relu as _relu
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.parametric import parametric
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "hardshrink prelu relu_ rrelu rrelu_ threshold threshold_",
    "nn.functional": """hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu leaky_relu_ prelu relu relu_ relu6 rrelu
        rrelu_ softshrink threshold threshold_""",
}
FLOATS = {"integer": False, "boolean": False, "complex": False}


def chosen(form, inplace, input, *numbers):
    """A new result, or the same written into the input."""
    return form.inplace(input, *numbers) if inplace else form(input, *numbers)


# Rectifiers

arrays["clamp_max"] = np.minimum


def _leaky_kernel(x, negative_slope):
    if 0 < negative_slope <= 1:
        return np.maximum(x, x * negative_slope)
    return np.maximum(x, 0) + np.minimum(x, 0) * negative_slope


_leaky_relu = parametric(
    "leaky_relu",
    _leaky_kernel,
    lambda x, negative_slope: xp.choose(x > 0, 1, negative_slope, x),
    "negative_slope",
    **FLOATS,
)
_threshold = parametric(
    "threshold", lambda x, threshold, value: np.where(x <= threshold, np.asarray(value, x.dtype), x),
    lambda x, threshold: x > threshold, "threshold value", boolean=False, complex=False,
)  # fmt: skip


def _prelu_kernel(a, b):
    return np.maximum(a, 0) + b * np.minimum(a, 0)


_prelu = Pointwise(
    "prelu", _prelu_kernel, (lambda a, b: (a > 0) + b * ~(a > 0), lambda a: xp.clamp_max(a, 0)), ("a", "b"),
    node="PreluKernelBackward0", **FLOATS,
)  # fmt: skip


def relu(input, inplace=False):
    """max(x, 0).

    >>> torch.nn.functional.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return relu_(input) if inplace else _relu(input)


def relu_(input):
    """The in-place form of `relu`.

    >>> torch.relu_(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return check_tensor("relu_", input).relu_()


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where it is positive, else `negative_slope` times x.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return chosen(_leaky_relu, inplace, input, negative_slope)


def leaky_relu_(input, negative_slope=0.01):
    """The in-place form of `leaky_relu`.

    >>> torch.nn.functional.leaky_relu_(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _leaky_relu.inplace(input, negative_slope)


def prelu(input, weight):
    """x where it is positive, else a learned weight times x: one weight for all, or one for each channel (dimension 1).

    >>> torch.nn.functional.prelu(torch.tensor([[-1., -1.]]), torch.tensor([0.5, 0.25]))
    tensor([[-0.5000, -0.2500]])
    """
    check_tensor("prelu", input)
    check_tensor("prelu", weight, "weight", 2)
    shape, sizes = input._spec.shape, weight._spec.shape
    if input._spec.dtype is not weight._spec.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input._spec.dtype.title} and {weight._spec.dtype.title}"
        )
    if len(sizes) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(sizes)}")
    if weight._spec.size != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != weight._spec.size:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight._spec.size} and "
                f"channel size = {channels}."
            )
    if len(sizes) != len(shape):
        weight = weight.reshape(
            [-1 if dim == 1 or len(shape) == 1 else 1 for dim in range(len(shape))] if shape else ()
        )
    elif shape and len(shape) > 1:
        weight = weight.reshape([-1 if dim == 1 else 1 for dim in range(len(shape))])
    return _prelu.slow((input, weight))


def _check_bounds(lower, upper):
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


def _noise_kernel(x, generator, lower, upper):
    below = x <= 0
    noise = np.ones(x.shape, x.dtype)
    noise[below] = generator.draw("uniform", (int(np.count_nonzero(below)),), np.dtype(np.float64), lower, upper)
    return noise


_noise = Primitive("rrelu_noise", _noise_kernel)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """A leaky relu: in training, each negative number has a slope of its own between `lower` and `upper`; else all their mean.

    >>> torch.nn.functional.rrelu(torch.tensor([-1., 2.]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    check_tensor("rrelu", input)
    _check_bounds(lower, upper)
    if not training:
        return chosen(_leaky_relu, inplace, input, (lower + upper) / 2)
    if input._spec.dtype.category != dtypes.FLOAT:
        raise NotImplementedError(f"\"rrelu_out_cpu\" not implemented for '{input._spec.dtype.title}'")
    from tensorgrad.ops.random_primitives import draw
    from tensorgrad.random import default_generator

    noise = draw(_noise, (input.detach(),), (default_generator, lower, upper))
    return input.mul_(noise) if inplace else input * noise


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """The in-place form of `rrelu`.

    >>> torch.rrelu_(torch.tensor([-1., 2.]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    return rrelu(input, lower, upper, training, True)


def threshold(input, threshold, value, inplace=False):
    """x where it is above the threshold, else `value`.

    >>> torch.nn.functional.threshold(torch.tensor([-1., 2.]), 0.5, 7.)
    tensor([7., 2.])
    """
    return chosen(_threshold, inplace, input, threshold, value)


def threshold_(input, threshold, value):
    """The in-place form of `threshold`.

    >>> torch.threshold_(torch.tensor([-1., 2.]), 0.5, 7.)
    tensor([7., 2.])
    """
    return _threshold.inplace(input, threshold, value)


# Within bounds


def _no_bool(operands):
    if operands[0]._spec.dtype is dtypes.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")


def _hardtanh_kernel(x, min_val, max_val):
    if x.dtype.kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    return np.minimum(np.maximum(x, min_val), max_val)


_hardtanh = parametric(
    "hardtanh", _hardtanh_kernel, lambda x, min_val, max_val: (x > min_val) & (x < max_val), "min_val max_val",
    check=_no_bool, complex=False,
)  # fmt: skip


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x, kept between two numbers.

    >>> torch.nn.functional.hardtanh(torch.tensor([-3., 0.5, 3.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return chosen(_hardtanh, inplace, input, min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """The in-place form of `hardtanh`.

    >>> torch.nn.functional.hardtanh_(torch.tensor([-3., 0.5, 3.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    return hardtanh(input, min_val, max_val, True)


def relu6(input, inplace=False):
    """x, kept between 0 and 6.

    >>> torch.nn.functional.relu6(torch.tensor([-1., 3., 9.]))
    tensor([0., 3., 6.])
    """
    return chosen(_hardtanh, inplace, input, 0.0, 6.0)


def _hardsigmoid_kernel(x):
    return np.minimum(np.maximum(x + 3, 0), 6) / 6


_hardsigmoid = parametric(
    "hardsigmoid", _hardsigmoid_kernel, lambda x: xp.choose((x > -3) & (x < 3), 1 / 6, 0, x), **FLOATS
)


def hardsigmoid(input, inplace=False):
    """A sigmoid made of three lines: x / 6 + 1 / 2, kept between 0 and 1.

    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4., 0., 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return chosen(_hardsigmoid, inplace, input)


def _hardswish_slope(x):
    """0 up to -3, x / 3 + 1 / 2 between, 1 from 3 on."""
    return (xp.clip(x, -3, 3) / 3 + 0.5) * (x > -3) - xp.choose(x >= 3, 0.5, 0, x)


_hardswish = parametric("hardswish", lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6, _hardswish_slope, **FLOATS)


def hardswish(input, inplace=False):
    """x hardsigmoid(x).

    >>> torch.nn.functional.hardswish(torch.tensor([-4., -1., 4.]))
    tensor([-0.0000, -0.3333,  4.0000])
    """
    return chosen(_hardswish, inplace, input)


_hardshrink = parametric(
    "hardshrink", lambda x, lambd: np.where((x >= -lambd) & (x <= lambd), np.asarray(0, x.dtype), x),
    lambda x, lambd: (x < -lambd) | (x > lambd), "lambd", **FLOATS,
)  # fmt: skip


def hardshrink(input, lambd=0.5, *, out=None):
    """x, and 0 where it is between -lambd and lambd.

    >>> torch.nn.functional.hardshrink(torch.tensor([-1., 0.3]))
    tensor([-1.,  0.])
    """
    return _hardshrink(input, lambd, out=out)


_softshrink = parametric(
    "softshrink", lambda x, lambd: x - np.minimum(np.maximum(x, -lambd), lambd),
    lambda x, lambd: (x < -lambd) | (x > lambd), "lambd", **FLOATS,
)  # fmt: skip


def softshrink(input, lambd=0.5, *, out=None):
    """x moved towards 0 by lambd.

    >>> torch.nn.functional.softshrink(torch.tensor([-1., 0.3]))
    tensor([-0.5000,  0.0000])
    """
    dtype = check_tensor("softshrink", input)._spec.dtype
    if lambd < 0 and dtype.is_floating_point:
        raise RuntimeError(
            f"lambda must be in range [0, {dtypes.finfo(dtype).max:g}] for input dtype {dtype.title}, but found {lambd:g}"
        )
    return _softshrink(input, lambd, out=out)


class Methods:
    """The activations that are methods of a tensor."""

    prelu, hardshrink = prelu, hardshrink
