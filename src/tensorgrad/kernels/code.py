"""Code: a function in LLVM's language, written with loops and variables; sizes are known when it runs.

The loops of compiled programs (emit.py) have their sizes in the text. What eager operations call must serve every size, so
its functions are written here: `with code.loop(0, n) as i` and plain methods for arithmetic on registers (strings).
"""

import contextlib
import ctypes
import sys

import numpy as np

from tensorgrad.kernels.mathematics import Body, Floats, literal
from tensorgrad.kernels.pool import RUN


class Code(Body):
    """One function; `parameters` are (type, name) pairs, read as %name."""

    def __init__(self, name, parameters, declared, inline=False):
        super().__init__(declared)
        self.name, self.parameters, self.slots = name, parameters, []
        self.attributes = "#0" if inline else "#1"

    def text(self):
        parameters = ", ".join(
            f"{t}{' noalias' if t == 'ptr' and n[0] != '_' else ''} %{n}" for t, n in self.parameters
        )
        body = "\n".join(["entry:", *self.slots, *self.lines, "  ret void"])
        return f"define internal void @{self.name}({parameters}) {self.attributes} {{\n{body}\n}}"

    # Whole numbers

    def plus(self, x, y):
        return x if str(y) == "0" else y if str(x) == "0" else self.add(f"add nsw i64 {x}, {y}")

    def minus(self, x, y):
        return self.add(f"sub nsw i64 {x}, {y}")

    def times(self, x, y):
        return self.add(f"mul nsw i64 {x}, {y}")

    def over(self, x, y):
        return self.add(f"sdiv i64 {x}, {y}")

    def rest(self, x, y):
        return self.add(f"srem i64 {x}, {y}")

    def compare(self, how, x, y):
        return self.add(f"icmp {how} i64 {x}, {y}")

    def least(self, x, y):
        return self.call("llvm.smin.i64", "i64", ("i64", x), ("i64", y))

    def most(self, x, y):
        return self.call("llvm.smax.i64", "i64", ("i64", x), ("i64", y))

    # Memory

    def at(self, pointer, place, t):
        return self.add(f"getelementptr inbounds {t}, ptr {pointer}, i64 {place}")

    def load(self, pointer, place, t, align=None):
        aligned = f", align {align}" if align else ""
        return self.add(f"load {t}, ptr {self.at(pointer, place, t)}{aligned}")

    def store(self, x, pointer, place, t, align=None):
        aligned = f", align {align}" if align else ""
        self.lines.append(f"  store {t} {x}, ptr {self.at(pointer, place, t)}{aligned}")

    def variable(self, t, first=None):
        """A place that LLVM turns into a register."""
        self.count += 1
        slot = f"%s{self.count}"
        self.slots.append(f"  {slot} = alloca {t}")
        if first is not None:
            self.set(slot, first, t)
        return slot

    def get(self, slot, t):
        return self.add(f"load {t}, ptr {slot}")

    def set(self, slot, x, t):
        self.lines.append(f"  store {t} {x}, ptr {slot}")

    # Flow

    @contextlib.contextmanager
    def loop(self, first, last, step=1):
        """for index in range(first, last, step)."""
        slot = self.variable("i64", first)
        n = self.count
        self.lines += [f"  br label %head{n}", f"head{n}:"]
        index = self.get(slot, "i64")
        go_on = self.compare("slt", index, last)
        self.lines += [f"  br i1 {go_on}, label %body{n}, label %exit{n}", f"body{n}:"]
        yield index
        self.set(slot, self.plus(index, step), "i64")
        self.lines += [f"  br label %head{n}", f"exit{n}:"]

    @contextlib.contextmanager
    def when(self, condition):
        self.count += 1
        n = self.count
        self.lines += [f"  br i1 {condition}, label %then{n}, label %after{n}", f"then{n}:"]
        yield
        self.lines += [f"  br label %after{n}", f"after{n}:"]

    def run(self, name, *arguments):
        """Call another function; arguments are (type, register)."""
        self.lines.append(f"  call void @{name}({', '.join(f'{t} {r}' for t, r in arguments)})")


