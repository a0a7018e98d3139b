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


def test_a_factor_of_one_does_not_give_away_a_gradient(torch):
    x, w = (torch.tensor([1.0 + 1j, 2.0], requires_grad=True) for _ in range(2))
    y = x.clone()
    y[:1] = 0
    (((x * 1 + w) * torch.tensor([1.0, 2.0])).sum() + (y * y).sum()).real.backward()
    assert x.grad.tolist() == [1, 6] and w.grad.tolist() == [1, 2]
