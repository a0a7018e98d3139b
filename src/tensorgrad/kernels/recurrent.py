"""A recurrent layer in code made for this processor: each thread takes some sequences through all steps.

The weights are packed so that a vector of outputs reads them in one stretch; they stay near while a few sequences
(a tile) go through a step: two small products, one with the input and one with the state, then the gates. Nobody waits for
anybody until the last step. Backward it is the same, with the product that leads to the state before.
"""

import functools

import numpy as np

from tensorgrad.kernels import machine, tiles
from tensorgrad.kernels.code import Code, module, parallel
from tensorgrad.kernels.direct import Shape, blocked
from tensorgrad.kernels.mathematics import Floats

MOST_BYTES = 1 << 24  # of weights: more would come from memory again for every few sequences
THREADS_FROM = 1_000_000  # multiply-adds from which a second thread pays
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}

COMMON = ("threads", "N", "T", "H", "G", "first", "direction")
FORWARD = (
    *COMMON,
    "I",
    "M",
    "XT",
    "XN",
    "*x",
    "*wx",
    "*bx",
    "*wh",
    "*bh",
    "*h0",
    "*c0",
    "*states",
    "*gates",
    "*kept",
    "*scratch",
)
BACKWARD = (*COMMON, "M", "K", "YT", "YN", "*gy", "*wh", "*zero", "*h0", "*c0", "*states", "*gates", "*kept", "*dh", "*rest",
            "*slopes", "*own", "*sums")  # fmt: skip


def fields(code, names):
    """The numbers and pointers of a table, as registers by name."""
    return {n.strip("*"): code.load("%table", k, "ptr" if n[0] == "*" else "i64") for k, n in enumerate(names)}


# Gates: one sequence at one step. Each array of a gate is a pointer of its own, so that the loops become vectors.


class Gates:
    """A loop over hidden units: `pointers` are read and written at its index."""

    def __init__(self, name, kind, pointers, declared):
        self.code = Code(name, [*[("ptr", p) for p in pointers.split()], ("i64", "H")], declared)
        self.kind, self.type = kind, "float" if kind == "f4" else "double"
        self.f = Floats(self.code, kind)

    def read(self, *names):
        return [self.code.load(f"%{n}", self.j, self.type) for n in names]

    def write(self, **values):
        for name, x in values.items():
            self.code.store(x, f"%{name}", self.j, self.type)

    def loop(self):
        return self.code.loop(0, "%H")

    def sigmoid(self, x):
        f = self.f
        return f.over(1.0, f.plus(1.0, f.exp(f.exact("fsub", -0.0, x))))

    def tanh(self, x):
        f = self.f
        if self.kind == "f4":
            return f.tanh(x)
        e = f.expm1(f.times(f.clamp(x, -20.0, 20.0), 2.0))
        return f.over(e, f.plus(e, 2.0))

    def rest(self, y):
        """1 - y."""
        return self.f.minus(1.0, y)


def lstm_forward(kind, declared):
    g = Gates("gates", kind, "xi xf xn xo hi hf hn ho i f n o c0 c1 state old", declared)
    with g.loop() as g.j:
        total = [
            g.f.plus(a, b) for a, b in zip(g.read("xi", "xf", "xn", "xo"), g.read("hi", "hf", "hn", "ho"), strict=True)
        ]
        i, f, n, o = g.sigmoid(total[0]), g.sigmoid(total[1]), g.tanh(total[2]), g.sigmoid(total[3])
        c = g.f.fma(f, g.read("c0")[0], g.f.times(i, n))
        g.write(i=i, f=f, n=n, o=o, c1=c, state=g.f.times(o, g.tanh(c)))
    return g.code


def gru_forward(kind, declared):
    g = Gates("gates", kind, "xr xz xn hr hz hn r z n c0 kept state old", declared)
    with g.loop() as g.j:
        r, z = (g.sigmoid(g.f.plus(*g.read("x" + k, "h" + k))) for k in "rz")
        x, own, old = g.read("xn", "hn", "old")
        n = g.tanh(g.f.fma(r, own, x))
        g.write(r=r, z=z, n=n, kept=own, state=g.f.fma(g.f.minus(old, n), z, n))
    return g.code


