"""Activations: the functions between the layers of a network, each one node with a short slope.

Where a condition chooses between numbers, arithmetic does it: a branch for each element costs ten times as much.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.both import arrays, number, tensors, xp
from tensorgrad.ops.elementwise import relu as _relu
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.parametric import parametric
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "celu celu_ hardshrink prelu relu_ rrelu rrelu_ selu selu_ threshold threshold_",
    "nn.functional": """celu celu_ elu elu_ glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu
        leaky_relu_ logsigmoid mish prelu relu relu_ relu6 rrelu rrelu_ selu selu_ silu softplus softshrink softsign
        tanhshrink threshold threshold_""",
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


# Exponential units


def _elu_kernel(x, alpha, scale, input_scale):
    y = np.minimum(x, 0, out=np.empty_like(x))
    if input_scale != 1:
        y *= input_scale
    np.expm1(y, out=y)
    if alpha * scale != 1:
        y *= alpha * scale
    positive = np.maximum(x, 0)
    y += positive if scale == 1 else positive * scale
    return y


def _elu_slope(x, alpha, scale, input_scale):
    below = xp.exp(xp.clamp_max(x, 0) * input_scale) if input_scale != 1 else xp.exp(xp.clamp_max(x, 0))
    steepness = alpha * scale * input_scale
    if steepness == scale == 1:
        return below
    return below * xp.choose(x <= 0, steepness, 0, x) + xp.choose(x <= 0, 0, scale, x)


_elu = parametric("elu", _elu_kernel, _elu_slope, "alpha scale input_scale", **FLOATS)
_celu = parametric("celu", _elu_kernel, _elu_slope, "alpha scale input_scale", **FLOATS)
SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0


def elu(input, alpha=1.0, inplace=False):
    """x where it is positive, else alpha (exp(x) - 1).

    >>> torch.nn.functional.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return chosen(_elu, inplace, input, alpha, 1.0, 1.0)


def elu_(input, alpha=1.0):
    """The in-place form of `elu`.

    >>> torch.nn.functional.elu_(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return _elu.inplace(input, alpha, 1.0, 1.0)


def celu(input, alpha=1.0, inplace=False):
    """x where it is positive, else alpha (exp(x / alpha) - 1).

    >>> torch.nn.functional.celu(torch.tensor([-1., 2.]), alpha=2.)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return chosen(_celu, inplace, input, alpha, 1.0, 1.0 / alpha)


def celu_(input, alpha=1.0):
    """The in-place form of `celu`.

    >>> torch.celu_(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, True)


def selu(input, inplace=False):
    """elu, scaled so that numbers of mean 0 and variance 1 keep them.

    >>> torch.nn.functional.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return chosen(_elu, inplace, input, *SELU)


