"""What runs in a worker process of the loader: it takes lists of indices and sends back batches."""

import os
import queue
import random
import signal
import sys
import threading
import traceback

import numpy as np

from tensorgrad.tensor import wrap
from tensorgrad.utils.data.collate import default_collate
from tensorgrad.utils.data.dataset import TensorDataset, items_of


class WorkerInfo:
    """Which worker this process is: `id`, `num_workers`, `seed` and its copy of the `dataset`."""

    def __init__(self, **facts):
        self.__dict__.update(facts)

    def __setattr__(self, name, value):
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in vars(self).items())})"


_info = None


def get_worker_info():
    """In a worker process what worker it is, elsewhere None.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _info


class Failure:
    """An exception on its way to the loader, with its traceback as text."""

    def __init__(self, where):
        kind, _, _ = info = sys.exc_info()
        self.kind, self.text, self.where = kind, "".join(traceback.format_exception(*info)), where

    def raised(self):
        """The exception, of its own kind if such a one can be made."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        try:
            return self.kind(Lines(text) if self.kind is KeyError else text)
        except Exception:
            return RuntimeError(text)

    def __reduce__(self):
        return rebuilt, (self.kind, self.text, self.where)


def rebuilt(kind, text, where):
    failure = Failure.__new__(Failure)
    failure.kind, failure.text, failure.where = kind, text, where
    return failure


class Lines(str):
    """A message that KeyError shows with its line breaks."""

    def __repr__(self):
        return str(self)


class Ended:
    """Says that the iterable data set of a worker has no more items."""


class MapFetcher:
    """Batches, or single items, of a data set with indices."""

    def __init__(self, dataset, batched, collate, drop_last):
        self.dataset, self.batched, self.collate = dataset, batched, collate
        self.by_rows = (
            batched and type(dataset) is TensorDataset and collate is default_collate
            and not any(t.requires_grad for t in dataset.tensors)
        )  # fmt: skip

    def fetch(self, index):
        if self.by_rows and all([type(i) is int for i in index]) and index:
            rows = wrap(np.array(index))  # the rows of a batch, stacked, are the tensor indexed
            return [tensor[rows] for tensor in self.dataset.tensors]
        return self.collate(items_of(self.dataset, index) if self.batched else self.dataset[index])


class IterableFetcher:
    """Batches, or single items, of a data set that is iterated. `ended` once there are no more."""

    def __init__(self, dataset, batched, collate, drop_last):
        self.items, self.batched, self.collate, self.drop_last = iter(dataset), batched, collate, drop_last
        self.ended = False

    def fetch(self, index):
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate(next(self.items))
        items = []
        for _ in index:
            try:
                items.append(next(self.items))
            except StopIteration:
                self.ended = True
                break
        if not items or (self.drop_last and len(items) < len(index)):
            raise StopIteration
        return self.collate(items)


def run(pipe, others, number, count, dataset, kind, batched, collate, drop_last, base_seed, init, prefix):
    """The life of worker `number`. `others` are ends of pipes that a fork has copied and that belong to the loader."""
    global _info
    from tensorgrad import manual_seed
    from tensorgrad.utils.data import passing

    for end in others:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the loader, which ends its workers
    passing._open.clear()  # what a fork has copied is not this process's to close
    where = f"in DataLoader worker process {number}"
    tasks = queue.SimpleQueue()
    threading.Thread(target=listen, args=(pipe, tasks), daemon=True).start()
    seed = base_seed + number
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(np.random.SeedSequence([number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4))
    _info = WorkerInfo(id=number, num_workers=count, seed=seed, dataset=dataset)
    fetcher = failure = None
    made = 0

    def name():
        nonlocal made
        made += 1
        return f"{prefix}{number}_{made - 1}"

    try:
        if init is not None:
            init(number)
    except Exception:
        failure = Failure(where)
    while (task := tasks.get()) is not None:
        key, index = task
        if key == "epoch":
            fetcher = None
            continue
        answer = failure
        if failure is None:
            try:
                if fetcher is None:
                    fetcher = kind(dataset, batched, collate, drop_last)
                answer = fetcher.fetch(index)
            except StopIteration:
                answer = Ended() if kind is IterableFetcher else Failure(where)
            except Exception:
                answer = Failure(where)
        try:
            packed = passing.pack(answer, name)
        except Exception:
            packed = passing.pack(Failure(where), name)
        answer = None
        pipe.send((key, *packed))
    pipe.close()


def listen(pipe, tasks):
    """Take what the loader sends as it comes, so that it never waits. If the loader is gone, end at once."""
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            os._exit(1)
        if task is None:
            while True:  # skip what was asked and is no longer wanted
                try:
                    tasks.get_nowait()
                except queue.Empty:
                    break
            tasks.put(None)
            return
        tasks.put(task)
