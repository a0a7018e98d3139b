"""Putting tensors together (cat, stack), choosing between them (where), and limiting them (clamp)."""

import pytest
from subject import close, needs, raises, torch

NAN = float("nan")


def ones(*shape, dtype=None):
    return torch.ones(shape, dtype=dtype)


def test_cat():
    assert torch.cat([ones(2, 3), ones(2, 2)], 1).shape == (2, 5)
    assert torch.cat([torch.tensor([1, 2]), torch.tensor([3])]).tolist() == [1, 2, 3]
    assert torch.cat((ones(1, 2), ones(2, 2)), dim=-2).shape == (3, 2)
    assert torch.concat([ones(1), ones(1)]).shape == torch.concatenate([ones(1), ones(1)]).shape == (2,)


def test_cat_promotes():
    assert torch.cat([ones(1), ones(1, dtype=torch.int64)]).dtype == torch.float32
    assert torch.cat([ones(1, dtype=torch.int32), ones(1, dtype=torch.float64)]).dtype == torch.float64
    assert torch.cat([ones(1, dtype=torch.bool), ones(1, dtype=torch.uint8)]).dtype == torch.uint8


def test_cat_skips_an_empty_vector():
    assert torch.cat([torch.zeros(0), ones(2, 3)]).shape == (2, 3)


def test_cat_into_out():
    out = torch.empty(0)
    assert torch.cat([ones(1), ones(2)], out=out) is out and out.shape == (3,)


@needs("vstack", "hstack", "dstack", "column_stack")
def test_stacks_with_a_direction():
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert torch.vstack([a, b]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert torch.column_stack([a, b]).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert torch.hstack([a, b]).tolist() == [1.0, 2.0, 3.0, 4.0] and torch.dstack([a, b]).shape == (1, 2, 2)


def test_stack():
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert torch.stack([a, b]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert torch.stack([a, b], -1).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert torch.stack([a, b.long()]).dtype == torch.float32


ERRORS = [
    (lambda: torch.cat([]), (RuntimeError, ValueError), "expected a non-empty list of Tensors"),
    (
        lambda: torch.cat([ones(2, 3), ones(3, 2)]),
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1 in the "
        "list.",
    ),
    (
        lambda: torch.cat([ones(2, 3), ones(3)]),
        RuntimeError,
        "Tensors must have same number of dimensions: got 2 and 1",
    ),
    (
        lambda: torch.cat([torch.tensor(1.0), torch.tensor(2.0)]),
        RuntimeError,
        "zero-dimensional tensor (at position 0) cannot be concatenated",
    ),
    (lambda: torch.cat([ones(2), 3]), TypeError, "expected Tensor as element 1 in argument 0, but got int"),
    (
        lambda: torch.cat(ones(2, 2)),
        TypeError,
        "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    ),
    (
        lambda: torch.cat([ones(2)], 1),
        IndexError,
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
    ),
    (lambda: torch.stack([]), RuntimeError, "stack expects a non-empty TensorList"),
    (
        lambda: torch.stack([ones(2), ones(3)]),
        RuntimeError,
        "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
    ),
    (
        lambda: torch.stack([ones(2), ones(2)], 2),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    (
        lambda: torch.where(torch.tensor([1, 0]), 1.0, 2.0),
        RuntimeError,
        "where expected condition to be a boolean tensor, but got a tensor with dtype Long",
    ),
    (
        lambda: torch.where(torch.tensor([True, False]), ones(3), ones(3)),
        RuntimeError,
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    (lambda: ones(2).clamp(), RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"),
    (lambda: ones(2).clamp("a"), TypeError, "clamp()"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_what_does_not_fit(call, kind, text):
    with raises(kind, text):
        call()


def test_gradients_of_cat_and_stack_go_back_to_their_parts():
    a, b = ones(2).requires_grad_(), ones(3, dtype=torch.float64).requires_grad_()
    (torch.cat([a, b]) * torch.arange(1.0, 6)).sum().backward()
    assert a.grad.tolist() == [1.0, 2.0] and b.grad.tolist() == [3.0, 4.0, 5.0]
    assert (a.grad.dtype, b.grad.dtype) == (torch.float32, torch.float64)
    c, d = ones(2).requires_grad_(), ones(2)
    (torch.stack([c, d, c], 1) * torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert c.grad.tolist() == [4.0, 10.0] and d.grad is None


def test_where():
    mask = torch.tensor([True, False])
    assert torch.where(mask, 1, 2.0).tolist() == [1.0, 2.0] and torch.where(mask, 1, 2).dtype == torch.int64
    assert torch.where(mask, torch.tensor([1]), 2.5).tolist() == [1.0, 2.5]
    assert torch.where(mask, ones(2), ones(2, dtype=torch.float64)).dtype == torch.float64
    assert torch.where(ones(2, 1) > 0, ones(3), torch.zeros(1)).shape == (2, 3)
    assert ones(2).where(mask, torch.tensor(5.0)).tolist() == [1.0, 5.0]
    assert [t.tolist() for t in torch.where(mask)] == [[0]]


def test_the_gradient_of_where_goes_where_it_was_chosen():
    a, b = ones(3).requires_grad_(), torch.tensor(2.0, requires_grad=True)
    (torch.where(torch.tensor([True, False, False]), a, b) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert a.grad.tolist() == [1.0, 0.0, 0.0] and b.grad.item() == 110.0


def test_where_does_not_hide_a_nan_of_the_other_branch():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
    assert x.grad.isnan().tolist() == [True, False]  # 0 times infinity


def test_clamp():
    x = torch.tensor([-1.0, 0.5, 2.0, NAN])
    for result, expected in [
        (x.clamp(0, 1), [0.0, 0.5, 1.0]),
        (x.clamp(min=0), [0.0, 0.5, 2.0]),
        (x.clamp(max=1), [-1.0, 0.5, 1.0]),
        (x.clip(0, 1), [0.0, 0.5, 1.0]),
        (x.clamp(torch.tensor(0.0), torch.tensor([1.0, 0.2, 3.0, 1.0])), [0.0, 0.2, 2.0]),
        (x.clamp(1, 0), [0.0, 0.0, 0.0]),
    ]:
        assert close(result[:3], expected) and result[3].isnan()
    whole = torch.tensor([1, 5])
    assert whole.clamp(2, 3).dtype == torch.int64 and whole.clamp(2.5, 3).tolist() == [2.5, 3.0]


EDGES = {
    "clamp at its bounds": (lambda x: x.clamp(0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
    "relu": (lambda x: x.relu(), [-1.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
    "abs": (lambda x: x.abs(), [-1.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
    "sign": (lambda x: x.sign(), [-1.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
    "sqrt": (lambda x: x.sqrt(), [0.0, 1.0], [float("inf"), 0.5]),
    "to the power 0": (lambda x: x**0, [0.0, 1.0], [0.0, 0.0]),
    "square": (lambda x: x**2, [0.0, 1.0], [0.0, 2.0]),
    "zero to the power": (lambda x: 0**x, [0.0, 1.0], [0.0, 0.0]),
    "floor": (lambda x: x.floor(), [0.5], [0.0]),
    "maximum of equals": (lambda x: torch.maximum(x, torch.tensor([1.0, 1.0])), [1.0, 2.0], [0.5, 1.0]),
    "remainder": (lambda x: x % 3, [5.0], [1.0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_slopes_at_the_edges(name):
    function, numbers, expected = EDGES[name]
    x = torch.tensor(numbers, requires_grad=True)
    function(x).sum().backward()
    assert x.grad.tolist() == expected
