"""`autograd.grad`: gradients as values, leaving `.grad` alone."""

import pytest
from subject import close, torch

grad = torch.autograd.grad


def test_one_gradient_comes_in_a_tuple():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = grad((x**2).sum(), x)
    assert isinstance(result, tuple) and len(result) == 1
    assert result[0].tolist() == [2.0, 4.0]
    assert x.grad is None


def test_gradients_come_in_the_order_of_the_inputs():
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(5.0, requires_grad=True)
    assert [g.item() for g in grad(x * y, [y, x])] == [2.0, 5.0]


def test_an_input_asked_for_twice_is_answered_twice():
    x = torch.tensor(2.0, requires_grad=True)
    assert [g.item() for g in grad(x * x, [x, x])] == [4.0, 4.0]


def test_inputs_may_be_in_the_middle():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    z = y * y
    (to_y,) = grad(z, y)
    assert to_y.item() == 18.0


def test_an_input_may_be_the_output_itself():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    to_y, to_x = grad(y, [y, x], torch.tensor([1.0, 10.0]))
    assert (to_y.tolist(), to_x.tolist()) == ([1.0, 10.0], [2.0, 20.0])


def test_inputs_in_the_middle_and_below_are_both_whole():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    z = y * x
    to_x, to_y = grad(z, [x, y])
    assert (to_x.item(), to_y.item()) == (27.0, 3.0)


def test_what_the_walk_does_not_need_is_not_walked_and_not_freed():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    z = y * y
    grad(z, y)
    (to_x,) = grad(y, x)
    assert to_x.item() == 6.0


def test_hooks_of_nodes_that_are_not_on_the_way_stay_silent():
    x = torch.tensor(3.0, requires_grad=True)
    other = torch.tensor(4.0, requires_grad=True)
    calls = []
    branch = other * 2
    branch.register_hook(lambda g: calls.append("branch"))
    grad(x * branch, x)
    assert calls == []


def test_grad_outputs_are_the_vector_of_the_product():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = grad(x**3, x, grad_outputs=torch.tensor([1.0, 100.0]))
    assert g.tolist() == [3.0, 1200.0]


def test_several_outputs_add_up():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = grad([x**2, (x * 5).sum()], x, grad_outputs=[torch.ones(2), None])
    assert g.tolist() == [7.0, 9.0]


def test_an_unused_input_is_none_when_allowed():
    x, unused = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    used, nothing = grad(x.sum(), [x, unused], allow_unused=True)
    assert used.tolist() == [1.0, 1.0] and nothing is None


def test_an_unused_input_is_zeros_when_materialized():
    x = torch.ones(2, requires_grad=True)
    unused = torch.ones(3, dtype=torch.float64, requires_grad=True)
    _, zeros = grad(x.sum(), [x, unused], materialize_grads=True)
    assert zeros.tolist() == [0.0] * 3 and zeros.dtype == torch.float64


def test_retain_graph_allows_another_pass():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    assert grad(y, x, retain_graph=True)[0].item() == grad(y, x)[0].item() == 6.0


def test_create_graph_retains_too():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    (first,) = grad(y, x, create_graph=True)
    assert first.requires_grad and first.grad_fn is not None
    assert grad(y, x)[0].item() == 6.0


def test_without_create_graph_the_gradient_is_a_constant():
    x = torch.tensor(3.0, requires_grad=True)
    (g,) = grad(x * x, x)
    assert not g.requires_grad and g.grad_fn is None


def test_batched_gradients_give_a_jacobian_in_one_walk():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    walks = []
    y = x * x
    y.register_hook(lambda g: walks.append(1))
    (jacobian,) = grad(y, x, torch.eye(3), is_grads_batched=True)
    assert torch.equal(jacobian, 2 * x.detach() * torch.eye(3))
    assert walks == [1]


def test_batched_gradients_go_through_shapes_and_reductions():
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(3, 4, dtype=torch.float64)

    def function(x):
        return torch.softmax((x.T.reshape(2, 3).exp() @ weights).sum(0), 0)[1:]

    y = function(x)
    (batched,) = grad(y, x, torch.eye(3, dtype=torch.float64), retain_graph=True, is_grads_batched=True)
    looped = torch.stack([grad(y, x, row, retain_graph=True)[0] for row in torch.eye(3, dtype=torch.float64)])
    assert batched.shape == (3, 2, 3)
    assert torch.allclose(batched, looped)


def test_gradients_do_not_depend_on_the_order_in_which_operands_were_made():
    x = torch.tensor([0.3, 0.6], dtype=torch.float64, requires_grad=True)
    a, b, c = x.sin(), x.cos(), x.exp()
    (one,) = grad((a * b * c).sum(), x, retain_graph=True)
    (other,) = grad((c * (b * a)).sum(), x)
    assert torch.allclose(one, other)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_chain_rule_over_a_tower_of_sines(depth):
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    y, expected, value = x, 1.0, 0.7
    for _ in range(depth):
        y = y.sin()
        expected *= torch.tensor(value, dtype=torch.float64).cos().item()
        value = torch.tensor(value, dtype=torch.float64).sin().item()
    assert close(grad(y, x)[0], expected, 1e-12)


def test_leaves_other_than_the_inputs_are_left_alone():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    calls = []
    y.register_hook(lambda g: calls.append(1))
    grad((x * y).sum(), x)
    assert y.grad is None and calls == []


def test_a_hook_of_an_input_changes_what_grad_returns():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 10)
    assert grad((x * 3).sum(), x)[0].tolist() == [30.0, 30.0]


def test_gradients_for_views_of_one_tensor_are_separate():
    x = torch.arange(4.0).requires_grad_()
    y = x * 1
    first, second = y[:2], y[2:]
    to_first, to_second = grad((first * 2).sum() + (second * 3).sum(), [first, second])
    assert (to_first.tolist(), to_second.tolist()) == ([2.0, 2.0], [3.0, 3.0])
