"""Writing into computed tensors and their views: what history is rewritten to."""


def main(torch):
    results = []
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 2
    row = y[0]
    column = y[:, 1]
    row.mul_(10)
    column += 5
    y[1, 2] = 7
    y.t()[0, 1:] *= 3
    results += [y, row, column, y._version, row._version]
    (y * y).sum().backward()
    results.append(x.grad.clone())

    a = torch.tensor([1.0, 2.0], requires_grad=True)
    buffer = torch.zeros(2, 2)
    early = buffer[1]
    buffer[0] = a
    buffer[1] = a.flip(0) * 3
    results += [buffer, early, early.requires_grad]
    (early * torch.tensor([1.0, 10.0])).sum().backward()
    results.append(a.grad)

    total = torch.zeros(2)
    for value in (1.0, 2.0, 3.0):
        total += a * value
        total *= 2
    a.grad = None
    total.sum().backward()
    results += [total, a.grad]

    mask = torch.tensor([True, False, True])
    z = x.detach().clone().requires_grad_()
    w = z.sin()
    v = w * 1
    v[:, mask] = 0
    v.masked_fill_(v > 0.5, -1.0)
    v.sum().backward()
    return [*results, v, z.grad, v.grad_fn.next_functions[0][0].name()]
