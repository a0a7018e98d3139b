"""Fused loops for eager operations: a kernel on arrays runs once on Symbols and becomes one loop for arrays of any size.

`pointwise(function, arrays, params)` is what `function(*arrays, *params)` is, made in one pass over memory by as many
threads as pay, or None where that cannot be. A loop is known by the function, its numbers, the dtypes, and which arrays
are repeated along the innermost dimension; sizes and strides are given when it runs.
"""

import functools
import math
from struct import Struct

import numpy as np

from tensorgrad.kernels import machine, mathematics
from tensorgrad.kernels.code import Code, address, module, parallel
from tensorgrad.kernels.mathematics import TYPES, kind_of
from tensorgrad.kernels.pool import SHORT
from tensorgrad.kernels.schedule import contiguous
from tensorgrad.kernels.symbol import Symbol, recordable
from tensorgrad.kernels.values import CannotRecord, Graph, in_order, merged

COST = {"exp": 6, "log": 8, "tanh": 10, "erf": 10, "expm1": 8, "log1p": 10, "divide": 2, "sqrt": 2}  # in additions
THREADS_FROM = 100_000  # additions from which a second thread pays that is awake
LONG = 1_500_000  # and one that has to be woken
FORMS = 16  # of one function: beyond this its numbers change all the time, and NumPy does it
DEPTH = 3  # dimensions of a loop nest
PLAIN = 0x101  # flags of an array: one number after the other, and aligned
empty = np.empty


class Loop:
    """A compiled expression: call it with a table of sizes, pointers and strides."""

    __slots__ = ("cost", "dtypes", "pack", "run")

    def __init__(self, function, params, dtypes, patterns, depth):
        graph = Graph()
        shape = (4,) * depth
        symbols = []
        for number, (dtype, pattern) in enumerate(zip(dtypes, patterns, strict=True)):
            seen = () if pattern == 2 else (4,) * (depth - 1) + (4 if pattern == 1 else 1,)
            symbols.append(Symbol(graph, graph.input(seen, dtype, number)))
        with np.errstate(all="ignore"):
            results = function(*symbols, *params)
        results = results if isinstance(results, (tuple, list)) else (results,)
        if not all(type(r) is Symbol for r in results):
            raise CannotRecord("a result that is no array")
        roots = [graph.expand(r.value, shape) for r in results]
        self.dtypes = [r.dtype for r in roots]
        self.pack = Struct(f"{1 + depth + depth * (len(symbols) + len(roots))}q").pack
        inputs = [s.value for s in symbols]
        order = in_order(roots)
        self.cost = sum(COST.get(v.op, 1) for v in order)
        if any(slow(v) for v in order):
            raise CannotRecord("a function that NumPy vectorises and a loop does not")
        declared = {}
        row = write_row(order, inputs, patterns, roots, declared)
        work = write_work(
            len(inputs), len(roots), [d.itemsize for d in (*dtypes, *self.dtypes)], patterns, depth, declared
        )
        public = [parallel("run", "work", declared, machine.most_threads())]
        (self.run,) = machine.functions(module([row, work], public, declared), ["run"])


def slow(value):
    """Whether a loop would call the C library for each number."""
    return value.op in mathematics.LIBRARY or value.op == "power" or (value.op == "tanh" and value.dtype.itemsize == 8)


def write_row(order, inputs, patterns, roots, declared):
    """One stretch: row(pointers of the inputs, pointers of the results, count)."""
    pointers = [*[f"a{n}" for n in range(len(inputs))], *[f"r{n}" for n in range(len(roots))]]
    code = Code("row", [*[("ptr", p) for p in pointers], ("i64", "n")], declared)
    registers, numbers = {}, {v: n for n, v in enumerate(inputs)}

    def load(value, place):
        kind = kind_of(value.dtype)
        x = code.load(f"%a{numbers[value]}", place, "i8" if kind == "b1" else TYPES[kind], max(1, value.dtype.itemsize))
        return code.add(f"icmp ne i8 {x}, 0") if kind == "b1" else x

    for value, pattern in zip(inputs, patterns, strict=True):
        if pattern != 1 and value in order:
            registers[value] = load(value, 0)
    with code.loop(0, "%n") as i:
        for value in order:
            if value in registers:
                continue
            kind = kind_of(value.dtype)
            if value.op == "input":
                registers[value] = load(value, i)
            elif value.op == "const":
                registers[value] = mathematics.literal(value.attr[1], kind)
            elif value.op in ("expand", "reshape"):
                if (
                    value.op == "reshape"
                    and value.size != 1
                    and [n for n in value.shape if n != 1] != [n for n in value.args[0].shape if n != 1]
                ):
                    raise CannotRecord("another shape")
                registers[value] = registers[value.args[0]]
            elif value.op in mathematics.FUNCTIONS and kind != "f2":
                args = [registers[a] for a in value.args]
                registers[value] = mathematics.number(
                    code, value.op, args, [kind_of(a.dtype) for a in value.args], kind
                )
            else:
                raise CannotRecord(value.op)
        for n, root in enumerate(roots):
            kind, x = kind_of(root.dtype), registers[root]
            if kind == "b1":
                x = code.add(f"zext i1 {x} to i8")
            code.store(x, f"%r{n}", i, "i8" if kind == "b1" else TYPES[kind], max(1, root.dtype.itemsize))
    return code


