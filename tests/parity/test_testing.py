"""torch.testing: assert_close says what PyTorch's says, and make_tensor draws PyTorch's numbers."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tensorgrad  # noqa: E402

CASES = """
ac(T([1.,2.]),T([1.,2.]))
ac(T([1.,2.,3.]),T([1.,2.,4.]))
ac(T([1,2,3]),T([1,2,4]))
ac(T([[1.,2.],[3.,5.]]),T([[1.,2.],[4.,3.]]),rtol=0.1,atol=0.1)
ac(T([1.,2.]),T([1.,3.]),rtol=0,atol=0)
ac(T([1.]),T([1.]).double())
ac(T([1.]),T([1.]).double(),check_dtype=False)
ac(T([1.]),T([1.,2.]))
ac(T([1.]),T([2.]),msg="hello")
ac(T([1.]),T([2.]),msg=lambda m: "pre "+m)
ac(1.0,1.0)
ac(1.0,2.0)
ac(1,2)
ac(1,1.0)
ac(1,1.0,check_dtype=False)
ac(True,False)
ac(None,None)
ac(None,1)
ac(1,None)
ac("a","a")
ac("a",1)
ac([1.,2.],[1.,3.])
ac([T([1.]),[T([2.]),T([3.])]],[T([1.]),[T([2.]),T([4.])]])
ac([1.],[1.,2.])
ac((1.,),[1.])
ac({"a":1.},{"a":1.})
ac({"a":1.},{"a":2.})
ac({"a":1.},{"b":1.})
ac({"a":1.,"c":2},{"a":1.})
ac(T(float("nan")),T(float("nan")))
ac(T([1.,float("nan")]),T([1.,float("nan")]),equal_nan=True)
ac(float("nan"),float("nan"))
ac(float("nan"),float("nan"),equal_nan=True)
ac(T(1.),T(2.))
ac(T(1),T(2))
ac(T([1.]),1.0)
ac(1.0,T([1.]))
ac(T(1.),1.0)
ac(np.array([1.]),np.array([2.]))
ac(np.array([1.]),T([1.]))
ac(T([1.]),T([2.]),rtol=1e-3)
ac(T([1.]),T([2.]),atol=1e-3)
ac(T([1+1j]),T([1+2j]))
ac(T([True,False]),T([True,True]))
ac(T([1.,2.]).half(),T([1.,2.5]).half())
ac(T([1.,2.]).bfloat16(),T([1.,2.5]).bfloat16())
ac(T([1.,2.]).bfloat16(),T([1.,2.01]).bfloat16())
ac(T([[1.,2.],[3.,4.]]).t(),T([[1.,3.],[2.,4.]]),check_stride=True)
ac(T([float("inf")]),T([1.]))
ac(T([float("inf"),1.]),T([float("inf"),1.]))
ac(lib.ones(2,requires_grad=True),lib.ones(2))
ac(lib.zeros(0),lib.zeros(0))
ac(lib.zeros(3),T([0.,1e-6,0.]))
ac(T([1.]),"a")
ac(object(),object())
ac(1.0,2.0,rtol=0,atol=0)
ac(3,4,rtol=0.5,atol=0)
ac(T([1,200],dtype=lib.uint8),T([3,1],dtype=lib.uint8))
ac(T(2**62),T(-2**62))
ac(1+2j,1+3j)
ac([],[])
ac({},[])
ac(lib.nn.Parameter(lib.ones(1)),lib.ones(1))
ac(lib.nn.Parameter(lib.ones(1)),lib.ones(1),allow_subclasses=False)
ac(T([1.,2.,3.]),T([0.,0.,0.]),msg=5)
testing.assert_allclose(T([1.]),T([1.]))
testing.assert_allclose(T([1.]),[2.])
"""


def outcome(lib, text):
    scope = {"lib": lib, "np": np, "T": lib.tensor, "ac": lib.testing.assert_close, "testing": lib.testing}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(text, scope)
        except (AssertionError, TypeError, ValueError) as error:
            return type(error).__name__, str(error).replace("tensorgrad.", "torch.")
    return None


@pytest.mark.parametrize("text", CASES.strip().split("\n"))
def test_the_same_words(text):
    assert outcome(tensorgrad, text) == outcome(torch, text)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"],
)
def test_the_same_numbers(dtype):
    for shape in ((3, 4), (), (20,)):
        for options in ({}, {"noncontiguous": True}, {"exclude_zero": True}, {"low": 0, "high": 2}):
            results = []
            for lib in (torch, tensorgrad):
                lib.manual_seed(0)
                x = lib.testing.make_tensor(shape, dtype=getattr(lib, dtype), device="cpu", **options)
                results.append(((x.float() if dtype == "bfloat16" else x).numpy(), x.stride()))
            np.testing.assert_array_equal(results[0][0], results[1][0])
            assert results[0][1] == results[1][1]
