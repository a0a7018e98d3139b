"""dtypes as objects: what they print, what they know, and how tensors are cast between them."""

import copy
import math
import pickle

import numpy as np
import pytest
from subject import raises, spoken, torch

FACTS = {
    # name: (bytes, floating, complex, signed)
    "float16": (2, True, False, True),
    "bfloat16": (2, True, False, True),
    "float32": (4, True, False, True),
    "float64": (8, True, False, True),
    "complex64": (8, False, True, True),
    "complex128": (16, False, True, True),
    "int8": (1, False, False, True),
    "int16": (2, False, False, True),
    "int32": (4, False, False, True),
    "int64": (8, False, False, True),
    "uint8": (1, False, False, False),
    "uint16": (2, False, False, False),
    "uint32": (4, False, False, False),
    "uint64": (8, False, False, False),
    "bool": (1, False, False, False),
}


@pytest.mark.parametrize("name", FACTS)
def test_what_a_dtype_knows_of_itself(name):
    dtype = getattr(torch, name)
    size, floating, complex_, signed = FACTS[name]
    assert repr(dtype) == str(dtype) == f"{torch.__name__}.{name}"
    assert dtype.itemsize == size
    assert dtype.is_floating_point is floating and dtype.is_complex is complex_ and dtype.is_signed is signed
    assert isinstance(dtype, torch.dtype)
    assert copy.deepcopy(dtype) is dtype and pickle.loads(pickle.dumps(dtype)) is dtype
    assert hash(dtype) == hash(dtype) and dtype == dtype and dtype != "x"


@pytest.mark.parametrize("name", FACTS)
def test_a_tensor_of_each(name):
    dtype = getattr(torch, name)
    x = torch.tensor([0, 1], dtype=dtype)
    size, floating, complex_, _ = FACTS[name]
    assert x.dtype is dtype and x.element_size() == x.itemsize == size and x.nbytes == 2 * size
    assert x.is_floating_point() is torch.is_floating_point(x) is floating
    assert x.is_complex() is torch.is_complex(x) is complex_
    assert x.tolist() == [0, 1] and (x == x).all()


def test_other_names_are_the_same_objects():
    aliases = {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "short": "int16",
        "int": "int32",
        "long": "int64",
        "cfloat": "complex64",
        "cdouble": "complex128",
    }
    for alias, name in aliases.items():
        assert getattr(torch, alias) is getattr(torch, name)


def test_finfo():
    single = torch.finfo(torch.float32)
    assert (single.bits, single.eps, single.tiny) == (32, 2.0**-23, 2.0**-126)
    assert single.max == -single.min == float(np.finfo(np.float32).max)
    assert single.smallest_normal == single.tiny and single.resolution == 1e-6 and single.dtype == "float32"
    half, brain, double = (torch.finfo(d) for d in (torch.float16, torch.bfloat16, torch.float64))
    assert (half.max, half.eps, brain.eps, brain.bits) == (65504.0, 2.0**-10, 2.0**-7, 16)
    assert math.isclose(brain.max, 3.3895313892515355e38)
    assert double.eps == np.finfo(np.float64).eps
    assert torch.finfo().bits == 32 and torch.finfo(torch.complex64).bits == 32
    with raises(TypeError, "torch.finfo() requires a floating point input type. Use torch.iinfo to handle"):
        torch.finfo(torch.int32)


def test_iinfo():
    assert (torch.iinfo(torch.uint8).min, torch.iinfo(torch.uint8).max) == (0, 255)
    assert (torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max) == (-(2**63), 2**63 - 1)
    assert torch.iinfo(torch.int16).bits == 16 and torch.iinfo(torch.int16).dtype == "int16"
    with raises(TypeError, "torch.iinfo() requires an integer input type. Use torch.finfo to handle"):
        torch.iinfo(torch.float32)


def test_to_complex_and_to_real():
    assert torch.float32.to_complex() is torch.complex64 and torch.float64.to_complex() is torch.complex128
    assert torch.complex128.to_real() is torch.float64


METHODS = {
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "byte": "uint8",
    "bool": "bool",
}


