"""The modified Bessel functions of order 0 and 1: i0, i1, k0 and k1, also scaled by exp(-|x|) and exp(x).

Each has one polynomial near zero, K with its logarithm beside it, and beyond it one in 1 / x or 1 / (x + 1) for what is
left of the function without exp(±x) / √x.
"""

import numpy as np

from .special_evaluate import Chebyshev, by_range, elementwise

# exp(-x) I0(x) and exp(-x) I1(x) (x + 2) / x for x up to 8; √x exp(-x) I(x) in 1/x from there
I0_SMALL = Chebyshev(
    0,
    8,
    19,
    """
    0.3383976372047380425 -0.3046826723431983987 0.1716209015222087753 -0.09490109704804764442
    0.04930528423967070849 -0.0237374148058994688 0.0105464603945949983 -4.3243099950505759e-3 1.6394756169413358e-3
    -5.7637557453858237e-4 1.885028850958417e-4 -5.754195010082104e-5 1.64484480707289e-5 -4.4167383584588e-6
    1.1173875391201e-6 -2.670793853941e-7 6.046995022542e-8 -1.30002500999e-8 2.6598237247e-9 -5.1897956016e-10
    9.675809035e-11 -1.72682629e-11 2.9550527e-12 -4.8564468e-13 7.676185e-14 -1.16853e-14 1.7154e-15 -2.431e-16
    3.33e-17
""",
)
I1_SMALL = Chebyshev(
    0,
    8,
    18,
    """
    0.4049285226152328542 -0.3480374198800428305 0.1571369530072244791 -0.06293567180762272414 0.0213385619783167218
    -5.61876541787837896e-3 7.8322297536242633e-4 2.55983097175409e-4 -2.769507959028452e-4 1.496383195327722e-4
    -6.317405251086911e-5 2.29328228310398e-5 -7.43856351619189e-6 2.1999294081685e-6 -6.0066838338374e-7
    1.527184777556e-7 -3.63864577604e-8 8.16469431896e-9 -1.732415129e-9 3.487810455e-10 -6.682062547e-11
    1.22132849e-11 -2.1345165e-12 3.574289e-13 -5.74508e-14 8.87851e-15 -1.3212e-15 1.896e-16 -2.63e-17
""",
)
I0_LARGE = Chebyshev(
    0,
    1 / 8,
    6,
    """
    0.4022452055070544158 3.3691164782556941e-3 6.88975834691682e-5 2.8913705208348e-6 2.048918589469e-7
    2.2666689905e-8 3.3962320257e-9 4.940602388e-10 1.1889147e-11 -3.14991653e-11 -1.32158118e-11 -1.7941785e-12
    7.180124e-13 3.852778e-13 1.54009e-14 -4.15057e-14 -9.5548e-15 3.8117e-15 1.7726e-15 -3.425e-16 -2.828e-16
    3.46e-17 4.47e-17
""",
)
I1_LARGE = Chebyshev(
    0,
    1 / 8,
    6,
    """
    0.3892881175091400602 -9.7610974913614684e-3 -1.10588938762624e-4 -3.8825648088777e-6 -2.51223623787e-7
    -2.63146884689e-8 -3.835380386e-9 -5.589743462e-10 -1.89749581e-11 3.25260358e-11 1.41258074e-11 2.0356285e-12
    -7.198552e-13 -4.083551e-13 -2.10154e-14 4.27244e-14 1.042e-14 -3.8144e-15 -1.8804e-15 3.308e-16 2.963e-16
    -3.21e-17 -4.65e-17
""",
)

# K0(x) + log(x) I0(x), I0(x), (K1(x) - 1/x - log(x) I1(x)) / x and I1(x) / x in x² for x up to 1
K0_SMALL = Chebyshev(
    0,
    1,
    5,
    """
    0.2651598083657044422 0.1525190757683156745 3.318048844835395e-3 2.73851978840157e-5 1.1973841928e-7
    3.249474444e-10 6.0127304e-13 8.0761e-16
""",
)
I0_NEAR = Chebyshev(
    0,
    1,
    5,
    """
    1.13099687984332737 0.133018945506105786 2.036004710704175e-3 1.3993234656991e-5 5.43217385259e-8 1.35241093e-10
    2.34097e-13 2.98e-16
""",
)
K1_SMALL = Chebyshev(
    0,
    1,
    5,
    """
    -0.352427533593807845 -0.0450598905084040448 -6.017177632861078e-4 -3.615450448354e-6 -1.24588478355e-8
    -2.79271501e-11 -4.40366e-14 -5.15e-17
""",
)
I1_NEAR = Chebyshev(
    0,
    1,
    4,
    """
    0.5322437035451372384 0.0325778136781363069 3.358430414281916e-4 1.7383068695085e-6 5.4096603996e-9 1.123668e-11
    1.6684e-14
""",
)

