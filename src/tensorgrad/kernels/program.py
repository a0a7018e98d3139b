"""A Program: a graph of Values made ready to run. It plans one arena of memory, compiles the loops, and runs the steps.

Runs of loops and matrix products between two Python functions are one compiled function, so a program without Python
functions is a single call. Buffers whose lives do not overlap share memory.
"""

import ctypes
import threading
import time

import numpy as np
from numpy import empty

from tensorgrad.kernels import machine
from tensorgrad.kernels.interpret import interpreted, seen
from tensorgrad.kernels.schedule import Host, Loops, Product, Scheduler, contiguous
from tensorgrad.kernels.simplify import turned, unfolded
from tensorgrad.kernels.writer import Writer

ALIGN = 64


class HostCall:
    """What a `host` Value calls: function(*arrays) returns an array, or a tuple of them.

    effect: it must run even if nobody uses its results (random draws). into: it returns nothing but fills the arrays of its
    results, which it is given after the others.
    """

    __slots__ = ("effect", "function", "into", "name", "results")

    def __init__(self, name, function, results, effect=False, into=False):
        self.name, self.function, self.results, self.effect, self.into = name, function, results, effect, into

    def __repr__(self):
        return self.name


class Program:
    """Compiled computation of `roots`.

    inputs: Value -> strides in elements (None: one after another). targets: root number -> input Value whose memory takes
    the result. Called with one array for each input, in order, it returns the arrays of the roots without a target.
    """

    def __init__(self, graph, roots, inputs, targets=None, effects=()):
        targets = targets or {}
        self.inputs, self.kept = list(inputs), list(graph.kept)
        layouts = {v: s for v, s in inputs.items() if s is not None}
        arrays = {id(a): a for a in graph.kept}
        for value in graph.values:
            if value.op == "array":
                array = arrays[value.attr]
                layouts[value] = tuple(s // max(array.itemsize, 1) for s in array.strides)
        roots = turned(graph, roots, effects)
        roots = unfolded(graph, [*roots, *effects])
        roots, effects = roots[: len(roots) - len(effects)], roots[len(roots) - len(effects) :]
        self.compiled = machine.available()
        products = machine.products() if self.compiled else None
        self.plan = plan = Scheduler([*roots, *effects], layouts)
        if products is None:
            plan.steps = [Host(s.value) if type(s) is Product else s for s in plan.steps]
        self.lock = threading.Lock()
        results = plan.results[: len(roots)]
        uses = self.uses(plan)
        self.stores, self.copies, fresh, taken = {}, [], [], set()
        for number, result in enumerate(results):
            target = targets.get(number)
            if target is None:
                fresh.append((number, result))
            elif result not in taken and self.may_overwrite(result, target, uses) and results.count(result) == 1:
                self.stores[result] = target
                taken.add(result)
            else:
                self.copies.append((target, result))
        self.copies = [(target, result) for target, result in self.copies if not self.copied_late(target, result, uses)]
        self.fresh = fresh
        self.layout(uses, {r for _, r in fresh})
        self.write(products, arrays)

    # Memory

    def uses(self, plan):
        """Stored Value -> [(step, whether the step reads it element by element where it stands)]."""
        uses = {}
        for number, step in enumerate(plan.steps):
            if type(step) is Loops:
                members = set(step.members)
                for value in step.members:
                    for arg in value.args:
                        if arg.op in ("const", "iota") or (arg in members and arg.op not in ("reduce", "scatter")):
                            continue
                        special = value.op in ("gather", "scatter", "embed", "copy")
                        if arg.op == "expand" and arg.args[0].op == "const" and not special:
                            continue
                        access = plan.access(arg)
                        still = value.op not in ("gather", "scatter", "embed") and access.offset == 0
                        still = still and access.strides == contiguous(step.shape)
                        uses.setdefault(access.base, []).append((number, still))
            else:
                for access in plan.operands[step.value]:
                    uses.setdefault(access.base, []).append((number, False))
        return uses

    def may_overwrite(self, result, target, uses):
        """Whether a result may be computed right into the memory of an input."""
        plan = self.plan
        step = plan.born.get(result, plan.place[result])
        if (
            result is target
            or result.op in ("input", "array", "pick")
            or result.shape != target.shape
            or result.dtype != target.dtype
        ):
            return False
        if plan.layouts.get(target, contiguous(target.shape)) != contiguous(target.shape) or step < 0:
            return False
        whole = type(plan.steps[step]) is Loops and result.op not in ("reduce", "scatter", "concat")
        for at, still in uses.get(target, ()):
            if at > step or (at == step and not (whole and still)):
                return False
        return whole or not any(at >= step for at, _ in uses.get(target, ()))

    def copied_late(self, target, result, uses):
        """Let a result that cannot be made right in its place be copied there by a last loop; False if Python must."""
        plan, strides = self.plan, self.plan.layouts.get(target, contiguous(target.shape))
        if strides != contiguous(target.shape) or result.shape != target.shape or result.dtype != target.dtype:
            return False
        if result.op in ("input", "array", "pick") or 0 in result.shape:
            return False
        first = 1 + max([plan.place[result], *[at for at, _ in uses.get(target, ())]])
        copy = plan.late_copy(result, first)
        self.stores[copy] = target
        uses.setdefault(result, []).append((plan.place[copy], True))
        return True

    def layout(self, uses, fresh):
        """A slot in the table of pointers for every buffer, and a place in the arena for those that live inside."""
        plan, self.slots, inside = self.plan, {}, []
        for value in [*self.inputs, *plan.stored]:
            if value in self.slots or value in self.stores:
                continue
            self.slots[value] = len(self.slots)
            if value.op in ("input", "array") or value in fresh or (value.op == "pick" and not value.args[0].attr.into):
                continue
            if (
                value.op == "matmul"
                or type(plan.steps[plan.place[value]]) is Loops
                or type(plan.steps[plan.place[value]]) is Host
            ):
                born = plan.born.get(value, plan.place[value])
                last = max([at for at, _ in uses.get(value, ())], default=born)
                if any(value is r for _, r in self.copies):
                    last = len(plan.steps)
                inside.append((born, last, max(value.size * value.dtype.itemsize, 1), value))
        self.places, self.arena_size = pack(inside)
        self.arena = np.empty(self.arena_size + ALIGN, np.uint8)
        start = -self.arena.ctypes.data % ALIGN
        self.table = np.zeros(max(len(self.slots), 1), np.uint64)
        base = self.arena.ctypes.data + start
        self.views = {}
        for value, place in self.places.items():
            self.table[self.slots[value]] = base + place
            part = self.arena[start + place : start + place + value.size * value.dtype.itemsize]
            self.views[value] = (
                part.view(value.dtype).reshape(value.shape) if value.size else np.empty(value.shape, value.dtype)
            )

    # Code

    def native(self, step):
        """Whether a step is machine code; loops with complex numbers are NumPy's."""
        if type(step) is Host or not self.compiled:
            return False
        return type(step) is Product or all(v.dtype.kind != "c" for m in step.members for v in (m, *m.args))

    def write(self, products, arrays):
        """Compile, and list what a run does."""
        plan, runs, segments = self.plan, [], []
        writer = Writer(plan, self.stores, self.slots, machine.threads(), products)
        for step in plan.steps:
            if type(step) is Loops and 0 in step.shape:
                continue
            if not self.native(step):
                runs.append(step)
            else:
                if not runs or type(runs[-1]) is not list:
                    runs.append([])
                runs[-1].append(step)
        for run in runs:
            if type(run) is list:
                name = f"program{len(segments)}"
                writer.segment(name, run)
                segments.append(name)
        self.text = writer.module()
        compiled = iter(machine.functions(self.text, segments) if segments else ())
        self.runs = [(True, next(compiled)) if type(run) is list else (False, self.host(run)) for run in runs]
        for value in plan.stored:
            if value.op == "array":
                self.table[self.slots[value]] = arrays[value.attr].ctypes.data
        self.pointer = ctypes.c_void_p(self.table.ctypes.data)
        self.positions = [self.slots.get(v) for v in self.inputs]
        self.bound, self.input_number = [None] * len(self.inputs), {v: n for n, v in enumerate(self.inputs)}
        self.outputs = []  # (slot or None where the array must be copied, shape, dtype, Value) of each fresh result
        seen_before = set()
        for _, value in self.fresh:
            given = value.op in ("input", "array") or (value.op == "pick" and not value.args[0].attr.into)
            plain = not given and value not in seen_before and value not in self.stores
            seen_before.add(value)
            self.outputs.append((self.slots[value] if plain else None, value.shape, value.dtype, value))

    def host(self, step, drawing=True):
        """A Python function as a part of a run: arrays in, results where the rest of the program looks for them."""
        if type(step) is Loops:
            return interpreted(step, self.plan, lambda value, held: array_of(value, held, self))
        value, plan = step.value, self.plan
        accesses = list(zip(plan.operands[value], value.args, strict=True))
        table, slots = self.table, self.slots
        if value.op == "matmul":

            def run(arrays, held):
                a, b = (seen(array_of(x.base, held, self), x, arg) for x, arg in accesses)
                np.matmul(a, b, out=array_of(value, held, self))

            return run
        call = value.attr
        picks = {v.attr: v for v in plan.stored if v.op == "pick" and v.args[0] is value}
        operands_of = self.finder(accesses)
        if call.into:
            unused = [None if n in picks else empty(*result) for n, result in enumerate(call.results)]

            def run(arrays, held):
                results = [array_of(picks[n], held, self) if x is None else x for n, x in enumerate(unused)]
                call.function(*operands_of(held), *results)

            return run

        def run(arrays, held):
            if drawing or not call.effect:
                results = call.function(*operands_of(held))
            else:
                results = tuple(np.zeros(shape, dtype) for shape, dtype in call.results)
            results = results if isinstance(results, (tuple, list)) else (results,)
            for number, pick in picks.items():
                result = np.ascontiguousarray(results[number], pick.dtype)
                if result.shape != pick.shape:
                    result = result.reshape(pick.shape)
                held[pick] = result
                table[slots[pick]] = result.__array_interface__["data"][0]

        return run

    def finder(self, accesses):
        """A function that finds a Python function's operands during a run; what lies in the arena is looked up once."""
        fixed = [seen(self.views[x.base], x, arg) if x.base in self.views else None for x, arg in accesses]

        def operands(held):
            return [
                seen(array_of(x.base, held, self), x, arg) if view is None else view
                for view, (x, arg) in zip(fixed, accesses, strict=True)
            ]

        return operands

    def timed(self, repeats=10):
        """Seconds of each step, the best of several; what it would write to goes to copies, and nothing is drawn."""
        products = machine.products() if self.compiled else None
        writer, names = Writer(self.plan, self.stores, self.slots, machine.threads(), products), []
        steps = [s for s in self.plan.steps if not (type(s) is Loops and 0 in s.shape)]
        for number, step in enumerate(steps):
            if self.native(step):
                names.append(f"step{number}")
                writer.segment(names[-1], [step])
        compiled = iter(machine.functions(writer.module(), names, keep=False) if names else ())
        native = list(map(self.native, steps))
        runs = [
            next(compiled) if own else self.host(step, drawing=False) for own, step in zip(native, steps, strict=True)
        ]
        bound, table = list(self.bound), self.table.copy()
        best, clock = [float("inf")] * len(runs), time.perf_counter
        try:
            for target in {*self.stores.values(), *[t for t, _ in self.copies]}:
                number = self.input_number[target]
                self.bind(number, bound[number].copy())
            held = self.prepare()[1]
            for _ in range(repeats):
                for number, (own, run) in enumerate(zip(native, runs, strict=True)):
                    start = clock()
                    if own:
                        run(self.pointer)
                    else:
                        run(self.bound, held)
                    best[number] = min(best[number], clock() - start)
        finally:
            self.bound[:] = bound
            self.table[:] = table
        return best

    # Running

    def bind(self, number, array):
        """Let an input be this array from now on."""
        position = self.positions[number]
        if position is not None:
            self.table[position] = array.ctypes.data
        self.bound[number] = array

    def prepare(self):
        """(new arrays for the roots without a target, None for those that are copied; the same by Value)."""
        table, held, results = self.table, {}, []
        for slot, shape, dtype, value in self.outputs:
            if slot is None:
                results.append(None)
                continue
            array = empty(shape, dtype)
            table[slot] = array.__array_interface__["data"][0]
            held[value] = array
            results.append(array)
        return results, held

    def run(self):
        """Run on the arrays that are bound; returns the arrays of the roots without a target."""
        results, held = self.prepare()
        for native, run in self.runs:
            if native:
                run(self.pointer)
            else:
                run(self.bound, held)
        for target, value in self.copies:
            np.copyto(self.bound[self.input_number[target]], array_of(value, held, self), casting="unsafe")
        for number, (slot, _, _, value) in enumerate(self.outputs):
            if slot is None:
                results[number] = np.array(array_of(value, held, self))
        return results

    def __call__(self, arrays):
        """Run on arrays, one an input, laid out as the inputs were said to be."""
        with self.lock:
            for number, array in enumerate(arrays):
                self.bind(number, array)
            return self.run()


def array_of(value, held, program):
    """The array of a stored Value during a run."""
    number = program.input_number.get(program.stores.get(value, value))
    if number is not None:
        return program.bound[number]
    found = held.get(value)
    if found is None:
        found = program.views.get(value)
    if found is None:
        found = next(a for a in program.kept if id(a) == value.attr)
    return found


def pack(buffers):
    """Places for (born, last use, bytes, key) such that buffers alive together do not overlap: (key -> place, total)."""
    places, alive, total = {}, [], 0
    for born, last, size, key in sorted(buffers, key=lambda b: (b[0], -b[2])):
        alive = [a for a in alive if a[2] >= born]
        size = -(-size // ALIGN) * ALIGN
        at = 0
        for start, length, _ in sorted(alive):
            if at + size <= start:
                break
            at = max(at, start + length)
        places[key] = at
        alive.append((at, size, last))
        total = max(total, at + size)
    return places, total
