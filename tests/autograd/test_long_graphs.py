"""Very long and very wide graphs: built, walked and freed without recursion, in time in proportion to their size."""

import time

import pytest
from subject import torch

MILLION = 1_000_000


def test_a_chain_of_a_million_operations_is_built_walked_and_freed():
    start = time.perf_counter()
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(MILLION):
        y = y + x
    y.backward()
    assert x.grad.item() == MILLION + 1
    del y
    assert time.perf_counter() - start < 60


def test_a_chain_that_was_never_walked_is_freed():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * x
    del y


def test_a_chain_through_saved_values_is_freed():
    y = torch.full((), 0.5, requires_grad=True)
    for _ in range(100_000):
        y = y.sin()  # each node saves the tensor before it, which holds the node before it
    del y


@pytest.mark.parametrize("retain", [False, True])
def test_a_long_chain_walked_once_or_twice(retain):
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y * 1.0
    y.backward(retain_graph=True)
    if retain:
        y.backward()
    assert x.grad.item() == (2.0 if retain else 1.0)


def test_a_tensor_written_many_times():
    x = torch.ones((), requires_grad=True)
    total = torch.zeros(())
    for _ in range(50_000):
        total += x
    total.backward()
    assert x.grad.item() == 50_000


def test_many_writes_through_views():
    x = torch.ones(10, requires_grad=True)
    y = x * 1
    for step in range(2_000):
        y[step % 10] += 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 10


def test_a_deep_chain_of_views():
    x = torch.ones(2, 2, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y.t()
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_one_tensor_used_many_thousand_times():
    x = torch.ones((), requires_grad=True)
    y = torch.stack([x * 1.0 for _ in range(20_000)]).sum()
    y.backward()
    assert x.grad.item() == 20_000


def test_a_node_of_many_inputs():
    leaves = [torch.ones((), requires_grad=True) for _ in range(20_000)]
    torch.stack(leaves).sum().backward()
    assert all(leaf.grad.item() == 1.0 for leaf in leaves)


def test_a_ladder_has_many_paths_but_few_nodes():
    x = torch.ones((), dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(1_000):
        y = (y + y) * 0.5
    y.backward()
    assert x.grad.item() == 1.0


def test_second_derivatives_of_a_long_chain():
    x = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = y * 1.0 + 0.0
    (first,) = torch.autograd.grad(y * y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert second.item() == 2.0


def test_time_grows_with_the_length_not_with_its_square():
    def seconds(length):
        x = torch.ones((), requires_grad=True)
        y = x
        for _ in range(length):
            y = y * 1.0
        start = time.perf_counter()
        y.backward()
        del y
        return time.perf_counter() - start

    seconds(1_000)
    short = min(seconds(2_000) for _ in range(3))
    assert seconds(40_000) < 20 * short * 5
