"""Curves over training steps: one self-contained HTML page, or one line of text for a terminal.

The page holds its own SVG, style and a few lines of script (hover to read values): nothing is fetched.
Choosing the ticks and thinning long series is done here, in Python; the script only looks up the nearest point.
"""

import html
import itertools
import math
from collections.abc import Mapping

from .page import Page, number, page, table

_WIDTH, _HEIGHT = 860, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 16, 16, 48
_MOST_POINTS = 1500  # of a series in the page: more cannot be told apart at this width
_MANY_POINTS = 600  # from here on a series is drawn faint, with its mean over neighbours on top
_MEANS = 150
_MOST_SERIES = 6


class Curve(Page):
    """One or several curves, ready to be written as a page. Made by `curve`, which says what the arguments mean."""

    height = _HEIGHT + 200  # of the frame in a notebook

    def __init__(self, series, *, title="loss", facts=None, x_label="step", y_label="loss", log=False):
        if not isinstance(series, Mapping):
            series = {y_label: series}
        if not 1 <= len(series) <= _MOST_SERIES:
            raise ValueError(f"a picture shows 1 to {_MOST_SERIES} curves, got {len(series)}")
        self.series = {str(name): _points(name, values) for name, values in series.items()}
        self.title, self.facts = title, dict(facts or {})
        self.x_label, self.y_label, self.log = x_label, y_label, log
        if log and not any(y > 0 for points in self.series.values() for _, y in points if math.isfinite(y)):
            raise ValueError("a logarithmic axis needs a value above zero, and these curves have none")

    def svg(self):
        """Return the drawing alone, as an SVG element.

        >>> tensorgrad.show.curve([3, 2, 1]).svg()[:4]
        '<svg'
        """
        axes = _Axes(self.series, self.log)
        label = html.escape(f"{self.title}: {', '.join(self.series)} by {self.x_label}")
        parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">']
        for y, text in axes.y_ticks:
            at = axes.down(y)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
            parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
        bottom = _HEIGHT - _BOTTOM
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>')
        for x, text in axes.x_ticks:
            at = axes.across(x)
            parts.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 5}"/>')
            parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 19}" text-anchor="middle">{text}</text>')
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        x_label, y_label = html.escape(self.x_label), html.escape(self.y_label)
        parts.append(f'<text class="name" x="{middle:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">{x_label}</text>')
        center = (_TOP + bottom) / 2
        turned = f'transform="rotate(-90 14 {center:.0f})" x="14" y="{center:.0f}"'
        parts.append(f'<text class="name" {turned} text-anchor="middle">{y_label}</text>')
        for index, points in enumerate(self.series.values()):
            if len(points) < _MANY_POINTS:
                parts.extend(axes.drawn(points, f"c{index}"))
            else:
                parts.extend(axes.drawn(_thinned(points), f"c{index} faint"))
                parts.extend(axes.drawn(_means(points), f"c{index}"))
        parts.append(f'<line class="cursor" y1="{_TOP}" y2="{bottom}" visibility="hidden"/>')
        parts.append("</svg>")
        return "\n".join(parts)

    def html(self):
        """Return the whole page as text.

        >>> page = tensorgrad.show.curve({"train": [3, 2, 1], "held out": [3, 2.5, 2.4]}, title="digits").html()
        >>> "<title>digits</title>" in page, "http" in page
        (True, False)
        """
        legend = "".join(
            f'<span class="key"><i class="c{index}"></i>{html.escape(name)} <b data-series="{index}"></b></span>'
            for index, name in enumerate(self.series)
        )
        notes = "".join(
            f'<p class="note">{html.escape(name)}: the faint line is every point, '
            f"the solid one the mean of about {round(len(points) / _MEANS)} at a time.</p>"
            for name, points in self.series.items()
            if len(points) >= _MANY_POINTS
        )
        axes = _Axes(self.series, self.log)
        drawn = [
            [[_short(x), _short(y), round(axes.across(x), 1)] for x, y in _thinned(points) if axes.holds(y)]
            for points in self.series.values()
        ]
        body = f'<p class="legend">{legend}<span class="at"></span></p>\n{self.svg()}\n{notes}{table(self.facts)}'
        return page(self.title, body, _STYLE, {"points": drawn, "x": self.x_label}, _SCRIPT)


