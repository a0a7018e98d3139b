"""Convolution with kernels of 3 x 3 by Winograd's F(2 x 2, 3 x 3): 16 multiplications for each 4 results in place of 36.

The padded samples are seen as tiles of 4 x 4 that begin every second place. A tile d is turned into B' d B, a kernel w into
G w G'; products of these are summed over the channels, as 16 matrix products, and A' m A is the tile of 2 x 2 results.
Neighbours in a vector are neighbouring channels: a line of a sample is turned as it is read, so that no place of a vector is
lost however narrow the samples are, and four lines are all that is kept of them. Some rows of tiles go through all steps
together, so that they and the kernels stay in the cache.
Tiles mix places, so an infinity would spread in its tile: results that are not finite make the caller do it directly.
"""

import contextlib
import functools
import math

import numpy as np

from tensorgrad.kernels import direct, machine, tiles
from tensorgrad.kernels.code import Code, address, module, parallel, words
from tensorgrad.kernels.mathematics import literal
from tensorgrad.kernels.tiles import function

TABLE = words("""threads x w bias out flags g gw taps scratch N C O groups Cg Og H W ph pw OH OW rows across wide together
    CP OP OG CG wo wc LS GS V M OUT SB VJ MJ WJ KJ""")
POINTERS = {"x", "w", "bias", "out", "flags", "g", "gw", "taps", "scratch"}
LEAST_PLACES = 1000  # results of a channel from which turning the kernels pays
TILES = 48, 256  # that go through all steps together: at least, at most
ROWS = 6, 2, 1  # of a product that are formed at a time


def rows_of_b(x, plus, minus):
    """B' x for four rows."""
    return minus(x[0], x[2]), plus(x[1], x[2]), minus(x[2], x[1]), minus(x[1], x[3])


def rows_of_a(x, plus, minus):
    """A' x for four rows."""
    return plus(plus(x[0], x[1]), x[2]), minus(minus(x[1], x[2]), x[3])


def rows_of_a_turned(x, plus, minus):
    """A x for two rows, the last with the other sign."""
    return x[0], plus(x[0], x[1]), minus(x[0], x[1]), x[1]


class Parts(tiles.Masked):
    """Vectors of tiles' numbers."""

    def minus(self, x, y):
        return self.code.add(f"fsub {self.type} {x}, {y}")

    def half(self, x):
        part = ", ".join([f"{self.scalar} {literal(0.5, self.kind)}"] * self.lanes)
        return self.code.add(f"fmul {self.type} {x}, <{part}>")

    def rows_of_g(self, x, plus, minus):
        """G x for three rows."""
        outer = self.half(plus(x[0], x[2]))
        middle = self.half(x[1])
        return x[0], plus(outer, middle), minus(outer, middle), x[2]

    def rows_of_g_turned(self, x, plus, minus):
        """G' x for four rows, the last with the other sign: gradients come without theirs."""
        both, difference = self.half(plus(x[1], x[2])), self.half(minus(x[1], x[2]))
        return plus(x[0], both), difference, minus(both, x[3])

    def both_ways(self, tile, rows):
        """rows' tile rows, for a tile of vectors as a list of lists."""
        columns = [rows(column, self.plus, self.minus) for column in zip(*tile, strict=True)]
        return [rows(row, self.plus, self.minus) for row in zip(*columns, strict=True)]


def write_line(kind, lanes, declared):
    """A line of all channels, place after place: `count` places, of which those from `first` to `last` lie in x."""
    parameters = "ptr x,i64 area,i64 C,ptr to,i64 CP,i64 first,i64 last,i64 count,i64 ahead"
    code = function("line", parameters, declared)
    v = Parts(code, kind, lanes)
    with code.loop(0, "%count", lanes) as p:
        after = v.where("sge", code.minus("%first", p))
        mask = code.add(f"and <{lanes} x i1> {after}, {v.where('slt', code.minus('%last', p))}")
        with code.loop(0, "%C", lanes) as c:
            rows = []
            for k in range(lanes):  # the last channel stands for those behind it
                channel = code.least(code.plus(c, k), code.minus("%C", 1))
                place = code.plus(code.times(channel, "%area"), p)
                rows.append(v.load_where(mask, v.beside("%x", place)))
                v.prefetch("%x", code.plus(place, "%ahead"))
            for k, row in enumerate(v.turned(rows)):
                v.store(row, "%to", code.plus(code.times(code.plus(p, k), "%CP"), c))
    return code


