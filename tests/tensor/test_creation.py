"""Making tensors: from numbers, from arrays, and filled."""

import numpy as np
import pytest
from subject import close, needs, spoken, torch


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (3, "int64", ()),
        (3.0, "float32", ()),
        (True, "bool", ()),
        (1j, "complex64", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([1, 2], "int64", (2,)),
        ([1, 2.5], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        ([True, 1.5], "float32", (2,)),
        ([True, False], "bool", (2,)),
        ([1, 2j], "complex64", (2,)),
        (range(3), "int64", (3,)),
        ((1, 2), "int64", (2,)),
        ([(1, 2), [3, 4]], "int64", (2, 2)),
        ([[[1.0]]], "float32", (1, 1, 1)),
        ([2**40], "int64", (1,)),
    ],
)
def test_the_dtype_is_inferred_from_the_numbers(data, dtype, shape):
    x = torch.tensor(data)
    assert spoken(x.dtype) == f"torch.{dtype}" and x.shape == shape and x.is_leaf and not x.requires_grad
    if shape:
        assert x.stride() == torch.zeros(shape).stride()


def test_the_numbers_of_numpy_keep_their_precision():
    assert torch.tensor(np.float64(1)).dtype == torch.float64
    assert torch.tensor(np.float16(3)).dtype == torch.float16
    assert torch.tensor(np.int32(3)).dtype == torch.int32
    assert torch.tensor(np.bool_(True)).dtype == torch.bool
    assert torch.tensor([np.float64(1), 2]).dtype == torch.float64
    assert torch.tensor([np.int32(3)]).dtype == torch.int32


def test_0d_tensors_in_a_list_become_numbers():
    x = torch.tensor([torch.tensor(1.0), torch.tensor(2.0)])
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy")
def test_a_list_of_arrays_is_stacked():
    assert torch.tensor([np.arange(3), np.arange(3)]).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_dtype_may_be_asked_for():
    assert torch.tensor([1.7, 2], dtype=torch.int64).tolist() == [1, 2]
    assert torch.tensor([[1, 0]], dtype=torch.bool).tolist() == [[True, False]]
    assert torch.tensor([1, 2], dtype=torch.float32, device="cpu", requires_grad=True).requires_grad
    assert torch.tensor([-1], dtype=torch.uint8).tolist() == [255]
    assert torch.tensor([1e300]).tolist() == [float("inf")]