def write_work(inputs, results, sizes, patterns, depth, declared):
    """A thread's share: loops over the outer dimensions. The table: threads, sizes, then pointer and outer strides of each."""
    code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    field = lambda place, t: code.load("%table", place, t)
    size = [field(1 + d, "i64") for d in range(depth)]
    width = depth  # a pointer, and a stride in bytes for each outer dimension
    arrays = [[field(1 + depth + width * n, "ptr"), *[field(2 + depth + width * n + d, "i64") for d in range(depth - 1)]]
              for n in range(inputs + results)]  # fmt: skip
    low = code.over(code.times(size[0], "%t"), "%T")
    high = code.over(code.times(size[0], code.plus("%t", 1)), "%T")

    def nest(level, pointers):
        if level == depth - 1:
            count = size[-1] if depth > 1 else code.minus(high, low)
            code.run("row", *[("ptr", p) for p in pointers], ("i64", count))
            return
        with code.loop(low if level == 0 else 0, high if level == 0 else size[level]) as i:
            nest(
                level + 1,
                [code.at(p, code.times(i, a[1 + level]), "i8") for p, a in zip(pointers, arrays, strict=True)],
            )

    pointers = [a[0] for a in arrays]
    if depth == 1:
        steps = [b if n >= inputs or patterns[n] == 1 else 0 for n, b in enumerate(sizes)]
        pointers = [code.at(p, code.times(low, s), "i8") if s else p for p, s in zip(pointers, steps, strict=True)]
    nest(0, pointers)
    return code


@functools.lru_cache(maxsize=4096)
def nest(*arrays):
    """(shape, sizes, patterns, outer strides) of the nest that walks arrays, told as (shape, strides, itemsize), or None.

    Patterns: 1 next to each other, 0 repeated along the innermost dimension, 2 one number for all.
    """
    try:
        shape = np.broadcast_shapes(*[own for own, _, _ in arrays])
    except ValueError:
        return None
    seen = []
    for own, strides, _ in arrays:
        lead = len(shape) - len(own)
        seen.append([0] * lead + [0 if n == 1 else s for n, s in zip(own, strides, strict=True)])
    sizes, kept = merged(shape, seen)
    if len(sizes) > DEPTH or not sizes:
        return None
    patterns = []
    for (_, _, itemsize), strides in zip(arrays, kept, strict=True):
        if not any(strides):
            patterns.append(2)
        elif strides[-1] in (itemsize, 0):
            patterns.append(int(strides[-1] != 0))
        else:
            return None
    return shape, sizes, tuple(patterns), [strides[:-1] for strides in kept]


loops = {}  # (function, numbers, dtypes, patterns, depth) -> Loop, or None where there is none
forms = {}  # function -> how many


def pointwise(function, arrays, params=()):
    """function(*arrays, *params) in one pass, or None. Several results come as a list."""
    shape = arrays[0].shape
    for a in arrays:
        if a.flags.num & PLAIN != PLAIN or a.shape != shape:
            break
    else:
        return run(function, arrays, params, shape, (arrays[0].size,), (1,) * len(arrays), ())
    found = nest(*[(a.shape, a.strides, a.itemsize) for a in arrays])
    if found is None or not all(a.flags.aligned for a in arrays):
        return None
    return run(function, arrays, params, *found)


def run(function, arrays, params, shape, sizes, patterns, strides):
    depth = len(sizes)
    key = function, params, tuple([a.dtype for a in arrays]), patterns, depth
    try:
        loop = loops[key]
    except KeyError:
        loop = loops[key] = made(*key)
    except TypeError:  # a number that cannot be a key
        return None
    if loop is None:
        return None
    results = [empty(shape, dtype) for dtype in loop.dtypes]
    count = math.prod(sizes)
    if count:
        work, threads = loop.cost * count, 1
        if work > THREADS_FROM:
            threads = min(machine.threads(), sizes[0])
            threads = threads if work > LONG else threads | SHORT
        table = [threads, *sizes]
        if depth == 1:
            table += map(address, arrays)
            table += map(address, results)
        else:
            for a, steps in zip(arrays, strides, strict=True):
                table += [address(a), *steps]
            for r in results:
                table += [address(r), *[n * r.itemsize for n in contiguous(sizes)[:-1]]]
        loop.run(loop.pack(*table))
    return results[0] if len(results) == 1 else results


def made(function, params, dtypes, patterns, depth):
    """The Loop of a function, or None."""
    if forms.get(function, 0) >= FORMS or not all(map(recordable, dtypes)):
        return None
    forms[function] = forms.get(function, 0) + 1
    try:
        return Loop(function, params, dtypes, patterns, depth)
    except Exception:  # a kernel may do anything with what is no array; as NumPy's it still works
        return None