def write_put(kind, lanes, declared):
    """`count` places, all outputs after one another, go to where each output lies in the result."""
    code = function("put", "ptr x,i64 OG,i64 O,ptr to,i64 area,i64 count", declared)
    v = Parts(code, kind, lanes)
    with code.loop(0, "%count", lanes) as p:
        mask = v.where("slt", code.minus("%count", p))
        with code.loop(0, "%O", lanes) as o:
            rows = [v.load("%x", code.plus(code.times(code.plus(p, k), "%OG"), o)) for k in range(lanes)]
            for k, row in enumerate(v.turned(rows)):
                output = code.plus(o, k)
                with code.when(code.compare("slt", output, "%O")):
                    v.store_where(mask, row, v.beside("%to", code.plus(code.times(output, "%area"), p)))
    return code


def write_tiles(kind, lanes, declared):
    """B' d B for neighbouring tiles of four lines."""
    code = function("tiles", "ptr l0,ptr l1,ptr l2,ptr l3,i64 C,i64 CP,ptr to,i64 jump,i64 count", declared)
    v = Parts(code, kind, lanes)

    def column(place):
        return rows_of_b([v.load(f"%l{i}", place) for i in range(4)], v.plus, v.minus)

    with code.loop(0, "%C", lanes) as c:
        known = [[code.variable(v.type, x) for x in column(p)] for p in (c, code.plus(c, "%CP"))]
        with code.loop(0, "%count") as t:
            place = code.plus(c, code.times(code.times(code.plus(t, 1), 2), "%CP"))
            columns = [[code.get(slot, v.type) for slot in slots] for slots in known]
            columns += [column(p) for p in (place, code.plus(place, "%CP"))]
            to = code.plus(c, code.times(t, "%CP"))
            tile = [rows_of_b(row, v.plus, v.minus) for row in zip(*columns, strict=True)]
            for k, x in enumerate(x for row in tile for x in row):
                v.store(x, "%to", code.plus(code.times("%jump", k), to))
            for slots, values in zip(known, columns[2:], strict=True):
                for slot, x in zip(slots, values, strict=True):
                    code.set(slot, x, v.type)
    return code


def write_spread_tiles(kind, lanes, declared):
    """A g A' for neighbouring tiles of two lines of gradients, without the signs of its last row and column."""
    code = function("spread_tiles", "ptr l0,ptr l1,i64 O,i64 OP,ptr to,i64 jump,i64 count", declared)
    v = Parts(code, kind, lanes)
    with code.loop(0, "%count") as t, code.loop(0, "%O", lanes) as o:
        place = code.plus(code.times(code.times(t, 2), "%OP"), o)
        tile = [[v.load(f"%l{i}", p) for p in (place, code.plus(place, "%OP"))] for i in range(2)]
        to = code.plus(o, code.times(t, "%OP"))
        for k, x in enumerate(x for row in v.both_ways(tile, rows_of_a_turned) for x in row):
            v.store(x, "%to", code.plus(code.times("%jump", k), to))
    return code


