"""What cannot become a tensor, in PyTorch's words."""

import numpy as np
import pytest
from subject import raises, torch


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
        ([[[1], [2]], [[3]]], ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
        ([[1, 2], 3], TypeError, "not a sequence"),
        (["a"], ValueError, "too many dimensions 'str'"),
        ("a", TypeError, "new(): invalid data type 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        ([None], RuntimeError, "Could not infer dtype of NoneType"),
        ({1: 2}, RuntimeError, "Could not infer dtype of dict"),
        ({1, 2}, RuntimeError, "Could not infer dtype of set"),
        (object, RuntimeError, "Could not infer dtype of type"),
    ],
    ids=repr,
)
def test_what_is_not_numbers(data, kind, text):
    with raises(kind, text):
        torch.tensor(data)
    with raises(kind):
        torch.as_tensor(data)


def test_a_generator_is_no_sequence():
    with raises(RuntimeError, "Could not infer dtype of generator"):
        torch.tensor(i for i in range(3))


def test_numbers_that_do_not_fit():
    with raises(RuntimeError, "value cannot be converted to type uint8 without overflow"):
        torch.tensor([300], dtype=torch.uint8)
    with raises(RuntimeError, "value cannot be converted to type int32 without overflow"):
        torch.tensor(float("nan"), dtype=torch.int32)
    with raises(TypeError, "must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)
    with raises((RuntimeError, ValueError), ""):
        torch.tensor([2**70])


def test_byte_swapped_arrays():
    array = np.array([1, 2], dtype=">i4")
    for make in (torch.tensor, torch.from_numpy, torch.as_tensor):
        with raises(ValueError, "given numpy array has byte order different from the native byte order."):
            make(array)


def test_negative_strides():
    array = np.arange(4)[::-1]
    for make in (torch.tensor, torch.from_numpy, torch.as_tensor):
        with raises(
            ValueError,
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().)",
        ):
            make(array)
    assert torch.tensor(array.copy()).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.array(["a"]), "numpy.str_"),
        (np.array([None]), "numpy.object_"),
        (np.zeros(2, dtype=np.longdouble), "numpy.longdouble"),
        (np.array([1], dtype="datetime64[s]"), "numpy.datetime64"),
    ],
    ids=["str", "object", "longdouble", "datetime64"],
)
def test_arrays_of_other_things(array, name):
    text = (
        f"can't convert np.ndarray of type {name}. The only supported types are: float64, float32, float16, complex64, "
        "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )
    for make in (torch.from_numpy, torch.tensor):
        with raises(TypeError, text):
            make(array)


def test_from_numpy_takes_arrays_only():
    with raises(TypeError, "expected np.ndarray (got list)"):
        torch.from_numpy([1])
    with raises(TypeError, "expected np.ndarray (got numpy.float32)"):
        torch.from_numpy(np.float32(3))


def test_a_read_only_array_is_shared_with_a_warning():
    array = np.arange(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        x = torch.from_numpy(array)
    assert x.tolist() == [0, 1, 2]
    copied = torch.tensor(array)
    copied[0] = 9
    assert array[0] == 0


def test_sizes():
    with raises(RuntimeError, "negative"):
        torch.zeros(-1)
    with raises(RuntimeError, "negative"):
        torch.ones(2, -3)
    with raises(TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not float"):
        torch.zeros(2.5)
    with raises(TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not str"):
        torch.zeros("a")
    with raises(TypeError, "full(): argument 'size' (position 1) must be tuple of ints, not int"):
        torch.full(2, 3)
    with raises(TypeError, "full(): argument 'fill_value' (position 2) must be Number, not str"):
        torch.full((2,), "a")


def test_dtypes():
    with raises(TypeError, "zeros(): argument 'dtype' must be torch.dtype, not str"):
        torch.zeros(2, dtype="float32")
    with raises(TypeError, "zeros(): argument 'dtype' must be torch.dtype, not type"):
        torch.zeros(2, dtype=np.float32)


def test_unknown_keywords():
    with raises(TypeError, "unexpected keyword argument"):
        torch.tensor([1], nonsense=1)
    with raises(TypeError):
        torch.zeros(2, nonsense=1)


def test_devices():
    text = "Expected one of cpu, cuda, "
    for make in (lambda: torch.device("foo"), lambda: torch.ones(2, device="foo"), lambda: torch.ones(2).to("foo")):
        with raises(RuntimeError, text, "device type at start of device string: foo"):
            make()


@pytest.mark.skipif(hasattr(torch, "cuda") and torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu():
    for make in (lambda: torch.ones(2, device="cuda"), lambda: torch.ones(2).to("cuda"), lambda: torch.ones(2).cuda()):
        with raises((AssertionError, RuntimeError, NotImplementedError), ""):
            make()


def test_ranges():
    with raises(RuntimeError, "upper bound and lower bound inconsistent with step sign"):
        torch.arange(5, 0)
    with raises(RuntimeError, "upper bound and lower bound inconsistent with step sign"):
        torch.arange(0, 5, -1)
    with raises(RuntimeError, "step must be nonzero"):
        torch.arange(0, 5, 0)
    with raises(RuntimeError, "unsupported range: 0 -> inf"):
        torch.arange(0, float("inf"))
    with raises(RuntimeError, "number of steps must be non-negative"):
        torch.linspace(0, 1, -1)
    with raises(TypeError, "linspace()"):
        torch.linspace(0, 1)
    with raises(RuntimeError, "n must be greater or equal to 0, got -1"):
        torch.eye(-1)


def test_gradients_of_whole_numbers():
    text = "Only Tensors of floating point and complex dtype can require gradients"
    for make in (
        lambda: torch.tensor([1], requires_grad=True),
        lambda: torch.arange(3, requires_grad=True),
        lambda: torch.zeros(2, dtype=torch.bool, requires_grad=True),
        lambda: torch.full((2,), 3, requires_grad=True),
    ):
        with raises(RuntimeError, text):
            make()


def test_the_likes_take_tensors_only():
    with raises(TypeError, "zeros_like(): argument 'input' (position 1) must be Tensor, not list"):
        torch.zeros_like([1, 2])


def test_parts_of_complex_numbers_are_of_one_precision():
    with raises(RuntimeError, "Expected object of scalar type Double but got scalar type Float for second argument"):
        torch.complex(torch.ones(2, dtype=torch.float64), torch.zeros(2))


def test_buffers_that_do_not_fit():
    with raises(ValueError, ""):
        torch.frombuffer(bytearray(3), dtype=torch.int32)


TOO_LARGE = "value cannot be converted to type {} without overflow"


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: torch.full((2,), 1e50), "float"),
        (lambda: torch.full((2,), 300, dtype=torch.uint8), "uint8_t"),
        (lambda: torch.full((2,), 2**40, dtype=torch.int32), "int"),
        (lambda: torch.zeros(2, dtype=torch.int64).fill_(float("nan")), "int64_t"),
        (lambda: torch.zeros(2).masked_fill(torch.tensor([True, False]), 1e50), "float"),
        (lambda: torch.zeros(2).clamp(max=1e50), "float"),
        (lambda: torch.where(torch.tensor([True]), 1e50, torch.zeros(1)), "float"),
        (lambda: torch.arange(2**63), "int64_t"),
    ],
)
def test_a_number_that_the_dtype_cannot_hold_is_refused(call, kind):
    with pytest.raises(RuntimeError, match=TOO_LARGE.format(kind)):
        call()


def test_a_negative_number_fits_an_unsigned_dtype_as_in_c():
    assert torch.full((1,), -200, dtype=torch.uint8).item() == 56
