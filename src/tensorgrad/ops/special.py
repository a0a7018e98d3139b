"""Special functions: gamma and its relatives, error functions, Bessel functions, orthogonal polynomials. The arrays' side of
each is in backends/special*.py; here stand the slopes."""

import math

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.both import arrays, special_kernel, tensors, xp
from tensorgrad.ops.elementwise import _example, erf, erfc, exp2, expm1, log1p, round, sigmoid  # noqa: F401
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.parametric import parametric
from tensorgrad.ops.pointwise import binary, inplace, unary
from tensorgrad.ops.softmax import log_softmax, logsumexp, softmax  # noqa: F401

CHEBYSHEV = " ".join(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw")
PUBLIC = {
    "": "digamma erfinv i0 igamma igammac lgamma logit mvlgamma polygamma sinc xlogy",
    "special": f"""airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 {CHEBYSHEV} digamma entr erf erfc erfcx erfinv exp2
        expit=sigmoid expm1 gammainc=igamma gammaincc=igammac gammaln=lgamma hermite_polynomial_h hermite_polynomial_he i0 i0e
        i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp
        modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln=mvlgamma ndtr ndtri polygamma
        psi=digamma round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc softmax spherical_bessel_j0
        xlog1py xlogy zeta""",
}


def _one(name, slope, doc, call, result, node=None, **options):
    """A special function of one real number."""
    return unary(
        name, special_kernel(name), slope, complex=False, node=node, doc=doc + _example(call, result), **options
    )


# Gamma functions

digamma = _one("digamma", lambda x: xp.polygamma(1, x), "The derivative of lgamma.",
               "digamma(torch.tensor([1., 2.]))", "tensor([-0.5772,  0.4228])")  # fmt: skip
lgamma = _one("lgamma", lambda x: xp.digamma(x), "The logarithm of the size of the gamma function.",
              "lgamma(torch.tensor([1., 5.]))", "tensor([0.0000, 3.1781])")  # fmt: skip


def _polygamma_kernel(x, n):
    from tensorgrad.backends import special

    return special.digamma(x) if n == 0 else special.polygamma(n, x)


arrays["polygamma"] = lambda n, x: _polygamma_kernel(x, n)
tensors["polygamma"] = lambda n, x: _polygamma(x, n)
_polygamma = parametric(
    "polygamma", _polygamma_kernel, lambda x, n: xp.polygamma(n + 1, x), "n", promote="float", complex=False
)


def _order(n):
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {fitting.kind_name(n)}")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return n.__index__()


def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma.

    >>> torch.polygamma(1, torch.tensor([1., 2.]))
    tensor([1.6449, 0.6449])
    """
    return _polygamma(input, _order(n), out=out)


def _mvlgamma_kernel(x, p):
    from tensorgrad.backends import special

    return special.multigammaln(x, p)


def _mvlgamma_slope(x, p):
    total = xp.digamma(x)
    for index in range(1, p):
        total = total + xp.digamma(x - index / 2)
    return total


_mvlgamma = parametric(
    "mvlgamma", _mvlgamma_kernel, _mvlgamma_slope, "p", promote="float", boolean=False, complex=False
)


def _dimension(p):
    if isinstance(p, bool) or not hasattr(p, "__index__"):
        raise TypeError(f"mvlgamma(): argument 'p' (position 2) must be int, not {fitting.kind_name(p)}")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return p.__index__()


def mvlgamma(input, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension p.

    >>> torch.mvlgamma(torch.tensor([2., 3.5]), 2)
    tensor([0.4516, 2.4665])
    """
    if check_tensor("mvlgamma", input)._spec.dtype is dtypes.bool_:
        raise NotImplementedError("The input tensor may not be a boolean tensor.")
    return _mvlgamma(input, _dimension(p), out=out)


def _unknown(word):
    """The slope in an operand whose derivative PyTorch has not either."""

    def slope():
        raise NotImplementedError(f"the derivative for '{word}' is not implemented.")

    return slope


def _gamma_density(a, b):
    return xp.exp((a - 1) * xp.log(b) - b - xp.lgamma(a))


igamma = binary("igamma", special_kernel("gammainc"), slopes=(_unknown("igamma: input"), lambda a, b: _gamma_density(a, b)),
    integer=False, boolean=False, complex=False, numbers="none", doc="The lower incomplete gamma function, as a part of the whole."
    + _example("igamma(torch.tensor([1.]), torch.tensor([2.]))", "tensor([0.8647])"))  # fmt: skip
igammac = binary("igammac", special_kernel("gammaincc"), slopes=(_unknown("igammac: input"), lambda a, b: -_gamma_density(a, b)),
    integer=False, boolean=False, complex=False, numbers="none", doc="The upper incomplete gamma function, as a part of the whole."
    + _example("igammac(torch.tensor([1.]), torch.tensor([2.]))", "tensor([0.1353])"))  # fmt: skip
zeta = binary("zeta", special_kernel("zeta"), slopes=(_unknown("zeta"), lambda a, b: -a * xp.zeta(a + 1, b)), promote="float",
    complex=False, doc="The Hurwitz zeta function: the sum of (other + k) ** -input over k = 0, 1, 2, ..."
    + _example("special.zeta(torch.tensor([2.]), 1)", "tensor([1.6449])"))  # fmt: skip

# Normal distribution

ROOT_PI, ROOT_TWO = math.sqrt(math.pi), math.sqrt(2)
erfinv = _one("erfinv", lambda x: ROOT_PI / 2 * xp.exp(xp.square(xp.erfinv(x))), "The inverse of erf.",
              "erfinv(torch.tensor([0., 0.5]))", "tensor([0.0000, 0.4769])")  # fmt: skip
erfcx = _one("erfcx", lambda x, y: 2 * x * y - 2 / ROOT_PI, "exp(x²) erfc(x), which does not vanish for large x.",
             "special.erfcx(torch.tensor([0., 10.]))", "tensor([1.0000, 0.0561])", "SpecialErfcxBackward0")  # fmt: skip
ndtr = _one("ndtr", lambda x: xp.exp(-0.5 * x * x) / (ROOT_TWO * ROOT_PI), "The normal distribution function.",
            "special.ndtr(torch.tensor([0., 1.]))", "tensor([0.5000, 0.8413])")  # fmt: skip
log_ndtr = _one("log_ndtr", lambda x: ROOT_TWO / ROOT_PI / xp.erfcx(x * (-1 / ROOT_TWO)), "The logarithm of ndtr.",
                "special.log_ndtr(torch.tensor([0., -30.]))", "tensor([  -0.6931, -454.3212])",
                "SpecialLogNdtrBackward0")  # fmt: skip
ndtri = _one("ndtri", lambda y: ROOT_TWO * ROOT_PI * xp.exp(0.5 * y * y), "The inverse of ndtr.",
             "special.ndtri(torch.tensor([0.5, 0.975]))", "tensor([0.0000, 1.9600])", "SpecialNdtriBackward0")  # fmt: skip

# Logarithms and quotients


def _logit_kernel(x, eps):
    from tensorgrad.backends import special

    return special.logit(x, eps=eps)


def _logit_slope(x, eps):
    low, beyond = (0, math.nan) if eps is None or eps < 0 else (eps, 0)
    return xp.choose((x >= low) & (x <= 1 - low), 1 / (x * (1 - x)), beyond, x)


_logit = parametric("logit", _logit_kernel, _logit_slope, "eps", promote="float", complex=False)


def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), the inverse of the sigmoid; with eps, x is first brought between eps and 1 - eps.

    >>> torch.logit(torch.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    return _logit(input, eps, out=out)


def _ahead(a, b, logarithm, end):
    """The slope of a * logarithm(b) in a: 0 where a is 0 and the logarithm is none."""
    return xp.choose((a == 0) & (b <= end), 0, logarithm(b), b)


xlogy = binary("xlogy", special_kernel("xlogy"), slopes=(lambda a, b: _ahead(a, b, xp.log, 0), lambda a, b: a / b),
    promote="float", complex=False, doc="input * log(other), and 0 where the input is 0."
    + _example("xlogy(torch.tensor([0., 2.]), torch.tensor([0., 3.]))", "tensor([0.0000, 2.1972])"))  # fmt: skip
xlog1py = binary("xlog1py", special_kernel("xlog1py"), slopes=(lambda a, b: _ahead(a, b, xp.log1p, -1), lambda a, b: a / (b + 1)),
    promote="float", complex=False, node="SpecialXlog1PyBackward0", doc="input * log(1 + other), and 0 where the input is 0."
    + _example("special.xlog1py(torch.tensor([0., 2.]), torch.tensor([-1., 3.]))", "tensor([0.0000, 2.7726])"))  # fmt: skip
entr = _one("entr", lambda x: -1 - xp.log(x), "-x log(x), what an outcome of probability x adds to an entropy.",
            "special.entr(torch.tensor([0., 0.5]))", "tensor([0.0000, 0.3466])", "SpecialEntrBackward0")  # fmt: skip


def _beside_zero(x, value, at_zero):
    """`value(x)`, and another value at 0, where it has none."""
    zero = x == 0
    return xp.choose(zero, at_zero, value(xp.choose(zero, 1, x, x)), x)


def _sinc_slope(x):
    return _beside_zero(x, lambda x: (xp.cos(math.pi * x) - xp.sinc(x)) / x, 0)


sinc = unary("sinc", special_kernel("sinc"), lambda x: _sinc_slope(x),
    doc="sin(πx) / (πx)." + _example("sinc(torch.tensor([0., 0.5]))", "tensor([1.0000, 0.6366])"))  # fmt: skip

# Bessel functions

i0 = _one("i0", lambda x: xp.i1(x), "The modified Bessel function of the first kind, order 0.",
          "i0(torch.tensor([0., 1.]))", "tensor([1.0000, 1.2661])")  # fmt: skip
i0e = _one("i0e", lambda x, y: xp.i1e(x) - xp.sign(x) * y, "exp(-|x|) i0(x).",
           "special.i0e(torch.tensor([0., 1.]))", "tensor([1.0000, 0.4658])", "SpecialI0EBackward0")  # fmt: skip
i1 = _one("i1", lambda x, y: _beside_zero(x, lambda x: xp.i0(x) - y / x, 0.5),
          "The modified Bessel function of the first kind, order 1.",
          "special.i1(torch.tensor([0., 1.]))", "tensor([0.0000, 0.5652])", "SpecialI1Backward0")  # fmt: skip
i1e = _one("i1e", lambda x, y: _beside_zero(x, lambda x: xp.i0e(x) - y * (xp.sign(x) + 1 / x), 0.5), "exp(-|x|) i1(x).",
           "special.i1e(torch.tensor([0., 1.]))", "tensor([0.0000, 0.2079])", "SpecialI1EBackward0")  # fmt: skip


def _bessel(name, slope, doc, result, kernel=None):
    """A Bessel function. PyTorch has no derivatives of these."""
    return unary(name, special_kernel(kernel or name), slope, complex=False,
                 node=f"Special{name.title().replace('_', '')}Backward0",
                 doc=doc + _example(f"special.{name}(torch.tensor([1., 2.]))", f"tensor([{result}])"))  # fmt: skip


bessel_j0 = _bessel(
    "bessel_j0", lambda x: -xp.bessel_j1(x), "The Bessel function of the first kind, order 0.", "0.7652, 0.2239"
)
bessel_j1 = _bessel("bessel_j1", lambda x, y: _beside_zero(x, lambda x: xp.bessel_j0(x) - y / x, 0.5),
                    "The Bessel function of the first kind, order 1.", "0.4401, 0.5767")  # fmt: skip
bessel_y0 = _bessel(
    "bessel_y0", lambda x: -xp.bessel_y1(x), "The Bessel function of the second kind, order 0.", "0.0883, 0.5104"
)
bessel_y1 = _bessel(
    "bessel_y1",
    lambda x, y: xp.bessel_y0(x) - y / x,
    "The Bessel function of the second kind, order 1.",
    "-0.7812, -0.1070",
)
modified_bessel_i0 = _bessel("modified_bessel_i0", lambda x: xp.i1(x), "The modified Bessel function of the first kind, order 0.",
                             "1.2661, 2.2796", "i0")  # fmt: skip
modified_bessel_i1 = _bessel("modified_bessel_i1", lambda x, y: _beside_zero(x, lambda x: xp.i0(x) - y / x, 0.5),
                             "The modified Bessel function of the first kind, order 1.", "0.5652, 1.5906", "i1")  # fmt: skip
modified_bessel_k0 = _bessel("modified_bessel_k0", lambda x: -xp.modified_bessel_k1(x),
                             "The modified Bessel function of the second kind, order 0.", "0.4210, 0.1139")  # fmt: skip
modified_bessel_k1 = _bessel("modified_bessel_k1", lambda x, y: -xp.modified_bessel_k0(x) - y / x,
                             "The modified Bessel function of the second kind, order 1.", "0.6019, 0.1399")  # fmt: skip
scaled_modified_bessel_k0 = _bessel("scaled_modified_bessel_k0", lambda x, y: y - xp.scaled_modified_bessel_k1(x),
                                    "exp(x) modified_bessel_k0(x).", "1.1445, 0.8416")  # fmt: skip
scaled_modified_bessel_k1 = _bessel("scaled_modified_bessel_k1", lambda x, y: y - xp.scaled_modified_bessel_k0(x) - y / x,
                                    "exp(x) modified_bessel_k1(x).", "1.6362, 1.0335")  # fmt: skip
spherical_bessel_j0 = _bessel("spherical_bessel_j0", lambda x, y: _beside_zero(x, lambda x: (xp.cos(x) - y) / x, 0),
                              "sin(x) / x.", "0.8415, 0.4546")  # fmt: skip
airy_ai = _bessel("airy_ai", None, "The Airy function Ai.", "0.1353, 0.0349")

# Orthogonal polynomials


def _polynomial(name, doc, result, slope=None):
    """A polynomial of `input` and degree `n`. PyTorch has no derivatives of these; where they are simple, they stand here."""
    slopes = None if slope is None else (slope, _unknown(f"{name}: n"))
    return binary(name, special_kernel(name), slopes, promote="float", complex=False,
                  node=f"Special{name.title().replace('_', '')}Backward0",
                  doc=doc + _example(f"special.{name}(torch.tensor([0.5, 2.]), 2)", f"tensor([{result}])"))  # fmt: skip


chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind.", "-0.5000,  7.0000",
                                     lambda a, b: b * xp.chebyshev_polynomial_u(a, b - 1))  # fmt: skip
chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind.", " 0., 15.")
chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind.", "-1., 11.")
chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind.", " 1., 19.")
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t", "chebyshev_polynomial_t of 2 x - 1.", "-1., 17.",
    lambda a, b: 2 * b * xp.shifted_chebyshev_polynomial_u(a, b - 1))  # fmt: skip
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u", "chebyshev_polynomial_u of 2 x - 1.", "-1., 35."
)
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v", "chebyshev_polynomial_v of 2 x - 1.", "-1., 29."
)
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w", "chebyshev_polynomial_w of 2 x - 1.", "-1., 41."
)
hermite_polynomial_h = _polynomial("hermite_polynomial_h", "Hermite's polynomial as in physics.", "-1., 14.",
                                   lambda a, b: 2 * b * xp.hermite_polynomial_h(a, b - 1))  # fmt: skip
hermite_polynomial_he = _polynomial("hermite_polynomial_he", "Hermite's polynomial as in probability.", "-0.7500,  3.0000",
                                    lambda a, b: b * xp.hermite_polynomial_he(a, b - 1))  # fmt: skip
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", "Laguerre's polynomial.", " 0.1250, -1.0000")
legendre_polynomial_p = _polynomial("legendre_polynomial_p", "Legendre's polynomial.", "-0.1250,  5.5000")


class Methods:
    """The functions of this file that are methods of a tensor."""

    digamma, lgamma, igamma, igammac, erfinv, i0, logit, mvlgamma, sinc, xlogy = (
        digamma, lgamma, igamma, igammac, erfinv, i0, logit, mvlgamma, sinc, xlogy)  # fmt: skip
    digamma_, lgamma_, igamma_, igammac_, erfinv_ = (
        inplace(digamma), inplace(lgamma), inplace(igamma), inplace(igammac), inplace(erfinv))  # fmt: skip
    i0_, sinc_, xlogy_ = inplace(i0), inplace(sinc), inplace(xlogy)

    def polygamma(self, n):
        """The n-th derivative of digamma."""
        return polygamma(n, self)

    def polygamma_(self, n):
        """The in-place form of `polygamma`."""
        return _polygamma.inplace(self, _order(n))

    def mvlgamma_(self, p):
        """The in-place form of `mvlgamma`."""
        return _mvlgamma.inplace(self, _dimension(p))

    def logit_(self, eps=None):
        """The in-place form of `logit`."""
        return _logit.inplace(self, eps)
