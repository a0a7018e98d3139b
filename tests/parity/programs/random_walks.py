"""Random numbers in many shapes and from many functions, all from one seed."""


def main(torch):
    results = []
    for seed in (0, 1, 12345, 2**33 + 7):
        torch.manual_seed(seed)
        results += [torch.rand(3), torch.randn(3), torch.rand(2, 2, dtype=torch.float64), torch.randn(20)]
        results += [torch.randn(17, dtype=torch.float64), torch.randn(1), torch.randint(10, (7,)), torch.randperm(9)]
        results += [
            torch.randint(-(2**40), 2**40, (3,)),
            torch.empty(3).uniform_(-1, 1),
            torch.empty(2, 9).normal_(5, 2),
        ]
        results += [
            torch.normal(torch.zeros(3), torch.ones(3)),
            torch.normal(0.0, 1.0, (18,)),
            torch.rand_like(torch.ones(2)),
        ]
        results += [torch.randn_like(torch.ones(4, 4)), torch.rand(3, dtype=torch.float16), torch.randn(2, 3).T]
    state = torch.get_rng_state()
    first = torch.randn(5)
    torch.set_rng_state(state)
    generator = torch.Generator().manual_seed(5)
    print(torch.equal(first, torch.randn(5)), torch.initial_seed(), generator.initial_seed())
    torch.manual_seed(3)
    walk = torch.randint(0, 2, (4, 50)).mul(2).sub(1).cumsum(1)
    results += [
        torch.rand(2, generator=generator),
        torch.randperm(4, generator=generator),
        walk[:, -1],
        walk.abs().max(),
    ]
    refused = [
        lambda: torch.randint(3, 3, (2,)),
        lambda: torch.multinomial(torch.ones(3), 4),
        lambda: torch.multinomial(torch.zeros(3), 1),
        lambda: torch.ones(2).uniform_(1, 0),
        lambda: torch.rand(2, dtype=torch.int64),
    ]
    return [*results, *refused]
