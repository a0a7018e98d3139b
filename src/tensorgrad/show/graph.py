"""Draw the graph behind a tensor: as a page with an SVG, or as text for a terminal.

It walks what everybody may: `grad_fn`, `next_functions`, and the `variable` of the nodes where gradients accumulate.
Where the boxes go is decided in layout.py.
"""

import html
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .layout import Layout
from .page import Page, page

_ROW = 74  # from one layer to the next
_MARGIN = 14
_LETTER = 7.6  # width of a letter of 13 px, with a little to spare


@dataclass
class Vertex:
    """One box: an operation's node, a leaf that gathers its gradient, or the tensor the drawing is of."""

    kind: str  # "operation", "leaf" or "result"
    label: str
    detail: str = ""  # shape and dtype
    inputs: list = field(default_factory=list)  # (vertex, which of its outputs)

    @property
    def size(self):
        """Width and height of the box."""
        longest = max(len(self.label), 0.9 * len(self.detail))
        return longest * _LETTER + 30, 42 if self.detail else 28


class Graph(Page):
    """The graph behind one tensor. Made by `graph`, which says what the arguments mean; `print` shows it as text."""

    def __init__(self, tensor, names=None, *, title=None, limit=400):
        names = tensor_names(names or {})
        self.vertices = _walk(tensor, names, limit)
        result = self.vertices[-1].label
        self.title = f"The graph behind {result}" if title is None else title

    def summary(self):
        """Say in one line what there is: operations, leaves, numbers that gather a gradient.

        >>> x = torch.ones(3, requires_grad=True)
        >>> tensorgrad.show.graph((x * 2).sum()).summary()
        '2 operations, 1 leaf'
        """
        kinds = Counter(vertex.kind for vertex in self.vertices)
        operations, leaves = kinds["operation"], kinds["leaf"]
        return f"{operations} operation{'s' * (operations != 1)}, {leaves} lea{'f' if leaves == 1 else 'ves'}"

    def text(self):
        """Return the graph as text: from the result down, side branches first, the longest path last.

        >>> w, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        >>> print(tensorgrad.show.graph((w * 2 + b).sum(), {"w": w, "b": b}).text())
        the result  () float32
        ● SumBackward0
        ● AddBackward0
        ├─■ b  (3,) float32
        ● MulBackward0
        ■ w  (3,) float32
        """
        depth = _depths(self.vertices)
        uses = Counter(source for vertex in self.vertices for source, _ in vertex.inputs)
        several = _of_several(self.vertices)
        numbers, lines = {}, []
        waiting = [
            (len(self.vertices) - 1, None, "", "")
        ]  # vertex, output, what stands before it, what stands before the rest
        while waiting:
            index, output, before, indent = waiting.pop()
            vertex = self.vertices[index]
            words = [vertex.label]
            if vertex.detail:
                words.append(f" {vertex.detail}")
            if index in several and output is not None:
                words.append(f"[{output}]")
            met = index in numbers
            if uses[index] > 1 and vertex.kind == "operation":
                number = numbers.setdefault(index, len(numbers) + 1)
                words.append(f"#{number}" + (", see above" if met else ""))
            mark = {"operation": "○ " if met else "● ", "leaf": "■ ", "result": ""}[vertex.kind]
            lines.append(f"{before}{mark}{' '.join(words)}")
            if met:
                continue
            branches = sorted(vertex.inputs, key=lambda edge: depth[edge[0]])
            if branches:
                *sides, (last, last_output) = branches
                waiting.append((last, last_output, indent, indent))
                waiting.extend((side, out, f"{indent}├─", f"{indent}│ ") for side, out in reversed(sides))
        return "\n".join(lines)

    __str__ = text

    def svg(self):
        """Return the drawing alone, as an SVG element.

        >>> x = torch.ones(2, requires_grad=True)
        >>> tensorgrad.show.graph(x.sum()).svg()[:4]
        '<svg'
        """
        layout = Layout([[source for source, _ in v.inputs] for v in self.vertices], [v.size[0] for v in self.vertices])
        right = max(x + (v.size[0] / 2) for x, v in zip(layout.x, self.vertices))
        width, height = max(right, *layout.x) + 2 * _MARGIN, (max(layout.layer) + 1) * _ROW - _ROW + 42 + 2 * _MARGIN
        label = html.escape(f"{self.title}: {self.summary()}")
        parts = [
            f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
            f'role="img" aria-label="{label}">',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0.5L8 4L0 7.5z"/></marker></defs>',
        ]
        parts.extend(self._line(layout, *segment) for segment in layout.segments)
        parts.extend(self._box(layout, index) for index in range(len(self.vertices)))
        parts.append("</svg>")
        return "\n".join(parts)

    def html(self):
        """Return the whole page as text.

        >>> x = torch.ones(3, requires_grad=True)
        >>> "SumBackward0" in tensorgrad.show.graph(x.sum()).html()
        True
        """
        body = (
            f'<p class="legend">{self.summary()}. Read downwards, as it was computed; '
            "<code>backward()</code> walks upwards, "
            'from <span class="word result">the result</span> to the <span class="word leaf">leaves</span>, '
            f"where gradients gather.</p>\n<div class='scroll'>{self.svg()}</div>"
        )
        sources = [sorted({source for source, _ in vertex.inputs}) for vertex in self.vertices]
        return page(self.title, body, _STYLE, sources, _SCRIPT)

    def _line(self, layout, start, end, source):
        """One piece of line: from a box or a stop to the next row, and straight through the row when it is a stop."""
        real = len(self.vertices)
        x, y = _MARGIN + layout.x[start], self._middle(layout, start)
        to_x, to_y = _MARGIN + layout.x[end], self._middle(layout, end)
        y += self.vertices[start].size[1] / 2 if start < real else 21
        to_y -= self.vertices[end].size[1] / 2 if end < real else 21
        bend = (y + to_y) / 2
        path = f"M{x:.1f} {y:.1f}C{x:.1f} {bend:.1f} {to_x:.1f} {bend:.1f} {to_x:.1f} {to_y:.1f}"
        row = layout.layer[end]
        if end >= real:
            return f'<path class="line" data-from="{source}" data-row="{row}" d="{path}V{to_y + 42:.1f}"/>'
        outputs = sorted({output for other, output in self.vertices[end].inputs if other == source})
        note = ""
        if source in _of_several(self.vertices):
            note = f'<text class="output" x="{to_x + 7:.1f}" y="{to_y - 7:.1f}">{", ".join(map(str, outputs))}</text>'
        return f'<path class="line head" data-from="{source}" data-to="{end}" data-row="{row}" d="{path}"/>{note}'

    def _box(self, layout, index):
        vertex = self.vertices[index]
        width, height = vertex.size
        x, y = _MARGIN + layout.x[index], self._middle(layout, index)
        corner = 14 if vertex.kind == "operation" else 5
        parts = [
            f'<g class="vertex {vertex.kind}" data-row="{layout.layer[index]}">',
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" '
            f'width="{width:.1f}" height="{height}" rx="{corner}"/>',
            f'<text x="{x:.1f}" y="{y + (-3 if vertex.detail else 4.5):.1f}">{html.escape(vertex.label)}</text>',
        ]
        if vertex.detail:
            parts.append(f'<text class="detail" x="{x:.1f}" y="{y + 13:.1f}">{html.escape(vertex.detail)}</text>')
        return "".join(parts) + "</g>"

    @staticmethod
    def _middle(layout, index):
        return _MARGIN + 21 + layout.layer[index] * _ROW


