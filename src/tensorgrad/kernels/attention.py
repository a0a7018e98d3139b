"""Attention without a mask, or a causal one, in code made for this processor: each thread takes some heads.

The keys and values of a head are laid out in panels. Then a few queries at a time have their scores, the exponentials of
those and their results formed while everything is near; what comes after the last key that a query sees is not computed.
The backward pass forms the scores again, a block of queries at a time, and adds to the gradients of keys and values.
"""

import functools
import math

import numpy as np

from tensorgrad.kernels import machine, tiles
from tensorgrad.kernels.code import Code, module, parallel
from tensorgrad.kernels.direct import Shape, blocked
from tensorgrad.kernels.mathematics import Floats, literal

BLOCK = 1 << 14  # scores that the backward pass has at a time
THREADS_FROM = 300_000  # multiply-adds from which a second thread pays

COMMON = ("threads", "items", "L", "S", "E", "V", "SP", "EP", "VP", "causal", "block", "scratch_step", "QS", "KS", "VS", "OS",
          "*q", "*k", "*v", "*out", "*sums", "*q_at", "*k_at", "*v_at", "*out_at", "*scale", "*zero", "*scratch")  # fmt: skip
BACKWARD = (*COMMON, "GQS", "GKS", "GVS", "*gq", "*gk", "*gv", "*gq_at", "*gk_at", "*gv_at")


class Writer:
    """What forward and backward share: the fields of the table, and how parts of arrays are reached."""

    def __init__(self, names, kind, shape, declared):
        self.code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
        self.kind, self.type, self.size = kind, "float" if kind == "f4" else "double", 4 if kind == "f4" else 8
        self.width, self.rows, self.names = tiles.width(shape), tiles.sizes(shape), names
        code = self.code
        self.f = {n.strip("*"): code.load("%table", k, "ptr" if n[0] == "*" else "i64") for k, n in enumerate(names)}
        self.scale = code.load(self.f["scale"], 0, self.type)
        self.used = code.at(self.f["scratch"], code.times("%t", self.f["scratch_step"]), self.type)
        items = self.f["items"]
        self.low, self.high = (code.over(code.times(items, t), "%T") for t in ("%t", code.plus("%t", 1)))

    def room(self, count):
        """Scratch memory."""
        here = self.used
        self.used = self.code.at(here, count, self.type)
        return here

    def at(self, pointer, place):
        return self.code.at(pointer, place, self.type)

    def of(self, name, item):
        """The array of a head."""
        return self.at(self.f[name], self.code.load(self.f[name + "_at"], item, "i64"))

    def seen(self, query):
        """How many keys a query sees."""
        code = self.code
        causal = code.compare("ne", self.f["causal"], 0)
        some = code.least(code.plus(query, 1), self.f["S"])
        return code.add(f"select i1 {causal}, i64 {some}, i64 {self.f['S']}")

    def whole(self, count):
        """Rounded up to whole panels."""
        return self.code.times(self.code.over(self.code.plus(count, self.width - 1), self.width), self.width)

    def upright(self, x, step, rows, columns, to, scale=None):
        """Panels of x: x[row, column] at [column // width][row][column % width]."""
        self.code.run(
            "upright", ("ptr", x), ("i64", step), ("i64", rows), ("i64", columns), ("ptr", to),
            (self.type, scale or literal(1, self.kind)),
        )  # fmt: skip

    def turned(self, x, step, rows, columns, to, scale=None):
        """Panels of x transposed: x[row, column] at [row // width][column][row % width]."""
        self.code.run(
            "turned", ("ptr", x), ("i64", step), ("i64", rows), ("i64", columns), ("ptr", to),
            (self.type, scale or literal(1, self.kind)),
        )  # fmt: skip


