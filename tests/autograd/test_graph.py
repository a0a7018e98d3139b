"""The graph as it can be read: nodes with PyTorch's names, their edges, and the values they saved."""

import gc

import pytest
from subject import close, raises, spoken, torch


def leaf(*shape):
    return torch.rand(*(shape or (3,)), dtype=torch.float64).add(0.1).requires_grad_()


x, y, m = leaf(), leaf(), leaf(2, 3)
NAMES = {
    "AddBackward0": lambda: x + y,
    "SubBackward0": lambda: x - y,
    "RsubBackward1": lambda: 3 - x,
    "MulBackward0": lambda: x * y,
    "DivBackward0": lambda: x / y,
    "ReciprocalBackward0": lambda: x.reciprocal(),
    "PowBackward0": lambda: x**2,
    "PowBackward1": lambda: x**y,
    "NegBackward0": lambda: -x,
    "AbsBackward0": lambda: abs(x),
    "ExpBackward0": lambda: x.exp(),
    "LogBackward0": lambda: x.log(),
    "SinBackward0": lambda: x.sin(),
    "CosBackward0": lambda: x.cos(),
    "TanhBackward0": lambda: x.tanh(),
    "SigmoidBackward0": lambda: x.sigmoid(),
    "ReluBackward0": lambda: x.relu(),
    "SqrtBackward0": lambda: x.sqrt(),
    "SumBackward0": lambda: x.sum(),
    "SumBackward1": lambda: m.sum(0),
    "MeanBackward0": lambda: x.mean(),
    "MeanBackward1": lambda: m.mean(1),
    "ProdBackward0": lambda: x.prod(),
    "MaxBackward1": lambda: x.max(),
    "MaxBackward0": lambda: m.max(0).values,
    "AmaxBackward0": lambda: m.amax(0),
    "MvBackward0": lambda: m @ x,
    "MmBackward0": lambda: m @ m.T,
    "BmmBackward0": lambda: torch.bmm(m.unsqueeze(0), m.T.unsqueeze(0)),
    "DotBackward0": lambda: x @ y,
    "TBackward0": lambda: m.t(),
    "TransposeBackward0": lambda: m.transpose(0, 1),
    "PermuteBackward0": lambda: m.T,
    "ViewBackward0": lambda: m.view(6),
    "ExpandBackward0": lambda: x.expand(2, 3),
    "UnsqueezeBackward0": lambda: x.unsqueeze(0),
    "SqueezeBackward1": lambda: x.unsqueeze(0).squeeze(0),
    "SelectBackward0": lambda: x[0],
    "SliceBackward0": lambda: x[1:],
    "IndexBackward0": lambda: x[[0, 1]],
    "UnbindBackward0": lambda: m.unbind(0)[0],
    "SplitBackward0": lambda: x.split(2)[0],
    "SplitWithSizesBackward0": lambda: x.split([1, 2])[0],
    "CloneBackward0": lambda: x.clone(),
    "ToCopyBackward0": lambda: x.float(),
    "CatBackward0": lambda: torch.cat([x, y]),
    "StackBackward0": lambda: torch.stack([x, y]),
    "WhereBackward0": lambda: torch.where(x > 0, x, y),
    "ClampBackward1": lambda: x.clamp(0, 1),
    "SoftmaxBackward0": lambda: x.softmax(0),
    "LogSoftmaxBackward0": lambda: x.log_softmax(0),
    "CumsumBackward0": lambda: x.cumsum(0),
    "GatherBackward0": lambda: x.gather(0, torch.tensor([0, 1])),
    "CopySlices": lambda: written(),
}


def written():
    z = x * 1
    z[0] = 3.0
    return z


def name_of(node):
    """A node's name without the namespace that PyTorch puts before those that no operation made."""
    return node.name().split("::")[-1]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_the_node(name):
    result = NAMES[name]()
    node = result.grad_fn
    assert name_of(node) == name
    assert type(node).__name__ == name
    assert spoken(node).startswith(f"<{name} object at 0x")
    assert f"grad_fn=<{name}>" in repr(result)


def test_a_leaf_has_no_node_of_its_own_until_it_is_used():
    a = leaf()
    assert a.grad_fn is None
    node, number = (a * 2).grad_fn.next_functions[0]
    assert (name_of(node), number) == ("AccumulateGrad", 0)
    assert node.variable is a
    assert node.next_functions == ()


def test_a_leaf_has_one_node_however_often_it_is_used():
    a = leaf()
    first, second = a * 2, a.exp()
    assert first.grad_fn.next_functions[0][0] is second.grad_fn.next_functions[0][0]


def test_edges_follow_the_operands_with_none_where_no_gradient_goes():
    a, b = leaf(), torch.ones(3, dtype=torch.float64)
    z = a * b
    assert z.grad_fn.next_functions[1] == (None, 0)
    w = b / z
    assert w.grad_fn.next_functions[0] == (None, 0)
    assert w.grad_fn.next_functions[1] == (z.grad_fn, 0)


def test_an_edge_numbers_the_output_it_comes_from():
    a = leaf()
    _, second = (a * 2).split([1, 2])
    z = second.exp()
    assert z.grad_fn.next_functions[0] == (second.grad_fn, 1)
    assert second.output_nr == 1


