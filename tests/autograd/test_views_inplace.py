"""Writing through views: the history of the base is rewritten, and so is that of every other view of it."""

import itertools

import pytest
from subject import torch

grad = torch.autograd.grad


def leaf(size=4):
    return torch.arange(1.0, size + 1).requires_grad_()


def test_an_assigned_number_cuts_the_gradient_there():
    x = leaf()
    y = x * 2
    y[1] = 3
    (y * y).sum().backward()
    assert y.tolist() == [2.0, 3.0, 6.0, 8.0]
    assert x.grad.tolist() == [8.0, 0.0, 24.0, 32.0]


def test_an_assigned_tensor_gets_the_gradient_of_its_place():
    x = leaf(2)
    y = torch.zeros(4)
    y[:2] = x
    y[2:] = x * 10
    assert y.requires_grad and y.grad_fn.name().endswith("CopySlices")
    (y * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [31.0, 42.0]


def test_a_broadcast_assignment_sums_its_gradient():
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.zeros(3, 2)
    y[1:] = x
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.item() == 2 + 3 + 4 + 5


def test_the_last_assignment_to_a_place_wins():
    a, b = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    y = torch.zeros(2)
    y[0] = a
    y[0] = b
    y.sum().backward()
    assert (a.grad.item(), b.grad.item()) == (0.0, 1.0)


def test_a_write_to_the_base_reaches_a_view_made_before():
    x = leaf()
    y = x * 1
    view = y[1:3]
    y.mul_(10)
    assert view.tolist() == [20.0, 30.0]
    (view * view).sum().backward()
    assert x.grad.tolist() == [0.0, 400.0, 600.0, 0.0]


def test_a_write_to_a_view_reaches_the_base():
    x = leaf()
    y = x * 1
    y[1:3].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0, 1.0]


def test_a_write_to_a_view_reaches_another_view():
    x = leaf()
    y = x * 1
    first, second = y[:3], y[1:]
    first.mul_(10)
    second.sum().backward()
    assert second.tolist() == [20.0, 30.0, 4.0]
    assert x.grad.tolist() == [0.0, 10.0, 10.0, 1.0]


def test_a_view_after_the_write_is_an_ordinary_view():
    x = leaf()
    y = x * 1
    y[0] = 0
    y[:2].sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_writes_through_a_chain_of_views():
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    y = x * 1
    y[1][1:][:, ::2].mul_(5)
    y.sum().backward()
    expected = torch.ones(2, 3, 4)
    expected[1, 1:, ::2] = 5
    assert torch.equal(x.grad, expected)


def test_writes_through_transposed_and_reshaped_views():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    y.T[0] *= 7
    y.view(6)[5:].mul_(11)
    y.unsqueeze(0).diagonal(dim1=1, dim2=2).mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [[14.0, 1.0, 1.0], [7.0, 2.0, 11.0]]


def test_the_node_of_a_written_base_and_of_its_view():
    y = leaf() * 1
    view = y[:2]
    view.mul_(2)
    assert y.grad_fn.name().endswith("CopySlices")
    assert view.grad_fn is not None and view.requires_grad
    assert view._is_view() and view._base is y


def test_a_constant_base_becomes_part_of_the_graph_through_its_view():
    x = leaf(2)
    base = torch.zeros(4)
    view = base[1:3]
    assert not base.requires_grad
    view.copy_(x)
    assert base.requires_grad and not base.is_leaf
    assert view.requires_grad
    (base * torch.tensor([5.0, 6.0, 7.0, 8.0])).sum().backward()
    assert x.grad.tolist() == [6.0, 7.0]


def test_another_view_of_a_constant_base_sees_the_graph():
    x = leaf(2)
    base = torch.zeros(4)
    first, second = base[:2], base[1:3]
    first.copy_(x * 3)
    assert second.requires_grad
    second.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_a_mask_assignment_of_a_number():
    x = leaf()
    y = x * 1
    y[y > 2] = 0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_mask_assignment_of_a_tensor():
    x, values = leaf(), torch.tensor([5.0, 6.0], requires_grad=True)
    y = x * 1
    y[torch.tensor([True, False, True, False])] = values
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 0.0, 8.0]
    assert values.grad.tolist() == [10.0, 12.0]


def test_an_index_assignment_of_a_tensor():
    x, values = leaf(), torch.tensor([5.0, 6.0], requires_grad=True)
    y = x * 1
    y[torch.tensor([3, 0])] = values
    (y * y).sum().backward()
    assert y.tolist() == [6.0, 2.0, 3.0, 5.0]
    assert x.grad.tolist() == [0.0, 4.0, 6.0, 0.0]
    assert values.grad.tolist() == [10.0, 12.0]


