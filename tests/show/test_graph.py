"""Drawings of graphs: every node once, every edge, nothing on top of anything else."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from subject import spoken, torch

from tensorgrad.show import graph
from tensorgrad.show.graph import tensor_names
from tensorgrad.show.layout import Layout


def test_text_reads_from_the_result_down():
    w, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = torch.relu(w * 2 + b).sum()
    assert str(graph(y, {"w": w, "b": b, "y": y})).splitlines() == [
        "y  () float32",
        "● SumBackward0",
        "● ReluBackward0",
        "● AddBackward0",
        "├─■ b  (3,) float32",
        "● MulBackward0",
        "■ w  (3,) float32",
    ]


def test_text_shows_a_shared_node_once_and_refers_to_it():
    x = torch.ones(3, requires_grad=True)
    shared = x.exp()
    lines = str(graph((shared * 2 + shared.sin()).sum())).splitlines()
    assert sum("ExpBackward0 #1" in line for line in lines) == 2
    assert sum("see above" in line for line in lines) == 1
    assert sum("■" in line for line in lines) == 1


def test_text_says_which_output_of_a_node_is_used():
    first, second = torch.ones(2, 3, requires_grad=True).unbind(0)
    text = str(graph((first - second).sum()))
    assert "UnbindBackward0 [0] #1" in text and "UnbindBackward0 [1] #1" in text


def test_text_of_a_long_chain_does_not_wander_to_the_right():
    a = torch.ones(2, requires_grad=True)
    y = a
    for _ in range(150):
        y = y * 0.5 + a
    assert max(map(len, str(graph(y)).splitlines())) < 40


def test_every_node_and_every_edge_is_drawn():
    w, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    drawing = ElementTree.fromstring(graph(((w * b).sin() + b).sum(), {"w": w, "b": b}).svg())
    boxes = [box for box in drawing.iter("g") if box.get("class").startswith("vertex")]
    names = sorted(box.find("text").text for box in boxes)
    assert names == sorted(["w", "b", "MulBackward0", "SinBackward0", "AddBackward0", "SumBackward0", "the result"])
    ends = [line for line in drawing.iter("path") if "head" in (line.get("class") or "")]
    assert len(ends) == 7  # w-mul, b-mul, mul-sin, sin-add, b-add, add-sum, sum-result


def test_boxes_do_not_overlap_and_stay_on_the_page():
    leaves = [torch.ones(2, requires_grad=True) for _ in range(6)]
    y = sum((leaf * (index + 1)).exp() for index, leaf in enumerate(leaves)) * leaves[0]
    drawing = ElementTree.fromstring(graph((y + y.sin() * leaves[3]).sum(), {"leaf": leaves}).svg())
    boxes = [[float(box.get(name)) for name in ("x", "y", "width", "height")] for box in drawing.iter("rect")]
    assert len(boxes) > 20
    for (x, y, width, height), (x2, y2, width2, height2) in combinations(boxes, 2):
        assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
    for x, y, width, height in boxes:
        assert 0 <= x and x + width <= float(drawing.get("width"))
        assert 0 <= y and y + height <= float(drawing.get("height"))


def test_inputs_stand_above_what_uses_them():
    inputs = [[], [], [0, 1], [2], [0, 3], [1, 4]]
    layout = Layout(inputs, [50] * 6)
    for vertex, sources in enumerate(inputs):
        assert all(layout.layer[source] < layout.layer[vertex] for source in sources)


def test_an_order_without_crossings_is_found():
    # two ladders, given interleaved: drawn side by side they need not cross
    inputs = [[], [], [], [], [0], [1], [2], [3], [4, 6], [5, 7]]
    layout = Layout(inputs, [40] * 10)
    lines = [(start, end) for start, end, _ in layout.segments]
    for (start, end), (start2, end2) in combinations(lines, 2):
        if layout.layer[start] == layout.layer[start2]:
            assert (layout.x[start] - layout.x[start2]) * (layout.x[end] - layout.x[end2]) >= -1e-9


def test_a_chain_is_drawn_as_a_straight_line():
    layout = Layout([[], [0], [1], [2], [3]], [80, 120, 60, 200, 30])
    assert max(layout.x) - min(layout.x) < 1e-6


def test_long_edges_of_one_vertex_share_their_way():
    count = 100
    layout = Layout([[], *[[vertex, 0] for vertex in range(count)]], [50] * (count + 1))
    assert len(layout.layer) < 2 * count + 2


def test_the_page_stands_alone_and_escapes_names():
    x = torch.ones(2, requires_grad=True)
    page = graph(x.sum(), {"<b>x</b>": x}, title="</script>").html()
    assert "<b>x" not in page and page.count("</script>") == 1
    assert not re.findall(r"(?:src|href)=", page) and "http" not in page
    assert "prefers-color-scheme" in page


def test_names_are_found_in_lists_dicts_and_modules():
    class Model:
        weight = torch.ones(1)

        def named_parameters(self):
            return [("weight", self.weight)]

    a, b, c = torch.ones(1), torch.ones(1), torch.ones(1)
    names = tensor_names({"n": 3, "layers": [a, "text"], "table": {"b": b}, "c": c, "model": Model(), "Model": Model})
    assert names == {id(a): "layers[0]", id(b): "table['b']", id(c): "c", id(Model.weight): "model.weight"}


def test_a_custom_function_appears_under_its_name():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.variable = x  # a name the drawing also looks for, on another kind of node
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    text = str(graph(Twice.apply(torch.ones(2, requires_grad=True))))
    assert "● TwiceBackward" in text and text.count("■") == 1


def test_the_graph_can_be_drawn_after_backward_freed_what_was_saved():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    assert "MulBackward0" in str(graph(y))


def test_a_leaf_alone_is_a_graph_of_one_box():
    x = torch.ones(2, requires_grad=True)
    assert str(graph(x, {"x": x})) == "■ x  (2,) float32"
    assert graph(x).svg().count("<rect") == 1


def test_a_leaf_that_the_program_dropped_is_drawn_all_the_same():
    y = torch.ones(2, requires_grad=True).sum()
    assert str(graph(y)).splitlines()[-1].startswith("■ leaf")


def test_a_tensor_without_a_graph_is_refused_with_a_reason():
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        graph(torch.ones(2))


def test_a_graph_nobody_could_read_is_refused():
    y = torch.ones(2, requires_grad=True)
    for _ in range(5000):
        y = y + 1
    with pytest.raises(ValueError, match="more than 400 nodes"):
        graph(y)
    assert graph(y, limit=6000).summary() == "5000 operations, 1 leaf"


def test_a_few_hundred_nodes_are_drawn():
    x = torch.ones(2, requires_grad=True)
    rows = [x * index for index in range(60)]
    while len(rows) > 1:
        rows = [(a + b).sin() for a, b in zip(rows[::2], rows[1::2])] + rows[len(rows) // 2 * 2 :]
    drawing = graph(rows[0].sum())
    assert len(drawing.vertices) > 150
    assert spoken(drawing.svg()).count("<rect") == len(drawing.vertices)
