"""utils.data: the same batches in the same order as PyTorch under the same seed, and the same errors."""

import collections
import os
import random
import signal

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tensorgrad  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
Pair = collections.namedtuple("Pair", "x y")


def plain(value):
    if isinstance(value, (torch.Tensor, tensorgrad.Tensor)):
        return "tensor", str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return value


def outcome(function, library):
    """What a function of a library gives, or what it raises, up to the first line of the message."""
    library.manual_seed(5)
    try:
        return plain(function(library))
    except Exception as error:
        text = str(error).replace("tensorgrad.", "torch.")
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"), text.split("\n")[0]


def same(function):
    theirs, ours = outcome(function, torch), outcome(function, tensorgrad)
    assert theirs == ours
    return ours


class Rows:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i * i


def loader(library, *args, **kwargs):
    return list(library.utils.data.DataLoader(*args, **kwargs))


ORDERS = {
    "shuffled": lambda t: loader(t, range(103), 10, shuffle=True),
    "shuffled, three epochs": lambda t: [[b for b in made] for made in [t.utils.data.DataLoader(range(9), 2, True)] * 3],
    "shuffled, dropping": lambda t: loader(t, range(103), 10, shuffle=True, drop_last=True),
    "not batched": lambda t: loader(t, range(7), None, shuffle=True),
    "own generator": lambda t: loader(t, range(20), 6, shuffle=True, generator=t.Generator().manual_seed(3)),
    "numbers drawn between": lambda t: [t.rand(2), loader(t, range(9), 3, shuffle=True), t.rand(2),
                                        loader(t, range(5)), t.rand(2)],
    "workers": lambda t: loader(t, Rows(23), 4, shuffle=True, num_workers=2),
    "workers, then numbers": lambda t: [loader(t, Rows(5), 4, num_workers=1), t.rand(3)],
    "with replacement": lambda t: list(t.utils.data.RandomSampler(range(9), replacement=True, num_samples=77)),
    "more than there are": lambda t: list(t.utils.data.RandomSampler(range(9), num_samples=25)),
    "weighted": lambda t: list(t.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0, 0.0], 50)),
    "weighted, once each": lambda t: list(t.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 4, replacement=False)),
    "weighted loader": lambda t: loader(t, range(4), 3, sampler=t.utils.data.WeightedRandomSampler(t.ones(4), 10)),
    "subset": lambda t: list(t.utils.data.SubsetRandomSampler([5, 3, 9, 11])),
    "batches of a sampler": lambda t: list(t.utils.data.BatchSampler(t.utils.data.RandomSampler(range(11)), 4, False)),
    "batch sampler": lambda t: loader(t, range(9), batch_sampler=[[1, 2], [8]]),
    "split": lambda t: [list(part) for part in t.utils.data.random_split(range(20), [12, 5, 3])],
    "split by fractions": lambda t: [list(p) for p in t.utils.data.random_split(
        range(21), [0.5, 0.3, 0.2], t.Generator().manual_seed(42))],
    "distributed": lambda t: [list(t.utils.data.DistributedSampler(range(11), 3, r, seed=4)) for r in range(3)],
    "distributed, dropping": lambda t: [list(t.utils.data.DistributedSampler(range(11), 3, r, drop_last=True))
                                        for r in range(3)],
    "tensors": lambda t: loader(t, t.utils.data.TensorDataset(t.randn(17, 2), t.arange(17)), 5, shuffle=True),
    "parts of parts": lambda t: loader(t, t.utils.data.ConcatDataset([range(3), t.utils.data.Subset(range(9), [8, 1])]),
                                       2, shuffle=True),
    "side by side": lambda t: loader(t, t.utils.data.StackDataset(a=range(5), b=Rows(5)), 2, shuffle=True),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_orders(name):
    assert same(ORDERS[name])


