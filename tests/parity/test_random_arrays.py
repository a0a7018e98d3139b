"""Random numbers on bare arrays beside PyTorch's: the same seed, the same bits, and the same state afterwards."""

import math

import ml_dtypes
import numpy as np
import pytest
import torch

from tensorgrad.backends.random import Stream

SIZES = (0, 1, 2, 5, 15, 16, 17, 31, 32, 100, 1000, 10007)
FLOATS = ("float16", "bfloat16", "float32", "float64")
SMALL_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def array_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def as_array(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def as_tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def ulps(first, second):
    """How many representable numbers lie between two arrays, at most."""
    integer = {2: np.int16, 4: np.int32, 8: np.int64}[first.dtype.itemsize]
    ordered = [
        np.where(a.view(integer) < 0, np.iinfo(integer).min - a.view(integer), a.view(integer)) for a in (first, second)
    ]
    return int(np.abs(ordered[0] - ordered[1]).max(initial=0))


def pair(seed=7):
    torch.manual_seed(seed)
    return Stream(seed)


def assert_same(stream, ours, theirs, most_ulps=0):
    """The same numbers, and the generators at the same place."""
    theirs = as_array(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if most_ulps:
        assert ulps(ours, theirs) <= most_ulps
    else:
        differ = np.flatnonzero((bits(ours) != bits(theirs)).ravel())
        assert not differ.size, f"{differ.size} bytes differ, the first in number {differ[0] // ours.dtype.itemsize}"
    assert np.array_equal(stream.state(), torch.get_rng_state().numpy())


# Seeds and states


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**63, 2**64 - 1, -1, -(2**63)])
def test_seeds(seed):
    stream = pair(seed)
    assert stream.initial_seed == torch.initial_seed()
    assert_same(stream, stream.uniform((100,), np.float32), torch.rand(100))


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, "a", None, True])
def test_bad_seeds(seed):
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        torch.Generator().manual_seed(seed)
    with pytest.raises(theirs.type) as ours:
        Stream().seed(seed)
    assert str(ours.value) == str(theirs.value)


def test_new_generators_have_the_same_seed():
    assert Stream().initial_seed == torch.Generator().initial_seed()


@pytest.mark.parametrize("drawn", [0, 1, 311, 623, 624, 625, 1247, 1248, 5000])
def test_states_are_equal_byte_for_byte(drawn):
    stream = pair()
    stream.uniform((drawn,), np.float32)
    torch.rand(drawn)
    assert np.array_equal(stream.state(), torch.get_rng_state().numpy())


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625])
def test_states_travel_both_ways(drawn):
    stream = pair()
    torch.rand(drawn)
    torch.empty(3).normal_()  # leaves a normal number waiting
    stream.set_state(torch.get_rng_state().numpy())
    assert_same(stream, stream.normal((3,), np.float64), torch.randn(3, dtype=torch.float64))

    stream.uniform((drawn,), np.float64)
    stream.normal((1,), np.float32)
    torch.set_rng_state(torch.from_numpy(stream.state()))
    assert_same(stream, stream.normal((5,), np.float32), torch.randn(5))
    assert_same(stream, stream.uniform((700,), np.float32), torch.rand(700))


@pytest.mark.parametrize(
    "state", [np.zeros(5055, np.uint8), np.zeros(5056, np.uint8), np.zeros((2, 2528), np.uint8), np.zeros(5056), [1]]
)
def test_bad_states(state):
    theirs_state = torch.from_numpy(state) if isinstance(state, np.ndarray) else state
    with pytest.raises((RuntimeError, TypeError)) as theirs:
        torch.Generator().set_state(theirs_state)
    with pytest.raises(theirs.type) as ours:
        Stream().set_state(state)
    if isinstance(state, np.ndarray):
        assert str(ours.value) == str(theirs.value)


# Continuous distributions


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("size", SIZES)
def test_rand(size, dtype):
    stream = pair()
    assert_same(stream, stream.uniform((size,), array_dtype(dtype)), torch.rand(size, dtype=getattr(torch, dtype)))


