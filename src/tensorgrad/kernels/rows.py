"""Normalizations and softmax in code made for this processor: each row is read while it is in the cache, and written once.

One text serves all sizes. The array kernels that these stand for are in backends/normalization.py and ops/softmax.py.
"""

import functools
import math
from struct import pack

import numpy as np

from tensorgrad.kernels import machine
from tensorgrad.kernels.code import Part, address, module, parallel, words
from tensorgrad.kernels.pool import SHORT

THREADS_FROM, LONG = 40_000, 400_000  # numbers from which a thread pays that is awake, and one that has to be woken
NORMAL = words("threads A B J K given centred by_place ws_b ws_j bs_b bs_j inverse eps x out mean rstd var w b")
BACK = words("threads A B J K given centred by_place ws_b ws_j GW inverse g x gx mean rstd w gw gb")
SOFT = words("threads R C x out g")
ADD = words("threads N C index x out")
POINTERS = {"index", "x", "out", "mean", "rstd", "var", "w", "b", "g", "gx", "gw", "gb"}
FLOATS = {"inverse", "eps"}


def write_normal(kind, declared):
    """normalize: mean, 1 / deviation and the result, group by group."""
    c = Part("normal", NORMAL, POINTERS, kind, declared, FLOATS)
    f, m = c.f, c.math
    width = c.times(f["J"], f["K"])
    jump = c.times(f["B"], width)
    scaled, shifted = c.there(f["w"]), c.there(f["b"])
    measure = c.compare("eq", f["given"], 0)
    with c.share(f["B"]) as b:
        first = c.times(b, width)
        with c.when(measure):
            mean = c.number()
            with c.when(c.compare("eq", f["centred"], 1)):
                total = c.number()
                with c.loop(0, f["A"]) as a:
                    x = c.at(f["x"], c.plus(first, c.times(a, jump)), c.t)
                    with c.loop(0, width) as k:
                        c.gather(total, c.read(x, k))
                c.set(mean, m.times(c.value(total), f["inverse"]), c.t)
            squares, rest, centre = c.number(), c.number(), c.value(mean)
            with c.loop(0, f["A"]) as a:
                x = c.at(f["x"], c.plus(first, c.times(a, jump)), c.t)
                with c.loop(0, width) as k:
                    d = m.minus(c.read(x, k), centre)
                    c.gather(squares, m.times(d, d))
                    c.gather(rest, d)
            off = c.number()  # what rounding took from the mean
            with c.when(c.compare("eq", f["centred"], 1)):
                c.set(off, m.times(c.value(rest), f["inverse"]), c.t)
                c.write(m.plus(centre, c.value(off)), f["mean"], b)
            off = c.value(off)
            var = m.maximum(m.minus(m.times(c.value(squares), f["inverse"]), m.times(off, off)), 0.0)
            c.write(var, f["var"], b)
            c.write(m.over(1.0, m.intrinsic("sqrt", m.exact("fadd", var, f["eps"]))), f["rstd"], b)
        centre, slope = c.number(), c.read(f["rstd"], b)
        with c.when(c.compare("eq", f["centred"], 1)):
            c.set(centre, c.read(f["mean"], b), c.t)
        centre = c.value(centre)
        with c.loop(0, f["A"]) as a, c.loop(0, f["J"]) as j:
            place = c.plus(c.plus(first, c.times(a, jump)), c.times(j, f["K"]))
            x, out = c.at(f["x"], place, c.t), c.at(f["out"], place, c.t)

            def shared():
                factor, shift = c.variable(c.t, slope), c.number(-0.0)
                with c.when(scaled):
                    w = c.read(f["w"], c.plus(c.times(b, f["ws_b"]), c.times(j, f["ws_j"])))
                    c.set(factor, m.times(slope, w), c.t)
                with c.when(shifted):
                    c.set(shift, c.read(f["b"], c.plus(c.times(b, f["bs_b"]), c.times(j, f["bs_j"]))), c.t)
                factor, shift = c.value(factor), c.value(shift)
                with c.loop(0, f["K"]) as k:
                    c.write(m.fma(m.minus(c.read(x, k), centre), factor, shift), out, k)

            def by_place():
                with c.loop(0, f["K"]) as k:
                    c.write(m.times(m.times(m.minus(c.read(x, k), centre), slope), c.read(f["w"], k)), out, k)
                with c.when(shifted), c.loop(0, f["K"]) as k:
                    c.write(m.plus(c.read(out, k), c.read(f["b"], k)), out, k)

            c.either(c.compare("eq", f["by_place"], 0), shared, by_place)
    return c


