"""Time tensorgrad beside PyTorch and print a table in Markdown; each figure is a ratio, below 1 is less than PyTorch.

    python benchmarks/run.py [--only chain,add,import,size,operations] [--rounds 5] [--seconds 0.5] [--out FILE]

Every timing has a process of its own, so that neither library's threads and memory disturb the other. In a round the
two take turns, the order changing from round to round; a round gives a ratio, and the table shows the middle one
with the lowest and highest beside it: how far to trust it on a busy machine. The tables of single operations at three sizes
are those of operations.py.
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from workloads import WORKLOADS

OURS, THEIRS = "tensorgrad", "torch"


def measure(library, workload, seconds):
    """Microseconds of one step: the middle one of all that fit into the time, after a warm-up."""
    module = importlib.import_module(library)
    module.manual_seed(0)
    step = WORKLOADS[workload](module)
    for _ in range(20):
        step()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < 5:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def step_time(workload, seconds, library):
    """What `measure` finds in a fresh process."""
    options = ["--one", workload, "--library", library, "--seconds", str(seconds)]
    return float(in_own_process(os.path.abspath(__file__), *options))


def import_times(library):
    """Milliseconds to import a library in a fresh process: all of it, and what it costs on top of NumPy."""
    program = f"from time import perf_counter as now; a = now(); import numpy; b = now(); import {library}; c = now()"
    program += "; print(c - a, c - b)"
    return [float(word) * 1e3 for word in in_own_process("-c", program).split()]


def installed_megabytes(library):
    """Size on disk of a library and of all it needs, as installed here."""
    if library == OURS:
        folder = Path(importlib.util.find_spec(OURS).origin).parent
        ours = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
        return (ours + _size_of({"numpy", "ml_dtypes"})) / 1e6
    return _size_of({library}) / 1e6


def _size_of(names):
    """Bytes of these distributions and, followed through, of those they require."""
    seen, waiting, size = set(), set(names), 0
    while waiting:
        name = waiting.pop()
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # required on another system only
        paths = [Path(found.locate_file(file)) for file in found.files or []]
        size += sum(path.stat().st_size for path in paths if path.is_file() and "__pycache__" not in path.parts)
        for requirement in found.requires or []:
            if "extra ==" not in requirement:
                waiting.add(re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-"))
        waiting -= seen
    return size


def in_own_process(*arguments):
    """Run Python in a fresh process and return what it printed."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # an import is timed as compiled, as people meet it
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


def take_turns(libraries, rounds, figure_of):
    """Measure each library once a round, in changing order: {library: figures}."""
    figures = {library: [] for library in libraries}
    for turn in range(rounds):
        for library in libraries if turn % 2 == 0 else reversed(libraries):
            figures[library].append(figure_of(library))
    return figures


def row(name, ours, theirs, unit):
    """One line of the table from the figures of all rounds."""
    cells = [name, f"{statistics.median(ours):.4g} {unit}"]
    if theirs:
        ratios = sorted(a / b for a, b in zip(ours, theirs))
        cells += [f"{statistics.median(theirs):.4g} {unit}", f"**{statistics.median(ratios):.2f}**"]
        cells += [f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if len(ratios) > 1 else ""]
    else:
        cells += ["", "", ""]
    return f"| {' | '.join(cells)} |"


def table(names, libraries, rounds, seconds):
    """Yield the lines of the table as they are measured."""
    versions = [in_own_process("-c", f"import {name}; print('{name}', {name}.__version__)") for name in libraries]
    yield f"{', '.join(versions)}, Python {platform.python_version()}, {os.cpu_count()} cores, {rounds} rounds"
    yield ""
    yield "| | tensorgrad | PyTorch | ratio | lowest to highest |"
    yield "|---|---|---|---|---|"
    for name in names:
        if name == "import":
            times = take_turns(libraries, rounds, import_times)
            for part, label in enumerate(("import", "import, on top of NumPy")):
                figures = {library: [time[part] for time in times[library]] for library in libraries}
                yield row(label, figures[OURS], figures.get(THEIRS), "ms")
        elif name == "operations":
            if THEIRS in libraries:
                import operations

                yield ""
                yield from operations.report(operations.names())
        elif name == "size":
            sizes = {library: [installed_megabytes(library)] for library in libraries}
            yield row("installed size, with all it needs", sizes[OURS], sizes.get(THEIRS), "MB")
        else:
            figures = take_turns(libraries, rounds, partial(step_time, name, seconds))
            yield row(f"`{name}`: {WORKLOADS[name].__doc__}", figures[OURS], figures.get(THEIRS), "us")


def main():
    names = [*WORKLOADS, "import", "size", "operations"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(names), help="what to measure, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing, for each library in each round")
    parser.add_argument("--out", help="write the table here as well")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # what a child process does, and with which library
    parser.add_argument("--library", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(measure(arguments.library, arguments.one, arguments.seconds))
        return
    wanted = arguments.only.split(",")
    unknown = [name for name in wanted if name not in names]
    if unknown or arguments.rounds < 1:
        parser.error(f"--only takes {', '.join(names)}, and at least one round is needed")
    libraries = [OURS, THEIRS] if importlib.util.find_spec(THEIRS) else [OURS]
    if len(libraries) == 1:
        print("PyTorch is not installed, so there are no ratios; `make bench` installs it.", file=sys.stderr)
    lines = []
    for line in table(wanted, libraries, arguments.rounds, arguments.seconds):
        print(line, flush=True)
        lines.append(line)
    if arguments.out:
        Path(arguments.out).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