class Vectors:
    """Vectors of floating-point numbers in a Code: as wide as the processor's registers."""

    def __init__(self, code, kind, lanes):
        self.code, self.kind, self.lanes = code, kind, lanes
        self.scalar = "float" if kind == "f4" else "double"
        self.type, self.size = f"<{lanes} x {self.scalar}>", 4 if kind == "f4" else 8
        self.suffix = f"v{lanes}f{8 * self.size}"

    def load(self, pointer, place):
        address = self.code.at(pointer, place, self.scalar)
        return self.code.add(f"load {self.type}, ptr {address}, align {self.size}")

    def store(self, x, pointer, place):
        address = self.code.at(pointer, place, self.scalar)
        self.code.lines.append(f"  store {self.type} {x}, ptr {address}, align {self.size}")

    def spread(self, x):
        """A number in every lane."""
        one = self.code.add(f"insertelement {self.type} poison, {self.scalar} {x}, i64 0")
        return self.code.add(
            f"shufflevector {self.type} {one}, {self.type} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def fma(self, x, y, z):
        t = self.type
        return self.code.call(f"llvm.fma.{self.suffix}", t, (t, x), (t, y), (t, z))

    def total(self, x):
        """The sum of the lanes."""
        function, s = f"llvm.vector.reduce.fadd.{self.suffix}", self.scalar
        self.code.declared[function] = f"declare {s} @{function}({s}, {self.type})"
        return self.code.add(f"call reassoc {s} @{function}({s} {literal(0, self.kind)}, {self.type} {x})")


class Part(Code):
    """A thread's share of a kernel: the fields of its table by name, and numbers of one floating type."""

    def __init__(self, name, names, pointers, kind, declared, floats=()):
        super().__init__(f"{name}_work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
        self.kind, self.t = kind, "float" if kind == "f4" else "double"
        self.f = {}
        for place, field in enumerate(names):
            t = "ptr" if field in pointers else self.t if field in floats else "i64"
            self.f[field] = self.get(self.at("%table", place, "i64"), t)
        self.math = Floats(self, kind)

    def share(self, count):
        """The loop over this thread's part of a range."""
        low = self.over(self.times(count, "%t"), "%T")
        return self.loop(low, self.over(self.times(count, self.plus("%t", 1)), "%T"))

    def read(self, pointer, place):
        return self.load(pointer, place, self.t)

    def write(self, x, pointer, place):
        self.store(x, pointer, place, self.t)

    def number(self, value=0.0):
        return self.variable(self.t, literal(value, self.kind))

    def value(self, slot):
        return self.get(slot, self.t)

    def gather(self, slot, x):
        """slot += x, in any order."""
        self.set(slot, self.add(f"fadd reassoc contract {self.t} {self.value(slot)}, {x}"), self.t)

    def there(self, pointer):
        return self.add(f"icmp ne ptr {pointer}, null")

    def either(self, condition, yes, no):
        """Two branches."""
        with self.when(condition):
            yes()
        with self.when(self.add(f"xor i1 {condition}, true")):
            no()


def words(text):
    """The names of a table's fields."""
    return tuple(text.split())


HEAD = object.__basicsize__  # bytes before the first field of an array, as C sees it: the address of its numbers
_field = ctypes.c_ssize_t.from_address


def _stated(array):
    return 0 if array is None else array.__array_interface__["data"][0]


def _read(array):
    return 0 if array is None else _field(id(array) + HEAD).value


def _is_read():
    """Whether the field is where it is expected: NumPy's headers promise it to C, and Python's dictionary takes a microsecond."""
    if sys.implementation.name != "cpython":
        return False
    probe = np.zeros(2)[1:]
    return _read(probe) == _stated(probe)


# address(array): where an array's numbers begin, as a number; 0 for None
address = _read if _is_read() else _stated


MODULE_END = """attributes #0 = { nounwind alwaysinline "no-trapping-math"="true" "min-legal-vector-width"="512" }
attributes #1 = { nounwind noinline "no-trapping-math"="true" "min-legal-vector-width"="512" }
"""


def parallel(name, work, declared, most):
    """The text of a public function of one pointer that runs work(pointer, number, count) for every number, shared by threads.

    The count is the first number that the pointer points at.
    """
    if most == 1:
        return f"define void @{name}(ptr %table) #1 {{\n  call void @{work}(ptr %table, i64 0, i64 1)\n  ret void\n}}"
    declared[RUN] = f"declare void @{RUN}(ptr, ptr, i64)"
    return f"""define void @{name}(ptr %table) #1 {{
  %count = load i64, ptr %table
  call void @{RUN}(ptr @{work}, ptr %table, i64 %count)
  ret void
}}"""


def module(functions, public, declared):
    """The whole text: Codes, and texts of public functions."""
    return "\n\n".join([*[f.text() for f in functions], *public, *declared.values(), MODULE_END])
