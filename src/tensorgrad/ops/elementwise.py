"""Functions of one number: exponentials, trigonometry, rounding, activations. Each stands beside its slope."""

import numpy as np

from tensorgrad.backends import gelu as gelu_kernels
from tensorgrad.backends.choosing import at_least_zero
from tensorgrad.ops.both import arrays, number, special_kernel, tensors, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.pointwise import Pointwise, inplace, unary


def _example(call, result):
    return f"\n\n    >>> torch.{call}\n    {result}\n    "


exp = unary("exp", np.exp, slope=lambda y: y, doc="e to the power of each element."
    + _example("exp(torch.tensor([0., 1.]))", "tensor([1.0000, 2.7183])"))  # fmt: skip
exp2 = unary("exp2", np.exp2, slope=lambda y: y * 0.6931471805599453, doc="2 to the power of each element."
    + _example("exp2(torch.tensor([0., 3.]))", "tensor([1., 8.])"))  # fmt: skip
expm1 = unary("expm1", np.expm1, slope=lambda y: y + 1, doc="exp(x) - 1, exact for small x."
    + _example("expm1(torch.tensor([0., 1.]))", "tensor([0.0000, 1.7183])"))  # fmt: skip
log = unary("log", np.log, slope=lambda x: 1 / x, doc="The natural logarithm."
    + _example("log(torch.tensor([1., 10.]))", "tensor([0.0000, 2.3026])"))  # fmt: skip
log2 = unary("log2", np.log2, slope=lambda x: 1.4426950408889634 / x, doc="The logarithm to base 2."
    + _example("log2(torch.tensor([1., 8.]))", "tensor([0., 3.])"))  # fmt: skip
log10 = unary("log10", np.log10, slope=lambda x: 0.4342944819032518 / x, doc="The logarithm to base 10."
    + _example("log10(torch.tensor([1., 1000.]))", "tensor([0., 3.])"))  # fmt: skip
log1p = unary("log1p", np.log1p, slope=lambda x: 1 / (x + 1), doc="log(1 + x), exact for small x."
    + _example("log1p(torch.tensor([0., 1.]))", "tensor([0.0000, 0.6931])"))  # fmt: skip
sin = unary("sin", np.sin, slope=lambda x: xp.cos(x), doc="The sine."
    + _example("sin(torch.tensor([0., 1.]))", "tensor([0.0000, 0.8415])"))  # fmt: skip
cos = unary("cos", np.cos, slope=lambda x: -xp.sin(x), doc="The cosine."
    + _example("cos(torch.tensor([0., 1.]))", "tensor([1.0000, 0.5403])"))  # fmt: skip
tan = unary("tan", np.tan, slope=lambda y: 1 + y * y, doc="The tangent."
    + _example("tan(torch.tensor([0., 1.]))", "tensor([0.0000, 1.5574])"))  # fmt: skip
asin = arcsin = unary("asin", np.arcsin, slope=lambda x: 1 / xp.sqrt(1 - x * x), doc="The inverse sine."
    + _example("asin(torch.tensor([0., 1.]))", "tensor([0.0000, 1.5708])"))  # fmt: skip
acos = arccos = unary("acos", np.arccos, slope=lambda x: -1 / xp.sqrt(1 - x * x), doc="The inverse cosine."
    + _example("acos(torch.tensor([1., 0.]))", "tensor([0.0000, 1.5708])"))  # fmt: skip
atan = arctan = unary("atan", np.arctan, slope=lambda x: 1 / (x * x + 1), doc="The inverse tangent."
    + _example("atan(torch.tensor([0., 1.]))", "tensor([0.0000, 0.7854])"))  # fmt: skip
sinh = unary("sinh", np.sinh, slope=lambda x: xp.cosh(x), doc="The hyperbolic sine."
    + _example("sinh(torch.tensor([0., 1.]))", "tensor([0.0000, 1.1752])"))  # fmt: skip
cosh = unary("cosh", np.cosh, slope=lambda x: xp.sinh(x), doc="The hyperbolic cosine."
    + _example("cosh(torch.tensor([0., 1.]))", "tensor([1.0000, 1.5431])"))  # fmt: skip
unary("tanh_slope", arrays["tanh_slope"], slope=lambda x: -2 * x)
tanh = unary("tanh", np.tanh, slope=lambda y: xp.tanh_slope(y), doc="The hyperbolic tangent."
    + _example("tanh(torch.tensor([0., 1.]))", "tensor([0.0000, 0.7616])"))  # fmt: skip
asinh = arcsinh = unary("asinh", np.arcsinh, slope=lambda x: 1 / xp.sqrt(x * x + 1), doc="The inverse hyperbolic sine."
    + _example("asinh(torch.tensor([0., 1.]))", "tensor([0.0000, 0.8814])"))  # fmt: skip
