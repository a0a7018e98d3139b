"""Convolution with kernels of 3 x 3 by Winograd's F(2 x 2, 3 x 3): 16 multiplications for each 4 results in place of 36.

The padded samples are seen as tiles of 4 x 4 that begin every second place. A tile d is turned into B' d B, a kernel w into
G w G'; products of these are summed over the channels, as 16 matrix products, and A' m A is the tile of 2 x 2 results.
Neighbours in a vector are neighbouring tiles, so two vectors of places are parted into the even and the odd ones.
Tiles mix places, so an infinity would spread in its tile: results that are not finite make the caller do it directly.
"""

import contextlib
import functools
import math

import numpy as np

from tensorgrad.kernels import direct, machine
from tensorgrad.kernels.code import Code, Vectors, address, module, parallel, words
from tensorgrad.kernels.mathematics import literal

WEIGHT = (*direct.COMMON, *words("g gb GB g_geometry GS v wt vt m VJ WJ TJ MJ VB WB TB MB CP CG"))
FORWARD = (*direct.COMMON, *words("w bias out v m VJ MJ VB MB H W flags"))
POINTERS = direct.POINTERS | {"v", "vt", "wt", "m", "flags"}
G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])

SIGNED = G * np.array([[1], [1], [1], [-1]])  # with the signs that the tiles of gradients go without
LEAST_PLACES = 1000  # results of a channel from which turning the kernels pays
FEW = 1024  # kernels turned at a time: so small a product that BLAS wakes no threads


def rows_of_b(x, plus, minus):
    """B' x for four rows."""
    return minus(x[0], x[2]), plus(x[1], x[2]), minus(x[2], x[1]), minus(x[1], x[3])


def rows_of_a(x, plus, minus):
    """A' x for four rows."""
    return plus(plus(x[0], x[1]), x[2]), minus(minus(x[1], x[2]), x[3])


def both_ways(tile, rows, v):
    """rows' tile rows, for a tile of vectors as a list of lists."""
    plus = lambda x, y: v.code.add(f"fadd {v.type} {x}, {y}")
    minus = lambda x, y: v.code.add(f"fsub {v.type} {x}, {y}")
    columns = [rows(column, plus, minus) for column in zip(*tile, strict=True)]
    return [rows(row, plus, minus) for row in zip(*columns, strict=True)]


def write_gemm(kind, lanes, outputs, vectors, wide, declared):
    """m[o] = sum over channels of w[c, o] times v[c], for `vectors` vectors of lines of `wide` and one."""
    parameters = "ptr v,ptr w,i64 C,ptr m"
    code = Code(f"gemm{outputs}_{vectors}", [tuple(p.split()) for p in parameters.split(",")], declared)
    v = Vectors(code, kind, lanes)
    sums = [[code.variable(v.type, "zeroinitializer") for _ in range(vectors)] for _ in range(outputs)]
    with code.loop(0, "%C") as c:
        line = code.at("%v", code.times(c, (wide + 1) * lanes), v.scalar)
        weights = code.at("%w", code.times(c, outputs), v.scalar)
        seen = [v.load(line, k * lanes) for k in range(vectors)]
        for o in range(outputs):
            weight = v.spread(code.load(weights, o, v.scalar))
            for k in range(vectors):
                code.set(sums[o][k], v.fma(weight, seen[k], code.get(sums[o][k], v.type)), v.type)
    for o in range(outputs):
        for k in range(vectors):
            v.store(code.get(sums[o][k], v.type), "%m", o * (wide + 1) * lanes + k * lanes)
    return code


def parted(v, x, y):
    """The even and the odd places of two vectors that lie one after the other."""
    order = [", ".join(f"i32 {2 * k + odd}" for k in range(v.lanes)) for odd in (0, 1)]
    return [v.code.add(f"shufflevector {v.type} {x}, {v.type} {y}, <{v.lanes} x i32> <{o}>") for o in order]


