"""From a graph of Values to a list of steps: which Values are computed in one loop nest, and which are kept in memory.

A step is a Loops (a nest of loops over one shape that computes several Values), a Product (a matrix product) or a Host (a
Python function). A Value that is used only inside its own Loops lives in a register; the others are kept in a buffer. A view
costs nothing where its numbers can be reached in the memory of what it is a view of by an offset and strides.

    plan = Scheduler(roots, layouts); plan.steps; plan.stored; plan.results, the stored Values of the roots
"""

from tensorgrad.kernels.values import VIEWS, Value, in_order

READS = 16  # arrays that one nest reads: with many more LLVM no longer sees that they do not overlap
MOST = 1500  # operations in one nest: beyond this the compiler's time grows faster than the gain


class Access:
    """Where the elements of a Value lie: a stored Value, an offset and strides, in elements."""

    __slots__ = ("base", "offset", "strides")

    def __init__(self, base, offset, strides):
        self.base, self.offset, self.strides = base, offset, tuple(strides)

    def is_contiguous(self, shape):
        return self.strides == contiguous(shape)


class Loops:
    """One nest of loops over `shape`."""

    __slots__ = ("members", "reads", "shape")

    def __init__(self, shape):
        self.shape, self.members, self.reads = shape, [], set()


class Product:
    """A matrix product, batched."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Host:
    """A Python function of arrays."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def contiguous(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def reshaped_strides(shape, strides, new):
    """The strides that see the same elements in a new shape, or None when one stride a dimension cannot."""
    runs = []  # [size, stride] of stretches that are one run in memory
    for n, s in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    result, left, runs = [], 1, runs[::-1]
    for n in reversed(new):
        if n == 1:
            result.append(0)
            continue
        if left == 1:
            if not runs:
                return None
            left, step = runs.pop(0)
        if left % n:
            return None
        result.append(step)
        left //= n
        step *= n
    return tuple(reversed(result)) if left == 1 and not runs else None


