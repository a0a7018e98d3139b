"""Convolution without a patch matrix, in code made for this processor: any number of dimensions, strides and groups.

A panel of samples is copied into rows with zeros around them, as one long line a channel; places that a stride keeps apart
go to lines of their own (phases). Then each tap of the kernel reads the line from another offset on, and a result of all
taps and channels is a sum of shifted lines: eight outputs by three vectors of places stay in registers while it is formed.
Padding between two rows is shared by both, so little is computed for nothing; those results are cut off at the end.
The gradient in the weights is the product of such lines of x and of g. One text serves all sizes, so it is compiled once.
"""

import contextlib
import functools
import itertools
import math

import numpy as np

from tensorgrad.kernels import machine, tiles
from tensorgrad.kernels.code import Code, Vectors, address, module, parallel, words
from tensorgrad.kernels.mathematics import literal

GEOMETRY = words("C D H W JD JH JW sd sh sw rd rh rw CS plane PH PW base bands R m0 count")
COMMON = words("""threads x xb XS phases geometry taps N P panels panel_step_t chunk total_off plane PH PW OD OH OW groups Cg
    Og T CS bands R""")
FORWARD = (*COMMON, *words("w bias out tmp TMP TS Cb places PL"))
WEIGHT = (*COMMON, *words("g gb GB g_geometry GS gw GW pairs"))
LAYOUT = words("threads w packed groups Og Cg T offsets group_step output_step channel_step")
POINTERS = {
    "x",
    "packed",
    "offsets",
    "xb",
    "geometry",
    "taps",
    "w",
    "bias",
    "out",
    "tmp",
    "places",
    "pairs",
    "g",
    "gb",
    "g_geometry",
    "gw",
}
THREADS_FROM = 600_000  # multiply-adds from which a second thread pays
L2_BYTES = 512 << 10  # what a panel, and a chunk of its results, may take


class Shape:
    """What the processor's registers allow: lanes of a vector, and blocks of outputs by vectors."""

    def __init__(self, features, kind):
        size = 4 if kind == "f4" else 8
        wide = "+avx512f" in features
        self.lanes = (64 if wide else 32 if "+avx" in features else 16) // size
        many = wide or "+neon" in features
        self.blocks = ((8, 3), (4, 3), (2, 6), (1, 6)) if many else ((4, 2), (2, 4), (1, 4))
        self.step = self.lanes * (6 if many else 4)  # places that every block divides
        self.tiles = (4, 1) if many else (2, 1), (4, 2, 1)  # outputs and lines of x in the gradient of the weights


def fields(code, names):
    """The numbers and pointers of a table, as registers by name."""
    return {n: code.load("%table", k, "ptr" if n in POINTERS else "i64") for k, n in enumerate(names)}


def write_pack(kind, lanes, declared):
    """Copy samples n0 to n1 of an array into lines: pack(from, to, geometry, n0, n1)."""
    code = Code("pack", [("ptr", "x"), ("ptr", "to"), ("ptr", "geo"), ("i64", "n0"), ("i64", "n1")], declared)
    t, v = "float" if kind == "f4" else "double", tiles.Masked(code, kind, lanes)
    f = {n: code.load("%geo", k, "i64") for k, n in enumerate(GEOMETRY)}
    with code.loop("%n0", "%n1") as n, code.loop(0, f["C"]) as c:
        place = code.plus(code.times(c, f["CS"]), code.times(code.minus(n, "%n0"), f["plane"]))
        place = code.plus(place, f["base"])
        channel = code.plus(code.times(code.over(n, f["bands"]), f["C"]), c)
        above = code.plus(code.times(code.rest(n, f["bands"]), f["R"]), f["m0"])
        with code.loop(0, f["JD"]) as jd, code.loop(0, f["JH"]) as jh:
            at = code.plus(above, jd)
            line = code.plus(code.times(jd, f["PH"]), jh)
            to = code.at("%to", code.plus(place, code.times(line, f["PW"])), t)
            inside = code.compare("ult", at, f["count"])
            with code.when(inside):
                slab = code.plus(code.times(at, f["sd"]), f["rd"])
                row = code.plus(code.times(jh, f["sh"]), f["rh"])
                start = code.plus(code.times(code.plus(code.times(channel, f["D"]), slab), f["H"]), row)
                source = code.at("%x", code.plus(code.times(start, f["W"]), f["rw"]), t)
                with code.when(code.compare("eq", f["sw"], 1)), code.loop(0, f["JW"], lanes) as j:
                    mask = v.where("slt", code.minus(f["JW"], j))  # zeros behind the end: the next row comes later
                    v.store(v.load_where(mask, v.beside(source, j)), to, j)
                with code.when(code.compare("ne", f["sw"], 1)), code.loop(0, f["JW"]) as j:
                    code.store(code.load(source, code.times(j, f["sw"]), t), to, j, t)
            with code.when(code.add(f"xor i1 {inside}, true")), code.loop(0, f["JW"]) as j:
                code.store(literal(0, kind), to, j, t)
    return code


