"""Special functions of arrays beside PyTorch's: wide ranges, the borders of the domains, complex numbers, half types.

Where the two differ by more than rounding, PyTorch's value is the less exact one; each such place is named here.
"""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
import torch

from tensorgrad.backends import special

INF, NAN = math.inf, math.nan
F64, F32 = np.float64, np.float32

TWO = ["gammainc", "gammaincc", "logaddexp", "xlog1py", "xlogy", "zeta"]
POLYNOMIALS = [name for name in special.__all__ if "_polynomial_" in name]
ONE = [name for name in special.__all__ if name not in (*TWO, *POLYNOMIALS, "polygamma", "multigammaln")]
ONE += ["polygamma1", "polygamma2", "polygamma3"]

SPECIALS = [
    NAN,
    INF,
    0.0,
    0.25,
    0.5,
    0.7,
    1,
    1.5,
    2,
    2.5,
    3,
    6,
    7,
    8,
    9,
    12.25,
    20,
    20.5,
    27,
    28,
    40,
    87,
    88.5,
    89,
    100,
]
SPECIALS += [104, 500, 700, 709, 710, 720, 746, 1e3, 1e5, 1e9, 1e17, 1e30, 1e200, 1e300, 1.7e308]
SPECIALS += [1e-3, 1e-10, 1e-20, 1e-40, 1e-300, 1e-310, 5e-324, 1 - 1e-16, 1 - 1e-7]
SPECIALS = np.array(SPECIALS + [-x for x in SPECIALS])


def ours(name):
    if name.startswith("polygamma"):
        return lambda x: special.polygamma(int(name[9:]), x)
    return getattr(special, name)


def theirs(name):
    """PyTorch's function, on arrays."""
    others = {"lgamma": torch.lgamma, "softplus": torch.nn.functional.softplus, "logaddexp": torch.logaddexp}
    others["logsigmoid"] = torch.nn.functional.logsigmoid
    if name.startswith("polygamma"):
        function = lambda x: torch.polygamma(int(name[9:]), x)
    else:
        function = others.get(name) or getattr(torch.special, name)
    return lambda *arrays: function(*[torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]).numpy()


# How far PyTorch's own results are from the exact ones, where that is more than rounding: relative in float64 and in
# float32, or relative to the height of the wave. Its Bessel functions in float64 use short tables between 2 and 10.
LOOSE = {
    "airy_ai": (2e-5, 2e-3),
    "bessel_j0": (3e-6, 3e-3),
    "bessel_j1": (3e-6, 3e-3),
    "bessel_y0": (3e-6, 3e-3),
    "bessel_y1": (1e-5, 3e-3),
    "ndtr": (INF, INF),  # (1 + erf(x / sqrt(2))) / 2, which is 0 where x < -9
    "polygamma1": (1e-9, 1e-4),
    "log_ndtr": (1e-12, 3e-5),
    "polygamma2": (1e-11, 1e-5),
    "gammainc": (3e-9, 1e-4),
    "gammaincc": (3e-9, 1e-4),
    "chebyshev_polynomial_t": (1e-11, 1e-2),
}


def tolerance(name, dtype):
    if "_polynomial_" in name:
        return (1e-11, 2e-3)[dtype is F32]
    return LOOSE.get(name, (2e-13, 1e-5))[dtype is F32]


# Arguments for which PyTorch gives no number, or not the right one
ODD = {
    "airy_ai": lambda x: (x > 100) | (x < -500),  # cut off at 103.89; ζ has no digit left far to the left
    "bessel_j0": lambda x: np.abs(x) > 1e3,  # the phase is rounded, away from the sine that belongs to x
    "bessel_j1": lambda x: np.abs(x) > 1e3,
    "bessel_y0": lambda x: np.abs(x) > 1e3,
    "bessel_y1": lambda x: np.abs(x) > 1e3,
    "ndtr": lambda x: np.isfinite(x) & (x < -2),
    "digamma": lambda x: (x < 0) & (np.abs(x - np.rint(x)) < 1e-6) & (x != np.rint(x)),  # inexact beside its poles
    "polygamma1": lambda x: (x < -0.5) & (np.abs(x - np.rint(x)) < 1e-6) & np.isfinite(x),  # and finite at them
    "modified_bessel_k1": lambda x: np.abs(x) < 1e-320,  # NaN at the smallest number
    "scaled_modified_bessel_k1": lambda x: np.abs(x) < 1e-320,
}
ODD_PAIRS = {
    "gammainc": lambda a, x: ((a < 1e-300) & (a > 0)) | ((x < 1e-300) & (x > 0)),  # 0, or lost among subnormal numbers
    "gammaincc": lambda a, x: ((a < 1e-300) & (a > 0)) | ((x < 1e-300) & (x > 0)),
    "zeta": lambda s, q: (np.abs(s) > 1e16) | (q > 1e16),
}


