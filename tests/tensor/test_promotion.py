"""Which dtype comes out when two meet: PyTorch's tables, written out."""

import pytest
from subject import raises, torch

CODES = {
    "b": torch.bool,
    "u1": torch.uint8,
    "i1": torch.int8,
    "i2": torch.int16,
    "i4": torch.int32,
    "i8": torch.int64,
    "f2": torch.float16,
    "bf": torch.bfloat16,
    "f4": torch.float32,
    "f8": torch.float64,
    "c8": torch.complex64,
    "cc": torch.complex128,
}
NAMES = list(CODES)


def table(text, columns=NAMES):
    """{(row, column): entry} of a table whose lines start with their row's name."""
    cells = {}
    for line in text.strip().splitlines():
        row, *entries = line.split()
        assert len(entries) == len(columns)
        cells.update({(row, column): entry for column, entry in zip(columns, entries, strict=True)})
    return cells


BOTH = table("""
b   b u1 i1 i2 i4 i8 f2 bf f4 f8 c8 cc
u1  u1 u1 i2 i2 i4 i8 f2 bf f4 f8 c8 cc
i1  i1 i2 i1 i2 i4 i8 f2 bf f4 f8 c8 cc
i2  i2 i2 i2 i2 i4 i8 f2 bf f4 f8 c8 cc
i4  i4 i4 i4 i4 i4 i8 f2 bf f4 f8 c8 cc
i8  i8 i8 i8 i8 i8 i8 f2 bf f4 f8 c8 cc
f2  f2 f2 f2 f2 f2 f2 f2 f4 f4 f8 c8 cc
bf  bf bf bf bf bf bf f4 bf f4 f8 c8 cc
f4  f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 c8 cc
f8  f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 cc cc
c8  c8 c8 c8 c8 c8 c8 c8 c8 c8 cc c8 cc
cc  cc cc cc cc cc cc cc cc cc cc cc cc
""")

# A tensor with dimensions beside a 0-d tensor: the 0-d one counts only when it is of a higher category.
# ("--" would be a complex of two float16, which there is no such dtype for.)
WITH_ZERO_DIM = table("""
b   b u1 i1 i2 i4 i8 f2 bf f4 f8 c8 cc
u1  u1 u1 u1 u1 u1 u1 f2 bf f4 f8 c8 cc
i1  i1 i1 i1 i1 i1 i1 f2 bf f4 f8 c8 cc
i2  i2 i2 i2 i2 i2 i2 f2 bf f4 f8 c8 cc
i4  i4 i4 i4 i4 i4 i4 f2 bf f4 f8 c8 cc
i8  i8 i8 i8 i8 i8 i8 f2 bf f4 f8 c8 cc
f2  f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 -- --
bf  bf bf bf bf bf bf bf bf bf bf c8 c8
f4  f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 c8 c8
f8  f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 cc cc
c8  c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8
cc  cc cc cc cc cc cc cc cc cc cc cc cc
""")

SCALARS = {"True": True, "1": 1, "1.0": 1.0, "1j": 1j}
WITH_SCALAR = table(
    """
b   b i8 f4 c8
u1  u1 u1 f4 c8
i1  i1 i1 f4 c8
i2  i2 i2 f4 c8
i4  i4 i4 f4 c8
i8  i8 i8 f4 c8
f2  f2 f2 f2 --
bf  bf bf bf c8
f4  f4 f4 f4 c8
f8  f8 f8 f8 cc
c8  c8 c8 c8 c8
cc  cc cc cc cc
""",
    list(SCALARS),
)

CASTS = table("""
b   x x x x x x x x x x x x
u1  . x x x x x x x x x x x
i1  . x x x x x x x x x x x
i2  . x x x x x x x x x x x
i4  . x x x x x x x x x x x
i8  . x x x x x x x x x x x
f2  . . . . . . x x x x x x
bf  . . . . . . x x x x x x
f4  . . . . . . x x x x x x
f8  . . . . . . x x x x x x
c8  . . . . . . . . . . x x
cc  . . . . . . . . . . x x
""")


def test_promote_types():
    for (a, b), expected in BOTH.items():
        assert torch.promote_types(CODES[a], CODES[b]) == CODES[expected], (a, b)


