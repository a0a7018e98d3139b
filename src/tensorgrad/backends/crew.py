"""Large arrays are worked on by all cores: NumPy computes outside Python's lock, so its passes can run side by side.

A helper thread waits in a lock. Handing it its part and hearing from it takes some 30 us, so this pays from about 0.2 ms of
work on. Parts are cut into blocks, so that what several steps read and write stays in the cache.
"""

import contextvars
import functools
import os
import threading

import numpy as np

from tensorgrad import settings

BLOCK = 1 << 18  # numbers that a chain of steps works on at a time: with fewer, threads wait for each other
BUFFER = 1 << 10  # what NumPy repeats to fill its buffer when it broadcasts: with 8192 it copies rows that need no copy
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
        """Wait for the work that was started; what it raised, or None."""
        try:
            self.done.acquire()
        except BaseException as interrupted:  # Ctrl-C: it is left alone with its work
            _state["members"].remove(self)
            return interrupted
        error, self.error = self.error, None
        return error


def threads():
    """How many threads share a large array."""
    return min(settings.get_num_threads(), settings.cores())


@functools.cache
def _blas():
    """OpenBLAS's functions that tell and set how many threads it has; None for another BLAS."""
    found = settings.openblas("get_num_threads"), settings.openblas("set_num_threads")
    return None if None in found else found


def share(work, size, grain=1, products=False):
    """work(low, high) on parts of range(size), side by side; parts begin at multiples of `grain`.

    products: the work multiplies matrices. Each product is then left to the thread that asks for it: BLAS's own threads
    and these would wait for one another.

    >>> x = np.zeros(10)
    >>> def work(low, high):
    ...     x[low:high] = 1
    >>> share(work, 10)
    >>> x.sum()
    np.float64(10.0)
    """
    unbuffered(_share, work, size, grain, products)


def unbuffered(function, *arguments):
    """function(*arguments), in which operations that broadcast long rows take half the time.

    >>> unbuffered(np.add, 1, 2)
    np.int64(3)
    """
    before = np.setbufsize(BUFFER)
    try:
        return function(*arguments)
    finally:
        np.setbufsize(before)


def _share(work, size, grain, products):
    count = min(threads(), -(-size // grain))
    blas = _blas() if products and count > 1 else None
    if count < 2 or (products and blas is None) or not _state["busy"].acquire(blocking=False):
        work(0, size)
        return
    members, busy = _state["members"], _state["busy"]
    many = blas[0]() if blas else 1
    try:
        if many > 1:
            blas[1](1)
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
            errors = [error for member in started if (error := member.finish()) is not None]
        if errors:
            raise errors[0]
    finally:
        if many > 1:
            blas[1](many)
        busy.release()


def rows(work, count, width):
    """work(low, high) on blocks of rows of so many numbers each: as many rows at a time as stay in the cache."""
    step = max(1, BLOCK // max(1, width))

    def part(low, high):
        for start in range(low, high, step):
            work(start, min(start + step, high))

    share(part, count)


def writes(function):
    """Whether a function of Python's can write its result into an array `out`."""
    code = getattr(function, "__code__", None)
    return code is not None and "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def pointwise(function, arrays, dtype=None):
    """function(*arrays), which gives a number for each number, in blocks and by all cores; arrays may need broadcasting.

    The first numbers say what dtype the result has, unless `dtype` does. A function that can write its result into an array
    takes it as `out`.

    >>> pointwise(lambda a, b: a * b + 1, [np.ones((2, 3)), np.arange(3.0)])
    array([[1., 2., 3.],
           [1., 2., 3.]])
    """
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if dtype is None:
        dtype = np.asarray(function(*[a[(slice(1),) * a.ndim] if a.ndim else a for a in arrays])).dtype
    out = room = np.empty(shape, dtype)
    if all(not a.ndim or (a.shape == shape and a.flags.c_contiguous) for a in arrays):
        room, arrays = out.reshape(-1), [a.reshape(-1) if a.ndim else a for a in arrays]
    cut = [a.ndim == room.ndim and a.shape[0] == len(room) for a in arrays]  # the others count for every row
    into = writes(function)
    step = max(1, BLOCK * len(room) // max(1, room.size))

    def whole(low, high):
        function(*[a[low:high] if c else a for a, c in zip(arrays, cut, strict=True)], out=room[low:high])

    def blocks(low, high):
        for start in range(low, high, step):
            place = slice(start, min(start + step, high))
            parts, part = [a[place] if c else a for a, c in zip(arrays, cut, strict=True)], room[place]
            result = function(*parts, out=part) if into else function(*parts)
            if result is not part:
                part[...] = result

    share(whole if isinstance(function, np.ufunc) else blocks, len(room))
    return out


def _alone():
    """After a fork the other threads are gone."""
    _state.update(members=[], busy=threading.Lock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
