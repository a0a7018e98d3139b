"""Matrix products in code made for this processor: out[n, m] = sum over k of a[n, k] * b[k, m], for each of a batch.

b is cut into panels of some vectors of columns, which are laid out row after row, and a few rows of results at a time stay in
registers while a panel goes past. Numbers of a are read where they lie. NumPy's BLAS lays out both, which pays for large
matrices; those of a training step are often long in one direction and short in the others.
"""

import ctypes
import functools
import math

import numpy as np

from tensorgrad.kernels import direct, machine
from tensorgrad.kernels.code import Code, address, module, parallel, words
from tensorgrad.kernels.tiles import Masked, function

TABLE = words("threads n m k AR AK BK BM CR chunks rows outer inner a0 a1 b0 b1 out0 out1 a b out")
DEPTH = 256  # rows of b that a panel has at a time: it stays in the second cache
ROWS = 6, 2, 1  # of results that are formed at a time
COPIED_FROM = 48  # rows of results for which a panel is worth laying out where it could be read as it is
LEAST = 8  # rows and columns from which it is faster than BLAS
THREADS_FROM = 400_000  # multiply-adds from which a second thread pays


def write_columns(kind, lanes, declared):
    """`left` columns of b, at most a vector, where the numbers of a row are neighbours; rows of a panel are `pitch` apart."""
    code = function("columns", "ptr b,i64 BK,i64 k,i64 left,ptr to,i64 pitch", declared)
    v = Masked(code, kind, lanes)
    mask = v.where("slt", "%left")
    with code.loop(0, "%k") as k:
        v.store(v.load_where(mask, v.beside("%b", code.times(k, "%BK"))), "%to", code.times(k, "%pitch"))
    return code


def write_turned(kind, lanes, declared):
    """The same where the numbers of a column are neighbours: squares of them are turned."""
    code = function("turned", "ptr b,i64 BM,i64 k,i64 left,ptr to,i64 pitch", declared)
    v, last = Masked(code, kind, lanes), code.minus("%left", 1)
    with code.loop(0, "%k", lanes) as k:
        mask, rows = v.where("slt", code.minus("%k", k)), []
        for j in range(lanes):  # the last column stands for those behind it
            line = code.times(code.least(j, last), "%BM")
            v.prefetch("%b", code.plus(code.plus(line, k), 8 * lanes))
            rows.append(v.load_where(mask, v.beside("%b", code.plus(line, k))))
        for j, row in enumerate(v.turned(rows)):
            v.store(row, "%to", code.times(code.plus(k, j), "%pitch"))
    return code