def write_back(kind, declared):
    """normalize_gradient: the gradients of x and of scale and shift, group by group."""
    c = Part("back", BACK, POINTERS, kind, declared, FLOATS)
    f, m = c.f, c.math
    width = c.times(f["J"], f["K"])
    jump = c.times(f["B"], width)
    scaled, wanted = c.there(f["w"]), c.there(f["gx"])
    gw = c.at(f["gw"], c.times("%t", f["GW"]), c.t)
    gb = c.at(f["gb"], c.times("%t", f["GW"]), c.t)
    slopes, shifts = c.there(f["gw"]), c.there(f["gb"])
    apart = c.compare("eq", f["by_place"], 1)
    with c.share(f["B"]) as b:
        first = c.times(b, width)
        slope, centre = c.read(f["rstd"], b), c.number()
        with c.when(c.compare("eq", f["centred"], 1)):
            c.set(centre, c.read(f["mean"], b), c.t)
        centre = c.value(centre)
        one, two = c.number(), c.number()  # sums of g w and of g w x^

        def shared():
            with c.loop(0, f["J"]) as j:
                total, product = c.number(), c.number()
                with c.loop(0, f["A"]) as a:
                    place = c.plus(c.plus(first, c.times(a, jump)), c.times(j, f["K"]))
                    x, g = c.at(f["x"], place, c.t), c.at(f["g"], place, c.t)
                    with c.loop(0, f["K"]) as k:
                        d = c.read(g, k)
                        c.gather(total, d)
                        c.gather(product, m.times(d, m.minus(c.read(x, k), centre)))
                total, product = c.value(total), m.times(c.value(product), slope)
                at = c.plus(c.times(b, f["J"]), j)
                with c.when(shifts):
                    c.write(total, f["gb"], at)
                with c.when(slopes):
                    c.write(product, f["gw"], at)
                w = c.number(1.0)
                with c.when(scaled):
                    c.set(w, c.read(f["w"], c.plus(c.times(b, f["ws_b"]), c.times(j, f["ws_j"]))), c.t)
                c.gather(one, m.times(total, c.value(w)))
                c.gather(two, m.times(product, c.value(w)))

        def by_place():
            x, g = c.at(f["x"], first, c.t), c.at(f["g"], first, c.t)
            with c.when(scaled), c.loop(0, width) as k:
                d = m.times(c.read(g, k), c.read(f["w"], k))
                c.gather(one, d)
                c.gather(two, m.times(d, m.minus(c.read(x, k), centre)))
            with c.when(c.add(f"xor i1 {scaled}, true")), c.loop(0, width) as k:
                d = c.read(g, k)
                c.gather(one, d)
                c.gather(two, m.times(d, m.minus(c.read(x, k), centre)))
            c.set(two, m.times(c.value(two), slope), c.t)
            with c.when(shifts), c.loop(0, width) as k:
                c.write(m.plus(c.read(gb, k), c.read(g, k)), gb, k)
            with c.when(slopes), c.loop(0, width) as k:
                normal = m.times(m.minus(c.read(x, k), centre), slope)
                c.write(m.fma(c.read(g, k), normal, c.read(gw, k)), gw, k)

        c.either(apart, by_place, shared)
        with c.when(wanted):
            measured = c.compare("eq", f["given"], 0)
            keep = lambda x: m.select(measured, x, 0.0)
            both = c.add(f"and i1 {measured}, {c.compare('eq', f['centred'], 1)}")
            one = m.select(both, m.times(c.value(one), f["inverse"]), 0.0)
            two = m.times(keep(m.times(c.value(two), f["inverse"])), slope)

            def write(g, x, out, k, w):
                d = c.read(g, k) if w is None else m.times(c.read(g, k), w)
                normal = m.times(m.minus(c.read(x, k), centre), two)
                c.write(m.times(m.minus(m.minus(d, normal), one), slope), out, k)

            with c.loop(0, f["A"]) as a, c.loop(0, f["J"]) as j:
                place = c.plus(c.plus(first, c.times(a, jump)), c.times(j, f["K"]))
                x, g, out = (c.at(f[name], place, c.t) for name in ("x", "g", "gx"))
                rows = c.add(f"and i1 {apart}, {scaled}")
                with c.when(rows), c.loop(0, f["K"]) as k:
                    write(g, x, out, k, c.read(f["w"], k))
                w = c.number(1.0)
                plain = c.add(f"xor i1 {rows}, true")
                with c.when(c.add(f"and i1 {plain}, {scaled}")):
                    c.set(w, c.read(f["w"], c.plus(c.times(b, f["ws_b"]), c.times(j, f["ws_j"]))), c.t)
                w = c.value(w)
                with c.when(plain), c.loop(0, f["K"]) as k:
                    write(g, x, out, k, w)
    return c


