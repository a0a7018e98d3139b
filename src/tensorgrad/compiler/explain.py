"""What a program does, told for people: its kernels, the bytes they move, their arithmetic, its memory, its time."""

import numpy as np

from tensorgrad.kernels.schedule import Host, Loops, Product

LEAVES = ("const", "iota")


def described(entry):
    """The description of one program of a compiled function."""
    program = entry.program
    rows = [row(step, program) for step in program.plan.steps if not (type(step) is Loops and 0 in step.shape)]
    moved, work = sum(r[2] for r in rows), sum(r[3] for r in rows)
    times = times_of(program)
    counts = [sum(type(s) is kind for s in program.plan.steps) for kind in (Loops, Product, Host)]
    lines = [
        f"{counts[0]} loop nests, {counts[1]} matrix products, {counts[2]} Python calls; "
        f"{size(moved)} moved, {number(work)} floating-point operations",
        f"{len(program.inputs)} inputs, {len(program.fresh)} new results, arena of {size(program.arena_size)}",
        "",
        f"{'kernel':60s}{'bytes':>10s}{'work':>10s}{'time':>12s}",
    ]
    for (kind, what, step_bytes, step_work), seconds in zip(rows, times, strict=True):
        shown = "" if seconds is None else f"{seconds * 1e6:.1f} us"
        lines.append(f"{kind + ' ' + what:59.59s} {size(step_bytes):>10s}{number(step_work):>10s}{shown:>12s}")
    return "\n".join(lines)


def times_of(program):
    """Seconds of each step, or None for all where a Python function refuses the numbers it is timed with."""
    try:
        with program.lock:
            return program.timed()
    except Exception:
        steps = [step for step in program.plan.steps if not (type(step) is Loops and 0 in step.shape)]
        return [None] * len(steps)


def row(step, program):
    """(kind, what it does, bytes read and written, floating-point operations) of a step."""
    plan = program.plan
    if type(step) is Loops:
        members, reads, work = set(step.members), {}, 0
        for value in step.members:
            for arg in value.args:
                if arg.op in LEAVES or (arg in members and arg.op not in ("reduce", "scatter")):
                    continue
                if arg.op == "expand" and arg.args[0].op in LEAVES:
                    continue
                base = plan.access(arg).base
                reads[base] = min(base.size, max(arg.size, 1)) * base.dtype.itemsize
            if value.op not in ("cast", "copy", "where", "gather", "embed") and value.dtype.kind in "fV":
                work += max((a.size for a in value.args), default=value.size)
        written = sum(v.size * v.dtype.itemsize for v in step.members if v in plan.stored or v.op == "part")
        names = {}
        for value in step.members:
            names[value.op] = names.get(value.op, 0) + 1
        what = " ".join(name if n == 1 else f"{n}*{name}" for name, n in names.items())
        return f"loop {list(step.shape)}", what, sum(reads.values()) + written, work
    value = step.value
    moved = sum(a.size * a.dtype.itemsize for a in value.args)
    if value.op == "matmul":
        depth = value.args[0].shape[-1]
        return (
            f"matmul {list(value.shape)}",
            f"over {depth}",
            moved + value.size * value.dtype.itemsize,
            2 * value.size * depth,
        )
    made = sum(int(np.prod(s)) * np.dtype(d).itemsize for s, d in value.attr.results)
    return "python", value.attr.name, moved + made, 0


def size(count):
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def number(count):
    """A large number for people."""
    for unit in ("", "k", "M", "G"):
        if count < 1000 or unit == "G":
            return f"{count:.0f}{unit}" if unit == "" or count >= 100 else f"{count:.1f}{unit}"
        count /= 1000
    return ""
