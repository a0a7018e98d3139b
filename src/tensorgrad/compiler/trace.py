"""Tracing: a function is called once with tensors that have no numbers, and what it does is written down as a graph.

While a Trace is at work, the tensors that the function touches, its arguments and those it finds elsewhere (parameters,
buffers, optimizer state), hold a `Traced` payload in place of their array. An operation on them runs its own kernel on
Symbols (kernels/symbol.py); where that cannot be, the kernel becomes a Python call in the program. Nothing is computed and
nothing is changed until the trace is over, so a function that cannot be traced leaves everything as it was.

Memory is followed: a payload is a piece of memory, and a view is a payload with a root and the steps that lead to it. To
write into a view is to give its root a new value.
"""

import weakref

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.autograd.graph import AccumulateGrad, tick
from tensorgrad.compiler.operations import Operations, Piece, spec_of_value
from tensorgrad.compiler.payload import CannotTrace, OddLayout, SharedMemory, Traced, user_line
from tensorgrad.func.levels import Level, lifted_spec, stack
from tensorgrad.kernels.interpret import evaluated
from tensorgrad.kernels.symbol import recordable
from tensorgrad.kernels.values import Graph, in_order
from tensorgrad.nn.modules._hooks import register_module_forward_pre_hook
from tensorgrad.ops import fitting
from tensorgrad.ops.primitive import piece_of, wrap
from tensorgrad.tensor import Tensor

FEW = 16  # numbers of a tensor that a program may take for granted
ndarray, new = np.ndarray, object.__new__