def write_rows(kind, lanes, vectors, declared):
    """out[n, m] = or += the product of `count` rows of a and a panel, of which `left` columns count."""
    parameters = "ptr a,i64 AR,i64 AK,ptr b,i64 BK,i64 k,ptr _out,i64 CR,i64 count,i64 left,i64 first"
    code = function(f"rows{vectors}", parameters, declared)
    v = Masked(code, kind, lanes)
    mask = v.where("slt", code.minus("%left", (vectors - 1) * lanes))
    whole, fresh = code.compare("sge", "%left", vectors * lanes), code.compare("eq", "%first", 1)
    part, more = (code.add(f"xor i1 {c}, true") for c in (whole, fresh))

    def block(rows, r0):
        sums = [[code.variable(v.type, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
        lines = [code.at("%a", code.times(code.plus(r0, r), "%AR"), v.scalar) for r in range(rows)]
        with code.loop(0, "%k") as k:
            panel, at = code.at("%b", code.times(k, "%BK"), v.scalar), code.times(k, "%AK")
            seen = [v.load(panel, n * lanes) for n in range(vectors)]
            for line in dict.fromkeys((lines[0], lines[-1])):  # columns of a lie far from each other
                v.prefetch(line, code.plus(at, code.times("%AK", 24)))
            for r in range(rows):
                number = v.spread(code.load(lines[r], at, v.scalar))
                for n in range(vectors):
                    code.set(sums[r][n], v.fma(number, seen[n], code.get(sums[r][n], v.type)), v.type)
        for r in range(rows):
            to = code.at("%_out", code.times(code.plus(r0, r), "%CR"), v.scalar)
            for n, slot in enumerate(sums[r]):
                place, last = v.beside(to, n * lanes), n == vectors - 1
                with code.when(more):
                    old = v.load_where(mask, place) if last else v.load(place, 0)
                    code.set(slot, v.plus(code.get(slot, v.type), old), v.type)
                x = code.get(slot, v.type)
                if last:
                    with code.when(whole):
                        v.store(x, place, 0)
                    with code.when(part):
                        v.store_where(mask, x, place)
                else:
                    v.store(x, place, 0)

    direct.blocked(code, "0", "%count", ROWS, block)
    return code


def write_work(kind, lanes, vectors, declared):
    """A thread's panels, and rows of panels: `chunks` parts of `rows` rows for each panel."""
    code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t = code.t = "float" if kind == "f4" else "double"
    f = {n: code.load("%table", k, "ptr" if n in ("a", "b", "out") else "i64") for k, n in enumerate(TABLE)}
    wide = vectors * lanes
    panel = code.variable(f"[{DEPTH * vectors + lanes * vectors} x <{lanes} x {t}>]")
    blocks = code.over(code.plus(f["k"], DEPTH - 1), DEPTH)
    depth = code.over(code.plus(f["k"], code.minus(blocks, 1)), blocks)
    panels = code.over(code.plus(f["m"], wide - 1), wide)
    parts = code.times(panels, f["chunks"])  # of each of the batch
    count = code.times(parts, code.times(f["outer"], f["inner"]))
    first, last = (code.over(code.times(count, s), "%T") for s in ("%t", code.plus("%t", 1)))
    clipped = lambda x, start, most: code.least(code.most(code.minus(x, start), 0), most)
    with code.loop(code.over(first, parts), code.over(code.plus(last, code.minus(parts, 1)), parts)) as one:
        whole = code.times(one, parts)
        low, high = clipped(first, whole, parts), clipped(last, whole, parts)
        outer, inner = code.over(one, f["inner"]), code.rest(one, f["inner"])
        each = {}
        for name in ("a", "b", "out"):
            shift = code.plus(code.times(outer, f[f"{name}0"]), code.times(inner, f[f"{name}1"]))
            each[name] = code.at(f[name], shift, t)
        write_panels(code, {**f, **each}, low, high, depth, vectors, lanes, panel, clipped)
    return code


def write_panels(code, f, low, high, depth, vectors, lanes, panel, clipped):
    """The parts from low to high of one product."""
    t, wide = code.t, vectors * lanes
    end = code.over(code.plus(high, code.minus(f["chunks"], 1)), f["chunks"])
    beside, apart = (code.compare(how, f["BM"], 1) for how in ("eq", "ne"))
    with code.loop(0, f["k"], depth) as k:  # rows of a are near for all panels
        some = code.least(depth, code.minus(f["k"], k))
        first = code.add(f"zext i1 {code.compare('eq', k, 0)} to i64")
        with code.loop(code.over(low, f["chunks"]), end) as p:
            start = code.times(p, f["chunks"])
            n0, n1 = (code.least(code.times(clipped(x, start, f["chunks"]), f["rows"]), f["n"]) for x in (low, high))
            rows, m = code.minus(n1, n0), code.times(p, wide)
            left = code.minus(f["m"], m)
            few = code.compare("slt", rows, COPIED_FROM)
            b = code.at(f["b"], code.plus(code.times(k, f["BK"]), code.times(m, f["BM"])), t)
            a = code.at(f["a"], code.plus(code.times(n0, f["AR"]), code.times(k, f["AK"])), t)
            out = code.at(f["out"], code.plus(code.times(n0, f["CR"]), m), t)
            for n in range(1, vectors + 1):
                here = code.compare("sgt", left, (n - 1) * lanes)
                if n < vectors:
                    here = code.add(f"and i1 {here}, {code.compare('sle', left, n * lanes)}")
                with code.when(here):
                    seen, pitch = code.variable("ptr", panel), code.variable("i64", n * lanes)
                    plain = code.add(f"and i1 {beside}, {code.compare('sge', left, n * lanes)}")
                    plain = code.add(f"and i1 {plain}, {few}")
                    with code.when(plain):
                        code.set(seen, b, "ptr")
                        code.set(pitch, f["BK"], "i64")
                    copied = code.add(f"xor i1 {plain}, true")
                    with code.when(copied), code.loop(0, n) as vector:
                        column = code.times(vector, lanes)
                        source = code.at(b, code.times(column, f["BM"]), t)
                        rest = ("i64", some), ("i64", code.minus(left, column)), ("ptr", code.at(panel, column, t))
                        for condition, name, step in ((beside, "columns", "BK"), (apart, "turned", "BM")):
                            with code.when(condition):
                                code.run(name, ("ptr", source), ("i64", f[step]), *rest, ("i64", n * lanes))
                    code.run(
                        f"rows{n}", ("ptr", a), ("i64", f["AR"]), ("i64", f["AK"]), ("ptr", code.get(seen, "ptr")),
                        ("i64", code.get(pitch, "i64")), ("i64", some), ("ptr", out), ("i64", f["CR"]), ("i64", rows),
                        ("i64", left), ("i64", first),
                    )  # fmt: skip


@functools.cache
def compiled(kind):
    """(the function of a table, columns of a panel) for float32 ("f4") or float64 ("f8")."""
    features, declared = machine.engine().features, {}
    lanes = direct.Shape(features, kind).lanes
    vectors = 4 if "+avx512f" in features or "+neon" in features else 2
    codes = [write(kind, lanes, declared) for write in (write_columns, write_turned)]
    codes += [write_rows(kind, lanes, n, declared) for n in range(1, vectors + 1)]
    codes.append(write_work(kind, lanes, vectors, declared))
    public = [parallel("product", "work", declared, machine.most_threads())]
    return machine.functions(module(codes, public, declared), ["product"])[0], lanes * vectors


@functools.cache
def symbol(kind):
    """The name under which other modules find the function of a table."""
    name = f"tensorgrad_product_{kind}"
    machine.llvm().add_symbol(name, ctypes.cast(compiled(kind)[0], ctypes.c_void_p).value)
    return name


def suits(n, m, k):
    """Whether a product is of those that are faster here than in BLAS."""
    return min(n, m) >= LEAST and k > 0


def numbers(kind, sizes, a, b, out, batch, threads):
    """The numbers of a table, without its pointers, for sizes (n, m, k) and a batch of at most two dimensions.

    a, b, out: strides, first those of the batch; b has a stride of one, and out has one along m. threads: the most.
    """
    (n, m, k), (outer, inner) = sizes, (1, 1, *batch)[-2:]
    threads = threads if n * m * k * outer * inner > THREADS_FROM else 1
    panels = -(-m // compiled(kind)[1]) * outer * inner
    chunks = 1 if panels % threads == 0 or panels > 4 * threads else min(threads, max(1, n // (2 * ROWS[0])))
    rows = math.ceil(n / chunks / ROWS[0]) * ROWS[0]
    shifts = [step for strides in (a, b, out) for step in (0, 0, *strides[:-2])[-2:]]
    return [threads, n, m, k, *a[-2:], *b[-2:], out[-2], chunks, rows, outer, inner, *shifts]


@functools.lru_cache(maxsize=1024)
def template(*arguments):
    return np.array([*numbers(*arguments), 0, 0, 0], np.int64)


def multiply(a, b):
    """a @ b of matrices, or of stacks of as many matrices, of float32 or float64; None where this is BLAS's work."""
    (*batch, n, k), m = a.shape, b.shape[-1]
    if a.dtype != b.dtype or b.shape[:-2] != a.shape[:-2] or len(batch) > 2 or not suits(n, m, k):
        return None
    size = a.itemsize
    if not (a.flags.aligned and b.flags.aligned) or any(s % size for s in (*a.strides, *b.strides)):
        return None
    if b.strides[-1] != size and b.strides[-2] != size:
        b = np.ascontiguousarray(b)
    out = np.empty((*batch, n, m), a.dtype)
    kind, steps = a.dtype.str[1:], [tuple([s // size for s in x.strides]) for x in (a, b, out)]
    table = template(kind, (n, m, k), *steps, tuple(batch), machine.threads()).copy()
    table[-3:] = address(a), address(b), address(out)
    compiled(kind)[0](address(table))
    return out