def drawn(library):
    def init(number):
        info = library.utils.data.get_worker_info()
        assert (info.id, info.num_workers) == (number, 2) and library.initial_seed() == info.seed

    class Drawn(library.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return library.utils.data.get_worker_info().seed % 1000, library.rand(2), random.random(), np.random.rand(2)

    made = library.utils.data.DataLoader(Drawn(), 2, num_workers=2, worker_init_fn=init, persistent_workers=True)
    return [list(made), list(made), library.rand(1)]


def test_numbers_drawn_in_workers():
    assert same(drawn)[1]


COLLATED = {
    "numbers": lambda t: [[1, 2], [1.5, 2], [True, False], [2**40, 1], [np.float32(1), np.float32(2)],
                          [np.int16(1), np.int16(2)], [np.bool_(True)] * 2],
    "text": lambda t: [["a", "b"], [b"a", b"b"], [("a", 1), ("b", 2)]],
    "arrays": lambda t: [[np.ones((2, 2)), np.zeros((2, 2))], [np.arange(2, dtype=np.uint8)] * 2, [np.float64(1)] * 2],
    "tensors": lambda t: [[t.ones(2), t.zeros(2)], [t.tensor(1), t.tensor(2)], [t.ones(0), t.ones(0)]],
    "structures": lambda t: [[{"x": t.ones(1), "y": [1, (2, "a")]}] * 2, [Pair(1, t.ones(2))] * 3, [[1, 2], [3, 4]],
                             [collections.OrderedDict(b=1, a=2)] * 2, [(1, (2, (3,)))] * 2],
}  # fmt: skip


@pytest.mark.parametrize("name", COLLATED)
def test_collating(name):
    for number in range(len(COLLATED[name](torch))):
        same(lambda t, n=number: t.utils.data.default_collate(COLLATED[name](t)[n]))
        same(lambda t, n=number: t.utils.data.default_convert(COLLATED[name](t)[n]))


ERRORS = {
    "unequal tensors": lambda t: t.utils.data.default_collate([t.ones(2), t.ones(3)]),
    "unequal in a loader": lambda t: loader(t, [t.ones(2, 1), t.ones(2, 2)], 2),
    "unequal arrays": lambda t: t.utils.data.default_collate([np.ones(2), np.ones(3)]),
    "unequal lists": lambda t: t.utils.data.default_collate([[1], [1, 2]]),
    "objects": lambda t: t.utils.data.default_collate([Rows(1)]),
    "array of text": lambda t: t.utils.data.default_collate([np.array("a")]),
    "None": lambda t: t.utils.data.default_collate([None]),
    "missing key": lambda t: t.utils.data.default_collate([{"a": 1}, {"b": 1}]),
    "mixed": lambda t: t.utils.data.default_collate([t.ones(1), 1]),
    "nothing": lambda t: t.utils.data.default_collate([]),
    "empty": lambda t: loader(t, Rows(0), 2),
    "empty, workers": lambda t: loader(t, Rows(0), 2, num_workers=2),
    "empty, shuffled": lambda t: loader(t, Rows(0), 2, shuffle=True),
    "no length": lambda t: loader(t, (i for i in range(3)), 2),
    "empty tensors": lambda t: loader(t, t.utils.data.TensorDataset(t.ones(0, 2)), 2),
    "outside": lambda t: loader(t, Rows(3), 1, sampler=[7]),
    "unequal data sets": lambda t: t.utils.data.TensorDataset(t.ones(2), t.ones(3)),
    "no data sets": lambda t: t.utils.data.ConcatDataset([]),
    "stack of unequal": lambda t: t.utils.data.StackDataset([1], [1, 2]),
    "stack of none": lambda t: t.utils.data.StackDataset(),
    "lengths": lambda t: t.utils.data.random_split(range(3), [1, 1]),
    "fractions": lambda t: t.utils.data.random_split(range(3), [1.5, -0.5]),
    "batch of 0": lambda t: loader(t, range(3), 0),
    "batch of -1": lambda t: loader(t, range(3), -1),
    "batch of 1.5": lambda t: loader(t, range(3), 1.5),
    "drop_last": lambda t: loader(t, range(3), 1, drop_last=2),
    "workers": lambda t: loader(t, range(3), 1, num_workers=-1),
    "prefetch": lambda t: loader(t, range(3), 1, prefetch_factor=2),
    "prefetch -1": lambda t: loader(t, range(3), 1, prefetch_factor=-1, num_workers=1),
    "timeout": lambda t: loader(t, range(3), 1, timeout=-1),
    "timeout without workers": lambda t: loader(t, range(3), 1, timeout=1),
    "persistent": lambda t: loader(t, range(3), 1, persistent_workers=True),
    "context": lambda t: loader(t, range(3), 1, multiprocessing_context="fork"),
    "unknown context": lambda t: loader(t, range(3), 1, multiprocessing_context="spoon", num_workers=1),
    "sampler and shuffle": lambda t: loader(t, range(3), 1, sampler=[1], shuffle=True),
    "batch_sampler and more": lambda t: loader(t, range(3), 2, batch_sampler=[[1]]),
    "no batches, dropping": lambda t: loader(t, range(3), None, drop_last=True),
    "weights": lambda t: t.utils.data.WeightedRandomSampler([[1.0]], 1),
    "weights of 0": lambda t: list(t.utils.data.WeightedRandomSampler([0.0], 1)),
    "too many without replacement": lambda t: list(t.utils.data.WeightedRandomSampler([1.0], 3, replacement=False)),
    "replacement": lambda t: t.utils.data.RandomSampler(range(3), replacement=1),
    "num_samples": lambda t: t.utils.data.RandomSampler(range(3), num_samples=0),
    "num_samples of weights": lambda t: t.utils.data.WeightedRandomSampler([1.0], True),
    "rank": lambda t: t.utils.data.DistributedSampler(range(3), 2, 2),
    "data set without items": lambda t: t.utils.data.Dataset()[0],
    "iterable without items": lambda t: iter(t.utils.data.IterableDataset()),
    "set after": lambda t: setattr(t.utils.data.DataLoader(range(3)), "batch_size", 3),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    same(ERRORS[name])


def failing(kind, how):
    def function(library):
        class Failing(library.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return how(i)

        try:
            return list(library.utils.data.DataLoader(Failing(), 1, num_workers=2))
        except kind as error:
            lines = str(error).split("\n")
            return type(error).__name__, lines[0], lines[1], lines[-2:]

    return function


class Unusual(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def test_failures_in_workers():
    def raising(error):
        def how(i):
            if i == 2:
                raise error
            return i

        return how

    for error in (KeyError("key"), Unusual(1, 2)):
        found = same(failing(Exception, raising(error)))
        assert "worker process 0" in found[1][1]
    same(failing(Exception, raising(StopIteration("stop"))))

    def dying(i):
        if i == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    for library in (torch, tensorgrad):
        with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
            failing(ValueError, dying)(library)


def test_iterable_data_sets():
    def streamed(library, n, *args, **kwargs):
        class Stream(library.utils.data.IterableDataset):
            def __iter__(self):
                info = library.utils.data.get_worker_info()
                start, step = (info.id, info.num_workers) if info else (0, 1)
                return iter(range(start, n, step))

        return list(library.utils.data.DataLoader(Stream(), *args, **kwargs))

    for n in (0, 1, 7, 12):
        for options in ({}, {"num_workers": 2}, {"drop_last": True}, {"num_workers": 2, "drop_last": True}):
            same(lambda t, n=n, options=options: streamed(t, n, 2, **options))
    same(lambda t: streamed(t, 5, None, num_workers=2))
    for option in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        same(lambda t, option=option: streamed(t, 3, **option))
