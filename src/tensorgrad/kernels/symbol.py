"""Symbol: stands where a NumPy array would, and writes down what is done to it.

The kernels of operations are written on arrays. Called with Symbols they run as they are, and leave behind a graph of
Values (values.py). So no operation is described a second time: what you run is what is compiled. A kernel that does what
cannot be written down (asks for numbers, writes into part of an array) raises CannotRecord, and is then called as Python.
"""

import operator

import numpy as np

from tensorgrad.kernels.values import CannotRecord

MAPS = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.true_divide: "divide", np.negative: "negative",
    np.absolute: "absolute", np.fabs: "absolute", np.exp: "exp", np.exp2: "exp2", np.expm1: "expm1", np.log: "log",
    np.log2: "log2", np.log10: "log10", np.log1p: "log1p", np.sqrt: "sqrt", np.sin: "sin", np.cos: "cos", np.tan: "tan",
    np.tanh: "tanh", np.sinh: "sinh", np.cosh: "cosh", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan",
    np.arcsinh: "asinh", np.arccosh: "acosh", np.arctanh: "atanh", np.power: "power", np.float_power: "power",
    np.maximum: "maximum", np.minimum: "minimum", np.fmax: "fmax", np.fmin: "fmin", np.floor: "floor", np.ceil: "ceil",
    np.trunc: "trunc", np.rint: "rint", np.sign: "sign", np.less: "less", np.less_equal: "less_equal",
    np.greater: "greater", np.greater_equal: "greater_equal", np.equal: "equal", np.not_equal: "not_equal",
    np.logical_and: "logical_and", np.logical_or: "logical_or", np.logical_not: "logical_not",
    np.bitwise_and: "bitwise_and", np.bitwise_or: "bitwise_or", np.bitwise_xor: "bitwise_xor", np.invert: "invert",
    np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite", np.copysign: "copysign", np.arctan2: "atan2",
    np.hypot: "hypot",
}  # fmt: skip
REDUCTIONS = {np.add: "add", np.multiply: "multiply", np.maximum: "maximum", np.minimum: "minimum",
              np.logical_and: "all", np.logical_or: "any"}  # fmt: skip
NUMBERS = "fiub"


def recordable(dtype):
    dtype = np.dtype(dtype)
    return dtype.kind in NUMBERS or dtype.name == "bfloat16"


