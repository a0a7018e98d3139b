"""Large arrays are worked on by all cores: NumPy computes outside Python's lock, so its passes can run side by side.

A helper thread waits in a lock. Handing it its part and hearing from it takes some 30 us, so this pays from about 0.2 ms of
work on. Parts are cut into blocks, so that what several steps read and write stays in the cache.
"""

import contextvars
import math
import os
import threading

import numpy as np

from tensorgrad import settings

BLOCK = (
    1 << 17
)  # numbers that a chain of steps works on at a time: with shorter ones the threads wait for Python's lock
_state = {"members": [], "busy": threading.Lock()}


class Member:
    """A thread that waits for work."""

    def __init__(self):
        self.go, self.done, self.job, self.error = threading.Lock(), threading.Lock(), None, None
        self.go.acquire()
        self.done.acquire()
        threading.Thread(target=self.wait, name="tensorgrad crew", daemon=True).start()

    def wait(self):
        while True:
            self.go.acquire()
            context, work, low, high = self.job
            try:
                context.run(work, low, high)
            except BaseException as error:
                self.error = error
            context = work = self.job = None  # nothing is kept alive while it waits
            self.done.release()

    def start(self, *job):
        self.job = job
        self.go.release()

    def finish(self):
        """Wait for the work that was started; raises what it raised."""
        try:
            self.done.acquire()
        except BaseException:  # Ctrl-C: it is left alone with its work
            _state["members"].remove(self)
            raise
        error, self.error = self.error, None
        if error is not None:
            raise error


def threads():
    """How many threads share a large array."""
    return min(settings.get_num_threads(), settings.cores())


def share(work, size, grain=1):
    """work(low, high) on parts of range(size), side by side; parts begin at multiples of `grain`.

    >>> x = np.zeros(10)
    >>> def work(low, high):
    ...     x[low:high] = 1
    >>> share(work, 10)
    >>> x.sum()
    np.float64(10.0)
    """
    count = min(threads(), -(-size // grain))
    if count < 2 or not _state["busy"].acquire(blocking=False):
        work(0, size)
        return
    members, busy = _state["members"], _state["busy"]
    try:
        while len(members) < count - 1:
            members.append(Member())
        step = -(-size // (count * grain)) * grain
        started = []
        for n, member in enumerate(members[: count - 1], 1):
            if n * step < size:
                member.start(contextvars.copy_context(), work, n * step, min(size, (n + 1) * step))
                started.append(member)
        try:
            work(0, min(step, size))
        finally:
            errors = [error for member in started if (error := _outcome(member)) is not None]
        if errors:
            raise errors[0]
    finally:
        busy.release()


def _outcome(member):
    try:
        member.finish()
    except BaseException as error:
        return error
    return None


def rows(work, count, width):
    """work(low, high) on blocks of rows of so many numbers each: as many rows at a time as stay in the cache."""
    step = max(1, BLOCK // max(1, width))

    def part(low, high):
        for start in range(low, high, step):
            work(start, min(start + step, high))

    share(part, count)


def pointwise(function, arrays, dtype=None):
    """function(*arrays) of contiguous arrays of one shape (0-d ones count as numbers), in blocks and by all cores.

    The first block says what dtype results have, unless `dtype` does.

    >>> pointwise(lambda a, b: a * b + 1, [np.ones(3), np.array(2.0)])
    array([3., 3., 3.])
    """
    shape = next(a.shape for a in arrays if a.shape)
    flat = [a.reshape(-1) if a.shape else a for a in arrays]
    size = math.prod(shape)
    ufunc = isinstance(function, np.ufunc)
    if dtype is None:
        dtype = function(*[a[:1] if a.shape else a for a in flat]).dtype
    out = np.empty(shape, dtype)
    room = out.reshape(-1)

    def whole(low, high):
        function(*[a[low:high] if a.shape else a for a in flat], out=room[low:high])

    def blocks(low, high):
        for start in range(low, high, BLOCK):
            place = slice(start, min(start + BLOCK, high))
            room[place] = function(*[a[place] if a.shape else a for a in flat])

    share(whole if ufunc else blocks, size, 64)
    return out


def _alone():
    """After a fork the other threads are gone."""
    _state.update(members=[], busy=threading.Lock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