BOUNDS = [
    (-1, 1),
    (-0.1, 0.1),
    (0, 3),
    (0.3, 7.7),
    (-1e-3, 5),
    (1000, 1000.1),
    (1e-20, 3),
    (-1e-30, 0.7),
    (2, 2),
    (-7.25, -7.2499995),
    (-3e4, 3e4),
    *((-1 / math.sqrt(fan), 1 / math.sqrt(fan)) for fan in (1, 2, 3, 5, 7, 10, 27, 64, 100, 147, 784, 4096, 12345)),
    *((-math.sqrt(6 / fan), math.sqrt(6 / fan)) for fan in (3, 11, 300, 999)),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_uniform_between(bounds, dtype):
    stream = pair(3)
    tensor = torch.empty(40000, dtype=getattr(torch, dtype)).uniform_(*bounds)
    assert_same(stream, stream.uniform((40000,), array_dtype(dtype), *bounds), tensor)


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("size", SIZES)
def test_normal(size, dtype, contiguous):
    stream = pair()
    whole = torch.empty(2 * size, dtype=getattr(torch, dtype))
    for mean, std in ((0, 1), (0.3, 1.7), (1e-25, 3), (5, 0), (-2, 0.1)):
        tensor = (whole[:size] if contiguous else whole[::2]).normal_(mean, std)
        ours = stream.normal((size,), array_dtype(dtype), mean, std, contiguous=contiguous or size < 2)
        assert_same(stream, ours, tensor.contiguous())


def test_many_normals_are_equal_to_the_last_bit():
    stream = pair(11)
    assert_same(stream, stream.normal((1 << 21,), np.float32), torch.randn(1 << 21))


def test_normals_wait_for_the_next_call():
    stream = pair()
    for size in (1, 3, 16, 2, 1, 20, 7):
        assert_same(stream, stream.normal((size,), np.float32), torch.randn(size))
        assert_same(stream, stream.uniform((size,), np.float64), torch.rand(size, dtype=torch.float64))
    stream.seed(5)
    torch.manual_seed(5)
    assert_same(stream, stream.normal((2,), np.float32), torch.randn(2))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", (1, 5, 100))
def test_normal_around_arrays(size, dtype):
    stream = pair()
    means = torch.linspace(-3, 3, size, dtype=torch.float64).to(getattr(torch, dtype))
    stds = torch.linspace(0, 2, size, dtype=torch.float64).to(getattr(torch, dtype))
    assert_same(stream, stream.normal_around(as_array(means), as_array(stds)), torch.normal(means, stds))
    assert_same(stream, stream.normal_around(as_array(means), 0.7), torch.normal(means, 0.7))
    assert_same(stream, stream.normal_around(0.3, as_array(stds)), torch.normal(0.3, stds))
    if dtype == "float32":
        column = means[:, None].contiguous()
        assert_same(stream, stream.normal_around(as_array(column), as_array(stds)), torch.normal(column, stds))
        wide = stds.double()
        assert_same(stream, stream.normal_around(as_array(means), as_array(wide)), torch.normal(means, wide))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_transformed_fractions(size, dtype):
    stream = pair()
    empty = torch.empty(size, dtype=getattr(torch, dtype))
    numpy_dtype = array_dtype(dtype)
    for rate in (1, 0.3, 7.1):
        assert_same(stream, stream.exponential((size,), numpy_dtype, rate), empty.exponential_(rate))
    for median, sigma in ((0, 1), (0.4, 2.3)):
        assert_same(stream, stream.cauchy((size,), numpy_dtype, median, sigma), empty.cauchy_(median, sigma))
    for mean, std in ((1, 2), (0.1, 0.3)):
        assert_same(stream, stream.log_normal((size,), numpy_dtype, mean, std), empty.log_normal_(mean, std))


def test_overflowing_log_normal():
    stream = pair()
    assert_same(stream, stream.log_normal((50,), np.float32, 80, 20), torch.empty(50).log_normal_(80, 20))
    ours = stream.log_normal((50,), np.float64, 700, 100)
    assert_same(stream, ours, torch.empty(50, dtype=torch.float64).log_normal_(700, 100), most_ulps=1)


# Integers and choices


@pytest.mark.parametrize("dtype", ["bool", *SMALL_INTEGERS, *FLOATS])
@pytest.mark.parametrize("size", SIZES)
def test_random_without_bounds(size, dtype):
    stream = pair()
    assert_same(
        stream, stream.random((size,), array_dtype(dtype)), torch.empty(size, dtype=getattr(torch, dtype)).random_()
    )


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@pytest.mark.parametrize("dtype", ["bool", *SMALL_INTEGERS, "uint16", "uint32", "uint64", *FLOATS])
@pytest.mark.parametrize(
    "bounds",
    [
        (0, 2), (0, 1), (0, 10), (-5, 5), (3, 100), (0, 128), (-128, 128), (0, 255), (0, 256), (1, None), (0, None),
        (100, None), (-(2**63), None), (-100, None), (0, 2049), (2047, 2050), (0, 4099), (0, 65504), (-65504, 70),
        (0, 70000), (0, 2**24 + 1), (0, 2**24 + 3), (0, 2**28 - 1), (0, 2**28), (0, 2**28 + 1),
        (-(2**31), 2**31), (0, 2**32 - 1), (0, 2**32), (7, 2**40 + 11), (-(2**62), 2**62), (-(2**63), 2**63 - 1),
        (2**53 - 1, 2**53 + 9), (5, 5), (6, 5),
        (2**25, None), (-(2**30), None), (2**62, None), (-1000001, 2**24 + 5), (1000001, 1000003), (-70001, -65000),
    ],
    ids=str,
)  # fmt: skip
def test_randint(bounds, dtype):
    stream = pair()
    empty = torch.empty(1000, dtype=getattr(torch, dtype))
    try:
        theirs = empty.random_(*bounds)
    except (RuntimeError, ValueError) as error:
        with pytest.raises(type(error)) as ours:
            stream.randint((1000,), array_dtype(dtype), *bounds)
        assert str(ours.value) == str(error)
    else:
        assert_same(stream, stream.randint((1000,), array_dtype(dtype), *bounds), theirs)


@pytest.mark.parametrize("size", SIZES)
def test_randint_sizes(size):
    stream = pair()
    assert_same(stream, stream.randint((size,), np.int64, 0, 10), torch.randint(0, 10, (size,)))
    assert_same(stream, stream.randint((size,), np.int64, -9, 2**40), torch.randint(-9, 2**40, (size,)))


@pytest.mark.filterwarnings("error")
def test_randint_warns_where_a_float_has_gaps():
    with pytest.raises(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        Stream(0).randint((2,), np.float32, 0, 2**24 + 2)


@pytest.mark.parametrize("dtype", [*SMALL_INTEGERS, *FLOATS])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 100, 127, 128, 129, 257, 258, 2049, 2050, 40000])
def test_randperm(size, dtype):
    stream = pair()
    try:
        theirs = torch.randperm(size, dtype=getattr(torch, dtype))
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as ours:
            stream.randperm(size, array_dtype(dtype))
        assert str(ours.value) == str(error)
    else:
        assert_same(stream, stream.randperm(size, array_dtype(dtype)), theirs)


