"""Numbers moved around (roll, flip, copies of transposed tensors) and padded with those inside, beside NumPy's functions."""

import numpy as np
import pytest
from subject import torch

ROLLS = [((1,), (0,)), ((-2, 5), (0, 1)), ((7, 0), (1, 2)), ((2, 3), (1, 1)), ((0,), (0,)), ((4, 3, -5), (0, 1, 2))]
PADS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize(("shifts", "dims"), ROLLS)
def test_roll(shifts, dims):
    array = np.arange(4 * 3 * 5.0).reshape(4, 3, 5)
    x = torch.tensor(array, requires_grad=True)
    y = x.roll(shifts, dims)
    assert y.tolist() == np.roll(array, shifts, dims).tolist()
    g = np.arange(60.0)[::-1].copy().reshape(4, 3, 5)
    y.backward(torch.tensor(g))
    assert x.grad.tolist() == np.roll(g, [-s for s in shifts], dims).tolist()


def test_roll_of_nothing_and_of_views():
    assert torch.zeros(0, 3).roll(1, 0).shape == (0, 3)
    x = torch.arange(6).view(2, 3)
    assert x.t().roll(1, 0).tolist() == [[2, 5], [0, 3], [1, 4]]
    assert x.roll(2).tolist() == [[4, 5, 0], [1, 2, 3]]


@pytest.mark.parametrize("mode", PADS)
@pytest.mark.parametrize("pads", [(1, 2), (0, 3), (2, 0, 1, 3), (3, 3, 0, 0), (1, 0, 2, 1, 0, 2), (0, 0)])
def test_padding_with_the_numbers_inside(mode, pads):
    count = len(pads) // 2
    array = np.random.default_rng(0).standard_normal((2, 3, *(4, 5, 6)[-count:]))
    widths = [(0, 0), (0, 0), *[(pads[2 * i], pads[2 * i + 1]) for i in reversed(range(count))]]
    padded = np.pad(array, widths, PADS[mode])
    x = torch.tensor(array, requires_grad=True)
    y = torch.nn.functional.pad(x, pads, mode)
    assert np.array_equal(y.detach().numpy(), padded)
    g = np.random.default_rng(1).standard_normal(padded.shape)
    y.backward(torch.tensor(g))
    places = np.pad(np.arange(array.size).reshape(array.shape), widths, PADS[mode])
    assert np.allclose(x.grad.numpy().ravel(), np.bincount(places.ravel(), g.ravel(), array.size))


def test_padding_that_cuts_off():
    x = torch.arange(5.0).view(1, 5)
    pad = torch.nn.functional.pad
    assert pad(x, (-1, 2), "reflect").tolist() == [[1, 2, 3, 4, 3, 2]]
    assert pad(x, (2, -3), "replicate").tolist() == [[0, 0, 0, 1]]
    assert pad(x, (-2, 1), "circular").tolist() == [[2, 3, 4, 2]]


def test_large_transposed_tensors():
    array = np.arange(1100 * 1000, dtype=np.float32).reshape(1100, 1000)
    x = torch.tensor(array, requires_grad=True)
    for y in (x.t().contiguous(), x.t().reshape(-1, 11), x.flip(0, 1), x.t().clone()):
        assert y.numel() == array.size
    assert np.array_equal(x.t().contiguous().detach().numpy(), array.T)
    assert np.array_equal(x.t().reshape(-1, 11).detach().numpy(), array.T.reshape(-1, 11))
    assert np.array_equal(x.flip(0, 1).detach().numpy(), array[::-1, ::-1])
    x.t().reshape(-1, 11).backward(torch.tensor(array.T.reshape(-1, 11).copy()))
    assert np.array_equal(x.grad.numpy(), array) and x.grad.is_contiguous()