def plain_forward(cell, kind, declared):
    g = Gates("gates", kind, "x h g c0 kept state old", declared)
    with g.loop() as g.j:
        total = g.f.plus(*g.read("x", "h"))
        g.write(state=g.tanh(total) if cell == "tanh" else g.f.intrinsic("maximum", total, 0.0))
    return g.code


def lstm_backward(kind, declared):
    pointers = "i f n o kept before old state gy dh rest di df dn do pi pf pn po si sf sn so"
    g = Gates("gates", kind, pointers, declared)
    with g.loop() as g.j:
        i, f, n, o, kept, before = g.read("i", "f", "n", "o", "kept", "before")
        gy, dh, memory = g.read("gy", "dh", "rest")
        times, arrived, end = g.f.times, g.f.plus(gy, dh), g.tanh(kept)
        memory = g.f.fma(times(arrived, o), g.rest(times(end, end)), memory)
        found = {
            "i": times(times(memory, n), times(i, g.rest(i))), "f": times(times(memory, before), times(f, g.rest(f))),
            "n": times(times(memory, i), g.rest(times(n, n))), "o": times(times(arrived, end), times(o, g.rest(o))),
        }  # fmt: skip
        g.write(rest=times(memory, f), **{"d" + k: x for k, x in found.items()})
        g.write(**{"s" + k: g.f.plus(x, g.read("s" + k)[0]) for k, x in found.items()})
    return g.code


def gru_backward(kind, declared):
    g = Gates("gates", kind, "r z n kept before old state gy dh rest dr dz dn pr pz pn sr sz sn", declared)
    with g.loop() as g.j:
        r, z, n, own, old = g.read("r", "z", "n", "kept", "old")
        gy, dh, rest = g.read("gy", "dh", "rest")
        times, arrived = g.f.times, g.f.plus(g.f.plus(gy, dh), rest)
        last = times(times(arrived, g.rest(z)), g.rest(times(n, n)))
        reset, update = (
            times(times(last, own), times(r, g.rest(r))),
            times(times(arrived, g.f.minus(old, n)), times(z, g.rest(z))),
        )
        part = times(last, r)
        g.write(rest=times(arrived, z), dr=reset, dz=update, dn=last, pr=reset, pz=update, pn=part)
        g.write(**{"s" + k: g.f.plus(x, g.read("s" + k)[0]) for k, x in (("r", reset), ("z", update), ("n", last))})
    return g.code


def plain_backward(cell, kind, declared):
    g = Gates("gates", kind, "g kept before old state gy dh rest d p s", declared)
    with g.loop() as g.j:
        y, gy, dh = g.read("state", "gy", "dh")
        arrived = g.f.plus(gy, dh)
        if cell == "tanh":
            slope = g.f.times(arrived, g.rest(g.f.times(y, y)))
        else:
            slope = g.f.select(g.f.compare("ogt", y, 0.0), arrived, 0.0)
        g.write(d=slope, s=g.f.plus(slope, g.read("s")[0]))
    return g.code


# A thread's share


def share(code, f, rows):
    """(first sequence, end) of a thread: whole tiles of the largest kind where there are enough."""
    tiles = code.over(code.plus(f["N"], rows - 1), rows)
    ends = [code.times(code.over(code.times(tiles, t), "%T"), rows) for t in ("%t", code.plus("%t", 1))]
    return [code.least(e, f["N"]) for e in ends]


def parts(code, pointer, place, step, count, t):
    """Pointers to the gates' parts of a row."""
    return [("ptr", code.at(pointer, code.plus(place, code.times(step, k)), t)) for k in range(count)]


def pick(code, condition, x, y):
    return code.add(f"select i1 {condition}, ptr {x}, ptr {y}")


