"""Checkpoints: forget the inside of a layer, walk it again within backward; two roots, edges and partial inputs."""


def main(torch):
    class Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, function, *inputs):
            ctx.function = function
            ctx.save_for_backward(*inputs)
            return function(*inputs)

        @staticmethod
        def backward(ctx, g):
            inputs = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
            with torch.enable_grad():
                output = ctx.function(*inputs)
            torch.autograd.backward(output, g)
            return None, *(x.grad for x in inputs)

    x = torch.linspace(0.1, 1, 4, requires_grad=True)
    w = torch.tensor(2.0, requires_grad=True)

    def layer(x, w):
        return (x * w).sin() + x

    y, plain = x, x
    for _ in range(3):
        y = Checkpoint.apply(layer, y, w)
        plain = layer(plain, w)
    y.sum().backward()
    by_checkpoint = [x.grad.clone(), w.grad.clone()]
    x.grad = w.grad = None
    torch.autograd.backward([plain.sum(), plain * 0], [None, torch.ones(4)])
    results = [y, plain, *by_checkpoint, x.grad, w.grad]
    z = layer(x, w)
    u = z.exp()
    u.sum().backward(inputs=[w, z])
    results += [w.grad, z.grad, x.grad]
    unused = torch.ones(2, requires_grad=True)
    results += [
        torch.autograd.grad(layer(x, w).sum(), [w, unused], allow_unused=True),
        torch.autograd.grad(layer(x, w).sum(), [w, unused], materialize_grads=True),
        lambda: torch.autograd.grad(layer(x, w).sum(), unused),
        lambda: torch.autograd.grad(layer(x, w), x),
        lambda: torch.autograd.grad(layer(x, w), x, torch.ones(3)),
        lambda: torch.autograd.grad(layer(x, w).sum(), torch.ones(2)),
        lambda: torch.ones(2).sum().backward(),
        lambda: u.sum().backward(),
        lambda: x.sum().backward(inputs=[]),
        lambda: torch.autograd.backward([x.sum(), x.sum()], [torch.ones(())]),
    ]
    return results