class Trace(Operations, Level):
    """One tracing at work."""

    def __init__(self, arguments=(), careful=True):
        super().__init__("trace", Traced)
        self.careful = (
            careful  # arguments that are views are told by what they are views of; else they stand for themselves
        )
        self.arguments = {id(t) for t in arguments}
        self.direct = set()  # ids of tensors that the function found, not only something that they are views of
        self.same = []  # pairs of tensors that are one piece of memory
        self.graph = Graph()
        self.captured = []  # (tensor, its array, its spec, its payload, its node): what must be put back
        self.refused = []  # (weak reference to a captured tensor, what happened to it that no program can do)
        self.memory = {}  # id of a Version or of an array -> root payload
        self.results = []  # (root payload, tensor whose memory it is)
        self.made = []  # weak references to the tensors made here
        self.delivered = []  # (leaf's node, Value) of gradients that reached a leaf
        self.effects = []  # Values that must be computed though nobody uses them
        self.guards = []  # (function, value): what the trace took for granted
        self.readers = {}  # Value of such a number -> function that says it
        self.numbers = []  # (Value, its 0-d array) of numbers that Python computes at each run, such as a step's size
        self.prologues, self.epilogues = [], []  # Python functions to call before and after each run
        self.leaf_grads = {}  # node of a leaf -> the gradient it had at the beginning
        self.cleared = set()  # nodes whose gradient was set before it was read
        self.touched = set()  # nodes whose gradient was set or added to
        self.final, self.final_grads, self.final_values = {}, {}, {}
        self.later = set()  # ids of optimizers whose options change after the run
        self.steps = {}  # (optimizer, group, parameter) -> the Numbers of the last step that was traced
        self.undo = []  # functions that take back what was made outside, if the trace fails
        self.seen = {}  # id of a module -> the module: whose mode the trace took for granted
        self.start = tick()  # older nodes belong to the graph outside

    # At work

    def __enter__(self):
        stack.levels.append(self)
        self.depth = len(stack.levels)
        fitting.interceptors.append(self.intercept)
        fitting.writers.append(self.write)
        fitting.watchers.append(self.read)
        modes.hold_special("trace")
        self.watch = register_module_forward_pre_hook(self.called_module)
        return self

    def __exit__(self, kind, *_):
        self.alive = False
        self.watch.remove()
        if kind is not None:
            for take_back in reversed(self.undo):
                take_back()
        stack.levels.remove(self)
        fitting.interceptors.remove(self.intercept)
        fitting.writers.remove(self.write)
        fitting.watchers.remove(self.read)
        modes.release_special("trace")

    def restore(self):
        """Give every captured tensor its array back, and every leaf the gradient that it had."""
        for tensor, array, spec, payload, node in self.captured:
            if tensor._array is not payload:
                self.refused.append(
                    (weakref.ref(tensor), "was given other memory or another shape (.data =, t_, resize_ ...)")
                )
            elif tensor._node is not node:
                self.refused.append((weakref.ref(tensor), "was changed in place while gradients are recorded"))
            self.final[id(tensor)] = tensor._array
            tensor._array, tensor._spec, tensor._node = array, spec, node
        for node, was in self.leaf_grads.items():
            now = self.final_grads[node] = node.grad
            if now is not None:
                payload = self.final.get(id(now), now._array)
                self.final_values[node] = payload.value if isinstance(payload, Traced) else None
            node.grad = was

    def array_of(self, tensor):
        """The true array of a tensor that was there before the trace."""
        return self.twin(tensor)._array

    def twin(self, tensor):
        """A tensor from before the trace as it is outside; a traced one stays what it is."""
        if type(tensor._array) is not ndarray:
            for captured, array, spec, _, _ in self.captured:
                if captured is tensor:
                    twin = wrap(array)
                    twin._spec = spec
                    return twin
        return tensor

    def step_group(self, optimizer, index, params, gradients):
        from tensorgrad.compiler.stepping import step_group

        step_group(self, optimizer, index, params, gradients)

    def called_module(self, module, args):
        """A module is called: whether it trains is taken for granted."""
        if tracing() is self and id(module) not in self.seen:
            self.seen[id(module)] = module
            self.guards.append((mode_of(module), module.training))

    # Gradients of leaves

    def note(self, node):
        if node not in self.leaf_grads:
            self.leaf_grads[node] = node.grad

    def scalar(self, read, cell):
        """A 0-d tensor for a number that Python computes before each run and writes into `cell`; `read` says it now."""
        known = self.graph.input((), np.float64, ("number", len(self.numbers)))
        self.numbers.append((known, cell))
        self.readers[known] = read
        return self.fresh_tensor(known, spec_of_value(known))

    def decide(self, value):
        """The number that a Value is, if it depends on numbers that Python computes; taken for granted from now on."""
        order = in_order([value])
        if value.size != 1 or any(v.op in ("input", "array", "host", "pick") and v not in self.readers for v in order):
            return None
        readers = self.readers

        def now():
            known = {v: np.asarray(readers[v](), v.dtype) for v in order if v in readers}
            return evaluated(order, known).item()

        number = now()
        self.guards.append((now, number))
        return number

    def intercept(self, primitive, inputs, params):
        """An operation none of whose operands is traced yet."""
        if not stack.levels or stack.levels[0] is not self:
            return None  # another thread
        return blank(self).apply(primitive, inputs, params)

    def write(self, primitive, inputs, params):
        """An operation in place; True if it was traced."""
        if not stack.levels or stack.levels[0] is not self or any(traced(t) for t in inputs):
            return False
        blank(self).apply(primitive, inputs, params, inplace=True)
        return True

    def read(self, tensor, reading):
        """Python reads the numbers of a tensor from before the trace: they are taken for granted, if they are few."""
        array = tensor._array
        if not stack.levels or stack.levels[0] is not self or type(array) is not ndarray:
            return
        if not reading:
            self.capture(tensor)
            return
        if array.size > FEW:
            raise CannotTrace(
                f"compile: Python reads the {array.size} numbers of a tensor while a function is being traced; they would "
                f"stay what they are now.\n  {user_line()}\nRead them outside of the compiled function."
            )
        ref = weakref.ref(tensor)

        def now():
            tensor = ref()
            return None if tensor is None else tensor._array.tolist()

        self.guards.append((now, now()))

    # Tensors

    def capture(self, tensor, direct=True):
        """Turn a tensor that the function found somewhere into an input of the program."""
        array = tensor._array
        if direct:
            self.direct.add(id(tensor))
        if type(array) is not ndarray:
            return tensor
        if type(tensor._node) is AccumulateGrad:
            self.note(tensor._node)
        payload = self.payload_of(tensor, array)
        self.captured.append((tensor, array, tensor._spec, payload, tensor._node))
        tensor._array, tensor._spec = payload, payload.spec
        return tensor

    def payload_of(self, tensor, array):
        alias = tensor._alias
        if alias is not None and alias.base is not None and (self.careful or id(tensor) not in self.arguments):
            base = self.capture(alias.base, id(tensor) not in self.arguments)._array
            steps = [(Piece(step[0]) if type(step[0]) is piece_of else step[0], step[1]) for step in alias.steps]
            return self.view_payload(base, steps, tensor._spec)
        key = id(alias.version) if alias is not None else id(array)
        found = self.memory.get(key)
        if found is not None:
            payload, twin = found
            if not same_region(array, twin[1]):
                if self.careful:
                    raise CannotTrace(f"compile: two tensors that share memory in a way not followed\n  {user_line()}")
                raise SharedMemory("compile: an argument shares memory with another tensor")
            self.same.append((tensor, twin[0]))
            return payload
        if not recordable(array.dtype):
            raise CannotTrace(f"compile: tensors of {tensor._spec.dtype} are not compiled yet; use fallback=True")
        value = self.graph.input(array.shape, array.dtype, len(self.results))
        payload = self.root_payload(value, tensor._spec)
        self.memory[key] = payload, (tensor, array)
        self.results.append((payload, value, tensor))
        return payload

    def root_payload(self, value, spec):
        payload = new(Traced)
        payload.owner, payload.level, payload.spec = self, self.number, lifted_spec(spec)
        payload.current, payload.root, payload.steps, payload.version, payload.seen = value, None, (), 0, 0
        return payload

    def view_payload(self, under, steps, spec):
        payload = self.root_payload(None, spec)
        payload.root = under if under.root is None else under.root
        payload.steps, payload.seen = (*under.steps, *steps), -1
        return payload

    def fresh_tensor(self, value, spec):
        tensor = self.root_payload(value, spec).as_tensor()
        self.made.append(weakref.ref(tensor))
        return tensor

    def known_tensor(self, value):
        """A tensor that is a Value, to compute with while an operation is being written down."""
        return self.root_payload(value, spec_of_value(value)).as_tensor()