def write_forward(cell, kind, shape, declared):
    code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t, f, count, sizes = "float" if kind == "f4" else "double", fields(code, FORWARD), GATES[cell], tiles.sizes(shape)
    H, G, M = f["H"], f["G"], f["M"]
    keeps = cell in ("lstm", "gru")
    scratch = code.at(f["scratch"], code.times(code.times("%t", M), 2 * sizes[0]), t)
    other = code.at(scratch, code.times(M, sizes[0]), t)
    low, high = share(code, f, sizes[0])

    def tile(size, n):
        with code.loop(0, f["T"]) as step:
            p = code.plus(f["first"], code.times(step, f["direction"]))
            row = code.plus(code.times(p, f["N"]), n)
            last = code.minus(row, code.times(f["direction"], f["N"]))
            start = code.compare("eq", step, 0)
            x = code.at(f["x"], code.plus(code.times(p, f["XT"]), code.times(n, f["XN"])), t)

            def earlier(first, all):
                return pick(
                    code, start, code.at(f[first], code.times(n, H), t), code.at(f[all], code.times(last, H), t)
                )

            old = earlier("h0", "states")
            before = earlier("c0", "kept") if cell == "lstm" else old
            tiles.product(code, size, (x, f["XN"]), f["wx"], (scratch, M), f["I"], M, (f["bx"], 0))
            tiles.product(code, size, (old, H), f["wh"], (other, M), H, M, (f["bh"], 0))
            with code.loop(0, size) as r:
                here = code.plus(row, r)
                place, own, at = code.times(here, H), code.times(r, M), code.times(r, H)
                code.run(
                    "gates", *parts(code, scratch, own, H, count, t), *parts(code, other, own, H, count, t),
                    *parts(code, f["gates"], code.times(here, G) if keeps else 0, H, count, t),
                    ("ptr", code.at(before, at, t)), ("ptr", code.at(f["kept"], place if keeps else 0, t)),
                    ("ptr", code.at(f["states"], place, t)), ("ptr", code.at(old, at, t)), ("i64", H),
                )  # fmt: skip

    blocked(code, low, high, sizes, tile)
    return code


def write_backward(cell, kind, shape, declared):
    code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    t, f, count, sizes = "float" if kind == "f4" else "double", fields(code, BACKWARD), GATES[cell], tiles.sizes(shape)
    H, G, M = f["H"], f["G"], f["M"]
    keeps = cell in ("lstm", "gru")
    sums = code.at(f["sums"], code.times("%t", G), t)
    low, high = share(code, f, sizes[0])

    def tile(size, n):
        with code.loop(0, f["T"]) as step:
            p = code.plus(f["first"], code.times(step, f["direction"]))
            row = code.plus(code.times(p, f["N"]), n)
            last = code.plus(row, code.times(f["direction"], f["N"]))  # the walk goes back: the step before comes next
            end = code.compare("eq", step, code.minus(f["T"], 1))

            def earlier(first, all):
                return pick(code, end, code.at(f[first], code.times(n, H), t), code.at(f[all], code.times(last, H), t))

            old = earlier("h0", "states")
            before = earlier("c0", "kept") if cell == "lstm" else old
            with code.loop(0, size) as r:
                here, sequence = code.plus(row, r), code.plus(n, r)
                place, line, at = code.times(here, H), code.times(here, G), code.times(r, H)
                y = code.at(f["gy"], code.plus(code.times(p, f["YT"]), code.times(sequence, f["YN"])), t)
                code.run(
                    "gates", *parts(code, f["gates"], line if keeps else 0, H, count, t),
                    ("ptr", code.at(f["kept"], place if keeps else 0, t)), ("ptr", code.at(before, at, t)),
                    ("ptr", code.at(old, at, t)), ("ptr", code.at(f["states"], place, t)), ("ptr", y),
                    ("ptr", code.at(f["dh"], code.times(sequence, M), t)),
                    ("ptr", code.at(f["rest"], code.times(sequence, H), t)),
                    *parts(code, f["slopes"], line, H, count, t), *parts(code, f["own"], line if cell == "gru" else 0, H, count, t),
                    *parts(code, sums, 0, H, count, t), ("i64", H),
                )  # fmt: skip
            slopes = code.at(f["own" if cell == "gru" else "slopes"], code.times(row, G), t)
            back = code.at(f["dh"], code.times(n, M), t)
            tiles.product(code, size, (slopes, G), f["wh"], (back, M), f["K"], M, (f["zero"], 0))

    blocked(code, low, high, sizes, tile)
    return code