def curve(series, *, title="loss", facts=None, x_label="step", y_label="loss", log=False):
    """Draw one or several curves as a page: `curve({"train": losses, "held out": pairs}).save("loss.html")`.

    A series holds numbers (or tensors of one element), counted from 0, or pairs (x, y). `facts` is a small table
    below the picture, `log` makes the vertical axis logarithmic. Values that are not finite leave a gap.

    >>> tensorgrad.show.curve([1.0, 0.5, 0.25], title="halving").title
    'halving'
    """
    return Curve(series, title=title, facts=facts, x_label=x_label, y_label=y_label, log=log)


def sparkline(values, width=60):
    """Return a curve as one line of text, at most `width` characters wide.

    >>> tensorgrad.show.sparkline([8, 7, 6, 5, 4, 3, 2, 1])
    '█▇▆▅▄▃▂▁'
    """
    if width < 1:
        raise ValueError(f"a sparkline is at least one character wide, got width={width}")
    values = [number(value) for value in values]
    if len(values) > width:
        values = [_mean([value for value in part if math.isfinite(value)]) for part in _split(values, width)]
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return " " * len(values)
    low, high = min(finite), max(finite)
    scale = 7 / (high - low) if high > low else 0.0
    return "".join("▁▂▃▄▅▆▇█"[round((value - low) * scale)] if math.isfinite(value) else " " for value in values)


class _Axes:
    """From values to places on the page, and where the ticks go."""

    def __init__(self, series, log):
        self.log = log
        xs = [x for points in series.values() for x, _ in points]
        ys = [y for points in series.values() for _, y in points if self.holds(y)]
        self.low_x, self.high_x = (min(xs), max(xs)) if xs else (0.0, 1.0)
        if self.low_x == self.high_x:
            self.low_x, self.high_x = self.low_x - 0.5, self.high_x + 0.5
        low, high = (min(ys), max(ys)) if ys else (0.0, 1.0)
        if log:
            self.y_ticks = _decades(low, high)
            low, high = math.log10(low), math.log10(high)
            margin = (high - low) * 0.04 or 0.5
            self.low_y, self.high_y = low - margin, high + margin
            self.y_ticks = [(y, text) for y, text in self.y_ticks if self.low_y <= math.log10(y) <= self.high_y]
            if len(self.y_ticks) < 2:  # within one decade: round steps serve better
                self.y_ticks = _labelled(_ticks(10**self.low_y, 10**self.high_y, 6, inside=True))
        else:
            if 0 <= low < high / 2:
                low = 0.0  # a loss is read against zero unless that would flatten it
            if high - low <= 1e-9 * abs(high):
                low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
            ticks = _ticks(low, high, 6)
            self.low_y, self.high_y = min(low, ticks[0]), max(high + (high - low) * 0.03, ticks[-1])
            self.y_ticks = _labelled(ticks)
        self.x_ticks = _labelled(_ticks(self.low_x, self.high_x, 8, inside=True))

    def holds(self, y):
        """True when this value has a place on the vertical axis."""
        return math.isfinite(y) and (y > 0 or not self.log)

    def across(self, x):
        return _LEFT + (x - self.low_x) / (self.high_x - self.low_x) * (_WIDTH - _LEFT - _RIGHT)

    def down(self, y):
        y = math.log10(y) if self.log else y
        return _HEIGHT - _BOTTOM - (y - self.low_y) / (self.high_y - self.low_y) * (_HEIGHT - _TOP - _BOTTOM)

    def drawn(self, points, style):
        """Yield the pieces of one curve: a new piece begins after each gap, and a lone point becomes a dot."""
        piece = []
        for x, y in [*points, (0.0, math.nan)]:
            if self.holds(y):
                piece.append(f"{self.across(x):.1f},{self.down(y):.1f}")
                continue
            if len(piece) > 1:
                yield f'<polyline class="curve {style}" points="{" ".join(piece)}"/>'
            elif piece:
                at_x, at_y = piece[0].split(",")
                yield f'<circle class="dot {style}" cx="{at_x}" cy="{at_y}" r="3"/>'
            piece = []


def _points(name, values):
    """A series as a list of pairs of floats, in the order of x."""
    points = []
    for index, value in enumerate(values):
        pair = value if isinstance(value, tuple | list) else (index, value)
        try:
            x, y = pair
            x, y = number(x), number(y)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(
                f"curve {name!r}: point {index} must be a number or a pair (x, y) of numbers, got {value!r}"
            ) from None
        if not math.isfinite(x):
            raise ValueError(f"curve {name!r}: point {index} has x={x}, which has no place on the axis")
        points.append((x, y))
    return sorted(points, key=lambda point: point[0])


