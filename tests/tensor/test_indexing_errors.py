"""Indices that are refused, in PyTorch's words."""

import pytest
from subject import IS_TORCH, raises, torch


def x():
    return torch.arange(24).reshape(4, 2, 3)


@pytest.mark.parametrize(
    ("index", "kind", "text"),
    [
        (5, IndexError, "index 5 is out of bounds for dimension 0 with size 4"),
        (-5, IndexError, "index -5 is out of bounds for dimension 0 with size 4"),
        ((0, 2), IndexError, "index 2 is out of bounds for dimension 1 with size 2"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        ((slice(None),) * 4, IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "step"),
        (slice("a", None), TypeError, "slice indices must be integers or None or have an __index__ method"),
        (slice(1.5, None), TypeError, "slice indices must be integers or None or have an __index__ method"),
        ("a", TypeError, "invalid data type 'str'"),
        (
            1.5,
            IndexError,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            "(got float)",
        ),
        ([0, 9], IndexError, "index 9 is out of bounds for dimension 0 with size 4"),
        ((slice(None), [0, 2]), IndexError, "index 2 is out of bounds for dimension"),
        ([0, -5], IndexError, "index -5 is out of bounds for dimension 0 with size 4"),
        (
            ([0, 1], [0, 1, 0]),
            IndexError,
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
        ),
        (
            [True, False],
            IndexError,
            "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [4, 2, 3] at index 0",
        ),
        (
            (slice(None), [True, False, True]),
            IndexError,
            "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [4, 2, 3] at index 1",
        ),
    ],
    ids=str,
)
def test_refused(index, kind, text):
    with raises(kind, text):
        x()[index]


def test_tensors_of_fractions():
    with raises(IndexError, "tensors used as indices must be long, int, byte or bool tensors"):
        x()[torch.tensor([0.0, 1.0])]


def test_a_number_has_no_elements():
    with raises(
        IndexError,
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
        "0-dim tensor to a number",
    ):
        torch.tensor(3.0)[0]


def test_an_empty_tensor_has_no_elements():
    with raises(IndexError, "index 0 is out of bounds for dimension 0 with size 0"):
        torch.zeros(0, 3)[0]


def test_a_number_is_not_iterated():
    with raises(TypeError, "iteration over a 0-d tensor"):
        iter(torch.tensor(3.0))
    with raises(TypeError, "len() of a 0-d tensor"):
        len(torch.tensor(3.0))


def test_dims_outside():
    m = torch.zeros(2, 3)
    text = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    for refused in (
        lambda: m.select(2, 0),
        lambda: m.sum(2),
        lambda: m.softmax(2),
        lambda: m.transpose(0, 2),
        lambda: m.index_select(2, torch.tensor([0])),
        lambda: m.size(2),
        lambda: m.unbind(2),
        lambda: m.split(1, 2),
        lambda: m.cumsum(2),
        lambda: m.squeeze(2),
        lambda: m.flip(2),
        lambda: m.max(2),
        lambda: torch.cat([m, m], 2),
        lambda: m.narrow(2, 0, 1),
        lambda: m.argmax(2),
        lambda: m.gather(2, torch.zeros(1, 1, dtype=torch.int64)),
    ):
        with raises(IndexError, text):
            refused()
    with raises(IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 3)"):
        m.unsqueeze(3)
    with raises(IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)"):
        torch.tensor(1.0).sum(1)


def test_parts_that_are_not_there():
    m = torch.zeros(2, 3)
    with raises(IndexError, "select(): index 5 out of range for tensor of size [2, 3] at dimension 1"):
        m.select(1, 5)
    with raises(RuntimeError, "start (1) + length (3) exceeds dimension size (3)."):
        m.narrow(1, 1, 3)
    with raises(RuntimeError, "narrow(): length must be non-negative."):
        m.narrow(1, 1, -1)
    with raises(
        RuntimeError,
        "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension 1), "
        "but got split_sizes=[1, 1]",
    ):
        m.split([1, 1], 1)
    with raises(RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"):
        m.chunk(0)
    with raises(RuntimeError, "split_size can only be 0 if dimension size is 0, but got dimension size of 2"):
        m.split(0)
    with raises(RuntimeError, "split expects split_size be non-negative, but got split_size=-1"):
        m.split(-1)


def test_indices_of_gather_and_its_kin():
    m = torch.zeros(2, 3)
    with raises(RuntimeError, "index 3 is out of bounds for dimension 1 with size 3"):
        m.gather(1, torch.tensor([[3], [0]]))
    with raises(RuntimeError, "index 3 is out of bounds for dimension 1 with size 3"):
        m.scatter_(1, torch.tensor([[0], [3]]), 1.0)
    with raises(RuntimeError, "Index tensor must have the same number of dimensions as input tensor"):
        m.gather(1, torch.tensor([0]))
    with raises(RuntimeError, "gather(): Expected dtype int32/int64 for index"):
        m.gather(1, torch.tensor([[0.0]]))
    with raises((RuntimeError, IndexError), "out of"):
        m.index_select(1, torch.tensor([0, 3]))
    with raises(RuntimeError, "masked_fill_ only supports boolean masks"):
        m.masked_fill_(torch.tensor([1, 0, 1]), 1.0)
    if not IS_TORCH:  # PyTorch has written the first row by the time it finds the second wrong
        assert m.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("many", [False, True])
def test_tensors_of_places_out_of_bounds(many):
    large = torch.zeros(3000, 200) if many else torch.zeros(4, 2)
    rows = large.shape[0]
    with raises(IndexError, f"index {rows} is out of bounds for dimension 0 with size {rows}"):
        large[torch.arange(rows) + 1]
    with raises(IndexError, f"index {large.shape[1]} is out of bounds for dimension 1 with size {large.shape[1]}"):
        large[torch.tensor([0]), torch.tensor([large.shape[1]])]
    with raises(IndexError, f"index {-rows - 1} is out of bounds for dimension 0 with size {rows}"):
        large[torch.tensor([0, -rows - 1])]
    with raises(IndexError, "is out of bounds for dimension"):
        large[:0][torch.tensor([0])]
    assert large[torch.tensor([-rows, -1])].shape == (2, large.shape[1])


def test_places_beyond_every_integer():
    with raises(ValueError, "Overflow when unpacking long long"):
        x()[[10**30, 0]]