@pytest.mark.parametrize("dtype", ["bool", *SMALL_INTEGERS, *FLOATS])
@pytest.mark.parametrize("size", SIZES)
def test_bernoulli(size, dtype):
    stream = pair()
    empty = torch.empty(size, dtype=getattr(torch, dtype))
    for p in (0, 0.2, 0.5, 0.9, 1):
        assert_same(stream, stream.bernoulli((size,), array_dtype(dtype), p), empty.bernoulli_(p))
    for kind in FLOATS:
        p = torch.rand(size, dtype=getattr(torch, kind))
        stream.uniform((size,), array_dtype(kind))
        assert_same(stream, stream.bernoulli((size,), array_dtype(dtype), as_array(p)), empty.bernoulli_(p))


def test_dropout_draws_bernoulli():
    stream = pair()
    kept = torch.nn.functional.dropout(torch.ones(5000), 0.3) != 0
    assert_same(stream, stream.bernoulli((5000,), np.float32, 0.7).astype(bool), kept)


@pytest.mark.parametrize("dtype", [*SMALL_INTEGERS, *FLOATS])
@pytest.mark.parametrize("size", SIZES)
def test_geometric(size, dtype):
    stream = pair()
    for p in (0.5, 0.02, 0.97):
        tensor = torch.empty(size, dtype=getattr(torch, dtype)).geometric_(p)
        assert_same(stream, stream.geometric((size,), array_dtype(dtype), p), tensor)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("shape", [(1,), (3,), (10,), (2, 5), (7, 40), (1000,)])
