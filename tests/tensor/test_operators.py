"""Operators: plain, reflected and in place, on tensors and on Python's numbers."""

import operator

import numpy as np
import pytest
from subject import close, needs, raises, torch

FLOATS = {
    "+": (operator.add, [8.5, 1.0]),
    "-": (operator.sub, [5.5, -5.0]),
    "*": (operator.mul, [10.5, -6.0]),
    "/": (operator.truediv, [7 / 1.5, -2 / 3]),
    "//": (operator.floordiv, [4.0, -1.0]),
    "%": (operator.mod, [1.0, 1.0]),
    "**": (operator.pow, [7**1.5, -8.0]),
}


@pytest.mark.parametrize("sign", FLOATS)
def test_arithmetic_of_fractions(sign):
    function, expected = FLOATS[sign]
    x, y = torch.tensor([7.0, -2.0]), torch.tensor([1.5, 3.0])
    assert close(function(x, y), expected)
    for i in range(2):  # the same with a number on either side
        assert close(function(x[i], y[i].item()), expected[i])
        assert close(function(x[i].item(), y[i]), expected[i])


INTEGERS = {
    "+": (operator.add, [8, -2]),
    "-": (operator.sub, [2, -8]),
    "*": (operator.mul, [15, -15]),
    "//": (operator.floordiv, [1, -2]),
    "%": (operator.mod, [2, 1]),
    "**": (operator.pow, [125, -125]),
    "&": (operator.and_, [1, 3]),
    "|": (operator.or_, [7, -5]),
    "^": (operator.xor, [6, -8]),
    "<<": (operator.lshift, [40, -40]),
    ">>": (operator.rshift, [0, -1]),
}


@pytest.mark.parametrize("sign", INTEGERS)
def test_arithmetic_of_whole_numbers_rounds_down(sign):
    function, expected = INTEGERS[sign]
    x, y = torch.tensor([5, -5]), torch.tensor([3, 3])
    result = function(x, y)
    assert result.tolist() == expected and result.dtype == torch.int64
    assert function(x, 3).tolist() == expected
    assert function(5, y[:1]).tolist() == expected[:1]
    assert [function(int(a), 3) for a in x] == expected  # and Python agrees


@pytest.mark.parametrize("sign", INTEGERS)
def test_in_place_operators_keep_the_tensor(sign):
    function, expected = INTEGERS[sign]
    in_place = getattr(operator, "i" + function.__name__.rstrip("_"))
    x = same = torch.tensor([5, -5])
    x = in_place(x, 3)
    assert x is same and x.tolist() == expected and x._version == 1
    y = same = torch.tensor([5, -5])
    y = in_place(y, torch.tensor([3, 3]))
    assert y is same and y.tolist() == expected


def test_in_place_division_and_matrix_product():
    x = same = torch.tensor([3.0, 4.0])
    x /= 2
    assert x is same and x.tolist() == [1.5, 2.0]
    with raises(RuntimeError, "result type Float can't be cast to the desired output type Long"):
        y = torch.tensor([7])
        y /= 2
    x @= torch.eye(2)
    assert x.tolist() == [1.5, 2.0]


def test_operators_of_one_operand():
    x = torch.tensor([-1.5, 2.0])
    assert (-x).tolist() == [1.5, -2.0] and (+x).tolist() == [-1.5, 2.0] and abs(x).tolist() == [1.5, 2.0]
    assert (~torch.tensor([1, 0])).tolist() == [-2, -1] and (~torch.tensor([True, False])).tolist() == [False, True]
    assert (-torch.tensor([1], dtype=torch.uint8)).tolist() == [255]


COMPARISONS = {
    "<": (operator.lt, [True, False, False]),
    "<=": (operator.le, [True, True, False]),
    ">": (operator.gt, [False, False, True]),
    ">=": (operator.ge, [False, True, True]),
    "==": (operator.eq, [False, True, False]),
    "!=": (operator.ne, [True, False, True]),
}


@pytest.mark.parametrize("sign", COMPARISONS)
def test_comparisons(sign):
    function, expected = COMPARISONS[sign]
    x = torch.tensor([1, 2, 3])
    result = function(x, torch.tensor([2.0, 2.0, 2.0]))
    assert result.tolist() == expected and result.dtype == torch.bool
    assert function(x, 2).tolist() == function(x, 2.0).tolist() == expected
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
    assert function(2, x).tolist() == COMPARISONS[mirrored][1]


def test_equality_with_what_is_no_number_is_false():
    x = torch.ones(2)
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == "a") is False and (x == [1, 1]) is False


def test_nan_equals_nothing():
    x = torch.tensor([float("nan")])
    assert (x == x).tolist() == [False] and (x != x).tolist() == [True] and (x < x).tolist() == [False]


UNSUPPORTED = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "&": operator.and_,
}


@pytest.mark.parametrize("sign", UNSUPPORTED)
@pytest.mark.parametrize("other", [frozenset(), None, {}], ids=["frozenset", "None", "dict"])
def test_what_is_no_tensor_is_refused(sign, other):
    name = type(other).__name__
    with raises(TypeError, f"unsupported operand type(s) for {sign}: 'Tensor' and '{name}'"):
        UNSUPPORTED[sign](torch.ones(2), other)
    with raises(TypeError, f"unsupported operand type(s) for {sign}: '{name}' and 'Tensor'"):
        UNSUPPORTED[sign](other, torch.ones(2))