def test_python_types_stand_for_dtypes():
    for kind, name in ((float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")):
        assert spoken(torch.zeros(2, dtype=kind).dtype) == f"torch.{name}"


def test_tensor_copies_an_array():
    array = np.arange(3.0)
    x = torch.tensor(array)
    array[0] = 9
    assert x.tolist() == [0.0, 1.0, 2.0] and x.dtype == torch.float64


def test_from_numpy_shares_memory_both_ways():
    array = np.arange(3.0)
    x = torch.from_numpy(array)
    array[0] = 9
    x[1] = 8
    assert x.tolist() == [9.0, 8.0, 2.0] and array.tolist() == [9.0, 8.0, 2.0]
    assert x.data_ptr() == array.ctypes.data


def test_from_numpy_keeps_strides():
    array = np.arange(24.0).reshape(4, 6)
    assert torch.from_numpy(np.asfortranarray(array)).stride() == (1, 4)
    part = torch.from_numpy(array[1::2, ::3])
    assert part.stride() == (12, 3) and part.tolist() == [[6.0, 9.0], [18.0, 21.0]]
    assert torch.from_numpy(np.array(3.0)).shape == ()


def test_as_tensor_and_asarray_share_when_they_can():
    array = np.arange(3.0)
    for make in (torch.as_tensor, torch.asarray):
        make(array)[0] += 1
        assert make(array, dtype=torch.float32).dtype == torch.float32
        x = torch.ones(2)
        assert make(x) is x and make(x, dtype=torch.float64) is not x
        assert make([1, 2]).tolist() == [1, 2] and make(3.0).shape == ()
    assert array[0] == 2.0
    copied = torch.asarray(array, copy=True)
    copied[0] = 100
    assert array[0] == 2.0


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_tensor_of_a_tensor_is_a_detached_copy():
    x = torch.ones(2, requires_grad=True)
    y = torch.tensor(x)
    assert y.is_leaf and not y.requires_grad and y.data_ptr() != x.data_ptr()


def test_bytes_in_memory_are_numbers():
    assert torch.tensor(memoryview(b"\x01\x02")).tolist() == [1, 2]


def test_a_buffer_is_read_where_it_lies():
    memory = bytearray(b"\x01\x02\x03\x04")
    x = torch.frombuffer(memory, dtype=torch.uint8)
    memory[0] = 9
    assert x.tolist() == [9, 2, 3, 4]
    assert torch.frombuffer(memory, dtype=torch.int16, count=1, offset=2).tolist() == [0x0403]


def test_filled_tensors():
    for size in ((2, 3), ((2, 3),), ([2, 3],), (torch.Size([2, 3]),)):
        assert torch.zeros(*size).tolist() == [[0.0] * 3] * 2
        assert torch.ones(*size).shape == torch.empty(*size).shape == torch.rand(*size).shape == (2, 3)
    assert torch.zeros(()).shape == () and torch.zeros(0).shape == (0,) and torch.zeros(2, 0, 3).numel() == 0
    assert torch.ones(2, dtype=torch.int8).tolist() == [1, 1]


def test_full_takes_the_dtype_of_its_number():
    made = {3: "int64", 3.5: "float32", True: "bool", 2j: "complex64"}
    for value, name in made.items():
        x = torch.full((2,), value)
        assert x.tolist() == [value] * 2 and spoken(x.dtype) == f"torch.{name}"
    assert torch.full((2,), 3, dtype=torch.float64).dtype == torch.float64
    assert torch.full((2,), torch.tensor(3.0)).tolist() == [3.0, 3.0]


def test_empty_with_strides():
    x = torch.empty_strided((2, 3), (1, 2))
    assert x.stride() == (1, 2) and x.shape == (2, 3)


def test_arange():
    assert torch.arange(4).tolist() == [0, 1, 2, 3] and torch.arange(4).dtype == torch.int64
    assert torch.arange(1, 4).tolist() == [1, 2, 3]
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert torch.arange(4.0).dtype == torch.float32
    assert close(torch.arange(1, 2.5, 0.5), [1.0, 1.5, 2.0])
    assert torch.arange(0, 1, 0.1).shape == (10,)
    assert torch.arange(3, dtype=torch.float64).dtype == torch.float64
    assert torch.arange(0).shape == (0,) and torch.arange(2, 2).shape == (0,)
    assert torch.arange(start=1, end=3).tolist() == [1, 2]
    assert torch.arange(3.0, requires_grad=True).requires_grad


def test_linspace_and_logspace():
    assert torch.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert torch.linspace(0, 1, 1).tolist() == [0.0] and torch.linspace(3, 3, 0).shape == (0,)
    assert torch.linspace(5, 1, steps=3).tolist() == [5.0, 3.0, 1.0]
    assert torch.linspace(0, 10, 5, dtype=torch.int64).tolist() == [0, 2, 5, 7, 10]
    assert torch.linspace(0, 2j, 3).tolist() == [0, 1j, 2j]
    assert close(torch.logspace(0, 2, 3), [1.0, 10.0, 100.0])
    assert close(torch.logspace(0, 3, 4, base=2), [1.0, 2.0, 4.0, 8.0])


def test_eye():
    assert torch.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert torch.eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert torch.eye(0).shape == (0, 0) and torch.eye(2, dtype=torch.bool).tolist() == [[True, False], [False, True]]


def test_the_likes_take_shape_and_dtype_from_a_tensor():
    x = torch.ones(2, 3, dtype=torch.int32)
    for made in (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 7), torch.empty_like(x)):
        assert made.shape == (2, 3) and made.dtype == torch.int32
    assert torch.ones_like(x, dtype=torch.float64).dtype == torch.float64
    assert torch.full_like(x, 7).tolist() == [[7] * 3] * 2
    f = x.float().requires_grad_()
    assert not torch.zeros_like(f).requires_grad and torch.zeros_like(f, requires_grad=True).requires_grad
    assert torch.rand_like(f).shape == torch.randn_like(f).shape == (2, 3)
    assert torch.randint_like(x, 5).dtype == torch.int32


def test_the_likes_keep_a_dense_layout_and_not_an_expanded_one():
    assert torch.zeros_like(torch.ones(2, 3).T).stride() == (1, 3)
    assert torch.ones(2, 3, 4).permute(2, 0, 1).clone().stride() == (1, 12, 4)
    assert torch.zeros_like(torch.ones(2, 1).expand(2, 3)).stride() == (3, 1)
    assert torch.zeros_like(torch.ones(4, 6)[::2, ::2]).stride() == (3, 1)


def test_the_news_take_the_dtype_from_a_tensor():
    x = torch.ones(2, dtype=torch.int32)
    assert x.new_zeros(3).dtype == x.new_ones((2, 2)).dtype == x.new_empty(1).dtype == torch.int32
    assert x.new_full((2,), 5).tolist() == [5, 5] and x.new_tensor([1.5]).tolist() == [1]
    assert x.new_zeros(2, dtype=torch.float64).dtype == torch.float64


def test_every_maker_takes_requires_grad():
    makers = [torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty]
    for make in makers:
        x = make(2, requires_grad=True)
        assert x.requires_grad and x.is_leaf
    assert torch.full((2,), 1.0, requires_grad=True).requires_grad
    assert torch.eye(2, requires_grad=True).requires_grad
    assert torch.linspace(0, 1, 2, requires_grad=True).requires_grad


def test_out_is_written_and_returned():
    x = torch.empty(3, dtype=torch.int64)
    assert torch.arange(3, out=x) is x and x.tolist() == [0, 1, 2]
    y = torch.empty(0)
    assert torch.zeros(2, 2, out=y) is y and y.shape == (2, 2)


@needs("FloatTensor", "LongTensor")
def test_the_classes_of_old_make_tensors_too():
    assert torch.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert torch.Tensor(2, 3).shape == (2, 3) and torch.Tensor().shape == (0,)
    assert torch.FloatTensor([1]).dtype == torch.float32 and torch.LongTensor([1]).dtype == torch.int64


@needs("tril_indices", "meshgrid")
def test_indices_of_triangles_and_grids():
    assert torch.tril_indices(3, 3).tolist() == [[0, 1, 1, 2, 2, 2], [0, 0, 1, 0, 1, 2]]
    rows, columns = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    assert rows.tolist() == [[0, 0, 0], [1, 1, 1]] and columns.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_the_device_is_the_cpu():
    x = torch.ones(2, device="cpu")
    assert repr(x.device) == "device(type='cpu')" and str(x.device) == "cpu" and x.device.type == "cpu"
    assert x.device == torch.device("cpu") and x.device.index is None
    assert not x.is_cuda and x.get_device() == -1


def test_sizes_are_tuples_that_say_so():
    size = torch.ones(2, 3).shape
    assert isinstance(size, torch.Size) and size == (2, 3) and spoken(repr(size)) == "torch.Size([2, 3])"
    assert size.numel() == 6 and size[0] == 2 and list(size) == [2, 3]
    assert isinstance(size[1:], torch.Size) and isinstance(size + torch.Size([4]), torch.Size)
    assert torch.ones(2, 3).size() == size and torch.ones(2, 3).size(-1) == 3
    assert spoken(str(torch.ones(()).shape)) == "torch.Size([])"