class Symbol:
    """An array that is not there yet: a Value, and the Graph that makes more of them."""

    __slots__ = ("graph", "shared", "value")
    __array_priority__ = 2000
    __hash__ = None

    def __init__(self, graph, value, shared=False):
        if not recordable(value.dtype):
            raise CannotRecord(f"kernels do not compute with {value.dtype}")
        self.graph, self.value = graph, value
        self.shared = shared  # other Symbols may see a write into this one

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: len(self.value.shape))
    size = property(lambda self: self.value.size)
    itemsize = property(lambda self: self.value.dtype.itemsize)
    nbytes = property(lambda self: self.value.size * self.value.dtype.itemsize)
    T = property(lambda self: self.transpose())
    real = property(lambda self: self)

    class flags:
        c_contiguous = f_contiguous = forc = owndata = False
        writeable = True

    def made(self, value):
        return Symbol(self.graph, value)

    def view(self, value):
        """Another Symbol on the same memory."""
        self.shared = True
        return Symbol(self.graph, value, shared=True)

    def write(self, value):
        """What `x += 1` and `out=x` do."""
        if self.shared:
            raise CannotRecord("a write into memory that is seen elsewhere")
        if value.shape != self.value.shape:
            raise CannotRecord("a write of another shape")
        self.value = self.graph.cast(value, self.value.dtype)
        return self

    # Conversion

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        if not recordable(dtype):
            raise CannotRecord(f"kernels do not compute with {np.dtype(dtype)}")
        return self.made(self.graph.cast(self.value, dtype))

    def copy(self, order="C"):
        return self.made(self.value)

    def conj(self):
        return self

    conjugate = conj

    def refuse(self, *args, **kwargs):
        raise CannotRecord("the numbers of an array are asked for while a kernel is being written")

    __bool__ = __float__ = __int__ = __index__ = __iter__ = item = tolist = view_as = __array__ = refuse

    def __len__(self):
        return self.value.shape[0]

    def function(self, name):
        """A function of numbers that NumPy has not."""
        if name not in ("erf",):
            raise CannotRecord(name)
        return self.made(self.graph.map(name, (self.value,), self.value.dtype))

    # Shapes

    def reshape(self, *shape, order="C", copy=None):
        if order != "C":
            raise CannotRecord("reshape in another order")
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        shape = [operator.index(n) for n in shape]
        if -1 in shape:
            known = -int(np.prod(shape))
            shape[shape.index(-1)] = self.size // known if known else 0
        if int(np.prod(shape)) != self.size:
            raise ValueError(f"cannot reshape {self.shape} into {tuple(shape)}")
        return self.view(self.graph.reshape(self.value, tuple(shape)))

    def ravel(self, order="C"):
        return self.reshape(-1)

    def flatten(self, order="C"):
        return self.made(self.graph.reshape(self.value, (self.size,)))

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if not axes or axes == (None,):
            axes = range(self.ndim)[::-1]
        return self.view(self.graph.permute(self.value, tuple(a % self.ndim for a in axes)))

    def swapaxes(self, a, b):
        axes = list(range(self.ndim))
        axes[a], axes[b] = axes[b], axes[a]
        return self.transpose(axes)

    def squeeze(self, axis=None):
        axes = [axis] if isinstance(axis, int) else axis
        dropped = {a % self.ndim for a in axes} if axes is not None else {i for i, n in enumerate(self.shape) if n == 1}
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if i not in dropped))

    def broadcast_to(self, shape):
        return self.view(self.graph.expand(self.value, np.broadcast_shapes(self.shape, tuple(shape))))

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) == 1 and isinstance(index[0], Symbol) and index[0].dtype.kind in "iu":
            return self.take(index[0], 0)
        if any(isinstance(i, (np.ndarray, list, Symbol, bool, np.bool_)) for i in index):
            raise CannotRecord("indexing with arrays")
        given = sum(i is not None and i is not Ellipsis for i in index)
        at = next((p for p, i in enumerate(index) if i is Ellipsis), len(index))
        full = (*index[:at], *[slice(None)] * (self.ndim - given), *index[at + 1 :])
        starts, lengths, steps, shape, axis = [], [], [], [], 0
        for part in full:
            if part is None:
                shape.append(1)
                continue
            n = self.shape[axis]
            if isinstance(part, slice):
                places = range(*part.indices(n))
                starts.append(places.start if len(places) else 0)
                lengths.append(len(places))
                steps.append(places.step)
                shape.append(len(places))
            else:
                part = operator.index(part)
                if not -n <= part < n:
                    raise IndexError(f"index {part} is out of bounds for axis {axis} with size {n}")
                starts.append(part % n)
                lengths.append(1)
                steps.append(1)
            axis += 1
        sliced = self.graph.slice(self.value, starts, lengths, steps)
        return self.view(self.graph.reshape(sliced, shape))

    def __setitem__(self, index, other):
        if index is Ellipsis or index == slice(None) or index == ():
            self.write(self.graph.expand(as_value(self.graph, other, self.dtype), self.shape))
            return
        raise CannotRecord("a write into part of an array")

    def take(self, index, axis):
        """Rows along an axis, by an array of indices."""
        table, axis = self.value, axis % max(self.ndim, 1)
        if axis:
            raise CannotRecord("take along another axis than the first")
        shape = index.shape + self.shape[1:]
        within(index, self.shape[0], "index out of range in self", IndexError)
        return self.made(self.graph.make("gather", (table, index.value), shape, self.dtype))

    # Reductions as methods

    def sum(self, axis=None, dtype=None, out=None, keepdims=False):
        return np.add.reduce(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def max(self, axis=None, out=None, keepdims=False):
        return np.maximum.reduce(self, axis=axis, out=out, keepdims=keepdims)

    def min(self, axis=None, out=None, keepdims=False):
        return np.minimum.reduce(self, axis=axis, out=out, keepdims=keepdims)

    def prod(self, axis=None, dtype=None, out=None, keepdims=False):
        return np.multiply.reduce(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def any(self, axis=None, out=None, keepdims=False):
        return np.logical_or.reduce(self, axis=axis, out=out, keepdims=keepdims)

    def all(self, axis=None, out=None, keepdims=False):
        return np.logical_and.reduce(self, axis=axis, out=out, keepdims=keepdims)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False):
        total = self.sum(axis, dtype, None, keepdims)
        return total / (self.size // max(total.size, 1))

    # NumPy's two doors

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if method == "reduce":
            return reduced(self.graph, ufunc, inputs[0], out=out, **options)
        if method != "__call__":
            raise CannotRecord(f"{ufunc.__name__}.{method}")
        if options.get("where", True) is not True:
            raise CannotRecord("where=")
        if ufunc is np.matmul:
            result = product(self.graph, *inputs)
        else:
            result = mapped(self.graph, ufunc, inputs, options.get("dtype"))
        if out is not None and out[0] is not None:
            if not isinstance(out[0], Symbol):
                raise CannotRecord("out= is a true array")
            return out[0].write(result)
        return Symbol(self.graph, result)

    def __array_function__(self, function, types, args, kwargs):
        handler = FUNCTIONS.get(function)
        if handler is None:
            raise CannotRecord(f"numpy.{function.__name__}")
        return handler(*args, **kwargs)


def _operator(ufunc):
    def operate(self, other):
        return ufunc(self, other)

    def reflect(self, other):
        return ufunc(other, self)

    def write(self, other):
        return ufunc(self, other, out=(self,))

    return operate, reflect, write


for _name, _ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
                      ("floordiv", np.floor_divide), ("mod", np.remainder), ("pow", np.power), ("matmul", np.matmul),
                      ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):  # fmt: skip
    for _prefix, _form in zip(("", "r", "i"), _operator(_ufunc), strict=True):
        setattr(Symbol, f"__{_prefix}{_name}__", _form)
for _name, _ufunc in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
                      ("eq", np.equal), ("ne", np.not_equal)):  # fmt: skip
    setattr(Symbol, f"__{_name}__", _operator(_ufunc)[0])
