"""Which of PyTorch's operations tensorgrad has, judged by PyTorch's own list of operations and sample inputs.

    python -m tests.parity.scoreboard                          all 636 names, a line each, then what fails and why
    python -m tests.parity.scoreboard --only add,linalg.*      some of them (names and patterns)
    python -m tests.parity.scoreboard --family names.txt       those in a file, one a line
    python -m tests.parity.scoreboard --only svd -v            with the calls that fail: arguments, expected, got
    python -m tests.parity.scoreboard --only svd -v --tracebacks   and where the exception came from
    python -m tests.parity.scoreboard --failing --checks result    those that passing.json does not have, one check
    python -m tests.parity.scoreboard --only svd --all-samples     every sample input instead of a selection
    python -m tests.parity.scoreboard --write                  record in passing.json and docs/operations.md

Run it from the root of the repository, with tensorgrad importable and PyTorch installed (`make parity` makes such an
environment). `--subject torch` judges PyTorch by itself, which shows what the harness can tell apart.

The five checks of an operation, each over dtypes float32, float64, complex128, int64, bool, bfloat16 and float16 where
PyTorch's CPU has them:

    result    values, dtype, shape, inputs left as PyTorch leaves them; views share memory with the same input, with the
              same strides and offset, and nothing else does
    gradient  first and second derivatives for random cotangents in float64 and complex128 equal PyTorch's; the first in
              the smaller types too, on a few samples
    tangent   forward-mode derivatives for random tangents equal PyTorch's
    forms     out= (also strided, empty, of a wrong dtype), in-place, method, operator and alias forms
    errors    PyTorch's exception type (or a subclass) for each of its error inputs

A check reads n/a when PyTorch has no such thing for the operation, and that counts as passed; `out` marks what is
allowed to stay out. Tolerances are torch.testing's; see comparison.py, and ambiguity.py for signs, phases and equal
elements. Random operations are seeded alike on both sides and compared by value.
"""

import argparse
import fnmatch
import json
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).parent
PASSING = HERE / "passing.json"
TABLE = HERE.parent.parent / "docs" / "operations.md"
CHECKS = ("result", "gradient", "tangent", "forms", "errors")
VARYING = re.compile(r"\d+|\b(Bool|Long|Half|BFloat16|Float|Double|ComplexDouble)\b")  # not another reason
SIGNS = {"pass": "yes", "fail": "no", "n/a": "-", "out": "out"}


def recorded():
    """{name: {check: mark}} of the last run that was written."""
    if not PASSING.exists():
        return {}
    return {name: dict(zip(CHECKS, marks.split())) for name, marks in json.loads(PASSING.read_text()).items()}


def record(marks):
    """Replace passing.json and the table made of it."""
    lines = (f"  {json.dumps(name)}: {json.dumps(' '.join(marks[name].values()))}" for name in sorted(marks))
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    partial = PASSING.with_suffix(f".{os.getpid()}")
    partial.write_text(text)
    partial.replace(PASSING)
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(table(marks))


def passed(marks, *checks):
    return all(marks[check] in ("pass", "n/a") for check in checks)


def totals(marks):
    """[(what, how many)] over {name: {check: mark}}."""
    rows = [("operations in PyTorch's list", len(marks))]
    rows.append(("pass result, gradient and tangent", sum(passed(m, *CHECKS[:3]) for m in marks.values())))
    rows.append(("pass all five", sum(passed(m, *CHECKS) for m in marks.values())))
    for check in CHECKS:
        found = [m[check] for m in marks.values() if m[check] in ("pass", "fail")]
        rows.append((f"pass {check}, of {len(found)} that have it", found.count("pass")))
    rows.append(("stay out (sparse, quantized, internals)", sum("out" in m.values() for m in marks.values())))
    return rows


def table(marks):
    """docs/operations.md."""
    lines = [
        "# Operations",
        "",
        "Every operation in PyTorch's own list of operations, compared with PyTorch on its own sample inputs:",
        "",
        "- **result**: values, dtype and shape; views share memory, with the same strides",
        "- **gradient**: first and second derivatives",
        "- **tangent**: forward-mode derivatives",
        "- **forms**: `out=`, in-place, method, operator and alias forms",
        "- **errors**: the same type of exception for the same mistake",
        "",
        "`-`: PyTorch has no such thing for the operation; it counts as passed. `out`: stays out, for it needs sparse",
        "or quantized tensors or is an internal of PyTorch's.",
        "`python -m tests.parity.scoreboard --write` makes this page; `make parity` checks what it says.",
        "",
        "| | operations |",
        "|---|---:|",
        *(f"| {what} | {count} |" for what, count in totals(marks)),
        "",
        "| operation | " + " | ".join(CHECKS) + " |",
        "|---|" + "---|" * len(CHECKS),
    ]
    for name in sorted(marks):
        lines.append(f"| `{name}` | " + " | ".join(SIGNS[marks[name][check]] for check in CHECKS) + " |")
    return "\n".join(lines) + "\n"


def choose(names, patterns):
    """The names that match any pattern, `gelu` for `nn.functional.gelu` too; to match none is an error."""
    chosen = []
    for pattern in patterns:
        found = fnmatch.filter(names, pattern) or fnmatch.filter(names, f"*.{pattern}")
        if not found:
            raise SystemExit(f"no operation in PyTorch's list is called {pattern!r}")
        chosen += [name for name in found if name not in chosen]
    return chosen


