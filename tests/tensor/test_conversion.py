"""Tensors as numbers, lists, arrays, truth values and text; copies and pickles of them."""

import copy
import pickle

import numpy as np
import pytest
from subject import raises, torch


def test_item():
    assert torch.tensor([[3]]).item() == 3 and type(torch.tensor(3).item()) is int
    assert torch.tensor(True).item() is True and torch.tensor(1 + 2j).item() == 1 + 2j
    assert type(torch.tensor(0.1).item()) is float and torch.tensor(0.1).item() == float(np.float32(0.1))
    for count, shape in ((2, (2,)), (0, (0,)), (4, (2, 2))):
        with raises(RuntimeError, f"a Tensor with {count} elements cannot be converted to Scalar"):
            torch.zeros(shape).item()


def test_python_numbers():
    assert float(torch.tensor([2.5])) == 2.5 and int(torch.tensor(2.7)) == 2 and complex(torch.tensor(2.0)) == 2 + 0j
    assert [1, 2, 3][torch.tensor(1)] == 2 and range(5)[torch.tensor([3])] == 3
    for convert in (float, int):
        with raises(ValueError, "only one element tensors can be converted to Python scalars"):
            convert(torch.ones(2))
    with raises(RuntimeError, "value cannot be converted to type double without overflow"):
        float(torch.tensor(1j))
    for refused in (torch.tensor(1.5), torch.tensor([1, 2])):
        with raises(TypeError, "only integer tensors of a single element can be converted to an index"):
            refused.__index__()


def test_truth():
    assert bool(torch.tensor([2.0])) and not bool(torch.tensor(0)) and bool(torch.tensor(float("nan")))
    with raises(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        bool(torch.ones(2))
    with raises(RuntimeError, "Boolean value of Tensor with no values is ambiguous"):
        bool(torch.zeros(0))
    with raises(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        assert torch.ones(2) == torch.ones(2)


def test_tolist():
    assert torch.tensor([[1.5, 2.0]]).tolist() == [[1.5, 2.0]] and torch.tensor(3).tolist() == 3
    assert torch.tensor([True]).tolist() == [True] and torch.zeros(2, 0).tolist() == [[], []]
    assert torch.zeros(0, 2).tolist() == [] and torch.tensor([1.1]).tolist() == [1.100000023841858]
    assert torch.tensor([1.5], dtype=torch.bfloat16).tolist() == [1.5]
    assert type(torch.tensor([1.5], dtype=torch.bfloat16).tolist()[0]) is float
    assert torch.arange(6).reshape(2, 3).T.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_numpy_shares_memory():
    x = torch.ones(2, 3)
    array = x.T.numpy()
    assert array.shape == (3, 2) and array.strides == (4, 12) and array.dtype == np.float32
    array[0, 0] = 5
    x[1, 1] = 7
    assert x[0, 0].item() == 5.0 and array[1, 1] == 7.0
    zero_dim = torch.tensor(3.0).numpy()
    assert type(zero_dim) is np.ndarray and zero_dim.shape == ()


def test_numpy_of_what_needs_a_gradient():
    x = torch.ones(2, requires_grad=True)
    text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    for refused in (x.numpy, lambda: np.asarray(x), lambda: np.array(x)):
        with raises(RuntimeError, text):
            refused()
    assert x.detach().numpy().tolist() == x.numpy(force=True).tolist() == x.tolist() == [1.0, 1.0]


def test_numpy_of_what_numpy_does_not_have():
    with raises(TypeError, "Got unsupported ScalarType BFloat16"):
        torch.ones(2, dtype=torch.bfloat16).numpy()


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "int64", "uint32", "float16", "float64", "complex128"])
def test_numpy_there_and_back(name):
    x = torch.tensor([0, 1], dtype=getattr(torch, name))
    assert x.numpy().dtype.name == name
    assert torch.from_numpy(x.numpy()).dtype is x.dtype and torch.tensor(x.numpy()).tolist() == x.tolist()


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_array():
    x = torch.arange(3)
    assert np.asarray(x).tolist() == [0, 1, 2] and np.asarray(x).dtype == np.int64
    converted = np.array(x, dtype=np.float32)
    converted[0] = 9
    assert converted.dtype == np.float32 and x.tolist() == [0, 1, 2]
    assert np.stack([torch.ones(2), torch.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert np.allclose(torch.ones(2), 1)


def test_len_and_iteration():
    x = torch.arange(6).reshape(3, 2)
    assert len(x) == 3 and [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert [row.tolist() for row in reversed(x)] == [[4, 5], [2, 3], [0, 1]]
    first, *rest = x
    assert first.tolist() == [0, 1] and len(rest) == 2
    assert max(torch.tensor([1, 3, 2])).item() == 3 and sum(torch.tensor([1.0, 2.0])).item() == 3.0
    with raises(TypeError, "len() of a 0-d tensor"):
        len(torch.tensor(1))
    with raises(TypeError, "iteration over a 0-d tensor"):
        list(torch.tensor(1))


def test_iterated_rows_differentiate():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    sum(value * value for value in x).backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_contains():
    x = torch.tensor([1, 2])
    assert 1 in x and 5 not in x and torch.tensor(1) in x and 1.0 in torch.ones(2) and True in x
    for refused in ("a", None, [1]):
        with raises(
            RuntimeError, f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(refused)}."
        ):
            refused in x


def test_format():
    x = torch.tensor(1.5)
    assert f"{x}" == "1.5" and f"{x:.2f}" == "1.50" and f"{torch.tensor(3):d}" == "3" and f"{x:>6}" == "   1.5"
    assert f"{torch.tensor([1.5])}" == "tensor([1.5000])" and f"{torch.tensor(2.25):.1f}" == "2.2"
    assert str(torch.tensor([1])) == repr(torch.tensor([1])) == "tensor([1])"
    with raises(TypeError, "unsupported format string passed to Tensor.__format__"):
        f"{torch.tensor([1.5]):.2f}"


def test_hashing_is_by_identity():
    x, y = torch.ones(1), torch.ones(1)
    assert len({x, y, x}) == 2 and {x: 1}[x] == 1


def test_pickling_keeps_values_strides_and_the_wish_for_gradients():
    x = torch.arange(6.0).reshape(2, 3).T
    y = pickle.loads(pickle.dumps(x))
    assert torch.equal(x, y) and y.stride() == (1, 3) and y.dtype == x.dtype
    leaf = pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True)))
    assert leaf.requires_grad and leaf.is_leaf and leaf.grad is None
    for dtype in (torch.bfloat16, torch.bool, torch.complex64, torch.uint8):
        z = torch.ones(2, dtype=dtype)
        assert torch.equal(pickle.loads(pickle.dumps(z)), z)
    assert pickle.loads(pickle.dumps(torch.Size([2, 3]))) == torch.Size([2, 3])
    assert pickle.loads(pickle.dumps(torch.device("cpu"))) == torch.device("cpu")