def test_accumulating_into_an_index_reads_and_writes():
    x = leaf()
    y = x * 1
    y[1] += y[0] * 10
    y.sum().backward()
    assert y.tolist() == [1.0, 12.0, 3.0, 4.0]
    assert x.grad.tolist() == [11.0, 1.0, 1.0, 1.0]


def test_a_recurrence_written_into_one_tensor():
    a = torch.tensor(0.5, requires_grad=True)
    y = torch.zeros(5)
    y[0] = 1.0
    for i in range(1, 5):
        y[i] = a * y[i - 1].clone()
    y[4].backward()
    assert torch.isclose(a.grad, torch.tensor(4 * 0.5**3))


def test_the_graph_before_a_write_still_has_its_gradient():
    x = leaf()
    y = x * 1
    before = y.sum()
    y[0] = 100
    before.backward()
    assert x.grad.tolist() == [1.0] * 4


def test_a_clone_of_a_view_is_free():
    x = leaf()
    y = x * 1
    part = y[:2].clone()
    part.mul_(10)
    y.sum().backward()
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0] and x.grad.tolist() == [1.0] * 4


def test_a_detached_view_writes_the_memory_but_not_the_history():
    x = leaf()
    y = x * 1
    y.detach()[:2].mul_(10)
    assert y.tolist() == [10.0, 20.0, 3.0, 4.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


def test_second_derivatives_through_a_written_view():
    x = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = x * x
    y[0] *= x[1]  # x0^2 x1, x1^2
    (g,) = grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 4.0 + 6.0]
    rows = [grad(g[i], x, retain_graph=True)[0].tolist() for i in range(2)]
    assert rows == [[6.0, 4.0], [4.0, 2.0]]


def test_hooks_on_a_base_see_the_gradient_of_what_they_were_registered_on():
    x = leaf()
    y = x * 1
    seen = {}
    y.register_hook(lambda g: seen.update(before=g.tolist()))
    y[:2].mul_(10)
    y.register_hook(lambda g: seen.update(after=g.tolist()))
    y.sum().backward()
    assert seen == {"after": [1.0] * 4, "before": [10.0, 10.0, 1.0, 1.0]}


def test_grad_asks_a_written_view_for_its_new_gradient():
    x = leaf()
    y = x * 1
    view = y[:2]
    view.mul_(10)
    to_view, to_y = grad((y * 2).sum() + (view * 3).sum(), [view, y])
    assert to_view.tolist() == [3.0, 3.0]
    assert to_y.tolist() == [5.0, 5.0, 2.0, 2.0]


STEPS = {
    "scale the base": (lambda y, v, w: y.mul_(3), lambda y: y * 3),
    "scale a view": (lambda y, v, w: v.mul_(5), lambda y: torch.cat([y[:1], y[1:3] * 5, y[3:]])),
    "square another view": (lambda y, v, w: w.pow_(2), lambda y: torch.cat([y[:2], y[2:] ** 2])),
    "assign a number": (lambda y, v, w: y.__setitem__(2, 7.0), lambda y: torch.cat([y[:2], y[2:3] * 0 + 7, y[3:]])),
    "add one view to the other": (
        lambda y, v, w: v.add_(w.clone()),
        lambda y: torch.cat([y[:1], y[1:3] + y[2:], y[3:]]),
    ),
}


@pytest.mark.parametrize("order", list(itertools.permutations(STEPS, 3)), ids=" / ".join)
def test_any_order_of_writes_has_the_gradient_of_the_same_thing_without_writing(order):
    x = torch.tensor([0.5, -1.5, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, 10.0, 100.0, 1000.0], dtype=torch.float64)
    y = x * 1
    view, other = y[1:3], y[2:]
    pure = x * 1
    for name in order:
        write, same = STEPS[name]
        write(y, view, other)
        pure = same(pure)
    assert torch.allclose(y, pure)
    assert torch.allclose(view, pure[1:3]) and torch.allclose(other, pure[2:])
    for ours, theirs in ((y * weights, pure * weights), (view, pure[1:3]), (other.sin(), pure[2:].sin())):
        (one,) = grad(ours.sum(), x, retain_graph=True)
        (two,) = grad(theirs.sum(), x, retain_graph=True)
        assert torch.allclose(one, two)
