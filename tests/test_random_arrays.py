"""Random numbers on bare arrays without PyTorch at hand: numbers that PyTorch 2.13 gave, and what must hold of any."""

import copy
import hashlib
import math
import pickle

import numpy as np
import pytest

from tensorgrad.backends import box_muller, mt19937, random_integers
from tensorgrad.backends.random import Stream

F32 = np.dtype(np.float32)
SEED = 2024


def exactly(array, *hexadecimal):
    return [float(value).hex() for value in array.ravel()] == list(hexadecimal)


# Numbers that PyTorch 2.13 gave


def test_uniform_numbers():
    assert exactly(
        Stream(SEED).uniform((4,), F32),
        "0x1.103d100000000p-1", "0x1.a99bf40000000p-1", "0x1.f194c00000000p-1", "0x1.e8a8000000000p-4",
    )  # fmt: skip
    bound = 1 / math.sqrt(3)
    assert exactly(
        Stream(SEED).uniform((3,), F32, -bound, bound),
        "0x1.2c02980000000p-5", "0x1.87b2160000000p-2", "0x1.16f42a0000000p-1",
    )  # fmt: skip
    assert Stream(SEED).uniform((2,), np.float64).tolist() == [0.25372732026738665, 0.7747043317543358]
    assert Stream(SEED).uniform((3,), np.float16).tolist() == [0.53173828125, 0.8310546875, 0.9716796875]


def test_the_first_weights_of_a_linear_layer():
    stream, bound = Stream(0), 1 / math.sqrt(3)
    assert exactly(
        stream.uniform((2, 3), F32, -bound, bound),
        "-0x1.1b47d00000000p-8", "0x1.3d26260000000p-2", "-0x1.e696fc0000000p-2",
        "-0x1.b317920000000p-2", "-0x1.c769620000000p-3", "0x1.3d12a60000000p-3",
    )  # fmt: skip
    assert exactly(stream.uniform((2,), F32, -bound, bound), "-0x1.76d6800000000p-7", "0x1.d4c2f40000000p-2")


def test_normal_numbers():
    assert exactly(
        Stream(SEED).normal((5,), F32),
        "-0x1.4b321c0000000p-5", "0x1.b9da9e0000000p+0", "-0x1.a0c9b00000000p-1", "0x1.5f46500000000p+0",
        "0x1.030dd20000000p-1",
    )  # fmt: skip
    assert exactly(
        Stream(SEED).normal((20,), F32)[[0, 8, 15, 16, 19]],
        "-0x1.39ea920000000p+0", "0x1.6d18520000000p-1", "0x1.44c7aa0000000p-1", "-0x1.3e08d00000000p-4",
        "0x1.4e57e80000000p-1",
    )  # fmt: skip
    assert exactly(
        Stream(SEED).normal((2,), np.complex64).view(F32),
        "-0x1.d461aa0000000p-6", "0x1.38701e0000000p+0", "-0x1.26b6a80000000p-1", "0x1.f0c7020000000p-1",
    )  # fmt: skip


def test_half_precision_normal_numbers():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    numbers = Stream(SEED).normal((17,), bfloat16)[[0, 1, 16]]
    assert numbers.astype(F32).tolist() == [-1.2265625, 0.12353515625, 0.6328125]


def test_integers():
    assert Stream(SEED).randint((6,), np.int64, 0, 100).tolist() == [12, 50, 84, 60, 23, 80]
    wide = Stream(SEED).randint((2,), np.int64, -(2**40), 2**62)
    assert wide.tolist() == [1623577939848515066, 3672904714424322688]
    assert Stream(SEED).randperm(10).tolist() == [2, 3, 0, 8, 7, 5, 1, 9, 4, 6]
    long = Stream(SEED).randperm(2000)
    assert long[:5].tolist() == [1112, 1838, 840, 1853, 1975] and long @ np.arange(2000) == 2007668385


def test_choices():
    assert Stream(SEED).bernoulli((10,), np.int8, 0.3).tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert Stream(SEED).bernoulli((10,), np.int8, np.full(10, 0.3, F32)).tolist() == [0, 0, 0, 1, 1, 0, 1, 0, 0, 0]
    assert Stream(SEED).geometric((5,), np.int64, 0.2).tolist() == [7, 2, 5, 2, 1]
    weights = np.array([1, 2, 3, 4], F32)
    assert Stream(SEED).multinomial(weights, 4).tolist() == [2, 0, 3, 1]
    assert Stream(SEED).multinomial(weights, 6, replacement=True).tolist() == [1, 3, 2, 3, 3, 1]


