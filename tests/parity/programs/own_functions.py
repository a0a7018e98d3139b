"""Functions of one's own: a swish, a step with a straight-through gradient, and one that is wrong."""


def main(torch):
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, beta):
            s = torch.sigmoid(beta * x)
            ctx.save_for_backward(x, s)
            ctx.beta = beta
            return x * s

        @staticmethod
        def backward(ctx, g):
            x, s = ctx.saved_tensors
            print("wanted:", ctx.needs_input_grad)
            return g * (s + ctx.beta * x * s * (1 - s)), None

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return (x > 0).to(x.dtype)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-1, 1)

    class TooMany(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    x = torch.linspace(-2, 2, 5, requires_grad=True)
    y = Swish.apply(x, 1.5)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    z = Step.apply(x)
    (z * torch.arange(5.0)).sum().backward()
    wrong = TooMany.apply(x)
    return [y, g.detach(), second, z, x.grad, y.grad_fn.name(), wrong, lambda: wrong.sum().backward()]
