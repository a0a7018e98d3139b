"""The progress bar: silent for short work, one line on a terminal, occasional lines in a log."""

import io
import re
import time

import pytest

from tensorgrad.show import progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class Clock:
    """Time that passes only when told to."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.delenv("TERM", raising=False)
    return Clock(monkeypatch)


def test_short_work_shows_nothing(clock):
    out = Terminal()
    for _ in progress(range(100), file=out):
        clock.now += 0.009
    assert out.getvalue() == ""


def test_a_terminal_gets_one_line_that_redraws_itself_and_ends(clock):
    out = Terminal()
    for _ in progress(range(100), "training", file=out):
        clock.now += 0.1
    text = out.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n")
    assert text.count("\r") > 50
    assert text.splitlines()[-1].rstrip().endswith("100/100  in 0:10")
    assert "━" in text


def test_what_a_longer_line_left_is_wiped(clock):
    out = Terminal()
    with progress(total=10, file=out, after=0) as bar:
        clock.now += 1
        bar.advance(note="a rather long remark")
        clock.now += 1
        bar.advance(note="short")
    first, second = out.getvalue().split("\r")[1:3]
    assert len(second.rstrip("\n")) >= len(first)


def test_a_log_gets_few_whole_lines(clock):
    out = io.StringIO()
    for _ in progress(range(1000), "training", file=out):
        clock.now += 0.05
    lines = out.getvalue().splitlines()
    assert "\r" not in out.getvalue()
    assert 5 <= len(lines) <= 7
    assert all(line.startswith("training ") for line in lines)
    assert "1,000/1,000" in lines[-1]


def test_a_file_that_cannot_show_the_blocks_gets_plain_letters(clock):
    out = Terminal()
    out.encoding = "ascii"
    with progress(total=2, file=out, after=0) as bar:
        clock.now += 1
        bar.advance()
    assert out.getvalue().isascii() and "#" in out.getvalue()


def test_the_time_left_follows_the_recent_pace(clock):
    out = io.StringIO()
    bar = progress(total=110, file=out, after=0)
    clock.now += 50  # a slow first step
    bar.advance(10)
    for _ in range(90):
        clock.now += 1
        bar.advance()
    minutes, seconds = re.search(r"(\d+):(\d+) left", bar.line()).groups()
    assert 9 <= int(minutes) * 60 + int(seconds) <= 12


def test_work_without_a_known_length_is_counted(clock):
    out = io.StringIO()
    for _ in progress((i for i in range(30)), file=out):
        clock.now += 1.0
    assert "/s" in out.getvalue() and "%" not in out.getvalue()
    assert out.getvalue().splitlines()[-1].startswith("30")


def test_leaving_early_and_by_an_error_ends_the_line(clock):
    out = Terminal()
    for step in progress(range(100), file=out, after=0):
        clock.now += 1
        if step == 3:
            break
    assert out.getvalue().endswith("\n") and "3/100" in out.getvalue()
    out = Terminal()
    with pytest.raises(ZeroDivisionError), progress(total=5, file=out, after=0) as bar:
        clock.now += 1
        bar.advance()
        1 / 0
    assert out.getvalue().endswith("\n")


def test_a_bar_inside_a_bar_borrows_the_line_and_leaves_nothing(clock):
    out = Terminal()
    for _ in progress(range(3), "outer", file=out, after=0):
        for _ in progress(range(5), "inner", file=out, after=0):
            clock.now += 1
    assert "inner" in out.getvalue() and "outer" in out.getvalue()
    assert out.getvalue().count("\n") == 1
    last = out.getvalue().split("\r")[-1]
    assert last.startswith("outer 100%")


def test_a_log_is_told_of_the_outermost_bar_only(clock):
    out = io.StringIO()
    for _ in progress(range(3), "outer", file=out, after=0):
        for _ in progress(range(5), "inner", file=out, after=0):
            clock.now += 10
    assert "inner" not in out.getvalue() and "outer" in out.getvalue()


def test_a_bar_that_was_never_closed_does_not_silence_the_next(clock):
    out = Terminal()
    bar = progress(total=10, file=out, after=0)
    bar.advance()
    kept = iter(progress(range(10), file=out, after=0))
    next(kept)
    for _ in progress(range(5), "next", file=out, after=0):
        clock.now += 1
    assert "next  80%" in out.getvalue()
    del bar, kept


def test_a_bar_that_was_dropped_unused_does_not_silence_the_one_around_it(clock):
    out = Terminal()
    with progress(total=4, title="outer", file=out, after=0) as bar:
        progress(range(3), file=out)
        clock.now += 1
        bar.advance()
    assert "outer  25%" in out.getvalue()


def test_no_steps_at_all_and_more_than_announced():
    assert list(progress([])) == []
    bar = progress(total=2)
    bar.advance(5)
    assert "100%" in bar.line() and "5/2" in bar.line()
    assert "  0%" in progress(total=3).line()


def test_facts_are_brief():
    bar = progress(total=2)
    bar.advance(loss=0.123456789, state="warm")
    assert bar.line().endswith("loss 0.1235  state warm")


def test_a_bar_that_only_counts_cannot_be_iterated():
    with pytest.raises(TypeError, match="nothing to iterate over"):
        next(iter(progress(total=3)))


def test_a_closed_file_does_not_stop_the_work(clock):
    out = Terminal()
    bar = progress(range(3), file=out, after=0)
    out.close()
    seen = []
    for item in bar:
        clock.now += 1
        seen.append(item)
    assert seen == [0, 1, 2]
