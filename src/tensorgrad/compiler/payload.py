"""Traced: what stands for a tensor's array while a function is being traced: a piece of memory of the program being written.

A payload is a root, which holds a Value, or a view: a root and the steps that lead from it. To write into a view is to give
its root a new Value.
"""

import linecache
import sys
import weakref

import numpy as np

from tensorgrad.autograd.graph import Pick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import share, share_detached
from tensorgrad.dtypes import FLOAT
from tensorgrad.func.levels import Payload, rewrite
from tensorgrad.kernels.symbol import Symbol
from tensorgrad.ops.primitive import piece_of
from tensorgrad.spec import spec_for
from tensorgrad.tensor import Tensor

HERE = __name__.partition(".")[0]


class CannotTrace(RuntimeError):
    """The function asks for what only numbers can tell."""


class OddLayout(CannotTrace):
    """An array is not aligned to its elements: the function runs uncompiled for it."""


class SharedMemory(CannotTrace):
    """An argument is a view of what the function sees elsewhere."""


def user_line():
    """Where in the user's program the current call comes from: 'file, line n: source'."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == HERE:
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}, line {line}: {linecache.getline(name, line).strip()}"


def refuse(what):
    return CannotTrace(
        f"compile: {what} needs the numbers of a tensor, which are not there while a function is being traced.\n"
        f"  {user_line()}\n"
        "Compute it outside of the compiled function, choose between values with torch.where, or give compile(...) "
        "fallback=True to run such a function uncompiled."
    )


class Traced(Payload):
    """A piece of memory in the program being written: a root with a value, or a view of one."""

    __slots__ = ("__weakref__", "current", "root", "seen", "steps", "version")
    follows_views = True

    @property
    def value(self):
        """The Value that this memory holds now."""
        root = self.root
        if root is None:
            return self.current
        if self.steps is None:
            if self.seen != root.version:
                raise CannotTrace(f"compile: a view was read after its base was written to\n  {user_line()}")
            return self.current
        if self.seen != root.version:
            symbol = Symbol(self.owner.graph, root.current, shared=True)
            for primitive, params in self.steps:
                symbol = primitive.kernel(symbol, *params)
                if isinstance(symbol, (tuple, list)):
                    symbol = symbol[primitive.index]
            self.current, self.seen = symbol.value, root.version
        return self.current

    def assign(self, value):
        """Write new numbers into this memory."""
        graph = self.owner.graph
        value = graph.expand(graph.cast(value, self.value.dtype), self.value.shape)
        if self.root is not None:
            if self.steps is None:
                raise CannotTrace(f"compile: a write into a view of this kind\n  {user_line()}")
            value = self.through(graph, value)
        root = self if self.root is None else self.root
        root.current = value
        root.version += 1

    def through(self, graph, part):
        """The Value of the root after `part` was written where this view looks."""
        whole = self.root.current
        hole = graph.input(whole.shape, whole.dtype, ("hole", len(graph.values)))
        symbol = Symbol(graph, hole, shared=True)
        for primitive, params in self.steps:
            symbol = primitive.kernel(symbol, *params)
            if isinstance(symbol, (tuple, list)):
                symbol = symbol[primitive.index]
        path, view = [], symbol.value
        while view is not hole:
            path.append(view)
            view = view.args[0]
        return written(graph, whole, path[::-1], part)

    # Operations

    def apply(self, primitive, inputs, params, inplace=False):
        owner = self.owner
        if not owner.alive:
            raise RuntimeError("a tensor of a compiled function was kept from a trace that has ended")
        inputs = tuple(owner.capture(t) if isinstance(t, Tensor) else t for t in inputs)
        for tensor in inputs:  # a deeper transform among the operands comes first
            if isinstance(tensor, Tensor) and tensor._array.level > self.level:
                return tensor._array.apply(primitive, inputs, params, inplace=inplace)
        if inplace:
            return self.write(primitive, inputs, params)
        edges = [t._node if isinstance(t, Tensor) else None for t in inputs]
        recorded = (not mode.quiet or state.recording) and bool(primitive.plans) and any(e is not None for e in edges)
        outs, several, _ = owner.compute(primitive, inputs, params)
        results = tuple(payload.as_tensor() for payload in outs)
        owner.made.extend(map(weakref.ref, results))
        if primitive.view:
            for i, result in enumerate(results):
                step = (piece_of(primitive, i) if several else primitive, params, inputs[0]._spec)
                share(result, inputs[0], step, multiple=several)
        if recorded:
            arrays = tuple(t._array for t in results) if several else results[0]._array
            if several or results[0]._spec.dtype.category >= FLOAT:
                node = primitive.recorder(inputs).record(inputs, params, edges, arrays)
                if not several:
                    results[0]._node = node
                else:
                    node.count = len(results)
                    for i, result in enumerate(results):
                        if result._spec.dtype.category >= FLOAT:
                            result._node = Pick(node, i)
        return results if several else results[0]

    def write(self, primitive, inputs, params):
        owner, target = self.owner, inputs[0]

        def write():
            outs, _, _ = owner.compute(primitive, inputs, params, inplace=True)
            if outs[0].value.shape != target._array.value.shape:
                raise RuntimeError(
                    f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(outs[0].value.shape)}"
                )
            target._array.assign(outs[0].value)

        return rewrite(owner, primitive, inputs, params, write)

    @staticmethod
    def lift(tensor, owner):
        return owner.capture(tensor)

    def plain(self, tensor):
        return tensor

    def inside(self):
        return ()

    def viewable(self, shape):
        return True

    def detach(self, tensor):
        twin = self.as_tensor()
        self.owner.made.append(weakref.ref(twin))
        share_detached(twin, tensor)
        return twin

    def like(self, name, tensor, dtype=None):
        owner = self.owner
        d = dtype or tensor._spec.dtype
        number = {"zeros": 0, "ones": 1, "empty": 0}[name]
        graph = owner.graph
        return owner.fresh_tensor(
            graph.expand(graph.const(number, d.numpy), tuple(tensor.shape)), spec_for(tensor.shape, d)
        )

    def fresh(self, make, shape):
        return make(shape)

    def dynamic(self, name):
        raise refuse(f"the shape of the result of {name}")

    def item(self):
        number = self.owner.decide(self.value)
        if number is None:
            raise refuse("item(), or a Python number made of a tensor,")
        return number

    def truth(self):
        number = self.owner.decide(self.value)
        if number is None:
            raise refuse("a branch on a tensor")
        return bool(number)

    def numpy(self, tensor=None):
        raise refuse("numpy()")

    def tolist(self):
        raise refuse("tolist()")

    def show(self, tensor):
        raise refuse("to print a tensor")

    def no_numbers(self):
        return refuse("this")

    __array__ = no_numbers

    def delivered(self, node):
        """A gradient has reached a leaf: it is a result, even if the function throws it away afterwards."""
        owner = self.owner
        owner.note(node)
        owner.touched.add(node)
        owner.delivered.append((node, self.value))


def written(graph, under, path, part):
    """The Value `under` after `part` was written where the views of `path` look, one after the other."""
    if not path:
        return part
    view, rest = path[0], path[1:]
    if view.op == "reshape":
        return graph.reshape(written(graph, graph.reshape(under, view.shape), rest, part), under.shape)
    if view.op == "permute":
        inverse = sorted(range(len(view.attr)), key=view.attr.__getitem__)
        return graph.permute(written(graph, graph.permute(under, view.attr), rest, part), tuple(inverse))
    if view.op == "slice":
        starts, steps = view.attr
        inner = written(graph, graph.slice(under, starts, view.shape, steps), rest, part)
        ones = graph.expand(graph.const(True, np.dtype(bool)), view.shape)
        inside = graph.embed(ones, under.shape, starts, steps)
        return graph.map("where", (inside, graph.embed(inner, under.shape, starts, steps), under), under.dtype)
    raise CannotTrace(f"compile: a write through {view.op}\n  {user_line()}")
