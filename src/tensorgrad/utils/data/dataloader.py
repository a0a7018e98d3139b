"""DataLoader: batches of a data set, made in this process or in worker processes that work ahead."""

import itertools
import math
import multiprocessing
import os
import signal
import time
import warnings
import weakref
from collections import deque
from typing import Generic, TypeVar

from tensorgrad.utils.data.collate import default_collate, default_convert
from tensorgrad.utils.data.dataset import IterableDataset
from tensorgrad.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, new_seed
from tensorgrad.utils.data.worker import Ended, Failure, IterableFetcher, MapFetcher, get_worker_info, run  # noqa: F401

Batch = TypeVar("Batch", covariant=True)
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _DatasetKind:
    Map, Iterable = 0, 1


class _InfiniteConstantSampler(Sampler):
    """Stands for the indices that an iterable data set does not have."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[Batch]):
    """Iterates over a data set in batches, shuffled or not, with worker processes or without.

    >>> data = torch.utils.data.TensorDataset(torch.arange(5), torch.arange(5) * 10)
    >>> for x, y in torch.utils.data.DataLoader(data, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    _iterator = None
    _made = False

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True):  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.worker_init_fn, self.in_order = worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size, drop_last, sampler, batch_sampler)  # fmt: skip
        self.generator, self.persistent_workers = generator, persistent_workers
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._reported = None  # the length that an iterable data set claims to have
        self._made = True
        self.check_worker_number_rationality()

    def __setattr__(self, name, value):
        if self._made and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How worker processes are started."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self._context = context

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self):
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=2,
            )
        if self.num_workers == 0:
            return InProcess(self)
        if not self.persistent_workers:
            return WithWorkers(self)
        if self._iterator is None or not self._iterator.alive():
            self._iterator = WithWorkers(self)
        else:
            self._iterator.restart(self)
        return self._iterator

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._reported = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self):
        """Warn about more workers than there are processors."""
        here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (here is None or self.num_workers > here):
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of "
                f"worker in current system is {here}, which is smaller than what this DataLoader is going to create. "
                "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower "
                "the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def fetcher_of(loader):
    """What fetches the batches of a loader: (class, data set, batched, collate, drop_last)."""
    kind = IterableFetcher if loader._dataset_kind == _DatasetKind.Iterable else MapFetcher
    return kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last


