"""From a nest of loops to a function in LLVM's language.

Shapes, offsets and strides are constants in the text; arrays are pointers. Two nests with the same text are one function.
"""

from tensorgrad.kernels import mathematics
from tensorgrad.kernels.mathematics import TYPES, Body, kind_of, literal
from tensorgrad.kernels.schedule import contiguous
from tensorgrad.kernels.values import VIEWS, CannotRecord

LONG_SUM = 1 << 14  # numbers that are added up in one row
LONG = 8  # turns from which an inner loop stays a loop, so that it is vectorised and not the loop around it
LOOP = ", !loop"  # where its metadata will stand
BARRIERS = ("embed", "scatter", "gather")
THREADS_FROM = 200_000  # element operations in a nest from which a second thread pays
COST = {"exp": 12, "log": 14, "tanh": 20, "erf": 25, "power": 40, "divide": 3, "sqrt": 4}


def stored_type(kind):
    return "i8" if kind == "b1" else TYPES[kind]


def identity(kind, dtype):
    """The number that a reduction begins with, as a literal."""
    letter = kind_of(dtype)
    if kind in ("add", "any"):
        return literal(0, letter)
    if kind in ("multiply", "all"):
        return literal(1, letter)
    if letter[0] == "f":
        return literal(float("-inf") if kind == "maximum" else float("inf"), letter)
    if letter == "b1":
        return literal(kind == "minimum", letter)
    bits = dtype.itemsize * 8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if letter[0] == "i" else (0, (1 << bits) - 1)
    return str(low if kind == "maximum" else high)


def piece_of(size):
    """The largest part of up to 4096 that a long row can be cut into evenly, 0 if there is none of a useful size."""
    if size <= LONG_SUM:
        return 0
    return next((n for n in range(4096, 255, -1) if size % n == 0), 0)