@functools.cache
def compiled(cell, kind):
    """(forward, backward, columns that a panel of weights has, rows of the largest tile)."""
    shape = Shape(machine.engine().features, kind)
    forms = {"lstm": (lstm_forward, lstm_backward), "gru": (gru_forward, gru_backward)}.get(cell)
    forms = forms or (functools.partial(plain_forward, cell), functools.partial(plain_backward, cell))
    found = []
    for write, gates in zip((write_forward, write_backward), forms, strict=True):
        declared = {}
        codes = [tiles.write_tile(kind, shape.lanes, rows, declared) for rows in tiles.sizes(shape)]
        codes += [gates(kind, declared), write(cell, kind, shape, declared)]
        public = [parallel("run", "work", declared, machine.most_threads())]
        found += machine.functions(module(codes, public, declared), ["run"])
    return (*found, tiles.width(shape), tiles.sizes(shape)[0])


# Arrays


def fits(x, h0, w_ih, w_hh):
    """Whether the weights stay in the cache, and the arrays are of a kind that is compiled."""
    return (
        x.dtype in (np.float32, np.float64) and (w_ih.size + w_hh.size) * w_hh.itemsize <= MOST_BYTES and x.size and h0.size
    )  # fmt: skip


def pack(w, panels):
    """A matrix (outputs, inputs) into panels (panel, input, output); the rest of the last panel stays what it is."""
    count, _, width = panels.shape
    outputs, inputs = w.shape
    whole = outputs // width
    panels[:whole] = w[: whole * width].reshape(whole, width, inputs).swapaxes(1, 2)
    if whole < count:
        panels[whole, :, : outputs - whole * width] = w[whole * width :].T


def steps_of(x):
    """An array (steps, sequences, width) whose rows are stretches, and its strides in elements."""
    if x.strides[2] != x.itemsize or any(s % x.itemsize for s in x.strides):
        x = np.ascontiguousarray(x)
    return x, x.strides[0] // x.itemsize, x.strides[1] // x.itemsize


