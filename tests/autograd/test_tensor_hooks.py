"""Hooks on tensors: seeing and changing a gradient on its way, and acting when a leaf has received its own."""

import pytest
from subject import raises, torch


def leaf():
    return torch.ones(3, requires_grad=True)


def test_a_hook_sees_the_gradient_of_its_tensor():
    x = leaf()
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 5).sum().backward()
    assert seen == [[5.0] * 3]


def test_a_hook_that_returns_a_tensor_replaces_the_gradient():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.tolist() == [20.0] * 3


def test_hooks_run_in_the_order_in_which_they_were_registered_each_seeing_the_last():
    x = leaf()
    seen = []
    for factor in (2, 3, 5):
        x.register_hook(lambda g, factor=factor: seen.append(g[0].item()) or g * factor)
    x.sum().backward()
    assert seen == [1.0, 2.0, 6.0]
    assert x.grad.tolist() == [30.0] * 3


def test_a_removed_hook_is_not_called():
    x = leaf()
    calls = []
    handles = [x.register_hook(lambda g, name=name: calls.append(name)) for name in "abc"]
    handles[1].remove()
    handles[1].remove()
    x.sum().backward()
    assert calls == ["a", "c"]
    for handle in handles:
        handle.remove()
    x.sum().backward()
    assert calls == ["a", "c"]


def test_a_handle_is_a_context_that_removes_its_hook():
    x = leaf()
    with x.register_hook(lambda g: g * 2):
        x.sum().backward()
    x.sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_a_hook_is_called_once_with_the_whole_gradient():
    x = leaf()
    calls = []
    x.register_hook(lambda g: calls.append(g[0].item()))
    (x * 2 + x * 3 + x).sum().backward()
    assert calls == [6.0]


def test_a_hook_of_a_leaf_is_called_at_every_backward():
    x = leaf()
    calls = []
    x.register_hook(lambda g: calls.append(1))
    for _ in range(3):
        x.sum().backward()
    assert len(calls) == 3


def test_a_hook_may_be_registered_on_a_root():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * 100)
    y.backward()
    assert x.grad.item() == 400.0


def test_a_hook_that_fails_stops_backward_with_its_own_error():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with raises(ZeroDivisionError, "division by zero"):
        y.sum().backward()
    assert x.grad is None
    x.sum().backward()
    assert x.grad.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (lambda g: torch.ones(2), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (
            lambda g: g.double(),
            RuntimeError,
            "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
        ),
        (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
    ],
)
def test_what_a_hook_returns_must_fit(answer, kind, text):
    x = leaf()
    x.register_hook(answer)
    with raises(kind, text):
        x.sum().backward()


def test_hooks_need_a_gradient_to_wait_for():
    with raises(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(3).register_hook(lambda g: g)


def test_a_hook_runs_with_recording_off_unless_a_graph_is_created():
    x = leaf()
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [False, True]


def test_what_a_hook_computes_is_differentiated_when_a_graph_is_created():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)  # x * 2x
    assert g.item() == 18.0
    assert torch.autograd.grad(g, x)[0].item() == 12.0


def test_a_hook_after_a_change_in_place_sees_the_new_value_and_one_before_the_old():
    x = leaf()
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("before", g[0].item())))
    y.mul_(7)
    y.register_hook(lambda g: seen.append(("after", g[0].item())))
    y.sum().backward()
    assert seen == [("after", 1.0), ("before", 7.0)]


def test_retained_gradients_follow_a_change_in_place():
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1.0] * 3


def test_a_retained_gradient_is_the_one_that_all_hooks_made():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [100.0] * 3


def test_a_post_accumulate_hook_sees_the_leaf_with_its_gradient():
    x = leaf()
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    x.sum().backward()
    x.sum().backward()
    assert seen == [(True, [1.0] * 3), (True, [2.0] * 3)]


def test_a_post_accumulate_hook_can_step_and_clear():
    x = leaf()

    def step(parameter):
        with torch.no_grad():
            parameter -= 0.25 * parameter.grad
        parameter.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.tolist() == [0.5] * 3 and x.grad is None


def test_a_post_accumulate_hook_runs_once_a_backward_and_after_the_others():
    x = leaf()
    order = []
    x.register_post_accumulate_grad_hook(lambda t: order.append("after"))
    x.register_hook(lambda g: order.append("before"))
    (x * 2 + x).sum().backward()
    assert order == ["before", "after"]


def test_a_post_accumulate_hook_stays_silent_when_nothing_accumulates():
    x = leaf()
    calls = []
    x.register_post_accumulate_grad_hook(lambda t: calls.append(1))
    torch.autograd.grad(x.sum(), x)
    assert calls == []


def test_a_post_accumulate_hook_can_be_removed():
    x = leaf()
    calls = []
    x.register_post_accumulate_grad_hook(lambda t: calls.append(1)).remove()
    x.sum().backward()
    assert calls == []


def test_post_accumulate_hooks_are_for_leaves():
    with raises(RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf() * 2).register_post_accumulate_grad_hook(lambda t: None)
    with raises(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(3).register_post_accumulate_grad_hook(lambda t: None)
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda t: 3)
    with raises(TypeError, "expected Variable, but hook returned 'int'"):
        x.sum().backward()


def test_a_multi_grad_hook_waits_for_all_and_gets_none_for_those_without():
    a, b = leaf(), leaf()
    seen = []
    handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append(list(grads)))
    (a * 2).sum().backward()
    assert seen[0][0].tolist() == [2.0] * 3 and seen[0][1] is None
    (a * b).sum().backward()
    assert [g.tolist() for g in seen[1]] == [[1.0] * 3, [1.0] * 3]
    handle.remove()
    (a * b).sum().backward()
    assert len(seen) == 2


def test_a_multi_grad_hook_for_any_is_called_with_the_first():
    a, b = leaf(), leaf()
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: seen.append(g.tolist()), mode="any")
    (a * b).sum().backward()
    (b * 3).sum().backward()
    assert seen == [[1.0] * 3, [3.0] * 3]


def test_a_multi_grad_hook_waits_for_tensors_in_the_middle():
    x = leaf()
    a, b = x * 2, x * 3
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g[0].item() for g in grads]))
    (a * b).sum().backward()
    assert seen == [[3.0, 2.0]]


def test_a_multi_grad_hook_knows_two_modes():
    with raises(ValueError, "Expects mode to be one of ('all', 'any') but got x"):
        torch.autograd.graph.register_multi_grad_hook((leaf(),), lambda grads: None, mode="x")
