"""Random numbers: the same seed gives PyTorch's numbers on the CPU; the state can be kept and put back."""

import pytest
from subject import close, raises, torch

LARGE = 2**40 + 5

DRAWS = {
    # name: (draw, {seed: numbers})
    "rand": (
        lambda: torch.rand(4),
        {0: [0.4962566, 0.7682218, 0.0884774, 0.1320305], LARGE: [0.8302519, 0.1261109, 0.9074697, 0.819927]},
    ),
    "rand double": (
        lambda: torch.rand(2, dtype=torch.float64),
        {0: [0.970053, 0.7078199], 42: [0.0581545, 0.0629102], LARGE: [0.642015, 0.2597579]},
    ),
    "randn, a few": (
        lambda: torch.randn(5),
        {
            0: [1.5409961, -0.2934289, -2.1787894, 0.5684313, -1.0845224],
            42: [0.3366904, 0.1288094, 0.2344624, 0.230333, -1.1228564],
        },
    ),
    "randn, sixteen": (
        lambda: torch.randn(16)[::5],
        {0: [-1.1258398, 0.6920092, 0.3499832, -0.2472782], 42: [1.9269153, -1.2345449, -0.3924786, 0.7624454]},
    ),
    "randn, nineteen": (
        lambda: torch.randn(19)[::6],
        {0: [-1.1258398, -0.3413604, 1.3893661, 2.0049806], 42: [1.9269153, 0.8008006, -0.2316243, 0.8034093]},
    ),
    "randn double": (
        lambda: torch.randn(3, dtype=torch.float64),
        {0: [1.5409961, -0.2934289, -2.1787894], 42: [0.3366904, 0.1288094, 0.2344624]},
    ),
    "randn double, eighteen": (
        lambda: torch.randn(18, dtype=torch.float64)[::6],
        {0: [-2.3104118, 0.1771894, -0.6870037], 42: [0.2995563, -0.0100855, 0.3923848]},
    ),
    "randint": (lambda: torch.randint(-5, 100, (5,)), {0: [69, 19, 93, 25, 38], 42: [52, -3, 41, 14, 76]}),
    "randint, a wide range": (
        lambda: torch.randint(0, 2**40, (3,)),
        {0: [741280623151, 506137267392, 291447657211], 42: [441507790259, 395924837646, 458615280711]},
    ),
    "randperm": (lambda: torch.randperm(7), {0: [4, 0, 5, 3, 2, 6, 1], 42: [1, 6, 3, 5, 4, 0, 2]}),
    "uniform_": (lambda: torch.empty(3).uniform_(2, 5), {0: [3.4887698, 4.3046656, 2.2654324]}),
    "normal": (lambda: torch.normal(1.0, 2.0, (3,)), {0: [4.0819921, 0.4131422, -3.3575788]}),
    "normal of tensors": (
        lambda: torch.normal(torch.tensor([0.0, 100.0]), torch.tensor([1.0, 2.0])),
        {0: [1.5409961, 99.4131393], 42: [0.3366904, 100.2576218]},
    ),
    "rand half": (lambda: torch.rand(3, dtype=torch.float16), {0: [0.4963379, 0.7680664, 0.088501]}),
    "rand bfloat16": (lambda: torch.rand(3, dtype=torch.bfloat16), {0: [0.4960938, 0.7695312, 0.0883789]}),
    "normal and uniform in turn": (
        lambda: torch.cat([torch.randn(3), torch.rand(1), torch.randn(2), torch.rand(1)]),
        {
            0: [1.5409961, -0.2934289, -2.1787894, 0.455628, 0.5684313, 0.647248, 0.1688589],
            42: [0.3366904, 0.1288094, 0.2344624, 0.9407715, 0.230333, 1.5231339, 0.5677153],
        },
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_of_a_seed(name):
    draw, answers = DRAWS[name]
    for seed, numbers in answers.items():
        torch.manual_seed(seed)
        result = draw()
        assert result.tolist() == numbers or close(result.double(), numbers, 1e-6)


def test_the_same_seed_gives_the_same_and_the_stream_goes_on():
    torch.manual_seed(3)
    first, second = torch.rand(5), torch.rand(5)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(10), torch.cat([first, second]))
    assert not torch.equal(first, second)
    assert torch.initial_seed() == 3


def test_a_state_can_be_kept_and_put_back():
    torch.randn(3)  # one normal number is waiting
    state = torch.get_rng_state()
    first = torch.cat([torch.randn(3), torch.rand(3)])
    torch.set_rng_state(state)
    assert torch.equal(torch.cat([torch.randn(3), torch.rand(3)]), first)
    assert state.dtype == torch.uint8 and state.shape == (5056,)


def test_a_generator_has_a_stream_of_its_own():
    generator = torch.Generator()
    assert generator.manual_seed(3) is generator and generator.initial_seed() == 3
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    assert torch.equal(torch.rand(4, generator=generator), expected)
    assert torch.equal(torch.get_rng_state(), before)
    state = generator.get_state()
    more = torch.randperm(5, generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.randperm(5, generator=generator), more)
    other = torch.Generator().manual_seed(3)
    assert torch.equal(torch.empty(4).uniform_(generator=other), expected)


def test_fork_keeps_the_state():
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    with torch.random.fork_rng():
        torch.rand(100)
    assert torch.equal(torch.rand(2), expected)


def test_negative_seeds_count_from_the_end():
    torch.manual_seed(-1)
    first = torch.rand(2)
    torch.manual_seed(2**64 - 1)
    assert torch.equal(torch.rand(2), first)


def test_bernoulli_draws_with_its_probabilities():
    p = torch.tensor([0.0, 1.0, 0.25])
    draws = torch.stack([torch.bernoulli(p) for _ in range(2000)])
    assert set(draws.flatten().tolist()) == {0.0, 1.0}
    assert draws[:, 0].sum().item() == 0 and draws[:, 1].sum().item() == 2000
    assert abs(draws[:, 2].mean().item() - 0.25) < 0.05
    assert torch.empty(3).bernoulli_(1.0).tolist() == [1.0] * 3


def test_multinomial_draws_with_its_weights():
    weights = torch.tensor([0.0, 1.0, 3.0])
    draws = torch.multinomial(weights, 4000, replacement=True)
    assert draws.dtype == torch.int64 and draws.min().item() == 1
    assert abs((draws == 2).float().mean().item() - 0.75) < 0.05
    assert sorted(torch.multinomial(weights, 2).tolist()) == [1, 2]
    assert torch.multinomial(torch.ones(3, 4), 2).shape == (3, 2)


def test_distributions_have_their_moments():
    x = torch.randn(50_000)
    assert abs(x.mean().item()) < 0.03 and abs(x.std().item() - 1) < 0.03
    u = torch.rand(50_000)
    assert 0 <= u.min().item() and u.max().item() < 1 and abs(u.mean().item() - 0.5) < 0.01
    e = torch.empty(50_000).exponential_(2.0)
    assert e.min().item() >= 0 and abs(e.mean().item() - 0.5) < 0.02


def test_random_tensors_that_are_written_in_place_are_counted():
    x = torch.ones(3)
    x.uniform_()
    x.normal_()
    assert x._version == 2


@pytest.mark.parametrize(
    ("draw", "kind", "text"),
    [
        (lambda: torch.randint(5, 5, (2,)), RuntimeError, "random_ expects 'from' to be less than 'to'"),
        (lambda: torch.randperm(-1), RuntimeError, ""),
        (lambda: torch.bernoulli(torch.ones(3) * 2), RuntimeError, "p_in >= 0 && p_in <= 1"),
        (
            lambda: torch.multinomial(torch.ones(4), 5),
            RuntimeError,
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
        ),
        (
            lambda: torch.multinomial(torch.tensor([-1.0, 1.0]), 1),
            RuntimeError,
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            lambda: torch.multinomial(torch.zeros(3), 1),
            RuntimeError,
            "invalid multinomial distribution (sum of probabilities <= 0)",
        ),
        (
            lambda: torch.normal(torch.zeros(2), torch.tensor([-1.0, 1.0])),
            RuntimeError,
            "normal expects all elements of std >= 0.0",
        ),
        (
            lambda: torch.ones(3).uniform_(2, 1),
            RuntimeError,
            "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
        ),
        (lambda: torch.rand(2, dtype=torch.int64), NotImplementedError, "not implemented for 'Long'"),
        (lambda: torch.ones(3, dtype=torch.int64).normal_(), NotImplementedError, "not implemented for 'Long'"),
        (lambda: torch.manual_seed("a"), ValueError, "invalid literal for int() with base 10: 'a'"),
    ],
)
def test_what_is_refused(draw, kind, text):
    with raises(kind, text):
        draw()