def write_results(kind, lanes, declared):
    """A' m A plus a bias for neighbouring tiles: two lines of results, `pitch` apart.

    `odd` gets nothing, or NaN once a number is not finite.
    """
    code = function("results", "ptr m,i64 jump,i64 OG,i64 O,ptr out,i64 pitch,i64 count,ptr bias,ptr odd", declared)
    v = Parts(code, kind, lanes)
    seen_odd = code.variable(v.type, "zeroinitializer")
    minus_zero = ", ".join([f"{v.scalar} {literal(-0.0, kind)}"] * lanes)
    biased = code.add("icmp ne ptr %bias, null")
    with code.loop(0, "%O", lanes) as o:
        bias = code.variable(v.type, f"<{minus_zero}>")
        with code.when(biased):
            known = v.load_where(v.where("slt", code.minus("%O", o)), v.beside("%bias", o))
            code.set(bias, known, v.type)
        with code.loop(0, "%count") as t:
            at = code.plus(code.times(t, "%OG"), o)
            seen = [v.load("%m", code.plus(code.times("%jump", k), at)) for k in range(16)]
            place = code.plus(code.times(code.times(t, 2), "%OG"), o)
            shift = code.get(bias, v.type)
            for row in v.both_ways([seen[4 * i : 4 * i + 4] for i in range(4)], rows_of_a):
                for x, to in zip(row, (place, code.plus(place, "%OG")), strict=True):
                    nought = code.add(f"fmul {v.type} {x}, zeroinitializer")
                    code.set(seen_odd, v.plus(code.get(seen_odd, v.type), nought), v.type)
                    v.store(v.plus(x, shift), "%out", to)
                place = code.plus(place, "%pitch")
    total = code.add(f"fadd {v.scalar} {code.get('%odd', v.scalar)}, {v.total(code.get(seen_odd, v.type))}")
    code.set("%odd", total, v.scalar)
    return code


