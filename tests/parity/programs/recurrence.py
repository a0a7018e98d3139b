"""A gated recurrent cell over a sequence, written as a loop, with gradients clipped by hand."""


def main(torch):
    inputs, hidden, length = 3, 4, 12
    time = torch.arange(length + 1) * 0.5
    series = torch.stack([time.sin(), time.cos(), (time * 0.5).sin()], dim=1)
    w = (torch.randn(inputs, 3 * hidden) * 0.3).requires_grad_()
    u = (torch.randn(hidden, 3 * hidden) * 0.3).requires_grad_()
    b = torch.zeros(3 * hidden, requires_grad=True)
    out = (torch.randn(hidden, inputs) * 0.3).requires_grad_()
    parameters = [w, u, b, out]

    def cell(x, h):
        xr, xz, xn = (x @ w + b).chunk(3, -1)
        hr, hz, hn = (h @ u).chunk(3, -1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        return (1 - z) * n + z * h

    losses, norms = [], []
    for step in range(8):
        h = torch.zeros(hidden)
        predictions = []
        for x in series[:-1]:
            h = cell(x, h)
            predictions.append(h @ out)
        loss = (torch.stack(predictions) - series[1:]).pow(2).mean()
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in parameters]).norm()
        with torch.no_grad():
            for p in parameters:
                p.grad.mul_(torch.clamp(1.0 / (norm + 1e-6), max=1.0))
                p.add_(p.grad, alpha=-0.5)
                p.grad.zero_()
        losses.append(loss.detach())
        norms.append(norm)
        print(f"{step} {loss.item():.3f}")
    return [torch.stack(losses), torch.stack(norms), h, w, b, b.grad, predictions[-1]]
