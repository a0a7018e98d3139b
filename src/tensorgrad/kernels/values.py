"""What a kernel computes, as a graph of Values: operations on whole arrays, without the arrays.

A Value says which operation makes it, from which Values, with which shape and dtype. Equal Values are one object, so common
subexpressions are found by making them. The operations are few:

    input    an array given at each run            array    an array that stays what it is
    const    one number                            map      a function of numbers, element by element (the op is its name)
    reduce   attr (kind, axes)                     views    reshape, permute, expand, slice: the same numbers elsewhere
    embed    the opposite of slice: zeros around   iota     attr axis: the place of each element along an axis
    gather   rows of a table by an index           scatter  zeros, with rows added where an index says
    concat   arrays side by side along attr
    matmul   batched product of matrices           host     a Python function of arrays; pick: one of its results
"""

import numpy as np

VIEWS = frozenset(("reshape", "permute", "expand", "slice"))
LEAVES = frozenset(("input", "array", "const", "iota"))
STRUCTURAL = VIEWS | LEAVES | {"reduce", "embed", "gather", "scatter", "concat", "matmul", "host", "pick"}


class CannotRecord(Exception):
    """A computation that no graph of Values can stand for (data-dependent shapes, complex numbers, unknown functions)."""


class Value:
    """One array of the computation."""

    __slots__ = ("args", "attr", "dtype", "number", "op", "shape")

    def __init__(self, op, args, attr, shape, dtype, number):
        self.op, self.args, self.attr = op, args, attr
        self.shape, self.dtype, self.number = shape, dtype, number

    @property
    def size(self):
        count = 1
        for n in self.shape:
            count *= n
        return count

    def __repr__(self):
        args = ", ".join(f"v{a.number}" for a in self.args)
        attr = "" if self.attr is None or self.op in ("array", "host") else f" {self.attr}"
        return f"v{self.number} = {self.op}({args}){attr}: {self.dtype}{list(self.shape)}"


class Graph:
    """Makes Values, each different one once."""

    def __init__(self):
        self.known, self.values, self.kept = {}, [], []
        self.checks = []  # (0-d Value that is 0 if all is well, else an index plus 2^40; words; exception): see symbol.within

    def make(self, op, args, shape, dtype, attr=None):
        key = op, tuple([a.number for a in args]), attr, shape, dtype
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Value(op, tuple(args), attr, shape, dtype, len(self.values))
            self.values.append(found)
        return found

    # Leaves

    def input(self, shape, dtype, key):
        """An array that is given at each run, known by `key`."""
        return self.make("input", (), tuple(shape), np.dtype(dtype), key)

    def array(self, array):
        """An array that never changes."""
        if array.ndim == 0 and array.dtype.kind in "fiub":
            return self.const(array.item(), array.dtype)
        self.kept.append(array)
        value = self.make("array", (), array.shape, array.dtype, id(array))
        return value

    def const(self, number, dtype):
        dtype = np.dtype(dtype)
        number = dtype.type(number).item() if dtype.kind in "fiub" else number
        return self.make("const", (), (), dtype, (repr(number), number))  # repr tells -0.0 from 0.0

    def iota(self, shape, axis):
        return self.make("iota", (), tuple(shape), np.dtype(np.int64), axis)

    # Views, each undone where it does nothing

    def reshape(self, x, shape):
        shape = tuple(shape)
        while x.op == "reshape":
            x = x.args[0]
        if x.shape == shape:
            return x
        if x.op == "expand" and x.args[0].size == 1:
            return self.expand(self.reshape(x.args[0], ()), shape)
        return self.make("reshape", (x,), shape, x.dtype)

    def permute(self, x, axes):
        if x.op == "permute":
            axes, x = tuple(x.attr[a] for a in axes), x.args[0]
        if axes == tuple(range(len(axes))):
            return x
        return self.make("permute", (x,), tuple(x.shape[a] for a in axes), x.dtype, tuple(axes))

    def expand(self, x, shape):
        shape = tuple(shape)
        if x.op == "expand":
            x = x.args[0]
        if x.shape == shape:
            return x
        return self.make("expand", (x,), shape, x.dtype)

    def slice(self, x, starts, lengths, steps):
        if tuple(lengths) == x.shape and all(s == 1 for s in steps) and not any(starts):
            return x
        if x.op == "expand" and x.args[0].shape == ():
            return self.expand(x.args[0], lengths)
        return self.make("slice", (x,), tuple(lengths), x.dtype, (tuple(starts), tuple(steps)))

    def embed(self, x, shape, starts, steps):
        """Zeros of a shape, with x where slice(starts, steps) would look."""
        if x.shape == tuple(shape) and not any(starts) and all(s == 1 for s in steps):
            return x
        return self.make("embed", (x,), tuple(shape), x.dtype, (tuple(starts), tuple(steps)))

    # Numbers

    def cast(self, x, dtype):
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if x.op == "const":
            with np.errstate(all="ignore"):
                return self.const(np.asarray(x.attr[1], x.dtype).astype(dtype).item(), dtype)
        if x.op == "expand":
            return self.expand(self.cast(x.args[0], dtype), x.shape)
        if x.op == "cast" and np.can_cast(x.args[0].dtype, x.dtype) and x.dtype.kind == dtype.kind:
            return self.cast(x.args[0], dtype)
        return self.make("cast", (x,), x.shape, dtype)

    def map(self, op, args, dtype):
        """A function of numbers. Arguments broadcast; constants stay without a shape."""
        shape = np.broadcast_shapes(*[a.shape for a in args])
        args = [a.args[0] if a.op == "expand" and a.args[0].shape == () else a for a in args]
        if all(a.shape == () for a in args) and shape:  # one number for all elements
            return self.expand(self.map(op, args, dtype), shape)
        if op != "where" and any(half(a.dtype) for a in args):  # computed in float32, rounded once
            single = np.dtype(np.float32)
            args = [self.cast(a, single) if half(a.dtype) else a for a in args]
            return self.cast(self.map(op, args, single if half(np.dtype(dtype)) else dtype), dtype)
        simple = simpler(self, op, args, dtype)
        if simple is not None:
            return simple if simple.shape == shape else self.expand(simple, shape)
        args = [a if a.op == "const" or a.shape == shape else self.expand(a, shape) for a in args]
        return self.make(op, args, shape, np.dtype(dtype))

    def reduce(self, x, kind, axes):
        axes = tuple(sorted(axes))
        if not axes:
            return x
        shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        if half(x.dtype):
            return self.cast(self.reduce(self.cast(x, np.float32), kind, axes), x.dtype)
        if x.op == "expand" and x.args[0].shape == () and kind in ("maximum", "minimum"):
            return self.expand(x.args[0], shape)
        return self.make("reduce", (x,), shape, x.dtype, (kind, axes))