def test_can_cast():
    for (a, b), expected in CASTS.items():
        assert torch.can_cast(CODES[a], CODES[b]) is (expected == "x"), (a, b)


def test_result_type_of_two_tensors():
    for (a, b), expected in BOTH.items():
        x, y = torch.ones(2, dtype=CODES[a]), torch.ones(1, dtype=CODES[b])
        assert torch.result_type(x, y) == CODES[expected], (a, b)


def test_result_type_of_two_0d_tensors():
    for (a, b), expected in BOTH.items():
        x, y = torch.ones((), dtype=CODES[a]), torch.ones((), dtype=CODES[b])
        assert torch.result_type(x, y) == CODES[expected], (a, b)


def test_result_type_with_a_0d_tensor_on_either_side():
    for (a, b), expected in WITH_ZERO_DIM.items():
        if expected != "--":
            x, y = torch.ones(2, dtype=CODES[a]), torch.ones((), dtype=CODES[b])
            assert torch.result_type(x, y) == torch.result_type(y, x) == CODES[expected], (a, b)


def test_result_type_with_a_python_number():
    for (a, name), expected in WITH_SCALAR.items():
        if expected != "--":
            for shape in ((2,), ()):
                x = torch.ones(shape, dtype=CODES[a])
                assert torch.result_type(x, SCALARS[name]) == CODES[expected], (a, name, shape)
                assert torch.result_type(SCALARS[name], x) == CODES[expected], (a, name, shape)


def test_result_type_of_two_python_numbers():
    for a, b, code in [(True, True, "b"), (True, 1, "i8"), (1, 1, "i8"), (1, 1.0, "f4"), (1.0, 1j, "c8")]:
        assert torch.result_type(a, b) == torch.result_type(b, a) == CODES[code]


def test_adding_follows_the_tables():
    for (a, b), expected in BOTH.items():
        x, y = torch.ones(2, dtype=CODES[a]), torch.ones(2, dtype=CODES[b])
        assert (x + y).dtype == (x * y).dtype == CODES[expected], (a, b)
        zero_dim = WITH_ZERO_DIM[a, b]
        if zero_dim != "--":
            z = torch.ones((), dtype=CODES[b])
            assert (x + z).dtype == (z * x).dtype == CODES[zero_dim], (a, b)
    for (a, name), expected in WITH_SCALAR.items():
        if expected != "--":
            x = torch.ones(2, dtype=CODES[a])
            assert (x + SCALARS[name]).dtype == (SCALARS[name] * x).dtype == CODES[expected], (a, name)


def test_a_number_does_not_widen_and_does_not_lose():
    assert (torch.tensor([1], dtype=torch.uint8) + 255).tolist() == [0]
    assert (torch.tensor([100], dtype=torch.int8) + 100).tolist() == [-56]
    assert (torch.tensor([1], dtype=torch.int64) + 0.5).tolist() == [1.5]
    assert (torch.tensor([2.0]) * torch.tensor(3.0, dtype=torch.float64)).dtype == torch.float32


def test_the_default_dtype_is_what_numbers_become():
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.ones(2, dtype=torch.int32) + 1.0).dtype == torch.float64
        assert (torch.ones(2, dtype=torch.int32) / 2).dtype == torch.float64
        assert torch.result_type(1, 1.0) == torch.float64
        assert (torch.ones(2, dtype=torch.bool) + 1j).dtype == torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)


UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
PROMOTION = "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        (torch.uint16, torch.int8, "UInt16 and Char"),
        (torch.uint32, torch.int64, "UInt32 and Long"),
        (torch.uint64, torch.bool, "UInt64 and Bool"),
        (torch.uint16, torch.uint32, "UInt16 and UInt32"),
        (torch.uint8, torch.uint64, "Byte and UInt64"),
        (torch.uint16, torch.complex64, "UInt16 and ComplexFloat"),
    ],
)
def test_the_larger_unsigned_integers_promote_with_nothing_whole(a, b, names):
    with raises(RuntimeError, PROMOTION + names):
        torch.promote_types(a, b)
    with raises(RuntimeError, PROMOTION + names):
        torch.result_type(torch.ones(2, dtype=a), torch.ones(2, dtype=b))


