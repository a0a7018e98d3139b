"""The text of a tensor is what PyTorch 2.13 prints for the same values: each text here was printed by PyTorch."""

import math
import time

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy import float16, float64, inf, int32, int64, nan, uint64

from tensorgrad.printing import format_tensor, get_printoptions, set_printoptions


@pytest.fixture(autouse=True)
def default_options():
    yield
    set_printoptions(profile="default")


def text(values, dtype=None, **arguments):
    """Print `values`; float and complex values are float32 and complex64 unless a dtype is given, as for tensors."""
    array = np.asarray(values, dtype)
    if dtype is None:
        array = array.astype({"f": np.float32, "c": np.complex64}.get(array.dtype.kind, array.dtype), copy=False)
    known = array.dtype in (np.float32, np.complex64, np.int64, np.bool_)
    return format_tensor(array, dtype_name=f"tensorgrad.{array.dtype}", default_float=known, **arguments)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # scalars
        (2.5, "tensor(2.5000)"),
        (-3.0, "tensor(-3.)"),
        (0.0, "tensor(0.)"),
        (1.5e-7, "tensor(1.5000e-07)"),
        (7, "tensor(7)"),
        (True, "tensor(True)"),
        (1 - 2j, "tensor(1.-2.j)"),
        # columns are as wide as the widest number
        ([1.36332, 0.19123], "tensor([1.3633, 0.1912])"),
        ([-1.0, 10.0, 2.5], "tensor([-1.0000, 10.0000,  2.5000])"),
        ([9.99996, 1.5], "tensor([10.0000,  1.5000])"),
        ([1.0, -20.0, 300.0], "tensor([  1., -20., 300.])"),
        ([1, -20, 300], "tensor([  1, -20, 300])"),
        ([True, False], "tensor([ True, False])"),
        ([True, True], "tensor([True, True])"),
        # zeros, infinities and nan do not count for it
        ([-0.0, 0.0], "tensor([-0., 0.])"),
        ([-0.0, 1.5], "tensor([-0.0000, 1.5000])"),
        ([-0.0, 3.0, 12.0], "tensor([-0.,  3., 12.])"),
        ([1.0, nan, inf, -inf], "tensor([1., nan, inf, -inf])"),
        ([0.5, nan, inf, -inf], "tensor([0.5000,    nan,    inf,   -inf])"),
        ([nan, 0.0, -inf], "tensor([nan, 0., -inf])"),
        # scientific notation: very unequal, very large, very small
        ([0.125, 125.0], "tensor([  0.1250, 125.0000])"),
        ([0.125, 125.125], "tensor([1.2500e-01, 1.2512e+02])"),
        ([1.0, 5000.0], "tensor([1.0000e+00, 5.0000e+03])"),
        ([1e8, 1e6], "tensor([100000000.,   1000000.])"),
        ([1.1e8], "tensor([1.1000e+08])"),
        ([0.00011], "tensor([0.0001])"),
        ([0.00009], "tensor([9.0000e-05])"),
        ([1e-10, nan, -inf, 0.0], "tensor([1.0000e-10,        nan,       -inf, 0.0000e+00])"),
        # complex: each part in its own notation, only the real part aligned
        ([1 + 2j, -0.5 - 3.25j], "tensor([ 1.0000+2.0000j, -0.5000-3.2500j])"),
        ([10 + 1j, 1 - 20j], "tensor([10.+1.j,  1.-20.j])"),
        ([1 + 2j, -0.5 - 0.001j], "tensor([ 1.0000+2.0000e+00j, -0.5000-1.0000e-03j])"),
        ([complex(nan, inf), complex(-0.0, -0.0)], "tensor([nan+infj, -0.-0.j])"),
        # empty
        ([], "tensor([])"),
        (np.empty((0, 3)), "tensor([], size=(0, 3))"),
        (np.empty((3, 0), int64), "tensor([], size=(3, 0), dtype=tensorgrad.int64)"),
        (np.empty(0, bool), "tensor([], dtype=tensorgrad.bool)"),
        (np.empty(0, complex), "tensor([], dtype=tensorgrad.complex64)"),
    ],
)
def test_values(values, expected):
    assert text(values) == expected


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([0.1, 0.2], float64, "tensor([0.1000, 0.2000], dtype=tensorgrad.float64)"),
        ([1e-300, 1e300], float64, "tensor([1.0000e-300, 1.0000e+300], dtype=tensorgrad.float64)"),
        # 0.0001 is less than 1e-4 in float32, not in float64
        ([0.0001], float64, "tensor([0.0001], dtype=tensorgrad.float64)"),
        ([0.0001], np.float32, "tensor([1.0000e-04])"),
        ([0.1, 2.7, 1000.0], float16, "tensor([9.9976e-02, 2.6992e+00, 1.0000e+03], dtype=tensorgrad.float16)"),
        ([0.1, 2.7, 100.0], bfloat16, "tensor([  0.1001,   2.7031, 100.0000], dtype=tensorgrad.bfloat16)"),
        ([1.0, 256.0], bfloat16, "tensor([  1., 256.], dtype=tensorgrad.bfloat16)"),
        ([0.5j], np.complex128, "tensor([0.+0.5000j], dtype=tensorgrad.complex128)"),
        ([1, 2], int32, "tensor([1, 2], dtype=tensorgrad.int32)"),
        ([2**64 - 1, 0], uint64, f"tensor([{2**64 - 1}, {' ' * 19}0], dtype=tensorgrad.uint64)"),
        (np.empty((2, 0, 3)), float64, "tensor([], size=(2, 0, 3), dtype=tensorgrad.float64)"),
    ],
)
def test_dtypes(values, dtype, expected):
    assert text(values, dtype) == expected


