"""Writing by index: what is written, what it is broadcast and cast to, and what is refused."""

import numpy as np
import pytest
from subject import IS_TORCH, raises, torch

INDICES = {
    "a number": 1,
    "two numbers": (1, 0),
    "a slice": slice(1, 3),
    "an empty slice": slice(1, 1),
    "an empty slice of a dim": (slice(None), slice(1, 1)),
    "a step": (slice(None), slice(None), slice(None, None, 2)),
    "...": (..., 1),
    "None": None,
    "a list": [0, 2],
    "two lists": ([0, 1], [1, 0]),
    "lists apart": ([0, 1], slice(None), [0, 2]),
    "a mask": np.arange(24).reshape(4, 2, 3) % 3 == 0,
    "a mask of one dim": [True, False, True, False],
    "a slice and a list": (slice(1, None), [0, 1]),
    "nothing": [],
}


def translate(index):
    if isinstance(index, tuple):
        return tuple(translate(part) for part in index)
    return torch.from_numpy(index) if isinstance(index, np.ndarray) else index


def arrays():
    return torch.zeros(4, 2, 3), np.zeros((4, 2, 3), dtype=np.float32)


@pytest.mark.parametrize("name", INDICES)
def test_a_number_is_written_everywhere(name):
    ours, theirs = arrays()
    ours[translate(INDICES[name])] = 7
    theirs[np.array([], dtype=int) if name == "nothing" else INDICES[name]] = 7
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", [name for name in INDICES if name != "nothing"])
def test_a_tensor_is_written_in_its_shape_and_broadcast(name):
    ours, theirs = arrays()
    shape = theirs[INDICES[name]].shape
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
    ours[translate(INDICES[name])] = torch.from_numpy(values)
    theirs[INDICES[name]] = values
    assert ours.tolist() == theirs.tolist()
    row = values[..., :1]
    ours[translate(INDICES[name])] = torch.from_numpy(row)
    theirs[INDICES[name]] = row
    assert ours.tolist() == theirs.tolist()


def test_a_number_before_a_list_is_taken_first():
    x = torch.zeros(4, 2, 3)
    x[0, :, [0, 2]] = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x[0].tolist() == [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]


def test_writing_goes_through_views():
    x = torch.zeros(2, 3)
    x.T[0] = 5
    x[1][1:] = 6
    x.view(6)[2] = 7
    assert x.tolist() == [[5.0, 0.0, 7.0], [5.0, 6.0, 6.0]]


def test_values_are_cast_to_the_dtype_of_the_tensor():
    x = torch.arange(4)
    x[0] = 1.7
    x[1] = torch.tensor(2.7)
    x[2:] = torch.tensor([3.9, True])
    assert x.tolist() == [1, 2, 3, 1] and x.dtype == torch.int64
    y = torch.zeros(2)
    y[:] = torch.tensor([1, 2])
    y[0] = True
    assert y.tolist() == [1.0, 2.0]
    z = torch.zeros(2, dtype=torch.bool)
    z[0] = 5
    assert z.tolist() == [True, False]


def test_lists_and_masks_take_values_of_their_own_dtype_only():
    x = torch.arange(4.0)
    with raises(
        RuntimeError,
        "Index put requires the source and destination dtypes match, got Float for the destination and Long for the "
        "source.",
    ):
        x[[0, 1]] = torch.tensor([1, 2])
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_repeated_place_is_read_once_and_written_last():
    x = torch.arange(4.0)
    x[[0, 0, 1]] += 1
    assert x.tolist() == [1.0, 2.0, 2.0, 3.0]


def test_accumulating_counts_every_place():
    x = torch.zeros(3)
    index, values = torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0])
    assert x.index_put_((index,), values, accumulate=True) is x
    assert x.tolist() == [3.0, 3.0, 0.0]


def test_a_mask_takes_its_values_in_order():
    x = torch.zeros(2, 3)
    x[torch.tensor([[True, False, True], [False, True, False]])] = torch.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]


def test_a_leading_dimension_of_one_is_dropped():
    x = torch.zeros(2, 3)
    x[0] = torch.tensor([[5.0, 6.0, 7.0]])
    assert x[0].tolist() == [5.0, 6.0, 7.0]


def test_a_tensor_may_be_written_into_itself():
    x = torch.arange(4.0)
    x[:2] = x[2:]
    assert x.tolist() == [2.0, 3.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("index", "size", "text"),
    [
        (
            slice(0, 2),
            3,
            "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension",
        ),
        ([0, 1], 3, "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2]"),
        (
            [True, True, False, False],
            3,
            "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2]",
        ),
    ],
)
def test_values_of_the_wrong_size(index, size, text):
    x = torch.arange(4.0)
    with raises(RuntimeError, text):
        x[index] = torch.zeros(size)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_values_with_too_many_dimensions():
    x = torch.zeros(2, 3)
    with raises(RuntimeError, "the number of sizes provided (1) must be greater or equal to the number of dimensions"):
        x[0] = torch.ones(2, 3)


def test_values_that_are_not_tensors():
    x = torch.arange(4.0)
    for value, name in (([1, 2], "list"), ("a", "str"), (np.array([1, 2]), "numpy.ndarray"), (None, "NoneType")):
        with raises(TypeError, f"can't assign a {name} to a torch.FloatTensor"):
            x[:2] = value
    with raises(RuntimeError, "value cannot be converted to type float without overflow"):
        x[1] = 1j


def test_places_outside():
    x = torch.arange(4.0)
    for index in (7, -5, [7], [0, -5]):
        with raises(IndexError, "is out of bounds for dimension 0 with size 4"):
            x[index] = 1
    with raises(IndexError, "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [4]"):
        x[[True, False]] = 1
    if not IS_TORCH:  # PyTorch has written the places before the one outside
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and x._version == 0


def test_nothing_is_deleted():
    x = torch.arange(4)
    with raises(TypeError, "Tensor does not support deleting items"):
        del x[0]
