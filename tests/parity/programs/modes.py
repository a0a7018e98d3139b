"""Recording switched off and on: contexts, decorators, generators, inference mode."""


def main(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []

    def note(name, y):
        seen.append((name, y.requires_grad, y.is_leaf, torch.is_grad_enabled()))

    note("plain", x * 2)
    with torch.no_grad():
        note("no_grad", x * 2)
        with torch.enable_grad():
            note("enabled inside", x * 2)
        made = torch.ones(2, requires_grad=True)
    with torch.set_grad_enabled(False):
        note("set off", x * 2)

    @torch.no_grad()
    def quiet(x):
        return x * 2

    @torch.enable_grad()
    def loud(x):
        return x * 2

    note("decorated", quiet(x))
    with torch.no_grad():
        note("decorated inside", loud(x))

    @torch.no_grad()
    def stream(x):
        for _ in range(2):
            yield x * 2

    for y in stream(x):
        note("generator", y)
    with torch.inference_mode():
        frozen = x * 2
        note("inference", frozen)
    (made * 3).sum().backward()
    constant = quiet(x)
    (x * constant).sum().backward()
    print(*seen, sep="\n")
    return [
        x.grad,
        made.grad,
        frozen.is_inference(),
        lambda: x * frozen,
        lambda: frozen.add_(1),
        lambda: frozen._version,
        lambda: frozen.requires_grad_(),
        frozen.clone() * 2,
        lambda: quiet(x).sum().backward(),
        lambda: torch.ones(2, dtype=torch.int64).requires_grad_(),
        lambda: (x * 2).requires_grad_(False),
        x.detach(),
        x.data,
    ]