def write_product(kind, lanes, vectors, declared):
    """m[t, o] = sum over c of v[t, c] times w[c, o], for `count` tiles and a panel of `vectors` vectors of outputs."""
    code = function(f"product{vectors}", "ptr v,i64 CP,ptr w,i64 C,ptr m,i64 OG,i64 count", declared)
    v = Parts(code, kind, lanes)

    def block(rows, t):
        sums = [[code.variable(v.type, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
        lines = [code.at("%v", code.times(code.plus(t, r), "%CP"), v.scalar) for r in range(rows)]
        with code.loop(0, "%C") as c:
            panel = code.at("%w", code.times(c, vectors * lanes), v.scalar)
            seen = [v.load(panel, k * lanes) for k in range(vectors)]
            for r in range(rows):
                number = v.spread(code.load(lines[r], c, v.scalar))
                for k in range(vectors):
                    code.set(sums[r][k], v.fma(number, seen[k], code.get(sums[r][k], v.type)), v.type)
        for r in range(rows):
            to = code.at("%m", code.times(code.plus(t, r), "%OG"), v.scalar)
            for k in range(vectors):
                v.store(code.get(sums[r][k], v.type), to, k * lanes)

    direct.blocked(code, "0", "%count", ROWS, block)
    return code


def write_outer(kind, lanes, vectors, declared):
    """m[o, c] += sum over `count` tiles of w[t, o] times v[t, c], for O outputs and `vectors` vectors of channels."""
    code = function(f"outer{vectors}", "ptr w,i64 OP,i64 O,ptr v,i64 CP,ptr m,i64 CG,i64 count", declared)
    v = Parts(code, kind, lanes)

    def block(rows, o):
        sums = [[code.variable(v.type, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
        with code.loop(0, "%count") as t:
            line = code.at("%v", code.times(t, "%CP"), v.scalar)
            numbers = code.at("%w", code.plus(code.times(t, "%OP"), o), v.scalar)
            seen = [v.load(line, k * lanes) for k in range(vectors)]
            for r in range(rows):
                number = v.spread(code.load(numbers, r, v.scalar))
                for k in range(vectors):
                    code.set(sums[r][k], v.fma(number, seen[k], code.get(sums[r][k], v.type)), v.type)
        for r in range(rows):
            to = code.at("%m", code.times(code.plus(o, r), "%CG"), v.scalar)
            for k in range(vectors):
                v.store(v.plus(v.load(to, k * lanes), code.get(sums[r][k], v.type)), to, k * lanes)

    direct.blocked(code, "0", "%O", ROWS, block)
    return code


# A thread's share


class Share(Code):
    """A thread's share of a call: the fields of its table by name."""

    def __init__(self, name, kind, lanes, vectors, declared):
        super().__init__(name, [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
        self.t, self.kind, self.lanes, self.vectors = "float" if kind == "f4" else "double", kind, lanes, vectors
        self.f = {n: self.load("%table", k, "ptr" if n in POINTERS else "i64") for k, n in enumerate(TABLE)}
        own = self.place("scratch", self.times("%t", self.f["SB"]))
        self.kept, self.v, self.m, self.out = own, *(self.at(own, self.f[n], self.t) for n in ("V", "M", "OUT"))

    def part(self, count):
        """(first, end) of the numbers below a count that are this thread's."""
        return [self.over(self.times(count, t), "%T") for t in ("%t", self.plus("%t", 1))]

    def place(self, name, at):
        return self.at(self.f[name], at, self.t)

    def pieces(self):
        """Loop over what goes through all steps together: (first row of tiles, end, first column, end)."""
        f = self.f
        self.low, self.high = self.part(self.times(f["N"], f["rows"]))
        return self.nested(f)

    @contextlib.contextmanager
    def nested(self, f):
        with self.loop(self.low, self.high, f["together"]) as r0, self.loop(0, f["across"], f["wide"]) as c0:
            r1 = self.least(self.plus(r0, f["together"]), self.high)
            yield r0, r1, c0, self.least(self.plus(c0, f["wide"]), f["across"])

    def read(self, name, sizes, sample, y, first, to, pitch, count):
        """Turn one line of x or g; `first`: the place where its numbers begin."""
        f = self.f
        channels, height, width = (f[n] for n in sizes)
        inside = self.compare("ult", y, height)
        area = self.times(height, width)
        at = self.plus(self.times(self.times(sample, channels), area), self.times(y, width))
        at = self.minus(at, first)
        last = self.add(f"select i1 {inside}, i64 {self.plus(width, first)}, i64 -1")
        source = self.add(f"getelementptr {self.t}, ptr {f[name]}, i64 {at}")
        self.run(
            "line", ("ptr", source), ("i64", area), ("i64", channels), ("ptr", to), ("i64", pitch), ("i64", first),
            ("i64", last), ("i64", count), ("i64", self.times(width, 2)),
        )  # fmt: skip

    def turn_tiles(self, r, r0, c0, c1):
        """B' d B of a row of tiles; its lines are read with the first of its columns."""
        f = self.f
        sample, row = self.over(r, f["rows"]), self.rest(r, f["rows"])
        top = self.times(row, 2)
        slot = lambda y: self.at(self.kept, self.times(self.rest(y, 4), f["LS"]), self.t)
        with self.when(self.compare("eq", c0, 0)):
            new = self.add(f"or i1 {self.compare('eq', row, 0)}, {self.compare('eq', r, self.low)}")
            known = self.add(f"select i1 {new}, i64 0, i64 2")  # lines that the row before has left
            with self.loop(known, 4) as i:
                y = self.plus(top, i)
                count = self.plus(self.times(f["across"], 2), 2)
                self.read("x", ("C", "H", "W"), sample, self.minus(y, f["ph"]), f["pw"], slot(y), f["CP"], count)
        corner = self.times(self.times(c0, 2), f["CP"])
        lines = [self.at(slot(self.plus(top, i)), corner, self.t) for i in range(4)]
        width = self.minus(c1, c0)
        first = self.times(self.times(self.minus(r, r0), width), f["CP"])
        self.run(
            "tiles", *[("ptr", line) for line in lines], ("i64", f["C"]), ("i64", f["CP"]),
            ("ptr", self.at(self.v, first, self.t)), ("i64", f["VJ"]), ("i64", width),
        )  # fmt: skip
        return sample, row, width

    def panels(self, count, call):
        """Go over the vectors that hold `count` numbers, as many at a time as there are registers for: call(vectors, place)."""
        wide = self.vectors * self.lanes
        with self.loop(0, count, wide) as place:
            left = self.minus(count, place)
            for vectors in range(1, self.vectors + 1):
                here = self.compare("sgt", left, (vectors - 1) * self.lanes)
                if vectors < self.vectors:
                    here = self.add(f"and i1 {here}, {self.compare('sle', left, vectors * self.lanes)}")
                with self.when(here):
                    call(vectors, place)


def write_kernels(kind, lanes, vectors, declared):
    """G w G' of all kernels, of any strides, for every part: panels of outputs, channel after channel."""
    code = Share("kernels_work", kind, lanes, vectors, declared)
    v, f = Parts(code, kind, lanes), code.f
    shares = code.over(f["OG"], lanes)
    taps = [code.load(f["taps"], tap, "i64") for tap in range(9)]
    with code.loop(*code.part(code.times(f["groups"], shares))) as share:
        group, o = code.over(share, shares), code.times(code.rest(share, shares), lanes)
        begin = code.times(code.over(o, vectors * lanes), vectors * lanes)  # of the panel
        wide = code.least(code.minus(f["OG"], begin), vectors * lanes)
        to = code.plus(code.times(begin, f["Cg"]), code.minus(o, begin))
        to = code.place("out", code.plus(code.times(group, code.times(f["OG"], f["Cg"])), to))
        last = code.minus(f["Og"], 1)
        rows = []
        for k in range(lanes):  # the last output stands for those behind it
            output = code.plus(code.times(group, f["Og"]), code.least(code.plus(o, k), last))
            rows.append(code.place("w", code.times(output, f["wo"])))
        with code.loop(0, f["Cg"]) as c:
            corner, tile = code.times(c, f["wc"]), []
            for tap in taps:
                seen, at = "poison", code.plus(corner, tap)
                for k, row in enumerate(rows):
                    number = code.load(row, at, v.scalar)
                    seen = code.add(f"insertelement {v.type} {seen}, {v.scalar} {number}, i64 {k}")
                tile.append(seen)
            turned = v.both_ways([tile[:3], tile[3:6], tile[6:]], v.rows_of_g)
            at = code.times(c, wide)
            for k, x in enumerate(x for row in turned for x in row):
                v.store(x, to, code.plus(code.times(f["KJ"], k), at))
    return code


def write_forward(kind, lanes, vectors, declared):
    code = Share("forward_work", kind, lanes, vectors, declared)
    t, f = code.t, code.f
    flag = code.place("flags", code.times("%t", 16))  # far enough from another thread's
    code.set(flag, literal(0, kind), t)
    area = code.times(f["OH"], f["OW"])
    biased = code.add(f"icmp ne ptr {f['bias']}, null")
    with code.pieces() as (r0, r1, c0, c1):
        with code.loop(r0, r1) as r:
            code.turn_tiles(r, r0, c0, c1)
        width = code.minus(c1, c0)
        count = code.times(code.minus(r1, r0), width)
        with code.loop(0, f["groups"]) as group:
            kernels = code.place("w", code.times(group, code.times(f["OG"], f["Cg"])))
            first = code.times(group, f["Cg"])
            with code.loop(0, 16) as k:
                seen = code.at(code.v, code.plus(code.times(k, f["VJ"]), first), t)

                def product(number, o):
                    panel = code.plus(code.times(k, f["KJ"]), code.times(o, f["Cg"]))
                    m = code.plus(code.times(k, f["MJ"]), o)
                    code.run(
                        f"product{number}", ("ptr", seen), ("i64", f["CP"]), ("ptr", code.at(kernels, panel, t)),
                        ("i64", f["Cg"]), ("ptr", code.at(code.m, m, t)), ("i64", f["OG"]), ("i64", count),
                    )  # fmt: skip

                code.panels(f["Og"], product)
            output = code.times(group, f["Og"])
            bias = code.add(f"select i1 {biased}, ptr {code.place('bias', output)}, ptr null")
            pitch = code.times(code.times(width, 2), f["OG"])
            with code.loop(r0, r1) as r:
                m = code.at(code.m, code.times(code.times(code.minus(r, r0), width), f["OG"]), t)
                code.run(
                    "results", ("ptr", m), ("i64", f["MJ"]), ("i64", f["OG"]), ("i64", f["Og"]), ("ptr", code.out),
                    ("i64", pitch), ("i64", width), ("ptr", bias), ("ptr", flag),
                )  # fmt: skip
                sample, y = code.over(r, f["rows"]), code.times(code.rest(r, f["rows"]), 2)
                x = code.times(c0, 2)
                to = code.times(code.plus(code.times(sample, f["O"]), output), area)
                to = code.plus(code.plus(to, code.times(y, f["OW"])), x)
                there = code.least(code.minus(f["OH"], y), 2)
                places = code.least(code.times(width, 2), code.minus(f["OW"], x))
                joined = code.compare("eq", code.times(width, 2), f["OW"])  # one line follows the other in both
                lines = code.add(f"select i1 {joined}, i64 1, i64 {there}")
                places = code.add(f"select i1 {joined}, i64 {code.times(places, there)}, i64 {places}")
                with code.loop(0, lines) as line:
                    source = code.at(code.out, code.times(line, pitch), t)
                    target = code.place("out", code.plus(to, code.times(line, f["OW"])))
                    code.run(
                        "put", ("ptr", source), ("i64", f["OG"]), ("i64", f["Og"]), ("ptr", target), ("i64", area),
                        ("i64", places),
                    )  # fmt: skip
    return code


def write_weight(kind, lanes, vectors, declared):
    """The products of tiles of x and of g, summed over all tiles of a thread."""
    code = Share("weight_work", kind, lanes, vectors, declared)
    t, f = code.t, code.f
    sums = code.place("out", code.times("%t", code.times(f["KJ"], 16)))
    with code.loop(0, code.times(f["KJ"], 16)) as k:
        code.store(literal(0, kind), sums, k, t)
    glines, spread = code.out, code.m
    with code.pieces() as (r0, r1, c0, c1):
        with code.loop(r0, r1) as r:
            sample, row, width = code.turn_tiles(r, r0, c0, c1)
            lines = []
            for i in range(2):
                y, line = code.plus(code.times(row, 2), i), code.at(glines, code.times(f["GS"], i), t)
                with code.when(code.compare("eq", c0, 0)):
                    count = code.times(f["across"], 2)
                    code.read("g", ("O", "OH", "OW"), sample, y, "0", line, f["OP"], count)
                lines.append(code.at(line, code.times(code.times(c0, 2), f["OP"]), t))
            first = code.times(code.times(code.minus(r, r0), width), f["OP"])
            code.run(
                "spread_tiles", *[("ptr", line) for line in lines], ("i64", f["O"]), ("i64", f["OP"]),
                ("ptr", code.at(spread, first, t)), ("i64", f["WJ"]), ("i64", width),
            )  # fmt: skip
        count = code.times(code.minus(r1, r0), code.minus(c1, c0))
        with code.loop(0, 16) as k, code.loop(0, f["groups"]) as group:
            place = code.plus(code.times(k, f["WJ"]), code.times(group, f["Og"]))
            numbers = code.at(spread, place, t)
            m = code.plus(code.times(k, f["KJ"]), code.times(group, code.times(f["Og"], f["CG"])))
            first = code.plus(code.times(k, f["VJ"]), code.times(group, f["Cg"]))

            def outer(number, c):
                code.run(
                    f"outer{number}", ("ptr", numbers), ("i64", f["OP"]), ("i64", f["Og"]),
                    ("ptr", code.at(code.v, code.plus(first, c), t)), ("i64", f["CP"]),
                    ("ptr", code.at(sums, code.plus(m, c), t)), ("i64", f["CG"]), ("i64", count),
                )  # fmt: skip

            code.panels(f["Cg"], outer)
    return code


def write_finish(kind, lanes, vectors, declared):
    """The sums of all threads as gradients of kernels; `together` says how many threads there were."""
    code = Share("finish_work", kind, lanes, vectors, declared)
    v, f = Parts(code, kind, lanes), code.f
    with code.loop(*code.part(f["O"])) as o, code.loop(0, f["Cg"], lanes) as c:
        at = code.plus(code.times(o, f["CG"]), c)
        total = [code.variable(v.type, "zeroinitializer") for _ in range(16)]
        with code.loop(0, f["together"]) as share:
            sums = code.place("out", code.plus(code.times(share, code.times(f["KJ"], 16)), at))
            for k, slot in enumerate(total):
                code.set(slot, v.plus(code.get(slot, v.type), v.load(sums, code.times(f["KJ"], k))), v.type)
        seen = [code.get(slot, v.type) for slot in total]
        found = v.both_ways([seen[4 * i : 4 * i + 4] for i in range(4)], v.rows_of_g_turned)
        last = code.minus(f["Cg"], 1)
        for k in reversed(range(lanes)):  # what the lanes behind the last channel leave in its place is written over
            channel = code.least(code.plus(c, k), last)
            to = code.place("gw", code.times(code.plus(code.times(o, f["Cg"]), channel), 9))
            for tap, x in enumerate(x for row in found for x in row):
                code.store(code.add(f"extractelement {v.type} {x}, i64 {k}"), to, tap, v.scalar)
    return code


@functools.cache
def compiled(kind):
    """(turning kernels, forward, gradient of the weights, its last step, lanes of a vector) for "f4" or "f8"."""
    features, declared = machine.engine().features, {}
    lanes = direct.Shape(features, kind).lanes
    vectors = 4 if "+avx512f" in features or "+neon" in features else 2
    plain = write_line, write_put, write_tiles, write_spread_tiles, write_results
    codes = [write(kind, lanes, declared) for write in plain]
    codes += [write(kind, lanes, n, declared) for write in (write_product, write_outer) for n in range(1, vectors + 1)]
    shares = write_kernels, write_forward, write_weight, write_finish
    codes += [write(kind, lanes, vectors, declared) for write in shares]
    names = ("kernels", "forward", "weight", "finish")
    public = [parallel(name, f"{name}_work", declared, machine.most_threads()) for name in names]
    return (*machine.functions(module(codes, public, declared), names), lanes)


def suits(samples, w_shape, stride, dilation, groups, size):
    """Whether a convolution is of this kind, and large enough to gain."""
    return (
        tuple(w_shape[2:]) == (3, 3) and tuple(stride) == tuple(dilation) == (1, 1)
        and min(w_shape[0] // groups, w_shape[1]) >= 16 and samples * math.prod(size) >= LEAST_PLACES
    )  # fmt: skip


class Plan:
    """Where everything lies: the table of a geometry, without the pointers of a call."""

    def __init__(self, x_shape, w_shape, padding, groups, size, kind):
        lanes, itemsize = compiled(kind)[-1], 4 if kind == "f4" else 8
        samples, channels, outputs = *x_shape[:2], w_shape[0]
        rows, across = (-(-n // 2) for n in size)
        work = samples * math.prod(size) * 4 * channels * outputs // groups
        self.threads = threads = machine.threads() if work > direct.THREADS_FROM else 1
        self.turners = machine.threads() if channels * outputs // groups > 1 << 14 else 1
        whole = lambda n: -(-n // lanes) * lanes
        CP, OP, CG, OG = whole(channels), whole(outputs), whole(channels // groups), whole(outputs // groups)
        least, most = TILES
        many = max(least, min(direct.L2_BYTES // (16 * itemsize * (CP + OP)), most))
        wide, together = min(across, many), max(1, many // across)
        together = max(1, min(together, samples * rows // threads))
        many = wide * together
        # an odd number of lines between the sixteen parts, so that they do not push each other out of the cache
        VJ, MJ, WJ = (-(-(many * n + lanes * 4) // 32) * 32 + 16 for n in (CP, OG, OP))
        LS, GS = ((2 * across + 2 + lanes) * n for n in (CP, OP))
        V = 4 * LS
        M = V + 16 * VJ
        OUT = M + 16 * max(MJ, WJ)
        scratch = OUT + max(2 * GS, (4 * wide + lanes) * OG)
        self.kernels, self.sums = groups * OG * w_shape[1], outputs * CG + 4 * lanes
        known = dict(
            threads=threads, N=samples, C=channels, O=outputs, groups=groups, Cg=w_shape[1], Og=outputs // groups,
            H=x_shape[2], W=x_shape[3], ph=padding[0], pw=padding[1], OH=size[0], OW=size[1], rows=rows, across=across,
            wide=wide, together=together, CP=CP, OP=OP, OG=OG, CG=CG, LS=LS, GS=GS, V=V, M=M, OUT=OUT, SB=scratch,
            VJ=VJ, MJ=MJ, WJ=WJ,
        )  # fmt: skip
        self.scratch = threads * scratch
        self.forward = direct.table(TABLE, known, KJ=self.kernels)
        self.turn = direct.table(TABLE, known, KJ=self.kernels, threads=self.turners)
        self.weight = direct.table(TABLE, known, KJ=self.sums)
        self.finish = direct.table(TABLE, known, KJ=self.sums, threads=self.turners, together=threads)


plan = functools.lru_cache(maxsize=256)(Plan)


def convolution(x, w, padding, groups, bias, size, out):
    """The convolution of backends.convolution into `out`; False where a result is not finite."""
    kind = x.dtype.str[1:]
    turn, forward = compiled(kind)[:2]
    p = plan(x.shape, w.shape, tuple(padding), groups, tuple(size), kind)
    x = np.ascontiguousarray(x)
    bias = None if bias is None else np.ascontiguousarray(bias)
    down, right = (s // w.itemsize for s in w.strides[2:])
    taps = np.array([i * down + j * right for i in range(3) for j in range(3)])
    kernels, scratch = direct.aligned(16 * p.kernels, x.dtype), direct.aligned(p.scratch, x.dtype)
    table = direct.fill(p.turn, TABLE, {"w": w, "out": kernels, "taps": taps})
    table[TABLE.index("wo")], table[TABLE.index("wc")] = (s // w.itemsize for s in w.strides[:2])
    turn(address(table))
    flags = np.empty(16 * p.threads, x.dtype)
    arrays = {"x": x, "w": kernels, "bias": bias, "out": out, "scratch": scratch, "flags": flags}
    table = direct.fill(p.forward, TABLE, arrays)  # a name keeps it alive while its address is in use
    forward(address(table))
    return bool((flags[::16] == 0).all())


def weight_gradient(g, x, w_shape, padding, groups):
    """The gradient in the weights of backends.convolution; numbers that are not finite may have spread in it."""
    kind = x.dtype.str[1:]
    weight, finish = compiled(kind)[2:4]
    p = plan(x.shape, tuple(w_shape), tuple(padding), groups, tuple(g.shape[2:]), kind)
    x, g, gw = np.ascontiguousarray(x), np.ascontiguousarray(g), np.empty(w_shape, x.dtype)
    sums, scratch = (direct.aligned(n, x.dtype) for n in (p.threads * 16 * p.sums, p.scratch))
    table = direct.fill(p.weight, TABLE, {"x": x, "g": g, "out": sums, "scratch": scratch})
    weight(address(table))
    table = direct.fill(p.finish, TABLE, {"gw": gw, "out": sums})
    finish(address(table))
    return gw
