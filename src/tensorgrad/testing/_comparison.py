"""assert_close: whether values are nearly equal, and where they are not. Containers are compared item by item."""

import cmath
import numbers
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.creation import as_tensor, tensor
from tensorgrad.tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

# (rtol, atol) where nothing else is asked for; every other dtype is compared exactly
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
OF_NUMBERS = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


class _Differs(Exception):
    """Two values differ; `path` leads to them through containers."""

    def __init__(self, text, path=()):
        super().__init__(text)
        self.path = path

    def __str__(self):
        text = self.args[0]
        if not self.path:
            return text
        return f"{text}\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.path)}"


class _Options:
    """How to compare."""

    def __init__(self, rtol, atol, equal_nan, allow_subclasses, **checks):
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        self.rtol, self.atol, self.equal_nan, self.allow_subclasses = rtol, atol, equal_nan, allow_subclasses
        self.checks = checks

    def tolerances(self, *kinds):
        """(rtol, atol) for values of these dtypes: the widest of them."""
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def assert_close(
    actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
    check_dtype=True, check_layout=True, check_stride=False, msg=None,
):  # fmt: skip
    """Raise AssertionError, which says where and by how much, unless |actual - expected| <= atol + rtol * |expected|.

    >>> torch.testing.assert_close(torch.tensor([1., 2.]), torch.tensor([1., 3.]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 1.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.3333333432674408 at index (1,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True
    options = _Options(rtol, atol, equal_nan, allow_subclasses, device=check_device, dtype=check_dtype,
                       layout=check_layout, stride=check_stride)  # fmt: skip
    try:
        for pair in list(_pairs(actual, expected, ())):  # the structures first, then what they hold
            _compare(*pair, options)
    except _Differs as difference:
        text = str(difference)
    else:
        return
    if isinstance(msg, str):
        text = msg
    elif callable(msg):
        text = msg(text)
    raise AssertionError(text)


def _pairs(actual, expected, path):
    """The values of two structures that belong together, with their paths."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Differs(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for index, values in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(*values, (*path, index))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            missing = sorted(set(expected) - set(actual), key=str)
            additional = sorted(set(actual) - set(expected), key=str)
            raise _Differs(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}",
                path,
            )
        for key in sorted(actual, key=str):
            yield from _pairs(actual[key], expected[key], (*path, key))
    else:
        yield actual, expected, path


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compare(actual, expected, path, options):
    if actual is None or expected is None:
        if actual is not expected:
            raise _Differs(f"None mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        if bool(actual) is not bool(expected):
            raise _Differs(f"Booleans mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
        _compare_numbers(actual, expected, path, options)
    elif _comparable(actual, expected, options):
        _compare_tensors(as_tensor(actual), as_tensor(expected), path, options)
    else:
        where = f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.{where}"
        )


def _comparable(actual, expected, options):
    """Whether both are tensors, or arrays, of related types."""
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not options.allow_subclasses:
        related = type(actual) is type(expected)
    return related and isinstance(actual, (Tensor, np.ndarray))


def _compare_numbers(actual, expected, path, options):
    one, other = (value.item() if isinstance(value, np.generic) else value for value in (actual, expected))
    if options.checks["dtype"] and type(one) is not type(other):
        raise _Differs(f"The (d)types do not match: {type(one)} != {type(other)}.", path)
    rtol, atol = options.tolerances(OF_NUMBERS.get(type(one)), OF_NUMBERS.get(type(other)))
    _check_scalars(one, other, rtol, atol, options.equal_nan, path)


def _check_scalars(actual, expected, rtol, atol, equal_nan, path):
    difference = abs(actual - expected)
    if actual == expected or difference <= atol + rtol * abs(expected) < float("inf"):
        return
    if equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    relative = float("inf") if expected == 0 else difference / abs(expected)
    raise _Differs(
        f"Scalars are not {_word(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, rtol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, atol)}",
        path,
    )


def _word(rtol, atol):
    return "close" if rtol or atol else "equal"


def _allowed(one, other):
    return f" (up to {one} allowed)" if one or other else ""


def _compare_tensors(actual, expected, path, options):
    for name in ("shape", "layout", "device", "dtype", "stride"):
        if name != "shape" and not options.checks[name]:
            continue
        one, other = getattr(actual, name), getattr(expected, name)
        if name == "stride":
            name, one, other = "stride()", one(), other()
        if one != other:
            raise _Differs(f"The values for attribute '{name}' do not match: {one} != {other}.", path)
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    actual, expected = actual.detach(), expected.detach()
    if actual.dtype is not expected.dtype:
        common = dtypes.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    if actual.dtype.category < dtypes.FLOAT:
        actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
    if not actual.ndim:
        _check_scalars(actual.item(), expected.item(), rtol, atol, options.equal_nan, path)
        return
    from tensorgrad import isclose

    matches = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(matches.all()):
        return
    count, wrong = matches.numel(), int((~matches).sum())
    text = (
        f"Tensor-likes are not {_word(rtol, atol)}!\n\nMismatched elements: {wrong} / {count} ({wrong / count:.1%})\n"
    )
    distance = (actual - expected).abs().masked_fill(matches, 0)
    relative = (distance / expected.abs()).masked_fill(matches, 0)
    for kind, values, allowed in (
        ("absolute", distance, _allowed(atol, rtol)),
        ("relative", relative, _allowed(rtol, atol)),
    ):
        place = int(values.argmax())
        index = tuple(int(i) for i in np.unravel_index(place, tuple(values.shape)))
        text += f"Greatest {kind} difference: {values.flatten()[place].item()} at index {index}{allowed}\n"
    raise _Differs(text.rstrip("\n"), path)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The older form of `assert_close`: what is no tensor becomes one, and dtypes may differ.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> torch.testing.assert_allclose(torch.tensor([1.]), [1.])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, Tensor) else tensor(actual)
    expected = expected if isinstance(expected, Tensor) else tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        older = {dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8)}
        found = [older.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
