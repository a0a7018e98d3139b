"""One program of a compiled function: what it is bound to, what it takes for granted, and how it is run."""

import gc
import weakref

from tensorgrad.autograd.graph import tick
from tensorgrad.autograd.modes import state
from tensorgrad.autograd.views import alias_of
from tensorgrad.compiler.backward import Backward
from tensorgrad.compiler.overlap import Overlap, same_memory
from tensorgrad.compiler.trace import CannotTrace, OddLayout, SharedMemory, Trace, Traced
from tensorgrad.kernels.program import Program
from tensorgrad.kernels.values import in_order
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor
from tensorgrad.utils._pytree import tree_flatten, tree_unflatten

EAGER = object()  # what `run` returns when the function itself must run


def layout_of(array):
    """The strides of an array in elements."""
    if not array.flags.aligned or any(s % array.itemsize for s in array.strides):
        raise OddLayout("compile: an array that is not aligned to its elements")
    return tuple(s // array.itemsize for s in array.strides)


class Uncompiled:
    """Stands where no program can: the function itself runs."""

    def holds(self, leaves):
        return True

    def run(self, leaves):
        return EAGER

    def explain(self):
        return "runs uncompiled: an array that is not aligned to its elements"


class Entry:
    """See the head of this file."""

    def __init__(self, function, leaves, args, kwargs):
        try:
            trace, parts, backward = self.trace(function, leaves, args, kwargs, False)
        except (
            SharedMemory
        ):  # arguments are views of what the function sees too: begin again with what they are views of
            trace, parts, backward = self.trace(function, leaves, args, kwargs, True)
        self.finish(trace, parts, leaves, backward)

    def trace(self, function, leaves, args, kwargs, careful):
        """Call the function under a trace: (the trace, the parts of its result, its backward program)."""
        trace = Trace([leaf for leaf in leaves if isinstance(leaf, Tensor)], careful)
        try:
            with trace:
                result = function(*args, **kwargs)
                parts, self.result_spec = tree_flatten(result)
                backward = Backward.of(trace, [p for p in parts if is_fresh(p, trace)])
        finally:
            trace.restore()
        return trace, parts, backward

    def finish(self, trace, parts, leaves, backward):
        """From a finished trace to a program."""
        inputs = [(payload, value, weakref.ref(tensor)) for payload, value, tensor in trace.results]
        arrays = {id(t): a for t, a, *_ in trace.captured}
        self.arrays = [arrays[id(tensor)] for _, _, tensor in trace.results]
        values = {id(tensor): value for _, value, tensor in trace.results}
        captured = {id(t) for t, *_ in trace.captured}
        arguments = {id(leaf): i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)}
        self.find_bases(trace, leaves, arguments)
        sources = {id(payload): tensor for payload, _, tensor in trace.results}
        roots, targets = [], {}
        self.template = template = []
        for part in parts:
            if not isinstance(part, Tensor):
                template.append(("constant", part))
            elif id(part) in arguments:
                template.append(("argument", arguments[id(part)]))
            elif id(part) in captured:  # from outside, and then returned itself, or else made while tracing
                template.append(("captured", weakref.ref(part), len(roots)))
                roots.append(trace.final[id(part)].value)
            elif isinstance(part._array, Traced):
                root = part._array.root
                if id(root) in sources and part._array.steps:
                    tensor = sources[id(root)]
                    steps = [(step[0], step[1]) for step in part._array.steps]
                    template.append(("view", arguments.get(id(tensor), self.base_of.get(id(tensor), tensor)), steps))
                else:
                    template.append(("fresh", len(roots)))
                    roots.append(part._array.value)
            else:
                template.append(("constant", part))
        self.place_gradients(trace, roots, targets, values, arguments)
        parts.clear()
        part = root = tensor = None
        sources.clear()
        self.settle(trace)
        for ref, what in trace.refused:
            if ref() is not None:
                raise CannotTrace(
                    f"compile: a tensor from outside, of shape {list(ref().shape)}, {what}: do that outside of the function"
                )
        for i, entry in enumerate(template):
            if entry[0] == "captured":
                kept = entry[1]()
                template[i] = ("fresh", entry[2]) if kept is None else ("constant", kept)
        kept = None
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
        self.backward = backward
        if backward is not None:
            backward.saved_from = len(roots)
            roots += backward.saved
        used = {v.number for v in in_order(roots)}
        wrong = {check[0]: check for check in trace.graph.checks if all(a.number in used for a in leaves_of(check[0]))}
        self.checks = [(len(roots) + n, words, error) for n, (_, words, error) in enumerate(wrong.values())]
        roots += wrong
        effects = [v for v in trace.effects if v.number not in used]
        effects += [value for _, value in trace.delivered if value.number not in used]
        layouts = {value: layout_of(a) for (_, value, _), a in zip(inputs, self.arrays, strict=True)}
        layouts.update((value, ()) for value, _ in trace.numbers)
        self.program = Program(trace.graph, roots, layouts, targets, effects)
        self.fresh_numbers = [n for n, _ in self.program.fresh]
        self.prologues, self.epilogues, self.guards = trace.prologues, trace.epilogues, trace.guards
        self.numbers = [cell for _, cell in trace.numbers]
        self.edge_of = {
            leaf._node: i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf._node is not None
        }
        self.bind(inputs, arguments, written, trace)

    def find_bases(self, trace, leaves, arguments):
        """Where an argument is a view and the program sees what it is a view of: how the two lie to each other."""
        self.base_of, self.views, self.twins = {}, [], []
        if trace.careful:
            for i, leaf in enumerate(leaves):
                base = leaf._alias.base if isinstance(leaf, Tensor) and leaf._alias is not None else None
                if base is not None and id(base) not in arguments and id(base) not in trace.direct:
                    self.base_of.setdefault(id(base), BaseOf(i))
                if base is not None:
                    where = arguments.get(id(base), self.base_of.get(id(base), base))
                    self.views.append(
                        (i, where, offset(leaf._array, base._array), base._array.strides, base._array.shape)
                    )
        for one, other in trace.same:
            if id(one) in arguments or id(other) in arguments:
                self.twins.append((arguments.get(id(one), one), arguments.get(id(other), other)))

    def place_gradients(self, trace, roots, targets, values, arguments):
        """What becomes of the gradients of leaves, and which of them must be there, or not, at the beginning."""
        self.grads, self.grad_guards = [], []
        captured = {id(t) for t, *_ in trace.captured}
        for node, was in trace.leaf_grads.items():
            now = trace.final_grads[node]
            leaf = node.leaf()
            where = arguments.get(id(leaf), node)
            if node not in trace.cleared:
                self.grad_guards.append((where, was is None))
            if now is was and not (now is not None and node in trace.touched):
                continue
            if now is None:
                self.grads.append((where, "none", None))
            elif id(now) in values or id(now) in captured:
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
        for held in (
            trace.captured,
            trace.results,
            trace.memory,
            trace.final,
            trace.final_grads,
            trace.final_values,
            trace.same,
        ):
            held.clear()
        if touched:
            gc.collect()

    def bind(self, inputs, arguments, written, trace):
        """Say for each input where its array comes from."""
        grads = {id(was): node for node, was in trace.leaf_grads.items() if was is not None}
        leaf_of = {node: arguments.get(id(node.leaf()), node) for node in trace.leaf_grads}
        self.fixed, self.moving, self.written = [], [], []
        for number, (_, _, ref) in enumerate(inputs):
            tensor = ref()
            if tensor is None:
                continue
            if id(tensor) in arguments:
                self.moving.append((number, "argument", arguments[id(tensor)]))
            elif id(tensor) in self.base_of:
                self.moving.append((number, "base", self.base_of[id(tensor)].argument))
            elif id(tensor) in grads:
                self.moving.append((number, "gradient", leaf_of[grads[id(tensor)]]))
            else:
                self.fixed.append((number, tensor))
        for number in written:
            tensor = inputs[number][2]()
            self.written.append(arguments.get(id(tensor), self.base_of.get(id(tensor), tensor)))
        count = len(inputs)
        for number, array in enumerate(self.arrays):
            self.program.bind(number, array)
        for number, cell in enumerate(self.numbers):
            self.program.bind(count + number, cell)
        self.arrays = list(self.arrays)
        self.shapes = [(a.shape, a.dtype, a.strides) for a in self.arrays]
        gone = [number for number, (_, _, ref) in enumerate(inputs) if ref() is None]
        self.overlap = Overlap(written, [number for number in range(count) if number not in gone])
        self.clash = bool(written) and self.overlap.found(self.arrays)

    # Running

    def holds(self, leaves, first=False):
        """Whether what the program takes for granted is so; binds it to this call's arrays."""
        if not first:
            for check, expected in self.guards:
                if check() != expected:
                    return False
            for where, empty in self.grad_guards:
                node = leaves[where]._node if type(where) is int else where
                if (node.grad is None) is not empty:
                    return False
        for view, where, distance, strides, shape in self.views:
            alias = leaves[view]._alias
            base = alias.base if alias is not None else None
            if base is None or base is not tensor_of(where, leaves):
                return False
            base = base._array
            if base.strides != strides or base.shape != shape or offset(leaves[view]._array, base) != distance:
                return False
        for one, other in self.twins:
            if not same_memory(tensor_of(one, leaves), tensor_of(other, leaves)):
                return False
        arrays, moved = self.arrays, False
        for number, tensor in self.fixed:
            array = tensor._array
            if array is not arrays[number]:
                if (array.shape, array.dtype, array.strides) != self.shapes[number] or not array.flags.aligned:
                    return False
                arrays[number], moved = array, True
                self.program.bind(number, array)
        for number, kind, where in self.moving:
            if kind == "argument":
                array = leaves[where]._array
            elif kind == "base":
                array = leaves[where]._alias.base._array
            else:
                grad = (leaves[where]._node if type(where) is int else where).grad
                array = None if grad is None else grad._array
                if array is None or (array.shape, array.dtype, array.strides) != self.shapes[number]:
                    return False
            if array is not arrays[number]:
                arrays[number], moved = array, True
                self.program.bind(number, array)
        if moved and self.written:
            return self.overlap.found(arrays) == self.clash
        return True

    def run(self, leaves):
        """Replay the program."""
        if self.clash:
            return EAGER
        for prologue in self.prologues:
            prologue()
        results = dict(zip(self.fresh_numbers, self.program.run(), strict=True))
        for number, words, error in self.checks:
            if results[number]:
                raise error(words.format(int(results[number]) - (1 << 40)))
        if self.written:
            moment = tick()
            for target in self.written:
                tensor = tensor_of(target, leaves) if type(target) is not Tensor else target
                version = (tensor._alias or alias_of(tensor)).version
                version.count += 1
                version.changed = moment
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
                made = wrap(results[number])
                tensor._array, tensor._spec, tensor._node, tensor._alias = made._array, made._spec, None, None
        for epilogue in self.epilogues:
            epilogue()
        out, node = [], None
        if self.backward is not None:
            node = self.backward.node(self, leaves, results)
        tensors = 0
        for kind, *what in self.template:
            if kind == "fresh":
                tensor = wrap(results[what[0]])
                if state.inference:
                    tensor._spec = tensor._spec.variant(inference=True)
                if node is not None:
                    self.backward.attach(node, tensor, tensors)
                tensors += 1
                out.append(tensor)
            elif kind == "argument":
                out.append(leaves[what[0]])
            elif kind == "view":
                out.append(view_of(tensor_of(what[0], leaves), what[1]))
            else:
                out.append(what[0])
        return tree_unflatten(out, self.result_spec)

    def explain(self):
        from tensorgrad.compiler.explain import described

        return described(self)


