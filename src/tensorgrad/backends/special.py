"""Special functions of arrays: every one that PyTorch has and NumPy has not, on NumPy alone.

This file lists them; each is in the file of its family, which is loaded when one of its functions is first asked for.
They take arrays of one floating-point dtype (and broadcast), have PyTorch's values at the borders of their domains, and
are accurate to a few units in the last place. The way they are computed is in `special_evaluate`.
"""

from importlib import import_module

FAMILIES = {
    "special_elementary": "entr expit log1p logaddexp logit logsigmoid sinc softplus xlog1py xlogy",
    "special_errors": "erf erfc erfcx erfinv log_ndtr ndtr ndtri",
    "special_gamma": "digamma lgamma multigammaln polygamma zeta",
    "special_incomplete": "gammainc gammaincc",
    "special_modified_bessel": """
        i0 i0e i1 i1e modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
    """,
    "special_bessel": "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0",
    "special_polynomials": """
        chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
        shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
        legendre_polynomial_p
    """,
}
HOMES = {name: family for family, names in FAMILIES.items() for name in names.split()}
__all__ = sorted(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name):
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f".{HOMES[name]}", __package__), name)
    globals()[name] = function
    return function


def __dir__():
    return __all__
