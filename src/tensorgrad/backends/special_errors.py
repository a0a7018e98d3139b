"""The error function and its relatives: erf, erfc, erfcx, erfinv and the normal distribution's ndtr, ndtri, log_ndtr.

erf comes from a polynomial in x² near zero, and for float32, where it must be quick, from one in x² inside tanh, which
is 1 as soon as erf is. Everything else comes from erfcx(x) = exp(x²) erfc(x), which falls so
smoothly that one polynomial in 1 / (x + 3) holds for all x >= 0. The inverse is a polynomial in w = -log(1 - x²) as
long as w is small and in 1 / (sqrt(w) + 2) beyond.
"""

import math

import numpy as np

from .special_evaluate import FLOAT32, Chebyshev, by_range, elementwise, exp_square

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO = math.sqrt(2)

# erf(x) / x in x²; erfcx(x) * (x + 3) in 1 / (x + 3), once for x from 1 to 6 where erf needs few digits of it
ERF = Chebyshev(
    0,
    1,
    7,
    """
    0.975476939382654096 -0.142261205103713642 0.010035582187599796 -5.768764699767485e-4 2.74199312521961e-5
    -1.104317550734e-6 3.84887554203e-8 -1.180858253e-9 3.23342158e-11 -7.991016e-13 1.7991e-14 -3.719e-16
""",
)
ERF_FAR = Chebyshev(
    1 / 9,
    1 / 4,
    8,
    """
    1.21179592747338491 0.431185967309051984 0.060377643232101324 6.467290847332588e-3 4.88658068962972e-4
    1.9447244851526e-5 -5.19392187257e-7 -1.0868090126e-7 -1.988775999e-9 4.91470359e-10 2.0685136e-11 -2.63133e-12
    -1.35194e-13 1.7686e-14 7.12e-16
""",
)
ERFCX = Chebyshev(
    0,
    1 / 3,
    12,
    """
    1.413438223980871961 1.131476849074697378 0.3541081003424863628 0.0850870400990854545 0.014615273272816639
    1.379557163629633e-3 -6.42906671431595e-5 -3.9043421097724e-5 -2.6427850748561e-6 8.239440143911e-7
    1.32479756977e-7 -1.91952251567e-8 -5.0305071637e-9 5.84200641e-10 1.874232391e-10 -2.43736727e-11
    -6.9909438e-12 1.257312e-12 2.458001e-13 -7.00574e-14 -6.7328e-15 3.8434e-15 3.3e-18 -1.934e-16
""",
)

# atanh(erf(x)) / x in x², the polynomial whose largest error in erf is least
ERF_SINGLE = Chebyshev(
    0,
    16,
    10,
    """
    1.790489791 0.6156664891 -0.03379760696 0.01991594607 0.01089759508 0.006748411923 0.004327924334
    0.00168997631 0.0005759260681 9.362736803e-5
""",
)

# erfinv(x) / x: in w; in r = 1 / (sqrt(w) + 2); and times r, in r, as far as the smallest number goes
INVERSE_BODY = Chebyshev(
    0,
    6.25,
    11,
    """
    1.630422098945932496 0.7315674456742257438 -0.021235032142504586 -6.5808875424494631e-3 1.948871142690852e-3
    -1.41583433863745e-4 -4.929286463618e-5 1.4752887929042e-5 -6.111918603258e-7 -5.106997335481e-7 1.1590277233e-7
    1.490799884e-9 -5.2447767855e-9 8.517905491e-10 7.91702059e-11 -5.09942817e-11 5.4362275e-12 1.292282e-12
    -4.656065e-13 2.4257e-14 1.6404e-14 -3.9496e-15 -3.9e-17 1.83e-16
""",
)
INVERSE_TAIL = Chebyshev(
    1 / 8,
    1 / 4.5,
    11,
    """
    3.842591358155283409 -1.726891536918159226 0.250056479022523722 -0.034414390746747806 5.16781422907167e-3
    -6.6243420562524e-4 1.12496251337124e-4 -1.4986633131417e-5 1.034911789285e-6 -5.61285801833e-7 6.8150384169e-8
    2.1617023134e-8 3.526509037e-9 -1.994672003e-9 -4.04380615e-10 1.05565338e-10 3.867548e-11 -6.631899e-12
    -2.854665e-12 4.94883e-13 1.90457e-13 -4.4215e-14 -1.1022e-14 3.985e-15 4.75e-16 -3.28e-16
""",
)
INVERSE_FAR = Chebyshev(
    1 / 29.5,
    1 / 8,
    8,
    """
    0.8320207984779932579 -0.0989375419012063318 -6.589795713835016e-4 6.4520170954878e-5 -1.81632328692e-7
    5.777822565893e-7 -6.074552784e-8 1.244380857e-8 -2.4535611214e-9 5.153410956e-10 -1.14290792e-10 2.62223274e-11
    -6.2050027e-12 1.505133e-12 -3.728167e-13 9.4009e-14 -2.4072e-14 6.2474e-15 -1.64e-15 4.354e-16 -1.17e-16
    3.15e-17
""",
)