def test_matrices_and_blocks():
    assert text([[1.5, -2.0], [0.25, 100.0]]) == (
        """\
tensor([[  1.5000,  -2.0000],
        [  0.2500, 100.0000]])"""
    )
    assert text(np.arange(8.0).reshape(2, 2, 2)) == (
        """\
tensor([[[0., 1.],
         [2., 3.]],

        [[4., 5.],
         [6., 7.]]])"""
    )
    assert text(np.arange(4).reshape(2, 1, 2, 1)) == (
        """\
tensor([[[[0],
          [1]]],


        [[[2],
          [3]]]])"""
    )


def test_long_rows_break():
    assert text(np.arange(30.0)) == (
        """\
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,
        28., 29.])"""
    )
    assert text(np.arange(22).reshape(2, 11) * 100000) == (
        """\
tensor([[      0,  100000,  200000,  300000,  400000,  500000,  600000,  700000,
          800000,  900000, 1000000],
        [1100000, 1200000, 1300000, 1400000, 1500000, 1600000, 1700000, 1800000,
         1900000, 2000000, 2100000]])"""
    )
    assert text(np.arange(10) + 0.5j) == (
        """\
tensor([0.+0.5000j, 1.+0.5000j, 2.+0.5000j, 3.+0.5000j, 4.+0.5000j, 5.+0.5000j,
        6.+0.5000j, 7.+0.5000j, 8.+0.5000j, 9.+0.5000j])"""
    )