def test_multinomial(shape, replacement, dtype):
    stream = pair()
    weights = torch.rand(shape, dtype=getattr(torch, dtype))
    stream.uniform(shape, array_dtype(dtype))
    for samples in {1, min(2, shape[-1]), shape[-1]}:
        if not replacement and samples > 1 and weights.dtype in (torch.float16, torch.bfloat16):
            continue  # their few digits make ties, which PyTorch breaks in an order of its own
        ours = stream.multinomial(as_array(weights), samples, replacement)
        assert_same(stream, ours, torch.multinomial(weights, samples, replacement))


# Numbers by rejection


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_poisson(size, dtype):
    stream = pair()
    for most in (0.5, 9, 40, 2000):
        rates = (torch.rand(size, dtype=torch.float64) * most).to(getattr(torch, dtype))
        stream.uniform((size,), np.float64)
        rates[::7] = 0
        assert_same(stream, stream.poisson(as_array(rates)), torch.poisson(rates))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_binomial(size, dtype):
    stream = pair()
    for most in (5, 60, 5000):
        counts = torch.randint(0, most, (size,)).to(getattr(torch, dtype))
        chances = torch.rand(size, dtype=getattr(torch, dtype)) * 1.2 - 0.1
        stream.set_state(torch.get_rng_state().numpy())
        assert_same(stream, stream.binomial(as_array(counts), as_array(chances)), torch.binomial(counts, chances))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_standard_gamma(size, dtype):
    stream = pair()
    for most in (0.1, 1, 30):
        shapes = torch.rand(size, dtype=getattr(torch, dtype)) * most
        shapes[::5] = 0
        torch.randn(1)
        stream.set_state(torch.get_rng_state().numpy())
        assert_same(stream, stream.standard_gamma(as_array(shapes)), torch._standard_gamma(shapes))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3,), (1,), (4, 5), (2, 3, 8), (100, 33)])
def test_dirichlet(shape, dtype):
    stream = pair()
    concentration = torch.rand(shape, dtype=getattr(torch, dtype)) * 3
    stream.uniform(shape, array_dtype(dtype))
    ours = stream.dirichlet(as_array(concentration))
    # PyTorch adds float64 numbers in the order of its vector registers; rounding to float32 hides the difference.
    assert_same(stream, ours, torch._sample_dirichlet(concentration), most_ulps=4 if dtype == "float64" else 0)


# Mistakes


