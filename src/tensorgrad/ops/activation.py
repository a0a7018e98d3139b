"""Activations that bend: exponential units and their smooth relatives, gates. Each is one node with a short slope.

Those made of straight lines are in rectifiers.py.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.both import arrays, number, tensors, xp
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.parametric import parametric
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.rectifiers import FLOATS, chosen

PUBLIC = {
    "": "celu celu_ selu selu_",
    "nn.functional": "celu celu_ elu elu_ glu gumbel_softmax logsigmoid mish selu selu_ silu softplus softsign tanhshrink",
}

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
