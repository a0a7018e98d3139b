"""Special functions of arrays, against values computed at many digits, identities, and the borders of their domains."""

import decimal
import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tensorgrad.backends import special, special_evaluate
from tensorgrad.backends.special_gamma import trigamma

INF, NAN = math.inf, math.nan
EPSILONS = 16  # what an error may be, in units of the precision times the size the file gives


def read_values():
    """The lines of the file by function: arguments, value, size."""
    table = {}
    for line in (Path(__file__).parent / "special_values.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, *numbers = line.split()
            table.setdefault(name, []).append([float(number) for number in numbers])
    return table


VALUES = read_values()


def function(name):
    if name == "trigamma":
        return trigamma
    for start in ("polygamma", "multigammaln"):
        if name.startswith(start):
            order = int(name.removeprefix(start))
            general = getattr(special, start)
            return lambda x: general(order, x) if start == "polygamma" else general(x, order)
    return getattr(special, name)


def test_every_function_has_values():
    known = {name.rstrip("0123456789") if name[:5] in ("polyg", "multi") else name for name in VALUES}
    assert known - {"trigamma"} == set(special.__all__)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", VALUES)
def test_value(name, dtype):
    *arguments, value, size = np.array(VALUES[name]).T
    with np.errstate(over="ignore"):
        inside = np.abs(value).astype(dtype) < INF
        inside &= (np.abs(value) > np.finfo(dtype).tiny) | (value == 0)
    if dtype is np.float32 and name in ("i0", "i1", "erfcx", "expit"):
        inside &= np.abs(arguments[0]) < 88  # exp of it
    got = function(name)(*[argument[inside].astype(dtype) for argument in arguments])
    assert got.dtype == dtype
    error = np.abs(got.astype(np.float64) - value[inside]) / (np.finfo(dtype).eps * size[inside])
    worst = error.argmax()
    assert error[worst] < EPSILONS, (
        f"{name}({', '.join(repr(a[inside][worst]) for a in arguments)}) is {got[worst]!r}, "
        f"{error[worst]:.1f} epsilons from {value[inside][worst]!r}"
    )


@pytest.mark.parametrize("repeats", [1, 40, 4000], ids=["few", "a block", "many blocks"])
@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma", "digamma", "i1e", "gammainc", "legendre_polynomial_p"])
def test_the_number_of_numbers_does_not_matter(name, repeats):
    *arguments, value, size = np.array(VALUES[name])[:9].T
    got = function(name)(*[np.tile(argument, repeats) for argument in arguments])
    assert np.all(np.abs(got - np.tile(value, repeats)) <= EPSILONS * np.finfo(float).eps * np.tile(size, repeats))


# The borders of the domains, as PyTorch has them: arguments, and what comes out for each

BORDERS = {
    "erf": ([NAN, INF, -INF, 0.0, -0.0, 40.0, -40.0, 5e-324], [NAN, 1, -1, 0.0, -0.0, 1, -1, 5e-324]),
    "erfc": ([NAN, INF, -INF, 0.0, 30.0, -30.0, 1e300], [NAN, 0, 2, 1, 0, 2, 0]),
    "erfcx": ([NAN, INF, -INF, 0.0, -27.0, 1e308], [NAN, 0, INF, 1, INF, 5.641895835477563e-309]),
    "erfinv": ([NAN, 1, -1, 0.0, -0.0, 1.5, -1.5, INF], [NAN, INF, -INF, 0.0, -0.0, NAN, NAN, NAN]),
    "ndtr": ([NAN, INF, -INF, 0.0, -50.0, 50.0], [NAN, 1, 0, 0.5, 0, 1]),
    "ndtri": ([NAN, 0, 1, 0.5, -0.1, 1.1, INF], [NAN, -INF, INF, 0, NAN, NAN, NAN]),
    "log_ndtr": ([NAN, INF, -INF, -1e200], [NAN, 0, -INF, -INF]),
    "lgamma": ([NAN, INF, -INF, 0.0, -0.0, 1, 2, -1, -2, -1e17, 1e308], [NAN, INF, INF, INF, INF, 0, 0] + [INF] * 4),
    "digamma": ([NAN, INF, -INF, 0.0, -0.0, -1, -2, -1e17], [NAN, INF, NAN, -INF, INF, NAN, NAN, NAN]),
    "polygamma1": ([NAN, INF, -INF, 0.0, -0.0, -1, 1e-300], [NAN, 0, NAN, INF, INF, 6.580790147320947e32, INF]),
    "polygamma2": ([NAN, INF, -INF, 0.0, -0.0, -1, 1e300], [NAN, NAN, -INF, -INF, -INF, -INF, 0]),
    "i0": ([NAN, INF, -INF, 0.0, 800.0], [NAN, NAN, NAN, 1, INF]),
    "i0e": ([NAN, INF, -INF, 0.0, 1e300], [NAN, 0, 0, 1, 3.989422804014327e-151]),
    "i1": ([NAN, INF, -INF, 0.0, 800.0, -800.0], [NAN, NAN, NAN, 0, INF, -INF]),
    "i1e": ([NAN, INF, -INF, 0.0], [NAN, 0, 0, 0]),
    "modified_bessel_k0": ([NAN, INF, -INF, 0.0, -0.0, -1.0, 800.0], [NAN, 0, NAN, INF, INF, NAN, 0]),
    "modified_bessel_k1": ([NAN, INF, -INF, 0.0, -0.0, -1.0, 1e-310], [NAN, 0, NAN, INF, INF, NAN, INF]),
    "scaled_modified_bessel_k0": ([NAN, INF, -INF, 0.0, -1.0], [NAN, 0, NAN, INF, NAN]),
    "scaled_modified_bessel_k1": ([NAN, INF, -INF, 0.0, -1.0], [NAN, 0, NAN, INF, NAN]),
    "bessel_j0": ([NAN, INF, -INF, 0.0, -0.0], [NAN, NAN, NAN, 1, 1]),
    "bessel_j1": ([NAN, INF, -INF, 0.0, -0.0], [NAN, NAN, NAN, 0.0, -0.0]),
    "bessel_y0": ([NAN, INF, -INF, 0.0, -0.0, -1.0], [NAN, NAN, NAN, -INF, -INF, NAN]),
    "bessel_y1": ([NAN, INF, -INF, 0.0, -0.0, -1.0, 1e-310], [NAN, NAN, NAN, -INF, -INF, NAN, -INF]),
    "spherical_bessel_j0": ([NAN, INF, -INF, 0.0, 1e-300], [NAN, 0, 0, 1, 1]),
    "airy_ai": ([NAN, INF, -INF, -1e300, 200.0], [NAN, NAN, NAN, NAN, 0]),
    "entr": ([NAN, INF, -INF, 0.0, -0.0, -1.0, 1.0], [NAN, -INF, -INF, 0, 0, -INF, 0]),
    "sinc": ([NAN, INF, -INF, 0.0, -0.0, 1e308], [NAN, NAN, NAN, 1, 1, NAN]),
    "logit": ([NAN, 0.0, 1.0, 0.5, -0.1, 1.1, INF], [NAN, -INF, INF, 0, NAN, NAN, NAN]),
    "expit": ([NAN, INF, -INF, 0.0, 800.0, -800.0], [NAN, 1, 0, 0.5, 1, 0]),
    "softplus": ([NAN, INF, -INF, 1000.0, 21.0], [NAN, INF, 0, 1000, 21]),
    "logsigmoid": ([NAN, INF, -INF, -1000.0], [NAN, 0, -INF, -1000]),
    "log1p": ([NAN, INF, -INF, -1.0, 0.0, -0.0], [NAN, INF, NAN, -INF, 0.0, -0.0]),
}


@pytest.mark.parametrize("name", BORDERS)
def test_border(name):
    arguments, values = BORDERS[name]
    np.testing.assert_array_max_ulp(function(name)(np.array(arguments)), np.array(values, float), 4)


PAIRS = {
    "gammainc": [
        *((1, 0, 0), (0, 1, 1), (0, 0, NAN), (1, INF, 1), (INF, 1, 0), (INF, INF, NAN), (-1, 1, NAN), (1, -1, NAN)),
        *((NAN, 1, NAN), (1, NAN, NAN), (NAN, 0, 0), (NAN, INF, 1), (INF, NAN, 0)),
        *((1e300, 1e300, 0.5), (1e17, 1e300, 1)),
    ],
    "gammaincc": [
        *((1, 0, 1), (0, 1, 0), (0, 0, NAN), (1, INF, 0), (INF, 1, 1), (INF, INF, NAN), (-1, 1, NAN), (1, -1, NAN)),
        *((NAN, 1, NAN), (1, NAN, NAN), (1e300, 1e300, 0.5), (1e300, 1e17, 1)),
    ],
    "zeta": [
        *((1, 5, INF), (1, NAN, INF), (0.5, 1, NAN), (-2, 1, NAN), (2, 0, INF), (2, -0.0, INF), (2, -3, INF)),
        *((2.5, -3, INF), (2.5, -3.5, NAN), (2, INF, NAN), (2, -INF, INF), (NAN, 1, NAN), (2, NAN, NAN)),
        *((NAN, -1, INF), (INF, 1, 1), (INF, 0.5, INF), (3, 1e-200, INF)),
    ],
    "xlogy": [(0, 0, 0), (0, -1, 0), (0, NAN, NAN), (1, 0, -INF), (1, -1, NAN), (0, INF, 0), (-2, 0, INF)],
    "xlog1py": [(0, -1, 0), (0, -2, 0), (0, NAN, NAN), (1, -1, -INF), (1, -2, NAN), (0, INF, 0), (NAN, 0, NAN)],
    "logaddexp": [(INF, INF, INF), (-INF, -INF, -INF), (INF, -INF, INF), (NAN, 1, NAN), (-INF, 3, 3)],
    "chebyshev_polynomial_t": [
        *((2, -1, 0), (2, NAN, 0), (2, INF, 0), (NAN, 0, 1), (2, 0.9, 1), (2, 1.9, 2), (NAN, 3, NAN), (INF, 1, INF)),
        *((1, 1000, 1), (-1, 1001, -1), (2, 600, NAN)),
    ],
    "chebyshev_polynomial_u": [(1, 50, 51), (-1, 51, -52), (3, -5, 0), (0.5, 0, 1)],
    "chebyshev_polynomial_v": [(1, 50, 1), (-1, 50, 101), (3, -5, 0), (0.5, 0, 1)],
    "chebyshev_polynomial_w": [(1, 50, 101), (-1, 51, -1), (3, -5, 0), (0.5, 0, 1)],
    "shifted_chebyshev_polynomial_t": [(1, 50, 1), (0, 51, -1), (3, -5, 0)],
    "hermite_polynomial_h": [(3, -5, 0), (0, 4, 12), (2, 1e3, NAN)],
    "hermite_polynomial_he": [(3, -5, 0), (0, 4, 3), (2, 1e3, NAN)],
    "laguerre_polynomial_l": [(3, -5, 0), (0, 40, 1)],
    "legendre_polynomial_p": [(3, -5, 0), (1, 40, 1), (-1, 41, -1)],
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_border_of_two(name):
    first, second, values = np.array(PAIRS[name], float).T
    np.testing.assert_array_max_ulp(getattr(special, name)(first, second), values, 4)


def test_logit_brings_into_the_interval():
    x = np.array([NAN, -1, 0, 0.05, 0.5, 0.95, 1, 2, INF])
    low, high = math.log(0.1 / 0.9), math.log(0.9 / (1 - 0.9))
    np.testing.assert_allclose(special.logit(x, eps=0.1), [NAN, low, low, low, 0, high, high, high, high], rtol=1e-15)
    assert np.isnan(special.logit(x, eps=-1.0)[[0, 1, 7, 8]]).all()
    assert special.logit(x, eps=0.0)[7] == INF


def test_softplus_takes_beta_and_threshold():
    x = np.array([-1.0, 0.5, 3.0])
    expected = np.log1p(np.exp(2 * x)) / 2
    np.testing.assert_allclose(special.softplus(x, beta=2, threshold=20), expected, rtol=1e-15)
    assert special.softplus(x, beta=2, threshold=5)[2] == 3


def test_poles_of_multigammaln():
    np.testing.assert_array_equal(special.multigammaln(np.array([0.5, NAN, INF]), 2), [INF, NAN, INF])


# Identities

X = np.concatenate([np.linspace(0.05, 25, 700), np.geomspace(1e-8, 1e4, 300)])


def close(actual, expected, tolerance=4e-15):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=0)


def test_error_functions_agree():
    x = np.concatenate([X, -X])
    close(special.erf(-x), -special.erf(x))
    close(special.erf(x) + special.erfc(x), np.ones_like(x))
    close(special.erfc(X[X < 20]), np.exp(-(X[X < 20] ** 2)) * special.erfcx(X[X < 20]), 2e-13)  # x² is rounded here
    near = x[np.abs(x) < 1]
    close(special.erfinv(special.erf(near)), near)
    close(special.ndtr(x), special.erfc(-x / math.sqrt(2)) / 2, 1e-12)
    left = -X[(X > 0.5) & (X < 37)]
    close(special.ndtri(special.ndtr(left)), left)
    close(special.log_ndtr(left), np.log(special.ndtr(left)), 1e-14)


def test_erf_in_float32_is_erf():
    x = np.linspace(-6, 6, 100_001, dtype=np.float32)
    y, exact = special.erf(x), special.erf(x.astype(np.float64))
    assert np.all(np.abs(y - exact) <= 4 * np.spacing(np.abs(exact).astype(np.float32)))
    assert np.all(np.abs(y) <= 1)


def test_gamma_functions_step():
    np.testing.assert_allclose(special.lgamma(X + 1) - special.lgamma(X), np.log(X), rtol=1e-14, atol=1e-10)
    close(special.digamma(X + 1) - special.digamma(X) + 1, 1 / X + 1, 1e-14)
    for order in (1, 2, 4):
        jump = (-1) ** order * math.factorial(order) * X ** -(order + 1.0)
        np.testing.assert_allclose(special.polygamma(order, X + 1) - special.polygamma(order, X), jump, rtol=2e-9)
    whole = np.arange(1.0, 100)
    close(special.lgamma(whole), [math.lgamma(n) for n in whole], 1e-14)


def test_gamma_functions_reflect():
    x = np.linspace(0.02, 0.98, 49)
    close(special.lgamma(x) + special.lgamma(-x), np.log(math.pi / (x * np.sin(math.pi * x))), 1e-13)
    close(special.digamma(1 - x) - special.digamma(x) + 1, math.pi / np.tan(math.pi * x) + 1, 1e-13)
    close(trigamma(1 - x) + trigamma(x), (math.pi / np.sin(math.pi * x)) ** 2, 1e-14)
    far = x - 30  # psi2(1 - x) - psi2(x) = 2 pi^3 cot csc^2
    cosine, sine = np.cos(math.pi * x), np.sin(math.pi * x)
    expected = 2 * math.pi**3 * cosine / sine**3
    np.testing.assert_allclose(
        special.polygamma(2, 1 - far) - special.polygamma(2, far), expected, rtol=1e-9, atol=1e-9
    )


def test_zeta_of_whole_numbers():
    s = np.array([2.0, 4.0, 6.0])
    close(special.zeta(s, np.ones(3)), [math.pi**2 / 6, math.pi**4 / 90, math.pi**6 / 945], 1e-15)
    q = np.linspace(-20.3, 30.2, 77)
    for power in (2.0, 3.0, 8.0):
        s = np.full_like(q, power)
        here, beyond = special.zeta(s, q), special.zeta(s, q + 1)
        assert np.all(np.abs(here - beyond - q**-power) <= 1e-12 * (np.abs(here) + np.abs(beyond)))


def test_incomplete_gamma_functions_add_up():
    a, x = (v.ravel() for v in np.meshgrid(np.geomspace(1e-3, 1e3, 60), np.geomspace(1e-3, 2e3, 71)))
    lower, upper = special.gammainc(a, x), special.gammaincc(a, x)
    close(lower + upper, np.ones_like(x))
    assert np.all((lower >= 0) & (lower <= 1) & (upper >= 0) & (upper <= 1))
    step = np.exp(a * np.log(x) - x - special.lgamma(a + 1))  # P(a, x) - P(a + 1, x)
    np.testing.assert_allclose(lower - special.gammainc(a + 1, x), step, rtol=1e-11, atol=3e-15)
    close(special.gammaincc(np.full_like(X, 0.5), X), special.erfc(np.sqrt(X)), 1e-13)


def test_bessel_functions_keep_their_wronskians():
    j0, j1 = special.bessel_j0(X), special.bessel_j1(X)
    y0, y1 = special.bessel_y0(X), special.bessel_y1(X)
    np.testing.assert_allclose((j1 * y0 - j0 * y1) * (math.pi * X / 2), 1, rtol=0, atol=1e-14)
    i0, i1 = special.i0e(X), special.i1e(X)
    k0, k1 = special.scaled_modified_bessel_k0(X), special.scaled_modified_bessel_k1(X)
    np.testing.assert_allclose((i0 * k1 + i1 * k0) * X, 1, rtol=0, atol=2e-15)


def test_airy_solves_its_equation():
    x = np.linspace(-12, 6, 181)
    h = 1e-3
    second = (special.airy_ai(x + h) - 2 * special.airy_ai(x) + special.airy_ai(x - h)) / h**2
    np.testing.assert_allclose(second, x * special.airy_ai(x), rtol=0, atol=2e-5)


def test_chebyshev_polynomials_are_cosines():
    angle = np.linspace(0.01, 3.13, 300)
    for n in (0, 1, 2, 5, 8, 9, 40):
        degree = np.full_like(angle, n)
        for kind, expected in (
            ("t", np.cos(n * angle)),
            ("u", np.sin((n + 1) * angle) / np.sin(angle)),
            ("v", np.cos((n + 0.5) * angle) / np.cos(angle / 2)),
            ("w", np.sin((n + 0.5) * angle) / np.sin(angle / 2)),
        ):
            got = getattr(special, f"chebyshev_polynomial_{kind}")(np.cos(angle), degree)
            np.testing.assert_allclose(got, expected, rtol=0, atol=2e-13 * (n + 1) ** 2)
            shifted = getattr(special, f"shifted_chebyshev_polynomial_{kind}")((1 + np.cos(angle)) / 2, degree)
            np.testing.assert_allclose(shifted, expected, rtol=0, atol=2e-13 * (n + 1) ** 2)


def test_degrees_may_differ_within_an_array():
    x = np.linspace(-1.5, 1.5, 200)
    n = np.arange(200.0) % 14
    for name in special.__all__:
        if "_polynomial_" in name:
            together = getattr(special, name)(x, n)
            alone = [getattr(special, name)(x[i : i + 1], n[i : i + 1])[0] for i in range(200)]
            np.testing.assert_array_equal(together, alone)


# Complex numbers


def test_complex_log1p_is_accurate_near_zero():
    z = np.array([1e-20 + 1e-10j, -0.5e-10 + 1e-5j, 1e-200 + 0j, -2 + 1e-8j, 3 + 4j, INF + 0j, -1 + 0j])
    got = special.log1p(z)
    real = [1.5e-20, 1.2500106212246657e-21, 1e-200, 5e-17, math.log(math.sqrt(32)), INF, -INF]
    np.testing.assert_allclose(got.real, real, rtol=1e-5)  # the second cancels
    np.testing.assert_allclose(got.imag, np.arctan2(z.imag, 1 + z.real), rtol=1e-15)


def test_complex_functions_continue_the_real_ones():
    x = np.linspace(-3, 3, 61)
    z = x + 0j
    for name in ("expit", "sinc", "log1p"):
        np.testing.assert_allclose(getattr(special, name)(z[31:]).real, getattr(special, name)(x[31:]), rtol=1e-14)
    np.testing.assert_allclose(special.logaddexp(z, z[::-1]).real, np.logaddexp(x, x[::-1]), rtol=1e-14)
    w = z + 0.5j
    np.testing.assert_allclose(special.logaddexp(w, z), np.log(np.exp(w) + np.exp(z)), rtol=1e-14)
    both = special.logaddexp(np.array([complex(INF, 1), complex(-INF, 1), NAN]), np.array([INF, -INF, 1 + 0j]))
    np.testing.assert_array_equal(both.real, [INF, -INF, NAN])


def test_complex_numbers_are_refused_elsewhere():
    with pytest.raises(TypeError, match="erf takes floating-point arrays, not complex128"):
        special.erf(np.zeros(3, complex))


# Arrays of every kind


@pytest.mark.parametrize("name", ["erf", "lgamma", "bessel_j0", "entr"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_any_precision_any_layout(name, dtype):
    f = getattr(special, name)
    base = np.linspace(0.25, 9, 210).astype(dtype).reshape(5, 6, 7)
    exact = f(base.astype(np.float64)).astype(dtype).astype(np.float64)
    tolerance = 4 * float(ml_dtypes.finfo(dtype).eps)
    for array, expected in (
        (base, exact),
        (base.T, exact.T),
        (base.transpose(1, 2, 0), exact.transpose(1, 2, 0)),
        (base[::2, ::-1], exact[::2, ::-1]),
        (base[0, 0, 0], exact[0, 0, 0]),
        (base[:0], exact[:0]),
        (np.broadcast_to(base[0], (3, 6, 7)), np.broadcast_to(exact[0], (3, 6, 7))),
    ):
        array = np.asarray(array)
        before = array.copy()
        got = f(array)
        assert isinstance(got, np.ndarray) and got.dtype == dtype and got.shape == array.shape
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance / 10)
        np.testing.assert_array_equal(array, before)


def test_the_result_lies_in_memory_as_the_argument():
    x = np.ones((4, 5, 6)).transpose(2, 0, 1)
    assert special.erfcx(x).strides == x.strides
    assert special.gammainc(x, x).strides == x.strides


def test_arguments_broadcast():
    a, x = np.array([[0.5], [2.0]]), np.linspace(0.1, 3, 20_000)
    got = special.gammainc(a, x)
    assert got.shape == (2, 20_000)
    np.testing.assert_array_equal(got[1], special.gammainc(np.full_like(x, 2), x))
    np.testing.assert_array_equal(special.xlogy(np.array(2.0), x), 2 * np.log(x))
    with pytest.raises(ValueError):
        special.xlogy(np.ones(3), np.ones(4))


@pytest.mark.parametrize("size", [10, 1000, 100_000])
def test_out(size):
    x = np.linspace(0.1, 5, size)
    expected = special.erf(x)
    out = np.empty(size)
    assert special.erf(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    strided = np.zeros((size, 2), np.float32)
    special.erf(x, out=strided[:, 1])
    np.testing.assert_array_equal(strided[:, 1], expected.astype(np.float32))
    np.testing.assert_array_equal(special.erf(x, out=x), expected)  # into the argument itself


def test_out_may_overlap_the_argument():
    x = np.linspace(0.1, 5, 100_001)
    expected = special.erf(x[:-1])
    special.erf(x[:-1], out=x[1:])
    np.testing.assert_array_equal(x[1:], expected)


def test_whole_numbers_are_refused():
    with pytest.raises(TypeError, match="digamma takes floating-point arrays, not int64"):
        special.digamma(np.arange(3))


@pytest.mark.filterwarnings("error")
def test_nothing_warns():
    x = np.array([NAN, INF, -INF, 0, -0.0, 1, -1, -2.5, 1e300, -1e300, 5e-324, 800, -800] * 10)
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore"):
            argument = x.astype(dtype)
        for name in special.__all__:
            f = getattr(special, name)
            if name == "polygamma":
                f(3, argument)
            elif name == "multigammaln":
                f(argument, 2)
            elif name in PAIRS and "polynomial" not in name:
                f(argument, argument[::-1].copy())
            elif "polynomial" in name:
                f(argument, np.arange(argument.size, dtype=dtype) % 7)
            else:
                f(argument)


def test_every_name_is_there_and_no_other():
    assert all(callable(getattr(special, name)) for name in special.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        special.nothing


@pytest.mark.parametrize(("dtype", "high"), [(np.float64, 26), (np.float32, 9)])
def test_the_exponential_of_a_square_does_not_round_the_square(dtype, high):
    x = np.random.default_rng(0).uniform(-high, high, 100).astype(dtype)
    for factor in (1, -1, -0.5):
        exact = [float((decimal.Decimal(float(number)) ** 2 * decimal.Decimal(factor)).exp()) for number in x]
        np.testing.assert_allclose(special_evaluate.exp_square(x, factor), exact, rtol=3 * np.finfo(dtype).eps)


def test_chebyshev_sums_are_what_they_say():
    coefficients = "1.5 -0.25 0.125 1e-3"
    x = np.linspace(2, 6, 50)
    expected = np.polynomial.chebyshev.chebval((x - 4) / 2, [float(word) for word in coefficients.split()])
    np.testing.assert_allclose(special_evaluate.Chebyshev(2, 6, 2, coefficients)(x), expected, rtol=1e-15)
    single = special_evaluate.Chebyshev(2, 6, 2, coefficients)(x.astype(np.float32))
    np.testing.assert_allclose(single, 1.5 - 0.125 * (x - 4), rtol=3e-7, atol=1e-7)