def write_packing(name, kind, width, declared):
    """upright and turned."""
    t = "float" if kind == "f4" else "double"
    parameters = [("ptr", "x"), ("i64", "step"), ("i64", "rows"), ("i64", "columns"), ("ptr", "to"), (t, "scale")]
    code = Code(name, parameters, declared)
    with code.loop(0, "%rows") as row:
        line = code.at("%x", code.times(row, "%step"), t)
        if name == "turned":
            inside, panel = code.rest(row, width), code.over(row, width)
            to = code.at("%to", code.plus(code.times(code.times(panel, "%columns"), width), inside), t)
            with code.loop(0, "%columns") as column:
                x = code.add(f"fmul {t} {code.load(line, column, t)}, %scale")
                code.store(x, to, code.times(column, width), t)
        else:
            to = code.at("%to", code.times(row, width), t)
            with code.loop(0, "%columns", width) as first:
                panel = code.at(to, code.times(first, "%rows"), t)
                part, count = code.at(line, first, t), code.least(code.minus("%columns", first), width)
                with code.loop(0, count) as column:
                    x = code.add(f"fmul {t} {code.load(part, column, t)}, %scale")
                    code.store(x, panel, column, t)
    return code


class Rows:
    """Loops over whole panels of a row, `VECTORS` vectors at a time."""

    def __init__(self, name, parameters, kind, lanes, declared):
        t = "float" if kind == "f4" else "double"
        self.code = Code(
            name, [*[("ptr", p) for p in parameters.split()], ("i64", "seen"), ("i64", "M")], declared, True
        )
        self.kind, self.t, self.lanes = kind, t, lanes
        self.f = tiles.VectorFloats(self.code, kind, lanes)
        self.v, self.one = self.f.v, Floats(self.code, kind)

    def reduced(self, start, step, join):
        """A vector that collects the row: step(sum so far, place) for each vector, the sums joined at the end."""
        slots = [self.code.variable(self.v.type, start) for _ in range(tiles.VECTORS)]
        with self.code.loop(0, "%M", tiles.VECTORS * self.lanes) as j:
            for c, slot in enumerate(slots):
                x = step(self.code.get(slot, self.v.type), self.code.plus(j, c * self.lanes))
                self.code.set(slot, x, self.v.type)
        return functools.reduce(join, [self.code.get(slot, self.v.type) for slot in slots])


def write_weigh(kind, lanes, declared):
    """Exponentials of the scores of a query in place; sums: the largest score, and 1 / the sum of the exponentials."""
    r = Rows("weigh", "s sums", kind, lanes, declared)
    code, v, f = r.code, r.v, r.f
    largest = lambda x, y: f.intrinsic("maximum", x, y)

    def look(x, j):
        seen = f.select(f.before(j, "%seen"), v.load("%s", j), -math.inf)
        v.store(seen, "%s", j)
        return largest(x, seen)

    top = r.reduced(f.lit(-math.inf), look, largest)
    top = code.call(f"llvm.vector.reduce.fmaximum.{v.suffix}", r.t, (v.type, top))
    tops = v.spread(top)

    def raise_to(x, j):
        e = f.exp(f.exact("fsub", v.load("%s", j), tops))
        v.store(e, "%s", j)
        return f.plus(x, e)

    total = v.total(r.reduced("zeroinitializer", raise_to, f.plus))
    code.store(top, "%sums", 0, r.t)
    code.store(r.one.over(1.0, total), "%sums", 1, r.t)
    return code


def write_slopes(kind, lanes, declared):
    """s: scores of a query, which become exponentials; d: what arrives at the weights, which becomes what arrives at the scores."""
    r = Rows("slopes", "s sums d", kind, lanes, declared)
    code, v, f = r.code, r.v, r.f
    tops = v.spread(code.load("%sums", 0, r.t))

    def raise_to(x, j):
        e = f.exp(f.exact("fsub", v.load("%s", j), tops))
        e = f.select(f.before(j, "%seen"), e, 0.0)
        v.store(e, "%s", j)
        return f.fma(e, v.load("%d", j), x)

    mean = v.total(r.reduced("zeroinitializer", raise_to, f.plus))
    means = v.spread(r.one.times(mean, code.load("%sums", 1, r.t)))
    with code.loop(0, "%M", lanes) as j:
        v.store(f.times(v.load("%s", j), f.minus(v.load("%d", j), means)), "%d", j)
    return code