def mistakes():
    nan, inf = float("nan"), float("inf")
    f = np.float32
    yield "uniform", ((2,), f, 1, 0), lambda: torch.empty(2).uniform_(1, 0)
    yield "uniform", ((2,), f, 0, inf), lambda: torch.empty(2).uniform_(0, inf)
    yield "uniform", ((2,), f, nan, 1), lambda: torch.empty(2).uniform_(nan, 1)
    yield "uniform", ((2,), f, -3e38, 3e38), lambda: torch.empty(2).uniform_(-3e38, 3e38)
    yield "uniform", ((2,), np.float16, 0, 70000), lambda: torch.empty(2, dtype=torch.half).uniform_(0, 70000)
    yield "normal", ((2,), f, 0, -1.5), lambda: torch.empty(2).normal_(0, -1.5)
    yield "normal", ((2,), f, 0, nan), lambda: torch.empty(2).normal_(0, nan)
    for rate in (0, -1, nan):
        yield "exponential", ((2,), f, rate), lambda rate=rate: torch.empty(2).exponential_(rate)
    yield "cauchy", ((2,), f, 0, 0), lambda: torch.empty(2).cauchy_(0, 0)
    yield "log_normal", ((2,), f, 0, -2), lambda: torch.empty(2).log_normal_(0, -2)
    for p in (0, 1, 1.5):
        yield "geometric", ((2,), f, p), lambda p=p: torch.empty(2).geometric_(p)
    yield "bernoulli", ((2,), f, 1.5), lambda: torch.empty(2).bernoulli_(1.5)
    yield "bernoulli", ((2, 3), f, np.ones(4)), lambda: torch.empty(2, 3).bernoulli_(torch.ones(4))
    yield "bernoulli", ((2,), f, np.ones(2, np.int32)), lambda: torch.empty(2).bernoulli_(torch.ones(2).int())
    yield "randperm", (-1,), lambda: torch.randperm(-1)
    yield "normal_around", (np.zeros(2, f), np.ones(3, f)), lambda: torch.normal(torch.zeros(2), torch.ones(3))
    yield "normal_around", (np.zeros(2, f), -np.ones(2, f)), lambda: torch.normal(torch.zeros(2), -torch.ones(2))
    yield "normal_around", (0.0, np.ones(2, np.int32)), lambda: torch.normal(0.0, torch.ones(2, dtype=torch.int32))
    yield "poisson", (-np.ones(2, f),), lambda: torch.poisson(-torch.ones(2))
    for weights, samples, again in (
        ([1.0, 1.0], 3, False), ([1.0, 1.0], 0, False), ([0.0, 0.0], 1, False), ([0.0, 0.0], 1, True),
        ([-1.0, 1.0], 1, True), ([nan, 1.0], 1, False), ([inf, 1.0], 1, True), ([[1.0, 1.0], [0.0, 0.0]], 1, False),
        (1.0, 1, True), ([], 1, True),
    ):  # fmt: skip
        yield (
            "multinomial",
            (np.array(weights, f), samples, again),
            lambda w=weights, n=samples, again=again: torch.multinomial(torch.tensor(w), n, again),
        )
    ones = torch.ones(2)
    yield "binomial", (np.ones(2, f), np.ones(2)), lambda: torch.binomial(ones, ones.double())
    yield "binomial", (np.ones(2, int), np.ones(2)), lambda: torch.binomial(ones.long(), ones.double())
    for dtype in ("bool", "int32", "uint16", "complex64", "complex128", "int64"):
        for name, extra in (
            ("uniform", ()), ("normal", ()), ("exponential", ()), ("cauchy", ()), ("log_normal", ()),
            ("geometric", (0.5,)), ("bernoulli", (0.5,)), ("random", ()),
        ):  # fmt: skip
            empty = torch.empty(2, dtype=getattr(torch, dtype))
            yield (
                name,
                ((2,), np.dtype(dtype), *extra),
                lambda e=empty, n=name, extra=extra: getattr(e, n + "_")(*extra),
            )


@pytest.mark.parametrize("mistake", list(mistakes()), ids=lambda m: f"{m[0]}{m[1]}")
def test_mistakes(mistake):
    name, arguments, theirs = mistake
    try:
        theirs()
    except Exception as error:
        with pytest.raises(type(error)) as ours:
            getattr(Stream(0), name)(*arguments)
        assert str(ours.value) == str(error)
    else:
        getattr(Stream(0), name)(*arguments)
