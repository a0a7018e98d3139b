"""Backward within backward: a hook or a function of one's own that starts another walk."""

from subject import raises, torch


class Checkpoint(torch.autograd.Function):
    """Forget what was computed, and compute it again when its gradient is wanted."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.function(x)
        torch.autograd.backward(y, g)
        return None, x.grad


def test_a_function_may_walk_a_graph_of_its_own():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = Checkpoint.apply(lambda x: x.sin().exp(), x * 2)
    y.sum().backward()
    again = torch.tensor([0.5, 1.0], requires_grad=True)
    (again * 2).sin().exp().sum().backward()
    assert torch.equal(x.grad, again.grad)


def test_walks_nest_deeply():
    def nested(depth):
        if depth == 0:
            return lambda x: x * 2
        inner = nested(depth - 1)
        return lambda x: Checkpoint.apply(inner, x) * 1.0

    x = torch.ones(2, requires_grad=True)
    nested(30)(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_inner_walk_accumulates_in_the_leaves_of_the_function():
    weight = torch.tensor(3.0, requires_grad=True)
    x = torch.tensor(2.0, requires_grad=True)
    y = Checkpoint.apply(lambda x: x * weight, x)
    y = Checkpoint.apply(lambda x: x * weight, y)
    y.backward()
    assert weight.grad.item() == 2 * 2.0 * 3.0 and x.grad.item() == 9.0


def test_a_hook_may_walk_another_graph():
    other = torch.ones(3, requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def hook(g):
        with torch.enable_grad():
            (other * 5).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    assert other.grad.tolist() == [5.0] * 3 and x.grad.tolist() == [2.0, 2.0]


def test_an_inner_walk_does_not_run_what_waits_outside():
    order = []
    x = torch.ones(2, requires_grad=True)
    first, second = x * 2, x * 3

    def inner(g):
        order.append("outer begins")
        with torch.enable_grad():
            z = torch.ones(1, requires_grad=True) * 2
        z.register_hook(lambda g: order.append("inner"))
        z.backward()
        order.append("outer ends")

    second.register_hook(inner)
    first.register_hook(lambda g: order.append("other branch"))
    (first + second).sum().backward()
    begin = order.index("outer begins")
    assert order[begin : begin + 3] == ["outer begins", "inner", "outer ends"]
    assert "other branch" in order and x.grad.tolist() == [5.0, 5.0]


def test_an_error_in_the_inner_walk_comes_out_of_the_outer_one():
    def fail(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda g: 1 / 0)
        return y

    x = torch.ones(2, requires_grad=True)
    with raises(ZeroDivisionError, "division by zero"):
        Checkpoint.apply(fail, x).sum().backward()
    assert x.grad is None
    Checkpoint.apply(lambda x: x * 2, x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_inner_walk_frees_only_its_own_graph():
    x = torch.ones(2, requires_grad=True)
    side = torch.ones(2, requires_grad=True)
    held = (side * side).sum()

    def hook(g):
        held.backward(retain_graph=True)

    y = x * x
    y.register_hook(hook)
    y.sum().backward()
    held.backward()
    assert side.grad.tolist() == [4.0, 4.0] and x.grad.tolist() == [2.0, 2.0]
