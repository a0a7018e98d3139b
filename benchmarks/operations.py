"""The thirty most used operations beside PyTorch, at three sizes: forward, and forward and backward. Prints Markdown tables.

    python benchmarks/operations.py [--only add,conv2d] [--rounds 3] [--seconds 0.03] [--jit] [--memory] [--out FILE]

Each figure is tensorgrad's time divided by PyTorch's: below 1 is faster. Each library works in a process of its own, they
take turns, and the best of all rounds counts. Each may use one thread or all, whichever is faster: on a busy machine threads
wait for one another. Without --jit tensorgrad computes with NumPy alone, also where the `jit` extra is installed. --memory
measures instead how much memory an operation takes at its peak.
"""

import argparse
import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

OURS, THEIRS = "tensorgrad", "torch"
SIZES = {"64": 8, "64 k": 256, "4 M": 2048}  # numbers in the input: the side of a square of them
CONVOLUTION = "conv2d 3x3 on 32 x 64 x 28 x 28"


class Inputs:
    """Makes the inputs of a case: squares of `side` * `side` numbers, and what goes with them."""

    def __init__(self, torch, side):
        self.torch, self.side = torch, side
        self.leaves = []

    def leaf(self, *shape):
        """Numbers between 1/2 and 3/2 that require a gradient."""
        x = (self.torch.rand(*(shape or (self.side, self.side))) + 0.5).requires_grad_()
        self.leaves.append(x)
        return x

    def numbers(self, high, *shape):
        return self.torch.randint(0, high, shape)

    def image(self):
        """(samples, channels, height, width) of so many numbers."""
        return {8: (1, 1, 8, 8), 256: (4, 16, 32, 32), 2048: (16, 64, 64, 64)}[self.side]