def same_region(one, other):
    """Whether two arrays are the same numbers in memory."""
    return (
        one.__array_interface__["data"] == other.__array_interface__["data"]
        and one.shape == other.shape
        and one.strides == other.strides
    )


def traced(thing):
    """Whether something is a tensor of a trace or a transform already."""
    return isinstance(thing, Tensor) and type(thing._array) is not ndarray


def mode_of(module):
    """A function that says whether a module trains."""
    ref = weakref.ref(module)

    def training():
        module = ref()
        return module is not None and module.training

    return training


def tracing():
    """The Trace at work in this thread, or None."""
    return stack.levels[0] if stack.levels and type(stack.levels[0]) is Trace else None


def gradient_set(node):
    """A program has set the gradient of a leaf (see Tensor.grad)."""
    trace = tracing()
    if trace is not None:
        if node not in trace.touched and node not in trace.leaf_grads:
            trace.cleared.add(node)
        trace.note(node)
        if node not in trace.touched:
            trace.cleared.add(node)
        trace.touched.add(node)


def at_each_run(function, optimizer):
    """While a trace is at work: a Python function to call after each run, which changes options; True if that will be."""
    trace = tracing()
    if trace is None:
        return False
    trace.epilogues.append(function)
    trace.later.add(id(optimizer))
    return True


def data_set(tensor, value):
    """`tensor.data = value` while a trace is at work: True if it was written into the tensor's memory."""
    trace = tracing()
    if trace is None:
        return False
    payload, given = trace.capture(tensor)._array, trace.capture(value)._array
    if payload.spec.shape != given.spec.shape or payload.spec.dtype is not given.spec.dtype:
        return False
    payload.assign(given.value)
    return True


def gradient_read(node):
    """A program reads the gradient of a leaf (see Tensor.grad)."""
    trace = tracing()
    if trace is not None:
        trace.note(node)


def blank(owner):
    """A payload without memory, whose only use is to apply operations."""
    payload = new(Traced)
    payload.owner, payload.level = owner, owner.number
    return payload


__all__ = ["AccumulateGrad", "CannotTrace", "OddLayout", "SharedMemory", "Trace", "Traced", "user_line"]