def test_order_with_what_is_no_tensor_is_refused():
    with raises(TypeError, "'<' not supported between instances of 'Tensor' and 'NoneType'"):
        torch.ones(2) < None
    with raises(TypeError, "'>=' not supported between instances of 'Tensor' and 'str'"):
        torch.ones(2) >= "a"


def test_another_class_may_answer():
    class Answer:
        def __radd__(self, other):
            return "added"

        def __rmatmul__(self, other):
            return "multiplied"

        def __gt__(self, other):
            return "compared"

    assert torch.ones(2) + Answer() == "added"
    assert torch.ones(2) @ Answer() == "multiplied"
    assert (torch.ones(2) < Answer()) == "compared"


def test_numpys_numbers_count_as_pythons():
    x, whole = torch.ones(2), torch.ones(2, dtype=torch.int64)
    for result in (x * np.float64(2), np.float64(2) * x, x + np.int64(1), np.float32(1) + x):
        assert isinstance(result, torch.Tensor) and result.tolist() == [2.0, 2.0] and result.dtype == torch.float32
    assert (whole * np.int32(2)).dtype == torch.int64 and (whole * np.float64(2)).dtype == torch.float32


def test_division_by_zero():
    x = torch.tensor([1.0, 0.0, -1.0])
    assert str((x / 0).tolist()) == "[inf, nan, -inf]"
    assert str((torch.tensor([1]) / 0).tolist()) == "[inf]"
    assert (x % 0).isnan().all()
    with raises(RuntimeError, "ZeroDivisionError"):
        torch.tensor([1, 2]) // 0
    with raises(RuntimeError, "ZeroDivisionError"):
        torch.tensor([1, 2]) % torch.tensor([0, 1])


def test_rounding_modes_of_division():
    x = torch.tensor([5, -5])
    assert torch.div(x, 2, rounding_mode="trunc").tolist() == [2, -2]
    assert torch.div(x, 2, rounding_mode="floor").tolist() == [2, -3]
    assert (x / 2).tolist() == [2.5, -2.5] and x.fmod(3).tolist() == [2, -2] and x.remainder(3).tolist() == [2, 1]
    with raises(RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'x'"):
        torch.div(torch.ones(2), 2, rounding_mode="x")


def test_powers():
    assert (torch.tensor([0.0]) ** 0).tolist() == [1.0] and torch.isnan(torch.tensor([-8.0]) ** (1 / 3)).all()
    assert (torch.tensor([2]) ** 0.5).dtype == torch.float32 and (2 ** torch.tensor([3])).tolist() == [8]
    with raises(RuntimeError, "Integers to negative integer powers are not allowed."):
        torch.tensor([2]) ** -1
    assert (torch.tensor([2.0]) ** -1).tolist() == [0.5]


def test_functions_take_alpha_and_out():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    assert torch.add(x, y, alpha=2).tolist() == [21.0, 42.0] and torch.sub(y, x, alpha=3).tolist() == [7.0, 14.0]
    assert x.add(y).tolist() == [11.0, 22.0]
    out = torch.empty(2)
    assert torch.mul(x, y, out=out) is out and out.tolist() == [10.0, 40.0]


@needs("rsub", "addcmul", "addcdiv")
def test_functions_that_combine_operators():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    assert torch.rsub(x, y).tolist() == [9.0, 18.0] and torch.addcmul(x, x, y, value=2).tolist() == [21.0, 82.0]
    assert close(torch.addcdiv(x, x, y), [1.1, 2.1])


def test_broadcasting():
    x, y = torch.arange(3.0).reshape(3, 1), torch.arange(2.0)
    assert (x + y).tolist() == [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    assert (torch.ones(0, 1) + torch.ones(3)).shape == (0, 3)
    for shapes, text in [
        (((2, 3), (4,)), "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"),
        (((2, 3), (3, 3)), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
        (((2,), (3,)), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
        (((0,), (3,)), "The size of tensor a (0) must match the size of tensor b (3) at non-singleton dimension 0"),
    ]:
        for function in (operator.add, operator.mul, operator.pow, operator.lt, torch.maximum):
            with raises(RuntimeError, text):
                function(*(torch.ones(shape) for shape in shapes))


CASTS = [
    (torch.int64, lambda x: x.add_(1.5), "result type Float can't be cast to the desired output type Long"),
    (torch.int64, lambda x: x.div_(2), "result type Float can't be cast to the desired output type Long"),
    (torch.int32, lambda x: x.sqrt_(), "result type Float can't be cast to the desired output type Int"),
    (torch.bool, lambda x: x.add_(1), "result type Long can't be cast to the desired output type Bool"),
    (torch.float32, lambda x: x.add_(1j), "result type ComplexFloat can't be cast to the desired output type Float"),
    (
        torch.uint8,
        lambda x: x.mul_(torch.ones(2, dtype=torch.float64)),
        "result type Double can't be cast to the desired output type",
    ),
]


@pytest.mark.parametrize(("dtype", "write", "text"), CASTS)
def test_in_place_results_must_fit_the_dtype(dtype, write, text):
    x = torch.ones(2, dtype=dtype)
    with raises(RuntimeError, text):
        write(x)
    assert x.tolist() == [1, 1] and x._version == 0


def test_in_place_results_of_the_same_category_are_cast():
    x = torch.ones(2, dtype=torch.float16)
    x.add_(torch.ones(2, dtype=torch.float64))
    assert x.dtype == torch.float16 and x.tolist() == [2.0, 2.0]
    y = torch.ones(2, dtype=torch.int8)
    y += torch.tensor([300, 1])
    assert y.dtype == torch.int8 and y.tolist() == [45, 2]
