"""Tracing: a function is called once with tensors that have no numbers, and what it does is written down as a graph.

While a Trace is at work, the tensors that the function touches, its arguments and those it finds elsewhere (parameters,
buffers, optimizer state), hold a `Traced` payload in place of their array. An operation on them runs its own kernel on
Symbols (kernels/symbol.py); where that cannot be, the kernel becomes a Python call in the program. Nothing is computed and
nothing is changed until the trace is over, so a function that cannot be traced leaves everything as it was.

Memory is followed: a payload is a piece of memory, and a view is a payload with a root and the steps that lead to it. To
write into a view is to give its root a new value.
"""

import sys
import weakref

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.autograd.graph import AccumulateGrad, Pick, tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import share
from tensorgrad.compiler.lowerings import LOWERED
from tensorgrad.dtypes import FLOAT
from tensorgrad.func.levels import Level, Payload, lifted_spec, rewrite, stack
from tensorgrad.kernels.interpret import evaluated
from tensorgrad.kernels.program import HostCall
from tensorgrad.kernels.symbol import Symbol, recordable
from tensorgrad.kernels.values import CannotRecord, Graph, in_order
from tensorgrad.nn.modules._hooks import register_module_forward_pre_hook
from tensorgrad.ops import fitting, random_primitives
from tensorgrad.ops.pointwise import FLOAT32, Pointwise
from tensorgrad.ops.primitive import piece_of, wrap
from tensorgrad.spec import spec_for
from tensorgrad.tensor import Tensor

FEW = 16  # numbers of a tensor that a program may take for granted
ndarray, new = np.ndarray, object.__new__
HERE = __name__.rpartition(".")[0].rpartition(".")[0]


class CannotTrace(RuntimeError):
    """The function asks for what only numbers can tell."""


class OddLayout(CannotTrace):
    """An array is not aligned to its elements: the function runs uncompiled for it."""


class SharedMemory(CannotTrace):
    """An argument is a view of what the function sees elsewhere."""


def user_line():
    """Where in the user's program the current call comes from: 'file, line n: source'."""
    import linecache

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
        from tensorgrad.autograd.views import share_detached

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


