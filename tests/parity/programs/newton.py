"""Newton's method on the Rosenbrock valley, with Hessians from gradients of gradients."""


def main(torch):
    def valley(p):
        return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

    def gradient_and_hessian(p):
        p = p.detach().requires_grad_()
        (g,) = torch.autograd.grad(valley(p), p, create_graph=True)
        rows = [torch.autograd.grad(g[i], p, retain_graph=True)[0] for i in range(2)]
        return g.detach(), torch.stack(rows)

    def solve(a, b):  # Cramer's rule
        determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        return torch.stack([b[0] * a[1, 1] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0]]) / determinant

    p = torch.tensor([-1.2, 1.0], dtype=torch.float64)
    results = []
    for step in range(8):
        g, h = gradient_and_hessian(p)
        p = p - solve(h, g)
        print(f"{step} {valley(p).item():.6e}" if step < 5 else step)
        results += [g, h] if step < 3 else []
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    derivative, derivatives = (x.sin() * x).exp(), []
    for _ in range(5):
        (derivative,) = torch.autograd.grad(derivative, x, create_graph=True)
        derivatives.append(derivative.detach())
    (batched,) = torch.autograd.grad(
        (x * torch.ones(3)).exp() * torch.arange(3), x, torch.eye(3), is_grads_batched=True
    )
    results += [p, torch.stack(derivatives), batched, lambda: torch.autograd.grad(x.detach() * 2, x)]
    return [*results, lambda: torch.autograd.grad((x * 2).detach().requires_grad_(), x)]
