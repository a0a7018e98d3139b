"""What a graph holds is freed at once, with the garbage collector off: no reference cycles, nothing kept after use."""

import gc
import weakref

import pytest
from subject import IS_TORCH, torch


class Token:
    """Something that can be watched: it hangs on a node, or stands for a saved value."""


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(size=4):
    return torch.ones(size, requires_grad=True)


def watched(tensor):
    """A weak reference that dies with the node that made the tensor."""
    token = Token()
    tensor.grad_fn.metadata["token"] = token
    return weakref.ref(token)


class Saved(torch.autograd.graph.saved_tensors_hooks):
    """Counts the saved values that are still held, each packed into a token."""

    def __init__(self):
        self.alive = weakref.WeakSet()
        super().__init__(self.pack, lambda token: token.tensor)

    def pack(self, tensor):
        token = Token()
        token.tensor = tensor
        self.alive.add(token)
        return token


def test_a_tensor_dies_with_its_last_name():
    x = leaf()
    reference = weakref.ref(x)
    del x
    assert reference() is None


def test_a_graph_dies_with_its_root():
    y = leaf() * 2
    reference = watched(y)
    z = y.exp().sum()
    del y
    assert reference() is not None
    del z
    assert reference() is None


def test_a_graph_that_saves_its_own_result_dies_with_it():
    for function in (
        torch.exp,
        torch.tanh,
        torch.sqrt,
        torch.sigmoid,
        lambda x: x.softmax(0),
        lambda x: x.reciprocal(),
    ):
        y = function(leaf())
        reference, itself = watched(y), weakref.ref(y)
        del y
        assert reference() is None and itself() is None


def test_a_graph_that_saves_a_value_in_the_middle_dies_with_its_root():
    a = leaf() * 2
    reference, itself = watched(a), weakref.ref(a)
    z = a * a
    del a
    assert reference() is not None
    del z
    assert reference() is None and itself() is None


def test_a_leaf_dies_after_the_graphs_that_used_it():
    x = leaf()
    reference = weakref.ref(x)
    y = (x * x).sum()
    y.backward()
    del x, y
    assert reference() is None


def test_a_leaf_with_a_gradient_dies():
    x = leaf()
    (x * 2).sum().backward()
    references = weakref.ref(x), weakref.ref(x.grad)
    del x
    assert [reference() for reference in references] == [None, None]


def test_backward_frees_what_was_saved():
    saved = Saved()
    with saved:
        y = (leaf() * 3).sin().exp().sum()
    assert len(saved.alive) >= 2
    y.backward()
    assert len(saved.alive) == 0


def test_backward_frees_each_value_as_soon_as_it_was_used():
    saved = Saved()
    counts = []
    x = leaf()
    with saved:
        for _ in range(5):
            x = x.sin()
            x.register_hook(lambda g: counts.append(len(saved.alive)))
    assert len(saved.alive) == 5
    x.sum().backward()
    assert counts == [5, 4, 3, 2, 1]


def test_retain_graph_keeps_what_was_saved_until_the_root_dies():
    saved = Saved()
    with saved:
        y = leaf().sin().sum()
    y.backward(retain_graph=True)
    assert len(saved.alive) == 1
    del y
    assert len(saved.alive) == 0


def test_a_graph_dies_after_a_backward_that_fails():
    y = leaf() * 2
    reference = watched(y)
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    del y
    assert reference() is None


def test_grad_leaves_nothing_behind():
    x = leaf()
    saved = Saved()
    with saved:
        y = (x.sin() * 3).sum()
    (g,) = torch.autograd.grad(y, x)
    reference = weakref.ref(g)
    del g
    assert reference() is None and len(saved.alive) == 0


def test_create_graph_makes_no_cycle_with_grad():
    x = leaf()
    y = x.exp().sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    references = watched(y), watched(g)
    del y, g
    assert [reference() for reference in references] == [None, None]


def test_hooks_that_name_their_own_tensor_do_not_keep_other_graphs():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: None)
    y.retain_grad()
    reference, itself = watched(y), weakref.ref(y)
    y.sum().backward()
    del y
    assert reference() is None and itself() is None


def test_removing_a_hook_frees_it():
    token = Token()
    reference = weakref.ref(token)
    x = leaf()
    handle = x.register_hook(lambda g, token=token: None)
    del token
    assert reference() is not None
    handle.remove()
    assert reference() is None


def test_a_handle_keeps_nothing_alive():
    x = leaf()
    reference = weakref.ref(x)
    handle = x.register_hook(lambda g: None)
    del x
    assert reference() is None
    handle.remove()


def test_a_view_keeps_its_base_alive_and_no_longer():
    x = torch.ones(4)
    view = x[1:]
    reference = weakref.ref(x)
    del x
    assert view.tolist() == [1.0] * 3
    del view
    assert reference() is None


def test_written_views_and_their_bases_die():
    x = leaf()
    y = x * 1
    view = y[:2]
    view.mul_(2)
    y[2] = 5
    view.add_(1)
    references = weakref.ref(y), weakref.ref(view), watched(y)
    del y, view
    assert [reference() for reference in references] == [None, None, None]


def test_a_function_of_ones_own_frees_its_context():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.token = Token()
            tokens.append(weakref.ref(ctx.token))
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, _ = ctx.saved_tensors
            return 2 * x * g

    tokens = []
    y = Square.apply(leaf())
    del y
    assert tokens.pop()() is None
    y = Square.apply(leaf())
    y.sum().backward()
    del y
    assert tokens.pop()() is None


def test_a_result_that_needs_no_gradient_holds_nothing():
    x = torch.ones(4)
    reference = weakref.ref(x)
    y = x * 2 + 1
    del x
    assert reference() is None and y.tolist() == [3.0] * 4


def test_a_detached_tensor_does_not_hold_the_graph():
    y = leaf() * 2
    reference = watched(y)
    kept = y.detach()
    del y
    assert reference() is None and kept.tolist() == [2.0] * 4


def test_a_training_loop_leaves_nothing_for_the_collector():
    weight = leaf()
    for step in range(20):
        loss = ((weight * 2 - 1).exp().sum() + (weight[:2] ** 2).mean()).log()
        loss.backward()
        with torch.no_grad():
            weight -= 0.01 * weight.grad
        weight.grad = None
        if step == 4:
            gc.collect()
    del loss
    assert not [thing for thing in garbage() if isinstance(thing, torch.Tensor)]


def garbage():
    """What only the collector can free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return list(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's memory is not Python's to trace")
def test_memory_after_two_thousand_steps_is_that_after_one_thousand():
    import tracemalloc

    weight = leaf(1000)

    def steps(count):
        for _ in range(count):
            (weight.exp() * weight).sum().backward()
            weight.grad = None

    steps(10)
    tracemalloc.start()
    try:
        steps(2500)  # Python keeps up to 2,000 freed tuples of each length for later use
        before = tracemalloc.get_traced_memory()[0]
        steps(1000)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 5_000


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's memory is not Python's to trace")
def test_backward_holds_a_few_gradients_at_a_time_not_one_for_each_node():
    import tracemalloc

    y = x = leaf(100_000)
    for _ in range(50):
        y = y + 1.0
    y = y.sum()
    tracemalloc.start()
    try:
        y.backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * x.nelement() * x.element_size()