def write_copy(kind, lanes, declared):
    """to[j] = x[j] * scale."""
    t = "float" if kind == "f4" else "double"
    code = Code("scaled", [("ptr", "x"), (t, "scale"), ("ptr", "to"), ("i64", "n")], declared, inline=True)
    f = tiles.VectorFloats(code, kind, lanes)
    scales, whole = f.v.spread("%scale"), code.times(code.over("%n", lanes), lanes)
    with code.loop(0, whole, lanes) as j:
        f.v.store(f.times(f.v.load("%x", j), scales), "%to", j)
    with code.loop(whole, "%n") as j:
        code.store(code.add(f"fmul {t} {code.load('%x', j, t)}, %scale"), "%to", j, t)
    return code


def write_forward(kind, shape, declared):
    w = Writer(COMMON, kind, shape, declared)
    code, f, t = w.code, w.f, w.type
    most = w.rows[0]
    keys, values = w.room(code.times(f["SP"], f["E"])), w.room(code.times(f["S"], f["VP"]))
    scores, result = w.room(code.times(f["SP"], most)), w.room(code.times(f["VP"], most))
    with code.loop(w.low, w.high) as item:
        q, out = w.of("q", item), w.of("out", item)
        w.turned(w.of("k", item), f["KS"], f["S"], f["E"], keys, w.scale)
        w.upright(w.of("v", item), f["VS"], f["S"], f["V"], values)
        sums = w.at(f["sums"], code.times(code.times(item, f["L"]), 2))

        def tile(size, first):
            stop = w.seen(code.plus(first, size - 1))
            wide, zero = w.whole(stop), (f["zero"], 0)
            queries = w.at(q, code.times(first, f["QS"])), f["QS"]
            tiles.product(code, size, queries, keys, (scores, f["SP"]), f["E"], wide, zero)
            with code.loop(0, size) as r:
                query = code.plus(first, r)
                code.run("weigh", ("ptr", w.at(scores, code.times(r, f["SP"]))), ("ptr", w.at(sums, code.times(query, 2))),
                         ("i64", w.seen(query)), ("i64", wide))  # fmt: skip
            tiles.product(code, size, (scores, f["SP"]), values, (result, f["VP"]), stop, f["VP"], zero, PK=f["S"])
            with code.loop(0, size) as r:
                query = code.plus(first, r)
                factor = code.load(sums, code.plus(code.times(query, 2), 1), t)
                code.run("scaled", ("ptr", w.at(result, code.times(r, f["VP"]))), (t, factor),
                         ("ptr", w.at(out, code.times(query, f["OS"]))), ("i64", f["V"]))  # fmt: skip

        blocked(code, 0, f["L"], w.rows, tile)
    return code