acosh = arccosh = unary("acosh", np.arccosh, slope=lambda x: 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1)),
    doc="The inverse hyperbolic cosine." + _example("acosh(torch.tensor([1., 2.]))", "tensor([0.0000, 1.3170])"))  # fmt: skip
atanh = arctanh = unary("atanh", np.arctanh, slope=lambda x: 1 / (1 - x * x), doc="The inverse hyperbolic tangent."
    + _example("atanh(torch.tensor([0., 0.5]))", "tensor([0.0000, 0.5493])"))  # fmt: skip
erf = unary("erf", special_kernel("erf"), slope=lambda x: 1.1283791670955126 * xp.exp(-x * x), complex=False,
    doc="The error function." + _example("erf(torch.tensor([0., 1.]))", "tensor([0.0000, 0.8427])"))  # fmt: skip
erfc = unary("erfc", special_kernel("erfc"), slope=lambda x: -1.1283791670955126 * xp.exp(-x * x), complex=False,
    doc="1 - erf(x), exact for large x." + _example("erfc(torch.tensor([0., 1.]))", "tensor([1.0000, 0.1573])"))  # fmt: skip
sigmoid = unary("sigmoid", arrays["sigmoid"], slope=lambda y: y * (1 - y), doc="1 / (1 + exp(-x))."
    + _example("sigmoid(torch.tensor([0., 2.]))", "tensor([0.5000, 0.8808])"))  # fmt: skip

# Steps: their slope is zero

floor = unary("floor", lambda x: np.floor(x) if x.dtype.kind not in "iu" else x.copy(), slope=lambda: 0.0, promote="same",
    boolean=False, complex=False, doc="Round down."
    + _example("floor(torch.tensor([1.5, -1.5]))", "tensor([ 1., -2.])"))  # fmt: skip
ceil = unary("ceil", lambda x: np.ceil(x) if x.dtype.kind not in "iu" else x.copy(), slope=lambda: 0.0, promote="same",
    boolean=False, complex=False, doc="Round up." + _example("ceil(torch.tensor([1.5, -1.5]))", "tensor([ 2., -1.])"))  # fmt: skip
trunc = fix = unary("trunc", lambda x: np.trunc(x) if x.dtype.kind not in "iu" else x.copy(), slope=lambda: 0.0,
    promote="same", boolean=False, complex=False,
    doc="Round towards zero." + _example("trunc(torch.tensor([1.5, -1.5]))", "tensor([ 1., -1.])"))  # fmt: skip
_round = unary("round", lambda x: np.round(x) if x.dtype.kind not in "iu" else x.copy(), slope=lambda: 0.0, promote="same",
               boolean=False, complex=False)  # fmt: skip
sign = unary("sign", lambda x: xp.sign(x) if x.dtype.kind != "b" else x.copy(), slope=lambda: 0.0, promote="same", complex=False,
    doc="-1, 0 or 1." + _example("sign(torch.tensor([-3., 0., 2.]))", "tensor([-1.,  0.,  1.])"))  # fmt: skip


def round(input, *, decimals=0, out=None):
    """Round to the nearest integer, halves to even, or to a number of decimals.

    >>> torch.round(torch.tensor([0.5, 1.5, 2.345]), decimals=1)
    tensor([0.5000, 1.5000, 2.3000])
    """
    if decimals == 0:
        return _round(input, out=out)
    return _round_decimals.slow((check_tensor("round", input),), out, (decimals,))


def _round_decimals_kernel(x, decimals):
    factor = 10.0 ** (decimals if decimals > 0 else -decimals)
    return np.round(x * factor) / factor if decimals > 0 else np.round(x / factor) * factor


_round_decimals = Pointwise(
    "round_decimals", _round_decimals_kernel, (lambda: 0.0,), ("x",), params=("decimals",), node="RoundBackward1", integer=False,
    boolean=False, complex=False,
)  # fmt: skip


# abs is not holomorphic: its gradient is real, g times the direction of x.


def _abs_pullback(g, x, y):
    return xp.real(g) * sgn_of(x, y) if _is_complex(x) else g * xp.sign(x)


def _is_complex(x):
    return x.dtype.kind == "c" if isinstance(x, np.ndarray) else x.dtype.is_complex


def sgn_of(x, y):
    """x / |x|, and 0 where x is 0."""
    return xp.where(y == 0, xp.zeros_like(x), x / xp.where(y == 0, xp.zeros_like(y) + 1, y))


abs = absolute = unary("abs", np.abs, slope=lambda x: xp.sign(x), promote="same", complex=True, boolean=False,
    pullback=_abs_pullback, doc="The absolute value."
    + _example("abs(torch.tensor([-1., 2.]))", "tensor([1., 2.])"))  # fmt: skip

# Activations

