"""What vmap mapped when the record was written it still maps, and the page that says so is the one the record makes.

`vmap_passing.json` holds the marks of the last `python -m tests.parity.vmap_scoreboard --write`.
"""

import os

import pytest

from . import vmap_scoreboard
from .harness import all_names

RECORD = vmap_scoreboard.recorded()
NAMES = [name for name, marks in RECORD.items() if "pass" in marks.values()]


@pytest.fixture(scope="module")
def scores(request):
    """Gives the Score of a name; all that this session asks for are computed beside one another."""
    asked = [item.callspec.params["name"] for item in request.session.items if item.originalname == RUNS]
    arriving, arrived = vmap_scoreboard.scores_of(asked, workers=min(4, os.cpu_count() or 2)), {}

    def score_of(name):
        while name not in arrived:
            score = next(arriving)
            arrived[score.name] = score
        return arrived.pop(name)

    yield score_of
    arriving.close()


@pytest.mark.parametrize("name", NAMES)
def test_what_vmap_mapped_it_still_maps(name, scores):
    score = scores(name)
    lost = [check for check, mark in RECORD[name].items() if mark == "pass" and score.marks[check] == "fail"]
    told = [f"{f.check}: {f.kind}: {f.text}\n    {f.call}" for f in score.failures if f.check in lost]
    assert not lost, "\n".join([f"passed before, and no more: {', '.join(lost)}", *told])


RUNS = test_what_vmap_mapped_it_still_maps.__name__


def test_the_page_says_what_the_record_says():
    assert vmap_scoreboard.PAGE.read_text() == vmap_scoreboard.page(RECORD)


def test_the_names_are_of_pytorch():
    assert set(RECORD) <= set(all_names())