for _name, _ufunc in (("neg", np.negative), ("abs", np.absolute), ("invert", np.invert), ("pos", np.positive)):
    setattr(Symbol, f"__{_name}__", lambda self, ufunc=_ufunc: ufunc(self))


# Values of arguments


def as_value(graph, thing, dtype=None):
    """The Value of a Symbol, an array or a number; numbers take the dtype."""
    if isinstance(thing, Symbol):
        return thing.value
    if isinstance(thing, (np.ndarray, np.generic)):
        array = np.asarray(thing)
        if not recordable(array.dtype):
            raise CannotRecord(f"kernels do not compute with {array.dtype}")
        return graph.array(array)
    if isinstance(thing, (bool, int, float)):
        return graph.const(thing, dtype or np.asarray(thing).dtype)
    raise CannotRecord(f"an argument of type {type(thing).__name__}")


def mapped(graph, ufunc, inputs, dtype=None):
    """A function of numbers, with NumPy's choice of dtypes."""
    if ufunc is np.positive or ufunc is np.conjugate:
        return as_value(graph, inputs[0])
    if ufunc is np.square:
        return mapped(graph, np.multiply, (inputs[0], inputs[0]))
    if ufunc is np.reciprocal:
        return mapped(graph, np.true_divide, (1, inputs[0]))
    op = MAPS.get(ufunc)
    if op is None:
        raise CannotRecord(f"numpy.{ufunc.__name__}")
    kinds = [type(x) if isinstance(x, (bool, int, float)) else x.dtype for x in inputs]
    options = {} if dtype is None else {"signature": (None,) * len(kinds) + (np.dtype(dtype),)}
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **options)
    except TypeError:
        raise CannotRecord(f"numpy.{ufunc.__name__} of {kinds}") from None
    if not all(recordable(d) for d in found):
        raise CannotRecord(f"numpy.{ufunc.__name__} of {kinds}")
    args = [graph.cast(as_value(graph, x, d), d) for x, d in zip(inputs, found, strict=False)]
    return graph.map(op, args, found[-1])