# √x exp(x) K(x) in 1 / (x + 1) from 1 on
K0_LARGE = Chebyshev(
    0,
    1 / 2,
    9,
    """
    1.203804463054678441 -0.053771866840162308 -4.8333495197570244e-3 -6.416331147061691e-4 -8.0853965951435e-5
    -1.1773744647419e-5 -1.61509733097e-6 -2.49181380002e-7 -3.5099156217e-8 -5.7283834653e-9 -7.931680936e-10
    -1.4109647e-10 -1.7768344e-11 -3.8010403e-12 -3.47547e-13 -1.2035e-13 -1.786e-15 -5.0641e-15 5.352e-16 -3.04e-16
    6.64e-17
""",
)
K1_LARGE = Chebyshev(
    0,
    1 / 2,
    10,
    """
    1.420336679365553248 0.187783325593069927 0.023849245401445124 3.550253959139083e-3 5.343493012113108e-4
    8.39122209644198e-5 1.3187909600999e-5 2.125338560988e-6 3.40541642024e-7 5.58184474234e-8 9.0207855012e-9
    1.501310366e-9 2.42424346e-10 4.11928696e-11 6.5390512e-12 1.158545e-12 1.73368e-13 3.4188e-14 4.2182e-15
    1.134e-15 6.32e-17
""",
)


@elementwise
def i0e(x):
    """exp(-|x|) i0(x).

    >>> i0e(np.array([0.0, 1.0, -800.0]))
    array([1.        , 0.46575961, 0.01410695])
    """
    return by_range(np.abs(x), (8.0,), (I0_SMALL, lambda x: I0_LARGE(1 / x) / np.sqrt(x)))


@elementwise
def i1e(x):
    """exp(-|x|) i1(x).

    >>> i1e(np.array([0.0, 1.0, -800.0]))
    array([ 0.        ,  0.20791042, -0.01409813])
    """
    return by_range(np.abs(x), (8.0,), (_i1e_small, _i1e_large), x)


def _i1e_small(x):
    positive = np.abs(x)
    return x / (positive + 2) * I1_SMALL(positive)


def _i1e_large(x):
    positive = np.abs(x)
    return np.copysign(I1_LARGE(1 / positive) / np.sqrt(positive), x)


@elementwise
def i0(x):
    """The modified Bessel function of the first kind of order 0.

    >>> i0(np.array([0.0, 1.0, 10.0]))
    array([1.00000000e+00, 1.26606588e+00, 2.81571663e+03])
    """
    return i0e(x) * np.exp(np.abs(x))


@elementwise
def i1(x):
    """The modified Bessel function of the first kind of order 1.

    >>> i1(np.array([0.0, 1.0, -10.0]))
    array([ 0.00000000e+00,  5.65159104e-01, -2.67098830e+03])
    """
    return i1e(x) * np.exp(np.abs(x))


def _k0_small(x):
    square = x * x
    return K0_SMALL(square) - np.log(x) * I0_NEAR(square)


def _k0e_large(x):
    return K0_LARGE(1 / (x + 1)) / np.sqrt(x)


def _k1_small(x):
    square = x * x
    y = 1 / np.abs(x) + x * (K1_SMALL(square) + np.log(x) * I1_NEAR(square))
    return np.where(x == 0, np.inf, y).astype(x.dtype, copy=False)


def _k1e_large(x):
    return K1_LARGE(1 / (x + 1)) / np.sqrt(x)


@elementwise
def modified_bessel_k0(x):
    """The modified Bessel function of the second kind of order 0.

    >>> modified_bessel_k0(np.array([0.0, 1.0, 10.0]))
    array([           inf, 4.21024438e-01, 1.77800623e-05])
    """
    return by_range(x, (1.0,), (_k0_small, lambda x: np.exp(-x) * _k0e_large(x)))


@elementwise
def modified_bessel_k1(x):
    """The modified Bessel function of the second kind of order 1.

    >>> modified_bessel_k1(np.array([0.0, 1.0, 10.0]))
    array([           inf, 6.01907230e-01, 1.86487735e-05])
    """
    return by_range(x, (1.0,), (_k1_small, lambda x: np.exp(-x) * _k1e_large(x)))


@elementwise
def scaled_modified_bessel_k0(x):
    """exp(x) modified_bessel_k0(x).

    >>> scaled_modified_bessel_k0(np.array([1.0, 1000.0]))
    array([1.14446308, 0.03962832])
    """
    return by_range(x, (1.0,), (lambda x: np.exp(x) * _k0_small(x), _k0e_large))


@elementwise
def scaled_modified_bessel_k1(x):
    """exp(x) modified_bessel_k1(x).

    >>> scaled_modified_bessel_k1(np.array([1.0, 1000.0]))
    array([1.63615349, 0.03964813])
    """
    return by_range(x, (1.0,), (lambda x: np.exp(x) * _k1_small(x), _k1e_large))
