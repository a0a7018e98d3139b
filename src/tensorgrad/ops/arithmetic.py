"""Arithmetic: + - * / // % ** and their relatives, each with its slopes."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor, is_number, number_array
from tensorgrad.ops.pointwise import Pointwise, binary, inplace, reflected, unary

BOOL_SUBTRACT = "Subtraction, the `-` operator, with {} tensor{} is not supported. {}"
TWO_BOOLS = BOOL_SUBTRACT.format("two bool", "s", "Use the `^` or `logical_xor()` operator instead.")
ONE_BOOL = BOOL_SUBTRACT.format(
    "a bool", "", "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
)


def _no_bools(operands):
    bools = [getattr(t, "dtype", None) is dtypes.bool_ or isinstance(t, bool) for t in operands]
    if all(bools) and all(hasattr(t, "dtype") for t in operands):
        raise RuntimeError(TWO_BOOLS)
    if any(bools):
        raise RuntimeError(ONE_BOOL)


def _divide_integers(kernel):
    """An integer kernel that raises on division by zero, as PyTorch does."""

    def divide(a, b):
        if a.dtype.kind in "iu" and not np.all(b):
            raise RuntimeError("ZeroDivisionError")
        return kernel(a, b)

    return divide


_add = binary("add", np.add, slopes=(lambda: 1, lambda: 1))
_sub = binary("sub", np.subtract, slopes=(lambda: 1, lambda: -1), check=lambda operands: _no_bools(operands))
mul = binary("mul", np.multiply, slopes=(lambda b: b, lambda a: a), doc="""Multiply element by element.

    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """)  # fmt: skip
_rsub = binary("rsub", lambda a, b: b - a, slopes=(lambda: -1, lambda: 1), check=lambda operands: _no_bools(operands),
               node="RsubBackward1")  # fmt: skip
_div = binary("div", np.true_divide, slopes=(lambda b: 1 / b, lambda a, b: -(a / b) / b), promote="float")
_pow = binary(
    "pow", lambda a, b, out=None: _power(a, b, out),
    slopes=(lambda a, b: _power_slope(a, b), lambda a, b, out: _exponent_slope(a, b, out)),
    node="PowBackward1", number_node="PowBackward0", check=lambda operands: _no_negative_exponent(*operands),
    shown={"b": "exponent"},
)  # fmt: skip


def _no_negative_exponent(a, b):
    if isinstance(b, int) and b < 0 and getattr(a, "_spec", None) is not None and a._spec.dtype.category <= 1:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def _power(a, b, out=None):
    if a.dtype.kind in "iu" and b.dtype.kind == "i":
        below = b < 0
        if below.any():  # the whole part of 1 / a ** -b
            return np.where(below, np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0)), np.power(a, np.abs(b)))
    if b.ndim == 0 and a.dtype.kind == "f":
        exponent = b.item()
        if exponent == 2:
            return np.multiply(a, a, out=out)
        if exponent == 0.5:
            return np.sqrt(a, out=out)
        if exponent == 3:
            return np.multiply(a * a, a, out=out)
    return np.power(a, b, out=out)


def _power_slope(a, b):
    if is_number(b):
        return 0.0 * a if b == 0 else a + a if b == 2 else b * a ** (b - 1)
    if isinstance(b, np.ndarray) and b.ndim == 0:
        exponent = b.item()
        if exponent == 2:
            return a + a
        return np.zeros_like(a) if exponent == 0 else b * _power(np.asarray(a), np.asarray(b - 1, b.dtype))
    return xp.where(b == 0, xp.zeros_like(b), b * a ** (b - 1))


def _exponent_slope(a, b, out):
    """out * log(a), and 0 where a is 0 and b is not negative."""
    if is_number(a):
        a = b * 0 + a
    flat = (a == 0) & (b.real >= 0 if _is_complex(b) else b >= 0)
    safe = xp.where(flat, xp.zeros_like(a) + 1, a)
    slope = out * xp.log(safe)
    return xp.where(flat, xp.zeros_like(slope), slope)


def _is_complex(x):
    return x.dtype.kind == "c" if isinstance(x, np.ndarray) else x._spec.dtype.is_complex


def _times(b, alpha, half):
    """alpha * b in the dtype of b, which is that of the result: integers wrap there, half types round there."""
    product = np.asarray(alpha).astype(b.dtype) * b
    return product if half is None else product.astype(half).astype(b.dtype)


_add_scaled = Pointwise(
    "add_scaled", lambda a, b, alpha, half: a + _times(b, alpha, half), (lambda: 1, lambda alpha: alpha), ("a", "b"),
    params=("alpha", "half"), node="AddBackward0",
)  # fmt: skip
_sub_scaled = Pointwise(
    "sub_scaled", lambda a, b, alpha, half: a - _times(b, alpha, half), (lambda: 1, lambda alpha: -alpha), ("a", "b"),
    params=("alpha", "half"), node="SubBackward0", check=_no_bools,
)  # fmt: skip


def _scaled(primitive, input, other, alpha, out=None, inplace=False):
    """input + alpha * other, with PyTorch's complaints about alpha."""
    common = primitive.common_dtype((input, other))
    if isinstance(alpha, bool) and common is not dtypes.bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, complex)) and common.category <= dtypes.INTEGER:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not common.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    half = common.numpy if common.itemsize == 2 and common.category == dtypes.FLOAT else None
    params = alpha if half is None else float(number_array(alpha, common)), half
    return primitive.write((input, other), params) if inplace else primitive.slow((input, other), out, params)