def write_tiles(kind, lanes, wide, declared):
    """B' d B for neighbouring tiles of every channel: sixteen vectors.

    The last vector may reach over the end of its line, where there is room for it.
    """
    parameters = "ptr x,i64 CS,i64 PW,i64 C,ptr to,i64 jump,i64 count"
    code = Code("tiles", [tuple(p.split()) for p in parameters.split(",")], declared)
    v = Vectors(code, kind, lanes)
    with code.loop(0, "%count", lanes) as p, code.loop(0, "%C") as c:
        corner = code.at("%x", code.plus(code.times(c, "%CS"), code.times(p, 2)), v.scalar)
        tile = []
        for i in range(4):
            line = code.at(corner, code.times("%PW", i), v.scalar)
            first, second = ([v.load(line, at), v.load(line, at + lanes)] for at in (0, 2))
            tile.append([*parted(v, *first), *parted(v, *second)])
        to = code.plus(p, code.times(c, (wide + 1) * lanes))
        for k, x in enumerate(x for row in both_ways(tile, rows_of_b, v) for x in row):
            v.store(x, "%to", code.plus(code.times("%jump", k), to))
    return code


def write_results(kind, lanes, declared):
    """A' m A plus a bias for neighbouring tiles of one output: `width` numbers of one line of results or of two.

    `odd` gets nothing, or NaN once a number is not finite.
    """
    parameters = "ptr m,i64 jump,ptr out,i64 W,i64 width,i64 both,ptr bias,ptr odd"
    code = Code("results", [tuple(p.split()) for p in parameters.split(",")], declared)
    v, pair = Vectors(code, kind, lanes), Vectors(code, kind, 2 * lanes)
    store = f"llvm.masked.store.{pair.suffix}.p0"
    flags = f"<{2 * lanes} x i1>"
    declared[store] = f"declare void @{store}({pair.type}, ptr, i32, {flags})"
    order = ", ".join(f"i32 {k // 2 + lanes * (k % 2)}" for k in range(2 * lanes))
    count = f"<{2 * lanes} x i64>"
    steps = ", ".join(f"i64 {k}" for k in range(2 * lanes))
    bias = pair.spread(code.get("%bias", v.scalar))
    seen_odd = code.variable(pair.type, "zeroinitializer")
    two = code.compare("eq", "%both", 1)
    with code.loop(0, "%width", 2 * lanes) as p:
        at = code.over(p, 2)
        seen = [v.load("%m", code.plus(code.times("%jump", k), at)) for k in range(16)]
        left = code.add(f"insertelement {count} poison, i64 {code.minus('%width', p)}, i64 0")
        left = code.add(f"shufflevector {count} {left}, {count} poison, <{2 * lanes} x i32> zeroinitializer")
        mask = code.add(f"icmp slt {count} <{steps}>, {left}")
        results = []
        for x, y in both_ways([seen[4 * i : 4 * i + 4] for i in range(4)], rows_of_a, v):
            z = code.add(f"shufflevector {v.type} {x}, {v.type} {y}, <{2 * lanes} x i32> <{order}>")
            kept = code.add(f"select {flags} {mask}, {pair.type} {z}, {pair.type} zeroinitializer")
            nought = code.add(f"fmul {pair.type} {kept}, zeroinitializer")
            code.set(seen_odd, code.add(f"fadd {pair.type} {code.get(seen_odd, pair.type)}, {nought}"), pair.type)
            results.append(code.add(f"fadd {pair.type} {z}, {bias}"))
        place = code.at("%out", p, v.scalar)
        put = lambda x, to: code.lines.append(
            f"  call void @{store}({pair.type} {x}, ptr {to}, i32 {v.size}, {flags} {mask})"
        )
        put(results[0], place)
        with code.when(two):
            put(results[1], code.at(place, "%W", v.scalar))
    total = code.add(f"fadd {v.scalar} {code.get('%odd', v.scalar)}, {pair.total(code.get(seen_odd, pair.type))}")
    code.set("%odd", total, v.scalar)
    return code


