"""The Bessel functions of order 0 and 1, spherical j0 and Airy's function.

Each is a polynomial near zero, in x² where the function is even, and a wave of slowly changing height beyond it:
√(2 / πx) (P cos χ - Q sin χ), P and Q polynomials in 1 / x². Zeros that fall in the polynomial's range are its
factors, each in two parts, so that the results stay accurate beside them. All but spherical j0 are computed in float64
whatever the argument: float32 would round χ too much.
"""

import math

import numpy as np

from .special_evaluate import Chebyshev, by_range, elementwise

ROOT_PI = math.sqrt(math.pi)

# J0(x) and J1(x) / x without their zeros, Y0(x) and Y1(x) / x without their logarithms and poles, in x² for x up to 8
J0_SMALL = Chebyshev(
    0,
    64,
    10,
    """
    1.990355500160148551e-3 -2.620939138497025107e-3 8.687721472062576523e-4 -1.704058495155735784e-4
    2.20490863945481701e-5 -2.0248894980012835e-6 1.389802517342891e-7 -7.40670125434417e-9 3.1559927583611e-10
    -1.10038608279e-11 3.198923297e-13 -7.87504125e-15 1.663259e-16 -3.0476e-18 4.891e-20
""",
)
J1_SMALL = Chebyshev(
    0,
    64,
    9,
    """
    2.789570988761310362e-4 -3.115684036643561785e-4 8.553646588540537777e-5 -1.41493564256234844e-5
    1.57647009922588909e-6 -1.269075502369425e-7 7.74761407707306e-9 -3.7165771466758e-10 1.439541766931e-11
    -4.6000782241e-13 1.23414656e-14 -2.8205466e-16 5.55882e-18 -9.547e-20
""",
)
Y0_SMALL = Chebyshev(
    0,
    64,
    12,
    """
    -0.0331461132032849417 -0.2744743055297452653 0.179034314077182663 0.2615673462550466368 -0.1773020127811435821
    0.0471966895957633869 -7.28796247955207918e-3 7.5311359325777423e-4 -5.63207914105699e-5 3.2065325376548e-6
    -1.440723327402e-7 5.2487947873e-9 -1.583755254e-10 4.0263308e-12 -8.747341e-14 1.6435e-15 -2.7e-17
""",
)
Y1_SMALL = Chebyshev(
    0,
    64,
    11,
    """
    2.53801323574178173e-3 -0.01608717304766875017 -0.09591204536083074247 0.08445197259652345837
    -0.02832812394459436555 5.28989754416711301e-3 -6.41455145132635599e-4 5.505982873338744e-5 -3.53808001868935e-6
    1.7707804556154e-7 -7.110550049899e-9 2.3443379059e-10 -6.465151841e-12 1.5142915e-13 -3.05119e-15 5.347e-17
""",
)
J0_ZEROS = (2.404825557695773, -1.1766916515308941e-16), (5.520078110286311, 8.088597146146722e-17)
J1_ZEROS = (3.8317059702075125, -1.5269184090088068e-16), (7.015586669815619, -9.41416565341039e-17)

# P and x Q in 1/x² from 8 on
P0 = Chebyshev(
    0,
    1 / 64,
    4,
    """
    0.9994603493475186654 -5.365220468132117e-4 3.075184787519e-6 -5.17059453761e-8 1.630646464e-9 -7.86409138e-11
    5.1682624e-12 -4.304579e-13 4.3266e-14 -5.069e-15 6.748e-16 -1.0e-16
""",
)
Q0 = Chebyshev(
    0,
    1 / 64,
    4,
    """
    -0.124446836842696073 5.47081595408932e-4 -5.9315987288485e-6 1.43779657984e-7 -5.8175327495e-9 3.376097524e-10
    -2.5653979e-11 2.404916e-12 -2.66906e-13 3.40418e-14 -4.8799e-15 7.73e-16 -1.33e-16
""",
)
P1 = Chebyshev(
    0,
    1 / 64,
    4,
    """
    1.0009030408600137 8.989898330859409e-4 -3.9872843004889e-6 6.17763396064e-8 -1.871890749e-9 8.81689866e-11
    -5.7048636e-12 4.699196e-13 -4.68422e-14 5.4527e-15 -7.221e-16 1.07e-16
""",
)
Q1 = Chebyshev(
    0,
    1 / 64,
    4,
    """
    0.3742222965562826019 -7.702178839325663e-4 7.3108922063644e-6 -1.67678251073e-7 6.5833546621e-9
    -3.749090951e-10 2.812175e-11 -2.611453e-12 2.87742e-13 -3.649e-14 5.2066e-15 -8.215e-16 1.41e-16
""",
)


