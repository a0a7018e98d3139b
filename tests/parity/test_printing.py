"""The text of a tensor equals what PyTorch prints, over some thousands of generated arrays and settings."""

import ml_dtypes
import numpy as np
import pytest
import torch

from tensorgrad import printing

DTYPES = {
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
}
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf]
BOUNDARIES = [1e-4, 0.99e-4, 1e8, 1.1e8, 1.0, 1000.0, 1001.0, 0.1, 99.99995, 9.99995, 0.00005, 2.5, -2.5, 65504.0]


class Measurement(torch.Tensor):
    """A subclass, for PyTorch begins its text with the name of the class."""


@pytest.fixture(autouse=True)
def default_options():
    yield
    choose_options({"profile": "default"})
    torch.set_default_dtype(torch.float32)


def choose_options(options):
    torch.set_printoptions(**options)
    printing.set_printoptions(**options)


def to_torch(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def ours(array, tensor, suffixes=(), name="tensor"):
    """Our text for `array`, which holds what `tensor` holds, with the dtype told as PyTorch would tell it."""
    default = torch.get_default_dtype()
    twin = torch.complex128 if default == torch.float64 else torch.complex64
    known = tensor.dtype in (default, twin, torch.int64, torch.bool)
    return printing.format_tensor(
        array, dtype_name=str(tensor.dtype), default_float=known, suffixes=suffixes, name=name
    )


def assert_same_text(array, suffixes=()):
    tensor = to_torch(array)
    assert ours(array, tensor, suffixes) == repr(tensor)


def random_reals(rng, shape):
    """Values of one character: whole, of one size, of many sizes, on the borders of PyTorch's conditions, special."""
    kind = rng.integers(8)
    if kind == 0:
        values = rng.integers(-20, 20, shape).astype(np.float64)
    elif kind == 1:
        values = np.rint(rng.standard_normal(shape) * 10.0 ** rng.integers(0, 18))
    elif kind == 2:
        values = rng.standard_normal(shape)
    elif kind == 3:
        values = rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 31)
    elif kind == 4:
        values = rng.standard_normal(shape) * 10.0 ** rng.uniform(-30, 30, shape)
    elif kind == 5:
        values = rng.choice(BOUNDARIES, shape)
    elif kind == 6:
        values = rng.choice(SPECIAL, shape)
    else:
        values = rng.uniform(0.5, 2.0, shape) * 10.0 ** rng.uniform(-2, 2, shape)
    if rng.random() < 0.25:
        values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), values)
    return values


def random_array(rng, dtype, shape):
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < rng.choice([0.0, 0.5, 1.0]))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if rng.random() < 0.3:
            return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        reach = 10 ** int(rng.integers(0, 10))
        low, high = max(limits.min, -reach), min(limits.max, reach)
        return rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    with np.errstate(over="ignore", under="ignore"):
        if dtype.kind == "c":
            array = np.empty(shape, dtype)
            array.real, array.imag = random_reals(rng, shape), random_reals(rng, shape)
            return array
        return np.asarray(random_reals(rng, shape), dtype)


def random_shape(rng):
    if rng.random() < 0.25:
        return (int(rng.integers(0, 60)),)
    return tuple(int(size) for size in rng.choice([0, 1, 2, 3, 4, 5, 8], rng.integers(0, 5), p=[0.04] + [0.16] * 6))