relu = unary("relu", at_least_zero, slope=lambda y: y != 0, promote="same", complex=False, boolean=False,
    doc="max(x, 0)." + _example("relu(torch.tensor([-1., 2.]))", "tensor([0., 2.])"))  # fmt: skip


ROOT_HALF, ROOT_TWO_OVER_PI = 0.7071067811865476, 0.7978845608028654


@number
def erf_of(x):
    return erf.primitive.kernel(x)


tensors["erf_of"] = lambda x: erf(x)


def _in_single(x):
    return type(x) is np.ndarray and x.dtype == np.float32


def _gelu_kernel(x, out=None):
    if _in_single(x):
        return gelu_kernels.gelu(x, out)
    y = x * ROOT_HALF
    y = erf.primitive.kernel(y)
    y += 1
    y *= x
    return np.multiply(y, 0.5, out=y if out is None else out)


def _gelu_slope(x):
    """The normal distribution function, and x times its density."""
    if _in_single(x):
        return gelu_kernels.gelu_slope(x)
    return 0.5 * (1 + xp.erf_of(x * ROOT_HALF)) + x * xp.exp(-0.5 * x * x) * 0.3989422804014327


def _gelu_tanh_slope(x):
    square = x * x
    t = xp.tanh(x * (square * (0.044715 * ROOT_TWO_OVER_PI) + ROOT_TWO_OVER_PI))
    return 0.5 * (1 + t) + x * (1 - t * t) * (square * (0.134145 * 0.5 * ROOT_TWO_OVER_PI) + 0.5 * ROOT_TWO_OVER_PI)


def _gelu_tanh_kernel(x):
    y = x * x
    y *= 0.044715 * ROOT_TWO_OVER_PI
    y += ROOT_TWO_OVER_PI
    y *= x
    y = np.tanh(y)
    y += 1
    y *= x
    y *= 0.5
    return y


_gelu = unary("gelu", _gelu_kernel, slope=_gelu_slope, promote="same", integer=False, boolean=False, complex=False)
_gelu_tanh = unary("gelu_tanh", _gelu_tanh_kernel, slope=_gelu_tanh_slope, promote="same", integer=False, boolean=False,
                   complex=False, node="GeluBackward0")  # fmt: skip


def gelu(input, approximate="none", *, out=None):
    """x times the normal distribution function of x ("tanh": PyTorch's approximation of it).

    >>> torch.nn.functional.gelu(torch.tensor([-1., 0., 1.]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu(input, out=out) if approximate == "none" else _gelu_tanh(input, out=out)


class ElementwiseMixin:
    """Functions of one number as methods."""

    __slots__ = ()

    exp, exp2, expm1, log, log2, log10, log1p = exp, exp2, expm1, log, log2, log10, log1p
    sin, cos, tan, asin, acos, atan = sin, cos, tan, asin, acos, atan
    arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
    sinh, cosh, tanh, asinh, acosh, atanh = sinh, cosh, tanh, asinh, acosh, atanh
    erf, erfc, sigmoid, relu = erf, erfc, sigmoid, relu
    floor, ceil, trunc, fix, round, sign, abs, absolute = floor, ceil, trunc, trunc, round, sign, abs, abs
    __abs__ = abs
    exp_, exp2_, expm1_, log_, log2_ = inplace(exp), inplace(exp2), inplace(expm1), inplace(log), inplace(log2)
    log10_, log1p_, sin_, cos_, tan_ = inplace(log10), inplace(log1p), inplace(sin), inplace(cos), inplace(tan)
    asin_, acos_, atan_, sinh_, cosh_ = inplace(asin), inplace(acos), inplace(atan), inplace(sinh), inplace(cosh)
    arcsin_, arccos_, arctan_ = asin_, acos_, atan_
    tanh_, asinh_, acosh_, atanh_ = inplace(tanh), inplace(asinh), inplace(acosh), inplace(atanh)
    arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_
    erf_, erfc_, sigmoid_, relu_ = inplace(erf), inplace(erfc), inplace(sigmoid), inplace(relu)
    floor_, ceil_, trunc_, fix_ = inplace(floor), inplace(ceil), inplace(trunc), inplace(trunc)
    sign_ = inplace(sign)

    def round_(self, *, decimals=0):
        """The in-place form of `round`.

        >>> torch.tensor([1.26]).round_(decimals=1)
        tensor([1.3000])
        """
        return _round_decimals.write((self,), (decimals,)) if decimals else _round.primitive.write((self,))

    def abs_(self):
        """The in-place form of `abs`.

        >>> torch.tensor([-1.]).abs_()
        tensor([1.])
        """
        if self._spec.dtype.is_complex:
            raise RuntimeError("In-place abs is not supported for complex tensors.")
        return abs.primitive.write((self,))

    absolute_ = abs_