class BaseOf:
    """What an argument is a view of."""

    def __init__(self, argument):
        self.argument = argument

    def tensor(self, leaves):
        return leaves[self.argument]._alias.base


def leaves_of(value):
    """The inputs that a Value is made of."""
    return [v for v in in_order([value]) if v.op in ("input", "pick")]


def tensor_of(where, leaves):
    """The tensor that is meant by an argument's number, by a BaseOf, or by itself."""
    if type(where) is int:
        return leaves[where]
    return where.tensor(leaves) if type(where) is BaseOf else where


def is_fresh(part, trace):
    """Whether a part of the result is new, not an input or a view of one."""
    if not isinstance(part, Tensor) or not isinstance(part._array, Traced):
        return False
    payload, inputs = part._array, {id(p) for p, _, _ in trace.results}
    if any(part is tensor for tensor, *_ in trace.captured):
        return part._node is not None and part._node.seq >= trace.start
    return not (payload.root is not None and id(payload.root) in inputs and payload.steps)


def view_of(tensor, steps):
    """The view of a tensor that the steps lead to."""
    for step, params in steps:
        result = (
            step.primitive.apply((tensor,), params)[step.index]
            if hasattr(step, "index")
            else step.apply((tensor,), params)
        )
        tensor = result
    return tensor


def offset(array, base):
    return address(array) - address(base)


def address(array):
    return array.__array_interface__["data"][0]