def test_a_node_of_several_tensors_has_an_edge_for_each():
    a, b = leaf(), leaf()
    z = torch.cat([a * 1, b * 2, a * 3])
    assert [node.name() for node, _ in z.grad_fn.next_functions] == ["MulBackward0"] * 3


def test_a_node_compares_by_identity_and_is_the_same_object_every_time():
    z = leaf() * 2
    assert z.grad_fn is z.grad_fn
    assert len({z.grad_fn, z.grad_fn}) == 1


def test_saved_operands_can_be_read():
    a, b = leaf(), leaf()
    node = (a * b).grad_fn
    assert node._saved_self is a and node._saved_other is b


def test_an_operand_is_saved_only_where_a_gradient_needs_it():
    a = leaf()
    constant = torch.ones(3, dtype=torch.float64)
    node = (a * constant).grad_fn
    assert node._saved_self is None
    assert torch.equal(node._saved_other, constant)


def test_saved_numbers_and_dims_can_be_read():
    a = leaf(2, 3)
    power = (a**3).grad_fn
    assert power._saved_exponent == 3 and torch.equal(power._saved_self, a)
    total = a.sum(1, keepdim=True).grad_fn
    assert total._saved_dim in ((1,), [1]) and total._saved_keepdim is True


def test_a_saved_result_is_the_result():
    a = leaf()
    z = a.exp()
    assert torch.equal(z.grad_fn._saved_result, z)
    assert z.grad_fn._saved_result.grad_fn is z.grad_fn


def test_saved_values_cannot_be_read_after_they_were_freed():
    a = leaf()
    z = a * a
    z.sum().backward()
    with raises(
        RuntimeError,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed).",
    ):
        z.grad_fn._saved_self


def test_a_node_keeps_metadata_for_its_user():
    z = leaf() * 2
    z.grad_fn.metadata["note"] = 1
    assert z.grad_fn.metadata == {"note": 1}


def test_a_graph_can_be_walked_by_hand_from_root_to_leaves():
    a, b = leaf(), leaf()
    root = ((a * b).sin() + a).sum().grad_fn
    names, pending, seen = [], [root], set()
    while pending:
        node = pending.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        names.append(name_of(node))
        pending.extend(edge for edge, _ in node.next_functions)
    assert names == [
        "SumBackward0",
        "AddBackward0",
        "SinBackward0",
        "AccumulateGrad",
        "MulBackward0",
        "AccumulateGrad",
    ]


def test_a_gradient_edge_of_a_computed_tensor_and_of_a_leaf():
    a = leaf()
    z = a * 2
    edge = torch.autograd.graph.get_gradient_edge(z)
    assert edge.node is z.grad_fn and edge.output_nr == 0
    assert torch.autograd.graph.get_gradient_edge(a).node.variable is a


def test_gradients_can_be_asked_for_by_edge_when_the_tensor_is_gone():
    a = leaf()
    z = a * 2
    edge = torch.autograd.graph.get_gradient_edge(z)
    root = (z * z).sum()
    expected = (4 * a.detach()).tolist()
    del z
    gc.collect()
    assert close(torch.autograd.grad(root, edge)[0], expected)


def test_backward_can_start_at_an_edge():
    a = leaf()
    edge = torch.autograd.graph.get_gradient_edge(a * 2)
    torch.autograd.backward(edge, torch.ones(3, dtype=torch.float64))
    assert a.grad.tolist() == [2.0] * 3


def test_there_is_no_edge_without_a_gradient():
    with raises(
        RuntimeError, "It is not possible to get the gradient edge for a Tensor that does not require gradients"
    ):
        torch.autograd.graph.get_gradient_edge(torch.ones(3))


def test_increment_version_says_that_memory_changed_behind_the_engines_back():
    a = leaf()
    z = (a * a).sum()
    torch.autograd.graph.increment_version(a)
    assert a._version == 1
    with raises(RuntimeError, "has been modified by an inplace operation"):
        z.backward()
    torch.autograd.graph.increment_version([a, a])
    assert a._version == 3
    with raises(RuntimeError, "increment_version expects each element of the iterable to be a tensor"):
        torch.autograd.graph.increment_version([3])


def test_a_node_says_that_it_is_one():
    assert isinstance((leaf() * 2).grad_fn, torch.autograd.graph.Node)
    assert not isinstance(3, torch.autograd.graph.Node)


def test_what_is_a_leaf():
    a = leaf()
    z = a * 2
    assert a.is_leaf and not z.is_leaf
    assert torch.ones(1).is_leaf and (torch.ones(1) * 2).is_leaf
    assert z.detach().is_leaf and not z.view(3).is_leaf
    assert z.data.is_leaf and not z.data.requires_grad


def test_detach_in_place_makes_a_leaf():
    z = leaf() * 2
    assert z.detach_() is z
    assert z.is_leaf and not z.requires_grad and z.grad_fn is None


def test_moving_a_leaf_to_where_it_is_returns_it_itself():
    a = leaf()
    assert a.to(torch.float64) is a and a.double() is a
    assert a.to(torch.float32).grad_fn.name() == "ToCopyBackward0"
