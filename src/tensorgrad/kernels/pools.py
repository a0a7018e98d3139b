"""Pooling in code made for this processor, as backends/pooling.py does it with slices: window by window along each line."""

import functools
import math

import numpy as np

from tensorgrad.kernels import machine
from tensorgrad.kernels.code import Part, Vectors, address, module, parallel, words
from tensorgrad.kernels.direct import Shape, three

THREADS_FROM = 40_000  # places looked at from which a second thread pays
WINDOW = "threads N D H W OD OH OW KD KH KW sd sh sw pd ph pw dd dh dw"
MAX = words(WINDOW + " x out winners")
MEAN = words(WINDOW + " x out counts")
SHARE = words(WINDOW + " g gx counts")
POINTERS = {"x", "out", "winners", "g", "gx", "counts"}


class Pool(Part):
    """Loops over the windows of planes."""

    def results(self, plane):
        """Loop over the lines of a plane's results: (place of the line, its d, its h)."""
        f = self.f
        with self.loop(0, f["OD"]) as od, self.loop(0, f["OH"]) as oh:
            at = self.plus(self.times(plane, f["OD"]), od)
            at = self.plus(self.times(at, f["OH"]), oh)
            yield self.times(at, f["OW"]), od, oh

    def inside(self, o, axis):
        """(first, last) tap along an axis that a window has inside, and where in x tap 0 would be."""
        f = self.f
        start = self.minus(self.times(o, f["s" + axis]), f["p" + axis])
        step, size = f["d" + axis], f[axis.upper()]
        # ceil(-start / step) from 0 on, and one past the last place inside
        first = self.over(self.minus(self.minus(step, 1), start), step)
        first = self.most(first, 0)
        after = self.over(self.plus(self.minus(size, start), self.minus(step, 1)), step)
        return first, self.least(self.most(after, 0), f["K" + axis.upper()]), start

    def across(self, kw):
        """(first, last) result of a line whose window has tap kw inside, and where that tap of result 0 is."""
        f = self.f
        start = self.minus(self.times(kw, f["dw"]), f["pw"])
        first = self.most(self.over(self.minus(self.minus(f["sw"], 1), start), f["sw"]), 0)
        after = self.over(self.plus(self.minus(f["W"], start), self.minus(f["sw"], 1)), f["sw"])
        return first, self.least(self.most(after, 0), f["OW"]), start

    def taps(self, od, oh):
        """Loop over the lines of x that the windows of a line of results see: (place in the plane, number of the first tap)."""
        f = self.f
        d0, d1, ds = self.inside(od, "d")
        h0, h1, hs = self.inside(oh, "h")
        with self.loop(d0, d1) as kd, self.loop(h0, h1) as kh:
            d, h = self.plus(ds, self.times(kd, f["dd"])), self.plus(hs, self.times(kh, f["dh"]))
            line = self.times(self.plus(self.times(d, f["H"]), h), f["W"])
            yield line, self.times(self.plus(self.times(kd, f["KH"]), kh), f["KW"])

    def strided(self, first, last):
        """Loops over results of a line and their places in x, one for each common stride, which LLVM can vectorise."""
        for stride in (1, 2, self.f["sw"]):
            here = self.compare("ugt", stride, 2) if type(stride) is str else self.compare("eq", self.f["sw"], stride)
            with self.when(here), self.loop(first, last) as o:
                yield o, self.times(o, stride)


def write_max(kind, wide, declared):
    """max_pool: the largest number of each window and its place there."""
    c = Pool("max", MAX, POINTERS, kind, declared)
    f, m = c.f, c.math
    index = "i32" if wide else "i8"
    size = c.times(c.times(f["D"], f["H"]), f["W"])
    shorter = lambda x: c.add(f"trunc i64 {x} to {index}")
    with c.share(f["N"]) as plane:
        x = c.at(f["x"], c.times(plane, size), c.t)
        for line, od, oh in c.results(plane):
            out, winners = c.at(f["out"], line, c.t), c.at(f["winners"], line, index)
            d0, _, _ = c.inside(od, "d")
            h0, _, _ = c.inside(oh, "h")
            corner = c.times(c.plus(c.times(d0, f["KH"]), h0), f["KW"])
            with c.loop(0, f["OW"]) as o:  # a window's first place inside wins if all are -infinity
                c.write(m.lit(-math.inf), out, o)
            with c.loop(0, f["OW"]) as o:
                w0, _, _ = c.inside(o, "w")
                c.store(shorter(c.plus(corner, w0)), winners, o, index)
            for place, number in c.taps(od, oh):
                with c.loop(0, f["KW"]) as kw:
                    first, last, start = c.across(kw)
                    seen = c.at(x, c.plus(place, start), c.t)
                    tap = shorter(c.plus(number, kw))

                    for o, at in c.strided(first, last):
                        value, best = c.read(seen, at), c.read(out, o)
                        larger = c.add(f"or i1 {m.compare('ogt', value, best)}, {m.compare('uno', value, value)}")
                        c.write(m.select(larger, value, best), out, o)
                        old = c.load(winners, o, index)
                        c.store(c.add(f"select i1 {larger}, {index} {tap}, {index} {old}"), winners, o, index)
    return c


