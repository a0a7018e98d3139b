"""Compiled normalizations and softmax against NumPy's way of doing the same."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import tensorgrad as torch
from tensorgrad.backends import native
from tensorgrad.kernels import rows

F = torch.nn.functional
X = np.random.default_rng(0).standard_normal((6, 12, 10, 13)) * 3 + 1
CASES = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, (10, 13), w[0, 0], b[0, 0]),
    "layer_norm without scale": lambda x, w, b: F.layer_norm(x, (13,)),
    "layer_norm, shift only": lambda x, w, b: F.layer_norm(x, (13,), None, b[0, 0, 0]),
    "group_norm": lambda x, w, b: F.group_norm(x, 4, w[0, :, 0, 0], b[0, :, 0, 0]),
    "instance_norm": lambda x, w, b: F.instance_norm(x),
    "rms_norm": lambda x, w, b: F.rms_norm(x, (13,), w[0, 0, 0]),
    "rms_norm without scale": lambda x, w, b: F.rms_norm(x, (10, 13)),
    "batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w[0, :, 0, 0], b[0, :, 0, 0], training=True),
    "batch_norm without scale": lambda x, w, b: F.batch_norm(x, None, None, training=True),
    "batch_norm, given": lambda x, w, b: F.batch_norm(
        x, b[0, :, 0, 0].detach(), w[0, :, 0, 0].detach() ** 2, w[0, :, 0, 0]
    ),
    "batch_norm of features": lambda x, w, b: F.batch_norm(x.reshape(6 * 12, -1), None, None, training=True),
    "of another layout": lambda x, w, b: F.layer_norm(x.permute(3, 0, 2, 1), (12,), w[0, :, 0, 0], b[0, :, 0, 0]),
    "softmax": lambda x, w, b: F.softmax(x * 5, -1),
    "softmax over the channels": lambda x, w, b: F.softmax(x, 1),
    "softmax of a transpose": lambda x, w, b: F.softmax(x.transpose(1, 3), -1),
    "log_softmax": lambda x, w, b: F.log_softmax(x * 5, -1),
}


def run(function, dtype):
    rng = np.random.default_rng(1)
    x, w, b = (torch.from_numpy(a.astype(dtype)).requires_grad_() for a in (X, *rng.standard_normal((2, *X.shape))))
    y = function(x, w, b)
    y.backward(torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape).cos())  # sums of it do not cancel
    return [y.detach().numpy(), *[np.zeros(1) if t.grad is None else t.grad.numpy() for t in (x, w, b)]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_numbers(name, dtype, monkeypatch):
    called, call = [], rows.call
    monkeypatch.setattr(rows, "call", lambda kernel, *rest: (called.append(kernel), call(kernel, *rest)))
    with native.using(False):
        slow = run(CASES[name], dtype)
    assert not called
    with native.using(True):
        fused = run(CASES[name], dtype)
    assert len(called) == (0 if "of features" in name or "over" in name else 2)  # the forward and the backward pass
    near = 2e-5 if dtype == "float32" else 1e-12
    for a, b in zip(fused, slow, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=near, atol=near * max(1, np.abs(b).max()))


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_softmax_of_infinities_and_nan(function):
    x = torch.zeros(8, 600)
    x[0, 3], x[1, 4], x[2] = torch.inf, torch.nan, -torch.inf
    x[3, 0], x[4, :100] = -torch.inf, 1000.0
    with np.errstate(all="ignore"):
        with native.using(False):
            slow = function(x, -1).numpy()
        with native.using(True):
            fused = function(x, -1).numpy()
    np.testing.assert_allclose(fused, slow, rtol=2e-6)
    assert np.isnan(fused[:3]).all() and np.isfinite(fused[5:]).all()


def test_the_mean_of_long_rows_is_not_lost_in_rounding():
    """Numbers around ten thousand, a quarter of a million a row: sums of float32 are off by more than the numbers' spread."""
    x = np.random.default_rng(0).standard_normal((1, 2, 1, 1 << 18)) + 1e4
    _, mean, rstd, _ = rows.normalize(x.astype(np.float32), None, None, 1e-5, None, None)
    exact = x.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean((0, 2, 3)), rtol=2e-7)
    np.testing.assert_allclose(rstd, 1 / exact.std((0, 2, 3)), rtol=1e-4)


def test_large_numbers_keep_their_variance():
    x = torch.from_numpy((np.random.default_rng(2).standard_normal((4, 5000)) + 4096).astype(np.float32))
    with native.using(True):
        y = F.layer_norm(x, (5000,)).numpy()
    assert abs(y.mean()) < 1e-3 and abs(y.var() - 1) < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_added_up_where_an_index_says(dtype):
    rng = np.random.default_rng(3)
    index, g = rng.integers(0, 50, 900), rng.integers(-9, 10, (900, 40)).astype(dtype)
    table = np.zeros((50, 40), dtype)
    assert rows.add_rows(table, index, g)
    truth = np.zeros_like(table)
    np.add.at(truth, index, g)
    assert (table == truth).all()
    assert not rows.add_rows(table, index - 60, g) and not rows.add_rows(table, index + 1, g)
    weight = torch.zeros(50, 40, requires_grad=True)
    with native.using(True):
        F.embedding(torch.from_numpy(index), weight).backward(torch.from_numpy(g.astype(np.float32)))
    assert (weight.grad.numpy() == truth).all()
