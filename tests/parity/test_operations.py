"""What passed on the scoreboard still passes, and the page that says so is the one the record makes.

`passing.json` holds the marks of the last `python -m tests.parity.scoreboard --write`. The operations run in worker
processes, each with a time limit, in the order of the tests.
"""

import os

import pytest

from . import scoreboard
from .harness import CHECKS, all_names
from .pool import score_all

RECORD = scoreboard.recorded()
NAMES = [name for name, marks in RECORD.items() if "pass" in marks.values()]


@pytest.fixture(scope="module")
def scores(request):
    """Gives the Score of a name; all that this session asks for are computed beside one another."""
    asked = [item.callspec.params["name"] for item in request.session.items if item.originalname == RUNS]
    arriving, arrived = score_all(asked, "tensorgrad", workers=min(4, os.cpu_count() or 2)), {}

    def score_of(name):
        while name not in arrived:
            score = next(arriving)
            arrived[score.name] = score
        return arrived.pop(name)

    yield score_of
    arriving.close()


@pytest.mark.parametrize("name", NAMES)
def test_what_passed_still_passes(name, scores):
    score = scores(name)
    lost = [check for check in CHECKS if RECORD[name][check] == "pass" and score.marks[check] not in ("pass", "n/a")]
    told = [f"{f.check}: {f.kind}: {f.text}\n    {f.call}" for f in score.failures if f.check in lost]
    assert not lost, "\n".join([f"passed before, and no more: {', '.join(lost)}", *told])


RUNS = test_what_passed_still_passes.__name__


def test_every_operation_of_pytorch_is_recorded():
    assert sorted(RECORD) == all_names()


def test_the_page_says_what_the_record_says():
    assert scoreboard.TABLE.read_text() == scoreboard.table(RECORD)
