"""Functions inside compiled loops against values in higher precision: at most 2 ulp off in float32, 4 in float64."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tensorgrad.kernels.program import Program
from tensorgrad.kernels.values import Graph

WIDE = {np.float32: np.float64, np.float64: np.longdouble}
LIMIT = {np.float32: 2, np.float64: 4}
ALONE = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "exp2": np.exp2, "log2": np.log2,
         "expm1": np.expm1, "log1p": np.log1p, "sqrt": np.sqrt}  # fmt: skip


def applied(op, *arrays):
    """A function of numbers as a compiled loop."""
    graph = Graph()
    inputs = [graph.input(a.shape, a.dtype, n) for n, a in enumerate(arrays)]
    root = graph.map(op, inputs, arrays[0].dtype)
    return Program(graph, [root], dict.fromkeys(inputs))(list(arrays))[0]


def numbers(dtype, count=60_000, seed=0):
    """Numbers over the whole range, denser where functions bend, and the special ones."""
    rng = np.random.default_rng(seed)
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    parts = [rng.integers(0, np.iinfo(bits).max, count, dtype=bits, endpoint=True).view(dtype)]
    parts += [(rng.standard_normal(count) * scale).astype(dtype) for scale in (1e-3, 1, 10, 1e3, 1e6)]
    info = np.finfo(dtype)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        2,
        info.max,
        -info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    return np.concatenate([*parts, np.array(special, dtype)])


def ulps(found, exact):
    """Distance from the exact value in units of the last place; infinite where only one of the two is a number."""
    near = exact.astype(found.dtype)
    with np.errstate(all="ignore"):
        away = np.abs(found.astype(exact.dtype) - exact) / np.spacing(np.abs(near)).astype(exact.dtype)
    same = (found == near) | (np.isnan(found) & np.isnan(near))
    return np.where(
        same, np.minimum(np.nan_to_num(away), 1), np.where(np.isfinite(found) & np.isfinite(near), away, np.inf)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", ALONE)
def test_functions_of_one_number(op, dtype):
    if dtype is np.float64 and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("no wider floating-point numbers here")
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        exact = ALONE[op](x.astype(WIDE[dtype]))
    found = applied(op, x)
    away = ulps(found, exact)
    worst = np.argmax(away)
    assert away[worst] <= LIMIT[dtype], (x[worst], found[worst], exact[worst])
    zeros = (found == 0) & (x == 0)
    assert (np.signbit(found[zeros]) == np.signbit(exact.astype(dtype)[zeros])).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf(dtype):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.standard_normal(1500) * s for s in (1e-4, 1, 4)] + [[0.0, -0.0, np.inf, -np.inf, np.nan, 1, 5.9, -7]]
    )
    x = x.astype(dtype)
    with mpmath.workdps(40):
        exact = [mpmath.erf(mpmath.mpf(float(v))) if np.isfinite(v) else v for v in x]
        found = applied("erf", x)
        for v, value, true in zip(x, found, exact):
            if np.isnan(v):
                assert np.isnan(value)
            elif np.isinf(v):
                assert value == np.sign(v)
            else:
                near = dtype(float(true))
                assert abs(mpmath.mpf(float(value)) - true) <= LIMIT[dtype] * float(np.spacing(np.abs(near))), v


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers(dtype):
    if dtype is np.float64 and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("no wider floating-point numbers here")
    rng = np.random.default_rng(0)
    x, y = np.abs(numbers(dtype, 20_000)), rng.permutation(numbers(dtype, 20_000, 1))
    x[::5], y[::5] = (
        rng.standard_normal(len(x[::5])) * 10,
        rng.integers(-9, 9, len(x[::5])),
    )  # whole powers of negative numbers
    y[1::2] = (rng.standard_normal(len(y[1::2])) * 3).astype(dtype)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(WIDE[dtype]), y.astype(WIDE[dtype]))
    away = ulps(applied("power", x, y), exact)
    worst = np.argmax(away)
    assert away[worst] <= LIMIT[dtype], (x[worst], y[worst])


def test_special_powers():
    inf, nan = np.inf, np.nan
    pairs = [(0, 0), (nan, 0), (1, nan), (-1, inf), (-1, -inf), (0, -1), (-0.0, -1), (-0.0, -2), (-0.0, 3), (-0.0, 2), (2, inf),
             (2, -inf), (0.5, inf), (0.5, -inf), (inf, 2), (inf, -2), (-inf, 3), (-inf, 2), (-inf, -3), (-2, 0.5), (-8, 1 / 3),
             (inf, 0), (nan, 1), (1, inf), (0, inf), (0, -inf), (-inf, 0.5), (-inf, inf), (-0.0, 0.5)]  # fmt: skip
    for dtype in (np.float32, np.float64):
        x, y = np.array(pairs, dtype).T.copy()
        with np.errstate(all="ignore"):
            expected = np.power(x, y)
        found = applied("power", x, y)
        np.testing.assert_array_equal(found, expected)
        assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


@pytest.mark.parametrize("name", ["sigmoid", "gelu", "silu", "softplus", "logsigmoid", "tanh", "mish", "elu"])
def test_activations_stay_as_exact_as_uncompiled(torch, name):
    """Compositions of these functions, far from zero too."""
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    x = torch.cat(
        [torch.linspace(-120, 120, 4001), torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan")])]
    )
    exact = function(x.double()).numpy()
    found, eager = torch.compile(function)(x).numpy(), function(x).numpy()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(eager))
    scale = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
    with np.errstate(invalid="ignore"):
        off, off_eager = np.abs(found - exact) / scale, np.abs(eager - exact) / scale
    fine = np.isfinite(exact) & (np.abs(exact) > 1e-37)
    assert off[fine].max() <= max(4, 1.5 * off_eager[fine].max())


def test_whole_numbers_and_bools():
    """Integer arithmetic wraps, divides and compares as NumPy's."""
    rng = np.random.default_rng(0)
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        dtype = np.dtype(kind)
        info = np.iinfo(dtype)
        x, y = rng.integers(info.min, info.max, (2, 999), dtype=dtype, endpoint=True)
        for op in ("add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum"):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(applied(op, x, y), getattr(np, op)(x, y))
        for op in ("negative", "absolute", "invert", "sign"):
            np.testing.assert_array_equal(applied(op, x), getattr(np, op)(x))