def _erf_near(x):
    return x * ERF(x * x)


def _erfcx_right(x):
    inverse = 1 / (x + 3)
    return ERFCX(inverse) * inverse


@elementwise(few=math.erf)
def erf(x):
    """The error function, 2/√π times the integral of exp(-t²) from 0 to x.

    >>> erf(np.array([0.0, 0.5, np.inf]))
    array([0.        , 0.52049988, 1.        ])
    """
    if x.dtype == FLOAT32:
        return np.tanh(x * ERF_SINGLE(np.minimum(x * x, 16)))
    return by_range(np.abs(x), (1.0,), (_erf_near, _erf_far), x)


def _erf_far(x):
    inverse = 1 / (np.abs(x) + 3)
    return np.copysign(1 - np.exp(-x * x) * inverse * ERF_FAR(inverse), x)


@elementwise(few=math.erfc)
def erfc(x):
    """1 - erf(x), accurate also where erf(x) is nearly 1.

    >>> erfc(np.array([0.0, 1.0, 10.0]))
    array([1.00000000e+00, 1.57299207e-01, 2.08848758e-45])
    """
    y = exp_square(x, -1) * _erfcx_right(np.abs(x))
    return np.where(x < 0, 2 - y, y)


@elementwise
def erfcx(x):
    """exp(x²) erfc(x): erfc without its underflow.

    >>> erfcx(np.array([0.0, 1.0, 1e10]))
    array([1.00000000e+00, 4.27583576e-01, 5.64189584e-11])
    """
    return by_range(x, (0.0,), (lambda x: 2 * exp_square(x, 1) - _erfcx_right(-x), _erfcx_right))


@elementwise
def erfinv(x):
    """The inverse of erf, on [-1, 1].

    >>> erfinv(np.array([0.0, 0.5, -1.0, 2.0]))
    array([0.        , 0.47693628,       -inf,        nan])
    """
    w = -np.log((1 - x) * (1 + x))
    return x * by_range(w, (6.25,), (INVERSE_BODY, _inverse_tail))


def _inverse_tail(w):
    return np.where(np.isinf(w), w, INVERSE_TAIL(1 / (np.sqrt(w) + 2)))


def _inverse_far(w):
    shifted = np.sqrt(w) + 2
    return INVERSE_FAR(1 / shifted) * shifted


@elementwise
def ndtr(x):
    """The standard normal distribution: the probability to be at most x.

    >>> ndtr(np.array([0.0, 1.0, -10.0]))
    array([5.00000000e-01, 8.41344746e-01, 7.61985302e-24])
    """
    y = 0.5 * exp_square(x, -0.5) * _erfcx_right(np.abs(x) * ROOT_HALF)
    return np.where(x > 0, 1 - y, y)


@elementwise
def log_ndtr(x):
    """The logarithm of ndtr(x), accurate also where ndtr(x) underflows.

    >>> log_ndtr(np.array([0.0, -1.0, -100.0]))
    array([-6.93147181e-01, -1.84102165e+00, -5.00552421e+03])
    """
    return by_range(x, (-1.0, 0.5), (_log_ndtr_left, lambda x: np.log(ndtr(x)), lambda x: np.log1p(-ndtr(-x))))


def _log_ndtr_left(x):
    return np.log(0.5 * _erfcx_right(x * -ROOT_HALF)) - 0.5 * x * x


@elementwise
def ndtri(x):
    """The inverse of ndtr: the number that a standard normal variable stays below with probability x.

    >>> ndtri(np.array([0.0, 0.5, 0.975]))
    array([      -inf, 0.        , 1.95996398])
    """
    w = -np.log(4 * x * (1 - x))
    return (2 * x - 1) * ROOT_TWO * by_range(w, (6.25, 36.0), (INVERSE_BODY, _inverse_tail, _inverse_far))
