"""Mathematics element by element that no program needs at its start: extremes, signs, angles, parts of numbers, logarithms
of sums, whole-number functions. Each stands beside its slopes."""

import builtins
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arithmetic import _is_complex, pow
from tensorgrad.ops.both import arrays, special_kernel, xp
from tensorgrad.ops.comparison import _clamp_max, _clamp_min, _no_complex_in
from tensorgrad.ops.elementwise import _example, cos, sin
from tensorgrad.ops.fitting import check_tensor, is_number
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.parametric import number_of, parametric
from tensorgrad.ops.pointwise import Pointwise, binary, inplace, unary
from tensorgrad.ops.primitive import PRIMITIVES, Primitive, recording, wrap
from tensorgrad.ops.results import return_type

PUBLIC = {
    "": """addcdiv addcmul angle arctan2=atan2 atan2 clamp_max clamp_min complex copysign deg2rad fill
        float_power fmax fmin frac frexp gcd heaviside hypot isneginf isposinf isreal lcm ldexp lerp logaddexp logaddexp2
        nan_to_num nextafter polar rad2deg sgn signbit""",
}

# Directions and sizes

atan2 = binary("atan2", np.arctan2, promote="float", complex=False, numbers="none",
    slopes=(lambda a, b: b * _inverse_square(a, b), lambda a, b: -a * _inverse_square(a, b)),
    doc="The angle of the point (other, input)."
    + _example("atan2(torch.tensor([1., 1.]), torch.tensor([0., 1.]))", "tensor([1.5708, 0.7854])"))  # fmt: skip


def _inverse_square(a, b):
    """1 / (a² + b²), and 0 at the origin, where the angle has no derivative."""
    square = a * a + b * b
    return xp.where(square == 0, xp.zeros_like(square), 1 / square)


hypot = binary("hypot", np.hypot, integer=False, boolean=False, complex=False, numbers="none",
    slopes=(lambda a, out: a / out, lambda b, out: b / out), doc="The length of the vector (input, other)."
    + _example("hypot(torch.tensor([3.]), torch.tensor([4.]))", "tensor([5.])"))  # fmt: skip


def _angle_kernel(x):
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(np.isnan(x), x, np.where(x < 0, np.asarray(math.pi, x.dtype), np.asarray(0, x.dtype)))


def _angle_pullback(g, x):
    if not _is_complex(x):
        return xp.zeros_like(g)
    square = x.real * x.real + x.imag * x.imag
    return xp.where(square == 0, xp.zeros_like(x), xp.real(g) * 1j * x / square)


angle = unary("angle", _angle_kernel, slope=lambda x: xp.zeros_like(x), pullback=_angle_pullback,
    doc="The angle of each complex number; π for negative ones."
    + _example("angle(torch.tensor([1j, -1.]))", "tensor([1.5708, 3.1416])"))  # fmt: skip


def _sgn_kernel(x):
    if x.dtype.kind == "b":
        return x.copy()
    if x.dtype.kind != "c":
        return xp.sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)


def _sgn_pullback(g, x, y):
    """What is left of g when its part along x is taken away, over |x|."""
    if not _is_complex(x):
        return xp.zeros_like(g)
    size = xp.abs(x)
    still = size == 0
    return xp.where(
        still, xp.zeros_like(x), (g - y * (g * xp.conj(y)).real) / xp.where(still, xp.zeros_like(size) + 1, size)
    )


sgn = unary("sgn", _sgn_kernel, slope=lambda x: xp.zeros_like(x), promote="same", pullback=_sgn_pullback,
    doc="x / |x|, and 0 at 0: the sign of real numbers."
    + _example("sgn(torch.tensor([3j, 0., -2.]))", "tensor([ 0.+1.j,  0.+0.j, -1.+0.j])"))  # fmt: skip
copysign = binary("copysign", np.copysign, promote="float", complex=False, numbers="second",
    slopes=(lambda a, out: xp.where(a == 0, xp.zeros_like(a), out / a), lambda: 0.0),
    doc="The size of the first with the sign of the second."
    + _example("copysign(torch.tensor([1., 2.]), torch.tensor([-1., 3.]))", "tensor([-1.,  2.])"))  # fmt: skip