def compare(name, dtype, *arrays, odd=None):
    """Assert that both have the same NaNs and infinities, and the same numbers as far as PyTorch is exact."""
    got, want = ours(name)(*arrays), theirs(name)(*arrays)
    assert got.dtype == want.dtype == dtype and got.shape == want.shape
    with np.errstate(invalid="ignore"):
        skip = np.zeros(got.shape, bool) if odd is None else odd(*[array.astype(F64) for array in arrays])
    tiny = np.finfo(dtype).tiny
    skip |= (np.abs(got) < 4 * tiny) & (np.abs(want) < 4 * tiny)  # subnormal, or flushed to zero
    got, want = got.astype(F64), want.astype(F64)
    height = np.abs(want)
    if name.startswith(("bessel_", "airy")):
        height = np.maximum(
            height, 0.5 / np.sqrt(1 + np.abs(arrays[0].astype(F64))) * (arrays[0] < 0 if "airy" in name else 1)
        )
    elif name in ("lgamma", "digamma", "logaddexp", "xlogy", "chebyshev_polynomial_t") or "_polynomial_" in name:
        height = np.maximum(height, 1)
    with np.errstate(invalid="ignore"):
        same = (
            (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= tolerance(name, dtype) * height)
        )
    same &= (
        (want != 0) | (got != 0) | (np.signbit(got) == np.signbit(want)) | (name in ("i1", "i1e") or "_poly" in name)
    )
    wrong = np.flatnonzero(~(same | skip))
    lines = [f"{tuple(float(a[i]) for a in arrays)}: {got[i]!r}, PyTorch {want[i]!r}" for i in wrong[:8]]
    assert not lines, f"{name}, {wrong.size} of {got.size}:\n" + "\n".join(lines)


def as_dtype(dtype, *arrays):
    with np.errstate(over="ignore"):
        return [np.asarray(array, F64).astype(dtype) for array in arrays]


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", ONE)
def test_borders(name, dtype):
    compare(name, dtype, *as_dtype(dtype, SPECIALS), odd=ODD.get(name))


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", TWO)
def test_borders_of_two(name, dtype):
    few = [
        NAN,
        INF,
        -INF,
        0.0,
        -0.0,
        1,
        -1,
        2,
        -2,
        3,
        -3,
        0.5,
        -0.5,
        1.5,
        -1.5,
        -2.5,
        6,
        1e300,
        1e17,
        1e-310,
        20.5,
        100,
        1e3,
    ]
    pairs = np.array(list(itertools.product(few, repeat=2))).T
    compare(name, dtype, *as_dtype(dtype, *pairs), odd=ODD_PAIRS.get(name))


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_borders_of_polynomials(name, dtype):
    xs = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 0.3, INF, -INF, 1e10, -3, 0.999]
    degrees = [NAN, INF, -INF, -1, -0.5, 0, 0.7, 1, 2, 3, 5, 7, 8, 9, 10, 30, 31, 100, 129]
    pairs = np.array(list(itertools.product(xs, degrees))).T
    overflows = lambda x, n: (n > 60) | (np.abs(x) > 1e9)  # in PyTorch's float32: infinity minus infinity is left
    odd = overflows if dtype is F32 and name.startswith("hermite") else None
    compare(name, dtype, *as_dtype(dtype, *pairs), odd=odd)


