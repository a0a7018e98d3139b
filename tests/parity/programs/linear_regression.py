"""Fit a line by gradient descent, by hand."""


def main(torch):
    x = torch.randn(40, 3)
    truth = torch.tensor([1.0, -2.0, 0.5])
    y = x @ truth + 0.3 + 0.01 * torch.randn(40)
    weight = torch.zeros(3, requires_grad=True)
    bias = torch.zeros((), requires_grad=True)
    results, losses = [x[:2], y[:3]], []
    for step in range(30):
        loss = ((x @ weight + bias - y) ** 2).mean()
        loss.backward()
        if step == 0:
            results += [loss, weight.grad, bias.grad]
        with torch.no_grad():
            weight -= 0.1 * weight.grad
            bias -= 0.1 * bias.grad
        weight.grad = None
        bias.grad = None
        losses.append(loss.detach())
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    return [*results, torch.stack(losses), weight, bias, lambda: (x @ weight).backward()]
