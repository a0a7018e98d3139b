"""Work shared among threads: every part is done once, errors arrive, a fork and a second user are no harm."""

import os
import threading

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.backends import crew


@pytest.fixture(autouse=True)
def several(monkeypatch):
    monkeypatch.setattr(crew, "threads", lambda: 4)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 63, 64, 1000])
@pytest.mark.parametrize("grain", [1, 7, 64])
def test_every_part_once(size, grain):
    seen = np.zeros(size, int)
    starts = []

    def work(low, high):
        seen[low:high] += 1
        starts.append(low)

    crew.share(work, size, grain)
    assert (seen == 1).all() and all(low % grain == 0 for low in starts)


@pytest.mark.parametrize("bad", [0, 75])
def test_an_error_arrives_after_all_have_ended(bad):
    seen = np.zeros(100)

    def work(low, high):
        if low <= bad < high:
            raise KeyError(bad)
        seen[low:high] = 1

    with pytest.raises(KeyError, match=str(bad)):
        crew.share(work, 100)
    assert seen.sum() == 75
    crew.share(lambda low, high: None, 100)


def test_a_share_inside_a_share_is_done_alone():
    total = []
    crew.share(lambda low, high: crew.share(lambda a, b: total.append(b - a), high - low), 100)
    assert sum(total) == 100


def test_several_users_at_once():
    x = np.random.default_rng(0).random(1 << 18)
    results = []
    users = [threading.Thread(target=lambda: results.append(crew.pointwise(np.sqrt, [x]))) for _ in range(6)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert len(results) == 6 and all((r == np.sqrt(x)).all() for r in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork():
    x = np.ones(1 << 16)
    crew.pointwise(np.sqrt, [x])
    child = os.fork()
    if child == 0:
        os._exit(0 if crew.pointwise(np.add, [x, x]).sum() == 2 * x.size else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_errstate_holds_in_every_thread():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        crew.pointwise(np.log, [np.append(np.ones(1 << 16), 0.0)])


def test_openmp_variable(monkeypatch):
    monkeypatch.setitem(torch.settings.chosen, "threads", None)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert torch.get_num_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert torch.get_num_threads() == torch.settings.cores()


def test_products_are_left_to_the_threads_that_ask_for_them():
    blas = crew._blas()
    if blas is None:
        pytest.skip("another BLAS than OpenBLAS")
    before, seen = blas[0](), []
    blas[1](2)
    try:
        crew.share(lambda low, high: seen.append(blas[0]()), 8, products=True)
        crew.share(lambda low, high: seen.append(blas[0]()), 1, products=True)  # one part: BLAS may use its own
        assert seen == [1] * 4 + [2] and blas[0]() == 2
        with pytest.raises(ZeroDivisionError):
            crew.share(lambda low, high: 1 / 0, 8, products=True)
        assert blas[0]() == 2
    finally:
        blas[1](before)


@pytest.mark.parametrize("shape", [(5, 3, 4), (2, 3, 4, 2), (1, 6, 6)], ids=str)
def test_many_products(monkeypatch, shape):
    from tensorgrad.ops import matmul

    monkeypatch.setattr(matmul, "SHARED", 0)
    a = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    b = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    (a @ b.transpose(-1, -2)).sum().backward()
    x, y = a.detach().numpy(), b.detach().numpy()
    assert np.allclose((a @ b.transpose(-1, -2)).detach(), np.einsum("...ij,...kj->...ik", x, y))
    assert np.allclose(a.grad, np.broadcast_to(y.sum(-2, keepdims=True), shape))
    assert np.allclose(b.grad, np.broadcast_to(x.sum(-2, keepdims=True), shape))


def test_the_size_of_numpys_buffer_is_left_as_it_was():
    before, seen = np.getbufsize(), []
    crew.share(lambda low, high: seen.append(np.getbufsize()), 100)
    assert set(seen) == {crew.BUFFER} and np.getbufsize() == before

    def fail(low, high):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        crew.share(fail, 100)
    assert np.getbufsize() == before
    rows, row = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    np.testing.assert_array_equal(crew.unbuffered(np.add, rows, row), rows + row)
