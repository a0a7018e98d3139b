"""Reading by index: numbers, slices, `...`, `None`, lists, masks, tensors and mixtures, with PyTorch's shapes."""

import numpy as np
import pytest
from subject import torch

ARRAY = np.arange(24).reshape(4, 2, 3)


def x():
    return torch.arange(24).reshape(4, 2, 3)


def check(result, expected):
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


BASIC = {
    "0": 0,
    "-1": -1,
    "1, 0": (1, 0),
    "1, 0, 2": (1, 0, 2),
    ":": slice(None),
    "1:3": slice(1, 3),
    "::2": slice(None, None, 2),
    "-3:-1": slice(-3, -1),
    "10:": slice(10, None),
    "3:1": slice(3, 1),
    "1:1": slice(1, 1),
    ":, 1:1": (slice(None), slice(1, 1)),
    "-10:10:3": slice(-10, 10, 3),
    "...": ...,
    "..., 0": (..., 0),
    "0, ...": (0, ...),
    "0, ..., 1": (0, ..., 1),
    "None": None,
    ":, None": (slice(None), None),
    "..., None": (..., None),
    "None, 1, None": (None, 1, None),
    "()": (),
    ":, 0": (slice(None), 0),
    "1:, :, ::2": (slice(1, None), slice(None), slice(None, None, 2)),
    "1, :, -1": (1, slice(None), -1),
}


@pytest.mark.parametrize("name", BASIC)
def test_numbers_and_slices_give_views_as_numpys(name):
    source = x()
    result = source[BASIC[name]]
    check(result, ARRAY[BASIC[name]])
    if result.numel():
        assert result.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()


ADVANCED = {
    "[0, 2]": [0, 2],
    "[0, 0, -1]": [0, 0, -1],
    ":, [1, 0]": (slice(None), [1, 0]),
    "..., [2, 0]": (..., [2, 0]),
    "[0, 1], [1, 0]": ([0, 1], [1, 0]),
    ":, [0, 1], [0, 1]": (slice(None), [0, 1], [0, 1]),
    "[0, 1], :, [0, 1]": ([0, 1], slice(None), [0, 1]),
    "[0, 1], None": ([0, 1], None),
    "None, [0, 1]": (None, [0, 1]),
    "1:, [0, 1]": (slice(1, None), [0, 1]),
    "(2, 1) and (3,)": (np.array([[0], [1]]), slice(None), np.array([0, 1, 2])),
    "[]": [],
    "a mask of one dim": [True, False, True, False],
    "a mask in the middle": (slice(None), [True, False]),
    "a mask at the end": (..., [False, True, True]),
    "a mask of two dims": ARRAY.sum(2) > 20,
    "a mask of all dims": ARRAY > 3,
    "a mask of nothing": ARRAY > 100,
    "two masks": ([True, False, True, False], slice(None), [True, False, True]),
    "a mask and numbers": ([True, False, True, False], [0, 1]),
    "True": True,
    "False": False,
}


def as_tensors(index):
    if isinstance(index, tuple):
        return tuple(as_tensors(part) for part in index)
    if isinstance(index, list) and index:
        return torch.tensor(index)
    return torch.from_numpy(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("name", ADVANCED)
@pytest.mark.parametrize("kind", ["lists and arrays", "tensors"])
def test_lists_masks_and_tensors_give_copies_as_numpys(name, kind):
    index = ADVANCED[name]
    expected = ARRAY[np.array([], dtype=int) if name == "[]" else index]
    source = x()
    result = source[as_tensors(index) if kind == "tensors" else index]
    check(result, expected)
    if result.numel() and index is not True:
        assert result.untyped_storage().data_ptr() != source.untyped_storage().data_ptr()


def test_numbers_between_lists_are_taken_first_where_numpy_counts_them_as_lists():
    source = x()
    for index, expected in [
        ((0, slice(None), [0, 1]), ARRAY[0][:, [0, 1]]),
        ((0, slice(None), [False, False, True]), ARRAY[0][:, [2]]),
        (([0, 1], slice(None), 0), ARRAY[:, :, 0][[0, 1]]),
        ((0, ..., [0, 1]), ARRAY[0][..., [0, 1]]),
    ]:
        check(source[index], expected)
    assert source[0, :, [False, False, True]].shape == (2, 1)
    assert ARRAY[0, :, [False, False, True]].shape == (1, 2)


def test_lists_apart_come_first():
    source = torch.zeros(4, 2, 3, 5)
    assert source[[0, 1], :, [0, 1]].shape == (2, 2, 5)
    assert source[:, [0, 1], :, [0, 1]].shape == (2, 4, 3)
    assert source[:, [0, 1], [0, 1]].shape == (4, 2, 5)
    assert source[None, [0, 1], :, [0, 1]].shape == (2, 1, 2, 5)


def test_a_0d_tensor_is_a_number_and_a_0d_mask_a_new_dimension():
    source = x()
    assert torch.equal(source[torch.tensor(2)], source[2])
    assert source[torch.tensor(2), torch.tensor(1)].shape == (3,)
    assert source[torch.tensor(True)].shape == (1, 4, 2, 3)
    assert source[torch.tensor(False)].shape == (0, 4, 2, 3)


def test_any_whole_number_dtype_is_an_index():
    source = x()
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8):
        try:
            result = source[torch.tensor([2, 0], dtype=dtype)]
        except IndexError as error:  # PyTorch takes two of them
            assert "tensors used as indices must be long, int, byte or bool tensors" in str(error)
            assert dtype in (torch.int16, torch.int8)
            continue
        check(result, ARRAY[[2, 0]])