deg2rad = unary("deg2rad", lambda x: x * (math.pi / 180), slope=lambda: math.pi / 180, complex=False,
    node="Deg2RadBackward0", doc="Degrees as radians."
    + _example("deg2rad(torch.tensor([180.]))", "tensor([3.1416])"))  # fmt: skip
rad2deg = unary("rad2deg", lambda x: x * (180 / math.pi), slope=lambda: 180 / math.pi, complex=False,
    node="Rad2DegBackward0", doc="Radians as degrees."
    + _example("rad2deg(torch.tensor([3.14159265]))", "tensor([180.])"))  # fmt: skip
# Choices

fmax = binary("fmax", np.fmax, numbers="none", check=_no_complex_in("fmax"),
    slopes=(lambda a, b: _first_wins(a, b), lambda a, b: 1 - _first_wins(a, b)),
    doc="The larger of two elements, of which NaN is none."
    + _example("fmax(torch.tensor([1., float('nan')]), torch.tensor([3., 2.]))", "tensor([3., 2.])"))  # fmt: skip
fmin = binary("fmin", np.fmin, numbers="none", check=_no_complex_in("fmin"),
    slopes=(lambda a, b: _first_wins(-a, -b), lambda a, b: 1 - _first_wins(-a, -b)),
    doc="The smaller of two elements, of which NaN is none."
    + _example("fmin(torch.tensor([1., float('nan')]), torch.tensor([3., 2.]))", "tensor([1., 2.])"))  # fmt: skip


def _first_wins(a, b):
    return xp.choose((a >= b) | (b != b), 1, 0, a)


def clamp_min(input, min, *, out=None):
    """Elements below `min`, a number or a tensor, raised to it.

    >>> torch.clamp_min(torch.tensor([-2., 3.]), 0)
    tensor([0., 3.])
    """
    return _clamp_min.slow((check_tensor("clamp_min", input), min), out)


def clamp_max(input, max, *, out=None):
    """Elements above `max`, a number or a tensor, lowered to it.

    >>> torch.clamp_max(torch.tensor([-2., 3.]), 0)
    tensor([-2.,  0.])
    """
    return _clamp_max.slow((check_tensor("clamp_max", input), max), out)


def _same_dtypes(operands):
    if operands[0]._spec.dtype is not operands[1]._spec.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if operands[0]._spec.dtype.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")


_heaviside = binary(
    "heaviside", lambda a, b: np.where(a == 0, b, (a > 0).astype(a.dtype)), numbers="none", check=_same_dtypes
)