@pytest.mark.parametrize("method", METHODS)
def test_casts_have_methods(method):
    dtype = getattr(torch, METHODS[method])
    x = torch.tensor([0.0, 1.0, 2.0])
    y = getattr(x, method)()
    assert y.dtype is dtype and torch.equal(y, x.to(dtype)) and torch.equal(y, x.type(dtype))
    assert getattr(y, method)() is y


def test_to_takes_a_dtype_a_device_or_another_tensor():
    x = torch.ones(2)
    assert x.to("cpu") is x and x.to(torch.float32) is x and x.cpu() is x
    assert x.to(torch.float64).dtype == x.to("cpu", torch.float64).dtype == torch.float64
    assert x.to(torch.ones(1, dtype=torch.int32)).dtype == torch.int32
    assert x.to(dtype=torch.float16).dtype == torch.float16
    copied = x.to(torch.float32, copy=True)
    assert copied is not x and copied.data_ptr() != x.data_ptr()


def test_casting_truncates_toward_zero():
    assert torch.tensor([1.9, -1.9, 0.5]).long().tolist() == [1, -1, 0]


def test_casting_wraps_integers():
    assert torch.tensor([256, 257, -1]).to(torch.uint8).tolist() == [0, 1, 255]
    assert torch.tensor([200]).to(torch.int8).tolist() == [-56]


def test_casting_to_bool_asks_whether_it_is_not_zero():
    assert torch.tensor([0.0, -0.0, 0.1, float("nan"), -3.0]).bool().tolist() == [False, False, True, True, True]


def test_casting_from_complex_keeps_the_real_part():
    with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
        assert torch.tensor([1 + 2j]).float().tolist() == [1.0]


def test_rounding_to_fewer_bits_is_to_the_nearest_even():
    x = torch.tensor([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20])
    assert x.bfloat16().float().tolist() == [1.0, 1 + 2.0**-6, 1 + 2.0**-7]
    assert torch.tensor([65519.0, 65520.0]).half().tolist() == [65504.0, float("inf")]


def test_arithmetic_in_bfloat16_rounds_every_result():
    x = torch.tensor([1.0], dtype=torch.bfloat16)
    assert (x + 2.0**-9).item() == 1.0
    assert (x / 3).item() == torch.tensor(1 / 3).bfloat16().item()
    assert torch.ones(1000, dtype=torch.bfloat16).sum().item() == 1000.0


def test_the_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.get_default_dtype() is torch.float64
        made = [
            torch.ones(2),
            torch.tensor(1.0),
            torch.rand(2),
            torch.arange(2.0),
            torch.eye(2),
            torch.linspace(0, 1, 2),
        ]
        assert {x.dtype for x in made} == {torch.float64}
        assert torch.tensor(1j).dtype is torch.complex128
        assert torch.tensor([1.0, 2.0]).dtype is torch.float64
        assert repr(torch.ones(1)) == "tensor([1.])"
        assert spoken(repr(torch.ones(1, dtype=torch.float32))) == "tensor([1.], dtype=torch.float32)"
    finally:
        torch.set_default_dtype(torch.float32)
    with raises(TypeError, "only floating-point types are supported as the default type"):
        torch.set_default_dtype(torch.int64)


def test_casts_differentiate():
    x = torch.ones(2, requires_grad=True)
    y = x.double() * 3
    assert y.dtype is torch.float64
    y.sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [3.0, 3.0]
    z = x.to(torch.complex64)
    z.backward(torch.tensor([1 + 2j, 3 + 4j]))
    assert x.grad.tolist() == [4.0, 6.0]


def test_the_type_of_a_tensor_as_a_name():
    names = {
        torch.float32: "torch.FloatTensor",
        torch.float64: "torch.DoubleTensor",
        torch.int64: "torch.LongTensor",
        torch.bool: "torch.BoolTensor",
        torch.bfloat16: "torch.BFloat16Tensor",
    }
    for dtype, name in names.items():
        assert spoken(torch.zeros(1, dtype=dtype).type()) == name