def print_score(score, width, verbose):
    marks = " ".join(f"{mark:{len(check)}}" for check, mark in score.marks.items())
    told = defaultdict(list)
    for failure in score.failures:
        if failure.check not in told[failure.kind]:
            told[failure.kind].append(failure.check)
    reasons = "; ".join(f"{kind} ({', '.join(checks)})" for kind, checks in told.items())
    print(f"{score.name:{width}} {marks} {score.seconds:5.1f} s  {reasons}", flush=True)
    if not verbose:
        return
    groups = defaultdict(list)
    for failure in score.failures:
        groups[failure.kind, VARYING.sub("", failure.text)].append(failure)
    for (kind, _), failures in groups.items():
        first, text = failures[0], failures[0].text
        print(f"    {', '.join(dict.fromkeys(f.check for f in failures))}: {kind}: {text}")
        if not (kind == "missing" and text.endswith("." + score.name)):
            dtypes = ", ".join(f"{dtype} {n}" for dtype, n in Counter(f.dtype for f in failures).items())
            print(f"        {first.call}\n        sample {first.sample} of {first.dtype}; seen in {dtypes}")
        if first.traceback:
            print("        " + first.traceback.rstrip().replace("\n", "\n        "))
    for check, compared in score.compared.items():
        print(f"    {check}: {compared} comparisons held")
    for (check, reason), count in score.skipped.items():
        print(f"    {check}: {count} not compared: {reason}")
    for note in sorted(score.notes):
        print(f"    note: {note}")
    sys.stdout.flush()


def print_summary(scores, checks):
    """What fails, grouped by reason, then the totals."""
    groups = defaultdict(set)
    for score in scores:
        for failure in score.failures:
            if score.marks[failure.check] == "fail":
                groups[failure.check, failure.kind].add(score.name)
    order = sorted(groups.items(), key=lambda item: (checks.index(item[0][0]), -len(item[1])))
    for (check, kind), names in order:
        shown = " ".join(sorted(names)[:12]) + (" ..." if len(names) > 12 else "")
        print(f"{check:9}{kind:28}{len(names):4}  {shown}")
    if checks == CHECKS:
        for what, count in totals({score.name: score.marks for score in scores}):
            print(f"{count:5}  {what}")


def arguments(argv):
    parser = argparse.ArgumentParser(prog="python -m tests.parity.scoreboard", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="names or patterns, with commas between")
    parser.add_argument("--family", help="a file with a name or pattern a line")
    parser.add_argument("--failing", action="store_true", help="only what does not pass according to passing.json")
    parser.add_argument("--checks", help="which of the five, with commas between")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the calls that fail")
    parser.add_argument("--tracebacks", action="store_true", help="with -v, print where exceptions came from")
    parser.add_argument("--all-samples", action="store_true", help="compare every sample input")
    parser.add_argument("--write", action="store_true", help="record the marks in passing.json and docs/operations.md")
    parser.add_argument("--accept-losses", action="store_true", help="with --write, record also what passes no more")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=90.0, help="seconds for one operation")
    parser.add_argument("--subject", default="tensorgrad", help="the module to judge")
    options = parser.parse_args(argv)
    options.checks = tuple(options.checks.split(",")) if options.checks else CHECKS
    if not set(options.checks) <= set(CHECKS):
        parser.error(f"the checks are {', '.join(CHECKS)}")
    if options.write and (options.checks != CHECKS or options.subject != "tensorgrad"):
        parser.error("--write records all five checks of tensorgrad")
    return options


def main(argv=None):
    options = arguments(argv)
    began = time.perf_counter()
    from .harness import LIMITS, all_names
    from .pool import score_all

    names, before = all_names(), recorded()
    patterns = options.only.split(",") if options.only else []
    if options.family:
        patterns += [line.strip() for line in Path(options.family).read_text().splitlines() if line.strip()]
    chosen = choose(names, patterns) if patterns else names
    if options.failing:
        chosen = [name for name in chosen if name not in before or "fail" in before[name].values()]
    limits = dict.fromkeys(LIMITS) if options.all_samples else LIMITS
    width = max(map(len, chosen), default=0)
    print(f"{'':{width}} {' '.join(options.checks)}")
    scores = []
    run = {"checks": options.checks, "limits": limits, "tracebacks": options.tracebacks}
    for score in score_all(chosen, options.subject, options.workers, options.timeout, **run):
        scores.append(score)
        print_score(score, width, options.verbose)
    print_summary(scores, options.checks)
    print(f"{time.perf_counter() - began:.0f} s")
    losses = [
        f"{score.name} {check}"
        for score in scores
        for check, mark in score.marks.items()
        if mark in ("fail", "out") and before.get(score.name, {}).get(check) == "pass"
    ]
    if losses:
        print("passed before, and no more: " + "; ".join(losses))
    if options.write:
        marks = recorded()  # read again: others may have written meanwhile
        for score in scores:
            kept = marks.get(score.name, {}) if losses and not options.accept_losses else {}
            held = {c: "pass" if kept.get(c) == "pass" and m == "fail" else m for c, m in score.marks.items()}
            marks[score.name] = held
        record(marks)
    return 1 if losses and not options.accept_losses else 0


if __name__ == "__main__":
    sys.exit(main())