def heaviside(input, values, *, out=None):
    """0 below 0, 1 above, and the second operand's value at 0.

    >>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    result = _heaviside(input, values, out=out)
    if recording() and (input._node is not None or values._node is not None):
        raise RuntimeError(
            "derivative for aten::heaviside is not implemented\nIt is 0 where there is one: detach() both."
        )
    return result


def _nan_to_num_kernel(x, nan, posinf, neginf):
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf) if x.dtype.kind in "fc" else x.copy()


_nan_to_num = parametric(
    "nan_to_num", _nan_to_num_kernel, params="nan posinf neginf",
    slope=lambda x: xp.choose(xp.isfinite(x), 1, 0, x),
    pullback=lambda g, x: _finite_part(g, x),
)  # fmt: skip


def _finite_part(g, x):
    if not _is_complex(x):
        return xp.choose(xp.isfinite(x), g, 0, g)
    parts = (xp.choose(xp.isfinite(part), h, 0, h) for part, h in ((x.real, g.real), (x.imag, g.imag)))
    return xp.complex(*parts)


def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """NaN replaced by `nan`, infinities by `posinf` and `neginf`: 0 and the largest numbers where they are not given.

    >>> torch.nan_to_num(torch.tensor([float('nan'), float('inf'), 1.]), posinf=9.)
    tensor([0., 9., 1.])
    """
    return _nan_to_num(input, *_replacements(input, nan, posinf, neginf), out=out)


def _replacements(input, nan, posinf, neginf):
    dtype = check_tensor("nan_to_num", input)._spec.dtype
    if dtype.category < dtypes.FLOAT:
        return 0.0, 0.0, 0.0
    limits = dtypes.finfo(dtype)
    return (
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )


# Tests

signbit = unary("signbit", lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0, promote="bool",
    check=lambda operands: _real_for_signbit(*operands), doc="Where the sign is negative; that of -0 is."
    + _example("signbit(torch.tensor([-1., 0., -0.]))", "tensor([ True, False,  True])"))  # fmt: skip
isposinf = unary("isposinf", lambda x: x == np.inf, promote="bool", check=lambda operands: _real_for("isposinf", *operands),
    doc="Where the elements are +inf."
    + _example("isposinf(torch.tensor([float('inf'), 1.]))", "tensor([ True, False])"))  # fmt: skip
isneginf = unary("isneginf", lambda x: x == -np.inf, promote="bool", check=lambda operands: _real_for("isneginf", *operands),
    doc="Where the elements are -inf."
    + _example("isneginf(torch.tensor([-float('inf'), 1.]))", "tensor([ True, False])"))  # fmt: skip
isreal = unary("isreal", np.isreal, promote="bool", doc="Where the imaginary part is 0."
    + _example("isreal(torch.tensor([1., 1j]))", "tensor([ True, False])"))  # fmt: skip


def _real_for_signbit(x):
    if x._spec.dtype.is_complex:
        raise NotImplementedError("signbit is not implemented for complex tensors.")


def _real_for(name, x):
    if x._spec.dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex inputs.")


# Parts of numbers

frac = unary("frac", lambda x: x - np.trunc(x), slope=lambda: 1.0, promote="same", integer=False, boolean=False, complex=False,
    doc="What is behind the point, with the sign."
    + _example("frac(torch.tensor([1.25, -1.25]))", "tensor([ 0.2500, -0.2500])"))  # fmt: skip


def _frexp_kernel(x):
    if x.dtype.kind == "V":
        mantissa, exponent = np.frexp(x.astype(np.float32))
    else:
        mantissa, exponent = np.frexp(x)
    return mantissa.astype(x.dtype), np.where(np.isfinite(mantissa), exponent, 0).astype(np.int32)


_frexp = Primitive(
    "frexp", _frexp_kernel, integer_outputs=(1,), count=2, fresh=True, batch="leading",
    uses=(1,), pullback=lambda g, out: _frexp_back(g[0], out[1]), pushforward=lambda t, out: (_frexp_back(t, out[1]), None),
)  # fmt: skip


def _frexp_back(g, exponent):
    return None if g is None else xp.ldexp(g, -exponent)


_frexp_parts = return_type("frexp", ("mantissa", "exponent"))


@takes_out
def frexp(input):
    """Each number as mantissa times 2 to the power of exponent, the mantissa's size from 0.5 up to 1.

    >>> mantissa, exponent = torch.frexp(torch.tensor([6.])); mantissa, exponent
    (tensor([0.7500]), tensor([3], dtype=tensorgrad.int32))
    """
    if not check_tensor("frexp", input)._spec.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return _frexp_parts(_frexp(input))


nextafter = binary("nextafter", np.nextafter, numbers="none", integer=False, boolean=False, complex=False, halves=False,
    slopes=(lambda: 1.0, lambda: 0.0), doc="The next number after the first in the direction of the second."
    + _example("nextafter(torch.tensor([1.]), torch.tensor([2.])) > 1", "tensor([True])"))  # fmt: skip
ldexp = binary("ldexp", lambda a, b: a * np.exp2(b), promote="float", numbers="none",
    slopes=(lambda b: xp.exp2(b), lambda out: out * math.log(2)), doc="The first times 2 to the power of the second."
    + _example("ldexp(torch.tensor([0.75]), torch.tensor([3]))", "tensor([6.])"))  # fmt: skip

# Whole numbers

gcd = binary("gcd", np.gcd, floating=False, boolean=False, numbers="none", doc="The greatest common divisor."
    + _example("gcd(torch.tensor([12, 8]), torch.tensor([18, 5]))", "tensor([6, 1])"))  # fmt: skip
lcm = binary("lcm", np.lcm, floating=False, boolean=False, numbers="none", doc="The least common multiple."
    + _example("lcm(torch.tensor([4, 3]), torch.tensor([6, 5]))", "tensor([12, 15])"))  # fmt: skip

# Sums, products and quotients in one step

logaddexp = binary("logaddexp", special_kernel("logaddexp"), integer=False, boolean=False, numbers="none",
    slopes=(lambda a, b: xp.sigmoid(a - b), lambda a, b: xp.sigmoid(b - a)), doc="log(exp(a) + exp(b)) without overflow."
    + _example("logaddexp(torch.tensor([1000.]), torch.tensor([1000.]))", "tensor([1000.6931])"))  # fmt: skip
logaddexp2 = binary("logaddexp2", np.logaddexp2, integer=False, boolean=False, complex=False, numbers="none",
    slopes=(lambda a, b: 1 / (1 + xp.exp2(b - a)), lambda a, b: 1 / (1 + xp.exp2(a - b))),
    node="Logaddexp2Backward0", doc="log2(2**a + 2**b) without overflow."
    + _example("logaddexp2(torch.tensor([1000.]), torch.tensor([1000.]))", "tensor([1001.])"))  # fmt: skip
_addcmul = Pointwise(
    "addcmul", lambda a, b, c, value: a + value * b * c,
    (lambda: 1, lambda tensor2, value: tensor2 * value, lambda tensor1, value: tensor1 * value),
    ("input", "tensor1", "tensor2"), params=("value",),
)  # fmt: skip
_addcdiv = Pointwise(
    "addcdiv", lambda a, b, c, value: a + value * b / c,
    (lambda: 1, lambda tensor2, value: value / tensor2,
     lambda tensor1, tensor2, value: -value * tensor1 / (tensor2 * tensor2)),
    ("input", "tensor1", "tensor2"), params=("value",),
)  # fmt: skip


def _three(name, input, tensor1, tensor2, value):
    """The operands of addcmul and addcdiv, and their factor as the dtype of the result holds it."""
    for position, (word, tensor) in enumerate((("input", input), ("tensor1", tensor1), ("tensor2", tensor2))):
        check_tensor(name, tensor, word, position + 1)
    value = number_of(name, "value", value, 4)
    whole = dtypes.result_dtype((input, tensor1, tensor2)).category <= dtypes.INTEGER
    return (input, tensor1, tensor2), (int(value) if whole else value,)


INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
    "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
    "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
    "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
)


def _no_integer_quotient(tensors):
    if tensors[1]._spec.dtype.category <= dtypes.INTEGER and tensors[2]._spec.dtype.category <= dtypes.INTEGER:
        raise RuntimeError(INTEGER_ADDCDIV)


def addcmul(input, tensor1, tensor2, *, value=1, out=None):
    """input + value * tensor1 * tensor2.

    >>> torch.addcmul(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([3.]), value=10)
    tensor([61.])
    """
    tensors, params = _three("addcmul", input, tensor1, tensor2, value)
    return _addcmul.slow(tensors, out, params)


def addcdiv(input, tensor1, tensor2, *, value=1, out=None):
    """input + value * tensor1 / tensor2.

    >>> torch.addcdiv(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([2.]), value=10)
    tensor([16.])
    """
    tensors, params = _three("addcdiv", input, tensor1, tensor2, value)
    _no_integer_quotient(tensors)
    return _addcdiv.slow(tensors, out, params)


def _lerp_kernel(a, b, weight):
    """From the nearer end, so that weights 0 and 1 give the ends themselves."""
    step = b - a
    return np.where(np.abs(weight) < 0.5, a + weight * step, b - step * (1 - weight))


_lerp = Pointwise(
    "lerp", _lerp_kernel, (lambda weight: 1 - weight, lambda weight: weight, lambda input, end: end - input),
    ("input", "end", "weight"), integer=False, boolean=False, node="LerpBackward1",
)  # fmt: skip
_lerp_number = Pointwise(
    "lerp_kernel_scalar", lambda a, b, weight: a + (b - a) * weight if abs(weight) < 0.5 else b - (b - a) * (1 - weight),
    (lambda weight: 1 - weight, lambda weight: weight), ("input", "end"), params=("weight",), integer=False, boolean=False,
    node="LerpBackward0",
)  # fmt: skip


def _lerp_of(input, end, weight):
    """The primitive, its operands and its numbers."""
    check_tensor("lerp", input)
    check_tensor("lerp", end, "end", 2)
    if not isinstance(weight, fitting.Tensor) and not is_number(weight):
        raise fitting.must_be_tensor("lerp", weight, "weight", 3)
    for word, tensor in (("end", end), ("weight", weight)):
        spec = tensor._spec if isinstance(tensor, fitting.Tensor) else input._spec
        if spec.dtype is not input._spec.dtype and (word == "end" or spec.shape):
            wanted, found = _c_name(input._spec.dtype), _c_name(spec.dtype)
            raise RuntimeError(f"expected dtype {wanted} for `{word}` but got dtype {found}")
    if isinstance(weight, builtins.complex) and not input._spec.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {_c_name(input._spec.dtype)} without overflow")
    if isinstance(weight, fitting.Tensor):
        return _lerp, (input, end, weight), ()
    return _lerp_number, (input, end), (weight,)


def _c_name(dtype):
    """A dtype as C++ spells it."""
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}.get(dtype.name, dtype.name)


def lerp(input, end, weight, *, out=None):
    """The point between two tensors that lies `weight` of the way from the first to the second.

    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([10., 20.]), 0.25)
    tensor([ 2.5000, 12.5000])
    """
    primitive, operands, params = _lerp_of(input, end, weight)
    return primitive.slow(operands, out, params)


# Made of the others


def float_power(input, exponent, *, out=None):
    """Raise to a power in double precision.

    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=tensorgrad.float64)
    """
    operands = _in_double("float_power", input, exponent)
    if out is not None and out._spec.dtype is not _precise((input, exponent)):
        raise RuntimeError(
            f"the output given to float_power has dtype {out._spec.dtype.title} but the operation's result requires dtype "
            + _precise((input, exponent)).title
        )
    return pow(*operands, out=out)


def _precise(operands):
    return dtypes.complex128 if dtypes.result_dtype(operands).is_complex else dtypes.float64


def _in_double(name, input, exponent):
    if not isinstance(input, fitting.Tensor) and not (is_number(input) and isinstance(exponent, fitting.Tensor)):
        raise fitting.must_be_tensor(name, input)
    if not isinstance(exponent, fitting.Tensor) and not is_number(exponent):
        raise fitting.must_be_tensor(name, exponent, "exponent", 2)
    dtype = _precise((input, exponent))
    return tuple(t.to(dtype) if isinstance(t, fitting.Tensor) else t for t in (input, exponent))


def polar(abs, angle, *, out=None):
    """The complex numbers of these sizes and angles.

    >>> torch.polar(torch.tensor([1., 2.]), torch.tensor([0., 3.14159265 / 2]))
    tensor([ 1.0000e+00+0.j, -8.7423e-08+2.j])
    """
    check_parts("polar", abs, angle, ("abs", "angle"), out)
    if out is not None:
        return fitting.write_out(out, "polar", (abs, angle), lambda: polar(abs, angle))
    return _complex.slow((abs * cos(angle), abs * sin(angle)))


def check_parts(name, first, second, words, out=None):
    """Raise unless both are tensors of one real dtype that has a complex twin."""
    check_tensor(name, first, words[0])
    check_tensor(name, second, words[1], 2)
    a, b = first._spec.dtype, second._spec.dtype
    known = (dtypes.float16, dtypes.float32, dtypes.float64)
    if a not in known or b not in known:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {a.title} and {b.title}")
    if a is not b:
        raise RuntimeError(
            f"Expected object of scalar type {a.title} but got scalar type {b.title} for second argument"
        )
    if out is not None and out._spec.dtype is not a.to_complex():
        raise RuntimeError(
            f"Expected object of scalar type {a.to_complex().title} but got scalar type {out._spec.dtype.title} for argument 'out'"
        )


class Complex(Pointwise):
    """The result is complex; the gradients of its parts are the real and the imaginary part of 1 g and -i g."""

    def compute(self, operands, params=()):
        try:
            return self.kernel(*[operand._array for operand in operands])
        except ValueError:
            raise fitting.broadcast_error(operands) from None


def _complex_kernel(a, b):
    result = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a.dtype, np.complex64))
    result.real, result.imag = a, b
    return result


arrays["complex"] = _complex_kernel
_complex = Complex("complex", _complex_kernel, (lambda: 1, lambda: 1j), ("real", "imag"), node="ComplexBackward0")


def complex(real, imag, *, out=None):
    """A complex tensor of real and imaginary parts.

    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
    """
    check_parts("complex", real, imag, ("real", "imag"), out)
    return _complex.slow((real, imag), out)


def fill(input, value):
    """A tensor of the shape of `input`, filled with one value.

    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    check_tensor("fill", input)
    if not isinstance(value, fitting.Tensor):
        value = wrap(fitting.exact_number(value, input._spec.dtype, halves=False))
    elif value._spec.shape:
        raise RuntimeError(
            f"fill only supports 0-dimension value tensor but got tensor with {len(value._spec.shape)} dimensions."
        )
    return PRIMITIVES["fill"].apply((input, value), ())


