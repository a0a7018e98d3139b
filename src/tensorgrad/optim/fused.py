"""Fused updates: an optimizer's rule becomes one compiled loop over all its parameters (with the `jit` extra).

The rule is the same `update` that vocabulary.py applies to arrays. Here it is called once, with registers in the place of
arrays, and writes the instructions for one element: everything is read once, changed, and written back once. Rounding is
that of the arrays, step by step, so both ways give the same bits. Numbers that may change from step to step are read from
memory; what a rule may decide by (True, None, 0, 1, the sign of a number) is part of the loop.

A loop serves parameters of any number and size: a table says where they, their gradients and their state lie.
"""

import numpy as np

from tensorgrad.optim.buckets import REAL, Members
from tensorgrad.optim.vocabulary import OnArrays

FUSE_FROM = 20_000  # elements of all parameters together: below that the arrays' way is as fast, and needs no compiler
AFTER = 10_000_000  # elements updated on arrays, before the compiler is started for this alone
THREADS_FROM = 100_000  # elements from which a second thread pays
NUMBERS = 64  # options that a rule may have
HEAD = 4  # fields of the table before the parameters: threads, elements, parameters, where the numbers are


class Undecided(Exception):
    """A rule asks for more than is known while it is recorded."""


def worth(size, done):
    """Whether parameters of so many elements are updated by a loop, after so many elements were updated otherwise.

    The compiler takes a tenth of a second to come; if it is not here yet, a short program is over before that pays.
    """
    if size < FUSE_FROM:
        return False
    from tensorgrad.kernels import machine

    return (done >= AFTER or machine._state["engine"] is not None) and machine.available()


def may_change(value):
    """Whether an option is a number that rules only compute with."""
    return type(value) is float and value not in (0.0, 1.0, -1.0)


def signature(options):
    """What of the options is part of a loop."""
    return tuple([(float, v > 0, v < 0.5) if may_change(v) else (type(v), v) for v in options])