class Scheduler:
    """Places Values in steps, in the order in which they are needed."""

    def __init__(self, roots, layouts):
        self.layouts = layouts  # input or array -> strides in elements
        self.order = in_order(roots)
        self.steps, self.place, self.stored, self.accesses = [], {}, {}, {}
        self.born = {}  # Values that are written in several steps -> the first of them
        self.operands = {}  # a matrix product or a Python function -> the Accesses of its arguments
        self.copies = {}  # a Value that is only a view or a number -> the copy of it that has a buffer
        for value in self.order:
            if value.op in ("input", "array"):
                self.place[value] = -1
                self.stored[value] = None
        for value in self.order:
            self.put(value)
        self.results = [self.laid_out(root) for root in roots]

    # Memory

    def access(self, value):
        """How to reach a Value in memory; what it is a view of gets a buffer."""
        found = self.accesses.get(value)
        if found is None:
            found = self.accesses[value] = self.find_access(value)
        return found

    def find_access(self, value):
        if value in self.stored:
            return Access(value, 0, self.layouts.get(value) or contiguous(value.shape))
        if value.op not in VIEWS:
            return Access(self.laid_out(value), 0, contiguous(value.shape))
        inner = value.args[0]
        under = self.access(inner)
        strides = under.strides
        if value.op == "permute":
            return Access(under.base, under.offset, [strides[a] for a in value.attr])
        if value.op == "expand":
            lead = len(value.shape) - len(inner.shape)
            strides = [0] * lead + [0 if n == 1 else s for n, s in zip(inner.shape, strides, strict=True)]
            return Access(under.base, under.offset, strides)
        if value.op == "slice":
            starts, steps = value.attr
            offset = under.offset + sum(a * s for a, s in zip(starts, strides, strict=True))
            return Access(under.base, offset, [s * step for s, step in zip(strides, steps, strict=True)])
        strides = reshaped_strides(inner.shape, strides, value.shape)
        if strides is None:
            return Access(self.laid_out(inner), 0, contiguous(value.shape))
        return Access(under.base, under.offset, strides)

    def laid_out(self, value):
        """The Value whose buffer holds these numbers one after another: itself, or a copy made in a nest."""
        if value in self.place and value.op not in ("input", "array"):
            self.stored[value] = None
            return value
        copy = self.copies.get(value)
        if copy is None:
            first = 0 if value.op in ("const", "iota") else self.place[self.access(value).base] + 1
            copy = self.copies[value] = Value("copy", (value,), None, value.shape, value.dtype, -1 - len(self.copies))
            self.enter(copy, copy.shape, first, ())
            self.stored[copy] = None
        return copy

    def late_copy(self, value, first):
        """A copy of a stored Value, not before step `first`."""
        copy = Value("copy", (value,), None, value.shape, value.dtype, -1 - len(self.copies))
        self.copies[copy] = copy
        self.enter(copy, copy.shape, first, ())
        self.stored[copy] = None
        return copy

    # Steps

    def enter(self, value, shape, first, soft, bases=frozenset()):
        """Add a Value to the first nest of its shape that comes late enough."""
        start = max([first, *[self.place[s] for s in soft]])
        for index in range(start, len(self.steps)):
            step = self.steps[index]
            fits = type(step) is Loops and step.shape == shape and len(step.members) < MOST
            if fits and (len(step.reads | bases) <= READS or (soft and self.place[soft[-1]] == index)):
                break
        else:
            index = len(self.steps)
            self.steps.append(Loops(shape))
        self.steps[index].members.append(value)
        self.steps[index].reads |= bases
        self.place[value] = index

    def needs(self, value, shape):
        """(index of the first step that may compute it, arguments that may be in the same nest)."""
        first, soft, bases = 0, [], set()
        for arg in value.args:
            if arg.op in ("const", "iota"):
                continue
            apart = arg.op in VIEWS or arg.op in ("reduce", "scatter") or value.op in ("gather", "scatter", "embed")
            place = -1 if apart or arg.shape != shape else self.place.get(arg, -1)
            if place >= 0 and type(self.steps[place]) is Loops:
                soft.append(arg)
                continue
            base = self.access(arg).base
            if base.shape:
                bases.add(base)
            first = max(first, self.place[base] + 1)
        return first, soft, bases

    def put(self, value):
        op = value.op
        if op in ("input", "array", "const", "iota", "pick") or op in VIEWS:
            if op == "pick":
                self.place[value] = self.place[value.args[0]]
                self.stored[value] = None
            return
        if op == "matmul" or op == "host":
            self.operands[value] = tuple(self.operand(arg, op) for arg in value.args)
            self.place[value] = len(self.steps)
            self.steps.append(Product(value) if op == "matmul" else Host(value))
            if op == "matmul":
                self.stored[value] = None
            return
        if op == "concat":
            self.put_parts(value)
            return
        shape = value.shape if op not in ("reduce", "scatter") else value.args[-1].shape
        if op == "scatter":
            shape = value.args[1].shape
        first, soft, bases = self.needs(value, shape)
        self.enter(value, shape, first, soft, bases)
        if op in ("reduce", "scatter"):
            self.stored[value] = None
        index = self.place[value]
        for arg in soft:
            if self.place[arg] != index:
                self.access(arg)

    def put_parts(self, value):
        """Each part of a `concat` is written where it belongs by the nest that computes it."""
        axis, start, places = value.attr, 0, []
        for arg in value.args:
            part = Value("part", (arg,), (value, axis, start), arg.shape, value.dtype, -1 - len(self.copies))
            self.copies[part] = part
            first, soft, bases = self.needs(part, part.shape)
            self.enter(part, part.shape, first, soft, bases)
            for other in soft:
                if self.place[other] != self.place[part]:
                    self.access(other)
            places.append(self.place[part])
            start += arg.shape[axis]
        self.stored[value] = None
        self.place[value], self.born[value] = max(places), min(places)

    def operand(self, value, op):
        """Where an argument of a product or a Python function lies in memory; for BLAS, with a stride of one."""
        access = self.access(value)
        if op == "matmul":
            rows, columns = access.strides[-2:]
            n, m = value.shape[-2:]
            good = ((columns == 1 or m == 1) and (rows >= m or n == 1)) or (
                (rows == 1 or n == 1) and (columns >= n or m == 1)
            )
            if not good and not access.is_contiguous(value.shape):
                return Access(self.laid_out(value), 0, contiguous(value.shape))
        return access
