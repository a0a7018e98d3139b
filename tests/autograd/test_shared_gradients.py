"""Gradients that are views of what arrived (one number seen many times, or another order) are never added into."""

import pytest


@pytest.mark.parametrize("name", ["flip", "einsum", "expand", "times one"])
@pytest.mark.parametrize("first", [True, False])
def test_gradients_that_share_memory(torch, name, first):
    total = {
        "flip": lambda x: x.flip(0).sum() * 2,
        "einsum": lambda x: torch.einsum("i->", x) * 2,
        "expand": lambda x: x.expand(2, 4).sum(),
        "times one": lambda x: (x * 1).sum() * 2,
    }[name]
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x.clone()
    y[:1] = 1.5
    parts = [total(x), (y * y).sum()]
    sum(parts if first else parts[::-1]).backward()
    assert x.grad.tolist() == [2, 6, 8, 10]


@pytest.mark.parametrize(
    "operation",
    [lambda x, i: x.index_put((i,), x.new_ones(1), accumulate=True), lambda x, i: x * 1, lambda x, i: x.clone(),
     lambda x, i: x.index_add(0, i, x.new_ones(1)), lambda x, i: x.unsqueeze(0).sum(0), lambda x, i: x.masked_fill(x > 9, 0.0)],
)  # fmt: skip
def test_what_hands_its_gradient_on_does_not_give_it_away(torch, operation):
    x, w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True), torch.ones(4, requires_grad=True)
    y = x.clone()
    y[:1] = 1.5
    squares = (y * y).sum()
    (((operation(x, torch.tensor([0])) + w) * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum() + squares).backward()
    assert x.grad.tolist() == [1, 6, 9, 12] and w.grad.tolist() == [1, 2, 3, 4]


def test_a_factor_of_one_does_not_give_away_a_gradient(torch):
    x, w = (torch.tensor([1.0 + 1j, 2.0], requires_grad=True) for _ in range(2))
    y = x.clone()
    y[:1] = 0
    (((x * 1 + w) * torch.tensor([1.0, 2.0])).sum() + (y * y).sum()).real.backward()
    assert x.grad.tolist() == [1, 6] and w.grad.tolist() == [1, 2]