def write_block(kind, lanes, outputs, vectors, declared):
    """Results of some outputs at `count` places: sums over channels and taps of weights times shifted lines."""
    parameters = "ptr x,i64 CS,ptr w,i64 C,ptr taps,i64 T,ptr out,i64 OS,i64 count,i64 first"
    code = Code(f"block{outputs}", [tuple(p.split()) for p in parameters.split(",")], declared)
    v = Vectors(code, kind, lanes)
    zero = "zeroinitializer"
    fresh = code.compare("eq", "%first", 1)
    with code.loop(0, "%count", vectors * lanes) as p:
        sums = [[code.variable(v.type) for _ in range(vectors)] for _ in range(outputs)]
        for o, k in itertools.product(range(outputs), range(vectors)):
            place = code.plus(code.plus(code.times("%OS", o), p), k * lanes)
            old = v.load("%out", place)
            code.set(sums[o][k], code.add(f"select i1 {fresh}, {v.type} {zero}, {v.type} {old}"), v.type)
        weights = code.variable("ptr", "%w")
        with code.loop(0, "%C") as c:
            line = code.at("%x", code.plus(code.times(c, "%CS"), p), v.scalar)
            with code.loop(0, "%T") as tap:
                at = code.at(line, code.load("%taps", tap, "i64"), v.scalar)
                w = code.get(weights, "ptr")
                seen = [v.load(at, k * lanes) for k in range(vectors)]
                for o in range(outputs):
                    weight = v.spread(code.load(w, o, v.scalar))
                    for k in range(vectors):
                        code.set(sums[o][k], v.fma(weight, seen[k], code.get(sums[o][k], v.type)), v.type)
                code.set(weights, code.at(w, outputs, v.scalar), "ptr")
        for o, k in itertools.product(range(outputs), range(vectors)):
            place = code.plus(code.plus(code.times("%OS", o), p), k * lanes)
            v.store(code.get(sums[o][k], v.type), "%out", place)
    return code


def panels(code, f):
    """Loop over the panels of a thread: (first sample, end, their number of places)."""
    by_panel = code.compare("eq", f["panel_step_t"], 1)
    pick = lambda a, b: code.add(f"select i1 {by_panel}, i64 {a}, i64 {b}")
    first, step = pick("%t", 0), pick("%T", 1)
    f["chunk_first"], f["chunk_step"] = pick(0, "%t"), pick(1, "%T")
    return code.loop(first, f["panels"], step)


def packed(code, f, panel, t):
    """Pack a panel of x; returns (first sample, end, places with results)."""
    n0 = code.times(panel, f["P"])
    n1 = code.least(code.plus(n0, f["P"]), f["N"])
    with code.loop(0, f["phases"]) as phase:
        geometry = code.at(f["geometry"], code.times(phase, len(GEOMETRY)), "i64")
        code.run("pack", ("ptr", f["x"]), ("ptr", f["xb"]), ("ptr", geometry), ("i64", n0), ("i64", n1))
    total = code.minus(code.times(code.minus(n1, n0), f["plane"]), f["total_off"])
    return n0, n1, total


def blocked(code, start, end, sizes, call):
    """Go from start to end in the largest steps that fit: call(size, place) for each."""
    at = start
    for size in sizes:
        whole = code.plus(at, code.times(code.over(code.minus(end, at), size), size)) if size > 1 else end
        with code.loop(at, whole, size) as place:
            call(size, place)
        at = whole