def test_other_distributions():
    assert exactly(
        Stream(SEED).exponential((3,), F32, 2),
        "0x1.2bb02c0000000p-3", "0x1.7d87080000000p-1", "0x1.a218780000000p-3",
    )  # fmt: skip
    assert Stream(SEED).poisson(np.array([0.5, 3, 50], F32)).tolist() == [0, 4, 48]
    assert Stream(SEED).binomial(np.array([10, 1000], F32), np.array([0.2, 0.7], F32)).tolist() == [2, 690]
    assert exactly(
        Stream(SEED).standard_gamma(np.array([0.5, 2, 9], F32)),
        "0x1.7994000000000p-1", "0x1.84ca280000000p-1", "0x1.2921f60000000p+3",
    )  # fmt: skip


def test_seeds():
    assert exactly(Stream(-5).uniform((2,), F32), "0x1.dc93cc0000000p-1", "0x1.524a720000000p-1")
    assert exactly(Stream(2**40 + 1).uniform((2,), F32), "0x1.83e84a0000000p-1", "0x1.1e03ac0000000p-2")
    assert Stream().initial_seed == 67280421310721
    assert Stream(-1).initial_seed == 2**64 - 1


def test_the_state_is_pytorchs():
    stream = Stream(SEED)
    stream.uniform((1000,), F32)
    stream.normal((3,), F32)
    digest = hashlib.sha256(stream.state().tobytes()).hexdigest()
    assert digest == "d8aee9fb0db39a6e78729d731cc290f99007c314481d2e5336c6c740300d8974"


# What must hold of any numbers


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s)), Stream.copy])
def test_copies_go_on_alike_and_alone(copied):
    stream = Stream(3)
    stream.normal((3,), F32)
    other = copied(stream)
    assert other.initial_seed == 3
    first = other.normal((4,), F32)
    assert np.array_equal(stream.normal((4,), F32), first)
    assert np.array_equal(stream.state(), other.state())


def test_reseeding_is_unforeseeable():
    stream = Stream(0)
    assert len({stream.reseed() for _ in range(5)}) == 5


def test_a_long_draw_is_many_short_ones():
    long, short = Stream(1), Stream(1)
    whole = long.uniform((40000,), F32)
    sizes = [1, 2047, 2048, 16384, 16385, 3135]
    assert np.array_equal(whole, np.concatenate([short.uniform((size,), F32) for size in sizes]))
    assert np.array_equal(long.state(), short.state())


def test_permutations_with_and_without_a_loop(monkeypatch):
    permutations = {}
    for limit in (0, 10**9):
        monkeypatch.setattr(random_integers, "LOOP", limit)
        permutations[limit] = [Stream(size).randperm(size) for size in (2, 3, 10, 1000)]
    for first, second in zip(*permutations.values()):
        assert np.array_equal(first, second)
        assert np.array_equal(np.sort(first), np.arange(len(first)))


def test_single_precision_functions_against_double():
    x = np.linspace(2.0**-24, 1, 100001).astype(F32)
    assert np.abs(box_muller.log_single(x) - np.log(x.astype(float))).max() < 1e-6
    angle = np.linspace(0, 2 * math.pi, 100001).astype(F32)
    cos, sin = box_muller.cos_sin_single(angle)
    assert np.abs(cos - np.cos(angle.astype(float))).max() < 1.2e-7
    assert np.abs(sin - np.sin(angle.astype(float))).max() < 1.2e-7


def test_affine_is_rounded_once():
    from fractions import Fraction

    numbers = np.random.default_rng(0)
    x, scale, shift = (1 - 2.0**-53) * numbers.random(200), 0.1, -0.3
    exact = [float(Fraction(value) * Fraction(scale) + Fraction(shift)) for value in x.tolist()]
    assert mt19937.affine64(x, scale, shift).tolist() == exact
    # A tie that only the tiny shift decides, upwards and downwards
    tie = np.array([1 + 2.0**-23]), 1.5
    assert mt19937.affine32(*tie, 1e-20) == F32.type(1.5 + 2.0**-22)
    assert mt19937.affine32(*tie, -1e-20) == F32.type(1.5 + 2.0**-23)


