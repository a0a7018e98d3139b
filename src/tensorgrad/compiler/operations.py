"""How an operation is written down while a function is being traced: as what its own kernel does to Symbols, by a lowering,
or, where neither can be, as a call of its kernel from the program.
"""

import numpy as np

from tensorgrad.compiler.lowerings import LOWERED
from tensorgrad.dtypes import FLOAT
from tensorgrad.kernels.program import HostCall
from tensorgrad.kernels.symbol import Symbol, recordable
from tensorgrad.kernels.values import CannotRecord
from tensorgrad.ops import fitting
from tensorgrad.ops.pointwise import FLOAT32, Pointwise
from tensorgrad.ops.primitive import piece_of, wrap
from tensorgrad.spec import spec_for
from tensorgrad.tensor import Tensor

ndarray = np.ndarray


class Operations:
    """The part of a Trace that writes operations down."""

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


class Piece:
    """A step of a view that takes one of several results."""

    __slots__ = ("index", "primitive")

    def __init__(self, step):
        self.primitive, self.index = step.primitive, step.index

    @property
    def kernel(self):
        return self.primitive.kernel


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