def rows_of_a_turned(x, plus, minus):
    """A x for two rows, the last with the other sign."""
    return x[0], plus(x[0], x[1]), minus(x[0], x[1]), x[1]


def write_spread_tiles(kind, lanes, wide, declared):
    """A g A' for neighbouring tiles of the gradients of every output, without the signs of its last row and column."""
    parameters = "ptr g,i64 GS,i64 PW,i64 C,ptr to,i64 jump,i64 count"
    code = Code("spread_tiles", [tuple(p.split()) for p in parameters.split(",")], declared)
    v = Vectors(code, kind, lanes)
    with code.loop(0, "%count", lanes) as p, code.loop(0, "%C") as c:
        corner = code.at("%g", code.plus(code.times(c, "%GS"), code.times(p, 2)), v.scalar)
        lines = [code.at(corner, code.times("%PW", i), v.scalar) for i in range(2)]
        tile = [parted(v, v.load(line, 0), v.load(line, lanes)) for line in lines]
        to = code.plus(p, code.times(c, (wide + 1) * lanes))
        for k, x in enumerate(x for row in both_ways(tile, rows_of_a_turned, v) for x in row):
            v.store(x, "%to", code.plus(code.times("%jump", k), to))
    return code


def write_turn(kind, lanes, wide, declared):
    """Lines of neighbouring tiles, channel under channel, become lines of neighbouring channels, tile under tile."""
    code = Code("turn", [tuple(p.split()) for p in ["ptr v", "i64 C", "ptr to", "i64 CP"]], declared)
    v = Vectors(code, kind, lanes)
    low = [(k % 2) * lanes + k // 2 for k in range(lanes)]
    orders = [", ".join(f"i32 {n + half}" for n in low) for half in (0, lanes // 2)]
    with code.loop(0, "%C", lanes) as c, code.loop(0, wide * lanes, lanes) as t:
        rows = [v.load("%v", code.plus(code.times(code.plus(c, k), (wide + 1) * lanes), t)) for k in range(lanes)]
        for _ in range(lanes.bit_length() - 1):  # each round interleaves the first half of the rows with the second
            rows = [
                code.add(f"shufflevector {v.type} {x}, {v.type} {y}, <{lanes} x i32> <{order}>")
                for x, y in zip(rows, rows[lanes // 2 :], strict=False)
                for order in orders
            ]
        for k, row in enumerate(rows):
            v.store(row, "%to", code.plus(code.times(code.plus(t, k), "%CP"), c))
    return code


def write_outer(kind, lanes, outputs, vectors, wide, declared):
    """m[o, c] += sum over `count` tiles of w[o, tile] times v[tile, c]."""
    parameters = "ptr w,ptr v,i64 CP,ptr m,i64 CG,i64 count"
    code = Code(f"outer{outputs}_{vectors}", [tuple(p.split()) for p in parameters.split(",")], declared)
    v = Vectors(code, kind, lanes)
    places = [[code.plus(code.times("%CG", o), k * lanes) for k in range(vectors)] for o in range(outputs)]
    sums = [[code.variable(v.type, "zeroinitializer") for _ in row] for row in places]
    with code.loop(0, "%count") as t:
        line = code.at("%v", code.times(t, "%CP"), v.scalar)
        seen = [v.load(line, k * lanes) for k in range(vectors)]
        for o in range(outputs):
            weight = v.spread(code.load("%w", code.plus(o * (wide + 1) * lanes, t), v.scalar))
            for k in range(vectors):
                code.set(sums[o][k], v.fma(weight, seen[k], code.get(sums[o][k], v.type)), v.type)
    for row, slots in zip(places, sums, strict=True):
        for place, slot in zip(row, slots, strict=True):
            total = code.add(f"fadd {v.type} {v.load('%m', place)}, {code.get(slot, v.type)}")
            v.store(total, "%m", place)
    return code


@contextlib.contextmanager
def segments(code, across, t0, t1):
    """Loop over the rows of tiles that a stretch of tiles touches: (row, first tile of it, place in the stretch, count)."""
    with code.loop(code.over(t0, across), code.plus(code.over(code.minus(t1, 1), across), 1)) as row:
        start = code.times(row, across)
        first = code.most(t0, start)
        count = code.minus(code.least(t1, code.plus(start, across)), first)
        yield row, code.minus(first, start), code.minus(first, t0), count


def write_forward(kind, shape, declared):
    code = Code("forward_work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t, lanes, wide = "float" if kind == "f4" else "double", shape.lanes, shape.blocks[0][1]
    size, pitch = wide * lanes, (wide + 1) * lanes
    f = {n: code.load("%table", k, "ptr" if n in POINTERS else "i64") for k, n in enumerate(FORWARD)}
    f["xb"] = code.at(f["xb"], code.times("%t", f["XS"]), t)
    f["v"] = code.at(f["v"], code.times("%t", f["VB"]), t)
    f["m"] = code.at(f["m"], code.times("%t", f["MB"]), t)
    flag = code.at(f["flags"], code.times("%t", 16), t)  # far enough from another thread's
    code.set(flag, literal(0, kind), t)
    bias = code.variable(t, literal(-0.0, kind))
    corner = code.load(f["taps"], 0, "i64")
    lines, across = code.over(f["R"], 2), code.over(f["OW"], 2)
    channels, outputs = code.times(f["groups"], f["Cg"]), code.times(f["groups"], f["Og"])
    area = code.times(f["H"], f["W"])
    biased = code.add(f"icmp ne ptr {f['bias']}, null")
    with direct.panels(code, f) as panel:
        n0, n1, _ = direct.packed(code, f, panel, t)
        total = code.times(code.times(code.minus(n1, n0), lines), across)
        with code.loop(0, total, size) as t0:
            t1 = code.least(code.plus(t0, size), total)
            with segments(code, across, t0, t1) as (row, first, at, count):
                sample, line = code.over(row, lines), code.rest(row, lines)
                place = code.plus(code.times(code.times(line, 2), f["PW"]), code.times(first, 2))
                place = code.plus(code.plus(code.times(sample, f["plane"]), corner), place)
                code.run(
                    "tiles", ("ptr", code.at(f["xb"], place, t)), ("i64", f["CS"]), ("i64", f["PW"]), ("i64", channels),
                    ("ptr", code.at(f["v"], at, t)), ("i64", f["VJ"]), ("i64", count),
                )  # fmt: skip
            left = code.minus(t1, t0)
            with code.loop(0, 16) as k, code.loop(0, f["groups"]) as group:
                line = code.times(code.times(group, f["Cg"]), pitch)
                seen = code.at(f["v"], code.plus(code.times(k, f["VJ"]), line), t)
                m = code.at(f["m"], code.times(k, f["MJ"]), t)

                def gemm(outputs_, o):
                    output = code.plus(code.times(group, f["Og"]), o)
                    weights = code.times(code.plus(code.times(k, outputs), output), f["Cg"])
                    for vectors in range(1, wide + 1):
                        least, most = (vectors - 1) * lanes, vectors * lanes
                        here = code.add(f"and i1 {code.compare('sgt', left, least)}, {code.compare('sle', left, most)}")
                        with code.when(here):
                            code.run(
                                f"gemm{outputs_}_{vectors}", ("ptr", seen), ("ptr", code.at(f["w"], weights, t)),
                                ("i64", f["Cg"]), ("ptr", code.at(m, code.times(output, pitch), t)),
                            )  # fmt: skip

                direct.blocked(code, "0", f["Og"], [b for b, _ in shape.blocks], gemm)
            with segments(code, across, t0, t1) as (row, first, at, count):
                virtual = code.plus(n0, code.over(row, lines))
                line = code.times(code.rest(row, lines), 2)
                line = code.plus(line, code.times(code.rest(virtual, f["bands"]), f["R"]))
                column = code.times(first, 2)
                here = code.compare("slt", line, f["H"]), code.compare("slt", code.plus(line, 1), f["H"])
                width = code.least(code.times(count, 2), code.minus(f["W"], column))
                start = code.times(code.times(code.over(virtual, f["bands"]), outputs), area)
                start = code.plus(code.plus(start, code.times(line, f["W"])), column)
                below = code.add(f"zext i1 {here[1]} to i64")
                with code.when(here[0]), code.loop(0, outputs) as o:
                    with code.when(biased):
                        code.set(bias, code.load(f["bias"], o, t), t)
                    code.run(
                        "results", ("ptr", code.at(f["m"], code.plus(code.times(o, pitch), at), t)), ("i64", f["MJ"]),
                        ("ptr", code.at(f["out"], code.plus(start, code.times(o, area)), t)), ("i64", f["W"]),
                        ("i64", width), ("i64", below), ("ptr", bias), ("ptr", flag),
                    )  # fmt: skip
    return code


def write_weight(kind, shape, declared):
    """The products of tiles of x and of g, summed over all tiles."""
    code = Code("weight_work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t, lanes, wide = "float" if kind == "f4" else "double", shape.lanes, shape.blocks[0][1]
    size, pitch = wide * lanes, (wide + 1) * lanes
    f = {n: code.load("%table", k, "ptr" if n in POINTERS else "i64") for k, n in enumerate(WEIGHT)}
    for name, step in (("xb", "XS"), ("gb", "GB"), ("v", "VB"), ("wt", "WB"), ("vt", "TB"), ("m", "MB")):
        f[name] = code.at(f[name], code.times("%t", f[step]), t)
    corner = code.load(f["taps"], 0, "i64")
    lines, across = code.over(f["R"], 2), code.over(f["OW"], 2)
    channels, outputs = code.times(f["groups"], f["Cg"]), code.times(f["groups"], f["Og"])
    with direct.panels(code, f) as panel:
        n0, n1, _ = direct.packed(code, f, panel, t)
        code.run("pack", ("ptr", f["g"]), ("ptr", f["gb"]), ("ptr", f["g_geometry"]), ("i64", n0), ("i64", n1))
        total = code.times(code.times(code.minus(n1, n0), lines), across)
        with code.loop(0, total, size) as t0:
            t1 = code.least(code.plus(t0, size), total)
            with segments(code, across, t0, t1) as (row, first, at, count):
                sample, line = code.over(row, lines), code.rest(row, lines)
                place = code.plus(code.times(code.times(line, 2), f["PW"]), code.times(first, 2))
                place = code.plus(code.times(sample, f["plane"]), place)
                code.run(
                    "tiles", ("ptr", code.at(f["xb"], code.plus(place, corner), t)), ("i64", f["CS"]), ("i64", f["PW"]),
                    ("i64", channels), ("ptr", code.at(f["v"], at, t)), ("i64", f["VJ"]), ("i64", count),
                )  # fmt: skip
                code.run(
                    "spread_tiles", ("ptr", code.at(f["gb"], place, t)), ("i64", f["GS"]), ("i64", f["PW"]),
                    ("i64", outputs), ("ptr", code.at(f["wt"], at, t)), ("i64", f["WJ"]), ("i64", count),
                )  # fmt: skip
            left = code.minus(t1, t0)
            with code.loop(0, 16) as k:
                turned = code.at(f["vt"], code.times(k, f["TJ"]), t)
                code.run(
                    "turn", ("ptr", code.at(f["v"], code.times(k, f["VJ"]), t)), ("i64", channels), ("ptr", turned),
                    ("i64", f["CP"]),
                )  # fmt: skip
                with code.loop(0, f["groups"]) as group, code.loop(0, f["Cg"], size) as c:
                    wanted = code.minus(f["Cg"], c)
                    seen = code.at(turned, code.plus(code.times(group, f["Cg"]), c), t)

                    def outer(outputs_, o):
                        output = code.plus(code.times(group, f["Og"]), o)
                        place = code.plus(code.times(k, f["WJ"]), code.times(output, pitch))
                        m = code.plus(code.times(k, f["MJ"]), code.plus(code.times(output, f["CG"]), c))
                        for vectors in range(1, wide + 1):
                            here = code.compare("sgt", wanted, (vectors - 1) * lanes)
                            if vectors < wide:
                                fits = code.compare("sle", wanted, vectors * lanes)
                                here = code.add(f"and i1 {here}, {fits}")
                            with code.when(here):
                                code.run(
                                    f"outer{outputs_}_{vectors}", ("ptr", code.at(f["wt"], place, t)), ("ptr", seen),
                                    ("i64", f["CP"]), ("ptr", code.at(f["m"], m, t)), ("i64", f["CG"]), ("i64", left),
                                )  # fmt: skip

                    direct.blocked(code, "0", f["Og"], [b for b, _ in shape.blocks], outer)
    return code


@functools.cache
def compiled(kind):
    """(forward, gradient of the weights, Shape) for float32 ("f4") or float64 ("f8")."""
    shape, declared = direct.Shape(machine.engine().features, kind), {}
    lanes, wide = shape.lanes, shape.blocks[0][1]
    shape.blocks = [(outputs, wide) for outputs, _ in shape.blocks]
    codes = [
        direct.write_pack(kind, declared),
        write_tiles(kind, lanes, wide, declared),
        write_results(kind, lanes, declared),
    ]
    codes += [write_gemm(kind, lanes, b, v, wide, declared) for b, most in shape.blocks for v in range(1, most + 1)]
    codes += [write_outer(kind, lanes, b, v, wide, declared) for b, most in shape.blocks for v in range(1, most + 1)]
    codes += [write(kind, lanes, wide, declared) for write in (write_spread_tiles, write_turn)]
    codes += [write(kind, shape, declared) for write in (write_forward, write_weight)]
    names = ("forward", "weight")
    public = [parallel(name, f"{name}_work", declared, machine.most_threads()) for name in names]
    return (*machine.functions(module(codes, public, declared), names), shape)


def suits(samples, w_shape, stride, dilation, groups, size):
    """Whether a convolution is of this kind, and large enough to gain."""
    return (
        tuple(w_shape[2:]) == (3, 3) and tuple(stride) == tuple(dilation) == (1, 1)
        and min(w_shape[0] // groups, w_shape[1]) >= 16 and samples * math.prod(size) >= LEAST_PLACES
    )  # fmt: skip


class Plan(direct.Plan):
    """The table of a geometry: that of a convolution with kernels of 4 x 4, of which every second result is a tile."""

    def __init__(self, x_shape, w_shape, padding, groups, size, kind):
        even = tuple(n + n % 2 for n in size)
        super().__init__(x_shape, (*w_shape[:2], 4, 4), (1, 1), padding, (1, 1), groups, even, kind, together=2)
        shape = compiled(kind)[2]
        lanes, wide = shape.lanes, shape.blocks[0][1]
        channels, outputs = x_shape[1], w_shape[0]
        # an odd number of lines between the sixteen parts, so that they do not push each other out of the cache
        VJ, MJ = (n * (wide + 1) * lanes + 16 for n in (channels, outputs))
        self.v, self.m = 16 * VJ + 4 * lanes, 16 * MJ + 4 * lanes
        known = dict(zip(direct.FORWARD, self.forward_table.tolist(), strict=True))
        self.forward = direct.table(FORWARD, known, VJ=VJ, MJ=MJ, VB=self.v, MB=self.m, H=size[0], W=size[1])
        # for the gradient of the weights
        round_up = lambda n: -(-n // lanes) * lanes
        CP, CG = round_up(channels) + lanes * wide, round_up(channels // groups)
        TJ, self.lanes, self.CG = CP * wide * lanes + 16, lanes, CG
        self.turned = 16 * TJ + 4 * lanes
        self.sums = outputs * CG
        known = dict(zip(direct.WEIGHT, self.weight_table.tolist(), strict=True))
        real = direct.three(size)
        self.g_real = np.array(self.g_geometry)
        self.g_real[1:4], self.g_real[5:7], self.g_real[-1] = real, real[1:], real[0]
        more = lanes * (wide + 1) * lanes  # channels are turned a vector's number at a time
        self.weight = direct.table(
            WEIGHT, known, VJ=VJ + more, WJ=MJ, TJ=TJ, MJ=self.sums, VB=self.v + 16 * more,
            WB=self.m, TB=self.turned, MB=16 * self.sums, CP=CP, CG=CG, g_geometry=self.g_real.ctypes.data,
        )  # fmt: skip


plan = functools.lru_cache(maxsize=256)(Plan)


def convolution(x, w, padding, groups, bias, size, out):
    """The convolution of backends.convolution into `out`; False where a result is not finite."""
    kind = x.dtype.str[1:]
    forward = compiled(kind)[0]
    p = plan(x.shape, w.shape, tuple(padding), groups, tuple(size), kind)
    x, n = np.ascontiguousarray(x), p.threads
    outputs, channels = w.shape[:2]
    kernels, turned = w.reshape(outputs * channels, 9).T, np.empty((16, outputs * channels), x.dtype)
    twice = np.kron(G, G).astype(x.dtype)
    with np.errstate(invalid="ignore"):
        for some in range(0, outputs * channels, FEW):
            np.matmul(twice, kernels[:, some : some + FEW], out=turned[:, some : some + FEW])
    weights = direct.laid_out(turned.reshape(16 * outputs, channels, 1), 16 * groups)
    bias = None if bias is None else np.ascontiguousarray(bias)
    flags = np.zeros(16 * n, x.dtype)
    v, m = (direct.aligned(n * size, x.dtype) for size in (p.v, p.m))
    with direct.lines(p, ("x", n * p.lines, x.dtype)) as (xb,):
        arrays = {"x": x, "xb": xb, "w": weights, "bias": bias, "out": out, "v": v, "m": m, "flags": flags}
        table = direct.fill(p.forward, FORWARD, arrays)
        forward(address(table))
    return bool((flags == 0).all())


def weight_gradient(g, x, w_shape, padding, groups):
    """The gradient in the weights of backends.convolution; numbers that are not finite may have spread in it."""
    kind = x.dtype.str[1:]
    p = plan(x.shape, tuple(w_shape), tuple(padding), groups, tuple(g.shape[2:]), kind)
    x, g, n, outputs = np.ascontiguousarray(x), np.ascontiguousarray(g), p.threads, w_shape[0]
    names = dict(zip(WEIGHT, p.weight.tolist(), strict=True))
    v, wt, vt = (direct.aligned(n * names[k] + 64, x.dtype) for k in ("VB", "WB", "TB"))
    sums = np.zeros((n, 16, outputs * p.CG), x.dtype)
    with direct.lines(p, ("x", n * p.lines, x.dtype), ("g", n * p.g_lines, x.dtype)) as (xb, gb):
        arrays = {"x": x, "xb": xb, "g": g, "gb": gb, "v": v, "wt": wt, "vt": vt, "m": sums}
        table = direct.fill(p.weight, WEIGHT, arrays)
        compiled(kind)[1](address(table))
    sums = sums[0] if n == 1 else np.add.reduce(sums, axis=0)
    twice = np.kron(SIGNED, SIGNED).astype(x.dtype).T
    gw = np.empty((9, outputs * p.CG), x.dtype)
    with np.errstate(invalid="ignore"):
        for some in range(0, outputs * p.CG, FEW):
            np.matmul(twice, sums[:, some : some + FEW], out=gw[:, some : some + FEW])
    gw = gw.reshape(3, 3, outputs, p.CG)[..., : w_shape[1]]
    return np.ascontiguousarray(gw.transpose(2, 3, 0, 1))
