"""Complex tensors: parts, conjugates, gradients, and descent to a root."""


def main(torch):
    z = torch.tensor([1 + 2j, -0.5j, 3 + 0j], requires_grad=True)
    results = [z.detach().real, z.detach().imag, z.abs(), torch.view_as_real(z.detach())]
    for function in (
        lambda z: (z * z.conj()).real.sum(),
        lambda z: z.abs().sum(),
        lambda z: (z**3).imag.sum(),
        lambda z: (z.exp() * (1 + 1j)).real.sum(),
        lambda z: (z / (z + 2j)).abs().sum(),
        lambda z: torch.view_as_real(z).pow(3).sum(),
        lambda z: (z @ z).real,
        lambda z: (z.reshape(3, 1) @ z.reshape(1, 3)).abs().sum(),
    ):
        results.append(torch.autograd.grad(function(z), z)[0])
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * torch.tensor([1j, 2 + 1j])).abs().sum().backward()
    results.append(x.grad)
    root = torch.tensor(0.5 + 0.5j, dtype=torch.complex128, requires_grad=True)
    for _ in range(200):
        loss = (root**2 + 1).abs() ** 2
        loss.backward()
        with torch.no_grad():
            root -= 0.02 * root.grad
        root.grad = None
    print(f"{root.real.item():.4f} {root.imag.item():.4f}")
    refused = [
        lambda: (z * 2).sum().backward(),
        lambda: z < z,
        lambda: torch.tensor([1.0]).imag,
        lambda: torch.view_as_complex(torch.ones(3)),
        lambda: z.backward(torch.ones(3)),
    ]
    return [*results, root, torch.tensor([1 + 1j]).conj().resolve_conj(), z.detach().sum(), *refused]