def _thinned(points):
    """At most about _MOST_POINTS points: of each bucket its lowest and highest, so that no spike is lost."""
    if len(points) <= _MOST_POINTS:
        return points
    kept = [points[0]]
    for part in _split(points, _MOST_POINTS // 2):
        finite = [point for point in part if math.isfinite(point[1])]
        if len(finite) < len(part):
            kept.append(next(point for point in part if not math.isfinite(point[1])))  # the gap stays visible
        if finite:
            kept.extend({min(finite, key=lambda point: point[1]), max(finite, key=lambda point: point[1])})
    kept.append(points[-1])
    return sorted(set(kept), key=lambda point: point[0])


def _means(points):
    """A long series as the means of neighbouring points; a gap in it stays a gap."""
    return [(_mean([x for x, _ in part]), _mean([y for _, y in part])) for part in _split(points, _MEANS)]


def _split(items, count):
    """Neighbouring items in `count` parts of the same size, give or take one."""
    edges = [index * len(items) // count for index in range(count + 1)]
    return [items[start:end] for start, end in itertools.pairwise(edges)]


def _mean(values):
    return sum(values) / len(values) if values else math.nan


def _ticks(low, high, most, inside=False):
    """Round numbers (1, 2 or 5 times a power of ten) that span low..high, or lie inside it."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9) if inside else math.floor(low / step + 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _decades(low, high):
    """Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them when there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first <= 3 else (1,)
    stride = max(1, (last - first) // 8)
    values = [factor * 10.0**power for power in range(first, last + 1, stride) for factor in factors]
    return [(value, _short_text(value)) for value in values]


def _labelled(ticks):
    """Ticks with labels that share one number of decimals."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest >= 1e7 or (largest and step < 1e-4):
        return [(tick, _short_text(tick)) for tick in ticks]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(tick, f"{tick + 0.0:,.{decimals}f}") for tick in ticks]


def _short(value):
    return float(f"{value:.6g}")


def _short_text(value):
    return f"{value:g}"


_STYLE = """
svg { display: block; width: 100%; height: auto; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 0 0 10px; color: var(--faint); }
.key i { display: inline-block; width: 18px; height: 3px; border-radius: 2px; vertical-align: 4px; margin-right: 7px; }
.key b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--faint); }
.cursor { stroke: var(--faint); stroke-dasharray: 3 3; }
.tick { fill: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }
.name { fill: var(--ink); font-size: 13px; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.faint { opacity: 0.3; stroke-width: 1; }
""" + "".join(
    f".curve.c{i} {{ stroke: var(--c{i}); }} "
    f".dot.c{i} {{ fill: var(--c{i}); }} .key .c{i} {{ background: var(--c{i}); }}\n"
    for i in range(_MOST_SERIES)
)

_SCRIPT = """
const svg = document.querySelector("svg"), cursor = svg.querySelector(".cursor"), at = document.querySelector(".at");
const values = document.querySelectorAll("b[data-series]");
const plain = (v) => v === 0 || Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6;
const number = (v) => plain(v) ? String(+v.toPrecision(4)) : v.toExponential(2);
const nearest = (points, px) => points.reduce((a, b) => Math.abs(b[2] - px) < Math.abs(a[2] - px) ? b : a);
function read(event) {
  const box = svg.getBoundingClientRect(), px = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
  const all = data.points.filter((points) => points.length);
  if (!all.length) return;
  const here = nearest(all.map((points) => nearest(points, px)), px);
  cursor.setAttribute("x1", here[2]); cursor.setAttribute("x2", here[2]); cursor.setAttribute("visibility", "visible");
  at.textContent = data.x + " " + here[0].toLocaleString();
  values.forEach((cell, i) => {
    cell.textContent = data.points[i].length ? number(nearest(data.points[i], here[2])[1]) : "";
  });
}
function leave() {
  cursor.setAttribute("visibility", "hidden"); at.textContent = "at the end";
  values.forEach((cell, i) => {
    const points = data.points[i]; cell.textContent = points.length ? number(points[points.length - 1][1]) : "";
  });
}
svg.addEventListener("pointermove", read); svg.addEventListener("pointerdown", read);
svg.addEventListener("pointerleave", leave); leave();
"""