RANGES = {
    "erfinv": (-1, 1),
    "ndtri": (0, 1),
    "logit": (0, 1),
    "airy_ai": (-30, 30),
    "polygamma1": (0.01, 60),
    "polygamma2": (-20, 60),
    "polygamma3": (-20, 60),
    "digamma": (-20, 60),
    "ndtr": (-2, 8),
}


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", ONE)
def test_range(name, dtype):
    low, high = RANGES.get(name, (-60, 60))
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(low, high, 4000), 10 ** random.uniform(-30, math.log10(high), 2000)])
    if name in ("lgamma", "digamma", "polygamma2", "polygamma3"):  # poles, beside which the argument's rounding is all
        x = x[(x > 0) | (np.abs(x - np.rint(x)) > 0.05)]
    if name == "sinc":
        x = x[np.abs(x) < 3]
    compare(name, dtype, *as_dtype(dtype, x))


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", TWO)
def test_range_of_two(name, dtype):
    random = np.random.default_rng(0)
    if name == "zeta":
        first, second = random.uniform(1.01, 20, 3000), random.uniform(0.01, 100, 3000)
    elif name.startswith("gammainc"):
        first = 10 ** random.uniform(-1, 2, 3000)
        second = first * 10 ** random.uniform(-1, 0.5, 3000)
    else:
        first, second = random.uniform(-50, 50, 3000), 10 ** random.uniform(-20, 20, 3000)
    compare(name, dtype, *as_dtype(dtype, first, second))


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_range_of_polynomials(name, dtype):
    random = np.random.default_rng(0)
    compare(name, dtype, *as_dtype(dtype, random.uniform(-1.5, 1.5, 3000), random.integers(0, 12, 3000)))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", ["expit", "sinc", "log1p", "logaddexp"])
def test_complex(name, dtype):
    random = np.random.default_rng(0)
    z, w = (random.normal(size=2000) + 1j * random.normal(size=2000) for _ in range(2))
    z[:500] *= 10 ** random.uniform(-20, 0, 500)
    arrays = [array.astype(dtype) for array in ((z, w) if name == "logaddexp" else (z,))]
    got, want = ours(name)(*arrays), theirs(name)(*arrays)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12 if dtype is np.complex128 else 2e-5)


@pytest.mark.parametrize("name", ["log1p", "logaddexp"])
def test_complex_borders(name):
    parts = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-10, -2.0, 800.0]
    z = np.array([complex(a, b) for a, b in itertools.product(parts, repeat=2)])
    z = z[np.isfinite(z.imag)]
    arrays = [z] if name == "log1p" else [array.ravel() for array in np.meshgrid(z, z)]
    got, want = ours(name)(*arrays), theirs(name)(*arrays)
    np.testing.assert_allclose(got.real, want.real, rtol=1e-12, atol=1e-15)
    sound = ~np.isnan(want.real)
    np.testing.assert_allclose(got.imag[sound], want.imag[sound], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "name", ["erf", "erfc", "erfinv", "lgamma", "digamma", "i0", "i1e", "entr", "sinc", "expit", "logit"]
)
def test_half_types(name, dtype):
    function = torch.lgamma if name == "lgamma" else getattr(torch.special, name)
    x = torch.linspace(-0.99, 0.99, 301).to(dtype)
    half = {torch.float16: np.float16, torch.bfloat16: ml_dtypes.bfloat16}[dtype]
    argument = x.float().numpy().astype(half)
    got, want = ours(name)(argument), function(x).float().numpy()
    assert got.dtype == half
    np.testing.assert_allclose(
        got.astype(F32), want, rtol=2 * torch.finfo(dtype).eps, atol=1e-3 * torch.finfo(dtype).eps
    )


@pytest.mark.parametrize("eps", [None, 0.0, 0.1, 0.6, -1.0])
def test_logit_eps(eps):
    x = np.array([NAN, -1, 0, 0.05, 0.5, 0.95, 1, 2, INF])
    want = torch.logit(torch.from_numpy(x), eps=eps).numpy()
    np.testing.assert_allclose(special.logit(x, eps=eps), want, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_multigammaln(p):
    x = np.linspace((p - 1) / 2 - 1.3, 30, 200)
    want = torch.special.multigammaln(torch.from_numpy(x), p).numpy()
    np.testing.assert_allclose(special.multigammaln(x, p), want, rtol=1e-11, atol=1e-11)


def test_softplus_parameters():
    x = np.linspace(-30, 30, 200)
    want = torch.nn.functional.softplus(torch.from_numpy(x), 0.5, 3).numpy()
    np.testing.assert_allclose(special.softplus(x, beta=0.5, threshold=3), want, rtol=1e-14)