def graph(tensor, names=None, *, title=None, limit=400):
    """Draw the graph behind a tensor: print it as text, or write a page with `.save("graph.html")`.

    `names` says what to call leaves and the result: a dict of names, as `globals()`; tensors in lists, dicts and
    modules are found there too. A graph of more than `limit` nodes is refused, since nobody could read it.

    >>> w = torch.ones(2, requires_grad=True)
    >>> loss = (w * w).sum()
    >>> print(tensorgrad.show.graph(loss, {"w": w, "loss": loss}))
    loss  () float32
    ● SumBackward0
    ● MulBackward0
    ├─■ w  (2,) float32
    ■ w  (2,) float32
    """
    return Graph(tensor, names, title=title, limit=limit)


def tensor_names(namespace):
    """Return the names of the tensors in a namespace as {id(tensor): name}, looking into lists, dicts and modules.

    >>> from tensorgrad.show.graph import tensor_names
    >>> w = [torch.ones(1), torch.ones(2)]
    >>> list(tensor_names({"w": w, "n": 3}).values())
    ['w[0]', 'w[1]']
    """
    from tensorgrad import Tensor

    names = {}
    for name, value in namespace.items():
        if isinstance(value, Tensor):
            found = [(name, value)]
        elif isinstance(value, list | tuple):
            found = [(f"{name}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, Mapping):
            found = [(f"{name}[{key!r}]", item) for key, item in value.items()]
        elif hasattr(value, "named_parameters") and not isinstance(value, type):
            found = [(f"{name}.{path}", item) for path, item in value.named_parameters()]
        else:
            continue
        for path, item in found:
            if isinstance(item, Tensor):
                names.setdefault(id(item), path)
    return names


def _walk(tensor, names, limit):
    """List the vertices of a graph, each after its inputs and the result last."""
    result = Vertex("result", names.get(id(tensor), "the result"), _described(tensor))
    start = tensor.grad_fn
    if start is None:
        if not tensor.requires_grad:
            raise RuntimeError(
                "this tensor does not require grad and does not have a grad_fn, so there is no graph to draw. "
                "Make a leaf with requires_grad=True and compute the tensor from it, outside no_grad()."
            )
        return [Vertex("leaf", result.label, result.detail)]
    numbers, vertices, found = {}, [], {start}
    waiting = [(start, False)]
    while waiting:
        node, inputs_done = waiting.pop()
        if node in numbers:
            continue
        edges = [(other, output) for other, output in node.next_functions if other is not None]
        if inputs_done:
            numbers[node] = len(vertices)
            vertices.append(_vertex(node, names, [(numbers[other], output) for other, output in edges]))
            continue
        waiting.append((node, True))
        waiting.extend((other, False) for other, _ in reversed(edges) if other not in numbers)
        found.update(other for other, _ in edges)
        if len(found) > limit:
            raise ValueError(
                f"the graph of {result.label} has more than {limit} nodes, too many to read as a picture. "
                "Draw a smaller program (one step, one layer, a short sequence) or pass a higher limit."
            )
    result.inputs = [(numbers[start], getattr(tensor, "output_nr", 0))]
    return [*vertices, result]


def _vertex(node, names, inputs):
    name = type(node).__name__
    if name.endswith("AccumulateGrad"):
        leaf = node.variable
        if leaf is None:  # the graph does not keep a leaf alive that the program dropped
            return Vertex("leaf", "leaf", "dropped by the program")
        return Vertex("leaf", names.get(id(leaf), "leaf"), _described(leaf))
    return Vertex("operation", name, inputs=inputs)


def _described(tensor):
    return f"{tuple(tensor.shape)} {str(tensor.dtype).rpartition('.')[2]}"


def _depths(vertices):
    depths = []
    for vertex in vertices:
        depths.append(1 + max((depths[source] for source, _ in vertex.inputs), default=0))
    return depths


def _of_several(vertices):
    """The vertices of which more than one output is used, or another than the first: there it matters which."""
    return {source for vertex in vertices for source, output in vertex.inputs if output > 0}


_STYLE = """
main { max-width: none; width: fit-content; min-width: min(600px, 90vw); }
.scroll { overflow-x: auto; }
svg { display: block; margin: 18px auto 0; }
.legend { color: var(--faint); margin: 0; max-width: 46rem; }
.word { color: var(--ink); border-bottom: 2px solid; }
.word.leaf { border-color: var(--c2); }
.word.result { border-color: var(--c0); }
.vertex rect { fill: var(--card); stroke: var(--faint); }
.vertex.leaf rect { stroke: var(--c2); stroke-width: 2; }
.vertex.result rect { stroke: var(--c0); stroke-width: 2; }
.vertex text { fill: var(--ink); font-size: 13px; text-anchor: middle; }
.vertex text.detail { fill: var(--faint); font-size: 11.5px; }
.output { fill: var(--faint); font-size: 11px; }
.line { fill: none; stroke: var(--faint); stroke-width: 1.2; }
.line.head { marker-end: url(#head); }
marker path { fill: var(--faint); }
svg.some .line, svg.some .vertex { opacity: 0.25; }
svg.some .line.on, svg.some .vertex.on { opacity: 1; }
svg.some .line.on { stroke: var(--ink); stroke-width: 1.8; }
"""

_SCRIPT = """
const svg = document.querySelector("svg"), boxes = [...svg.querySelectorAll(".vertex")];
const lines = [...svg.querySelectorAll(".line")];
boxes.forEach((box, at) => {
  box.addEventListener("pointerenter", () => {
    svg.classList.add("some");
    boxes.forEach((other, i) => other.classList.toggle("on", i === at || data[at].includes(i) || data[i].includes(at)));
    lines.forEach((line) => {
      const from = +line.dataset.from, to = line.dataset.to, row = +line.dataset.row;
      const passes = to === undefined && row < +box.dataset.row;  // a shared piece on the way here
      line.classList.toggle("on", from === at || data[at].includes(from) && (+to === at || passes));
    });
  });
  box.addEventListener("pointerleave", () => svg.classList.remove("some"));
});
"""