def _with_zeros(y, x, zeros):
    """y times (x - zero) (x + zero) for each zero; x is not negative."""
    for zero, rest in zeros:
        y *= ((x - zero) - rest) * (x + zero)
    return y


def _j0_small(x):
    return _with_zeros(J0_SMALL(x * x), x, J0_ZEROS)


def _j1_small(x):
    return x * _with_zeros(J1_SMALL(x * x), x, J1_ZEROS)


def _y0_small(x):
    return Y0_SMALL(x * x) + (2 / math.pi) * np.log(x) * _j0_small(x)


def _y1_small(x):
    y = x * Y1_SMALL(x * x) + (2 / math.pi) * (np.log(x) * _j1_small(x) - 1 / x)
    return np.where(x == 0, -np.inf, y)


def _waves(x, p, q):
    """P and Q over √(πx), then sin(x) + cos(x) and sin(x) - cos(x): √2 cos χ and √2 sin χ, or these turned."""
    inverse = 1 / x
    square = inverse * inverse
    sine, cosine = np.sin(x), np.cos(x)
    scale = 1 / (ROOT_PI * np.sqrt(x))
    return scale * p(square), scale * inverse * q(square), sine + cosine, sine - cosine


def _j0_large(x):
    p, q, plus, minus = _waves(x, P0, Q0)
    return p * plus - q * minus


def _y0_large(x):
    p, q, plus, minus = _waves(x, P0, Q0)
    return p * minus + q * plus


def _j1_large(x):
    p, q, plus, minus = _waves(x, P1, Q1)
    return p * minus + q * plus


def _y1_large(x):
    p, q, plus, minus = _waves(x, P1, Q1)
    return q * minus - p * plus


@elementwise(wide=True)
def bessel_j0(x):
    """The Bessel function of the first kind of order 0.

    >>> bessel_j0(np.array([0.0, 1.0, -10.0]))
    array([ 1.        ,  0.76519769, -0.24593576])
    """
    return by_range(np.abs(x), (8.0,), (_j0_small, _j0_large))


@elementwise(wide=True)
def bessel_j1(x):
    """The Bessel function of the first kind of order 1.

    >>> bessel_j1(np.array([0.0, 1.0, -10.0]))
    array([ 0.        ,  0.44005059, -0.04347275])
    """
    return np.copysign(1, x) * by_range(np.abs(x), (8.0,), (_j1_small, _j1_large))


@elementwise(wide=True)
def bessel_y0(x):
    """The Bessel function of the second kind of order 0.

    >>> bessel_y0(np.array([0.0, 1.0, 10.0, -1.0]))
    array([      -inf, 0.08825696, 0.05567117,        nan])
    """
    return by_range(x, (8.0,), (_y0_small, _y0_large))


@elementwise(wide=True)
def bessel_y1(x):
    """The Bessel function of the second kind of order 1.

    >>> bessel_y1(np.array([0.0, 1.0, 10.0, -1.0]))
    array([       -inf, -0.78121282,  0.24901542,         nan])
    """
    return by_range(x, (8.0,), (_y1_small, _y1_large))


@elementwise
def spherical_bessel_j0(x):
    """sin(x) / x, also where x is 0 or infinite.

    >>> spherical_bessel_j0(np.array([0.0, 1.0, np.inf]))
    array([1.        , 0.84147098, 0.        ])
    """
    y = np.sin(x) / x
    y[x == 0] = 1
    y[np.isinf(x)] = 0
    return y