class Number:
    """An option that may change: a float64 register, of which a rule may ask only what `signature` holds."""

    def __init__(self, floats, register, positive=None, small=None):
        self.floats, self.register, self.positive, self.small = floats, register, positive, small

    def _with(self, op, x, y):
        x, y = (v.register if isinstance(v, Number) else v for v in (x, y))
        return Number(self.floats, self.floats.exact(op, x, y))

    def __add__(self, other):
        return self._with("fadd", self, other)

    __radd__ = __add__

    def __sub__(self, other):
        return self._with("fsub", self, other)

    def __rsub__(self, other):
        return self._with("fsub", other, self)

    def __mul__(self, other):
        return self._with("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._with("fdiv", self, other)

    def __neg__(self):
        return self._with("fsub", -0.0, self)

    def __gt__(self, other):
        return self._known(self.positive, other == 0)

    def __lt__(self, other):
        return self._known(self.small, other == 0.5)

    def _known(self, value, asked):
        if value is None or not asked:
            raise Undecided
        return value

    def __bool__(self):
        raise Undecided


class Cell:
    """A parameter or a state while the instructions for one element are written: the register that holds it now."""

    def __init__(self, register):
        self.register = register


class OnRegisters:
    """The vocabulary of updates (see vocabulary.py), as instructions for one element."""

    def __init__(self, floats, cast):
        self.floats, self.cast = floats, cast

    def of(self, x):
        """The register, or the literal, of an operand."""
        if isinstance(x, Cell):
            return x.register
        if isinstance(x, Number):
            return self.cast(x.register)
        return x if isinstance(x, str) else self.floats.lit(x)

    def _exact(self, op, x, y):
        return self.floats.exact(op, self.of(x), self.of(y))

    def product(self, x, y):
        return self._exact("fmul", x, y)

    def sum(self, x, y, factor=1):
        return self._exact("fadd", x, y if self.is_number(factor, 1) else self.product(y, factor))

    def negative(self, x):
        return self.floats.body.add(f"fneg {self.floats.type} {self.of(x)}")

    def root(self, x):
        return self.floats.intrinsic("sqrt", self.of(x))

    def absolute(self, x):
        return self.floats.intrinsic("fabs", self.of(x))

    def sign(self, x):
        return self.floats.sign(self.of(x))

    def by_sign(self, x, below, zero, above):
        f, x = self.floats, self.of(x)
        rest = f.select(f.compare("olt", x, 0.0), self.of(below), self.of(zero))
        return f.select(f.compare("ogt", x, 0.0), self.of(above), rest)

    shifted = sum
    multiplied = product

    def divided(self, x, y):
        return self._exact("fdiv", x, y)

    @staticmethod
    def is_number(x, value):
        return isinstance(x, (int, float)) and x == value

    # In place

    def scale(self, x, factor):
        x.register = self.product(x, factor)

    def copy(self, x, y):
        x.register = self.of(y)

    begin = copy

    def add(self, x, y, factor=1):
        if self.is_number(factor, -1):
            x.register = self._exact("fsub", x, y)
        else:
            x.register = self.sum(x, y, factor)

    def add_product(self, x, a, b, factor=1):
        x.register = self.sum(x, self.product(a if self.is_number(factor, 1) else self.product(a, factor), b))

    def add_quotient(self, x, a, b, factor=1):
        x.register = self.sum(x, self.divided(a if self.is_number(factor, 1) else self.product(a, factor), b))

    def approach(self, x, goal, weight):
        gap = self._exact("fsub", goal, x)
        if weight < 0.5:
            x.register = self.sum(x, self.product(gap, weight))
        else:
            x.register = self._exact("fsub", goal, self.product(gap, 1 - weight))

    def raise_to(self, x, y):
        x.register = self.floats.maximum(x.register, self.of(y))

    def change(self, x, factor, low, high):
        raised = self.floats.maximum(self.product(x, factor), self.of(low))
        x.register = self.floats.minimum(raised, self.of(high))


class Loop:
    """A compiled update."""

    def __init__(self, update, kind, buffers, options):
        from tensorgrad.kernels import machine, mathematics
        from tensorgrad.kernels.code import Code, module, parallel

        if len(options) > NUMBERS:
            raise Undecided
        declared, t = {}, mathematics.TYPES[kind]
        names = ["p", "g", *[f"b{n}" for n in range(buffers)]]
        row = Code("row", [*[("ptr", name) for name in names], ("ptr", "numbers"), ("i64", "n")], declared)
        wide, plain = mathematics.Floats(row, "f8"), []
        for place, value in enumerate(options):
            known = may_change(value)
            plain.append(
                Number(wide, row.load("%numbers", place, "double"), value > 0, value < 0.5) if known else value
            )
        with row.loop(0, "%n") as i:
            p, g, *states = (row.load(f"%{name}", i, t) for name in names)
            p, states = Cell(p), [Cell(s) for s in states]
            do = OnRegisters(mathematics.Floats(row, kind), lambda x: mathematics.cast(row, x, "f8", kind))
            update(do, p, g, states, tuple(plain))
            for name, cell in zip(("p", *names[2:]), (p, *states)):
                row.store(cell.register, f"%{name}", i, t)
        public = [parallel("run", "work", declared, machine.most_threads())]
        text = module([row, share_of(len(names), 4 if kind == "f4" else 8, declared)], public, declared)
        (self.run,) = machine.functions(text, ["run"])


def share_of(arrays, size, declared):
    """A thread's part of all elements, counted through the parameters one after the other."""
    from tensorgrad.kernels.code import Code

    code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    total, count = code.load("%table", 1, "i64"), code.load("%table", 2, "i64")
    numbers = code.load("%table", 3, "ptr")
    low = code.over(code.times(total, "%t"), "%T")
    high = code.over(code.times(total, code.plus("%t", 1)), "%T")
    passed = code.variable("i64", 0)
    with code.loop(0, count) as number:
        at = code.plus(code.times(number, arrays + 1), HEAD)
        length, before = code.load("%table", at, "i64"), code.get(passed, "i64")
        first = code.most(code.minus(low, before), 0)
        last = code.least(code.minus(high, before), length)
        with code.when(code.compare("slt", first, last)):
            moved = code.times(first, size)
            fields = [code.load("%table", code.plus(at, 1 + n), "ptr") for n in range(arrays)]
            pointers = [("ptr", code.at(field, moved, "i8")) for field in fields]
            code.run("row", *pointers, ("ptr", numbers), ("i64", code.minus(last, first)))
        code.set(passed, code.plus(before, length), "i64")
    return code


loops = {}  # (rule, kind, how many states, signature) -> Loop, or None where the rule cannot be recorded


def loop_of(update, kind, buffers, options):
    """The Loop of a rule with such options, or None."""
    key = getattr(update, "__func__", update), kind, buffers, signature(options)
    try:
        return loops[key]
    except KeyError:
        pass
    except TypeError:  # an option that cannot be a key
        return None
    try:
        loop = Loop(update, kind, buffers, options)
    except (Undecided, AttributeError, TypeError, ModuleNotFoundError, OSError):  # a rule with words of its own
        loop = None
    loops[key] = loop
    return loop


class Rows(Members):
    """Parameters of one group that are at the same point of their life: updated where they lie, in one call."""

    def __init__(self, params, states, buffers, scalars, fresh):
        super().__init__(params, states, buffers, scalars, fresh)
        dtype = np.dtype(REAL[self.arrays[0].dtype.char])
        self.kind, self.dtype = dtype.str[1:], dtype
        self.total = sum(a.nbytes for a in self.arrays) // dtype.itemsize
        width = 3 + len(buffers)
        self.table = np.zeros(HEAD + width * len(params), np.int64)
        self.numbers = np.empty(NUMBERS)
        from tensorgrad.kernels import machine

        self.table[0] = machine.threads() if self.total > THREADS_FROM else 1
        self.table[1:HEAD] = self.total, len(params), self.numbers.ctypes.data
        offsets = np.cumsum([0, *[a.nbytes for a in self.arrays]])
        for n, (array, offset) in enumerate(zip(self.arrays, offsets)):
            states_at = [flat.ctypes.data + offset for flat in self.flats]
            row = array.nbytes // dtype.itemsize, array.ctypes.data, 0, *states_at
            self.table[HEAD + width * n : HEAD + width * (n + 1)] = row
        self.gradients = self.table[HEAD + 2 :: width]
        self.pointer, self.splits = self.table.ctypes.data, offsets // dtype.itemsize

    def run(self, gradients, update, options):
        """One update, with the gradients in the order of the parameters."""
        loop = loop_of(update, self.kind, len(self.buffers), options)
        if loop is None:
            return self.run_arrays(gradients, update, options)
        faces = [g.__array_interface__ for g in gradients]
        for n, face in enumerate(faces):
            if face["strides"] is not None:  # not one number after the other
                gradients = [np.ascontiguousarray(g) for g in gradients]
                faces[n:] = [g.__array_interface__ for g in gradients[n:]]
                break
        self.gradients[:] = [face["data"][0] for face in faces]
        for place, value in enumerate(options):
            if type(value) is float:
                self.numbers[place] = value
        loop.run(self.pointer)

    def run_arrays(self, gradients, update, options):
        """The same on arrays, for a rule that no loop can be made of."""
        for n, (array, g) in enumerate(zip(self.arrays, gradients)):
            part = slice(self.splits[n], self.splits[n + 1])
            p, g = (np.ascontiguousarray(a).reshape(-1).view(self.dtype) for a in (array, g))
            update(OnArrays(p.size, self.dtype).start(), p, g, [flat[part] for flat in self.flats], options)
