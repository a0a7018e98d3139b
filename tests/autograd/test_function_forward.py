"""`autograd.Function` in forward mode and under vmap, by the rules that it brings."""

from subject import raises, torch

Function = torch.autograd.Function
forward_ad = torch.autograd.forward_ad


def test_the_jvp_is_the_tangent():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * ctx.saved_tensors[0] ** 2 * tangent

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 10.0]))
        value, tangent = forward_ad.unpack_dual(Cube.apply(dual))
    assert value.tolist() == [8.0, 27.0] and tangent.tolist() == [12.0, 270.0]


def test_without_a_jvp_there_is_no_tangent():
    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with raises(
            NotImplementedError,
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
        ):
            Mine.apply(dual)


def test_its_own_rule_maps_it_over_a_dimension():
    class Sum(Function):
        @staticmethod
        def forward(x):
            return x.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.shape = inputs[0].shape

        @staticmethod
        def backward(ctx, g):
            return g.expand(ctx.shape)

        @staticmethod
        def vmap(info, in_dims, x):
            rows = x.movedim(in_dims[0], 0)
            return rows.reshape(info.batch_size, -1).sum(1) * 10, 0

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.vmap(Sum.apply)(x).tolist() == [30.0, 120.0]
    assert torch.vmap(Sum.apply, in_dims=1)(x).tolist() == [30.0, 50.0, 70.0]


def test_a_rule_can_be_generated():
    class Square(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(torch.vmap(Square.apply)(x), x * x)


def test_without_a_rule_it_is_not_mapped():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    with raises(RuntimeError, ""):
        torch.vmap(Square.apply)(torch.ones(2, 3))