def write_forward(kind, shape, declared):
    code = Code("forward_work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t = "float" if kind == "f4" else "double"
    f = fields(code, FORWARD)
    f["xb"] = code.at(f["xb"], code.times("%t", f["XS"]), t)
    f["tmp"] = code.at(f["tmp"], code.times("%t", f["TMP"]), t)
    f["places"] = code.at(f["places"], code.times("%t", f["PL"]), "i64")
    v = tiles.Masked(code, kind, shape.lanes)
    height = code.times(f["Cg"], f["T"])
    outputs, area = code.times(f["groups"], f["Og"]), code.times(code.times(f["OD"], f["OH"]), f["OW"])
    biased = code.add(f"icmp ne ptr {f['bias']}, null")
    with panels(code, f) as panel:
        n0, _, total = packed(code, f, panel, t)
        chunks = code.over(code.plus(total, code.minus(f["chunk"], 1)), f["chunk"])
        with code.loop(f["chunk_first"], chunks, f["chunk_step"]) as number:
            q0 = code.times(number, f["chunk"])
            q1 = code.least(code.plus(q0, f["chunk"]), total)
            count = code.minus(q1, q0)
            with code.loop(0, f["groups"]) as group, code.loop(0, f["Cg"], f["Cb"]) as c0:
                channels = code.least(f["Cb"], code.minus(f["Cg"], c0))
                first = code.add(f"zext i1 {code.compare('eq', c0, 0)} to i64")
                channel = code.plus(code.times(group, f["Cg"]), c0)
                line = code.at(f["xb"], code.plus(code.times(channel, f["CS"]), q0), t)

                def block(size, o):
                    output = code.plus(code.times(group, f["Og"]), o)
                    weights = code.plus(code.times(output, height), code.times(code.times(c0, f["T"]), size))
                    code.run(
                        f"block{size}", ("ptr", line), ("i64", f["CS"]), ("ptr", code.at(f["w"], weights, t)),
                        ("i64", channels), ("ptr", f["taps"]), ("i64", f["T"]),
                        ("ptr", code.at(f["tmp"], code.times(output, f["TS"]), t)), ("i64", f["TS"]), ("i64", count),
                        ("i64", first),
                    )  # fmt: skip

                blocked(code, "0", f["Og"], [b for b, _ in shape.blocks], block)
            found = code.variable("i64", "0")  # rows of results: where each begins, where it belongs, its length
            last = code.plus(code.over(code.minus(q1, 1), f["PW"]), 1)
            with code.loop(code.over(q0, f["PW"]), last) as row:
                line = code.rest(row, f["PH"])
                rest = code.over(row, f["PH"])
                planes = code.over(f["plane"], code.times(f["PH"], f["PW"]))
                slab, sample = code.rest(rest, planes), code.over(rest, planes)
                start = code.times(row, f["PW"])
                a = code.most(q0, start)
                b = code.least(q1, code.plus(start, f["OW"]))
                virtual = code.plus(n0, sample)
                inside = code.compare("slt", line, f["OH"])
                inside = code.add(f"and i1 {inside}, {code.compare('slt', slab, f['R'])}")
                slab = code.plus(slab, code.times(code.rest(virtual, f["bands"]), f["R"]))
                inside = code.add(f"and i1 {inside}, {code.compare('slt', slab, f['OD'])}")
                inside = code.add(f"and i1 {inside}, {code.compare('slt', a, b)}")
                with code.when(inside):
                    place = code.times(code.over(virtual, f["bands"]), code.times(outputs, area))
                    place = code.plus(place, code.times(code.plus(code.times(slab, f["OH"]), line), f["OW"]))
                    place = code.plus(place, code.minus(a, start))
                    known = code.get(found, "i64")
                    for k, number in enumerate((code.minus(a, q0), place, code.minus(b, a))):
                        code.store(number, f["places"], code.plus(code.times(known, 3), k), "i64")
                    code.set(found, code.plus(known, 1), "i64")
            count = code.get(found, "i64")
            with code.loop(0, outputs) as o:  # the rows of an output lie together
                number = code.variable(t, literal(-0.0, kind))
                with code.when(biased):
                    code.set(number, code.load(f["bias"], o, t), t)
                bias = code.get(number, t)
                source = code.at(f["tmp"], code.times(o, f["TS"]), t)
                to = code.at(f["out"], code.times(o, area), t)
                with code.loop(0, count) as k:
                    row = code.at(f["places"], code.times(k, 3), "i64")
                    first, place, width = (code.load(row, n, "i64") for n in range(3))
                    line, target = code.at(source, first, t), code.at(to, place, t)
                    v.copy(line, target, width, lambda v, x: v.plus(x, v.spread(bias)))
    return code


def write_layout(kind, shape, declared):
    """Weights in the order in which they are read: block of outputs, channel, tap, output."""
    code = Code("layout_work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t = "float" if kind == "f4" else "double"
    f = fields(code, LAYOUT)
    first = code.over(code.times(f["Cg"], "%t"), "%T")
    last = code.over(code.times(f["Cg"], code.plus("%t", 1)), "%T")
    height = code.times(f["Cg"], f["T"])
    with code.loop(0, f["groups"]) as group:
        origin = code.times(group, f["group_step"])

        def block(size, o):
            to = code.times(code.plus(code.times(group, f["Og"]), o), height)
            start = code.plus(origin, code.times(o, f["output_step"]))
            with code.loop(first, last) as c, code.loop(0, f["T"]) as tap:
                place = code.plus(to, code.times(code.plus(code.times(c, f["T"]), tap), size))
                source = code.plus(start, code.times(c, f["channel_step"]))
                source = code.plus(source, code.load(f["offsets"], tap, "i64"))
                for k in range(size):
                    x = code.load(f["w"], code.plus(source, code.times(f["output_step"], k)), t)
                    code.store(x, f["packed"], code.plus(place, k), t)

        blocked(code, "0", f["Og"], [b for b, _ in shape.blocks], block)
    return code


def write_tile(kind, lanes, outputs, pairs, declared):
    """Add to weights' gradients: each of some lines of g times each of some lines of x, summed over `count` places.

    A line of x is one of a channel as a tap sees it: from another offset on.
    """
    unroll = max(1, 8 // (outputs * pairs))
    parameters = "ptr g,i64 GS,ptr x,ptr offsets,ptr gw,i64 RS,i64 count"
    code = Code(f"tile{outputs}{pairs}", [tuple(p.split()) for p in parameters.split(",")], declared)
    v = Vectors(code, kind, lanes)
    lines = [code.at("%x", code.load("%offsets", c, "i64"), v.scalar) for c in range(pairs)]
    each = list(itertools.product(range(outputs), range(pairs)))
    sums = {(o, c, u): code.variable(v.type, "zeroinitializer") for o, c in each for u in range(unroll)}
    with code.loop(0, "%count", lanes * unroll) as p:
        for u in range(unroll):
            at = code.plus(p, u * lanes)
            left = [v.load("%g", code.plus(code.times("%GS", o), at)) for o in range(outputs)]
            right = [v.load(line, at) for line in lines]
            for o, c in each:
                slot = sums[o, c, u]
                code.set(slot, v.fma(left[o], right[c], code.get(slot, v.type)), v.type)
    for o, c in each:
        total = code.get(sums[o, c, 0], v.type)
        for u in range(1, unroll):
            total = code.add(f"fadd {v.type} {total}, {code.get(sums[o, c, u], v.type)}")
        place = code.plus(code.times("%RS", o), c)
        old = code.load("%gw", place, v.scalar)
        code.store(code.add(f"fadd {v.scalar} {old}, {v.total(total)}"), "%gw", place, v.scalar)
    return code


def write_weight(kind, shape, declared):
    code = Code("weight_work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t = "float" if kind == "f4" else "double"
    f = fields(code, WEIGHT)
    f["xb"] = code.at(f["xb"], code.times("%t", f["XS"]), t)
    f["gb"] = code.at(f["gb"], code.times("%t", f["GB"]), t)
    f["gw"] = code.at(f["gw"], code.times("%t", f["GW"]), t)
    height, zero = code.times(f["Cg"], f["T"]), literal(0, kind)
    with panels(code, f) as panel:
        n0, n1, total = packed(code, f, panel, t)
        code.run("pack", ("ptr", f["g"]), ("ptr", f["gb"]), ("ptr", f["g_geometry"]), ("i64", n0), ("i64", n1))
        with code.loop(0, code.times(f["groups"], f["Og"])) as o:  # nothing of an earlier panel behind the end
            tail = code.at(f["gb"], code.plus(code.times(o, f["GS"]), total), t)
            with code.loop(0, 8 * shape.lanes) as k:
                code.store(zero, tail, k, t)
        chunks = code.over(code.plus(total, code.minus(f["chunk"], 1)), f["chunk"])
        with code.loop(f["chunk_first"], chunks, f["chunk_step"]) as number, code.loop(0, f["groups"]) as group:
            q0 = code.times(number, f["chunk"])
            count = code.minus(code.least(code.plus(q0, f["chunk"]), total), q0)

            lines = code.at(f["xb"], code.plus(code.times(code.times(group, f["Cg"]), f["CS"]), q0), t)

            def pairs(size, pair):
                def outputs(rows, o):
                    output = code.plus(code.times(group, f["Og"]), o)
                    left = code.at(f["gb"], code.plus(code.times(output, f["GS"]), q0), t)
                    place = code.plus(code.times(output, height), pair)
                    code.run(
                        f"tile{rows}{size}", ("ptr", left), ("i64", f["GS"]), ("ptr", lines),
                        ("ptr", code.at(f["pairs"], pair, "i64")), ("ptr", code.at(f["gw"], place, t)), ("i64", height),
                        ("i64", count),
                    )  # fmt: skip

                blocked(code, "0", f["Og"], shape.tiles[0], outputs)

            blocked(code, "0", height, shape.tiles[1], pairs)
    return code


@functools.cache
def compiled(kind):
    """(layout of weights, forward, gradient of the weights, Shape) for float32 ("f4") or float64 ("f8")."""
    engine = machine.engine()
    shape, declared = Shape(engine.features, kind), {}
    codes = [write_pack(kind, shape.lanes, declared)]
    codes += [write_block(kind, shape.lanes, b, v, declared) for b, v in shape.blocks]
    codes += [write_tile(kind, shape.lanes, o, c, declared) for o, c in itertools.product(*shape.tiles)]
    codes += [write(kind, shape, declared) for write in (write_layout, write_forward, write_weight)]
    names, most = ("layout", "forward", "weight"), machine.most_threads()
    public = [parallel(name, f"{name}_work", declared, most) for name in names]
    return (*machine.functions(module(codes, public, declared), names), shape)


def three(sizes, fill=1):
    """Sizes along three dimensions: two of them become the first and the last, one the last."""
    return tuple(sizes) if len(sizes) == 3 else (sizes[0], fill, sizes[1]) if len(sizes) == 2 else (fill, fill, *sizes)


class Plan:
    """Where everything lies: the tables for one geometry, without the pointers of a call.

    Samples that would not stay in the cache, or are fewer than threads, are cut into bands along the first dimension.
    """

    def __init__(self, x_shape, w_shape, stride, padding, dilation, groups, size, kind, gradient=False):
        """`gradient`: of the weights, for which the results' gradients are packed, too."""
        shape, threads = compiled(kind)[3], machine.threads()
        channels, outputs, itemsize = x_shape[1], w_shape[0], 4 if kind == "f4" else 8
        spatial, kernel, result = three(x_shape[2:]), three(w_shape[2:]), three(size)
        steps, dilation, padding = three(stride), three(dilation), three(padding, 0)
        T = math.prod(kernel)
        work = x_shape[0] * math.prod(result) * T * channels * outputs // groups
        self.threads = threads = threads if work > THREADS_FROM else 1
        # where tap k sees the result's place o: at place o + m of the phase r, so at (o + m) * stride + r of x
        seen = [[divmod(k * d - p, s) for k in range(n)] for n, d, p, s in zip(kernel, dilation, padding, steps)]
        residues = [sorted({r for _, r in places}) for places in seen]
        phases = list(itertools.product(*residues))
        after = [max(m for m, _ in places) for places in seen]
        before = [min(m for m, _ in places) for places in seen]
        counts = [
            {r: max(0, min(-(-(n - r) // s), out + m)) for r in each}
            for each, n, s, out, m in zip(residues, spatial, steps, result, after)
        ]
        pitch = [
            max(out, out + m, max(count.values()) + max(0, -least))
            for out, m, least, count in zip(result, after, before, counts)
        ]
        held = channels * len(phases) + outputs * gradient
        row_bytes = held * pitch[1] * pitch[2] * itemsize
        R, bands, overlap = result[0], 1, after[0] - before[0]
        if result[0] > 1 and (row_bytes * pitch[0] > 2 * L2_BYTES or x_shape[0] < threads):
            R = max(L2_BYTES // row_bytes - overlap, overlap, 1)
            R = min(R, -(-result[0] * x_shape[0] // threads), result[0])
            bands = -(-result[0] // R)
        first = 0
        if bands > 1:
            first, pitch[0] = before[0], R + overlap
        plane = math.prod(pitch)
        offset = lambda d, h, w: (d * pitch[1] + h) * pitch[2] + w
        taps = [
            (offset(d - first, h, w), phases.index((rd, rh, rw)))
            for (d, rd), (h, rh), (w, rw) in itertools.product(*seen)
        ]
        lead = -(-max(0, -min(place for place, _ in taps)) // 16) * 16
        reach = max(0, max(place for place, _ in taps))
        samples = x_shape[0] * bands
        P = max(1, min(L2_BYTES // max(1, row_bytes * pitch[0]), -(-samples // threads)))
        panels = -(-samples // P)
        line = -(-(lead + P * plane + reach + 8 * shape.step) // 16) * 16
        CS = line * len(phases)
        CS += 16 if CS // 16 % 2 == 0 else 0  # lines at equal places of the cache would push each other out
        GS = -(-(P * plane + 8 * shape.step) // 16) * 16
        GS += 16 if GS // 16 % 2 == 0 else 0
        self.taps = np.array([phase * line + lead + place for place, phase in taps], np.int64)
        self.pairs = (np.arange(channels // groups)[:, None] * CS + self.taps).ravel()
        self.geometry = np.array([
            (channels, *spatial, R + overlap if bands > 1 else counts[0][phase[0]], counts[1][phase[1]], counts[2][phase[2]],
             *steps, *phase, CS, plane, pitch[1], pitch[2], number * line + lead, bands, R, first, counts[0][phase[0]])
            for number, phase in enumerate(phases)
        ], np.int64)  # fmt: skip
        self.g_geometry = np.array((outputs, *result, R, *result[1:], 1, 1, 1, 0, 0, 0, GS, plane, pitch[1], pitch[2], 0,
                                    bands, R, 0, result[0]), np.int64)  # fmt: skip
        by_panel = panels >= threads
        total_off = plane - offset(R - 1, result[1] - 1, result[2] - 1) - 1
        total = P * plane - total_off
        share = total if by_panel else -(-total // threads)
        step = shape.step
        chunk = max(1, min(L2_BYTES // 4 // (outputs * itemsize * step), -(-share // step))) * step
        weight_chunk = max(512, min(4096, L2_BYTES // ((channels + outputs) * itemsize)))
        weight_chunk = -(-min(weight_chunk, share) // (8 * shape.lanes)) * 8 * shape.lanes
        TS = chunk + 16
        self.lines, self.g_lines, self.sums = channels * CS, outputs * GS, outputs * TS
        self.places = 3 * (chunk // pitch[2] + 2)
        common = dict(
            threads=threads, XS=self.lines, phases=len(phases), N=samples, P=P, panels=panels, panel_step_t=int(by_panel),
            total_off=total_off, plane=plane, PH=pitch[1], PW=pitch[2], OD=result[0], OH=result[1], OW=result[2],
            groups=groups, Cg=channels // groups, Og=outputs // groups, T=T, CS=CS, bands=bands, R=R,
            geometry=self.geometry.ctypes.data, taps=self.taps.ctypes.data,
        )  # fmt: skip
        self.forward_table = table(
            FORWARD, common, TMP=self.sums, TS=TS, chunk=chunk, Cb=max(4, 144 // T), PL=self.places
        )
        self.weight_table = table(
            WEIGHT, common, GB=self.g_lines, GS=GS, chunk=weight_chunk, g_geometry=self.g_geometry.ctypes.data,
            GW=math.prod(w_shape), pairs=self.pairs.ctypes.data,
        )  # fmt: skip


def table(names, *values, **more):
    """The numbers of a call in their order."""
    known = {**values[0], **more} if values else more
    return np.array([known.get(n, 0) for n in names], np.int64)


plan = functools.lru_cache(maxsize=256)(Plan)


def aligned(count, dtype):
    """A line of numbers, aligned for vectors."""
    array = np.empty(count * dtype.itemsize + 64, np.uint8)
    start = -array.ctypes.data % 64
    return array[start : start + count * dtype.itemsize].view(dtype)


_spare = {}  # (plan, which) -> lines that were used before: outside the numbers they are still zero
SPARES = 16


@contextlib.contextmanager
def lines(plan, *which):
    """Lines of zeros for the packed samples of a plan, used again by its next call; which: (name, count, dtype) of each."""
    found = []
    for name, count, dtype in which:
        array = _spare.pop((plan, name), None)  # whoever comes at the same time makes some of its own
        found.append(zeros(count, dtype) if array is None else array)
    yield found
    for (name, _, _), array in zip(which, found, strict=True):
        _spare[plan, name] = array
    while len(_spare) > SPARES:
        _spare.pop(next(iter(_spare), None), None)


def zeros(count, dtype):
    """A line of zeros, aligned for vectors."""
    array = np.zeros(count * dtype.itemsize + 64, np.uint8)
    start = -array.ctypes.data % 64
    return array[start : start + count * dtype.itemsize].view(dtype)


def fill(table, names, arrays):
    table = table.copy()
    for name, array in arrays.items():
        table[names.index(name)] = address(array)
    return table


def laid_out(w, groups):
    """Weights, of any strides, in the order in which the convolution reads them."""
    kind, (outputs, channels) = w.dtype.str[1:], w.shape[:2]
    steps = [s // w.itemsize for s in w.strides]
    packed = np.empty(w.shape, w.dtype)
    offsets = np.zeros((), np.int64)
    for n, step in zip(w.shape[2:], steps[2:]):
        offsets = offsets[..., None] + np.arange(n) * step
    offsets = np.ascontiguousarray(offsets)
    threads = min(machine.threads(), channels) if w.size > 1 << 17 else 1
    table = np.array(
        (threads, w.__array_interface__["data"][0], packed.ctypes.data, groups, outputs // groups, channels, offsets.size,
         offsets.ctypes.data, outputs // groups * steps[0], steps[0], steps[1]), np.int64,
    )  # fmt: skip
    compiled(kind)[0](table.ctypes.data)
    return packed


def convolution(x, w, stride, padding, dilation, groups, bias, size, out):
    """The convolution of backends.convolution into `out`."""
    kind = x.dtype.str[1:]
    forward = compiled(kind)[1]
    p = plan(x.shape, w.shape, stride, padding, dilation, groups, size, kind)
    x = np.ascontiguousarray(x)
    weights = laid_out(w, groups)
    bias = None if bias is None else np.ascontiguousarray(bias)
    sums, places = np.empty(p.threads * p.sums + 16, x.dtype), np.empty(p.threads * p.places, np.int64)
    with lines(p, ("x", p.threads * p.lines, x.dtype)) as (xb,):
        arrays = {"x": x, "xb": xb, "w": weights, "bias": bias, "out": out, "tmp": sums, "places": places}
        table = fill(p.forward_table, FORWARD, arrays)
        forward(address(table))
    return out


def weight_gradient(g, x, w_shape, stride, padding, dilation, groups):
    """The gradient in the weights of backends.convolution."""
    kind = x.dtype.str[1:]
    weight = compiled(kind)[2]
    p = plan(x.shape, tuple(w_shape), stride, padding, dilation, groups, g.shape[2:], kind, True)
    x, g = np.ascontiguousarray(x), np.ascontiguousarray(g)
    gw = np.zeros((p.threads, *w_shape), x.dtype)
    with lines(p, ("x", p.threads * p.lines, x.dtype), ("g", p.threads * p.g_lines, x.dtype)) as (xb, gb):
        table = fill(p.weight_table, WEIGHT, {"x": x, "xb": xb, "g": g, "gb": gb, "gw": gw})
        weight(address(table))
    return gw[0] if p.threads == 1 else np.add.reduce(gw, axis=0)