@pytest.mark.parametrize(
    "draw, mean, variance",
    [
        (lambda s, n: s.uniform((n,), F32, -1, 3), 1, 16 / 12),
        (lambda s, n: s.normal((n,), F32, 2, 3), 2, 9),
        (lambda s, n: s.normal((n,), np.float64, 2, 3), 2, 9),
        (lambda s, n: s.normal((n,), F32, 2, 3, contiguous=False), 2, 9),
        (lambda s, n: s.exponential((n,), F32, 0.5), 2, 4),
        (lambda s, n: s.log_normal((n,), F32, 0, 0.5), math.exp(0.125), (math.exp(0.25) - 1) * math.exp(0.25)),
        (lambda s, n: s.geometric((n,), F32, 0.25), 4, 12),
        (lambda s, n: s.bernoulli((n,), F32, 0.3), 0.3, 0.21),
        (lambda s, n: s.randint((n,), np.int64, -3, 4), 0, 4),
        (lambda s, n: s.multinomial(np.array([1, 0, 3], F32), n, replacement=True), 1.5, 0.75),
        (lambda s, n: s.poisson(np.full(n, 3, F32)), 3, 3),
        (lambda s, n: s.poisson(np.full(n, 30, F32)), 30, 30),
        (lambda s, n: s.binomial(np.full(n, 20, F32), np.full(n, 0.25, F32)), 5, 3.75),
        (lambda s, n: s.binomial(np.full(n, 200, F32), np.full(n, 0.75, F32)), 150, 37.5),
        (lambda s, n: s.standard_gamma(np.full(n, 0.5, F32)), 0.5, 0.5),
        (lambda s, n: s.standard_gamma(np.full(n, 7, F32)), 7, 7),
    ],
)
def test_mean_and_variance(draw, mean, variance):
    numbers = draw(Stream(5), 20000).astype(np.float64)
    assert abs(numbers.mean() - mean) < 5 * math.sqrt(variance / numbers.size)
    assert abs(numbers.var() / variance - 1) < 0.1


def test_shapes():
    stream = Stream(0)
    for shape in ((), (0,), (0, 3), (2, 3), (2, 3, 4)):
        for numbers in (
            stream.uniform(shape, F32),
            stream.uniform(shape, np.complex128),
            stream.normal(shape, F32),
            stream.normal(shape, np.complex64),
            stream.randint(shape, np.int16, 0, 5),
            stream.random(shape, np.uint8),
            stream.bernoulli(shape, bool, 0.5),
            stream.bernoulli(shape, bool, np.full(shape[-1:], 0.5)),
            stream.exponential(shape, np.float16),
            stream.log_normal(shape, np.float64),
            stream.poisson(np.ones(shape)),
            stream.standard_gamma(np.ones(shape)),
            stream.binomial(np.ones(shape), np.ones(shape)),
            stream.normal_around(np.ones(shape), 1.0),
            stream.normal_around(np.ones(shape), np.ones(shape)),
        ):
            assert isinstance(numbers, np.ndarray) and numbers.shape == shape


def test_edges_of_the_rejection_samplers():
    stream = Stream(0)
    nan = math.nan
    counts, chances = np.array([5, 5, 5, 0, -2, nan, 5]), np.array([0, 1, 1.5, 0.5, 0.5, 0.5, nan])
    assert np.array_equal(stream.binomial(counts, chances), [0, 5, 5, 0, 0, nan, nan], equal_nan=True)
    assert stream.standard_gamma(np.zeros(2, F32)).tolist() == [2.0**-126] * 2
    assert stream.poisson(np.zeros(3)).tolist() == [0, 0, 0]
    shares = stream.dirichlet(np.array([[0.0, 1.0], [2.0, 3.0]]))
    assert np.allclose(shares.sum(-1), 1) and (shares > 0).all() and (shares < 1).all()


# Mistakes


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda s: s.seed(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda s: s.seed(1.5), RuntimeError, "manual_seed expected a long, but got float"),
        (lambda s: s.set_state(np.zeros(7, np.uint8)), RuntimeError, "found the input RNG state size to be 7"),
        (lambda s: s.set_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
        (lambda s: s.set_state(np.zeros(5056)), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda s: s.uniform((2,), F32, 1, 0), RuntimeError, "found from=1 > to=0"),
        (
            lambda s: s.uniform((2,), np.int64),
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Long'",
        ),
        (lambda s: s.normal((2,), F32, 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda s: s.randint((2,), np.int64, 5, 5), RuntimeError, "but got from=5 >= to=5"),
        (lambda s: s.randint((2,), np.uint8, 0, 257), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (lambda s: s.randperm(300, np.uint8), RuntimeError, "cannot be converted to type uint8_t without overflow"),
        (lambda s: s.bernoulli((2,), F32, 1.5), RuntimeError, "p to be in [0, 1], but got p=1.5"),
        (lambda s: s.bernoulli((1,), F32, np.array([2.0])), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true"),
        (lambda s: s.bernoulli((2, 3), F32, np.ones(4)), RuntimeError, "tensor (3) must match the existing size (4)"),
        (lambda s: s.multinomial(np.zeros(3), 1), RuntimeError, "sum of probabilities <= 0"),
        (lambda s: s.poisson(np.array([-1.0])), RuntimeError, "expected rate to be non-negative"),
    ],
)
def test_mistakes_are_told_in_pytorchs_words(call, kind, words):
    stream = Stream(0)
    with pytest.raises(kind) as error:
        call(stream)
    assert words in str(error.value)
    assert np.array_equal(stream.state(), Stream(0).state()), "a refused draw must leave the stream alone"