def reduced(graph, ufunc, x, axis=0, dtype=None, out=None, keepdims=False, **options):
    kind = REDUCTIONS.get(ufunc)
    if kind is None or options.get("where", True) is not True or not isinstance(x, Symbol):
        raise CannotRecord(f"{ufunc.__name__}.reduce")
    value = x.value
    if kind in ("all", "any"):
        value = (
            graph.map("not_equal", (value, graph.const(0, value.dtype)), np.dtype(bool))
            if value.dtype.kind != "b"
            else value
        )
    elif dtype is not None:
        value = graph.cast(value, dtype)
    elif value.dtype.kind in "bui" and kind in ("add", "multiply"):
        value = graph.cast(value, np.uint64 if value.dtype.kind == "u" else np.int64)
    axes = range(x.ndim) if axis is None else (axis,) if not isinstance(axis, (tuple, list)) else axis
    axes = tuple(sorted(operator.index(a) % x.ndim for a in axes)) if x.ndim else ()
    if value.size == 0:
        raise CannotRecord("a reduction of nothing")
    result = graph.reduce(value, kind, axes)
    if keepdims:
        result = graph.reshape(result, tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    if out is not None and out[0] is not None:
        return out[0].write(result)
    return Symbol(graph, result)


def product(graph, a, b):
    """matmul, with batches broadcast."""
    a, b = as_value(graph, a), as_value(graph, b)
    if a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        raise CannotRecord(f"matmul of {a.dtype} and {b.dtype}")
    vector_a, vector_b = len(a.shape) == 1, len(b.shape) == 1
    if vector_a and vector_b:
        return graph.reduce(graph.map("multiply", (a, b), a.dtype), "add", (0,))
    a = graph.reshape(a, (1, *a.shape)) if vector_a else a
    b = graph.reshape(b, (*b.shape, 1)) if vector_b else b
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul of {a.shape} and {b.shape}")
    if 0 in a.shape or 0 in b.shape:
        raise CannotRecord("a product of nothing")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = graph.expand(a, (*batch, *a.shape[-2:])), graph.expand(b, (*batch, *b.shape[-2:]))
    result = graph.make("matmul", (a, b), (*batch, a.shape[-2], b.shape[-1]), a.dtype)
    if vector_a:
        result = graph.reshape(result, (*result.shape[:-2], result.shape[-1]))
    return graph.reshape(result, result.shape[:-1]) if vector_b else result


# Functions of NumPy that are no ufuncs


def _graph(*things):
    return next(t.graph for t in things if isinstance(t, Symbol))


def where(condition, x, y):
    graph = _graph(condition, x, y)
    dtype = np.result_type(*[t.dtype if hasattr(t, "dtype") else t for t in (x, y)])
    condition = as_value(graph, condition)
    condition = (
        graph.map("not_equal", (condition, graph.const(0, condition.dtype)), np.dtype(bool))
        if condition.dtype.kind != "b"
        else condition
    )
    args = [graph.cast(as_value(graph, t, dtype), dtype) for t in (x, y)]
    return Symbol(graph, graph.map("where", (condition, *args), dtype))


def full_like(x, number, dtype=None, **_):
    graph = x.graph
    return Symbol(graph, graph.expand(graph.const(number, dtype or x.dtype), x.shape))


def concatenate(arrays, axis=0, **options):
    graph = _graph(*arrays)
    values = [as_value(graph, a) for a in arrays]
    axis = axis % len(values[0].shape)
    dtype = np.result_type(*[v.dtype for v in values])
    total = sum(v.shape[axis] for v in values)
    shape = tuple(total if i == axis else n for i, n in enumerate(values[0].shape))
    for value in values:
        if tuple(total if i == axis else n for i, n in enumerate(value.shape)) != shape:
            raise CannotRecord("arrays that do not fit side by side")
    values = [graph.cast(v, dtype) for v in values if v.shape[axis]]
    if not total:
        raise CannotRecord("nothing side by side")
    return Symbol(graph, values[0] if len(values) == 1 else graph.make("concat", values, shape, dtype, axis))


def expand_dims(x, axis):
    axes = (axis,) if isinstance(axis, int) else axis
    ndim = x.ndim + len(axes)
    axes, rest = {a % ndim for a in axes}, iter(x.shape)
    return x.reshape(tuple(1 if i in axes else next(rest) for i in range(ndim)))


def stack(arrays, axis=0, **options):
    first = next(a for a in arrays if isinstance(a, Symbol))
    axis = axis % (first.ndim + 1)
    return concatenate([np.expand_dims(a, axis) for a in arrays], axis)


def _picked(x, indices, axis):
    """A mask that is true where `indices` points, along an axis on which it has one entry."""
    graph = _graph(x, indices)
    index = as_value(graph, indices)
    axis = axis % len(index.shape)
    if index.shape[axis] != 1:
        raise CannotRecord("several indices along an axis")
    n = x.shape[axis]
    shape = np.broadcast_shapes(tuple(1 if i == axis else m for i, m in enumerate(x.shape)), index.shape)
    shape = tuple(n if i == axis else m for i, m in enumerate(shape))
    index = graph.cast(index, np.int64)
    negative = graph.map("less", (index, graph.const(0, np.int64)), np.dtype(bool))
    index = graph.map(
        "where",
        (negative, graph.map("add", (index, graph.const(n, np.int64)), np.dtype(np.int64)), index),
        np.dtype(np.int64),
    )
    return graph, axis, shape, graph.map("equal", (graph.iota(shape, axis), index), np.dtype(bool))


def take_along_axis(arr, indices, axis=-1):
    graph, axis, shape, mask = _picked(arr, indices, axis)
    value = graph.expand(as_value(graph, arr), shape)
    chosen = graph.map("where", (mask, value, graph.const(0, value.dtype)), value.dtype)
    kind = "any" if value.dtype.kind == "b" else "add"
    result = graph.reduce(chosen, kind, (axis,))
    return Symbol(graph, graph.reshape(result, tuple(1 if i == axis else n for i, n in enumerate(shape))))


def put_along_axis(arr, indices, values, axis):
    if not isinstance(arr, Symbol):
        raise CannotRecord("a write into a true array")
    graph, axis, shape, mask = _picked(arr, indices, axis)
    if shape != arr.shape:
        raise CannotRecord("indices that broadcast")
    values = graph.cast(as_value(graph, values, arr.dtype), arr.dtype)
    arr.write(graph.map("where", (mask, values, arr.value), arr.dtype))


def dot(a, b):
    graph = _graph(a, b)
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        raise CannotRecord("numpy.dot of many dimensions")
    return Symbol(graph, product(graph, a, b))


def copyto(target, source, casting="same_kind", where=True):
    """Symbols are written to as a whole; where= keeps what was there."""
    graph = _graph(target, source, where)
    if not isinstance(target, Symbol):
        raise CannotRecord("a write into a true array")
    value = graph.expand(graph.cast(as_value(graph, source, target.dtype), target.dtype), target.shape)
    if where is not True:
        value = graph.map("where", (as_value(graph, where), value, target.value), target.dtype)
    target.write(value)


def within(index, count, words, error, negative=True):
    """Let the program raise an error after a run in which an index was outside of its dimension."""
    graph = index.graph
    low, high = graph.const(-count if negative else 0, index.dtype), graph.const(count, index.dtype)
    wrong = [
        graph.map("less", (index.value, low), np.dtype(bool)),
        graph.map("greater_equal", (index.value, high), np.dtype(bool)),
    ]
    bad = graph.map("logical_or", wrong, np.dtype(bool))
    fine = graph.const(0, np.int64)
    value = graph.map(
        "where",
        (
            bad,
            graph.map("add", (graph.cast(index.value, np.int64), graph.const(1 << 40, np.int64)), np.dtype(np.int64)),
            fine,
        ),
        np.dtype(np.int64),
    )
    if value.shape:
        value = graph.reduce(graph.expand(value, index.shape), "maximum", tuple(range(index.ndim)))
    graph.checks.append((value, words, error))


def clip(a, a_min=None, a_max=None, **options):
    a = a if a_min is None else np.maximum(a, a_min)
    return a if a_max is None else np.minimum(a, a_max)


def moveaxis(a, source, destination):
    order = [i for i in range(a.ndim) if i not in {s % a.ndim for s in np.atleast_1d(source)}]
    for to, at in sorted(
        zip([d % a.ndim for d in np.atleast_1d(destination)], [s % a.ndim for s in np.atleast_1d(source)], strict=True)
    ):
        order.insert(to, at)
    return a.transpose(order)


def flip(m, axis=None):
    axes = range(m.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = {a % m.ndim for a in axes}
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))].copy()


