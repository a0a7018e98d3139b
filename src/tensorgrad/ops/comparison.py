"""Comparisons, logic and bits, `where`, and tests of closeness. None of them but `where` and the maxima has a gradient."""

import functools

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.choosing import select
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import is_number
from tensorgrad.ops.pointwise import Pointwise, binary, inplace, reflected, unary
from tensorgrad.ops.primitive import Primitive


def _example(call, result):
    return f"\n\n    >>> torch.{call}\n    {result}\n    "


eq = binary("eq", np.equal, promote="bool", numbers="second", doc="Where the elements are equal."
    + _example("eq(torch.tensor([1, 2]), 2)", "tensor([False,  True])"))  # fmt: skip
ne = not_equal = binary("ne", np.not_equal, promote="bool", numbers="second", doc="Where the elements differ."
    + _example("ne(torch.tensor([1, 2]), 2)", "tensor([ True, False])"))  # fmt: skip
lt = less = binary("lt", np.less, promote="bool", numbers="second", complex=False, doc="Where the first is less."
    + _example("lt(torch.tensor([1, 2]), 2)", "tensor([ True, False])"))  # fmt: skip
le = less_equal = binary("le", np.less_equal, promote="bool", numbers="second", complex=False,
    doc="Where the first is less or equal."
    + _example("le(torch.tensor([1, 3]), 2)", "tensor([ True, False])"))  # fmt: skip
gt = greater = binary("gt", np.greater, promote="bool", numbers="second", complex=False, doc="Where the first is greater."
    + _example("gt(torch.tensor([1, 3]), 2)", "tensor([False,  True])"))  # fmt: skip
ge = greater_equal = binary("ge", np.greater_equal, promote="bool", numbers="second", complex=False,
    doc="Where the first is greater or equal."
    + _example("ge(torch.tensor([1, 2]), 2)", "tensor([False,  True])"))  # fmt: skip
logical_and = binary("logical_and", np.logical_and, promote="bool", numbers="none", doc="Where both are non-zero."
    + _example("logical_and(torch.tensor([0, 1]), torch.tensor([1, 1]))", "tensor([False,  True])"))  # fmt: skip
logical_or = binary("logical_or", np.logical_or, promote="bool", numbers="none", doc="Where either is non-zero."
    + _example("logical_or(torch.tensor([0, 1]), torch.tensor([0, 1]))", "tensor([False,  True])"))  # fmt: skip
logical_xor = binary("logical_xor", np.logical_xor, promote="bool", numbers="none", doc="Where exactly one is non-zero."
    + _example("logical_xor(torch.tensor([0, 1]), torch.tensor([1, 1]))", "tensor([ True, False])"))  # fmt: skip
logical_not = unary("logical_not", np.logical_not, promote="bool", doc="Where the elements are zero."
    + _example("logical_not(torch.tensor([0, 1]))", "tensor([ True, False])"))  # fmt: skip
isnan = unary("isnan", lambda x: np.isnan(x) if x.dtype.kind not in "iub" else np.zeros(x.shape, bool), promote="bool",
    doc="Where the elements are NaN." + _example("isnan(torch.tensor([1., float('nan')]))", "tensor([False,  True])"))  # fmt: skip
isinf = unary("isinf", lambda x: np.isinf(x) if x.dtype.kind not in "iub" else np.zeros(x.shape, bool), promote="bool",
    doc="Where the elements are infinite."
    + _example("isinf(torch.tensor([1., float('inf')]))", "tensor([False,  True])"))  # fmt: skip
isfinite = unary("isfinite", lambda x: np.isfinite(x), promote="bool", doc="Where the elements are neither infinite nor NaN."
    + _example("isfinite(torch.tensor([1., float('inf')]))", "tensor([ True, False])"))  # fmt: skip


bitwise_and = binary("bitwise_and", np.bitwise_and, floating=False, doc="And, bit by bit."
    + _example("bitwise_and(torch.tensor(6), 3)", "tensor(2)"))  # fmt: skip
bitwise_or = binary("bitwise_or", np.bitwise_or, floating=False, doc="Or, bit by bit."
    + _example("bitwise_or(torch.tensor(6), 3)", "tensor(7)"))  # fmt: skip
bitwise_xor = binary("bitwise_xor", np.bitwise_xor, floating=False, doc="Exclusive or, bit by bit."
    + _example("bitwise_xor(torch.tensor(6), 3)", "tensor(5)"))  # fmt: skip


bitwise_not = unary("bitwise_not", np.invert, promote="same", floating=False, doc="Not, bit by bit."
    + _example("bitwise_not(torch.tensor([0, 5]))", "tensor([-1, -6])"))  # fmt: skip


def _invert(self):
    """~x."""
    if self._spec.dtype.category >= FLOAT:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