def write_soft(name, kind, declared):
    """softmax, log_softmax and their gradients along rows."""
    c = Part(name, SOFT, POINTERS, kind, declared)
    f, m = c.f, c.math
    with c.share(f["R"]) as r:
        x, out, g = (c.at(f[field], c.times(r, f["C"]), c.t) for field in ("x", "out", "g"))
        total = c.number()
        if name in ("softmax", "log_softmax"):
            top = c.number(-math.inf)
            with c.loop(0, f["C"]) as k:
                c.set(top, m.maximum(c.read(x, k), c.value(top)), c.t)
            top = c.value(top)
            with c.loop(0, f["C"]) as k:
                y = m.exp(m.minus(c.read(x, k), top))
                c.gather(total, y)
                if name == "softmax":
                    c.write(y, out, k)
            if name == "softmax":
                total = c.value(total)
                with c.loop(0, f["C"]) as k:
                    c.write(m.over(c.read(out, k), total), out, k)
            else:
                total = m.log(c.value(total))
                with c.loop(0, f["C"]) as k:
                    c.write(m.minus(m.minus(c.read(x, k), top), total), out, k)
        else:
            with c.loop(0, f["C"]) as k:
                c.gather(total, m.times(c.read(g, k), c.read(x, k)) if name == "softmax_back" else c.read(g, k))
            total = c.value(total)
            with c.loop(0, f["C"]) as k:
                d, y = c.read(g, k), c.read(x, k)
                if name == "softmax_back":
                    c.write(m.times(y, m.minus(d, total)), out, k)
                else:
                    c.write(m.minus(d, m.times(m.exp(y), total)), out, k)
    return c


def write_add(kind, declared):
    """out[index[n]] += x[n] for rows of C numbers; a thread has a part of the columns."""
    c = Part("add", ADD, POINTERS, kind, declared)
    f = c.f
    first = c.over(c.times(f["C"], "%t"), "%T")
    last = c.over(c.times(f["C"], c.plus("%t", 1)), "%T")
    with c.loop(0, f["N"]) as n:
        to = c.at(f["out"], c.times(c.load(f["index"], n, "i64"), f["C"]), c.t)
        x = c.at(f["x"], c.times(n, f["C"]), c.t)
        with c.loop(first, last) as k:
            c.write(c.math.plus(c.read(to, k), c.read(x, k)), to, k)
    return c


SOFTENED = ("softmax", "log_softmax", "softmax_back", "log_softmax_back")


@functools.cache
def compiled(kind):
    """The kernels by name, for float32 ("f4") or float64 ("f8")."""
    declared, names = {}, ("normal", "back", "add", *SOFTENED)
    codes = [write(kind, declared) for write in (write_normal, write_back, write_add)]
    codes += [write_soft(name, kind, declared) for name in SOFTENED]
    public = [parallel(name, f"{name}_work", declared, machine.most_threads()) for name in names]
    return dict(zip(names, machine.functions(module(codes, public, declared), names), strict=True))