class Trace(Level):
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

    # Operations

    def compute(self, primitive, inputs, params, inplace=False):
        """(payloads of the results, whether there are several, whether they are views) of an operation."""
        graph = self.graph
        if "generator" in primitive.params:
            return self.called(primitive, inputs, params)
        lowered = LOWERED.get(primitive.name)
        if isinstance(primitive, Pointwise):
            try:
                return [self.pointwise(primitive, inputs, params)], False, False
            except CannotRecord:
                return self.called(primitive, inputs, params)
        try:
            symbols = [Symbol(graph, t._array.value, shared=True) if isinstance(t, Tensor) else t for t in inputs]
            if lowered is not None:
                out = lowered(self, symbols, params)
            else:
                out = (
                    primitive.kernel(symbols, *params)
                    if primitive.arity is None
                    else primitive.kernel(*symbols, *params)
                )
            several = isinstance(out, (tuple, list))
            outs = [self.value_of(o) for o in (out if several else (out,))]
        except (CannotRecord, AttributeError, TypeError, NotImplementedError):
            return self.called(primitive, inputs, params)
        if primitive.view and not inplace:
            under, payloads = inputs[0]._array, []
            for number, value in enumerate(outs):
                step = Piece(piece_of(primitive, number)) if several else primitive
                payloads.append(self.view_payload(under, [(step, params)], spec_of_value(value)))
            return payloads, several, True
        return [self.root_payload(v, spec_of_value(v)) for v in outs], several, False

    def value_of(self, out):
        if isinstance(out, Symbol):
            return out.value
        array = np.asarray(out)
        if not recordable(array.dtype):
            raise CannotRecord(str(array.dtype))
        return self.graph.array(array)

    def pointwise(self, primitive, operands, params):
        """A function of numbers, promoted as PyTorch does."""
        graph = self.graph
        if primitive.check is not None:
            primitive.check(operands)
        common = primitive.common_dtype(operands)
        symbols = []
        for operand in operands:
            if isinstance(operand, Tensor):
                symbols.append(Symbol(graph, graph.cast(operand._array.value, common.numpy), shared=True))
            elif fitting.is_number(operand):
                symbols.append(fitting.number_array(operand, common))
            else:
                raise fitting.wrong_arguments(primitive.name, operands)
        if primitive.halves and common.itemsize == 2 and common.category == FLOAT:
            symbols = [s.astype(FLOAT32) for s in symbols]
        error = fitting.broadcast_error(operands)
        if error is not None:
            raise error
        lowered = NUMBERS.get(primitive.name.partition(".")[0])
        try:
            result = lowered(graph, symbols) if lowered is not None else primitive.kernel(*symbols, *params)
        except (AttributeError, TypeError, ValueError) as reason:
            raise CannotRecord(str(reason)) from None
        value = self.value_of(result)
        if primitive.promote != "bool" and value.dtype != common.numpy and value.dtype.kind != "b":
            value = graph.cast(value, common.numpy)
        return self.root_payload(value, spec_of_value(value))

    def called(self, primitive, inputs, params):
        """An operation as a Python function in the program."""
        graph, places, args = self.graph, [], []
        for tensor in inputs:
            if isinstance(tensor, Tensor):
                places.append(len(args))
                args.append(tensor._array.value)
            else:
                places.append(None)

        def call(*arrays):
            operands = [t if p is None else arrays[p] for p, t in zip(places, inputs, strict=True)]
            if isinstance(primitive, Pointwise):
                from tensorgrad.ops.primitive import wrap

                return primitive.compute([wrap(o) if isinstance(o, ndarray) else o for o in operands], params)
            if primitive.arity is None:
                return primitive.kernel(operands, *params)
            return primitive.kernel(*operands, *params)

        generator = params[primitive.params.index("generator")] if "generator" in primitive.params else None
        random = "generator" in primitive.params
        saved = generators_state(generator) if random else None
        try:
            with np.errstate(all="ignore"):
                sample = sampled(call, args)
        finally:
            if random:
                restore_generators(generator, saved)
        several = isinstance(sample, (tuple, list))
        samples = [np.asarray(s) for s in (sample if several else (sample,))]
        operands, inputs = inputs, tuple(None if isinstance(t, Tensor) else t for t in inputs)
        host = HostCall(primitive.name, call, tuple((s.shape, s.dtype) for s in samples), effect=random)
        value = graph.make("host", args, (), np.dtype(np.int8), host)
        picks = [graph.make("pick", (value,), s.shape, s.dtype, n) for n, s in enumerate(samples)]
        if random:
            self.effects.append(picks[0])
        payloads = [self.root_payload(v, spec_of_value(v)) for v in picks]
        if primitive.view:  # a copy, good as long as nobody writes
            for payload in payloads:
                under = operands[0]._array
                payload.root, payload.steps = under if under.root is None else under.root, None
                payload.seen = payload.root.version
        return payloads, several, False


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


class Piece:
    """A step of a view that takes one of several results."""

    __slots__ = ("index", "primitive")

    def __init__(self, step):
        self.primitive, self.index = step.primitive, step.index

    @property
    def kernel(self):
        return self.primitive.kernel


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


def spec_of_value(value):
    from tensorgrad import dtypes

    return spec_for(value.shape, dtypes.of_numpy(value.dtype))


def sampled(call, args):
    """What a Python function returns for arrays of these shapes: numbers that it does not refuse are tried."""
    for number in (0, 1):
        try:
            arrays = [np.full(a.shape, number, a.dtype) for a in args]
            return call(*arrays)
        except (ArithmeticError, ValueError, RuntimeError, IndexError):
            if number:
                raise
    return None


def generators_state(generator):
    from tensorgrad.random import default_generator

    return (generator or default_generator).get_state()


def restore_generators(generator, saved):
    from tensorgrad.random import default_generator

    (generator or default_generator).set_state(saved)


def _mapped(op):
    def lower(graph, symbols):
        return Symbol(graph, graph.map(op, [s.value for s in symbols], symbols[0].dtype))

    return lower


NUMBERS = {"erf": _mapped("erf")}  # functions whose kernels are no recording of NumPy's

__all__ = ["AccumulateGrad", "CannotTrace", "Trace", "Traced", "random_primitives"]