def write_max_back(kind, wide, declared):
    """max_pool_gradient: g added at the winners' places."""
    c = Pool("max_back", words(WINDOW + " g gx winners"), POINTERS, kind, declared)
    f, m = c.f, c.math
    index = "i32" if wide else "i8"
    size = c.times(c.times(f["D"], f["H"]), f["W"])
    high, width = (c.add(f"trunc i64 {f[k]} to i32") for k in ("KH", "KW"))
    with c.share(f["N"]) as plane:
        gx = c.at(f["gx"], c.times(plane, size), c.t)
        with c.loop(0, size) as k:
            c.write(m.lit(0.0), gx, k)
        for line, od, oh in c.results(plane):
            d0, h0 = (c.minus(c.times(o, f["s" + a]), f["p" + a]) for o, a in ((od, "d"), (oh, "h")))
            with c.loop(0, f["OW"]) as o:
                winner = c.load(c.at(f["winners"], line, index), o, index)
                winner = winner if wide else c.add(f"zext i8 {winner} to i32")
                row, kw = (c.add(f"{op} i32 {winner}, {width}") for op in ("udiv", "urem"))
                kd, kh = (c.add(f"{op} i32 {row}, {high}") for op in ("udiv", "urem"))
                kd, kh, kw = (c.add(f"zext i32 {k} to i64") for k in (kd, kh, kw))
                d, h = c.plus(d0, c.times(kd, f["dd"])), c.plus(h0, c.times(kh, f["dh"]))
                w = c.plus(c.minus(c.times(o, f["sw"]), f["pw"]), c.times(kw, f["dw"]))
                place = c.plus(c.times(c.plus(c.times(d, f["H"]), h), f["W"]), w)
                c.write(m.plus(c.read(gx, place), c.read(c.at(f["g"], line, c.t), o)), gx, place)
    return c


def write_mean(kind, declared):
    """average_pool: sums of windows over their counts."""
    c = Pool("mean", MEAN, POINTERS, kind, declared)
    f, m = c.f, c.math
    size = c.times(c.times(f["D"], f["H"]), f["W"])
    with c.share(f["N"]) as plane:
        x = c.at(f["x"], c.times(plane, size), c.t)
        start = c.times(c.times(c.times(plane, f["OD"]), f["OH"]), f["OW"])
        for line, od, oh in c.results(plane):
            out, counts = c.at(f["out"], line, c.t), c.at(f["counts"], c.minus(line, start), c.t)
            with c.loop(0, f["OW"]) as o:
                c.write(m.lit(0.0), out, o)
            for place, _ in c.taps(od, oh):
                with c.loop(0, f["KW"]) as kw:
                    first, last, begin = c.across(kw)
                    seen = c.at(x, c.plus(place, begin), c.t)
                    for o, at in c.strided(first, last):
                        c.write(m.plus(c.read(out, o), c.read(seen, at)), out, o)
            with c.loop(0, f["OW"]) as o:
                c.write(m.over(c.read(out, o), c.read(counts, o)), out, o)
    return c


def write_share(kind, declared):
    """average_pool_gradient: each g over its count, added to its window."""
    c = Pool("share", SHARE, POINTERS, kind, declared)
    f, m = c.f, c.math
    size = c.times(c.times(f["D"], f["H"]), f["W"])
    with c.share(f["N"]) as plane:
        gx = c.at(f["gx"], c.times(plane, size), c.t)
        with c.loop(0, size) as k:
            c.write(m.lit(0.0), gx, k)
        start = c.times(c.times(c.times(plane, f["OD"]), f["OH"]), f["OW"])
        for line, od, oh in c.results(plane):
            g, counts = c.at(f["g"], line, c.t), c.at(f["counts"], c.minus(line, start), c.t)
            for place, _ in c.taps(od, oh):
                with c.loop(0, f["KW"]) as kw:
                    first, last, begin = c.across(kw)
                    to = c.at(gx, c.plus(place, begin), c.t)
                    for o, at in c.strided(first, last):
                        part = m.over(c.read(g, o), c.read(counts, o))
                        c.write(m.plus(c.read(to, at), part), to, at)
    return c


