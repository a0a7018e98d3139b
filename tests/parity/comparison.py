"""When two values are the same: structure, shapes, dtypes, and numbers within PyTorch's own tolerances.

Tolerances are torch.testing's for the dtype. Where a low-precision result is outside them, it also counts when it is at
least as near to the float64 truth as PyTorch's is, and last when it is within the tolerance that PyTorch's own tests of
the operation allow on the CPU.
"""

from dataclasses import dataclass, field

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo

from .subjects import DTYPE_NAME_OF, Difference, Inapplicable, Side

RAISED = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
RAISED[torch.complex64] = torch.complex128
TEST_CLASSES = {None, "TestCommon", "TestUnaryUfuncs", "TestBinaryUfuncs", "TestBinaryUfuncsDevice", "TestReductions"}
TEST_CLASSES |= {"TestMasked", "TestFFT", "TestOperators", "TestCompositeCompliance", "TestMathBits"}


def allowed_by_pytorch(info):
    """The widest (rtol, atol) per dtype that PyTorch's tests of this operation on the CPU allow.

    Bare precision overrides of half types are left out: they are for huge inputs and would let anything through.
    """
    allowed = {}
    for decorator in info.decorators:
        overrides = [decorator]
        if isinstance(decorator, DecorateInfo):
            here = decorator.device_type in (None, "cpu") and decorator.cls_name in TEST_CLASSES
            overrides = decorator.decorators if here and "complex_half" not in str(decorator.test_name) else []
        for override in overrides:
            if isinstance(override, toleranceOverride):
                found = {dtype: (tol.rtol, tol.atol) for dtype, tol in override.d.items()}
            elif isinstance(override, precisionOverride):
                found = {
                    dtype: (default_tolerances(dtype)[0], atol)
                    for dtype, atol in override.d.items()
                    if dtype not in (torch.float16, torch.bfloat16)
                }
            else:
                continue
            for dtype, pair in found.items():
                allowed[dtype] = tuple(map(max, allowed.get(dtype, (0.0, 0.0)), pair))
    return allowed


class Truth:
    """The float64 value, nested like the result; computed when first asked for, None where it cannot be."""

    def __init__(self, compute=None):
        self.compute, self.value = compute, None

    def at(self, path):
        if self.compute is not None:
            compute, self.compute = self.compute, None
            try:
                self.value = compute()
            except Exception:  # PyTorch has no such kernel in float64
                self.value = None
        value = self.value
        for index in path:
            if not isinstance(value, list | tuple) or index >= len(value):
                return None
            value = value[index]
        return value if isinstance(value, torch.Tensor) else None


