"""`tensorgrad.compile`: calls a function's programs instead of the function.

A program is made at the first call with arguments of new shapes, dtypes or Python values. What it took for granted besides
(the mode of modules, options of optimizers, which gradients were there) is checked at each call by its guards.
"""

import functools
import threading
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.autograd.modes import state
from tensorgrad.compiler.entry import EAGER, Entry, Uncompiled
from tensorgrad.compiler.trace import CannotTrace, OddLayout
from tensorgrad.func import levels
from tensorgrad.func.levels import stack
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import tree_flatten

MOST = 16  # programs of one function
ndarray = np.ndarray
making = threading.RLock()  # one trace at a time: tensors that others may see hold no numbers meanwhile


def compile(model=None, *, fullgraph=True, dynamic=None, backend="inductor", mode=None, options=None, disable=False,
            fallback=False, explain=False):  # fmt: skip
    """Make a function, a training step or a module fast: it is traced once and from then on replayed as one program.

    What it may hold: forward, `backward()`, `optimizer.step()`, `zero_grad()`, transforms, in-place changes. With
    `fallback=True` a function that cannot be traced runs uncompiled, with one warning, instead of raising an error. With
    `explain=True` the program is described when it is made.

    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> @torch.compile
    ... def step():
    ...     loss = (x * x).sum()
    ...     loss.backward()
    ...     return loss
    >>> step(); x.grad
    tensor(5., grad_fn=<CompiledBackward>)
    tensor([2., 4.])
    """
    if dynamic:
        raise NotImplementedError("compile: dynamic=True; a program is made for each shape (at most 16 a function)")
    if options:
        raise NotImplementedError(f"compile: options={options!r}")
    if mode not in (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: default, reduce-overhead, max-autotune")
    if backend not in ("inductor", "eager"):
        raise RuntimeError(f"Invalid backend: {backend!r}; tensorgrad has its own ('inductor' names it) and 'eager'")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, disable=disable, fallback=fallback,
            explain=explain,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"compile: a function or a module is expected, not {type(model).__name__}")
    if disable or backend == "eager":
        return model
    if hasattr(model, "named_parameters") and hasattr(model, "_modules"):
        from tensorgrad.compiler.module import CompiledModule

        return CompiledModule(model, Compiled(model.__call__, fallback, explain))
    return Compiled(model, fallback, explain)


class Compiled:
    """A function and its programs."""

    def __init__(self, function, fallback=False, explain=False):
        self.function, self.fallback, self.explaining = function, fallback, explain
        self.programs, self.count, self.given_up, self.keys, self.kept = {}, 0, False, [], False
        self.lock = threading.RLock()
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        if stack.levels or self.given_up:  # inside a transform or another trace the function itself is what counts
            return self.function(*args, **kwargs)
        if not args and not kwargs:
            leaves, key = (), (state.recording, state.inference, state.autocast, dtypes.get_default_dtype())
        else:
            leaves, treespec = tree_flatten((args, kwargs))
            modes = state.recording, state.inference, state.autocast, dtypes.get_default_dtype()
            key = (*modes, treespec_key(treespec), *map(key_of, leaves))
        with self.lock:
            for entry in self.programs.get(key, ()):
                if entry.holds(leaves):
                    result = entry.run(leaves)
                    return result if result is not EAGER else self.function(*args, **kwargs)
            return self.make(key, leaves, args, kwargs)

    def __reduce__(self):
        return Compiled, (self.function, self.fallback, self.explaining)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def make(self, key, leaves, args, kwargs):
        """Trace the function, compile what it does, and run that."""
        if levels.names is not None and levels.names.any_named(leaves):
            return levels.names.compiled(self, args, kwargs)
        if self.count == MOST:
            self.given_up = True
            warnings.warn(
                f"compile: {getattr(self.function, '__qualname__', self.function)} was traced {MOST} times and now runs "
                f"uncompiled. What kept changing: {self.changes()}",
                stacklevel=3,
            )
            return self.function(*args, **kwargs)
        try:
            with making:
                entry = Entry(self.function, leaves, args, kwargs)
        except OddLayout:
            self.programs.setdefault(key, []).insert(0, Uncompiled())
            return self.function(*args, **kwargs)
        except CannotTrace as error:
            if not self.fallback:
                raise
            self.given_up = True
            warnings.warn(f"{error}\nIt runs uncompiled.", stacklevel=3)
            return self.function(*args, **kwargs)
        self.count += 1
        self.keys.append(key)
        self.kept = not entry.reusable
        if entry.reusable:
            self.programs.setdefault(key, []).insert(0, entry)
        result = entry.run(leaves) if entry.holds(leaves, first=True) else EAGER
        if self.explaining:
            print(entry.explain())
        return result if result is not EAGER else self.function(*args, **kwargs)

    def changes(self):
        """What differs between the calls that were traced."""
        if self.kept:
            return "nothing, but tensors made inside were kept outside, and such a program is used once"
        columns = list(zip(*self.keys[-4:])) if len({len(k) for k in self.keys[-4:]}) == 1 else []
        changing = [str(set(map(shown, c))) for c in columns if len(set(map(shown, c))) > 1]
        return "; ".join(changing[:3]) or "the mode of modules, options of optimizers, or which gradients there were"

    def explain(self):
        """A description of each program made so far."""
        return "\n\n".join(entry.explain() for entries in self.programs.values() for entry in entries)


def shown(part):
    return str(part)


def treespec_key(treespec):
    try:
        hash(treespec)
        return treespec
    except TypeError:
        return repr(treespec)


def key_of(leaf):
    """What a program was made for, of one argument."""
    if isinstance(leaf, Tensor):
        array = leaf._array
        if type(array) is not ndarray:
            if leaf._spec.names is not None:
                return leaf._spec
            raise CannotTrace("compile: a tensor of a transform was handed to a compiled function from outside")
        flags = array.flags
        return (
            leaf._spec,
            array.strides,
            leaf._node and type(leaf._node) is AccumulateGrad,
            flags.aligned,
            flags.writeable,
        )
    if isinstance(leaf, float):
        return float, repr(leaf)
    if isinstance(leaf, (bool, int, str, bytes, type(None))):
        return type(leaf), leaf
    try:
        hash(leaf)
        return type(leaf), leaf
    except TypeError:
        return type(leaf), id(leaf)


def program_of(function, args, kwargs):
    """The program of a function for these arguments."""
    function = getattr(function, "function", function)
    with making:
        return Entry(function, tree_flatten((args, kwargs))[0], args, kwargs).program