class Pairs(Pool):
    """Windows of 2 x 2 side by side, a vector of them at a time: lines of x are parted into even and odd places."""

    def __init__(self, name, fields, kind, lanes, declared):
        super().__init__(name, fields, POINTERS, kind, declared)
        self.v, self.lanes = Vectors(self, kind, lanes), lanes
        self.twice = Vectors(self, kind, 2 * lanes)
        self.winner = f"<{lanes} x i8>"

    def mask(self, count, lanes):
        """Which lanes are below a count."""
        t, steps = f"<{lanes} x i64>", ", ".join(f"i64 {k}" for k in range(lanes))
        all_ = self.add(f"insertelement {t} poison, i64 {count}, i64 0")
        all_ = self.add(f"shufflevector {t} {all_}, {t} poison, <{lanes} x i32> zeroinitializer")
        return self.add(f"icmp sgt {t} {all_}, <{steps}>")

    def take(self, t, suffix, lanes, pointer, mask):
        """The lanes of a mask from memory, zeros elsewhere."""
        name, flags = f"llvm.masked.load.{suffix}.p0", f"<{lanes} x i1>"
        self.declared[name] = f"declare {t} @{name}(ptr, i32, {flags}, {t})"
        return self.add(f"call {t} @{name}(ptr {pointer}, i32 1, {flags} {mask}, {t} zeroinitializer)")

    def put(self, x, t, suffix, lanes, pointer, mask):
        """The lanes of a mask to memory."""
        name, flags = f"llvm.masked.store.{suffix}.p0", f"<{lanes} x i1>"
        self.declared[name] = f"declare void @{name}({t}, ptr, i32, {flags})"
        self.lines.append(f"  call void @{name}({t} {x}, ptr {pointer}, i32 1, {flags} {mask})")

    def shuffled(self, v, x, y, order):
        order = ", ".join(f"i32 {k}" for k in order)
        return self.add(f"shufflevector {v.type} {x}, {v.type} {y}, <{len(list(order.split(',')))} x i32> <{order}>")

    def blocks(self):
        """Loop over vectors of results: (their place, the place of their first input in x, their mask, that of a line of x)."""
        f, lanes = self.f, self.lanes
        with self.share(f["N"]) as plane, self.loop(0, f["OD"]) as oh:
            line = self.times(self.plus(self.times(plane, f["OD"]), oh), f["OW"])
            source = self.times(self.plus(self.times(plane, f["D"]), self.times(oh, 2)), f["W"])
            with self.loop(0, f["OW"], lanes) as o:
                left = self.minus(f["OW"], o)
                masks = self.mask(left, lanes), self.mask(self.times(left, 2), 2 * lanes)
                yield self.plus(line, o), self.plus(source, self.times(o, 2)), *masks


def write_pairs(kind, lanes, declared):
    """max_pool of windows of 2 x 2 side by side."""
    c = Pairs("pairs", MAX, kind, lanes, declared)
    v, twice, flags = c.v, c.twice, f"<{lanes} x i1>"
    for place, source, mask, both in c.blocks():
        best, winners = None, "zeroinitializer"
        for row in range(2):
            at = c.at(c.f["x"], c.plus(source, c.times(c.f["W"], row)), c.t)
            x = c.take(twice.type, twice.suffix, 2 * lanes, at, both)
            for column in range(2):
                seen = c.shuffled(twice, x, x, range(column, 2 * lanes, 2))
                if best is None:
                    best = seen
                    continue
                larger = c.add(f"fcmp ogt {v.type} {seen}, {best}")
                larger = c.add(f"or {flags} {larger}, {c.add(f'fcmp uno {v.type} {seen}, {seen}')}")
                best = c.add(f"select {flags} {larger}, {v.type} {seen}, {v.type} {best}")
                number = f"<{', '.join([f'i8 {2 * row + column}'] * lanes)}>"
                winners = c.add(f"select {flags} {larger}, {c.winner} {number}, {c.winner} {winners}")
        c.put(best, v.type, v.suffix, lanes, c.at(c.f["out"], place, c.t), mask)
        c.put(winners, c.winner, f"v{lanes}i8", lanes, c.at(c.f["winners"], place, "i8"), mask)
    return c


