"""`tensorgrad.compile`: calls a function's programs instead of the function.

A program is made at the first call with arguments of new shapes, dtypes or Python values. What it took for granted besides
(the mode of modules, options of optimizers, which gradients were there) is checked at each call by its guards.
"""

import functools
import gc
import threading
import warnings
import weakref

import numpy as np

from tensorgrad.autograd.modes import state
from tensorgrad.autograd.views import alias_of
from tensorgrad.compiler.backward import Backward
from tensorgrad.compiler.trace import CannotTrace, Trace, Traced
from tensorgrad.func.levels import stack
from tensorgrad.kernels.program import Program
from tensorgrad.kernels.values import in_order
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import tree_flatten, tree_unflatten

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
        self.programs, self.count, self.given_up, self.keys = {}, 0, False, []
        self.lock = threading.RLock()
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        if stack.levels or self.given_up:  # inside a transform or another trace the function itself is what counts
            return self.function(*args, **kwargs)
        if not args and not kwargs:
            leaves, key = (), (state.recording,)
            treespec = None
        else:
            leaves, treespec = tree_flatten((args, kwargs))
            key = (state.recording, treespec_key(treespec), *map(key_of, leaves))
        with self.lock:
            for entry in self.programs.get(key, ()):
                if entry.holds(leaves):
                    return entry.run(leaves)
            return self.make(key, leaves, treespec, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def make(self, key, leaves, treespec, args, kwargs):
        """Trace the function, compile what it does, and run that."""
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
        except CannotTrace as error:
            if not self.fallback:
                raise
            self.given_up = True
            warnings.warn(f"{error}\nIt runs uncompiled.", stacklevel=3)
            return self.function(*args, **kwargs)
        self.count += 1
        self.keys.append(key)
        if entry.reusable:
            self.programs.setdefault(key, []).insert(0, entry)
        if self.explaining:
            print(entry.explain())
        return entry.run(leaves)

    def changes(self):
        """What differs between the calls that were traced."""
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
            raise CannotTrace("compile: a tensor of a transform was handed to a compiled function from outside")
        return leaf._spec, array.strides, leaf._node is not None
    if isinstance(leaf, (bool, int, float, str, bytes, type(None))):
        return type(leaf), leaf
    try:
        hash(leaf)
        return type(leaf), leaf
    except TypeError:
        return type(leaf), id(leaf)


def layout_of(array):
    """The strides of an array in elements; None where they are no whole number of elements."""
    size = array.itemsize
    if any(s % size for s in array.strides) or array.ctypes.data % size:
        raise CannotTrace("compile: an array that is not aligned to its elements; use a clone() of it")
    return tuple(s // size for s in array.strides)


class Entry:
    """One program, what it is bound to, and what it takes for granted."""

    def __init__(self, function, leaves, args, kwargs):
        trace = Trace()
        try:
            with trace:
                result = function(*args, **kwargs)
                parts, self.result_spec = tree_flatten(result)
                backward = Backward.of(trace, [p for p in parts if isinstance(p, Tensor)])
        finally:
            trace.restore()
        result = None
        self.finish(trace, parts, leaves, backward)

    def finish(self, trace, parts, leaves, backward):
        """From a finished trace to a program."""
        inputs = [(payload, value, weakref.ref(tensor)) for payload, value, tensor in trace.results]
        arrays = dict((id(t), a) for t, a, _ in trace.captured)
        self.arrays = [arrays[id(tensor)] for _, _, tensor in trace.results]
        values = {id(tensor): value for _, value, tensor in trace.results}
        captured = {id(t) for t, _, _ in trace.captured}
        arguments = {id(leaf): i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)}
        roots, targets = [], {}
        self.template = template = []
        for part in parts:
            if not isinstance(part, Tensor):
                template.append(("constant", part))
            elif id(part) in arguments:
                template.append(("argument", arguments[id(part)]))
            elif isinstance(part._array, Traced) or id(part) in captured:
                template.append(("fresh", weakref.ref(part), len(roots)))
                roots.append(part._array.value if isinstance(part._array, Traced) else trace.final[id(part)].value)
            else:
                template.append(("constant", part))
        results_end = len(roots)
        self.place_gradients(trace, roots, targets, values, arguments)
        parts.clear()
        part = None
        self.settle(trace)
        survivors = [t for t in (ref() for ref in trace.made) if t is not None and isinstance(t._array, Traced)]
        self.reusable = not survivors
        self.survivors = []
        for tensor in survivors:
            self.survivors.append((weakref.ref(tensor), len(roots)))
            roots.append(tensor._array.value)
        # What was written and is seen from outside
        alive = [ref() is not None for _, _, ref in inputs]
        written = []
        for number, (payload, value, _) in enumerate(inputs):
            if payload.current is not value and alive[number]:
                targets[len(roots)] = value
                roots.append(payload.current)
                written.append(number)
        for i, entry in enumerate(template):
            if entry[0] == "fresh" and entry[1]() is not None and id(entry[1]()) in captured:
                template[i] = ("constant", entry[1]())  # a tensor from outside is returned itself
        self.unused = {n for n in range(results_end) if not any(e[0] == "fresh" and e[2] == n for e in template)}
        self.backward = backward
        if backward is not None:
            backward.saved_from = len(roots)
            roots += backward.saved
        used = {v.number for v in in_order(roots)}
        effects = [v for v in trace.effects if v.number not in used]
        effects += [value for _, value in trace.delivered if value.number not in used]
        layouts = {value: layout_of(a) for (_, value, _), a in zip(inputs, self.arrays, strict=True)}
        layouts.update((value, ()) for value, _ in trace.numbers)
        self.program = Program(trace.graph, roots, layouts, targets, effects)
        self.fresh_numbers = [n for n, _ in self.program.fresh]
        self.prologues, self.epilogues, self.guards = trace.prologues, trace.epilogues, trace.guards
        self.numbers = [cell for _, cell in trace.numbers]
        self.edge_of = edges_of(leaves)
        self.bind(inputs, arguments, alive, written, trace)

    def place_gradients(self, trace, roots, targets, values, arguments):
        """What becomes of the gradients of leaves, and which of them must be there, or not, at the beginning."""
        self.grads, self.grad_guards = [], []
        for node, was in trace.grads.items():
            now = trace.final_grads[node]
            leaf = node.leaf()
            where = arguments.get(id(leaf), node)
            if node not in trace.cleared:
                self.grad_guards.append((where, was is None))
            if now is was and not (now is not None and node in trace.touched):
                continue
            if now is None:
                self.grads.append((where, "none", None))
            elif id(now) in values or id(now) in {id(t) for t, _, _ in trace.captured}:
                self.grads.append((where, "tensor", now) if now is not was else (where, "keep", None))
            else:
                value = trace.final_values[node]
                if (
                    was is not None
                    and id(was) in values
                    and values[id(was)].shape == value.shape
                    and node not in trace.cleared
                ):
                    targets[len(roots)] = values[id(was)]
                    self.grads.append((where, "into", None))
                else:
                    self.grads.append((where, "fresh", len(roots)))
                roots.append(value)

    def settle(self, trace):
        """Let go of what the trace held, so that what lives on is what the program's user holds."""
        touched = any(payload.current is not value for payload, value, _ in trace.results)
        trace.captured.clear()
        trace.results.clear()
        trace.memory.clear()
        trace.final.clear()
        trace.final_grads.clear()
        trace.final_values.clear()
        self.previous = trace.grads
        if touched:
            gc.collect()

    def bind(self, inputs, arguments, alive, written, trace):
        """Say for each input where its array comes from."""
        grads = {id(was): node for node, was in trace.grads.items() if was is not None}
        leaf_of = {node: arguments.get(id(node.leaf()), node) for node in trace.grads}
        self.fixed, self.moving, self.written = [], [], []
        for number, (_, _, ref) in enumerate(inputs):
            tensor = ref()
            if tensor is None:
                continue
            if id(tensor) in arguments:
                self.moving.append((number, "argument", arguments[id(tensor)]))
            elif id(tensor) in grads:
                self.moving.append((number, "gradient", leaf_of[grads[id(tensor)]]))
            else:
                self.fixed.append((number, tensor))
        for number in written:
            tensor = inputs[number][2]()
            self.written.append(arguments.get(id(tensor), tensor))
        del self.previous
        count = len(inputs)
        for number, array in enumerate(self.arrays):
            self.program.bind(number, array)
        for number, cell in enumerate(self.numbers):
            self.program.bind(count + number, cell)
        self.arrays = list(self.arrays)

    # Running

    def holds(self, leaves):
        """Whether what the program takes for granted is so."""
        for check, expected in self.guards:
            if check() != expected:
                return False
        for where, empty in self.grad_guards:
            node = leaves[where]._node if type(where) is int else where
            if (node.grad is None) is not empty:
                return False
        for number, tensor in self.fixed:
            array, old = tensor._array, self.arrays[number]
            if array is not old:
                if array.shape != old.shape or array.dtype != old.dtype or array.strides != old.strides:
                    return False
                self.arrays[number] = array
                self.program.bind(number, array)
        for _, kind, where in self.moving:
            if kind == "gradient":
                node = leaves[where]._node if type(where) is int else where
                grad = node.grad
                if grad is None or not self.fits(grad._array, _):
                    return False
        return True

    def fits(self, array, number):
        old = self.arrays[number]
        return array.shape == old.shape and array.dtype == old.dtype and array.strides == old.strides

    def run(self, leaves):
        """Replay the program."""
        program = self.program
        for prologue in self.prologues:
            prologue()
        for number, kind, where in self.moving:
            if kind == "argument":
                array = leaves[where]._array
            else:
                array = (leaves[where]._node if type(where) is int else where).grad._array
            program.bind(number, array)
        results = dict(zip(self.fresh_numbers, program.run(), strict=True))
        for target in self.written:
            alias_of(leaves[target] if type(target) is int else target).version.bump()
        for where, kind, what in self.grads:
            node = leaves[where]._node if type(where) is int else where
            if kind == "fresh":
                node.grad = wrap(results[what])
            elif kind == "none":
                node.grad = None
            elif kind == "into":
                alias_of(node.grad).version.bump()
            elif kind == "tensor":
                node.grad = what
        for ref, number in self.survivors:
            tensor = ref()
            if tensor is not None:
                array = results[number]
                made = wrap(array)
                tensor._array, tensor._spec, tensor._node, tensor._alias = array, made._spec, None, None
        for epilogue in self.epilogues:
            epilogue()
        out, node = [], None
        if self.backward is not None:
            node = self.backward.node(self, leaves, results)
        tensors = 0
        for entry in self.template:
            if entry[0] == "fresh":
                tensor = wrap(results[entry[2]])
                if node is not None:
                    self.backward.attach(node, tensor, tensors)
                tensors += 1
                out.append(tensor)
            elif entry[0] == "argument":
                out.append(leaves[entry[1]])
            else:
                out.append(entry[1])
        return tree_unflatten(out, self.result_spec)

    def explain(self):
        from tensorgrad.compiler.explain import described

        return described(self)


def edges_of(leaves):
    """Nodes of the arguments -> which argument."""
    return {leaf._node: i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf._node is not None}


def program_of(function, args, kwargs):
    """The program of a function for these arguments."""
    function = getattr(function, "function", function)
    with making:
        return Entry(function, tree_flatten((args, kwargs))[0], args, kwargs).program
