"""Small matrix products inside other code: a few rows of results at a time stay in registers while they are formed.

    out[r, m] = start[r, m] + sum over k of a[r, k] * w[k, m]

w comes in panels: `width` columns of all rows lie together, one row after another, so that it is read in one stretch.
"""

import itertools

from tensorgrad.kernels.code import Code, Vectors
from tensorgrad.kernels.mathematics import Floats, literal

VECTORS = 2  # of columns that a tile works on at a time
PARAMETERS = "ptr a,i64 AR,i64 AK,i64 K,ptr w,i64 PK,i64 M,ptr _start,i64 SR,ptr _out,i64 OR"


def function(name, parameters, declared):
    """A Code whose parameters are written as "ptr x,i64 count"."""
    return Code(name, [tuple(p.split()) for p in parameters.split(",")], declared)


def sizes(shape):
    """How many rows a tile may have on a processor."""
    return (8, 4, 1) if len(shape.blocks) > 3 else (4, 1)


def width(shape):
    """Columns of a panel."""
    return VECTORS * shape.lanes


def write_tile(kind, lanes, rows, declared):
    """The function tile{rows}; AR, SR and OR are distances of rows, AK of columns, PK the rows of a whole panel."""
    code = function(f"tile{rows}", PARAMETERS, declared)
    v = Vectors(code, kind, lanes)
    with code.loop(0, "%M", VECTORS * lanes) as m:
        sums = [[code.variable(v.type) for _ in range(VECTORS)] for _ in range(rows)]
        for r, c in itertools.product(range(rows), range(VECTORS)):
            place = code.plus(code.plus(code.times("%SR", r), m), c * lanes)
            code.set(sums[r][c], v.load("%_start", place), v.type)
        panel = code.at("%w", code.times(m, "%PK"), v.scalar)
        with code.loop(0, "%K") as k:
            line = code.at(panel, code.times(k, VECTORS * lanes), v.scalar)
            column = code.at("%a", code.times("%AK", k), v.scalar)
            seen = [v.load(line, c * lanes) for c in range(VECTORS)]
            for r in range(rows):
                number = v.spread(code.load(column, code.times("%AR", r), v.scalar))
                for c in range(VECTORS):
                    code.set(sums[r][c], v.fma(number, seen[c], code.get(sums[r][c], v.type)), v.type)
        for r, c in itertools.product(range(rows), range(VECTORS)):
            place = code.plus(code.plus(code.times("%OR", r), m), c * lanes)
            v.store(code.get(sums[r][c], v.type), "%_out", place)
    return code


def product(code, rows, a, w, out, K, M, start, PK=None, AK=1):
    """Call a tile. a, out and start are (pointer, distance of rows)."""
    code.run(
        f"tile{rows}", ("ptr", a[0]), ("i64", a[1]), ("i64", AK), ("i64", K), ("ptr", w), ("i64", K if PK is None else PK),
        ("i64", M), ("ptr", start[0]), ("i64", start[1]), ("ptr", out[0]), ("i64", out[1]),
    )  # fmt: skip