def _shift(kernel, beyond):
    """Shifts by as many bits as the number has, or more, or by a negative count, are defined as PyTorch's."""

    def shift(a, b):
        bits = a.dtype.itemsize * 8
        outside = (b < 0) | (b >= bits)
        return np.where(outside, beyond(a), kernel(a, np.where(outside, 0, b).astype(a.dtype))).astype(a.dtype)

    return shift


bitwise_left_shift = binary("lshift", _shift(np.left_shift, lambda a: a * 0), floating=False, boolean=False,
    doc="Shift the bits left." + _example("bitwise_left_shift(torch.tensor(3), 2)", "tensor(12)"))  # fmt: skip
bitwise_right_shift = binary("rshift", _shift(np.right_shift, lambda a: -(a < 0).astype(a.dtype)), floating=False,
    boolean=False, doc="Shift the bits right." + _example("bitwise_right_shift(torch.tensor(12), 2)", "tensor(3)"))  # fmt: skip

# Choices: at a tie, each side has half of the gradient.


def _no_complex_in(name):
    def check(operands):
        if any(isinstance(t, fitting.Tensor) and t._spec.dtype.is_complex for t in operands):
            raise RuntimeError(f"{name} not implemented for complex tensors.")

    return check


def _unless(below):
    """1, a half at a tie, 0 where the other operand won; NaN beats both."""
    return lambda a, b: xp.choose(below(a, b), 0, xp.choose(a == b, 0.5, 1, a), a)


_if_less, _if_more = _unless(lambda a, b: a < b), _unless(lambda a, b: a > b)
maximum = binary("maximum", np.maximum, slopes=(_if_less, _if_more), numbers="none", check=_no_complex_in("maximum"),
    doc="The larger of two elements."
    + _example("maximum(torch.tensor([1., 5.]), torch.tensor([3., 2.]))", "tensor([3., 5.])"))  # fmt: skip
minimum = binary("minimum", np.minimum, slopes=(_if_more, _if_less), numbers="none", check=_no_complex_in("minimum"),
    doc="The smaller of two elements."
    + _example("minimum(torch.tensor([1., 5.]), torch.tensor([3., 2.]))", "tensor([1., 2.])"))  # fmt: skip


class Where(Pointwise):
    """The condition takes no part in promotion and has no gradient."""

    def common_dtype(self, operands):
        return dtypes.result_dtype(operands[1:])

    def compute(self, operands, params=()):
        condition, a, b = operands
        common = self.common_dtype(operands)
        a, b = (
            (
                x._array.astype(common.numpy, copy=False)
                if isinstance(x, fitting.Tensor)
                else fitting.exact_number(x, common, halves=False)
            )
            for x in (a, b)
        )
        try:
            return select(condition._array, a, b)
        except ValueError:
            raise fitting.broadcast_error(operands) from None


_where = Where(
    "where", lambda condition, a, b: select(condition, a, b),
    (None, lambda condition: condition, lambda condition: ~condition), ("condition", "a", "b"), node="WhereBackward0",
)  # fmt: skip
_where_alike = functools.partial(Primitive.apply, _where)  # operands of one shape and dtype


def where(condition, input=None, other=None, *, out=None):
    """`input` where the condition holds, else `other`.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1., 2.]), 0.)
    tensor([1., 0.])
    """
    fitting.check_tensor("where", condition, "condition")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if (
        out is None and type(input) is type(other) is fitting.Tensor and input._spec is other._spec
        and condition._spec.shape == input._spec.shape and condition._spec.dtype is dtypes.bool_
    ):  # fmt: skip
        return _where_alike((condition, input, other), ())
    for position, value in ((2, input), (3, other)):
        if not isinstance(value, fitting.Tensor) and not is_number(value):
            raise fitting.must_be_tensor("where", value, "input" if position == 2 else "other", position)
    if condition.dtype is not dtypes.bool_:
        if condition.dtype is not dtypes.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}"
            )
        condition = condition.bool()
    return _where.slow((condition, input, other), out)


def clamp(input, min=None, max=None, *, out=None):
    """Elements moved into the range from min to max, which may be numbers or tensors.

    >>> torch.clamp(torch.tensor([-2., 0.5, 3.]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    fitting.check_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if min is not None and max is not None:
        return _clamp.slow((input, min, max), out)
    return _clamp_min.slow((input, min), out) if max is None else _clamp_max.slow((input, max), out)


def _no_complex(operands):
    if any((isinstance(t, fitting.Tensor) and t._spec.dtype.is_complex) or isinstance(t, complex) for t in operands):
        raise NotImplementedError("clamp is not supported for complex types")
    for bound in operands[1:]:
        if is_number(bound):
            fitting.exact_number(bound, dtypes.result_dtype(operands))


_clamp = Pointwise(
    "clamp", lambda x, low, high: np.minimum(np.maximum(x, low), high),
    (lambda x, low, high: (x >= low) & (x <= high), lambda x, low, high: (x < low) & (low < high),
     lambda x, low, high: (x > high) | (low >= high)),
    ("x", "low", "high"), node="ClampBackward1", check=lambda operands: _no_complex(operands),
)  # fmt: skip
_clamp_min = Pointwise(
    "clamp_min",
    np.maximum,
    (lambda x, low: x >= low, lambda x, low: x < low),
    ("x", "low"),
    check=lambda operands: _no_complex(operands),
)
_clamp_max = Pointwise(
    "clamp_max",
    np.minimum,
    (lambda x, high: x <= high, lambda x, high: x > high),
    ("x", "high"),
    check=lambda operands: _no_complex(operands),
)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|.

    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1., 2.1]))
    tensor([ True, False])
    """
    fitting.check_tensor("isclose", input)
    fitting.check_tensor("isclose", other, "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol}")
    if input.dtype.category < FLOAT and equal_nan is False and rtol == 0 and atol == 0:
        return eq(input, other)
    return _isclose.slow((input, other), None, (rtol, atol, equal_nan))