@dataclass
class Comparison:
    """Raises Difference unless what the subject gives equals what PyTorch gives, in all that a user can see."""

    reference: Side
    subject: Side
    allowed: dict = field(default_factory=dict)  # {dtype: (rtol, atol)} as PyTorch's own tests have it
    truth: Truth = field(default_factory=Truth)
    values: bool = True  # False for fresh memory, whose contents mean nothing
    room: float = 1.0  # how many of the dtype's tolerances are granted

    def same(self, expected, got, what, path=()):
        if isinstance(expected, torch.Tensor):
            self.same_tensors(expected, got, what, path)
        elif isinstance(expected, torch.Size):
            if not isinstance(got, tuple) or tuple(got) != tuple(expected):
                raise Difference("values", f"{what}: expected {expected}, got {got}")
        elif isinstance(expected, list | tuple):
            self.same_sequences(expected, got, what, path)
        elif isinstance(expected, torch.dtype):
            if self.subject.name_of(got) != self.reference.name_of(expected):
                raise Difference("dtype", f"{what}: expected {expected}, got {got}")
        elif isinstance(expected, bool | int | float | complex):
            if type(got) is not type(expected):
                kinds = type(expected).__name__, type(got).__name__
                raise Difference("structure", f"{what}: expected a Python {kinds[0]}, got {kinds[1]}")
            self.same_numbers(torch.tensor(expected), torch.tensor(got), what, path)
        elif (expected is None or isinstance(expected, str)) and got != expected:
            raise Difference("structure", f"{what}: expected {expected!r}, got {type(got).__name__}")

    def same_sequences(self, expected, got, what, path):
        if not isinstance(got, list if isinstance(expected, list) else tuple):
            kinds = type(expected).__name__, type(got).__name__
            raise Difference("structure", f"{what}: expected a {kinds[0]}, got a {kinds[1]}")
        if len(got) != len(expected):
            raise Difference("structure", f"{what}: expected {len(expected)} items, got {len(got)}")
        for name in field_names(expected):
            if not hasattr(got, name):
                raise Difference("structure", f"{what}: expected a named tuple with .{name}, got {type(got).__name__}")
        for index, (item, other) in enumerate(zip(expected, got)):
            self.same(item, other, f"{what}[{index}]", (*path, index))

    def same_tensors(self, expected, got, what, path):
        if expected.dtype not in DTYPE_NAME_OF:
            raise Inapplicable(f"{expected.dtype} is not a dtype of tensorgrad")
        if not isinstance(got, self.subject.module.Tensor):
            raise Difference("structure", f"{what}: expected a Tensor, got {type(got).__name__}")
        if tuple(got.shape) != tuple(expected.shape):
            raise Difference("shape", f"{what}: expected {tuple(expected.shape)}, got {tuple(got.shape)}")
        names = DTYPE_NAME_OF[expected.dtype], self.subject.name_of(got.dtype)
        if names[0] != names[1]:
            raise Difference("dtype", f"{what}: expected {names[0]}, got {names[1]}")
        if self.values:
            self.same_numbers(expected.detach(), self.subject.bring(got), what, path)

    def same_numbers(self, expected, got, what, path):
        dtype = expected.dtype
        rtol, atol = (self.room * tolerance for tolerance in default_tolerances(dtype))
        if torch.equal(expected, got) or close(expected, got, rtol, atol):
            return
        exact = self.truth.at(path) if dtype in RAISED else None
        if exact is not None and as_near(exact.detach().to(RAISED[dtype]), expected, got, rtol, atol, self.room > 1):
            return
        if dtype in self.allowed and close(expected, got, *self.allowed[dtype]):
            return
        raise Difference("values", f"{what}: {difference_of(expected, got, rtol, atol)}")


def field_names(value):
    """The names of a named tuple's or of a torch.return_types value's fields."""
    kind = type(value)
    if kind in (tuple, list):
        return ()
    return getattr(kind, "_fields", None) or getattr(kind, "__match_args__", ())


def close(expected, got, rtol, atol):
    return torch.isclose(got, expected, rtol=rtol, atol=atol, equal_nan=True).all().item()


def as_near(exact, expected, got, rtol, atol, overall):
    """Whether `got` is no farther from the truth than PyTorch's result is, or within the tolerance of the truth.

    With `overall`, tolerance is measured against the largest element too: sums that cancel lose digits.
    """
    if exact.shape != expected.shape:
        return False
    rounded = exact.to(expected.dtype)
    finite = torch.isfinite(rounded) & torch.isfinite(expected) & torch.isfinite(got)
    rest = ~finite
    same = torch.isclose(got, rounded, equal_nan=True) | torch.isclose(got, expected, equal_nan=True)
    if not same[rest].all():
        return False
    if not finite.any():
        return True
    sizes = exact[finite].abs()
    unit = atol + rtol * (sizes + sizes.max() if overall else sizes)
    error_of = lambda value: ((value[finite].to(exact.dtype) - exact[finite]).abs() / unit).amax().item()
    return error_of(got) <= max(1.0, error_of(expected))


def difference_of(expected, got, rtol, atol):
    """How two tensors of one shape and dtype differ, in a line."""
    if expected.dtype.is_complex or expected.dtype.is_floating_point:
        wrong = ~torch.isclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)
        size = torch.complex128 if expected.dtype.is_complex else torch.float64
        gap = (got.to(size) - expected.to(size)).abs().nan_to_num(nan=float("inf"))
        gap = torch.where(wrong, gap, torch.zeros_like(gap))
    else:
        wrong = gap = (expected != got).double()
    count, total = int((wrong != 0).sum()), expected.numel()
    if total == 1:
        return f"expected {expected.item()!r}, got {got.item()!r}"
    flat = int(gap.flatten().argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), expected.shape))
    pair = f"expected {expected[index].item()!r}, got {got[index].item()!r}"
    return f"{count} of {total} differ, most at {index}: {pair}"