def test_more_than_a_thousand_elements_are_summarised():
    assert "..." not in text(np.arange(1000))
    assert text(np.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert text(np.arange(2000.0) / 7) == (
        """\
tensor([0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 2.8529e+02, 2.8543e+02,
        2.8557e+02])"""
    )
    assert text(np.arange(2500).reshape(50, 50)) == (
        """\
tensor([[   0,    1,    2,  ...,   47,   48,   49],
        [  50,   51,   52,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  147,  148,  149],
        ...,
        [2350, 2351, 2352,  ..., 2397, 2398, 2399],
        [2400, 2401, 2402,  ..., 2447, 2448, 2449],
        [2450, 2451, 2452,  ..., 2497, 2498, 2499]])"""
    )


def test_summaries_cut_long_dims_only():
    assert text(np.arange(1400).reshape(2, 700)) == (
        """\
tensor([[   0,    1,    2,  ...,  697,  698,  699],
        [ 700,  701,  702,  ..., 1397, 1398, 1399]])"""
    )
    set_printoptions(edgeitems=1)
    assert text(np.arange(1200).reshape(20, 2, 30)) == (
        """\
tensor([[[   0,  ...,   29],
         [  30,  ...,   59]],

        ...,

        [[1140,  ..., 1169],
         [1170,  ..., 1199]]])"""
    )


def test_a_summary_is_formatted_by_what_it_shows():
    values = np.ones(2000)
    values[1000] = 1e20
    assert text(values) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


def test_a_summary_reads_only_what_it_shows():
    endless = np.broadcast_to(np.float32(1), (10**6, 10**6))
    assert text(endless).splitlines()[0] == "tensor([[1., 1., 1.,  ..., 1., 1., 1.],"


def test_printing_a_small_tensor_is_quick():
    values = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        text(values)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1e-3


def test_suffixes_follow_on_the_line_or_on_a_new_one():
    assert text([1.3633, 0.1912], suffixes=["grad_fn=<MulBackward0>"]) == (
        "tensor([1.3633, 0.1912], grad_fn=<MulBackward0>)"
    )
    assert text([1.0], float64, suffixes=["requires_grad=True"]) == (
        "tensor([1.], dtype=tensorgrad.float64, requires_grad=True)"
    )
    assert text(np.arange(13.0), suffixes=["requires_grad=True"]) == (
        """\
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12.],
       requires_grad=True)"""
    )
    assert text(np.arange(16.0).reshape(4, 4), suffixes=["grad_fn=<ViewBackward0>"]) == (
        """\
tensor([[ 0.,  1.,  2.,  3.],
        [ 4.,  5.,  6.,  7.],
        [ 8.,  9., 10., 11.],
        [12., 13., 14., 15.]], grad_fn=<ViewBackward0>)"""
    )


def test_a_suffix_moves_on_when_the_line_is_all_but_full():
    set_printoptions(linewidth=33)
    assert text([1.0], suffixes=["requires_grad=True"]) == "tensor([1.], requires_grad=True)"
    set_printoptions(linewidth=32)
    assert text([1.0], suffixes=["requires_grad=True"]) == "tensor([1.],\n       requires_grad=True)"


def test_the_name_moves_every_line():
    assert text([[1, 2], [3, 4]], name="Measurement") == (
        """\
Measurement([[1, 2],
             [3, 4]])"""
    )


def test_options():
    set_printoptions(precision=2)
    assert text([1.12345, -2.0]) == "tensor([ 1.12, -2.00])"
    set_printoptions(profile="default", sci_mode=True)
    assert text([1.5, 20.0]) == "tensor([1.5000e+00, 2.0000e+01])"
    assert text([0.0]) == "tensor([0.])"
    set_printoptions(sci_mode=False)
    assert text([1e-6, 1e9]) == f"tensor([{' ' * 9}0.0000, 1000000000.0000])"
    set_printoptions(linewidth=20)
    assert text([1.0, 2.0, 3.0, 4.0], suffixes=["requires_grad=True"]) == (
        "tensor([1., 2., 3.,\n        4.],\n       requires_grad=True)"
    )
    set_printoptions(profile="full")
    assert "..." not in text(np.arange(2000))
    set_printoptions(profile="short")
    assert text(np.arange(2000) + 0.125) == "tensor([1.25e-01, 1.12e+00,  ..., 2.00e+03, 2.00e+03])"


def test_lines_may_be_endless():
    set_printoptions(linewidth=math.inf)
    assert "\n" not in text(np.arange(1000), suffixes=["requires_grad=True"])


def test_no_edgeitems_leave_the_size():
    set_printoptions(edgeitems=0)
    assert text(np.ones(2000)) == "tensor([...], size=(2000,))"
    assert text(np.ones((50, 50)), float64) == "tensor([...], size=(50, 50), dtype=tensorgrad.float64)"
    assert text([1.5]) == "tensor([1.5000], size=(1,))"


def test_options_stay_until_set_again_but_for_sci_mode():
    set_printoptions(precision=2, sci_mode=True)
    set_printoptions(edgeitems=5)
    options = {"precision": 2, "threshold": 1000, "edgeitems": 5, "linewidth": 80, "sci_mode": None}
    assert get_printoptions() == options
    set_printoptions(profile="full", edgeitems=1)
    assert get_printoptions() == {**options, "precision": 4, "threshold": inf, "edgeitems": 1}
    set_printoptions(**options)
    assert get_printoptions() == options
    get_printoptions()["precision"] = 9
    assert get_printoptions() == options


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"profile": "fulll"}, "profile must be 'default', 'short' or 'full', but got 'fulll'"),
        ({"precision": -1}, "precision must not be negative, but got -1"),
        ({"precision": 2.0}, "precision must be an int, but got 2.0"),
        ({"edgeitems": "3"}, "edgeitems must be an int, but got '3'"),
        ({"linewidth": "wide"}, "linewidth must be a number, but got 'wide'"),
        ({"threshold": [1]}, r"threshold must be a number, but got \[1\]"),
    ],
)
def test_wrong_options_are_refused_and_change_nothing(arguments, error):
    before = get_printoptions()
    with pytest.raises((TypeError, ValueError), match=error):
        set_printoptions(**{"precision": 7, **arguments})
    assert get_printoptions() == before