def test_the_larger_unsigned_integers_promote_with_themselves_and_with_floats():
    for dtype in UNSIGNED:
        assert torch.promote_types(dtype, dtype) == dtype
        for other in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            assert torch.promote_types(dtype, other) == torch.promote_types(other, dtype) == other
        assert torch.result_type(torch.ones(2, dtype=dtype), 1) == dtype


RESULTS = table(
    """
x/x     f4 f4 f4 f4 f4 f4 f2 bf f4 f8 c8 cc
x**2    i8 u1 i1 i2 i4 i8 f2 bf f4 f8 c8 cc
x*1.5   f4 f4 f4 f4 f4 f4 f2 bf f4 f8 c8 cc
x+True  b  u1 i1 i2 i4 i8 f2 bf f4 f8 c8 cc
sqrt    f4 f4 f4 f4 f4 f4 f2 bf f4 f8 c8 cc
exp     f4 f4 f4 f4 f4 f4 f2 bf f4 f8 c8 cc
sigmoid f4 f4 f4 f4 f4 f4 f2 bf f4 f8 c8 cc
sum     i8 i8 i8 i8 i8 i8 f2 bf f4 f8 c8 cc
prod    i8 i8 i8 i8 i8 i8 f2 bf f4 f8 c8 cc
cumsum  i8 i8 i8 i8 i8 i8 f2 bf f4 f8 c8 cc
x==x    b  b  b  b  b  b  b  b  b  b  b  b
isnan   b  b  b  b  b  b  b  b  b  b  b  b
any     b  u1 b  b  b  b  b  b  b  b  b  b
1/x     f4 f4 f4 f4 f4 f4 f2 bf f4 f8 c8 cc
real    b  u1 i1 i2 i4 i8 f2 bf f4 f8 f4 f8
""",
    NAMES,
)
FUNCTIONS = {
    "x/x": lambda x: x / x,
    "x**2": lambda x: x**2,
    "x*1.5": lambda x: x * 1.5,
    "x+True": lambda x: x + True,
    "x==x": lambda x: x == x,
    "1/x": lambda x: 1 / x,
    "real": lambda x: x.real,
    "cumsum": lambda x: x.cumsum(0),
}


def test_the_dtypes_that_operations_answer_with():
    for (name, code), expected in RESULTS.items():
        x = torch.ones(2, dtype=CODES[code])
        result = FUNCTIONS[name](x) if name in FUNCTIONS else getattr(x, name)()
        assert result.dtype == CODES[expected], (name, code)


@pytest.mark.parametrize("code", ["u1", "i1", "i2", "i4", "i8", "f2", "bf", "f4", "f8"])
def test_operations_that_keep_their_dtype(code):
    x = torch.ones(2, dtype=CODES[code])
    for result in (x // x, x % x, x.abs(), x.floor(), x.round(), x.max(), x.relu(), x - x, -x, x.clamp(0, 1), x @ x):
        assert result.dtype == CODES[code]
    assert x.argmax().dtype == torch.int64


def test_what_has_no_meaning_is_refused():
    truth, whole, z = torch.tensor([True]), torch.tensor([1]), torch.tensor([1j])
    with raises(
        RuntimeError,
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead.",
    ):
        -truth
    with raises(
        RuntimeError,
        "Subtraction, the `-` operator, with two bool tensors is not supported. "
        "Use the `^` or `logical_xor()` operator instead.",
    ):
        truth - truth
    with raises(
        RuntimeError,
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long",
    ):
        whole.mean()
    with raises(RuntimeError, "std and var only support floating point and complex dtypes"):
        whole.std()
    for refuse in (lambda: z < z, lambda: z.max(), lambda: z.floor(), lambda: z // z, lambda: z % z):
        with raises((RuntimeError, NotImplementedError)):
            refuse()
    with raises(TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors"):
        ~torch.tensor([1.0])
    for refuse in (lambda: torch.tensor([1.0]) & 1, lambda: torch.tensor([1.0]) << 1):
        with raises((RuntimeError, NotImplementedError)):
            refuse()