class LoaderIterator:
    """One pass over a loader."""

    def __init__(self, loader):
        self.indices, self.samples = iter(loader._index_sampler), loader._index_sampler
        self.base_seed = new_seed(loader.generator)
        self.yielded, self.loader = 0, loader

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.samples)

    def __next__(self):
        batch = self.next_batch()
        self.yielded += 1
        reported = self.loader._reported
        if reported is not None and self.yielded > reported:
            words = (
                "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
                "replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
            warnings.warn(
                f"Length of IterableDataset {self.loader.dataset} was reported to be {reported}(when accessing "
                f"len(dataloader)), but {self.yielded} samples have been fetched. "
                + (words if self.loader.num_workers else ""),
                stacklevel=2,
            )
        return batch


class InProcess(LoaderIterator):
    """Without workers."""

    def __init__(self, loader):
        if loader.timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0\nA timeout needs num_workers > 0.")
        super().__init__(loader)
        kind, *rest = fetcher_of(loader)
        self.fetch = kind(*rest).fetch

    def next_batch(self):
        return self.fetch(next(self.indices))


class WithWorkers(LoaderIterator):
    """With worker processes. Each has a pipe of its own, so that one that is killed leaves the others' in order."""

    def __init__(self, loader):
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing
        if os.name == "posix":
            from multiprocessing import resource_tracker

            resource_tracker.ensure_running()  # before the fork, so that all share one
        self.team = Team(f"tg{os.getpid():x}{id(self) & 0xFFFFFF:x}_")
        self.finish = weakref.finalize(self, Team.end, self.team)
        forking = context.get_start_method() == "fork"
        for number in range(loader.num_workers):
            mine, theirs = context.Pipe()
            self.team.pipes.append(mine)
            arguments = (theirs, self.team.pipes if forking else (), number, loader.num_workers)
            kind, *rest = fetcher_of(loader)
            dataset, batched, collate, drop_last = rest
            process = context.Process(
                target=run, daemon=True,
                args=(*arguments, dataset, kind, batched, collate, drop_last, self.base_seed, loader.worker_init_fn,
                      self.team.prefix),
            )  # fmt: skip
            try:
                process.start()
            except BaseException:
                self.team.pipes.pop().close()
                self.finish()
                raise
            finally:
                theirs.close()
            self.team.processes.append(process)
            self.team.received.append(0)
        self.begin()

    def begin(self):
        """Ask for the first batches."""
        self.active = list(range(self.loader.num_workers))
        self.turn, self.asked, self.epoch = 0, 0, getattr(self, "epoch", -1) + 1
        self.pending = deque()  # (key, worker) of what was asked and has not been given out, in order
        self.ready = {}  # key -> batch
        for _ in range(self.loader.prefetch_factor * self.loader.num_workers):
            self.ask()

    def restart(self, loader):
        """Another pass, with the same workers."""
        self.indices, self.yielded = iter(self.samples), 0
        for pipe in self.team.pipes:
            pipe.send(("epoch", None))
        self.begin()

    def alive(self):
        return self.finish.alive

    def ask(self):
        """Give the next list of indices to the worker whose turn it is."""
        if not self.active:
            return
        try:
            index = next(self.indices)
        except StopIteration:
            return
        worker = self.active[self.turn % len(self.active)]
        self.turn = (self.turn + 1) % len(self.active)
        key = self.epoch, self.asked
        self.asked += 1
        self.pending.append((key, worker))
        try:
            self.team.pipes[worker].send((key, index))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it died, which `receive` will report

    def next_batch(self):
        while True:
            if not self.pending:
                if self.loader.prefetch_factor == 0 and self.active:
                    self.ask()
                if not self.pending:
                    if not self.loader.persistent_workers:
                        self.finish()
                    raise StopIteration
            key = next((k for k, _ in self.pending if k in self.ready), None)
            if key is None or (self.loader.in_order and key != self.pending[0][0]):
                self.receive()
                continue
            worker = next(w for k, w in self.pending if k == key)
            self.pending = deque(entry for entry in self.pending if entry[0] != key)
            batch = self.ready.pop(key)
            if isinstance(batch, Ended):
                self.retire(worker)
                self.ask()
                continue
            self.ask()
            if isinstance(batch, Failure):
                if not self.loader.persistent_workers and self.loader._dataset_kind == _DatasetKind.Iterable:
                    self.finish()
                raise batch.raised()
            return batch

    def retire(self, worker):
        """A worker whose data set has ended is asked no more."""
        if worker in self.active:
            place = self.active.index(worker)
            self.active.remove(worker)
            if place < self.turn:
                self.turn -= 1
        self.pending = deque(entry for entry in self.pending if entry[1] != worker)

    def receive(self):
        """Wait until a worker has sent something."""
        from multiprocessing.connection import wait

        from tensorgrad.utils.data import passing

        team, timeout = self.team, self.loader.timeout
        waited_for = {team.pipes[worker]: worker for _, worker in self.pending}
        found = wait(list(waited_for), timeout or None)
        if not found:
            self.finish()
            raise RuntimeError(
                f"DataLoader timed out after {timeout} seconds\nNo worker sent a batch in that time: raise timeout, or "
                "look for what blocks in the data set."
            )
        for pipe in found:
            try:
                key, name, rest = pipe.recv()
            except (EOFError, OSError):
                self.died()
            team.received[waited_for[pipe]] += name is not None
            if key[0] == self.epoch:
                self.ready[key] = passing.unpack(name, rest)
            elif name is not None:  # of a pass that was broken off
                passing.discard(name)

    def died(self):
        """Raise PyTorch's error for workers that are gone."""
        deadline = time.monotonic() + 5
        gone = []
        while not gone and time.monotonic() < deadline:
            gone = [p for p in self.team.processes if not p.is_alive()]
            time.sleep(0.001)
        self.finish()
        names = ", ".join(str(p.pid) for p in gone)
        causes = [
            f"DataLoader worker (pid {p.pid}) is killed by signal: {signal.strsignal(-p.exitcode)}."
            if p.exitcode and p.exitcode < 0
            else f"DataLoader worker (pid {p.pid}) exited with exit code {p.exitcode}."
            for p in gone
        ]
        raise RuntimeError("\n".join([f"DataLoader worker (pid(s) {names}) exited unexpectedly", *causes])) from None


class Team:
    """The processes of one iterator and the pipes to them, kept apart from it so that they end when it goes."""

    def __init__(self, prefix):
        self.prefix, self.pipes, self.processes, self.owner = prefix, [], [], os.getpid()
        self.received = []  # how many segments of shared memory have come from each

    def end(self):
        """End the workers, and leave neither a process nor shared memory behind."""
        if os.getpid() != self.owner:  # a fork of the loader's process: these are not its children
            return
        from multiprocessing.connection import wait

        from tensorgrad.utils.data import passing

        for pipe in self.pipes:
            try:
                pipe.send(None)
            except (OSError, ValueError):
                pass
        deadline = time.monotonic() + 5
        open_pipes = dict(enumerate(self.pipes))
        while (ends := [p.sentinel for p in self.processes if p.is_alive()]) and time.monotonic() < deadline:
            found = wait([*open_pipes.values(), *ends], max(0.0, deadline - time.monotonic()))
            for number, pipe in list(open_pipes.items()):
                if pipe in found and not self.drop(pipe, number):
                    del open_pipes[number]
        for process in self.processes:
            if process.is_alive():
                process.terminate()
                process.join(1)
            if process.is_alive():
                process.kill()
            process.join()
        for number, pipe in enumerate(self.pipes):
            while pipe.poll() and self.drop(pipe, number):
                pass
            pipe.close()
            if number < len(self.received):
                while passing.discard(f"{self.prefix}{number}_{self.received[number]}"):
                    self.received[number] += 1

    def drop(self, pipe, number):
        """Take a batch that nobody wants; False when there will be no more."""
        from tensorgrad.utils.data import passing

        try:
            _, name, _ = pipe.recv()
        except (EOFError, OSError):
            return False
        if name is not None:
            self.received[number] += 1
            passing.discard(name)
        return True
