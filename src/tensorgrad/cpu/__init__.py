"""PyTorch's `torch.cpu`: the CPU under the names that other devices have.

>>> torch.cpu.is_available(), torch.cpu.device_count(), torch.cpu.current_device()
(True, 1, 'cpu')
"""

import importlib

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "is_available",
           "is_initialized", "set_device", "stream", "synchronize"]  # fmt: skip


class Stream:
    """The order of work on the CPU, where each operation ends before the next begins.

    >>> torch.cpu.Stream().wait_stream(torch.cpu.Stream())
    """

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing is left to wait for."""

    def record_event(self):
        """Nothing is recorded."""

    def wait_event(self, event):
        """Nothing is left to wait for."""


class Event:
    """A mark in a Stream, which is always passed.

    >>> torch.cpu.Event().query()
    True
    """

    def query(self):
        """Whether the work before the mark is done."""
        return True

    def record(self, stream=None):
        """Nothing is recorded."""

    def synchronize(self):
        """Nothing is left to wait for."""

    def wait(self, stream=None):
        """Nothing is left to wait for."""


_stream = Stream()


class StreamContext:
    """A stream is the current one.

    >>> stream = torch.cpu.Stream()
    >>> with torch.cpu.stream(stream):
    ...     torch.cpu.current_stream() is stream
    True
    """

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _stream
        self.before = _stream
        _stream = self.stream or _stream

    def __exit__(self, *_):
        global _stream
        _stream = self.before


def stream(stream):
    """`with torch.cpu.stream(s):` the stream is the current one.

    >>> with torch.cpu.stream(None):
    ...     pass
    """
    return StreamContext(stream)


def current_stream(device=None):
    """The stream that work goes to.

    >>> torch.cpu.current_stream() is torch.cpu.current_stream()
    True
    """
    return _stream


def is_available():
    """Whether there is a CPU.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized():
    """Whether the CPU can be used.

    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count():
    """How many CPUs there are, as devices.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device():
    """The device that is used.

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """Changes nothing: there is one CPU.

    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device=None):
    """Wait for the work of the CPU, which is done.

    >>> torch.cpu.synchronize()
    """


def __getattr__(name):
    if name == "amp":
        return importlib.import_module("tensorgrad.cpu.amp")
    raise AttributeError(f"module 'tensorgrad.cpu' has no attribute '{name}'")