# Ai(x) for x from -4.75 to -1 without its zeros, and for x up to 1.5; ζ is 2/3 |x|^1.5;
# 4th root of x times exp(ζ) Ai(x) in 1 / (ζ + 1) beyond; P and ζ Q in 1/ζ² on the left
AIRY_LEFT = Chebyshev(
    -4.75,
    -1,
    14,
    """
    0.3355935359985670706 -0.09878707270583432306 -0.1633975569153028928 0.05241933081752013606
    9.93949152000943542e-3 -6.89399606057875541e-3 4.6357430472609117e-4 3.579406826745155e-4 -8.191881503034534e-5
    -4.0246169686567e-6 3.8852961272348e-6 -3.985040139133e-7 -7.043185087262e-8 2.05585845515e-8 -7.2435850867e-10
    -4.036787444e-10 6.308154823e-11 1.0399914e-12 -1.3024944e-12 1.21283e-13 8.71497e-15 -2.7523e-15 1.469e-16
    2.33e-17
""",
)
AIRY_MIDDLE = Chebyshev(
    -1,
    1.5,
    12,
    """
    0.3026711939740060347 -0.2522171388937114373 6.10080335654469777e-3 0.0201296027200251193
    -5.26289725461348338e-3 2.120079726431515e-4 1.448970359102887e-4 -3.061372430208766e-5 1.2747731742777e-6
    4.4554009156959e-7 -8.249668327847e-8 3.37018295259e-9 7.5694880631e-10 -1.278723033e-10 5.06946577e-12
    8.1482967e-13 -1.286534e-13 4.9415e-15 6.0523e-16 -9.077e-17
""",
)
AIRY_RIGHT = Chebyshev(
    0,
    0.4494897427831781,
    8,
    """
    0.2766434452473354344 -5.8735646631825773e-3 -4.723103123849253e-4 -5.55225774898417e-5 -6.1378167276443e-6
    -7.898672655974e-7 -9.399966031971e-8 -1.28866743405e-8 -1.5469935171e-9 -2.293293611e-10 -2.58269091e-11
    -4.4804291e-12 -3.905963e-13 -1.030853e-13 -2.3427e-15 -3.2376e-15 2.941e-16 -1.542e-16 3.12e-17
""",
)
AIRY_P = Chebyshev(
    0,
    0.020994314039947514,
    4,
    """
    0.9996190148463217359 -3.781572004518854e-4 2.766323575323e-6 -5.91466153129e-8 2.332556025e-9 -1.38245586e-10
    1.099121e-11 -1.092414e-12 1.29493e-13 -1.7712e-14 2.729e-15 -4.65e-16 8.64e-17
""",
)
AIRY_Q = Chebyshev(
    0,
    0.020994314039947514,
    4,
    """
    0.0690627530789031733 -3.762869362494094e-4 5.2350364827751e-6 -1.606734440443e-7 8.0862459556e-9
    -5.738411346e-10 5.25234788e-11 -5.8541191e-12 7.638686e-13 -1.13444e-13 1.87784e-14 -3.4097e-15 6.707e-16
    -1.41e-16 3.18e-17
""",
)
AIRY_ZEROS = (-2.338107410459767, -3.9122604098183053e-17), (-4.08794944413097, -3.3872616942429007e-16)


@elementwise(wide=True)
def airy_ai(x):
    """Airy's function Ai: the solution of y'' = x y that vanishes for large x.

    >>> airy_ai(np.array([0.0, 1.0, -10.0]))
    array([0.35502805, 0.13529242, 0.04024124])
    """
    return by_range(x, (-4.75, -1.0, 1.5), (_airy_waves, _airy_left, AIRY_MIDDLE, _airy_right))


def _airy_waves(x):
    zeta = 2 / 3 * -x * np.sqrt(-x)
    inverse = 1 / zeta
    square = inverse * inverse
    angle = zeta - math.pi / 4
    waves = AIRY_P(square) * np.cos(angle) + inverse * AIRY_Q(square) * np.sin(angle)
    return waves / (ROOT_PI * np.sqrt(np.sqrt(-x)))


def _airy_left(x):
    y = AIRY_LEFT(x)
    for zero, rest in AIRY_ZEROS:
        y *= (x - zero) - rest
    return y


def _airy_right(x):
    root = np.sqrt(x)
    zeta = 2 / 3 * x * root
    y = np.exp(-zeta) * AIRY_RIGHT(1 / (zeta + 1)) / np.sqrt(root)
    y[np.isinf(x)] = np.nan  # as in PyTorch
    return y