def random_options(rng):
    options = {"profile": str(rng.choice(["default", "short", "full"]))}
    if rng.random() < 0.6:
        options["threshold"] = int(rng.choice([0, 1, 5, 20, 100]))
    if rng.random() < 0.5:
        options["edgeitems"] = int(rng.choice([0, 1, 2, 3, 5]))
    if rng.random() < 0.5:
        options["linewidth"] = int(rng.choice([1, 10, 20, 40, 79, 120, 1000]))
    if rng.random() < 0.5:
        options["precision"] = int(rng.integers(0, 9))
    if rng.random() < 0.4:
        options["sci_mode"] = bool(rng.integers(2))
    return options


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_arrays_with_the_default_options(dtype):
    rng = np.random.default_rng(sorted(DTYPES).index(dtype))
    for _ in range(250):
        assert_same_text(random_array(rng, np.dtype(DTYPES[dtype]), random_shape(rng)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_arrays_with_random_options(dtype):
    rng = np.random.default_rng(100 + sorted(DTYPES).index(dtype))
    for _ in range(250):
        choose_options(random_options(rng))
        assert_same_text(random_array(rng, np.dtype(DTYPES[dtype]), random_shape(rng)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1000,), (1001,), (7, 143), (6, 6, 40), (2, 3, 200), (5, 1, 9, 50), (501, 2)])
def test_summaries(dtype, shape):
    rng = np.random.default_rng(7)
    assert_same_text(random_array(rng, np.dtype(DTYPES[dtype]), shape))


def test_the_notation_of_a_summary_depends_on_what_is_shown_only():
    array = np.ones(2000, np.float32)
    array[1000] = 1e20
    assert_same_text(array)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_suffixes(dtype):
    rng = np.random.default_rng(11)
    for _ in range(120):
        choose_options({"profile": "default", "linewidth": int(rng.integers(20, 100))})
        array = random_array(rng, np.dtype(DTYPES[dtype]), random_shape(rng))
        leaf = to_torch(array).requires_grad_()
        assert ours(array, leaf, ["requires_grad=True"]) == repr(leaf)
        for tensor in (leaf.clone(), leaf.view(leaf.shape), leaf[...]):
            assert ours(array, tensor, [f"grad_fn=<{type(tensor.grad_fn).__name__}>"]) == repr(tensor)


@pytest.mark.parametrize("length", range(1, 30))
def test_suffixes_at_the_end_of_the_line(length):
    for shape in [(length,), (3, length)]:
        array = np.linspace(0, 1, int(np.prod(shape)), dtype=np.float64).reshape(shape)
        tensor = to_torch(array).requires_grad_()
        assert ours(array, tensor, ["requires_grad=True"]) == repr(tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("default", [torch.float64, torch.float16, torch.bfloat16])
def test_other_default_dtypes(dtype, default):
    torch.set_default_dtype(default)
    for shape in [(), (3,), (0,), (2, 0)]:
        assert_same_text(random_array(np.random.default_rng(3), np.dtype(DTYPES[dtype]), shape))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_pairs_on_the_borders_of_the_notations(dtype):
    for low in BOUNDARIES:
        for high in (low, low * 1000, *BOUNDARIES):
            with np.errstate(over="ignore"):
                assert_same_text(np.array([low, -high]).astype(DTYPES[dtype]))


def test_the_name_of_a_subclass_moves_every_line():
    array = np.arange(120.0).reshape(2, 3, 20)
    tensor = to_torch(array).as_subclass(Measurement)
    assert ours(array, tensor, name="Measurement") == repr(tensor)


def test_every_float16_and_bfloat16_value():
    for dtype in (np.float16, ml_dtypes.bfloat16):
        array = np.arange(2**16, dtype=np.uint16).view(dtype).reshape(-1, 16)
        for rows in np.split(array, 64)[::8]:
            choose_options({"profile": "full"})
            assert_same_text(rows)


def test_arrays_that_are_not_contiguous():
    array = np.random.default_rng(5).standard_normal((4, 6, 50)).astype(np.float32)
    for view in (array.T, array[:, ::2], array[1:3, 2, :5], np.broadcast_to(array[0, 0], (30, 50)).copy(order="F")):
        assert_same_text(view)


def test_options_add_up_as_in_pytorch():
    rng = np.random.default_rng(2)
    for _ in range(300):
        options = random_options(rng)
        if rng.random() < 0.7:
            del options["profile"]
        choose_options(options)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