def cases(torch):
    """name -> function(inputs) -> function without arguments that applies the operation."""
    F = torch.nn.functional

    def one(function):
        def case(inputs):
            x = inputs.leaf()
            return lambda: function(x)

        return case

    def two(function):
        def case(inputs):
            a, b = inputs.leaf(), inputs.leaf()
            return lambda: function(a, b)

        return case

    def bmm(inputs):
        batch, n = {8: (4, 4), 256: (16, 64), 2048: (64, 256)}[inputs.side]
        a, b = inputs.leaf(batch, n, n), inputs.leaf(batch, n, n)
        return lambda: torch.bmm(a, b)

    def linear(inputs):
        x, w, b = inputs.leaf(), inputs.leaf(), inputs.leaf(inputs.side)
        return lambda: F.linear(x, w, b)

    def cross_entropy(inputs):
        x, target = inputs.leaf(), inputs.numbers(inputs.side, inputs.side)
        return lambda: F.cross_entropy(x, target)

    def layer_norm(inputs):
        x, w, b = inputs.leaf(), inputs.leaf(inputs.side), inputs.leaf(inputs.side)
        return lambda: F.layer_norm(x, (inputs.side,), w, b)

    def batch_norm(inputs):
        shape = inputs.image()
        x, w, b = inputs.leaf(*shape), inputs.leaf(shape[1]), inputs.leaf(shape[1])
        return lambda: F.batch_norm(x, None, None, w, b, training=True)

    def conv2d(inputs):
        shape = inputs.image()
        x, w = inputs.leaf(*shape), inputs.leaf(shape[1], shape[1], 3, 3)
        return lambda: F.conv2d(x, w, padding=1)

    def max_pool2d(inputs):
        x = inputs.leaf(*inputs.image())
        return lambda: F.max_pool2d(x, 2)

    def embedding(inputs):
        table, index = inputs.leaf(), inputs.numbers(inputs.side, inputs.side)
        return lambda: F.embedding(index, table)

    def indexing(inputs):
        x, index = inputs.leaf(), inputs.numbers(inputs.side, inputs.side // 2)
        return lambda: x[index]

    def where(inputs):
        a, b = inputs.leaf(), inputs.leaf()
        condition = (a > 1).detach()
        return lambda: torch.where(condition, a, b)

    def bias(inputs):
        x, b = inputs.leaf(), inputs.leaf(inputs.side)
        return lambda: x + b

    return {
        "add": two(lambda a, b: a + b),
        "add a row": bias,
        "sub": two(lambda a, b: a - b),
        "mul": two(lambda a, b: a * b),
        "mul by 2.5": one(lambda x: x * 2.5),
        "div": two(lambda a, b: a / b),
        "pow 2": one(lambda x: x**2),
        "exp": one(lambda x: x.exp()),
        "log": one(lambda x: x.log()),
        "sqrt": one(lambda x: x.sqrt()),
        "tanh": one(lambda x: x.tanh()),
        "sigmoid": one(lambda x: x.sigmoid()),
        "relu": one(lambda x: x.relu()),
        "gelu": one(lambda x: F.gelu(x)),
        "sum": one(lambda x: x.sum()),
        "mean of rows": one(lambda x: x.mean(1)),
        "max of rows": one(lambda x: x.max(1).values),
        "matmul": two(lambda a, b: a @ b),
        "bmm": bmm,
        "linear": linear,
        "softmax": one(lambda x: x.softmax(1)),
        "cross_entropy": cross_entropy,
        "mse_loss": two(lambda a, b: F.mse_loss(a, b)),
        "layer_norm": layer_norm,
        "batch_norm": batch_norm,
        "conv2d": conv2d,
        "max_pool2d": max_pool2d,
        "embedding": embedding,
        "cat": two(lambda a, b: torch.cat([a, b])),
        "x[index]": indexing,
        "where": where,
        "transposed copy": one(lambda x: x.t().contiguous()),
    }


def prepared(torch, name, side):
    """(forward, backward after it): functions without arguments."""
    torch.manual_seed(0)
    inputs = Inputs(torch, side)
    if name == CONVOLUTION:
        x, w = inputs.leaf(32, 64, 28, 28), inputs.leaf(64, 64, 3, 3)
        forward = lambda: torch.nn.functional.conv2d(x, w, padding=1)
    else:
        forward = cases(torch)[name](inputs)
    gradient = torch.ones_like(forward())

    def both():
        forward().backward(gradient)
        for leaf in inputs.leaves:
            leaf.grad = None

    return forward, both


# In a process of each library's own


def fastest(step, seconds):
    """Seconds of the fastest of the runs that fit into the time; of short steps, the mean of many in a row."""
    step()
    start = time.perf_counter()
    step()
    once = time.perf_counter() - start
    many = max(1, min(200, int(0.002 / max(once, 1e-9))))
    best, end = math.inf, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(many):
            step()
        now = time.perf_counter()
        best = min(best, (now - start) / many)
        if now > end:
            return best


def serve(library):
    """Answer questions about a library, one a line."""
    torch = importlib.import_module(library)
    for line in sys.stdin:
        question = json.loads(line)
        steps = prepared(torch, question["name"], question["side"])
        if question["ask"] == "time":
            answer = [fastest(step, question["seconds"]) for step in steps]
        else:
            answer = [peak(step, library) for step in steps]
        print(json.dumps(answer), flush=True)


def peak(step, library):
    """Megabytes that a step takes at its peak, beyond what was there before."""
    if library == OURS:
        import tracemalloc

        step()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        step()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return (most - before) / 1e6
    import ctypes

    ctypes.CDLL(None).malloc_trim(0)  # memory that was freed goes back, or it would be used again unseen
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    step()
    return (_status("VmHWM") - before) / 1e3


def _status(word):
    """Kilobytes of this process, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(word)).split()[1])


class Worker:
    """A process of one library, with one thread or all."""

    def __init__(self, library, jit, alone=False):
        environment = {**os.environ, "TENSORGRAD_JIT": "1" if jit else "0"}
        if alone:
            environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        command = [sys.executable, os.path.abspath(__file__), "--serve", library]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process that measured {question['name']} ended")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# Tables


def times(names, rounds, seconds, jit):
    """Yield the lines of the table of times."""
    workers = [(library, Worker(library, jit, alone)) for alone in (True, False) for library in (OURS, THEIRS)]
    heads = [f"{size}, {part}" for size in SIZES for part in ("forward", "and backward")]
    yield f"| | {' | '.join(heads)} |"
    yield "|---|" + "---:|" * len(heads)
    logs, worst = [], []

    def ratios(name, side):
        best = {OURS: [math.inf] * 2, THEIRS: [math.inf] * 2}
        for turn in range(rounds):
            for library, worker in workers if turn % 2 == 0 else reversed(workers):
                found = worker.ask(ask="time", name=name, side=side, seconds=seconds)
                best[library] = [min(pair) for pair in zip(best[library], found)]
        return [a / b for a, b in zip(best[OURS], best[THEIRS])]

    for name in names:
        if name == CONVOLUTION:
            continue
        cells = [ratio for side in SIZES.values() for ratio in ratios(name, side)]
        logs += [math.log(ratio) for ratio in cells]
        worst += [(ratio, f"{name} ({head})") for ratio, head in zip(cells, heads)]
        yield f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in cells)} |"
    if CONVOLUTION in names:
        cells = ratios(CONVOLUTION, 8)
        yield f"| {CONVOLUTION} | | | | | {' | '.join(f'{ratio:.2f}' for ratio in cells)} |"
    for _, worker in workers:
        worker.close()
    if logs:
        yield ""
        yield f"Geometric mean: **{math.exp(sum(logs) / len(logs)):.2f}**. Highest: " + ", ".join(
            f"{what} {ratio:.1f}" for ratio, what in sorted(worst, reverse=True)[:3]
        )


NEEDS = {  # what each needs, in sizes of its input: output and what is saved for the gradient; then the gradients too
    "softmax": ("the output", lambda n, out: (out, out + n)),
    "layer_norm": ("the output", lambda n, out: (out, out + n)),
    "conv2d": ("the output", lambda n, out: (out, out + n)),
    "cross_entropy": ("log(softmax)", lambda n, out: (n, 2 * n)),
}


def memory(jit):
    """Yield the lines of the table of memory."""
    ours, theirs = Worker(OURS, jit), Worker(THEIRS, jit)
    yield (
        "| peak, MB | needs, forward | tensorgrad | PyTorch | needs, and backward | tensorgrad | PyTorch |"
        "\n|---|---:|---:|---:|---:|---:|---:|"
    )
    side = SIZES["4 M"]
    size = side * side * 4 / 1e6
    for name, (saved, needs) in NEEDS.items():
        forward, both = needs(size, size)
        a, b = (worker.ask(ask="memory", name=name, side=side) for worker in (ours, theirs))
        yield (
            f"| {name} (keeps {saved}) | {forward:.0f} | {a[0]:.0f} | {b[0]:.0f} | {both:.0f} | {a[1]:.0f} | {b[1]:.0f} |"
        )
    ours.close()
    theirs.close()


def report(names, rounds=3, seconds=0.03, jit=False):
    """Yield the lines of both tables."""
    kind = "with compiled kernels" if jit else "with NumPy alone"
    yield f"Operations {kind}: time divided by PyTorch's, best of {rounds} rounds, {os.cpu_count()} cores"
    yield ""
    yield from times(names, rounds, seconds, jit)
    yield ""
    yield from memory(jit)


def names():
    """All cases, whether or not PyTorch is installed."""
    return [*cases(importlib.import_module(OURS)), CONVOLUTION]


def main():
    known = names() if "--serve" not in sys.argv else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="what to time, separated by commas; all of it if not given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.03, help="of timing, for each figure in each round")
    parser.add_argument("--jit", action="store_true", help="with compiled kernels (the jit extra)")
    parser.add_argument("--memory", action="store_true", help="measure memory instead")
    parser.add_argument("--out", help="write the tables here as well")
    parser.add_argument("--serve", help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.serve)
    wanted = arguments.only.split(",") if arguments.only else known
    unknown = [name for name in wanted if name not in known]
    if unknown or arguments.rounds < 1:
        parser.error(f"--only takes {', '.join(known)}, and at least one round is needed")
    if importlib.util.find_spec(THEIRS) is None:
        raise SystemExit("PyTorch is not installed, so there is nothing to compare with; `make bench` installs it.")
    lines = []
    whole = not arguments.only and not arguments.memory
    for line in (
        memory(arguments.jit) if arguments.memory
        else report(wanted, arguments.rounds, arguments.seconds, arguments.jit) if whole
        else times(wanted, arguments.rounds, arguments.seconds, arguments.jit)
    ):  # fmt: skip
        print(line, flush=True)
        lines.append(line)
    if arguments.out:
        Path(arguments.out).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