def call(name, dtype, integers, floats, arrays):
    """Run a kernel on a table of integers, floats and pointers, in this order."""
    if integers[0] > 1 and arrays[1].size < LONG:
        integers = (integers[0] | SHORT, *integers[1:])
    real = "f4x" if dtype.itemsize == 4 else "d"
    form = f"={len(integers)}q{real * len(floats)}{len(arrays)}q"
    compiled(dtype.str[1:])[name](pack(form, *integers, *floats, *map(address, arrays)))


def parts(x, rows):
    """How many threads a kernel over rows of x gets."""
    return min(machine.threads(), rows) if x.size > THREADS_FROM else 1


def scale(w):
    """(array, its steps by group and by channel) of a scale of shape (1, B or 1, J or 1, 1) or (1, 1, 1, K)."""
    if w is None:
        return None, 0, 0
    w = np.ascontiguousarray(w)
    return w, w.shape[2] if w.shape[1] > 1 else 0, 1 if w.shape[2] > 1 else 0


def normalize(x, w, b, eps, mean, rstd, centred=True):
    """normalize of backends.normalization; without `centred` the mean is not taken off."""
    A, B, J, K = x.shape
    given = rstd is not None
    var = None
    if not given:
        mean, rstd, var = (np.empty(B, x.dtype) for _ in range(3))
    else:
        mean, rstd = np.ascontiguousarray(mean, x.dtype), np.ascontiguousarray(rstd, x.dtype)
    out = np.empty(x.shape, x.dtype)
    by_place = any(t is not None and t.shape[3] > 1 for t in (w, b))
    if by_place and w is None:
        w = np.ones((1, 1, 1, K), x.dtype)
    (w, wb, wj), (b, bb, bj) = scale(w), scale(b)
    call(
        "normal", x.dtype, (parts(x, B), A, B, J, K, given, centred, by_place, wb, wj, bb, bj), (1 / (x.size // B), eps),
        (x, out, mean, rstd, var, w, b),
    )  # fmt: skip
    return out, mean, rstd, var


def normalize_gradient(g, x, w, mean, rstd, wanted, given, by_place, centred=True):
    """normalize_gradient of backends.normalization."""
    A, B, J, K = x.shape
    threads = parts(x, B)
    gx = np.empty(x.shape, x.dtype) if wanted[0] else None
    shape = (threads, 1, 1, 1, K) if by_place else (1, 1, B, J, 1)
    sums = [np.zeros(shape, x.dtype) if want else None for want in wanted[1:]]
    w, wb, wj = scale(w)
    mean, rstd = (None if s is None else np.ascontiguousarray(s, x.dtype) for s in (mean, rstd))
    call(
        "back", x.dtype, (threads, A, B, J, K, given, centred, by_place, wb, wj, K), (1 / (x.size // B),),
        (g, x, gx, mean, rstd, w, *sums),
    )  # fmt: skip
    return gx, *[None if s is None else np.add.reduce(s, axis=0) if threads > 1 and by_place else s[0] for s in sums]


def soft(name, x, g=None):
    """softmax, log_softmax or their gradients (of the result x) along the last dimension."""
    x = np.ascontiguousarray(x)
    g = None if g is None else np.ascontiguousarray(g)
    out = np.empty(x.shape, x.dtype)
    C = x.shape[-1]
    R = x.size // C
    call(name, x.dtype, (parts(x, R), R, C), (), (x, out, g))
    return out


def add_rows(target, index, x):
    """target[index[n]] += x[n] for the rows of matrices; False if an index points outside."""
    rows, columns = target.shape
    if index.min() < 0 or index.max() >= rows:
        return False
    threads = min(machine.threads(), columns // 16) if x.size > THREADS_FROM else 1
    index, x = np.ascontiguousarray(index, np.int64), np.ascontiguousarray(x)
    call("add", x.dtype, (threads, len(x), columns), (), (index, x, target))
    return True
