"""`autograd.Function`: operations of one's own."""

import math

from subject import raises, torch

Function = torch.autograd.Function


def leaf(*numbers):
    return torch.tensor(numbers or (1.0, 2.0, 3.0), requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Scale(Function):
    """Written the newer way: forward does not see the context."""

    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        _x, factor = inputs
        ctx.factor = factor
        ctx.shape = output.shape

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def test_backward_is_the_gradient():
    x = leaf()
    y = Square.apply(x)
    assert y.tolist() == [1.0, 4.0, 9.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_the_node_is_named_after_the_class():
    y = Square.apply(leaf())
    assert y.grad_fn.name() == "SquareBackward" == type(y.grad_fn).__name__
    assert "grad_fn=<SquareBackward>" in repr(y)
    assert y.grad_fn.next_functions[0][0].variable.tolist() == [1.0, 2.0, 3.0]


def test_forward_may_be_written_without_the_context():
    x = leaf()
    y = Scale.apply(x, 5)
    y.sum().backward()
    assert y.tolist() == [5.0, 10.0, 15.0] and x.grad.tolist() == [5.0] * 3


def test_setup_context_sees_the_inputs_and_the_output():
    seen = {}

    class Watch(Function):
        @staticmethod
        def forward(x, y, z):
            return x + y, x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.update(inputs=inputs, output=output)

        @staticmethod
        def backward(ctx, first, second):
            return first + 2 * second, first, None

    x, y = leaf(), leaf()
    Watch.apply(x, y, "text")
    assert seen["inputs"][0] is x and seen["inputs"][1] is y and seen["inputs"][2] == "text"
    assert len(seen["output"]) == 2


def test_forward_runs_with_recording_off():
    seen = []

    class Watch(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            seen.append((torch.is_grad_enabled(), y.requires_grad))
            return y

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            return g

    x = leaf()
    y = Watch.apply(x)
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [(False, False), False, True]


def test_without_a_gradient_to_give_there_is_no_node():
    y = Square.apply(torch.ones(3))
    assert y.grad_fn is None and not y.requires_grad
    with torch.no_grad():
        assert not Square.apply(leaf()).requires_grad


def test_saved_tensors_come_back_as_they_were():
    seen = []

    class Watch(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g

    x = leaf()
    y = Watch.apply(x)
    y.sum().backward()
    assert seen[0] is x and seen[1] is None and torch.equal(seen[2], y)


def test_saved_tensors_are_freed_after_backward():
    y = Square.apply(leaf())
    y.sum().backward()
    text = "Trying to backward through the graph a second time (or directly access saved tensors after they have"
    with raises(RuntimeError, text):
        y.sum().backward()
    with raises(RuntimeError, text):
        y.grad_fn.saved_tensors


def test_saved_tensors_are_checked_for_writes():
    x = leaf() * 1
    y = Square.apply(x)
    x.add_(1)
    with raises(RuntimeError, "has been modified by an inplace operation: [torch.FloatTensor [3]]"):
        y.sum().backward()


def test_saved_tensors_go_through_the_hooks_of_saved_tensors():
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t * 10, lambda t: t):
        x = leaf()
        y = Square.apply(x)
    y.sum().backward()
    assert len(packed) == 1 and x.grad.tolist() == [20.0, 40.0, 60.0]


def test_needs_input_grad_says_which_are_wanted():
    seen = []

    class Watch(Function):
        @staticmethod
        def forward(ctx, x, y, n):
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None, None

    Watch.apply(leaf(), torch.ones(3), 3).sum().backward()
    assert seen == [(True, False, False)]


def test_needs_input_grad_follows_what_was_asked_for():
    seen = []

    class Watch(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, g

    x, y = leaf(), leaf()
    torch.autograd.grad(Watch.apply(x, y).sum(), y)
    assert seen == [(True, True)] or seen == [(False, True)]


def test_none_is_no_gradient():
    class Stop(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf()
    Stop.apply(x).sum().backward()
    assert x.grad is None
    assert torch.autograd.grad(Stop.apply(x).sum(), x, allow_unused=True) == (None,)


def test_functions_differentiate_twice_through_their_backward():
    x = torch.tensor(3.0, requires_grad=True)
    (first,) = torch.autograd.grad(Square.apply(x) * x, x, create_graph=True)
    assert first.item() == 27.0
    assert torch.autograd.grad(first, x)[0].item() == 18.0


def test_once_differentiable_refuses_the_second_time():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * g

    x, v = leaf(), leaf()
    (first,) = torch.autograd.grad(Once.apply(x), x, v, create_graph=True)
    assert first.requires_grad
    with raises(RuntimeError, "trying to differentiate twice a function that was marked with @once_differentiable"):
        first.sum().backward()


def test_attributes_of_the_context_carry_anything():
    class Attributes(Function):
        @staticmethod
        def forward(ctx, x, power):
            ctx.power = power
            ctx.save_for_backward(x)
            return x**power

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.power * x ** (ctx.power - 1), None

    x = leaf()
    y = Attributes.apply(x, 3)
    assert y.grad_fn.power == 3
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0, 27.0]


def test_a_backward_may_call_autograd_itself():
    class ByAutograd(Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                y = inner.sin() * inner
            ctx.inner, ctx.y = inner, y
            return y.detach()

        @staticmethod
        def backward(ctx, g):
            return torch.autograd.grad(ctx.y, ctx.inner, g)[0]

    x = leaf()
    ByAutograd.apply(x).sum().backward()
    for value, slope in zip((1.0, 2.0, 3.0), x.grad.tolist(), strict=True):
        assert math.isclose(slope, math.sin(value) + value * math.cos(value), rel_tol=1e-5)


def test_a_function_may_call_another():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Square.apply(x) + 1

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf()
    Outer.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_gradient_of_another_precision_is_cast_and_one_that_was_broadcast_is_summed():
    class Loose(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return torch.ones(2, 3, dtype=torch.float64)

    x = leaf()
    Loose.apply(x).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [2.0] * 3