class Masked(Vectors):
    """Vectors of which some lanes may be left out."""

    def plus(self, x, y):
        return self.code.add(f"fadd {self.type} {x}, {y}")

    def turned(self, rows):
        """Rows of a square of numbers become its columns: each round interleaves the first half of them with the second."""
        lanes = self.lanes
        low = [(k % 2) * lanes + k // 2 for k in range(lanes)]
        orders = [", ".join(f"i32 {n + half}" for n in low) for half in (0, lanes // 2)]
        for _ in range(lanes.bit_length() - 1):
            rows = [
                self.code.add(f"shufflevector {self.type} {x}, {self.type} {y}, <{lanes} x i32> <{order}>")
                for x, y in zip(rows, rows[lanes // 2 :], strict=False)
                for order in orders
            ]
        return rows

    def where(self, how, x):
        """Which lanes k have k < x, or another comparison."""
        lanes, code = f"<{self.lanes} x i64>", self.code
        one = code.add(f"insertelement {lanes} poison, i64 {x}, i64 0")
        all_ = code.add(f"shufflevector {lanes} {one}, {lanes} poison, <{self.lanes} x i32> zeroinitializer")
        return code.add(f"icmp {how} {lanes} <{', '.join(f'i64 {k}' for k in range(self.lanes))}>, {all_}")

    def load_where(self, mask, pointer):
        """What lies at a pointer in the lanes of a mask, else zero; the rest of the memory is not touched."""
        name, flags = f"llvm.masked.load.{self.suffix}.p0", f"<{self.lanes} x i1>"
        self.code.declared[name] = f"declare {self.type} @{name}(ptr, i32, {flags}, {self.type})"
        return self.code.add(
            f"call {self.type} @{name}(ptr {pointer}, i32 {self.size}, {flags} {mask}, {self.type} zeroinitializer)"
        )

    def store_where(self, mask, x, pointer):
        name, flags = f"llvm.masked.store.{self.suffix}.p0", f"<{self.lanes} x i1>"
        self.code.declared[name] = f"declare void @{name}({self.type}, ptr, i32, {flags})"
        self.code.lines.append(f"  call void @{name}({self.type} {x}, ptr {pointer}, i32 {self.size}, {flags} {mask})")

    def copy(self, source, target, count, change):
        """`count` numbers, changed on their way by change(vectors, x).

        The last vector begins where it ends with them: a store that leaves lanes out takes longer than two that do not.
        """
        code, lanes = self.code, self.lanes
        short, last = code.compare("slt", count, lanes), code.minus(count, lanes)
        with code.when(code.compare("sge", count, lanes)), code.loop(0, count, lanes) as j:
            j = code.least(j, last)
            self.store(change(self, self.load(source, j)), target, j)
        with code.when(short):
            if lanes > 2:
                Masked(code, self.kind, lanes // 2).copy(source, target, count, change)
            else:
                with code.loop(0, count) as j:
                    one = Masked(code, self.kind, 1)
                    one.store(change(one, one.load(source, j)), target, j)

    def prefetch(self, pointer, place):
        """Ask for what will be read soon."""
        self.code.declared["llvm.prefetch.p0"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.code.lines.append(f"  call void @llvm.prefetch.p0(ptr {self.beside(pointer, place)}, i32 0, i32 3, i32 1)")

    def beside(self, pointer, place):
        """An address that need not lie in the array."""
        return self.code.add(f"getelementptr {self.scalar}, ptr {pointer}, i64 {place}")


class VectorFloats(Floats):
    """The functions of numbers, of all lanes of a vector at once."""

    def __init__(self, code, kind, lanes):
        super().__init__(code, kind)
        self.lanes, self.scalar, self.v = lanes, self.type, Vectors(code, kind, lanes)
        self.type, self.bits = self.v.type, f"<{lanes} x {self.bits}>"

    def everywhere(self, t, x):
        return f"<{', '.join([f'{t} {x}'] * self.lanes)}>"

    def lit(self, x):
        return x if isinstance(x, str) else self.everywhere(self.scalar, literal(x, self.kind))

    def fma(self, x, y, z):
        return self.v.fma(self.lit(x), self.lit(y), self.lit(z))

    def intrinsic(self, name, *args):
        return self.body.call(f"llvm.{name}.{self.v.suffix}", self.type, *[(self.type, self.lit(a)) for a in args])

    def select(self, condition, x, y):
        t = self.type
        return self.body.add(f"select <{self.lanes} x i1> {condition}, {t} {self.lit(x)}, {t} {self.lit(y)}")

    def whole(self, op, x, y):
        if not isinstance(y, str):
            y = self.everywhere("i32" if self.single else "i64", y)
        return self.body.add(f"{op} {self.bits} {x}, {y}")

    def before(self, place, end):
        """Which lanes, the first of them at `place`, lie before `end`."""
        lanes, code = f"<{self.lanes} x i64>", self.body
        left = code.minus(end, place)
        one = code.add(f"insertelement {lanes} poison, i64 {left}, i64 0")
        left = code.add(f"shufflevector {lanes} {one}, {lanes} poison, <{self.lanes} x i32> zeroinitializer")
        return code.add(f"icmp sgt {lanes} {left}, <{', '.join(f'i64 {n}' for n in range(self.lanes))}>")