def half(dtype):
    """Whether a dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def constant(value, number):
    return value.op == "const" and value.attr[1] == number


def simpler(graph, op, args, dtype):
    """The same number by less work, bit for bit (x * 1, but not x + 0: that would lose the sign of -0), or None."""
    if args[0].dtype == dtype:
        first = args[0]
        if op == "multiply":
            for one, other in ((args[0], args[1]), (args[1], args[0])):
                if constant(one, 1):
                    return other
        elif (op in ("divide", "power") and constant(args[1], 1)) or (
            op == "subtract" and constant(args[1], 0) and repr(args[1].attr[1])[0] != "-"
        ):
            return first
        elif op == "negative" and first.op == "negative":
            return first.args[0]
    if op == "power" and constant(args[1], 2):
        return graph.map("multiply", (args[0], args[0]), dtype)
    if op == "divide" and args[1].op == "const" and dtype.kind == "f":
        number = args[1].attr[1]
        if number and np.frexp(abs(number))[0] == 0.5 and 1e-30 < abs(number) < 1e30:  # a power of two divides exactly
            return graph.map("multiply", (args[0], graph.const(1 / number, dtype)), dtype)
    if all(a.op == "const" for a in args) and len(args) <= 2 and op in FOLDED:
        with np.errstate(all="ignore"):
            result = FOLDED[op](*[np.asarray(a.attr[1], a.dtype) for a in args])
        return graph.const(np.asarray(result).astype(dtype).item(), dtype)
    return None


FOLDED = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.true_divide, "negative": np.negative,
          "sqrt": np.sqrt, "power": np.power, "exp": np.exp, "log": np.log, "absolute": np.abs, "less": np.less,
          "greater": np.greater, "maximum": np.maximum, "minimum": np.minimum, "equal": np.equal}  # fmt: skip


def in_order(roots):
    """All Values that the roots need, each after those it is made of."""
    order, seen, stack = [], set(), [(root, False) for root in reversed(roots)]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
            continue
        if value.number in seen:
            continue
        seen.add(value.number)
        stack.append((value, True))
        stack.extend((arg, False) for arg in reversed(value.args) if arg.number not in seen)
    return order


def merged(sizes, strides):
    """Dimensions without those of size 1, neighbours joined where all strides lie one after another: (sizes, strides).

    >>> merged([2, 1, 3], [[3, 3, 1]])
    ([6], [[1]])
    """
    kept, out = [], [[] for _ in strides]
    for axis, n in enumerate(sizes):
        if n == 1:
            continue
        if kept and all(o[-1] == s[axis] * n for o, s in zip(out, strides, strict=True)):
            kept[-1] *= n
            for o, s in zip(out, strides, strict=True):
                o[-1] = s[axis]
        else:
            kept.append(n)
            for o, s in zip(out, strides, strict=True):
                o.append(s[axis])
    return kept, out