def outer(a, b):
    return a.reshape(-1, 1) * b.reshape(1, -1)


def _method(name):
    return lambda x, *args, **options: getattr(x, name)(*args, **options)


FUNCTIONS = {
    np.where: where, np.full_like: full_like, np.zeros_like: lambda x, dtype=None, **o: full_like(x, 0, dtype),
    np.ones_like: lambda x, dtype=None, **o: full_like(x, 1, dtype),
    np.empty_like: lambda x, dtype=None, **o: full_like(x, 0, dtype),
    np.concatenate: concatenate, np.stack: stack, np.expand_dims: expand_dims, np.take_along_axis: take_along_axis,
    np.put_along_axis: put_along_axis, np.copyto: copyto, np.dot: dot, np.clip: clip, np.moveaxis: moveaxis, np.flip: flip,
    np.outer: outer,
    np.broadcast_to: lambda x, shape, **o: x.broadcast_to(shape), np.reshape: lambda x, shape, **o: x.reshape(shape),
    np.transpose: lambda x, axes=None: x.transpose(axes), np.swapaxes: lambda x, a, b: x.swapaxes(a, b),
    np.squeeze: lambda x, axis=None: x.squeeze(axis), np.ravel: lambda x, **o: x.ravel(), np.copy: lambda x, **o: x.copy(),
    np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: lambda x: x.size, np.real: lambda x: x,
    np.sum: _method("sum"), np.prod: _method("prod"), np.mean: _method("mean"), np.max: _method("max"),
    np.min: _method("min"), np.amax: _method("max"), np.amin: _method("min"), np.any: _method("any"), np.all: _method("all"),
    np.take: lambda x, index, axis=None, **o: x.take(index, axis if axis is not None else 0),
    np.iscomplexobj: lambda x: False,
}  # fmt: skip