def write_backward(kind, shape, declared):
    w = Writer(BACKWARD, kind, shape, declared)
    code, f, t, one = w.code, w.f, w.type, literal(1, kind)
    most = w.rows[0]
    turned_keys, keys = w.room(code.times(f["SP"], f["E"])), w.room(code.times(f["S"], f["EP"]))
    turned_values = w.room(code.times(f["SP"], f["V"]))
    gk, gv = w.room(code.times(f["SP"], f["EP"])), w.room(code.times(f["SP"], f["VP"]))
    scores, slopes = (w.room(code.times(f["SP"], f["block"])) for _ in range(2))
    arrived, arrived_panels = w.room(code.times(f["V"], f["block"])), w.room(code.times(f["VP"], f["block"]))
    queries, back = w.room(code.times(f["EP"], f["block"])), w.room(code.times(f["EP"], most))
    zero = (f["zero"], 0)
    bytes_of = lambda n: code.times(n, w.size)
    code.declared["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    with code.loop(w.low, w.high) as item:
        q, k, v, g, gq = (w.of(name, item) for name in ("q", "k", "v", "out", "gq"))
        w.turned(k, f["KS"], f["S"], f["E"], turned_keys, w.scale)
        w.upright(k, f["KS"], f["S"], f["E"], keys, w.scale)
        w.turned(v, f["VS"], f["S"], f["V"], turned_values)
        for part, width in ((gk, f["EP"]), (gv, f["VP"])):
            count = bytes_of(code.times(f["SP"], width))
            code.lines.append(f"  call void @llvm.memset.p0.i64(ptr {part}, i8 0, i64 {count}, i1 false)")
        sums = w.at(f["sums"], code.times(code.times(item, f["L"]), 2))
        with code.loop(0, f["L"], f["block"]) as start:
            count = code.least(f["block"], code.minus(f["L"], start))
            with code.loop(0, count) as r:
                query = code.plus(start, r)
                factor = code.load(sums, code.plus(code.times(query, 2), 1), t)
                code.run("scaled", ("ptr", w.at(g, code.times(query, f["OS"]))), (t, factor),
                         ("ptr", w.at(arrived, code.times(r, f["V"]))), ("i64", f["V"]))  # fmt: skip
            w.upright(arrived, f["V"], count, f["V"], arrived_panels)
            w.upright(w.at(q, code.times(start, f["QS"])), f["QS"], count, f["E"], queries, w.scale)

            def tile(size, r0, start=start):
                first = code.plus(start, r0)
                stop = w.seen(code.plus(first, size - 1))
                wide = w.whole(stop)
                mine, change = (w.at(x, code.times(r0, f["SP"])) for x in (scores, slopes))
                lines = w.at(q, code.times(first, f["QS"])), f["QS"]
                tiles.product(code, size, lines, turned_keys, (mine, f["SP"]), f["E"], wide, zero)
                lines = w.at(arrived, code.times(r0, f["V"])), f["V"]
                tiles.product(code, size, lines, turned_values, (change, f["SP"]), f["V"], wide, zero)
                with code.loop(0, size) as r:
                    query, line = code.plus(first, r), code.times(r, f["SP"])
                    code.run("slopes", ("ptr", w.at(mine, line)), ("ptr", w.at(sums, code.times(query, 2))),
                             ("ptr", w.at(change, line)), ("i64", w.seen(query)), ("i64", wide))  # fmt: skip
                tiles.product(code, size, (change, f["SP"]), keys, (back, f["EP"]), stop, f["EP"], zero, PK=f["S"])
                with code.loop(0, size) as r:
                    code.run("scaled", ("ptr", w.at(back, code.times(r, f["EP"]))), (t, one),
                             ("ptr", w.at(gq, code.times(code.plus(first, r), f["GQS"]))), ("i64", f["E"]))  # fmt: skip

            blocked(code, 0, count, w.rows, tile)
            end = w.seen(code.plus(start, code.minus(count, 1)))

            def collect(size, key, start=start, count=count):
                """Add to the gradients of some keys and values what the queries that see them send."""
                late = code.compare("ne", f["causal"], 0)
                skipped = code.most(code.minus(key, start), 0)
                skipped = code.add(f"select i1 {late}, i64 {skipped}, i64 0")
                left, line = code.minus(count, skipped), code.plus(code.times(skipped, f["SP"]), key)
                for weights, lines, into, width in (
                    (scores, arrived_panels, gv, f["VP"]),
                    (slopes, queries, gk, f["EP"]),
                ):
                    target = w.at(into, code.times(key, width)), width
                    panel = w.at(lines, code.times(skipped, w.width))
                    tiles.product(
                        code, size, (w.at(weights, line), 1), panel, target, left, width, target, PK=count, AK=f["SP"]
                    )

            blocked(code, 0, end, w.rows, collect)
        for part, name, width, n in ((gk, "gk", "EP", "E"), (gv, "gv", "VP", "V")):
            to = w.of(name, item)
            with code.loop(0, f["S"]) as key:
                code.run("scaled", ("ptr", w.at(part, code.times(key, f[width]))), (t, one),
                         ("ptr", w.at(to, code.times(key, f["GKS" if name == "gk" else "GVS"]))), ("i64", f[n]))  # fmt: skip
    return code


@functools.cache
def compiled(kind):
    """(forward, backward, columns that a panel has, rows of the largest tile)."""
    shape, found = Shape(machine.engine().features, kind), []
    for write, more in ((write_forward, write_weigh), (write_backward, write_slopes)):
        declared = {}
        codes = [tiles.write_tile(kind, shape.lanes, rows, declared) for rows in tiles.sizes(shape)]
        codes += [write_packing(name, kind, tiles.width(shape), declared) for name in ("turned", "upright")]
        codes += [
            more(kind, shape.lanes, declared),
            write_copy(kind, shape.lanes, declared),
            write(kind, shape, declared),
        ]
        public = [parallel("run", "work", declared, machine.most_threads())]
        found += machine.functions(module(codes, public, declared), ["run"])
    return (*found, tiles.width(shape), tiles.sizes(shape)[0])


# Arrays


def fits(*arrays):
    """Whether the arrays are of a kind that is compiled."""
    return arrays[0].dtype in (np.float32, np.float64) and all(a.size for a in arrays)


@functools.lru_cache(maxsize=512)
def places(shape, strides, itemsize):
    """Where each head begins, in elements."""
    total = np.zeros((), np.int64)
    for n, s in zip(shape, strides, strict=True):
        total = total[..., None] + np.arange(n) * (s // itemsize)
    return np.ascontiguousarray(total).reshape(-1)


def in_lines(x):
    """An array whose rows are stretches."""
    return (
        x
        if (x.strides[-1] == x.itemsize or x.shape[-1] == 1) and not any(s % x.itemsize for s in x.strides)
        else np.ascontiguousarray(x)
    )


class Call:
    """One run: the numbers of the table, and the arrays that must live meanwhile."""

    def __init__(self, q, k, v, sums, causal, scale, width):
        self.values, self.kept = {}, []
        batch, (L, E), (S, V) = q.shape[:-2], q.shape[-2:], v.shape[-2:]
        self.items = math.prod(batch)
        panels = lambda n: -(-n // width) * width
        self.sizes = L, S, E, V, panels(S), panels(E), panels(V)
        work = self.items * L * S * (E + V)
        self.threads = 1 if work < THREADS_FROM else max(1, min(machine.threads(), self.items))
        self.values.update(
            zip(("L", "S", "E", "V", "SP", "EP", "VP"), self.sizes, strict=True), threads=self.threads, items=self.items,
            causal=int(causal), block=1,
        )  # fmt: skip
        self.arrays(q=q, k=k, v=v)
        for name, row in (("q", "QS"), ("k", "KS"), ("v", "VS")):
            self.values[row] = self.values.pop(name + "_row")
        self.address(sums=sums, scale=np.array(scale, q.dtype), zero=np.zeros(max(self.sizes[4:]), q.dtype))

    def arrays(self, **arrays):
        for name, x in arrays.items():
            at = places(x.shape[:-2], x.strides[:-2], x.itemsize)
            self.address(**{name: x, name + "_at": at})
            self.values[name + "_row"] = x.strides[-2] // x.itemsize

    def address(self, **arrays):
        for name, x in arrays.items():
            self.kept.append(x)
            self.values[name] = x.__array_interface__["data"][0]

    def run(self, function, names, room, dtype):
        scratch = np.zeros(self.threads * room, dtype)
        self.address(scratch=scratch)
        self.values["scratch_step"] = room
        table = np.array([self.values[n.strip("*")] for n in names], np.int64)
        function(table.ctypes.data)


def attend(q, k, v, out, sums, causal, scale):
    """backends.attention.attend for arrays with the same leading dimensions, into out and sums."""
    run, _, width, rows = compiled(q.dtype.str[1:])
    call = Call(in_lines(q), in_lines(k), in_lines(v), sums, causal, scale, width)
    _, S, E, _, SP, _, VP = call.sizes
    call.arrays(out=out)
    call.values["OS"] = call.values.pop("out_row")
    call.run(run, COMMON, SP * E + S * VP + rows * (SP + VP) + width, q.dtype)


def attend_backward(g, q, k, v, sums, gq, gk, gv, causal, scale):
    """backends.attention.attend_backward, into gq, gk and gv."""
    _, run, width, rows = compiled(q.dtype.str[1:])
    call = Call(in_lines(q), in_lines(k), in_lines(v), sums, causal, scale, width)
    L, S, E, V, SP, EP, VP = call.sizes
    call.arrays(out=in_lines(g), gq=gq, gk=gk, gv=gv)
    for name, row in (("out", "OS"), ("gq", "GQS"), ("gk", "GKS"), ("gv", "GVS")):
        call.values[row] = call.values.pop(name + "_row")
    block = call.values["block"] = max(1, min(L, max(rows, BLOCK // SP // rows * rows)))
    room = SP * E + S * EP + SP * V + SP * (EP + VP) + block * (2 * SP + V + VP + EP) + rows * EP + width
    call.run(run, BACKWARD, room, q.dtype)
