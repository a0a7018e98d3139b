"""Hooks on nodes: before a node computes with what arrived, and after with what it passes on."""

import pytest
from subject import raises, torch


def leaf():
    return torch.ones(3, requires_grad=True)


def test_a_hook_sees_what_a_node_passes_on_and_what_it_got():
    x, y = leaf(), torch.full((3,), 4.0, requires_grad=True)
    z = x * y
    seen = []
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    (z * 2).sum().backward()
    inputs, outputs = seen[0]
    assert [g.tolist() for g in inputs] == [[8.0] * 3, [2.0] * 3]
    assert [g.tolist() for g in outputs] == [[2.0] * 3]


def test_an_operand_without_gradient_shows_as_none():
    z = leaf() * 2
    seen = []
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs))
    z.sum().backward()
    assert seen[0][0].tolist() == [2.0] * 3 and seen[0][1] is None


def test_a_hook_may_replace_what_is_passed_on():
    x, y = leaf(), leaf()
    z = x * y
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, inputs[1] * 100))
    z.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([10.0] * 3, [100.0] * 3)


def test_a_prehook_may_replace_what_arrives():
    x = leaf()
    z = x * 2
    z.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    z.sum().backward()
    assert x.grad.tolist() == [10.0] * 3


def test_a_prehook_that_returns_nothing_only_looks():
    x = leaf()
    z = x * 2
    seen = []
    z.grad_fn.register_prehook(lambda outputs: seen.append(outputs[0].tolist()))
    z.sum().backward()
    assert seen == [[1.0] * 3] and x.grad.tolist() == [2.0] * 3


def test_the_order_is_tensor_hooks_then_prehooks_then_hooks():
    x = leaf()
    y = x * 2
    order = []
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("hook"))
    y.grad_fn.register_prehook(lambda outputs: order.append("prehook"))
    y.register_hook(lambda g: order.append("tensor"))
    y.sum().backward()
    assert order == ["tensor", "prehook", "hook"]


def test_a_leafs_node_has_hooks_too():
    x = leaf()
    node = torch.autograd.graph.get_gradient_edge(x).node
    order = []
    x.register_post_accumulate_grad_hook(lambda t: order.append(("accumulated", t.grad.tolist())))
    node.register_prehook(lambda outputs: order.append(("prehook", outputs[0].tolist())))
    node.register_hook(lambda inputs, outputs: order.append(("hook", inputs, outputs[0].tolist())))
    x.register_hook(lambda g: order.append(("tensor", g.tolist())))
    x.sum().backward()
    one = [1.0] * 3
    assert order == [("tensor", one), ("prehook", one), ("accumulated", one), ("hook", (), one)]


def test_hooks_of_a_node_can_be_removed():
    x = leaf()
    y = x * 2
    calls = []
    y.grad_fn.register_hook(lambda inputs, outputs: calls.append(1)).remove()
    y.grad_fn.register_prehook(lambda outputs: calls.append(2)).remove()
    y.sum().backward()
    assert calls == []


def test_a_node_with_several_outputs_gets_none_for_those_without_gradient():
    x = leaf()
    first, second = (x * 2).split([1, 2])
    seen = []
    first.grad_fn.register_hook(lambda inputs, outputs: seen.append([g is not None for g in outputs]))
    second.sum().backward()
    assert first.grad_fn is second.grad_fn
    assert seen == [[False, True]]


WRONG = {
    "too few": (
        lambda node: node.register_hook(lambda inputs, outputs: (inputs[0],)),
        RuntimeError,
        "hook '<lambda>' has returned an incorrect number of values (got 1, but expected 2)",
    ),
    "not a tuple": (
        lambda node: node.register_prehook(lambda outputs: outputs[0]),
        TypeError,
        "expected tuple, but hook returned 'Tensor'",
    ),
    "too many": (
        lambda node: node.register_prehook(lambda outputs: outputs * 2),
        RuntimeError,
        "hook '<lambda>' has returned an incorrect number of values (got 2, but expected 1)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_of_hooks_are_refused(name):
    register, kind, text = WRONG[name]
    y = leaf() * 2
    register(y.grad_fn)
    with raises(kind, text):
        y.sum().backward()


def test_a_node_hook_is_silent_when_the_node_is_not_walked():
    x = leaf()
    y = x * 2
    calls = []
    y.grad_fn.register_hook(lambda inputs, outputs: calls.append(1))
    (x * 3).sum().backward()
    assert calls == []
