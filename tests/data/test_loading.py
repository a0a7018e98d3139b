"""DataLoader: order, batches, worker processes, and what happens when they fail."""

import collections
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from subject import IS_TORCH, raises, torch

data = torch.utils.data
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Items(data.Dataset):
    """Squares, or whatever a function makes of the index."""

    def __init__(self, n, item=lambda i: i * i):
        self.n, self.item = n, item

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return self.item(index)


class Stream(data.IterableDataset):
    """0 to n - 1, shared out among the workers."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(start, self.n, step))


def loaded(*args, **kwargs):
    return [b.tolist() if hasattr(b, "tolist") else b for b in data.DataLoader(*args, **kwargs)]


def left_behind():
    return {name for name in os.listdir("/dev/shm") if name.startswith("tg")}


@pytest.fixture(autouse=True)
def no_segment_stays():
    """No shared memory is left after a test."""
    before = left_behind()
    yield
    assert left_behind() <= before


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order(workers):
    assert loaded(Items(7), 3, num_workers=workers) == [[0, 1, 4], [9, 16, 25], [36]]
    assert loaded(Items(7), 3, drop_last=True, num_workers=workers) == [[0, 1, 4], [9, 16, 25]]
    assert loaded(Items(3), None, num_workers=workers) == [0, 1, 4]
    assert loaded(Items(4), batch_sampler=[[3], [0, 1]], num_workers=workers) == [[9], [0, 1]]


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffling_has_pytorchs_order(workers):
    torch.manual_seed(0)
    first = loaded(range(10), 4, shuffle=True, num_workers=workers)
    assert first == [[6, 7, 1, 4], [2, 0, 9, 8], [3, 5]]
    generator = torch.Generator().manual_seed(7)
    again = [loaded(range(10), 4, shuffle=True, num_workers=workers, generator=generator) for _ in range(2)]
    assert again[0] != again[1]
    generator.manual_seed(7)
    assert loaded(range(10), 4, shuffle=True, num_workers=workers, generator=generator) == again[0]


def test_an_iterable_data_set_is_shared_out():
    assert loaded(Stream(7), 2) == [[0, 1], [2, 3], [4, 5], [6]]
    assert loaded(Stream(7), 2, num_workers=2) == [[0, 2], [1, 3], [4, 6], [5]]
    assert loaded(Stream(7), 3, num_workers=2, drop_last=True) == [[0, 2, 4], [1, 3, 5]]


def test_large_arrays_arrive_whole_and_can_be_changed():
    def item(i):
        return {"x": torch.full((64, 64, 3), float(i)), "y": np.full(5, i), "name": str(i)}

    batches = list(data.DataLoader(Items(6, item), 2, num_workers=2))
    for i, batch in enumerate(batches):
        assert batch["x"].shape == (2, 64, 64, 3) and batch["x"][1, 0, 0, 0] == 2 * i + 1
        assert batch["y"].tolist() == [[2 * i] * 5, [2 * i + 1] * 5]
        assert batch["name"] == [str(2 * i), str(2 * i + 1)]
        batch["x"].add_(1)
        assert batch["x"].sum() == 64 * 64 * 3 * (4 * i + 3)


def test_seeds_differ_between_workers_and_follow_the_generator():
    def draw(i):
        return float(torch.rand(())), np.random.rand(), data.get_worker_info().seed

    def drawn(seed):
        return [t.tolist() for b in data.DataLoader(Items(4, draw), 2, num_workers=2,
                                                    generator=torch.Generator().manual_seed(seed)) for t in b]  # fmt: skip

    one, other = drawn(1), drawn(2)
    assert one == drawn(1) != other
    assert one[0][0] != one[3][0] and one[5][0] == one[2][0] + 1


def test_worker_init_fn_and_persistent_workers():
    def start(number):
        data.get_worker_info().dataset.n = 100 + number

    items = Items(4, lambda i: data.get_worker_info().dataset.n)
    assert loaded(items, 2, num_workers=2, worker_init_fn=start) == [[100, 100], [101, 101]]
    loader = data.DataLoader(Items(5, lambda i: os.getpid()), 1, num_workers=2, persistent_workers=True)
    first, second = ({b.item() for b in loader} for _ in range(2))
    assert first == second and len(first) == 2
    halfway = iter(loader)
    next(halfway)
    assert {b.item() for b in loader} == first and len(list(loader)) == 5


def test_workers_share_the_work():
    def slow(i):
        time.sleep(0.004)
        return i

    def seconds(workers):
        start = time.perf_counter()
        loaded(Items(100, slow), 5, num_workers=workers)
        return time.perf_counter() - start

    assert min(seconds(0) for _ in range(2)) > 1.4 * min(seconds(2) for _ in range(3))


def test_an_exception_in_a_worker_arrives_with_its_traceback():
    def fail(i):
        if i == 3:
            raise KeyError("no item three")
        return i

    loader = data.DataLoader(Items(6, fail), 2, num_workers=2)
    it = iter(loader)
    assert next(it).tolist() == [0, 1]
    with raises(
        KeyError, "Caught KeyError in DataLoader worker process 1.\nOriginal Traceback", 'KeyError("no', "in fail"
    ):
        next(it)
    assert next(it).tolist() == [4, 5]

    def broken(number):
        raise ValueError("no start")

    with raises(ValueError, "Caught ValueError in DataLoader worker process 0", "no start"):
        loaded(Items(6), 2, num_workers=2, worker_init_fn=broken)


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's own words depend on the moment")
def test_a_killed_worker_is_an_error_and_no_hang():
    def die(i):
        if i == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(100_000) * i

    for n in (9, *[6] * 20):  # the moment at which the others end differs
        start = time.perf_counter()
        with raises(
            RuntimeError, "DataLoader worker (pid(s) ", ") exited unexpectedly", "is killed by signal: Killed."
        ):
            list(data.DataLoader(Items(n, die), 1, num_workers=2))
        assert time.perf_counter() - start < 4


def test_a_timeout_is_an_error():
    with raises(RuntimeError, "DataLoader timed out after 0.2 seconds"):
        list(data.DataLoader(Items(2, lambda i: time.sleep(1.5)), 1, num_workers=1, timeout=0.2))


def test_an_iterator_given_up_leaves_no_process():
    def slow(i):
        time.sleep(0.01)
        return torch.ones(50_000)

    it = iter(data.DataLoader(Items(1000, slow), 2, num_workers=2))
    next(it)
    processes = it.team.processes if not IS_TORCH else it._workers
    del it
    assert not any(p.is_alive() for p in processes)


@pytest.mark.skipif(IS_TORCH, reason="the program names tensorgrad")
def test_ctrl_c_leaves_no_process(tmp_path):
    program = tmp_path / "endless.py"
    program.write_text(
        "import signal, time, tensorgrad as torch\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell starts what it runs beside it without one
        "class Slow(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 10**6\n"
        "    def __getitem__(self, i):\n"
        "        time.sleep(0.01); return torch.ones(50_000)\n"
        "if __name__ == '__main__':\n"
        "    it = iter(torch.utils.data.DataLoader(Slow(), 2, num_workers=2))\n"
        "    next(it); print(*[p.pid for p in it.team.processes], flush=True)\n"
        "    for batch in it: pass\n"
    )
    for stop in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)  # fmt: skip
        workers = [int(word) for word in process.stdout.readline().split()]
        assert len(workers) == 2
        if stop is signal.SIGINT:
            os.killpg(process.pid, stop)  # as a terminal does
        else:
            process.kill()
        process.communicate(timeout=20)
        deadline = time.monotonic() + 10
        while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not any(alive(pid) for pid in workers)
        while left_behind() and time.monotonic() < deadline:  # the resource tracker removes what a killed loader left
            time.sleep(0.05)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_another_start_method():
    rows = data.TensorDataset(torch.arange(4.0))
    batches = list(data.DataLoader(rows, 2, num_workers=1, multiprocessing_context="spawn"))
    assert [batch[0].tolist() for batch in batches] == [[0, 1], [2, 3]]


def test_collating():
    Pair = collections.namedtuple("Pair", "x y")
    pair = data.default_collate([Pair(1, 2.5), Pair(3, 4.5)])
    assert pair.x.tolist() == [1, 3] and pair.y.dtype == torch.float64
    assert data.default_collate([("a", 1), ("b", 2)])[0] == ("a", "b")
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype == torch.float32
    assert data.default_collate([True, False]).dtype == torch.bool
    assert data.default_convert({"x": np.ones(2), "s": "text"})["x"].dtype == torch.float64
    with raises(RuntimeError, "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1"):
        data.default_collate([torch.ones(2), torch.ones(3)])
    with raises(RuntimeError, "each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])
    with raises(TypeError, "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found"):
        data.default_collate([object()])


def test_errors_of_the_loader():
    for words, kwargs in {
        "num_workers option should be non-negative": {"num_workers": -1},
        "timeout option should be non-negative": {"timeout": -1},
        "prefetch_factor option could only be specified in multiprocessing": {"prefetch_factor": 2},
        "persistent_workers option needs num_workers > 0": {"persistent_workers": True},
        "sampler option is mutually exclusive with shuffle": {"sampler": [1], "shuffle": True},
        "batch_sampler option is mutually exclusive with": {"batch_sampler": [[1]], "batch_size": 3},
        "batch_size=None option disables auto-batching": {"batch_size": None, "drop_last": True},
        "batch_size should be a positive integer value, but got batch_size=0": {"batch_size": 0},
        "drop_last should be a boolean value, but got drop_last=1": {"drop_last": 1},
    }.items():
        with raises(ValueError, words):
            data.DataLoader(Items(3), **kwargs)
    with raises(ValueError, "num_samples should be a positive integer value, but got num_samples=0"):
        data.DataLoader(Items(0), shuffle=True)
    assert loaded(Items(0)) == []
    with raises(ValueError, "expected unspecified shuffle option, but got shuffle=True"):
        data.DataLoader(Stream(3), shuffle=True)
    with raises(ValueError, "batch_size attribute should not be set after DataLoader is initialized"):
        data.DataLoader(Items(3)).batch_size = 2


def test_lengths():
    assert [len(data.DataLoader(Items(7), 3, drop_last=d)) for d in (False, True)] == [3, 2]
    with pytest.raises(TypeError):
        len(data.DataLoader(Stream(3)))


def test_data_sets():
    assert [x.tolist() for x in data.TensorDataset(torch.arange(3), torch.eye(3))[2]] == [2, [0, 0, 1]]
    with raises(AssertionError, "Size mismatch between tensors"):
        data.TensorDataset(torch.ones(2), torch.ones(3))
    both = Items(3) + Items(2)
    assert [both[i] for i in (0, 2, 3, -1)] == [0, 4, 0, 1] and len(both) == 5
    with raises(ValueError, "absolute value of index should not exceed dataset length"):
        both[-6]
    parts = data.random_split(Items(10), [0.55, 0.45], generator=torch.Generator().manual_seed(1))
    assert sorted(parts[0].indices + parts[1].indices) == list(range(10)) and len(parts[0]) == 6
    with raises(ValueError, "Sum of input lengths does not equal the length of the input dataset!"):
        data.random_split(Items(3), [1, 1])
    assert data.StackDataset(Items(3), Items(3, lambda i: -i))[2] == (4, -2)
    assert [data.Subset(Items(5), [4, 1])[i] for i in (0, 1)] == [16, 1]
    assert data.Subset(Items(5), [4, 1]).__getitems__([1, 0]) == [1, 16]
    chain = Stream(2) + Stream(3)
    assert list(chain) == [0, 1, 0, 1, 2]


def test_samplers():
    assert len(list(data.RandomSampler(range(5), replacement=True, num_samples=70))) == 70
    assert sorted(data.RandomSampler(range(5), num_samples=10)) == sorted([*range(5)] * 2)
    assert set(data.WeightedRandomSampler([0.0, 1.0, 0.0], 5)) == {1}
    assert sorted(data.SubsetRandomSampler([9, 8])) == [8, 9]
    shares = [list(data.DistributedSampler(range(7), 3, r, shuffle=True, seed=1)) for r in range(3)]
    assert sorted({i for share in shares for i in share}) == list(range(7)) and {len(s) for s in shares} == {3}
