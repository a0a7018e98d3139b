"""Reductions over every choice of dims, of ordinary, empty and strange numbers."""


def main(torch):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[3.0, -1.0, 2.0], [0.5, 4.0, -1.0]])
    strange = torch.tensor([[nan, 1.0, inf], [-inf, 2.0, 3.0]])
    results = []
    for t in (x, strange, x.double().T, (x * 2).int(), x > 0):
        for name in ("sum", "prod", "amax", "amin", "argmax", "argmin", "any", "all", "max", "min"):
            if t.dtype == torch.bool and name in ("argmax", "argmin"):
                continue
            function = getattr(t, name)
            results += [function(), function(0), function(1)]
        results += [t.cumsum(1), t.sum((0, 1), keepdim=True)]
    for t in (x, strange, x.double().T):
        for name in ("mean", "std", "var", "logsumexp", "softmax", "log_softmax", "norm"):
            function = getattr(t, name)
            results += [function(dim=0), function(dim=-1)]
        results += [t.cumprod(0), t.isnan(), t.isinf(), torch.maximum(t, t.flip(0))]
    empty = torch.zeros(0, 2)
    results += [empty.sum(), empty.sum(0), empty.mean(), empty.prod(1), empty.all(), empty.max(1)]
    leaf = torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 2.0]], requires_grad=True)
    for name in ("sum", "mean", "prod", "max", "min", "std", "norm", "amax"):
        results.append(torch.autograd.grad(getattr(leaf, name)(), leaf)[0])
    for name in ("amin", "logsumexp", "cumsum", "cumprod", "softmax"):
        results.append(torch.autograd.grad(getattr(leaf, name)(1).pow(2).sum(), leaf)[0])
    results.append(torch.autograd.grad(leaf.max(1).values.sum() + leaf.argmax(), leaf)[0])
    refused = [
        lambda: x.sum(2),
        lambda: x.sum((0, 0)),
        lambda: x.max(5),
        lambda: empty.max(),
        lambda: empty.argmax(0),
        lambda: x.int().mean(),
    ]
    return [*results, *refused]