class Nest:
    """The function of one nest of loops."""

    def __init__(self, step, plan, stores, declared):
        self.step, self.plan, self.stores = step, plan, stores  # stores: Value -> the Value whose buffer it goes to
        self.body = Body(declared)
        self.bases, self.registers, self.loads = {}, {}, {}
        self.members = set(step.members)
        self.choose_loops()

    # Which dimensions become loops

    def reads(self):
        """(argument, the shape it is seen in) for what members load from memory by offset and strides."""
        for value in self.step.members:
            if value.op in BARRIERS:
                continue
            for arg in value.args:
                if not self.in_register(arg) and arg.op not in ("const", "iota"):
                    yield arg

    def in_register(self, arg):
        return arg in self.members and arg.op not in ("reduce", "scatter")

    def choose_loops(self):
        shape = self.step.shape
        rank = len(shape)
        strides = [self.plan.access(arg).strides for arg in self.reads()]
        strides += (
            [contiguous(shape)]
            if any(v.op not in ("reduce", "scatter") and v in self.plan.stored for v in self.step.members)
            else []
        )
        strides += [contiguous(v.attr[0].shape) for v in self.step.members if v.op == "part"]
        sets = [set(v.attr[1]) for v in self.step.members if v.op == "reduce"]
        alone = {a.attr for v in self.step.members for a in v.args if a.op == "iota"}
        alone |= {v.attr for v in self.step.members if v.op == "iota"}
        alone |= {a.args[0].attr for v in self.step.members for a in v.args if a.op in VIEWS and a.args[0].op == "iota"}
        barrier = any(v.op in BARRIERS for v in self.step.members)
        self.sizes, self.loop_of = [], {}
        last = None
        for axis in range(rank):
            if shape[axis] == 1:
                continue
            merge = last is not None and not barrier and axis not in alone and last not in alone
            merge = merge and all(s[last] == s[axis] * shape[axis] for s in strides)
            merge = merge and all((axis in r) == (last in r) for r in sets)
            merge = merge and not (sets and self.sizes[-1] * shape[axis] > LONG_SUM)
            if merge:
                self.sizes[-1] *= shape[axis]
            else:
                self.sizes.append(shape[axis])
            self.loop_of[axis] = len(self.sizes) - 1
            last = axis
        last_axes = {loop: axis for axis, loop in self.loop_of.items()}  # of each loop: its stride is the loop's
        reduced = {self.loop_of[a] for r in sets for a in r if a in self.loop_of}
        sizes, self.inner_axis, moved = [], {}, {}  # loop -> (its last axis, how many of its elements a turn goes over)
        for loop, size in enumerate(self.sizes):
            piece = 0 if loop not in reduced or barrier or last_axes[loop] in alone else piece_of(size)
            moved[loop] = (len(sizes), len(sizes) + 1) if piece else (len(sizes),)
            for part, step in ((size // piece, piece), (piece, 1)) if piece else ((size, 1),):
                self.inner_axis[len(sizes)] = last_axes[loop], step
                sizes.append(part)
        self.sizes, self.loops_of = sizes, {axis: moved[loop] for axis, loop in self.loop_of.items()}

    # Addresses

    def pointer(self, base):
        base = self.stores.get(base, base)
        if base not in self.bases:
            self.bases[base] = f"%p{len(self.bases)}"
        return self.bases[base]

    def index(self, axis):
        """The register of an axis that is a loop of its own."""
        loops = self.loops_of.get(axis)
        return "0" if loops is None else f"%i{loops[0]}"

    def place(self, offset, strides, loops=None):
        """The register of offset + sum of loop index times stride; strides are per axis."""
        total = str(offset)
        for loop, (axis, step) in self.inner_axis.items():
            stride = strides[axis] * step
            if not stride or (loops is not None and loop not in loops):
                continue
            part = f"%i{loop}"
            if stride != 1:
                part = self.body.add(f"mul nsw i64 {part}, {stride}")
            total = part if total == "0" else self.body.add(f"add nsw i64 {total}, {part}")
        return total

    def load(self, base, place, kind):
        pointer = self.pointer(base)
        t = stored_type(kind)
        address = self.body.add(f"getelementptr inbounds {t}, ptr {pointer}, i64 {place}")
        x = self.body.add(f"load {t}, ptr {address}, align {max(1, base.dtype.itemsize)}")
        return self.body.add(f"icmp ne i8 {x}, 0") if kind == "b1" else x

    def store(self, value, register, place):
        pointer = self.pointer(value)
        kind = kind_of(value.dtype)
        t = stored_type(kind)
        if kind == "b1":
            register = self.body.add(f"zext i1 {register} to i8")
        address = self.body.add(f"getelementptr inbounds {t}, ptr {pointer}, i64 {place}")
        self.body.lines.append(f"  store {t} {register}, ptr {address}, align {max(1, value.dtype.itemsize)}")

    # Numbers

    def argument(self, arg):
        kind = kind_of(arg.dtype)
        if arg.op == "const":
            return literal(arg.attr[1], kind)
        if arg.op == "iota":
            return self.index(arg.attr)
        if self.in_register(arg):
            return self.registers[arg]
        if arg.op in VIEWS and arg.op == "expand" and arg.args[0].op == "const":
            return literal(arg.args[0].attr[1], kind)
        access = self.plan.access(arg)
        key = access.base, access.offset, access.strides
        if key not in self.loads:
            self.loads[key] = self.load(access.base, self.place(access.offset, access.strides), kind)
        return self.loads[key]

    def compute(self, value):
        op, body = value.op, self.body
        kind = kind_of(value.dtype)
        if op in ("copy", "part"):
            return self.argument(value.args[0])
        if op == "embed":
            return self.embedded(value, kind)
        if op == "gather":
            return self.gathered(value, kind)
        if op in ("reduce", "scatter"):
            return self.argument(value.args[-1 if op == "reduce" else 1])
        if op not in mathematics.FUNCTIONS:
            raise CannotRecord(op)
        args = [self.argument(a) for a in value.args]
        kinds = [kind_of(a.dtype) for a in value.args]
        if kind == "f2" and op not in ("where", "cast"):
            raise CannotRecord("half precision is computed in float32")
        return mathematics.number(body, op, args, kinds, kind)

    def embedded(self, value, kind):
        """Zero, or the element of the smaller array that belongs here."""
        (arg,), (starts, steps), body = value.args, value.attr, self.body
        access = self.plan.access(arg)
        inside, place = "true", str(access.offset)
        for axis, (start, step, n) in enumerate(zip(starts, steps, arg.shape, strict=True)):
            if start == 0 and step == 1 and n == value.shape[axis]:
                at = self.index(axis)
            else:
                at = body.add(f"sub nsw i64 {self.index(axis)}, {start}")
                if step != 1:
                    rest = body.add(f"srem i64 {at}, {step}")
                    inside = body.add(f"and i1 {inside}, {body.add(f'icmp eq i64 {rest}, 0')}")
                    at = body.add(f"sdiv i64 {at}, {step}")
                inside = body.add(f"and i1 {inside}, {body.add(f'icmp ult i64 {at}, {n}')}")
            if access.strides[axis]:
                part = body.add(f"mul nsw i64 {at}, {access.strides[axis]}")
                place = body.add(f"add nsw i64 {place}, {part}")
        place = body.add(f"select i1 {inside}, i64 {place}, i64 {access.offset}")
        x = self.load(access.base, place, kind)
        return body.add(f"select i1 {inside}, {TYPES[kind]} {x}, {TYPES[kind]} {literal(0, kind)}")

    def row(self, index, count, lead):
        """The row that an index points at; `lead`: how many of the nest's axes it spans. Negative ones count from the end."""
        access = self.plan.access(index)
        strides = (*access.strides, *(0,) * (len(self.step.shape) - lead))
        at = self.load(access.base, self.place(access.offset, strides), kind_of(index.dtype))
        at = mathematics.cast(self.body, at, kind_of(index.dtype), "i8")
        negative = self.body.add(f"icmp slt i64 {at}, 0")
        at = self.body.add(f"select i1 {negative}, i64 {self.body.add(f'add i64 {at}, {count}')}, i64 {at}")
        return self.body.add(
            f"call i64 @llvm.smax.i64(i64 0, i64 {self.body.add(f'call i64 @llvm.smin.i64(i64 {at}, i64 {count - 1})')})"
        )

    def gathered(self, value, kind):
        table, index = value.args
        access, lead = self.plan.access(table), len(index.shape)
        self.body.declared["llvm.smax.i64"] = "declare i64 @llvm.smax.i64(i64, i64)"
        self.body.declared["llvm.smin.i64"] = "declare i64 @llvm.smin.i64(i64, i64)"
        at = self.row(index, table.shape[0], lead)
        place = self.place(access.offset, (*(0,) * lead, *access.strides[1:]))
        start = self.body.add(f"mul nsw i64 {at}, {access.strides[0]}")
        return self.load(access.base, self.body.add(f"add nsw i64 {place}, {start}"), kind)

    # Reductions

    def split(self, value):
        """(first loop of the register part, whether memory collects the rest) of a reduction."""
        loops = {loop for a in value.attr[1] for loop in self.loops_of.get(a, ())}
        first = len(self.sizes)
        while first - 1 in loops:
            first -= 1
        return first, bool(loops - set(range(first, len(self.sizes))))

    def result_place(self, value):
        """Where the current element of a reduction goes: its strides seen from the nest."""
        axes = value.attr[1]
        kept = [a for a in range(len(self.step.shape)) if a not in axes]
        strides = dict(zip(kept, contiguous(value.shape), strict=True))
        return self.place(0, [strides.get(a, 0) for a in range(len(self.step.shape))])

    def combine(self, kind, dtype, a, b):
        letter = kind_of(dtype)
        if letter[0] == "f" and kind in ("add", "multiply"):
            return self.body.add(f"f{'add' if kind == 'add' else 'mul'} reassoc contract {TYPES[letter]} {a}, {b}")
        op = {"all": "logical_and", "any": "logical_or"}.get(kind, kind)
        return mathematics.number(self.body, op, [a, b], [letter, letter], letter)

    def into_memory(self, value, kind, register, place):
        old = self.load(value, place, kind_of(value.dtype))
        self.store(value, self.combine(kind, value.dtype, old, register), place)

    # The text

    def text(self):
        """(parameters as stored Values, IR of the body with the function's name left open, whether threads may share it)."""
        depth = len(self.sizes)
        out, opening = [], []
        reductions = [v for v in self.step.members if v.op == "reduce"]
        parts = {v: self.split(v) for v in reductions}
        collects = [v for v in reductions if parts[v][1]] + [v for v in self.step.members if v.op == "scatter"]
        # A sum has a register for each loop that it goes over, so that no long row of small numbers is added to a large one
        slots = {v: {k: f"%acc{n}.{k}" for k in range(parts[v][0], depth)} for n, v in enumerate(reductions)}
        for v, levels in slots.items():
            opening += [f"  {slot} = alloca {TYPES[kind_of(v.dtype)]}" for slot in levels.values()]
        opening += self.fills(collects)
        lines = self.body.lines

        def begin(loop):
            for v, levels in slots.items():
                if loop in levels:
                    lines.append(
                        f"  store {TYPES[kind_of(v.dtype)]} {identity(v.attr[0], v.dtype)}, ptr {levels[loop]}"
                    )
            low, high = ("%lo", "%hi") if loop == 0 else ("0", str(self.sizes[loop]))
            del high
            lines.append(f"  br label %pre{loop}")
            lines.append(f"pre{loop}:")
            lines.append(f"  br label %loop{loop}")
            lines.append(f"loop{loop}:")
            lines.append(f"  %i{loop} = phi i64 [ {low}, %pre{loop} ], [ %n{loop}, %latch{loop} ]")

        def end(loop):
            high = "%hi" if loop == 0 else str(self.sizes[loop])
            lines.append(f"  br label %latch{loop}")
            lines.append(f"latch{loop}:")
            lines.append(f"  %n{loop} = add nuw nsw i64 %i{loop}, 1")
            lines.append(f"  %c{loop} = icmp slt i64 %n{loop}, {high}")
            whole = loop == depth - 1 and loop and self.sizes[loop] >= LONG
            lines.append(f"  br i1 %c{loop}, label %loop{loop}, label %exit{loop}{LOOP if whole else ''}")
            lines.append(f"exit{loop}:")
            for v, levels in slots.items():
                if loop not in levels:
                    continue
                t = TYPES[kind_of(v.dtype)]
                x = self.body.add(f"load {t}, ptr {levels[loop]}")
                if loop - 1 in levels:
                    old = self.body.add(f"load {t}, ptr {levels[loop - 1]}")
                    lines.append(f"  store {t} {self.combine(v.attr[0], v.dtype, old, x)}, ptr {levels[loop - 1]}")
                else:
                    place = self.result_place(v)
                    if parts[v][1]:
                        self.into_memory(v, v.attr[0], x, place)
                    else:
                        self.store(v, x, place)

        for loop in range(depth):
            begin(loop)
        finished = []  # stored at the end of a turn: an input whose memory takes a result is read before that
        for value in self.step.members:
            register = self.compute(value)
            if value.op == "reduce":
                kind = value.attr[0]
                if slots[value]:
                    t, slot = TYPES[kind_of(value.dtype)], slots[value][depth - 1]
                    old = self.body.add(f"load {t}, ptr {slot}")
                    lines.append(f"  store {t} {self.combine(kind, value.dtype, old, register)}, ptr {slot}")
                elif parts[value][1]:
                    self.into_memory(value, kind, register, self.result_place(value))
                else:
                    self.store(value, register, self.result_place(value))
                continue
            if value.op == "scatter":
                self.scattered(value, register)
                continue
            self.registers[value] = register
            if value in self.plan.stored or value.op == "part":
                finished.append((value, register))
        whole = self.place(0, contiguous(self.step.shape)) if any(v.op != "part" for v, _ in finished) else None
        for value, register in finished:
            if value.op == "part":
                target, axis, start = value.attr
                strides = contiguous(target.shape)
                self.store(target, register, self.place(start * strides[axis], strides))
            else:
                self.store(value, register, whole)
        for loop in reversed(range(depth)):
            end(loop)
        out = ["entry:", *opening, *lines, "  ret void"]
        outer = {v for v in reductions if any(0 in self.loops_of.get(a, ()) for a in v.attr[1])}
        return list(self.bases), "\n".join(out), depth > 0 and not outer and not collects

    def scattered(self, value, register):
        index, _ = value.args
        lead = len(index.shape)
        self.body.declared["llvm.smax.i64"] = "declare i64 @llvm.smax.i64(i64, i64)"
        self.body.declared["llvm.smin.i64"] = "declare i64 @llvm.smin.i64(i64, i64)"
        at = self.row(index, value.shape[0], lead)
        strides = contiguous(value.shape)
        place = self.place(0, (*(0,) * lead, *strides[1:]))
        start = self.body.add(f"mul nsw i64 {at}, {strides[0]}")
        self.into_memory(value, "add", register, self.body.add(f"add nsw i64 {place}, {start}"))

    def fills(self, values):
        """Set to its beginning what is collected in memory."""
        lines = []
        for n, value in enumerate(values):
            kind = value.attr[0] if value.op == "reduce" else "add"
            letter, pointer = kind_of(value.dtype), self.pointer(value)
            if kind in ("add", "any"):
                self.body.declared["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
                lines.append(
                    f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {value.size * value.dtype.itemsize}, i1 false)"
                )
                continue
            t = stored_type(letter)
            first = identity(kind, value.dtype).replace("true", "1").replace("false", "0")
            before = lines[-1][:-1] if lines and lines[-1].startswith("exitfill") else "entry"
            lines += [
                f"  br label %fill{n}", f"fill{n}:",
                f"  %f{n} = phi i64 [ 0, %{before} ], [ %g{n}, %fill{n} ]",
                f"  %q{n} = getelementptr inbounds {t}, ptr {pointer}, i64 %f{n}", f"  store {t} {first}, ptr %q{n}",
                f"  %g{n} = add i64 %f{n}, 1", f"  %h{n} = icmp slt i64 %g{n}, {value.size}",
                f"  br i1 %h{n}, label %fill{n}, label %exitfill{n}", f"exitfill{n}:",
            ]  # fmt: skip
        return lines

    def cost(self):
        """About how many operations on single numbers the nest takes."""
        total = 1
        for n in self.step.shape:
            total *= n
        return total * sum(COST.get(v.op, 1) for v in self.step.members)