def test_bytes_are_masks_with_a_warning():
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated|uint8"):
        result = x()[torch.tensor([1, 0, 1, 0], dtype=torch.uint8)]
    check(result, ARRAY[[True, False, True, False]])


def test_numpys_numbers_and_arrays_are_indices():
    source = x()
    check(source[np.int64(1)], ARRAY[1])
    check(source[np.array(1)], ARRAY[1])
    check(source[np.array([0, 1])], ARRAY[[0, 1]])
    check(source[np.array([True, False, True, False])], ARRAY[[0, 2]])
    check(source[range(2)], ARRAY[[0, 1]])


def test_slices_take_tensors_and_numpys_numbers():
    source = torch.arange(10)
    assert source[torch.tensor(2) : torch.tensor(5)].tolist() == [2, 3, 4]
    assert source[np.int64(2) : np.int32(5)].tolist() == [2, 3, 4]


def test_a_0d_tensor_has_views_but_no_elements():
    source = torch.tensor(3.0)
    assert source[None].tolist() == [3.0] and source[...].shape == () and source[()].shape == ()
    assert source[None, None].shape == (1, 1) and source[True].tolist() == [3.0]


def test_empty_tensors():
    source = torch.zeros(0, 3)
    assert source[:1].shape == (0, 3) and source[[]].shape == (0, 3)
    assert source[torch.zeros(0, dtype=torch.bool)].shape == (0, 3) and source[:, 1].shape == (0,)
    assert torch.arange(3)[[]].dtype == torch.int64


def test_strides_and_offsets_of_views():
    source = x()
    part = source[1:, 0, ::2]
    assert part.stride() == (6, 2) and part.storage_offset() == 6
    assert source[:, None].stride() == (6, 6, 3, 1)
    assert source[2, 1, 1].storage_offset() == 16


def test_iteration_and_unpacking_give_the_rows():
    first, second = torch.tensor([[1, 2], [3, 4]])
    assert first.tolist() == [1, 2] and second.tolist() == [3, 4]
    assert [row.tolist() for row in torch.tensor([1, 2])] == [1, 2]
    assert list(torch.zeros(0, 2)) == []


GRADIENTS = {
    "a number": lambda t: t[1],
    "a slice": lambda t: t[1:, ::2],
    "a list": lambda t: t[[0, 0, 3]],
    "two lists": lambda t: t[[0, 0], [1, 1]],
    "lists apart": lambda t: t[[0, 1], :, [0, 2]],
    "a mask": lambda t: t[t > 5],
    "a new dimension": lambda t: t[None, ..., None],
    "a number before a list": lambda t: t[0, :, [2, 2, 1]],
    "a 0d tensor": lambda t: t[torch.tensor(2)],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_counts_how_often_an_element_was_read(name):
    leaf = x().double().requires_grad_()
    GRADIENTS[name](leaf).sum().backward()
    places = GRADIENTS[name](x()).flatten().tolist()  # every element is its own place
    expected = [float(places.count(place)) for place in range(24)]
    assert leaf.grad.flatten().tolist() == expected


def test_the_gradient_goes_where_the_element_was():
    leaf = torch.zeros(4, requires_grad=True)
    (leaf[[3, 0, 3]] * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert leaf.grad.tolist() == [10.0, 0.0, 0.0, 101.0]
