"""Writing into tensors that are part of a graph: what is refused, in PyTorch's words, and what differentiates."""

import pytest
from subject import raises, torch

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."


def leaf(*shape):
    return torch.ones(*(shape or (4,)), requires_grad=True)


WRITES = {
    "add_": lambda x: x.add_(1),
    "mul_": lambda x: x.mul_(2),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "copy_": lambda x: x.copy_(torch.zeros(4)),
    "clamp_": lambda x: x.clamp_(0, 0.5),
    "+=": lambda x: x.__iadd__(1),
    "uniform_": lambda x: x.uniform_(),
    "exp_": lambda x: x.exp_(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_leaf_that_needs_a_gradient_is_not_written(name):
    x = leaf()
    with raises(RuntimeError, LEAF):
        WRITES[name](x)
    assert x.tolist() == [1.0] * 4 and x._version == 0


VIEWS = {
    "x[0]": lambda x: x[0],
    "x[1:]": lambda x: x[1:],
    "x.view": lambda x: x.view(2, 2),
    "x.view.T": lambda x: x.view(2, 2).T,
    "x.unsqueeze": lambda x: x.unsqueeze(0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_leaf_that_needs_a_gradient_is_not_written(name):
    x = leaf()
    with raises(RuntimeError, VIEW_OF_LEAF):
        VIEWS[name](x).mul_(2)
    assert x.tolist() == [1.0] * 4


def test_an_index_of_a_leaf_that_needs_a_gradient_is_not_assigned():
    x = leaf()
    for index in (0, slice(1, 3), ..., None):
        with raises(RuntimeError, "leaf Variable that requires grad is being used in an in-place operation."):
            x[index] = 5.0
    with raises(RuntimeError, LEAF):
        x[torch.tensor([0, 1])] = 5.0
    with raises(RuntimeError, LEAF):
        x[torch.tensor([True, False, False, True])] = 5.0
    assert x.tolist() == [1.0] * 4


MANY = {
    "Split": lambda y: y.split(2),
    "SplitWithSizes": lambda y: y.split([1, 3]),
    "Unbind": lambda y: y.unbind(0),
}


@pytest.mark.parametrize("name", MANY)
def test_one_of_many_views_is_not_written(name):
    parts = MANY[name](leaf() * 1)
    with raises(
        RuntimeError,
        f"Output 1 of {name} is a view and is being modified inplace. This view is the output of a function that "
        "returns multiple views. Such functions do not allow the output views to be modified inplace. You should "
        "replace the inplace operation by an out-of-place one.",
    ):
        parts[1].mul_(2)


@pytest.mark.parametrize("name", MANY)
def test_one_of_many_views_is_not_used_after_its_base_was_written(name):
    y = leaf() * 1
    parts = MANY[name](y)
    y.mul_(2)
    with raises(
        RuntimeError,
        f"Output 0 of {name} is a view and its base or another view of its base has been modified inplace. This view "
        "is the output of a function that returns multiple views.",
    ):
        parts[0].sum()


def test_chunks_and_iteration_give_many_views():
    y = leaf() * 1
    for parts in (y.chunk(2), list(y), tuple(y.view(2, 2))):
        with raises(RuntimeError, "is a view and is being modified inplace. This view is the output of a function"):
            parts[0].mul_(2)


def test_many_views_of_what_needs_no_gradient_are_written():
    x = torch.ones(4)
    first, _ = x.split(2)
    first.mul_(2)
    for row in x.view(2, 2):
        row.add_(1)
    assert x.tolist() == [3.0, 3.0, 2.0, 2.0]


NO_GRAD_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case "
    "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked)."
)


@pytest.mark.parametrize("base", [leaf, lambda: leaf() * 1])
def test_a_view_made_in_no_grad_is_not_written_outside(base):
    y = base()
    with torch.no_grad():
        view = y[:2]
    with raises(RuntimeError, NO_GRAD_VIEW):
        view.mul_(2)


def test_a_view_made_in_no_grad_of_a_constant_is_not_written_with_what_needs_a_gradient():
    x = torch.ones(4)
    with torch.no_grad():
        view = x[:2]
    with raises(RuntimeError, NO_GRAD_VIEW):
        view.mul_(torch.ones(2, requires_grad=True))
    view.mul_(3)
    assert x.tolist() == [3.0, 3.0, 1.0, 1.0]


def test_a_view_made_in_no_grad_may_be_written_in_no_grad():
    x = leaf()
    with torch.no_grad():
        x[:2].mul_(3)
    assert x.tolist() == [3.0, 3.0, 1.0, 1.0] and x.is_leaf and x.grad_fn is None


def test_a_write_makes_a_constant_part_of_the_graph():
    x, total = leaf(), torch.zeros(4)
    same = total
    total.add_(x * 3)
    total += x
    assert same.requires_grad and not same.is_leaf and same.grad_fn.name() == "AddBackward0"
    total.sum().backward()
    assert x.grad.tolist() == [4.0] * 4


def test_the_node_of_a_written_tensor_is_that_of_the_operation():
    y = leaf() * 1
    before = y.grad_fn
    y.mul_(2)
    assert y.grad_fn.name() == "MulBackward0" and y.grad_fn is not before
    assert y.grad_fn.next_functions[0][0] is before


WRITTEN = {
    "add_": (lambda y: y.add_(2), 1.0),
    "add_ alpha": (lambda y: y.add_(y.detach().clone(), alpha=2), 1.0),
    "sub_": (lambda y: y.sub_(2), 1.0),
    "mul_": (lambda y: y.mul_(3), 3.0),
    "div_": (lambda y: y.div_(4), 0.25),
    "pow_": (lambda y: y.pow_(3), 12.0),
    "neg_": (lambda y: y.neg_(), -1.0),
    "abs_": (lambda y: y.abs_(), 1.0),
    "exp_": (lambda y: y.exp_(), 7.389056),
    "log_": (lambda y: y.log_(), 0.5),
    "sqrt_": (lambda y: y.sqrt_(), 0.35355338),
    "reciprocal_": (lambda y: y.reciprocal_(), -0.25),
    "zero_": (lambda y: y.zero_(), 0.0),
    "fill_": (lambda y: y.fill_(9), 0.0),
    "copy_": (lambda y: y.copy_(torch.zeros(4)), 0.0),
    "clamp_": (lambda y: y.clamp_(0, 1), 0.0),
    "relu_": (lambda y: y.relu_(), 1.0),
    "masked_fill_": (lambda y: y.masked_fill_(torch.tensor([True] * 4), 1.0), 0.0),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_write_differentiates_as_its_operation(name):
    write, slope = WRITTEN[name]
    x = torch.full((4,), 2.0, requires_grad=True)
    y = x * 1
    assert write(y) is y
    y.sum().backward()
    assert torch.allclose(x.grad, torch.full((4,), slope))


def test_a_product_with_itself_in_place_overwrites_what_its_gradient_needs():
    y = leaf() * 3
    y *= y
    assert y.tolist() == [9.0] * 4
    with raises(RuntimeError, "has been modified by an inplace operation: [torch.FloatTensor [4]]"):
        y.sum().backward()


def test_out_is_for_what_needs_no_gradient():
    text = (
        "mul(): functions with out=... arguments don't support automatic differentiation, "
        "but one of the arguments requires grad."
    )
    with raises(RuntimeError, text):
        torch.mul(leaf(), 2, out=torch.empty(4))
    with raises(RuntimeError, text):
        torch.mul(torch.ones(4), 2, out=leaf())
    with torch.no_grad():
        result = torch.empty(4)
        assert torch.mul(leaf(), 2, out=result) is result
    assert result.tolist() == [2.0] * 4


def test_the_shape_of_what_is_written_stays():
    x = torch.ones(3)
    with raises(RuntimeError, "output with shape [3] doesn't match the broadcast shape [2, 3]"):
        x.add_(torch.ones(2, 3))
    assert x.tolist() == [1.0] * 3 and x._version == 0


def test_an_expanded_tensor_is_not_written():
    with raises(
        RuntimeError,
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation.",
    ):
        torch.zeros(1).expand(3).add_(1)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[:3].copy_(x[1:]),
        lambda x: x[1:].add_(x[:3]),
        lambda x: torch.add(x[1:], 1, out=x[:3]),
    ],
)
def test_memory_is_not_read_and_written_shifted(write):
    x = torch.arange(4.0)
    with raises(
        RuntimeError,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation.",
    ):
        write(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_failed_write_changes_nothing():
    y = leaf() * 1
    node = y.grad_fn
    with raises(RuntimeError, "doesn't match the broadcast shape"):
        y.add_(torch.ones(2, 4))
    assert y.grad_fn is node and y._version == 0 and y.tolist() == [1.0] * 4


def test_detach_in_place_is_not_for_views():
    view = (leaf() * 1)[:2]
    with raises(RuntimeError, "Can't detach views in-place. Use detach() instead."):
        view.detach_()


def test_shape_changes_in_place_differentiate():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    assert y.t_() is y and y.shape == (3, 2)
    y.unsqueeze_(0)
    y.squeeze_(0)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


OVERWRITABLE = {  # operations whose derivative does not read their result: it may be overwritten, as after nn.ReLU(inplace=True)
    "div": lambda x: x / (x + 1),
    "max": lambda x: x.max(1).values,
    "sort": lambda x: x.sort(1).values,
    "topk": lambda x: x.topk(2, 1).values,
    "cummax": lambda x: x.cummax(1).values,
    "kthvalue": lambda x: x.kthvalue(2, 1).values,
    "var_mean": lambda x: torch.var_mean(x, 1)[0],
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (4,)),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: torch.nn.functional.group_norm(x, 2),
    "max_pool": lambda x: torch.nn.functional.max_pool1d(x, 2),
    "linear": lambda x: torch.nn.functional.linear(x, torch.ones(2, 4, dtype=x.dtype)),
}


@pytest.mark.parametrize("name", OVERWRITABLE)
def test_a_result_that_no_derivative_reads_may_be_overwritten(name):
    x = torch.tensor([[1.0, 2.0, 4.0, 3.0], [0.5, -1.0, 2.5, 7.0]], dtype=torch.float64)

    def gradient(change):
        leaf = x.clone().requires_grad_()
        (change(OVERWRITABLE[name](leaf * 2)) ** 2).sum().backward()
        return leaf.grad

    assert torch.allclose(gradient(lambda y: y.mul_(3)), gradient(lambda y: y * 3))


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_"])
def test_the_short_way_is_the_long_way(name):
    write = lambda t, other: getattr(t, name)(other)
    whole = torch.arange(1.0, 13.0).reshape(3, 4)
    for make in (lambda: whole.clone(), lambda: whole.clone().t(), lambda: whole.clone()[1:], lambda: whole.double()):
        for other in (2, 0.5, lambda t: torch.ones_like(t) * 3, lambda t: torch.ones_like(t, dtype=torch.float64)):
            t = make()
            value = other(t) if callable(other) else other
            wanted = getattr(torch, name[:-1])(t, value)
            version = t._version
            if wanted.dtype != t.dtype:
                wanted = wanted.to(t.dtype)
            assert write(t, value) is t and torch.equal(t, wanted) and t._version == version + 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(torch.ones(3).expand(2, 3), 1.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        square = torch.ones(3, 3)
        write(square, square.t())
    p = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        write(p, torch.ones(3))
    saved = p * p
    with torch.no_grad():
        write(p, torch.ones(3) * 2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
    base = torch.ones(3, requires_grad=True) * 1
    view = base[:2]
    write(view, 2.0)
    assert view.requires_grad and base.grad_fn is not None
    t = torch.ones(3)
    write(t, torch.ones(3, requires_grad=True))
    assert t.requires_grad
