"""Matrix products compiled for this processor, against NumPy's in float64."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tensorgrad.kernels import product

SIZES = [  # n, k, m: around vectors, panels, blocks of rows and of depth
    (8, 1, 8), (8, 3, 9), (13, 16, 17), (9, 40, 63), (64, 33, 64), (6, 255, 65), (20, 256, 130), (50, 257, 16), (97, 600, 31),
    (300, 20, 20), (16, 784, 200),
]  # fmt: skip


def matrix(rng, shape, turned, dtype, room=0):
    """A matrix in a larger one, by rows or by columns, with NaN around it."""
    whole = np.full([n + room for n in (shape[::-1] if turned else shape)], np.nan, dtype)
    part = whole[tuple(slice(n - room) for n in whole.shape)]
    part[...] = rng.standard_normal(part.shape)
    return part.T if turned else part


def strides(x):
    return [s // x.itemsize for s in x.strides]


def multiply(a, b, out, threads):
    kind = out.dtype.str[1:]
    sizes = *out.shape[-2:], a.shape[-1]
    numbers = product.numbers(kind, sizes, strides(a), strides(b), strides(out), out.shape[:-2], threads)
    table = np.array([*numbers, *[x.__array_interface__["data"][0] for x in (a, b, out)]], np.int64)
    assert len(table) == len(product.TABLE)
    product.compiled(kind)[0](table.ctypes.data)


def close(found, a, b):
    truth = a.astype(np.float64) @ b.astype(np.float64)
    bound = (3e-7 if found.dtype == np.float32 else 1e-15) * (np.abs(a) @ np.abs(b)) * 4
    return (np.abs(found - truth) <= bound).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=str)
def test_products_of_every_size(monkeypatch, turned, dtype, threads):
    monkeypatch.setattr(product, "THREADS_FROM", 0)
    rng = np.random.default_rng(0)
    for n, k, m in SIZES:
        a, b = matrix(rng, (n, k), turned[0], dtype, 1), matrix(rng, (k, m), turned[1], dtype, 2)
        out = np.full((n + 1, m + 3), 7, dtype)
        multiply(a, b, out[:n, :m], threads)
        assert close(out[:n, :m], a, b), (n, k, m)
        assert (out[n:] == 7).all() and (out[:, m:] == 7).all(), (n, k, m)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [(5,), (2, 3)])
def test_products_of_a_batch(monkeypatch, batch, threads):
    monkeypatch.setattr(product, "THREADS_FROM", 0)
    rng = np.random.default_rng(1)
    a = np.broadcast_to(rng.standard_normal((*batch[:-1], 1, 20, 30)), (*batch, 20, 30))
    b = rng.standard_normal((*batch, 70, 30)).swapaxes(-1, -2)
    out = np.empty((*batch, 20, 70))
    multiply(a, b, out, threads)
    assert close(out, a, b)


def test_arrays_of_any_layout():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((3, 40, 26)), rng.standard_normal((3, 26, 30))
    for x, y in (
        (a, b),
        (a[0, ::-1, ::2], b[0, ::2, ::-1]),
        (a[:, ::3], b),
        (a[0].T, a[1]),
        (a[..., 3:], b[:, 3:, 1:]),
    ):
        assert close(product.multiply(x, y), x, y)
    assert product.multiply(a[0, :3], b[0]) is None and product.multiply(a, b[:1]) is None
    assert product.multiply(a, b.astype(np.float32)) is None
    bytes_ = np.zeros(8 * 64 + 1, np.int8)
    assert product.multiply(bytes_[1:].view(np.float64).reshape(8, 8), b[0, :8, :8]) is None


def test_an_infinity_stays_in_its_row():
    a, b, out = np.ones((20, 8), np.float32), np.ones((8, 20), np.float32), np.empty((20, 20), np.float32)
    a[3, 2], b[5, 4] = np.inf, np.nan
    multiply(a, b, out, 1)
    assert np.isnan(out[:, 4]).all() and np.isinf(np.delete(out[3], 4)).all()
    assert np.isfinite(np.delete(np.delete(out, 3, 0), 4, 1)).all()


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 3, 2)])
def test_compiled_programs(torch, batch):
    """Operands with offsets, strides of zero and batches of several dimensions; sizes for BLAS and for this."""

    def run(x, y):
        whole = x @ y
        turned = x.transpose(-1, -2) @ whole
        part = whole[..., 3:, 5:] @ y.transpose(-1, -2)[..., 5:, 2:]
        spread = x[..., :1, :].expand(x.shape) @ y
        narrow = x @ y[..., :1]
        empty = x[..., :0] @ y[..., :0, :]
        return turned, part, spread, narrow, empty

    x, y = torch.randn(*batch, 20, 12, dtype=torch.float64), torch.randn(*batch, 12, 70, dtype=torch.float64)
    for one, other in zip(torch.compile(run)(x, y), run(x, y), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-12)