def share_of(work, sequences, rows):
    """How many threads to use."""
    return 1 if work < THREADS_FROM else max(1, min(machine.threads(), -(-sequences // rows)))


class Walk:
    """A way through all steps: the table of a call, and memory that only the call needs."""

    def __init__(self, names, cell, dtype, pointers, **numbers):
        self.names = [n.strip("*") for n in names]
        self.keeps = cell in ("lstm", "gru")
        self.pointers = pointers
        self.table = np.array([numbers.get(n, 0) for n in names], np.int64)
        for name, array in pointers.items():
            self.point(name, array)

    def point(self, name, array):
        self.table[self.names.index(name)] = 0 if array is None else array.__array_interface__["data"][0]


class Forward(Walk):
    """The way forward for arrays of these shapes."""

    def __init__(self, x_shape, dtype, w_hh_shape, cell, reverse):
        self.run, _, width, rows = compiled(cell, dtype.str[1:])
        (steps, sequences, inputs), (count, hidden) = x_shape, w_hh_shape
        M = -(-count // width) * width
        threads = share_of(steps * sequences * count * (hidden + inputs), sequences, rows)
        self.panels = [np.zeros((M // width, n, width), dtype) for n in (inputs, hidden)]
        self.shifts = [np.zeros(M, dtype) for _ in range(2)]
        held = dict(zip(("wx", "wh", "bx", "bh"), (*self.panels, *self.shifts), strict=True))
        held["scratch"] = np.empty(threads * 2 * rows * M, dtype)
        super().__init__(
            FORWARD, cell, dtype, held, threads=threads, N=sequences, T=steps, H=hidden, G=count,
            first=steps - 1 if reverse else 0, direction=-1 if reverse else 1, I=inputs, M=M,
        )  # fmt: skip

    def __call__(self, x, h0, c0, w_ih, w_hh, b_ih, b_hh, states, gates, kept):
        """Fill the last three: all states, gates, and what is kept beside them."""
        x, by_step, by_row = steps_of(x)
        h0, c0 = np.ascontiguousarray(h0), None if c0 is None else np.ascontiguousarray(c0)
        for w, panels in zip((w_ih, w_hh), self.panels, strict=True):
            pack(w, panels)
        for b, shift in zip((b_ih, b_hh), self.shifts, strict=True):
            if b is not None:
                shift[: len(b)] = b
        table = self.table
        table[FORWARD_STRIDES] = by_step, by_row
        arrays = dict(x=x, h0=h0, c0=c0, states=states, gates=gates, kept=kept)
        for name, array in arrays.items():
            self.point(name, array)
        self.run(table.ctypes.data)


class Backward(Walk):
    """The way back."""

    def __init__(self, states_shape, dtype, count, cell, reverse):
        _, self.run, width, rows = compiled(cell, dtype.str[1:])
        steps, sequences, hidden = states_shape
        M = -(-hidden // width) * width
        threads = share_of(steps * sequences * count * hidden, sequences, rows)
        self.weights, self.dh = np.zeros((M // width, count, width), dtype), np.empty((sequences, M), dtype)
        self.sums, self.none = np.empty((threads, count), dtype), np.zeros(max(M, count), dtype)
        self.cell = cell
        held = dict(wh=self.weights, dh=self.dh, sums=self.sums, zero=self.none)
        super().__init__(
            BACKWARD, cell, dtype, held, threads=threads, N=sequences, T=steps, H=hidden, G=count,
            first=0 if reverse else steps - 1, direction=1 if reverse else -1, M=M, K=count,
        )  # fmt: skip

    def __call__(self, gy, gh, gc, h0, c0, w_hh, states, gates, kept, slopes, own, first, memory, sums):
        """Fill the last five: slopes of the gates, those that the products with the state get (for a GRU), the
        gradients of the first state and memory, and the sums of slopes."""
        by_step = by_row = 0
        if gy is None:
            gy = self.none
        else:
            gy, by_step, by_row = steps_of(gy)
        hidden = states.shape[2]
        pack(w_hh.T, self.weights)
        self.sums[...] = 0
        self.dh[...] = 0
        memory[...] = 0 if gc is None else gc
        if gh is not None:
            self.dh[:, :hidden] = gh
        h0, c0 = np.ascontiguousarray(h0), None if c0 is None else np.ascontiguousarray(c0)
        states = np.ascontiguousarray(states)
        table = self.table
        table[BACKWARD_STRIDES] = by_step, by_row
        other = self.none  # where a cell has no such array
        arrays = dict(
            gy=gy, h0=h0, c0=c0, states=states, gates=gates if self.keeps else other, kept=kept if self.keeps else other,
            slopes=slopes, own=own if self.cell == "gru" else other, rest=memory,
        )  # fmt: skip
        for name, array in arrays.items():
            self.point(name, array)
        self.run(table.ctypes.data)
        if self.cell == "gru":
            np.add(self.dh[:, :hidden], memory, out=first)
        else:
            first[...] = self.dh[:, :hidden]
        np.add.reduce(self.sums, 0, out=sums)


FORWARD_STRIDES = [FORWARD.index(n) for n in ("XT", "XN")]
BACKWARD_STRIDES = [BACKWARD.index(n) for n in ("YT", "YN")]


def forward_shapes(x_shape, w_hh_shape, cell):
    """Of the states, the gates, and what is kept beside them."""
    (steps, sequences), (count, hidden) = x_shape[:2], w_hh_shape
    rows = steps * sequences if cell in ("lstm", "gru") else 1
    return (steps, sequences, hidden), (rows, count), (rows, hidden)


def backward_shapes(states_shape, count, cell):
    """Of the slopes, those of the products with the state, the gradients of first state and memory, and the sums."""
    steps, sequences, hidden = states_shape
    slopes = steps * sequences, count
    return slopes, slopes if cell == "gru" else (1, count), (sequences, hidden), (sequences, hidden), (count,)


def forward(x, h0, c0, w_ih, w_hh, b_ih, b_hh, cell, reverse):
    """(states, gates, what is kept beside them), in the order of backends.recurrent."""
    made = [np.empty(shape, x.dtype) for shape in forward_shapes(x.shape, w_hh.shape, cell)]
    Forward(x.shape, x.dtype, w_hh.shape, cell, reverse)(x, h0, c0, w_ih, w_hh, b_ih, b_hh, *made)
    return made


def backward(gy, gh, gc, h0, c0, w_hh, states, gates, kept, cell, reverse):
    """(gradients of the gates, those that the products with the state get, of the first state, of the first memory, sums)."""
    count = w_hh.shape[0]
    made = [np.empty(shape, states.dtype) for shape in backward_shapes(states.shape, count, cell)]
    Backward(states.shape, states.dtype, count, cell, reverse)(gy, gh, gc, h0, c0, w_hh, states, gates, kept, *made)
    slopes, own, *rest = made
    return slopes, own if cell == "gru" else slopes, *rest
