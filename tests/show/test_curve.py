"""Loss curves: a page that stands alone, shows every value, and reads well at any scale."""

import json
import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from subject import torch

from tensorgrad.show import curve, sparkline


class Checker(HTMLParser):
    """Collects what a browser would fetch, and complains about elements left open."""

    def __init__(self, page):
        super().__init__()
        self.fetched, self.open = [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def curves_of(picture):
    """The points of each polyline of a drawing, as numbers on the page."""
    drawing = ElementTree.fromstring(picture.svg())
    return [
        [tuple(map(float, pair.split(","))) for pair in line.get("points").split()] for line in drawing.iter("polyline")
    ]


def ticks_of(picture, anchor):
    drawing = ElementTree.fromstring(picture.svg())
    return [t.text for t in drawing.iter("text") if t.get("class") == "tick" and t.get("text-anchor") == anchor]


def test_the_page_stands_alone():
    page = curve({"train": [3, 2, 1], "held out": [(0, 3), (2, 2)]}, title="digits", facts={"accuracy": "97 %"}).html()
    assert Checker(page).fetched == []
    assert "@import" not in page and "url(" not in page
    for text in ("digits", "train", "held out", "accuracy", "97 %", "prefers-color-scheme"):
        assert text in page


def test_names_cannot_break_out_of_the_page():
    evil = "</script><img src=x onerror=alert(1)>"
    page = curve({evil: [1, 2]}, title=evil, facts={evil: evil}, x_label=evil, y_label=evil).html()
    assert Checker(page).fetched == []
    assert "<img" not in page


def test_lower_values_stand_lower_and_later_ones_further_right():
    (points,) = curves_of(curve([3.0, 2.0, 1.0]))
    xs, ys = zip(*points)
    assert xs[0] < xs[1] < xs[2]
    assert ys[0] < ys[1] < ys[2]  # downwards on the page
    assert math.isclose(ys[1] - ys[0], ys[2] - ys[1], abs_tol=0.11)


def test_two_curves_share_the_axes():
    train, held_out = curves_of(curve({"train": [4, 2, 1], "held out": [(0, 4), (2, 1)]}))
    assert train[0] == held_out[0] and train[2] == held_out[1]


def test_tensors_are_numbers_too():
    losses = [torch.tensor(3.0, requires_grad=True), torch.tensor(2.0)]
    assert curves_of(curve(losses)) == curves_of(curve([3.0, 2.0]))
    assert curves_of(curve(torch.tensor([3.0, 2.0]))) == curves_of(curve([3.0, 2.0]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 2.5], ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]),
        ([0.0, 0.01], ["0.000", "0.002", "0.004", "0.006", "0.008", "0.010"]),
        ([0.0, 40000.0], ["0", "10,000", "20,000", "30,000", "40,000"]),
        ([-1.0, 1.0], ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ([101.0, 102.0], ["101.0", "101.2", "101.4", "101.6", "101.8", "102.0"]),
    ],
)
def test_ticks_are_round_numbers(values, expected):
    assert ticks_of(curve(values), "end") == expected


def test_ticks_of_a_logarithmic_axis_are_powers_of_ten():
    assert ticks_of(curve([1e-4, 1.0], log=True), "end") == ["0.0001", "0.001", "0.01", "0.1", "1"]
    points = curves_of(curve([1.0, 0.1, 0.01], log=True))[0]
    assert math.isclose(points[1][1] - points[0][1], points[2][1] - points[1][1], abs_tol=0.11)
    assert len(ticks_of(curve([0.31, 0.34], log=True), "end")) >= 2


@pytest.mark.parametrize(
    "values",
    [[], [5.0], [0.0], [2.0, 2.0], [math.nan], [1e-30, 2e-30], [1e30, -1e30], [1.0, 1.0 + 1e-15], [-3.0, -2.0]],
    ids=str,
)
def test_odd_values_make_a_drawing_all_the_same(values):
    for number in re.findall(r' (?:x1|x2|y1|y2|cx|cy|x|y)="([^"]+)"', curve(values).svg()):
        assert math.isfinite(float(number))


def test_values_that_are_not_finite_leave_a_gap():
    assert [len(points) for points in curves_of(curve([3, 2, math.nan, 2, 1, math.inf, 1]))] == [2, 2]
    drawing = ElementTree.fromstring(curve([3, 2, math.nan, 2, 1, math.inf, 1]).svg())
    assert len([dot for dot in drawing.iter("circle")]) == 1


def test_a_long_series_stays_small_and_keeps_its_spikes():
    values = [1.0] * 100_000
    values[54_321] = 9.0
    page = curve(values).html()
    assert len(page) < 150_000
    drawn = json.loads(re.search(r"const data = (\{.*?\});", page)[1])["points"][0]
    assert [54321.0, 9.0] in [point[:2] for point in drawn]
    assert drawn[0][0] == 0 and drawn[-1][0] == 99_999


def test_a_long_series_is_drawn_with_its_mean_on_top():
    faint, mean = curves_of(curve([1.0, 3.0] * 1500))
    assert len(faint) > len(mean)
    heights = [y for _, y in faint]
    assert all(math.isclose(y, (min(heights) + max(heights)) / 2, abs_tol=0.2) for _, y in mean)


def test_what_is_not_a_curve_is_refused_by_name():
    with pytest.raises(TypeError, match="curve 'train': point 1 must be a number or a pair"):
        curve({"train": [1.0, "high"]})
    with pytest.raises(TypeError, match="point 0"):
        curve([(1, 2, 3)])
    with pytest.raises(ValueError, match="x=nan"):
        curve([(math.nan, 1.0)])
    with pytest.raises(ValueError, match="1 to 6 curves"):
        curve({})
    with pytest.raises(ValueError, match="above zero"):
        curve([0.0, -1.0], log=True)


def test_a_notebook_shows_the_page_in_a_frame():
    shown = curve([2, 1], title='a "title"')._repr_html_()
    assert shown.startswith("<iframe") and Checker(shown)
    assert shown.count('"') % 2 == 0


def test_saving_writes_the_page(tmp_path):
    picture = curve([2, 1])
    assert picture.save(tmp_path / "loss.html").read_text(encoding="utf-8") == picture.html()


def test_a_sparkline_follows_the_values():
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1, math.nan, 8]) == "▁ █"
    assert sparkline([5, 5, 5]) == "▁▁▁"
    assert sparkline([]) == ""
    assert sparkline(range(1000), width=8) == "▁▂▃▄▅▆▇█"
    with pytest.raises(ValueError, match="width=0"):
        sparkline([1], width=0)