def test_conversions():
    values = np.array([0, 1, -1, 2.5, -2.5, 3.9, 1e3, 65504, 1e-8, 1 / 3])
    names = ["f4", "f8", "i4", "i8", "i2", "u1", "bool"]
    for a in names:
        with np.errstate(all="ignore"):
            x = np.abs(values).astype(a) if a[0] == "u" else values.astype(a)
        for b in names:
            if a[0] == "f" and b in ("u1", "i2"):
                continue  # out of range: as undefined as in NumPy
            graph = Graph()
            v = graph.input(x.shape, x.dtype, 0)
            root = graph.cast(v, b)
            if root is v:
                continue
            found = Program(graph, [root], {v: None})([x])[0]
            np.testing.assert_array_equal(found, x.astype(b), err_msg=f"{a} to {b}")


def test_bfloat16_rounds_to_nearest_even(torch):
    x = torch.randn(5000)
    x[:4] = torch.tensor([float("inf"), float("nan"), 3.39e38, 1e-40])
    found = torch.compile(lambda x: x.bfloat16())(x)
    assert torch.equal(found.float().nan_to_num(7.0), x.bfloat16().float().nan_to_num(7.0))
    y = torch.randn(5000).bfloat16()
    assert torch.equal(torch.compile(lambda a, b: a * b + a)(found[4:], y[4:]), found[4:] * y[4:] + found[4:])


def test_half_precision(torch):
    x, y = torch.randn(500).half(), torch.randn(500).half()
    for f in (
        lambda a, b: a * b,
        lambda a, b: a.exp() + b,
        lambda a, b: (a.float() * b.float()).half(),
        lambda a, b: a > b,
    ):
        found, expected = torch.compile(f)(x, y), f(x, y)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.float().numpy(), expected.float().numpy(), rtol=2e-3)


@pytest.mark.parametrize("shape", [(1_600_000,), (40, 40, 1000), (1_600_003,)])
def test_long_sums_stay_exact(torch, shape):
    x = torch.rand(shape) + 1
    total, square = torch.compile(lambda x: (x.sum(), ((x - 1) * (x - 1)).mean()))(x)
    exact = x.double()
    assert abs(total.item() / exact.sum().item() - 1) < (1e-6 if shape[0] % 2 == 0 else 1e-5)
    assert abs(square.item() / ((exact - 1) ** 2).mean().item() - 1) < 1e-5