def selu_(input):
    """The in-place form of `selu`.

    >>> torch.selu_(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return _elu.inplace(input, *SELU)


def _softplus_kernel(x, beta, threshold):
    scaled = x * beta
    beyond = scaled > threshold
    y = np.exp(scaled)
    y = np.log1p(y)
    if beta != 1:
        y = y / beta
    return y if type(beyond) is np.ndarray and not beyond.any() else np.where(beyond, x, y)


_softplus = parametric(
    "softplus", _softplus_kernel,
    lambda x, beta, threshold: xp.choose(x * beta > threshold, 1, xp.sigmoid(x * beta), x), "beta threshold", **FLOATS,
)  # fmt: skip


def softplus(input, beta=1.0, threshold=20.0, *, out=None):
    """log(1 + exp(beta x)) / beta, a smooth relu; x itself where beta x is above the threshold.

    >>> torch.nn.functional.softplus(torch.tensor([0., 100.]))
    tensor([  0.6931, 100.0000])
    """
    return _softplus(input, beta, threshold, out=out)


def _logsigmoid_kernel(x):
    y = np.abs(x, out=np.empty_like(x))
    np.negative(y, out=y)
    np.exp(y, out=y)
    np.log1p(y, out=y)
    return np.subtract(np.minimum(x, 0), y, out=y)


_logsigmoid = parametric(
    "logsigmoid", _logsigmoid_kernel, lambda x: xp.sigmoid(-x), node="LogSigmoidBackward0", **FLOATS
)


def logsigmoid(input, *, out=None):
    """log(sigmoid(x)), exact for very negative x.

    >>> torch.nn.functional.logsigmoid(torch.tensor([0., -1000.]))
    tensor([-6.9315e-01, -1.0000e+03])
    """
    return _logsigmoid(input, out=out)


def _silu_kernel(x):
    y = arrays["sigmoid"](x)
    y *= x
    return y


def _silu_slope(x):
    s = xp.sigmoid(x)
    return s * (x * (1 - s) + 1)


_silu = parametric("silu", _silu_kernel, _silu_slope, integer=False, boolean=False)


def silu(input, inplace=False):
    """x sigmoid(x), also known as swish.

    >>> torch.nn.functional.silu(torch.tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """
    return chosen(_silu, inplace, input)


@number
def tanh_of_softplus(x):
    """tanh(log(1 + exp(x))) with one exponential: with w = exp(x) it is w (w + 2) / (w (w + 2) + 2)."""
    w = np.minimum(x, 20, out=np.empty_like(x))  # from there on it is 1
    np.exp(w, out=w)
    w *= w + 2
    return np.divide(w, w + 2, out=w)


def _tanh_of_softplus(x):
    w = x.clamp(max=20).exp()
    w = w * (w + 2)
    return w / (w + 2)


tensors["tanh_of_softplus"] = _tanh_of_softplus


def _mish_slope(x):
    t = xp.tanh_of_softplus(x)
    return t + x * xp.sigmoid(x) * (1 - t * t)


_mish = parametric("mish", lambda x: x * arrays["tanh_of_softplus"](x), _mish_slope, **FLOATS)


def mish(input, inplace=False):
    """x tanh(softplus(x)).

    >>> torch.nn.functional.mish(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
    """
    return chosen(_mish, inplace, input)


# Made of straight lines


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


def _softsign_kernel(x):
    y = np.abs(x, out=np.empty_like(x))
    y += 1
    return np.divide(x, y, out=y)


def _softsign_slope(x):
    y = 1 / (xp.abs(x) + 1)
    return y * y


_softsign = parametric(
    "softsign", _softsign_kernel, _softsign_slope, promote="float", node="DivBackward0", complex=False
)


def softsign(input):
    """x / (1 + |x|).

    >>> torch.nn.functional.softsign(torch.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """
    dtype = check_tensor("softsign", input)._spec.dtype
    if dtype is dtypes.bool_:
        raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
    return input / (input.abs() + 1) if dtype.is_complex else _softsign(input)


def _tanhshrink_slope(x):
    y = xp.tanh(x)
    return y * y


_tanhshrink = parametric(
    "tanhshrink", lambda x: x - np.tanh(x), _tanhshrink_slope, promote="float", node="SubBackward0"
)


def tanhshrink(input):
    """x - tanh(x).

    >>> torch.nn.functional.tanhshrink(torch.tensor([-1., 3.]))
    tensor([-0.2384,  2.0049])
    """
    if check_tensor("tanhshrink", input)._spec.dtype is dtypes.bool_:
        return input - input.tanh()  # which refuses
    return _tanhshrink(input)


# Gates


def _halves(x, dim):
    middle = x.shape[dim] // 2
    before = (slice(None),) * dim
    return x[(*before, slice(0, middle))], x[(*before, slice(middle, None))]


def _glu_kernel(x, dim):
    a, b = _halves(x, dim)
    if x.dtype.itemsize == 2:
        return (a.astype(np.float32) * arrays["sigmoid"](b.astype(np.float32))).astype(x.dtype)
    return a * arrays["sigmoid"](b)


@number
def glu_back(g, x, dim):
    if x.dtype.itemsize == 2:
        return glu_back(g.astype(np.float32), x.astype(np.float32), dim).astype(x.dtype)
    a, b = _halves(x, dim)
    whole = np.empty_like(x)
    left, right = _halves(whole, dim)
    s = arrays["sigmoid"](b)
    np.multiply(g, s, out=left)
    np.multiply(left * a, 1 - s, out=right)
    return whole


def _glu_back(g, x, dim):
    from tensorgrad import cat

    a, b = x.chunk(2, dim)
    s = b.sigmoid()
    return cat([g * s, g * s * a * (1 - s)], dim)


tensors["glu_back"] = _glu_back


def _glu_forward(t, x, dim):
    (a, b), (moved, opened) = x.chunk(2, dim), t.chunk(2, dim)
    s = b.sigmoid()
    return s * moved + opened * (a * s * (1 - s))


_glu = Primitive(
    "glu", _glu_kernel, fresh=True, batch="dims", rules={"x": lambda g, x, dim: xp.glu_back(g, x, dim)},
    pushforward=lambda t, x, dim: _glu_forward(t, x, dim),
)  # fmt: skip


def glu(input, dim=-1):
    """One half of the input times the sigmoid of the other.

    >>> torch.nn.functional.glu(torch.tensor([2., 4., 0., 0.]))
    tensor([1., 2.])
    """
    spec = check_tensor("glu", input)._spec
    if not spec.shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = dim_of(dim, len(spec.shape))
    if spec.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {spec.shape[dim]}")
    if not spec.dtype.is_floating_point:
        raise NotImplementedError(f"\"glu_cpu\" not implemented for '{spec.dtype.title}'")
    return _glu(input, dim)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution; hard: one-hot, with the gradient of the soft sample.

    >>> _ = torch.manual_seed(0); torch.nn.functional.gumbel_softmax(torch.zeros(3), hard=True)
    tensor([0., 0., 1.])
    """
    check_tensor("gumbel_softmax", logits)
    if eps != 1e-10:
        import warnings

        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -logits.detach().new_empty(logits.shape).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    return soft.new_zeros(soft.shape).scatter(dim, index, 1.0) - soft.detach() + soft


class Methods:
    """The activations that are methods of a tensor."""

    prelu, hardshrink = prelu, hardshrink
