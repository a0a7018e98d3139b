"""Which of PyTorch's operations vmap maps, judged by PyTorch's own list of operations and sample inputs.

    python -m tests.parity.vmap_scoreboard                       all names, a line each, then what fails and why
    python -m tests.parity.vmap_scoreboard --only svd,fft.* -v   some, with the calls that fail (--tracebacks: whence)
    python -m tests.parity.vmap_scoreboard --failing             those that vmap_passing.json does not have
    python -m tests.parity.vmap_scoreboard --write               record in vmap_passing.json and docs/vmap.md

What the two checks compare stands in vmap_checks.py. A check reads n/a when PyTorch's own vmap refuses the operation (its
result's shape depends on the numbers, it returns no tensor) or there is nothing to map or to differentiate.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from .scoreboard import SIGNS, choose, print_score, print_summary

HERE = Path(__file__).parent
PASSING = HERE / "vmap_passing.json"
PAGE = HERE.parent.parent / "docs" / "vmap.md"
CHECKS = ("result", "gradient")


def recorded():
    """{name: {check: mark}} of the last run that was written."""
    if not PASSING.exists():
        return {}
    return {name: dict(zip(CHECKS, marks.split())) for name, marks in json.loads(PASSING.read_text()).items()}


def record(marks):
    """Replace vmap_passing.json and the page made of it."""
    lines = (f"  {json.dumps(name)}: {json.dumps(' '.join(marks[name].values()))}" for name in sorted(marks))
    partial = PASSING.with_suffix(f".{os.getpid()}")
    partial.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    partial.replace(PASSING)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(marks))


def totals(marks):
    """[(what, how many)] over {name: {check: mark}}."""
    held = [m for m in marks.values() if "fail" not in m.values() and "pass" in m.values()]
    return [
        ("operations in PyTorch's list", len(marks)),
        ("pass", len(held)),
        (
            "nothing to compare, or refused by PyTorch's vmap too",
            sum(set(m.values()) == {"n/a"} for m in marks.values()),
        ),
        ("fail", sum("fail" in m.values() for m in marks.values())),
    ]


def page(marks):
    """docs/vmap.md."""
    lines = [
        "# vmap",
        "",
        "`vmap` of each operation in PyTorch's own list, compared with the operation on each row, on PyTorch's own sample",
        "inputs, the mapped dimension in several places, for all operands and for some; without a loop over the rows:",
        "",
        "- **result**: the operation and its in-place form; random operations by shape, and by agreement of the rows",
        "- **gradient**: vmap of its gradient",
        "",
        "`-`: nothing to compare, or PyTorch's vmap refuses it too.",
        "`python -m tests.parity.vmap_scoreboard --write` makes this page; `make parity` checks what it says.",
        "",
        "| | operations |",
        "|---|---:|",
        *(f"| {what} | {count} |" for what, count in totals(marks)),
        "",
        "| operation | result | gradient |",
        "|---|---|---|",
    ]
    for name in sorted(marks):
        lines.append(f"| `{name}` | " + " | ".join(SIGNS[marks[name][check]] for check in CHECKS) + " |")
    return "\n".join(lines) + "\n"


def arguments(argv):
    parser = argparse.ArgumentParser(
        prog="python -m tests.parity.vmap_scoreboard", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--only", help="names or patterns, with commas between")
    parser.add_argument("--failing", action="store_true", help="only what does not pass according to vmap_passing.json")
    parser.add_argument("--checks", help="result,gradient")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the calls that fail")
    parser.add_argument("--tracebacks", action="store_true", help="with -v, print where exceptions came from")
    parser.add_argument("--write", action="store_true", help="record the marks in vmap_passing.json and docs/vmap.md")
    parser.add_argument("--accept-losses", action="store_true", help="with --write, record also what passes no more")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=90.0, help="seconds for one operation")
    parser.add_argument("--subject", default="tensorgrad", help="the module to judge")
    options = parser.parse_args(argv)
    options.checks = tuple(options.checks.split(",")) if options.checks else CHECKS
    if not set(options.checks) <= set(CHECKS):
        parser.error(f"the checks are {', '.join(CHECKS)}")
    if options.write and (options.checks != CHECKS or options.subject != "tensorgrad"):
        parser.error("--write records both checks of tensorgrad")
    return options


def scores_of(names, subject="tensorgrad", workers=2, timeout=300.0, checks=CHECKS, tracebacks=False):
    """Yields the Score of each name, as it is ready."""
    from .pool import score_all
    from .vmap_checks import check_name

    run = {"checks": checks, "limits": None, "tracebacks": tracebacks}
    return score_all(names, subject, workers, timeout, check=check_name, **run)


def main(argv=None):
    options = arguments(argv)
    began = time.perf_counter()
    from .harness import all_names

    names, before = all_names(), recorded()
    chosen = choose(names, options.only.split(",")) if options.only else names
    if options.failing:
        chosen = [name for name in chosen if name not in before or "fail" in before[name].values()]
    width = max(map(len, chosen), default=0)
    print(f"{'':{width}} {' '.join(options.checks)}")
    scores = []
    for score in scores_of(
        chosen, options.subject, options.workers, options.timeout, options.checks, options.tracebacks
    ):
        scores.append(score)
        print_score(score, width, options.verbose)
    print_summary(scores, options.checks)
    for what, count in totals({score.name: score.marks for score in scores}):
        print(f"{count:5}  {what}")
    print(f"{time.perf_counter() - began:.0f} s")
    losses = [
        f"{score.name} {check}"
        for score in scores
        for check, mark in score.marks.items()
        if mark == "fail" and before.get(score.name, {}).get(check) == "pass"
    ]
    if losses:
        print("passed before, and no more: " + "; ".join(losses))
    if options.write:
        marks = recorded()  # read again: others may have written meanwhile
        for score in scores:
            kept = {} if options.accept_losses else marks.get(score.name, {})
            marks[score.name] = {
                check: "pass" if kept.get(check) == "pass" and mark == "fail" else mark
                for check, mark in score.marks.items()
            }
        record(marks)
    return 1 if losses and not options.accept_losses else 0


if __name__ == "__main__":
    sys.exit(main())