def test_deepcopy():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad and y.is_leaf and y.data_ptr() != x.data_ptr()
    assert y.grad is not x.grad and y.grad.tolist() == [1.0, 1.0]
    with raises(
        RuntimeError, "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
    ):
        copy.deepcopy(x * 2)


def test_deepcopy_keeps_what_is_shared():
    x = torch.arange(6.0)
    a, b = copy.deepcopy((x, x[1:]))
    a[1] = 100
    assert b.tolist() == [100.0, 2.0, 3.0, 4.0, 5.0] and x[1].item() == 1.0
    same = copy.deepcopy([x, x])
    assert same[0] is same[1]


def test_copy_shares_the_memory():
    x = torch.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y is not x and y.requires_grad and y.is_leaf and y.data_ptr() == x.data_ptr()


def test_attributes_of_ones_own():
    x = torch.ones(2)
    x.note = "mine"
    assert x.note == "mine"
    with raises(AttributeError, "'Tensor' object has no attribute 'nothing'"):
        x.nothing
    with raises(AttributeError, "'shape'"):
        x.shape = (1, 2)
    with raises(AttributeError, "has no attribute 'nothing'"):
        torch.nothing


def test_asking_about_tensors():
    x = torch.ones(2, 3)
    assert torch.is_tensor(x) and not torch.is_tensor(3) and torch.numel(x) == 6 and isinstance(x, torch.Tensor)
    assert torch.is_nonzero(torch.tensor([1.0])) and not torch.is_nonzero(torch.tensor(0))


def test_comparing_whole_tensors():
    x, nan = torch.ones(2), torch.tensor([1.0, float("nan")])
    assert torch.equal(x, torch.ones(2)) and not torch.equal(x, torch.ones(3)) and not torch.equal(nan, nan)
    assert torch.allclose(x, x + 1e-9) and not torch.allclose(x, x + 1e-3) and torch.allclose(x, x + 1e-3, atol=1e-2)
    assert torch.isclose(nan, nan).tolist() == [True, False]
    assert torch.isclose(nan, nan, equal_nan=True).tolist() == [True, True]
    with raises(RuntimeError, "Float did not match Double"):
        torch.allclose(x, x.double())
    with raises(TypeError, "equal(): argument 'other' (position 2) must be Tensor, not int"):
        torch.equal(x, 1)
