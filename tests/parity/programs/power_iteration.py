"""The largest eigenvalue by power iteration, and its gradient through the iteration and by formula."""


def main(torch):
    a = torch.randn(5, 5, dtype=torch.float64)
    a = (a @ a.T / 5).requires_grad_()
    v = torch.ones(5, dtype=torch.float64)
    for step in range(200):
        w = a @ v
        v = w / w.norm()
        if step % 50 == 0:
            print(f"{step} {(v @ a @ v).item():.4f}")
    value = v @ a @ v
    (through,) = torch.autograd.grad(value, a)
    by_formula = torch.outer(v, v).detach()
    residual = a.detach() @ v.detach() - value.detach() * v.detach()
    trace = a.diagonal().sum() + a.diagonal(1).prod() - a.diagonal(-1).pow(2).sum()
    (of_trace,) = torch.autograd.grad(trace, a)
    return [
        value,
        torch.allclose(through, by_formula, atol=1e-6),
        residual.abs().max() < 1e-6,
        trace,
        of_trace,
        torch.mv(a, v).dot(v),
        torch.bmm(a.detach().expand(2, 5, 5), a.detach().expand(2, 5, 5))[1],
        lambda: a @ torch.ones(4, dtype=torch.float64),
        lambda: a @ torch.ones(5),
        lambda: torch.mm(a, v),
        lambda: torch.bmm(a, a),
        lambda: torch.dot(v, torch.ones(3, dtype=torch.float64)),
    ]
