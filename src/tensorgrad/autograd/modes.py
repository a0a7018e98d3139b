"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode, per thread.

The hot path of an operation cannot afford a thread-local look-up, so `mode` holds two plain flags that are true when any
thread at all is in an unusual state; only then is the thread's own state asked.
"""

import functools
import inspect
import threading


class Mode:
    """Flags that operations read: `quiet` if some thread does not record, `special` if the slow path must decide,
    `careful` once there has been an inference tensor or a broken view, which must not be recorded."""

    __slots__ = ("careful", "quiet", "special")


mode = Mode()
mode.quiet = mode.special = mode.careful = False
_lock = threading.Lock()
_quiet_threads = set()
_special = {}  # reason -> how many hold it; `mode.special` is true while any does


class ThreadState(threading.local):
    """What one thread has switched on."""

    recording = True
    inference = False
    hooks = ()  # saved_tensors_hooks: a tuple of (pack, unpack), innermost last
    hooks_disabled = None  # the message of disable_saved_tensors_hooks
    task = None  # the backward pass that this thread is in
    autocast = None  # the lower dtype of autocast, where that is on
    autocast_cache = None  # what autocast has cast


state = ThreadState()


def hold_special(reason):
    """Send every operation through the slow path until `release_special` is called as often."""
    with _lock:
        _special[reason] = _special.get(reason, 0) + 1
        mode.special = True


def release_special(reason):
    with _lock:
        _special[reason] -= 1
        if not _special[reason]:
            del _special[reason]
        mode.special = bool(_special)


def set_recording(on):
    """Switch recording for this thread."""
    if state.recording is on:
        return
    state.recording = on
    with _lock:
        (_quiet_threads.discard if on else _quiet_threads.add)(threading.get_ident())
        mode.quiet = bool(_quiet_threads)


def is_grad_enabled():
    """Whether operations of this thread are recorded.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """
    return state.recording


def is_inference_mode_enabled():
    """Whether this thread is inside `inference_mode`.

    >>> torch.is_inference_mode_enabled()
    False
    """
    return state.inference


class _Switch:
    """A context manager that also decorates functions and generator functions, as PyTorch's grad modes do."""

    def __call__(self, function):
        if inspect.isclass(function):
            raise TypeError(f"Decorating classes with {type(self).__name__} is not supported: decorate its methods")
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function):
        """The mode holds while the generator's body runs, and not in its consumer between two values."""

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        produced = resume(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, value = generator.send, (yield produced)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error

        return wrapped

    def clone(self):
        return type(self)()


class _Recording(_Switch):
    target = True

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else cls()(function)  # @no_grad without parentheses

    def __enter__(self):
        self.previous = state.recording
        set_recording(self.target)

    def __exit__(self, *_):
        set_recording(self.previous)


class no_grad(_Recording):
    """Do not record operations: their results do not require gradients.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    target = False


class enable_grad(_Recording):
    """Record operations again, inside `no_grad`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     (x * 2).requires_grad
    True
    """


class set_grad_enabled(_Switch):
    """Record operations or not, from now on, or as a context manager.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode):
        self.previous, self.target = state.recording, bool(mode)
        set_recording(self.target)

    def __call__(self, function):
        set_recording(self.previous)
        return super().__call__(function)

    def __enter__(self):
        set_recording(self.target)

    def __exit__(self, *_):
        set_recording(self.previous)

    def clone(self):
        return set_grad_enabled(self.target)


class inference_mode(_Switch):
    """Like `no_grad`, and its results can never be recorded later.

    >>> with torch.inference_mode():
    ...     torch.ones(2).is_inference()
    True
    """

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode):
            self.target = True
            return self(mode)
        return self

    def __init__(self, mode=True):
        self.target = mode

    def __enter__(self):
        mode.careful = True
        self.previous = state.recording, state.inference
        if self.target != state.inference:
            (hold_special if self.target else release_special)("inference")
        state.inference = self.target
        set_recording(not self.target)

    def __exit__(self, *_):
        recording, inference = self.previous
        if inference != state.inference:
            (hold_special if inference else release_special)("inference")
        state.inference = inference
        set_recording(recording)

    def clone(self):
        return inference_mode(self.target)
