"""Rows taken and added at places, few and many, narrow and wide, against one row after the other."""

import numpy as np
import pytest

from tensorgrad.backends import crew, native, scatter

SHAPES = [(5, 3), (7, 40), (6, 800), (6, 20, 50), (9,)]


@pytest.fixture(params=["alone", "shared"])
def way(request, monkeypatch):
    if request.param == "shared":
        monkeypatch.setattr(scatter, "SHARED", 1)
        monkeypatch.setattr(crew, "threads", lambda: 3)
    with native.using(False):
        yield


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64, np.float16])
def test_rows(way, shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, shape).astype(dtype)
    for places in (rng.integers(-shape[0], shape[0], 30), rng.integers(0, shape[0], (4, 3)), np.zeros(0, np.int64)):
        taken = scatter.take(x, places)
        assert taken.shape == (*places.shape, *shape[1:]) and taken.dtype == dtype
        assert all(np.array_equal(taken[at], x[place]) for at, place in np.ndenumerate(places))
        sums, values = x.copy(), rng.integers(-4, 5, taken.shape).astype(dtype)
        truth = x.copy()
        for at, place in np.ndenumerate(places):
            truth[place] += values[at]
        scatter.index_add_into(sums, 0, places.reshape(-1), values.reshape(-1, *shape[1:]))
        assert np.array_equal(sums, truth)


def test_no_row_there(way):
    for wrong in (8, -9):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 8"):
            scatter.take(np.ones((8, 32)), np.array([0, wrong, 1]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_gather_and_scatter(way, axis, kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 5, 7)).astype(np.float32)
    for shape in ((6, 5, 7), (4, 5, 3), (1, 2, 7), (6, 1, 1)):
        reach = [x.shape[d] if d == axis else shape[d] for d in range(3)]
        index = np.stack([rng.permutation(x.shape[axis]) for _ in range(200)]).astype(kind)
        length = min(shape[axis], x.shape[axis])
        lines = [n for d, n in enumerate(shape) if d != axis]
        index = np.moveaxis(index[: lines[0] * lines[1], :length].reshape(*lines, length), -1, axis)
        part = x[tuple(map(slice, reach))]
        assert np.array_equal(scatter.gather(x, axis, index), np.take_along_axis(part, index, axis))
        values, want = rng.standard_normal(index.shape).astype(np.float32), x.copy()
        np.put_along_axis(want[tuple(map(slice, reach))], index, values, axis)
        assert np.array_equal(scatter.scatter(x, axis, index, values), want)
        np.put_along_axis(want[tuple(map(slice, reach))], index, 5, axis)
        assert np.array_equal(scatter.scatter(x, axis, index, 5.0), np.where(want == 5, want, x))
