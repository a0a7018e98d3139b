"""The derivative of a compiled function, for outputs that the outside differentiates: a second program.

The backward pass is traced together with the forward one. What it needs of that is saved: the forward program returns it,
and the node of the outputs keeps it until the backward program runs.
"""

import numpy as np

from tensorgrad.autograd import engine
from tensorgrad.autograd.graph import FREED, Node, Pick, tick
from tensorgrad.autograd.views import alias_of
from tensorgrad.compiler.trace import Traced
from tensorgrad.kernels.program import Program
from tensorgrad.kernels.values import VIEWS, Graph, in_order
from tensorgrad.ops.primitive import wrap

ndarray = np.ndarray


class CompiledBackward(Node):
    """The node of all outputs of a compiled function."""

    __slots__ = ("backward_of", "count")
    frees = True
    fresh = True

    def backward(self, g, saved):
        return self.backward_of.run(g if type(g) is list else [g], saved)

    def backward_tensors(self, g, saved):
        raise NotImplementedError(
            "compile: the derivative of a compiled function cannot be differentiated again: compile the function that takes "
            "both derivatives, or call this one uncompiled"
        )


class Backward:
    """The backward program of a compiled function."""

    @staticmethod
    def of(trace, parts):
        """Trace the backward pass of the outputs; None if none of them depends on a graph."""
        outputs = [t for t in parts if isinstance(t._array, Traced)]
        made = Backward()
        # (what a transform returns may still hang on its own tape, which leads nowhere)
        made.outputs = [t._node is not None and bool(boundary_of([t._node], trace.start)) for t in outputs]
        if not any(made.outputs):
            return None
        made.freed = False
        boundary = boundary_of([t._node for t, own in zip(outputs, made.outputs, strict=True) if own], trace.start)
        made.edges = boundary
        graph, cotangents, starts = trace.graph, [], []
        for tensor, own in zip(outputs, made.outputs, strict=True):
            if not own:
                cotangents.append(None)
                continue
            value = graph.input(tuple(tensor.shape), tensor._spec.dtype.numpy, ("cotangent", len(cotangents)))
            cotangents.append(value)
            starts.append((tensor._node, trace.fresh_tensor(value, tensor._spec)))
        try:
            captured = engine.run(starts, keep=True, tensors=True, record=False, captures=dict.fromkeys(boundary))
        except RuntimeError as error:
            if FREED not in str(error):
                raise
            made.freed, made.saved, made.gradients = True, [], []
            return made
        gradients = [captured.get(node) for node in boundary]
        made.separate(graph, cotangents, [None if g is None else g._array.value for g in gradients])
        return made

    def separate(self, graph, cotangents, gradients):
        """Cut the joint graph: what depends on the cotangents is the backward program, what that needs is saved."""
        own = Graph()
        own.kept = graph.kept
        late = set()
        order = in_order([g for g in gradients if g is not None])
        given = {c.number for c in cotangents if c is not None}
        for value in order:
            if value.number in given or any(a.number in late for a in value.args):
                late.add(value.number)
        copies, self.saved, self.inputs = {}, [], []

        def copied(value):
            found = copies.get(value.number)
            if found is not None:
                return found
            if value.number in given:
                found = own.input(value.shape, value.dtype, value.attr)
            elif value.number in late or value.op in VIEWS or value.op in ("const", "iota", "array"):
                found = own.make(value.op, [copied(a) for a in value.args], value.shape, value.dtype, value.attr)
            else:
                found = own.input(value.shape, value.dtype, ("saved", len(self.saved)))
                self.saved.append(value)
                self.inputs.append(found)
            copies[value.number] = found
            return found

        import sys

        limit = sys.getrecursionlimit()
        for value in order:  # in order, so that nothing recurses deeply
            if value.number in late:
                copied(value)
        del limit
        self.cotangents = [None if c is None else copies.get(c.number) for c in cotangents]
        self.gradients = [None if g is None else copied(g) for g in gradients]
        self.graph, self.program = own, None

    def node(self, entry, leaves, results):
        """The node of one call."""
        node = object.__new__(CompiledBackward)
        edges = []
        for edge in self.edges:
            where = entry.edge_of.get(edge, edge)
            edges.append(leaves[where]._node if type(where) is int else where)
        node.seq, node.edges, node.extra, node.backward_of = tick(), tuple(edges), None, self
        node.count = sum(self.outputs)
        saved = [results[self.saved_from + n] for n in range(len(self.saved))]
        node.saved = None if self.freed else tuple(saved)
        return node

    def attach(self, node, tensor, number):
        """Hang an output on the node."""
        if not self.outputs[number]:
            return
        position = sum(self.outputs[:number])
        tensor._node = node if node.count == 1 else Pick(node, position)

    def run(self, cotangents, saved):
        """The gradients at the edges."""
        if self.program is None:
            inputs = [*[c for c in self.cotangents if c is not None], *self.inputs]
            self.places = [
                n for n, c in enumerate([c for c, o in zip(self.cotangents, self.outputs) if o]) if c is not None
            ]
            self.program = Program(self.graph, [g for g in self.gradients if g is not None], dict.fromkeys(inputs))
        arrays = []
        shapes = [c for c in self.cotangents if c is not None]
        for n, value in zip(self.places, shapes, strict=True):
            g = cotangents[n]
            arrays.append(np.zeros(value.shape, value.dtype) if g is None else np.ascontiguousarray(g, value.dtype))
        results = iter(self.program([*arrays, *saved]))
        return tuple(None if g is None else next(results) for g in self.gradients)


def boundary_of(nodes, start):
    """The nodes from before the trace that a graph leads to."""
    seen, pending, found = set(), list(nodes), []
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.seq < start or not node.edges:
            found.append(node)
        else:
            pending.extend(edge for edge in node.edges if edge is not None)
    return found


__all__ = ["Backward", "CompiledBackward", "alias_of", "wrap"]
