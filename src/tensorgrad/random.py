"""Where random numbers come from: Generator, the default one, its seed and state. What is drawn from it: ops/random.py.

After `manual_seed(n)` the numbers are those that PyTorch draws after `manual_seed(n)`, and states can be exchanged.
"""

import contextlib
import threading

from tensorgrad import dtypes
from tensorgrad.ops import fitting

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


class Generator:
    """A source of random numbers of its own.

    >>> generator = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=generator)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ("__weakref__", "_lock", "_stream")

    def __init__(self, device="cpu"):
        dtypes.check_device(device)
        self._lock = threading.Lock()
        self._stream = None  # made on first use: importing NumPy's random part takes time

    def _numbers(self):
        """The stream of numbers, made now if it was not yet."""
        if self._stream is None:
            from tensorgrad.backends.random import Stream

            stream = Stream()
            if self is default_generator:
                stream.reseed()
            self._stream = stream
        return self._stream

    def draw(self, distribution, *arguments):
        """A new array of random numbers: `distribution` is the name of a method of backends.random.Stream.

        >>> torch.Generator().manual_seed(0).draw("randperm", 5)
        array([4, 0, 1, 3, 2])
        """
        with self._lock:
            return getattr(self._stream or self._numbers(), distribution)(*arguments)

    @property
    def device(self):
        """The CPU.

        >>> torch.Generator().device
        device(type='cpu')
        """
        return dtypes.cpu

    def manual_seed(self, seed):
        """Start again from a seed.

        >>> torch.Generator().manual_seed(3).initial_seed()
        3
        """
        if isinstance(seed, fitting.Tensor):
            raise RuntimeError("manual_seed expected a long, but got Tensor")
        self.draw("seed", seed)
        return self

    def seed(self):
        """Start again from a seed nobody can foresee, and return it.

        >>> generator = torch.Generator(); generator.seed() == generator.initial_seed()
        True
        """
        return self.draw("reseed")

    def initial_seed(self):
        """The seed that the numbers started from.

        >>> torch.Generator().initial_seed()
        67280421310721
        """
        return self._numbers().initial_seed

    def get_state(self):
        """All that decides the numbers to come, as a tensor of bytes.

        >>> torch.Generator().get_state().shape
        tensorgrad.Size([5056])
        """
        return fitting.wrap(self.draw("state"))

    def set_state(self, new_state):
        """Continue where another generator (PyTorch's, too) stood when it gave this state.

        >>> first, second = torch.Generator(), torch.Generator().manual_seed(1)
        >>> second.set_state(first.get_state()).initial_seed()
        67280421310721
        """
        if not isinstance(new_state, fitting.Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self.draw("set_state", new_state._array)
        return self

    def clone_state(self):
        """Another generator that stands at the same place.

        >>> generator = torch.Generator(); twin = generator.clone_state()
        >>> bool(torch.rand(1, generator=generator) == torch.rand(1, generator=twin))
        True
        """
        return Generator().set_state(self.get_state())

    def graphsafe_get_state(self):
        """Refused as PyTorch's CPU generator refuses it: states for CUDA graphs.

        >>> torch.Generator().graphsafe_get_state()
        Traceback (most recent call last):
        NotImplementedError: graphsafe_get_state is not supported in this Generator
        """
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state):
        """Refused as PyTorch's CPU generator refuses it: states for CUDA graphs.

        >>> torch.Generator().graphsafe_set_state(torch.Generator())
        Traceback (most recent call last):
        NotImplementedError: graphsafe_set_state is not supported in this Generator
        """
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self):
        """Refused as PyTorch's CPU generator refuses it: only CUDA's generators count.

        >>> torch.Generator().get_offset()
        Traceback (most recent call last):
        RuntimeError: CPU Generator does not use offset
        """
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset):
        """Refused as PyTorch's CPU generator refuses it: only CUDA's generators count.

        >>> torch.Generator().set_offset(3)
        Traceback (most recent call last):
        RuntimeError: CPU Generator does not use offset
        """
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self):
        return _rebuilt, (self.get_state(),)


def _rebuilt(state):
    """A generator from its pickled state."""
    return Generator().set_state(state)


default_generator = Generator()


def manual_seed(seed):
    """Start the default generator again from a seed: the numbers to come are PyTorch's for that seed.

    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed():
    """Start the default generator again from a seed nobody can foresee, and return it.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed():
    """The seed that the numbers of the default generator started from.

    >>> _ = torch.manual_seed(5); torch.initial_seed()
    5
    """
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, as a tensor of bytes.

    >>> torch.get_rng_state().dtype
    tensorgrad.uint8
    """
    return default_generator.get_state()


def set_rng_state(new_state):
    """Let the default generator continue from a state.

    >>> state = torch.get_rng_state(); x = torch.rand(3)
    >>> torch.set_rng_state(state); torch.equal(torch.rand(3), x)
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type=None):
    """Leave the default generator as it was, whatever is drawn inside.

    >>> state = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(3)
    >>> torch.equal(torch.get_rng_state(), state)
    True
    """
    if devices:
        raise NotImplementedError(f"fork_rng(devices={devices!r}) is not supported: tensorgrad has one CPU generator")
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