class Methods:
    """The functions of this file as methods."""

    addcdiv, addcmul, angle, atan2, arctan2, clamp_max, clamp_min = (
        addcdiv,
        addcmul,
        angle,
        atan2,
        atan2,
        clamp_max,
        clamp_min,
    )
    copysign, deg2rad, rad2deg, float_power, fmax, fmin, frac, frexp = (
        copysign, deg2rad, rad2deg, float_power, fmax, fmin, frac, frexp)  # fmt: skip
    gcd, lcm, heaviside, hypot, isneginf, isposinf, isreal, ldexp = (
        gcd, lcm, heaviside, hypot, isneginf, isposinf, isreal, ldexp)  # fmt: skip
    lerp, logaddexp, logaddexp2, nan_to_num, nextafter, sgn, signbit = (
        lerp, logaddexp, logaddexp2, nan_to_num, nextafter, sgn, signbit)  # fmt: skip
    atan2_, arctan2_, copysign_, deg2rad_, rad2deg_ = (
        inplace(atan2), inplace(atan2), inplace(copysign), inplace(deg2rad), inplace(rad2deg))  # fmt: skip
    frac_, gcd_, lcm_, hypot_, ldexp_, nextafter_, sgn_ = (
        inplace(frac), inplace(gcd), inplace(lcm), inplace(hypot), inplace(ldexp), inplace(nextafter), inplace(sgn))  # fmt: skip
    heaviside_ = inplace(_heaviside)

    def addcdiv_(self, tensor1, tensor2, *, value=1):
        """The in-place form of `addcdiv`."""
        tensors, params = _three("addcdiv_", self, tensor1, tensor2, value)
        _no_integer_quotient(tensors)
        return _addcdiv.write(tensors, params)

    def addcmul_(self, tensor1, tensor2, *, value=1):
        """The in-place form of `addcmul`."""
        return _addcmul.write(*_three("addcmul_", self, tensor1, tensor2, value))

    def clamp_max_(self, max):
        """The in-place form of `clamp_max`."""
        return _clamp_max.write((self, max))

    def clamp_min_(self, min):
        """The in-place form of `clamp_min`."""
        return _clamp_min.write((self, min))

    def lerp_(self, end, weight):
        """The in-place form of `lerp`."""
        primitive, operands, params = _lerp_of(self, end, weight)
        return primitive.write(operands, params)

    def nan_to_num_(self, nan=None, posinf=None, neginf=None):
        """The in-place form of `nan_to_num`."""
        return _nan_to_num.inplace(self, *_replacements(self, nan, posinf, neginf))

    def float_power_(self, exponent):
        """The in-place form of `float_power`."""
        wanted = _precise((self, exponent))
        if self._spec.dtype is not wanted:
            raise RuntimeError(
                f"the base given to float_power_ has dtype {self._spec.dtype.title} but the operation's result requires dtype "
                f"{wanted.title}"
            )
        return self.pow_(_in_double("float_power_", self, exponent)[1])
