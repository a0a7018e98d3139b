"""Layer and batch normalization by hand, and a convolution by unfolding."""


def main(torch):
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    scale = torch.rand(6, dtype=torch.float64, requires_grad=True)

    def layer(x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, correction=0)
        return (x - mean) / (variance + 1e-5).sqrt() * scale

    def batch(x):
        deviation, mean = x.std(0, unbiased=False), x.mean(0)
        return (x - mean) / (deviation + 1e-5) * scale

    results = []
    for function in (layer, batch):
        y = function(x)
        loss = (y**3).sum()
        gradients = torch.autograd.grad(loss, (x, scale), create_graph=True)
        results += [y.detach(), *gradients]
        (second,) = torch.autograd.grad(sum((g**2).sum() for g in gradients), x)
        results.append(second)
        print(torch.autograd.gradcheck(function, x), torch.autograd.gradgradcheck(function, x))

    torch.manual_seed(1)  # checking draws numbers of its own
    image = torch.randn(1, 2, 6, 6, requires_grad=True)
    kernel = torch.randn(3, 2, 3, 3, requires_grad=True)
    patches = image.unfold(2, 3, 1).unfold(3, 3, 1)
    output = torch.einsum("bcijkl,ockl->boij", patches, kernel)
    output.relu().sum().backward()
    pooled = output.detach().unfold(2, 2, 2).unfold(3, 2, 2).amax((-2, -1))
    return [*results, patches.shape, patches.stride(), output, image.grad, kernel.grad, pooled]
