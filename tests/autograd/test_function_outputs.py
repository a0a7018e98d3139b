"""`autograd.Function` with several outputs, some without gradients, some no tensors at all."""

from subject import torch

Function = torch.autograd.Function


def leaf(*numbers):
    return torch.tensor(numbers or (1.0, 2.0, 3.0), requires_grad=True)


def test_several_outputs_share_one_node():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second

    x = leaf()
    a, b = Two.apply(x)
    assert a.grad_fn is b.grad_fn and (a.output_nr, b.output_nr) == (0, 1)
    (a * 10 + b).sum().backward()
    assert x.grad.tolist() == [23.0] * 3


def test_an_output_without_gradient_gets_zeros_unless_told_otherwise():
    seen = []

    class Two(Function):
        materialize = True

        @classmethod
        def of(cls, materialize):
            return type("Two", (cls,), {"materialize": materialize})

        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            seen.append(second if second is None else second.tolist())
            return 2 * first, None

    for materialize in (True, False):
        Two.apply(leaf(), materialize)[0].sum().backward()
    assert seen == [[0.0] * 3, None]


def test_outputs_marked_non_differentiable_need_no_gradient():
    class Reorder(Function):
        @staticmethod
        def forward(ctx, x):
            order = torch.tensor([1, 2, 0])
            twice = x * 2
            ctx.mark_non_differentiable(order, twice)
            ctx.save_for_backward(order)
            return x[order], order, twice

        @staticmethod
        def backward(ctx, g, g_order, g_twice):
            (order,) = ctx.saved_tensors
            result = torch.zeros_like(g)
            result[order] = g
            return result

    x = leaf(3.0, 1.0, 2.0)
    values, order, twice = Reorder.apply(x)
    assert values.requires_grad and not order.requires_grad and not twice.requires_grad
    (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_integer_outputs_need_no_gradient_without_being_marked():
    class Floor(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x.long()

        @staticmethod
        def backward(ctx, g, unused):
            return g

    values, integers = Floor.apply(leaf())
    assert values.requires_grad and not integers.requires_grad


def test_outputs_that_are_not_tensors_pass_through():
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "text", 3

        @staticmethod
        def backward(ctx, g, *rest):
            assert rest == (None, None)
            return g * 2

    x = leaf()
    y, text, number = Mixed.apply(x)
    assert (text, number) == ("text", 3)
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3