def write_pairs_back(kind, lanes, declared):
    """max_pool_gradient of windows of 2 x 2 side by side."""
    c = Pairs("pairs_back", words(WINDOW + " g gx winners"), kind, lanes, declared)
    f, v, flags = c.f, c.v, f"<{lanes} x i1>"
    order = [k // 2 + lanes * (k % 2) for k in range(2 * lanes)]
    for place, source, mask, both in c.blocks():
        g = c.take(v.type, v.suffix, lanes, c.at(f["g"], place, c.t), mask)
        winners = c.take(c.winner, f"v{lanes}i8", lanes, c.at(f["winners"], place, "i8"), mask)
        for row in range(2):
            parts = []
            for column in range(2):
                number = f"<{', '.join([f'i8 {2 * row + column}'] * lanes)}>"
                won = c.add(f"icmp eq {c.winner} {winners}, {number}")
                parts.append(c.add(f"select {flags} {won}, {v.type} {g}, {v.type} zeroinitializer"))
            line = c.shuffled(v, *parts, order)
            to = c.at(f["gx"], c.plus(source, c.times(f["W"], row)), c.t)
            c.put(line, c.twice.type, c.twice.suffix, 2 * lanes, to, both)
    zero, width, height = c.math.lit(0.0), c.times(f["OW"], 2), c.times(f["OD"], 2)
    with c.share(f["N"]) as plane, c.loop(0, f["D"]) as row:  # what no window sees
        to = c.at(f["gx"], c.times(c.plus(c.times(plane, f["D"]), row), f["W"]), c.t)
        seen = c.compare("slt", row, height)
        first = c.add(f"select i1 {seen}, i64 {width}, i64 0")
        with c.loop(first, f["W"]) as k:
            c.write(zero, to, k)
    return c


@functools.cache
def compiled(kind, wide):
    """The kernels by name, for float32 ("f4") or float64 ("f8"); wide: winners take 32 bits."""
    declared, names = {}, ("max", "max_back", "mean", "share", "pairs", "pairs_back")
    lanes = Shape(machine.engine().features, kind).lanes
    codes = [write_max(kind, wide, declared), write_max_back(kind, wide, declared), write_mean(kind, declared),
             write_share(kind, declared), write_pairs(kind, lanes, declared), write_pairs_back(kind, lanes, declared)]  # fmt: skip
    public = [parallel(name, f"{name}_work", declared, machine.most_threads()) for name in names]
    return dict(zip(names, machine.functions(module(codes, public, declared), names), strict=True))


def call(name, shape, window, size, dtype, arrays, wide=False):
    """Run a kernel over planes of `shape` with windows (kernel, stride, padding, dilation)."""
    kernel, stride, padding, dilation = window
    dims = len(size)
    planes, spatial = math.prod(shape[:-dims]), shape[-dims:]
    work = planes * math.prod(size) * math.prod(kernel)
    threads = min(machine.threads(), planes) if work > THREADS_FROM else 1
    numbers = (
        threads,
        planes,
        *three(spatial),
        *three(size),
        *three(kernel),
        *three(stride),
        *three(padding, 0),
        *three(dilation),
    )
    table = np.array([*numbers, *[address(a) for a in arrays]], np.int64)
    compiled(dtype.str[1:], wide)[name](table.ctypes.data)


def in_pairs(window, spatial, size):
    """Whether windows are 2 x 2, side by side, and none hangs over the end."""
    return window == ((2, 2), (2, 2), (0, 0), (1, 1)) and all(2 * m <= n for m, n in zip(size, spatial, strict=True))


def max_pool(x, kernel, stride, padding, dilation, size):
    """max_pool of backends.pooling."""
    x, wide = np.ascontiguousarray(x), math.prod(kernel) > 256
    out = np.empty((*x.shape[: -len(size)], *size), x.dtype)
    winners = np.empty(out.shape, np.int32 if wide else np.uint8)
    window = kernel, stride, padding, dilation
    name = "pairs" if in_pairs(window, x.shape[-len(size) :], size) else "max"
    call(name, x.shape, window, size, x.dtype, (x, out, winners), wide)
    return out, winners


def max_pool_gradient(g, winners, spatial, kernel, stride, padding, dilation):
    """max_pool_gradient of backends.pooling."""
    g, winners, dims = np.ascontiguousarray(g), np.ascontiguousarray(winners), len(spatial)
    gx = np.empty((*g.shape[:-dims], *spatial), g.dtype)
    window, size = (kernel, stride, padding, dilation), g.shape[-dims:]
    name = "pairs_back" if in_pairs(window, spatial, size) else "max_back"
    call(name, gx.shape, window, size, g.dtype, (g, gx, winners), winners.itemsize > 1)
    return gx


def average_pool(x, kernel, stride, padding, size, counts):
    """average_pool of backends.pooling, given how many each window counts."""
    x = np.ascontiguousarray(x)
    out = np.empty((*x.shape[: -len(size)], *size), x.dtype)
    counts = np.full(size, counts, x.dtype)
    call("mean", x.shape, (kernel, stride, padding, (1,) * len(size)), size, x.dtype, (x, out, counts))
    return out


def average_pool_gradient(g, spatial, kernel, stride, padding, counts):
    """average_pool_gradient of backends.pooling, given how many each window counts."""
    g, dims = np.ascontiguousarray(g), len(spatial)
    gx, size = np.empty((*g.shape[:-dims], *spatial), g.dtype), g.shape[-dims:]
    counts = np.full(size, counts, g.dtype)
    call("share", gx.shape, (kernel, stride, padding, (1,) * dims), size, g.dtype, (g, gx, counts))
    return gx
