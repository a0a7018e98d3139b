"""Where the boxes of a layered drawing go. It knows numbers and widths only, nothing of tensors.

Four steps, each a function: layers by longest path, stops for edges that pass through layers, an order within each
layer with few crossings (barycentres), and horizontal places close to a box's neighbours (least squares per layer).
"""

import itertools
from bisect import bisect_right, insort

_GAP = 22  # between neighbours in a layer
_SWEEPS = 24  # for the order
_PULLS = 60  # for the places


class Layout:
    """Places of boxes: `x` of the middle and `layer`, counted from the top, of every vertex.

    `inputs` lists for each vertex those it needs, which stand before it; `widths` are those of the boxes. Beyond the
    given vertices lie the stops of long edges: all edges that leave one vertex share its stops, so that a much used
    vertex draws one line with branches. `segments` holds each piece of line once: (from, to, source vertex).
    """

    def __init__(self, inputs, widths):
        self.layer = _layers(inputs)
        self.segments = self._stops(inputs)
        count = len(self.layer)
        widths = [*widths, *[6] * (count - len(widths))]
        self._above, self._below = [[] for _ in range(count)], [[] for _ in range(count)]
        for start, end, _ in self.segments:
            self._above[end].append(start)
            self._below[start].append(end)
        rows = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for vertex in range(count):
            rows[self.layer[vertex]].append(vertex)
        self.rows = self._ordered(rows)
        self.x = self._placed(widths, len(inputs))

    def _stops(self, inputs):
        """Add the stops to `layer` and return the pieces of line."""
        users = [[] for _ in inputs]
        for vertex, sources in enumerate(inputs):
            for source in dict.fromkeys(sources):
                users[source].append(vertex)
        segments = []
        for source, used_by in enumerate(users):
            here, at = source, self.layer[source]
            for vertex in sorted(used_by, key=self.layer.__getitem__):
                while at < self.layer[vertex] - 1:
                    at += 1
                    self.layer.append(at)
                    segments.append((here, len(self.layer) - 1, source))
                    here = len(self.layer) - 1
                segments.append((here, vertex, source))
        return segments

    def _ordered(self, rows):
        """Sweep down and up, sorting each layer by the mean place of its neighbours; keep the best order seen."""
        best, fewest = [list(row) for row in rows], None
        place = [0.0] * len(self.layer)
        for row in rows:
            for index, vertex in enumerate(row):
                place[vertex] = index
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            for row in rows if down else reversed(rows):
                means = {v: _mean([place[other] for other in neighbours[v]], place[v]) for v in row}
                row.sort(key=means.__getitem__)
                for index, vertex in enumerate(row):
                    place[vertex] = index
            crossings = sum(self._crossings(row, place) for row in rows)
            if fewest is None or crossings < fewest:
                best, fewest = [list(row) for row in rows], crossings
            if crossings == 0:
                break
        return best

    def _crossings(self, row, place):
        """Count the crossings between a layer and the one above it."""
        seen, crossings = [], 0
        for vertex in row:
            ends = [place[other] for other in self._above[vertex]]
            crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
        return crossings

    def _placed(self, widths, real):
        """Pull every vertex to the mean of its neighbours, layer by layer, keeping order and distance."""
        x = [0.0] * len(self.layer)
        for row in self.rows:
            at = 0.0
            for vertex in row:
                x[vertex] = at + widths[vertex] / 2
                at += widths[vertex] + _GAP
            for vertex in row:
                x[vertex] -= at / 2
        for sweep in range(_PULLS):
            sides = ((self._above,), (self._below,), (self._above, self._below))[sweep % 3]
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                wishes, weights = [], []
                for vertex in row:
                    pulls = [(x[other], self._pull(vertex, other, real)) for side in sides for other in side[vertex]]
                    weight = sum(pull for _, pull in pulls)
                    wishes.append(sum(place * pull for place, pull in pulls) / weight if pulls else x[vertex])
                    weights.append(weight or 0.01)
                spaces = [(widths[a] + widths[b]) / 2 + _GAP for a, b in itertools.pairwise(row)]
                for vertex, place in zip(row, _spread(wishes, weights, spaces)):
                    x[vertex] = place
        left = min((x[v] - widths[v] / 2 for v in range(len(x))), default=0.0)
        return [place - left for place in x]

    def _pull(self, one, other, real):
        """How strongly two neighbours are drawn together: long lines and main paths want to be straight."""
        upper, lower = (one, other) if self.layer[one] < self.layer[other] else (other, one)
        if upper >= real:
            return 8.0 if lower >= real else 0.1
        if self._above[upper] or lower >= real:
            return 1.0
        return (
            1.0 if all(not self._above[source] for source in self._above[lower]) else 0.1
        )  # a leaf beside a main path


def _layers(inputs):
    """Count the longest path to the end: every vertex stands as close above its first user as can be."""
    height = [0] * len(inputs)
    for vertex in reversed(range(len(inputs))):
        for source in inputs[vertex]:
            height[source] = max(height[source], height[vertex] + 1)
    top = max(height, default=0)
    return [top - one for one in height]


def _spread(wishes, weights, spaces):
    """The places nearest to the wishes (weighted least squares) in which neighbours keep their distances.

    Taking away the distances leaves the problem of a rising sequence; pooling neighbours that fall solves it exactly.
    """
    offsets = [0.0]
    for space in spaces:
        offsets.append(offsets[-1] + space)
    pools = []  # mean, weight, count
    for wish, weight, offset in zip(wishes, weights, offsets):
        pools.append((wish - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, weight, count = pools.pop()
            other_mean, other_weight, other_count = pools.pop()
            total = weight + other_weight
            pools.append(((mean * weight + other_mean * other_weight) / total, total, count + other_count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [place + offset for place, offset in zip(flat, offsets)]


def _mean(values, otherwise):
    return sum(values) / len(values) if values else otherwise