def _isclose_kernel(a, b, rtol, atol, equal_nan):
    with np.errstate(all="ignore"):
        if a.dtype.kind not in "fc":
            a, b = a.astype(np.float64), b.astype(np.float64)
        close = (a == b) | (np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b)))
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


_isclose = Pointwise("isclose", _isclose_kernel, None, ("a", "b"), params=("rtol", "atol", "equal_nan"), promote="bool")


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close.

    >>> torch.allclose(torch.tensor([1., 2.]), torch.tensor([1., 2.0000001]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input, other):
    """Whether two tensors have the same shape and elements.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    fitting.check_tensor("equal", input)
    fitting.check_tensor("equal", other, "other", 2)
    if input.dtype is not other.dtype and input.shape == other.shape:
        raise RuntimeError(
            f"Expected object of data type {input.dtype.title} but got data type {other.dtype.title} for argument 'other'"
        )
    return input.shape == other.shape and bool((input._array == other._array).all())


class ComparisonMixin:
    """x == y, x < y, ..., x & y, x | y, x ^ y, ~x, x << y, x >> y."""

    __slots__ = ()

    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = (
        eq.operator, ne.operator, lt.operator, le.operator, gt.operator, ge.operator)  # fmt: skip
    __and__, __or__, __xor__, __invert__ = bitwise_and.operator, bitwise_or.operator, bitwise_xor.operator, _invert
    __rand__, __ror__, __rxor__ = reflected(bitwise_and), reflected(bitwise_or), reflected(bitwise_xor)
    __lshift__, __rshift__ = bitwise_left_shift.operator, bitwise_right_shift.operator
    __rlshift__, __rrshift__ = reflected(bitwise_left_shift), reflected(bitwise_right_shift)
    __iand__, __ior__, __ixor__ = inplace(bitwise_and), inplace(bitwise_or), inplace(bitwise_xor)
    __ilshift__, __irshift__ = inplace(bitwise_left_shift), inplace(bitwise_right_shift)
    eq, ne, lt, le, gt, ge = eq, ne, lt, le, gt, ge
    not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge
    eq_, ne_, lt_, le_, gt_, ge_ = inplace(eq), inplace(ne), inplace(lt), inplace(le), inplace(gt), inplace(ge)
    not_equal_, less_, less_equal_, greater_, greater_equal_ = ne_, lt_, le_, gt_, ge_
    logical_and, logical_or, logical_xor, logical_not = logical_and, logical_or, logical_xor, logical_not
    logical_and_, logical_or_ = inplace(logical_and), inplace(logical_or)
    logical_xor_, logical_not_ = inplace(logical_xor), inplace(logical_not)
    bitwise_and, bitwise_or, bitwise_xor, bitwise_not = bitwise_and, bitwise_or, bitwise_xor, bitwise_not
    bitwise_and_, bitwise_or_ = inplace(bitwise_and), inplace(bitwise_or)
    bitwise_xor_, bitwise_not_ = inplace(bitwise_xor), inplace(bitwise_not)
    bitwise_left_shift, bitwise_right_shift = bitwise_left_shift, bitwise_right_shift
    bitwise_left_shift_, bitwise_right_shift_ = inplace(bitwise_left_shift), inplace(bitwise_right_shift)
    isnan, isinf, isfinite, maximum, minimum = isnan, isinf, isfinite, maximum, minimum
    isclose, allclose, equal, clamp, clip = isclose, allclose, equal, clamp, clamp

    def where(self, condition, other):
        """This tensor where the condition holds, else `other`.

        >>> torch.tensor([1., 2.]).where(torch.tensor([True, False]), 0.)
        tensor([1., 0.])
        """
        return where(condition, self, other)

    def clamp_(self, min=None, max=None):
        """The in-place form of `clamp`.

        >>> torch.tensor([-2., 3.]).clamp_(-1, 1)
        tensor([-1.,  1.])
        """
        if min is None and max is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        if min is not None and max is not None:
            return _clamp.write((self, min, max))
        return _clamp_min.write((self, min)) if max is None else _clamp_max.write((self, max))

    clip_ = clamp_


clip = clamp