def add(input, other, *, alpha=1, out=None):
    """Add `other`, times `alpha`, element by element.

    >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=0.5)
    tensor([ 6., 12.])
    """
    if type(alpha) is int and alpha == 1:
        return _add(input, other, out=out)
    return _scaled(_add_scaled, check_tensor("add", input), other, alpha, out)


def sub(input, other, *, alpha=1, out=None):
    """Subtract `other`, times `alpha`, element by element.

    >>> torch.sub(torch.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    if type(alpha) is int and alpha == 1:
        return _sub(input, other, out=out)
    return _scaled(_sub_scaled, check_tensor("sub", input), other, alpha, out)


def div(input, other, *, rounding_mode=None, out=None):
    """Divide element by element; rounding_mode "floor" or "trunc" rounds the result.

    >>> torch.div(torch.tensor([7., -7.]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    if rounding_mode is None:
        return _div(input, other, out=out)
    if rounding_mode == "floor":
        return floor_divide(input, other, out=out)
    if rounding_mode == "trunc":
        return _trunc_divide(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


true_divide = divide = div
subtract, multiply = sub, mul
floor_divide = binary(
    "floor_divide", _divide_integers(np.floor_divide), slopes=(lambda: 0.0, lambda: 0.0), complex=False, boolean=False,
    node="FloorDivideBackward0", doc="""Divide and round down.

    >>> torch.floor_divide(torch.tensor([7., -7.]), 2)
    tensor([ 3., -4.])
    """)  # fmt: skip
_trunc_divide = binary("trunc_divide", _divide_integers(lambda a, b: _truncated(a, b)), slopes=(lambda: 0.0, lambda: 0.0),
                       complex=False, node="DivBackward1")  # fmt: skip


def _truncated(a, b):
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return np.trunc(a / b)
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a))


remainder = binary("remainder", _divide_integers(np.remainder), slopes=(lambda: 1, lambda a, b: -xp.floor(a / b)),
    complex=False, boolean=False, doc="""The remainder of division, with the sign of the divisor (Python's %).

    >>> torch.remainder(torch.tensor([-3., 3.]), 2)
    tensor([1., 1.])
    """)  # fmt: skip
fmod = binary("fmod", _divide_integers(np.fmod), numbers="second", slopes=(lambda: 1, lambda a, b: -xp.trunc(a / b)), complex=False,
    boolean=False, doc="""The remainder of division, with the sign of the dividend (C's fmod).

    >>> torch.fmod(torch.tensor([-3., 3.]), 2)
    tensor([-1.,  1.])
    """)  # fmt: skip


def pow(input, exponent, *, out=None):
    """Raise to a power, element by element.

    >>> torch.pow(torch.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    return _pow(input, exponent, out=out)


def _no_bool_negative(operands):
    if operands[0].dtype is dtypes.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )


neg = negative = unary("neg", np.negative, slope=lambda: -1.0, promote="same", check=_no_bool_negative,
    doc="""Change the sign.

    >>> torch.neg(torch.tensor([1., -2.]))
    tensor([-1.,  2.])
    """)  # fmt: skip


def positive(input):
    """The tensor itself.

    >>> torch.positive(torch.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    if check_tensor("positive", input)._spec.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def rsub(input, other, *, alpha=1):
    """Subtract the first, times `alpha`, from the second.

    >>> torch.rsub(torch.tensor([1., 2.]), 3)
    tensor([2., 1.])
    """
    check_tensor("rsub", input)
    return _rsub(input, other) if alpha == 1 else _scaled(_sub_scaled, other, input, alpha)


reciprocal = unary("reciprocal", lambda x: 1 / x, slope=lambda y: -y * y, doc="""One over each element.

    >>> torch.reciprocal(torch.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
    """)  # fmt: skip
square = unary("square", np.square, slope=lambda x: 2 * x, promote="whole", node="PowBackward0", doc="""Each element squared.

    >>> torch.square(torch.tensor([2., 3.]))
    tensor([4., 9.])
    """)  # fmt: skip
sqrt = unary("sqrt", np.sqrt, slope=lambda y: 0.5 / y, doc="""The square root.

    >>> torch.sqrt(torch.tensor([4., 9.]))
    tensor([2., 3.])
    """)  # fmt: skip
rsqrt = unary("rsqrt", lambda x: 1 / np.sqrt(x), slope=lambda y: -0.5 * y * y * y, doc="""One over the square root.

    >>> torch.rsqrt(torch.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
    """)  # fmt: skip

mul.primitive.wide = _div.primitive.wide = True

add_, sub_, mul_, div_ = inplace(_add), inplace(_sub), inplace(mul), inplace(_div)


def divided(self, other):
    """`2 / x` as PyTorch computes it, so that the last bit and the graph agree: 2 times the reciprocal."""
    if is_number(other) or hasattr(other, "_spec"):
        return reciprocal(self) * other
    return NotImplemented


class ArithmeticMixin:
    """x + y, x - y, x * y, x / y, x // y, x % y, x ** y, -x."""

    __slots__ = ()

    __add__, __sub__, __mul__, __truediv__ = _add.operator, _sub.operator, mul.operator, _div.operator
    __floordiv__, __mod__, __pow__ = floor_divide.operator, remainder.operator, _pow.operator
    __radd__, __rsub__, __rmul__, __rtruediv__ = reflected(_add), _rsub.operator, reflected(mul), divided
    __rdiv__ = __rtruediv__
    __rfloordiv__, __rmod__, __rpow__ = reflected(floor_divide), reflected(remainder), reflected(_pow)
    __neg__ = neg
    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_
    __ifloordiv__, __imod__, __ipow__ = inplace(floor_divide), inplace(remainder), inplace(_pow)
    add, sub, mul, div, pow, neg = add, sub, mul, div, pow, neg
    subtract, multiply, divide, true_divide, negative = sub, mul, div, div, neg
    floor_divide, remainder, fmod = floor_divide, remainder, fmod
    positive = __pos__ = positive
    reciprocal, square, sqrt, rsqrt = reciprocal, square, sqrt, rsqrt
    mul_ = multiply_ = mul_
    pow_, neg_, negative_ = inplace(_pow), inplace(neg), inplace(neg)
    floor_divide_, remainder_, fmod_ = inplace(floor_divide), inplace(remainder), inplace(fmod)
    reciprocal_, square_, sqrt_, rsqrt_ = inplace(reciprocal), inplace(square), inplace(sqrt), inplace(rsqrt)

    def add_(self, other, *, alpha=1):
        """The in-place form of `add`.

        >>> torch.ones(2).add_(3)
        tensor([4., 4.])
        """
        if type(alpha) is int and alpha == 1:
            return add_(self, other)
        return _scaled(_add_scaled, self, other, alpha, inplace=True)

    def sub_(self, other, *, alpha=1):
        """The in-place form of `sub`.

        >>> torch.ones(2).sub_(3)
        tensor([-2., -2.])
        """
        if type(alpha) is int and alpha == 1:
            return sub_(self, other)
        return _scaled(_sub_scaled, self, other, alpha, inplace=True)

    def div_(self, other, *, rounding_mode=None):
        """The in-place form of `div`.

        >>> torch.ones(2).div_(4)
        tensor([0.2500, 0.2500])
        """
        if rounding_mode is None:
            return div_(self, other)
        form = {"floor": floor_divide, "trunc": _trunc_divide}.get(rounding_mode)
        return inplace(form)(self, other) if form else div(self, other, rounding_mode=rounding_mode)

    subtract_, divide_, true_divide_ = sub_, div_, div_
