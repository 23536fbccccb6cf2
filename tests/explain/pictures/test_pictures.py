"""Pictures of graphs: what they show, and that nothing in them overlaps."""

from __future__ import annotations

import itertools
import re
import struct
import sys
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from tests.counted_calls import assert_linear
from tests.explain.textbook import neuron, running

import wengert as wg
from wengert.explain.explanation import explain
from wengert.explain.pictures import png
from wengert.explain.pictures.grouping import LARGE, find_groups
from wengert.explain.pictures.layers import assign_layers, count_crossings, keep_apart, place_boxes, topological_ranks
from wengert.explain.pictures.layout import MOST, Drawing, lay_out_drawing
from wengert.explain.pictures.svg import DARK, LIGHT, SANS

SVG = "{http://www.w3.org/2000/svg}"


def wandering(seed, count):
    """A function of three inputs with `count` random operations, near and far."""

    def f(*given):
        rng = np.random.default_rng(seed)
        known = list(given)
        for i in range(count):
            near, far = known[rng.integers(max(0, len(known) - 6), len(known))], known[rng.integers(len(known))]
            known.append(
                [near * far, near + 0.5, np.tanh(far), near - far, near * near][int(rng.integers(5)) if i else 0]
            )
        return known[-1] + sum(known[-4:])

    return f


def alternating(n):
    def f(x, y):
        for _ in range(n):
            u = np.sin(x) * y
            x = u + 0.1
        return x

    return f


@pytest.fixture(params=["igraph", "plain"])
def library(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "igraph", None)
    else:
        pytest.importorskip("igraph")


def along(edge, steps=8):
    """Points on an edge: its straight parts, and its bends, which are cubic curves."""
    for (x, y), (p, q) in itertools.pairwise(edge.points):
        for t in np.linspace(0.0, 1.0, steps):
            bend, run = t * t * (3 - 2 * t), 1.5 * t * (1 - t) ** 2 + 1.5 * t * t * (1 - t) + t**3
            yield (
                (x + (p - x) * run, y + (q - y) * bend)
                if edge.direction == "right"
                else (x + (p - x) * bend, y + (q - y) * run)
            )


def check_geometry(drawing: Drawing) -> None:
    nodes = {node.id: node for node in drawing.nodes}
    assert len(nodes) == len(drawing.nodes)
    for node in drawing.nodes:
        assert node.x >= 0
        assert node.y >= 0
        assert node.x + node.width <= drawing.width
        assert node.y + node.height <= drawing.height
    for a, b in itertools.combinations(drawing.nodes, 2):
        assert a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y, (a, b)
    for edge in drawing.edges:
        for (x, y), node in zip(
            (edge.points[0], edge.points[-1]), (nodes[edge.source], nodes[edge.target]), strict=True
        ):
            dx = min(abs(x - node.x), abs(x - node.x - node.width))
            dy = min(abs(y - node.y), abs(y - node.y - node.height))
            assert min(dx, dy) <= (5.0 if node.kind == "operator" else 0.2), (
                "an edge begins and ends at the border of its box"
            )
            assert node.x - 0.2 <= x <= node.x + node.width + 0.2
            assert node.y - 0.2 <= y <= node.y + node.height + 0.2
        for x, y in along(edge):
            assert 0 <= x <= drawing.width
            assert 0 <= y <= drawing.height
            for node in drawing.nodes:
                if node.id not in (edge.source, edge.target):
                    inside = node.x + 1 < x < node.x + node.width - 1 and node.y + 1 < y < node.y + node.height - 1
                    assert not inside, f"{edge} runs through {node}"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("direction", ["right", "down"])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_overlaps(seed, direction):
    count = 3 + seed * 3
    explanation = explain(wandering(seed, count), 0.3, 0.5, -0.2, mode=["reverse", "forward", "both"][seed % 3])
    check_geometry(lay_out_drawing(explanation, False, edges=seed % 2 == 0, direction=direction))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("groups", ["line", "function", True])
def test_nothing_overlaps_in_groups(groups):
    check_geometry(lay_out_drawing(explain(alternating(20), 0.5, 0.4), groups))
    check_geometry(lay_out_drawing(explain(neuron, 1.0, 2.0, 3.0, -1.0, -2.0), groups))


def test_every_use_of_a_value_is_an_edge():
    explanation = explain(wandering(3, 30), 0.3, 0.5, -0.2)
    drawing = lay_out_drawing(explanation, False)
    uses = {(edge.step, edge.operand) for edge in drawing.edges if edge.step is not None}
    assert uses == {
        (i, j) for i, step in enumerate(explanation.steps) if step.operation for j in range(len(step.node.args))
    }
    assert {node.step for node in drawing.nodes if node.kind == "operator"} == {
        i for i, s in enumerate(explanation.steps) if s.operation
    }


def test_running_example():
    drawing = lay_out_drawing(explain(running, 2.0, 5.0, mode="both"), edges=True)
    texts = [node.title for node in drawing.nodes if node.kind != "operator"]
    assert ["v₋₁ = x1 = 2", "v\u0307₋₁ = 1", "v\u0304₋₁ = 5.5"] in texts
    assert ["v₀ = x2 = 5", "v\u0307₀ = 0", "v\u0304₀ = 1.716"] in texts
    assert ["v₅ = 11.652", "v\u0307₅ = 5.5", "v\u0304₅ = 1"] in texts
    assert sorted(node.title[0] for node in drawing.nodes if node.kind == "operator") == sorted(
        ["ln", "×", "sin", "+", "−"]
    )
    labels = {
        (drawing_title(drawing, edge.source), drawing_title(drawing, edge.target)): edge.label
        for edge in drawing.edges
        if edge.label
    }
    assert labels["v₋₁ = x1 = 2", "ln"] == "0.5"
    assert labels["v₋₁ = x1 = 2", "×"] == "5"
    assert labels["v₀ = x2 = 5", "×"] == "2"
    assert labels["v₀ = x2 = 5", "sin"] == "0.284"
    assert labels["v₃ = -0.959", "−"] == "-1"
    assert [node.title[0] for node in drawing.nodes if node.is_result] == ["v₅ = 11.652"]


def drawing_title(drawing, name):
    return next(node.title[0] for node in drawing.nodes if node.id == name)


def test_users_names():
    drawing = lay_out_drawing(explain(neuron, 1.0, 2.0, 3.0, -1.0, -2.0))
    shown = {text for node in drawing.nodes for text in node.title}
    assert {"s0 = -1", "s1 = -4", "s2 = -5", "s3 = -2", "grad_L = 1", "grad_s3 = 0.105", "grad_x1 = 0.210"} <= shown


def test_data_without_gradient():
    weights = np.array([1.0, 2.0])

    def f(x, n):
        positive = x > 0.0
        return np.where(positive, x, 0.1 * x) @ weights * n

    drawing = lay_out_drawing(explain(f, np.array([1.0, -2.0]), 3))
    kinds = {node.title[0]: node.kind for node in drawing.nodes}
    assert kinds["positive = [True, False]"] == "data"
    assert kinds["n = 3"] == "data"
    assert kinds["weights = [1, 2]"] == "data"
    assert kinds["x = [1, -2]"] == "leaf"
    assert [node.kind for node in drawing.nodes if node.is_result] == ["value"]


def test_several_results_of_one_operation():
    def f(x):
        first, second = np.split(x, 2)
        return (first * second).sum()

    drawing = lay_out_drawing(explain(f, np.arange(4.0)), edges=True)
    operator = next(node for node in drawing.nodes if node.title[0] == "split")
    parts = [edge.target for edge in drawing.edges if edge.source == operator.id]
    assert [node.title[0] for node in drawing.nodes if node.id in parts] == ["v₂ = [0, 1]", "v₃ = [2, 3]"]
    assert not [node for node in drawing.nodes if node.kind != "operator" and node.step == operator.step]
    check_geometry(drawing)


def test_operations_with_rules_of_their_own():
    @wg.custom_vjp
    def cube(x):
        return x * x * x

    cube.defvjp(lambda x: (x * x * x, x), lambda x, t: (3.0 * x * x * t,))
    drawing = lay_out_drawing(explain(lambda x: cube(x) * x, 2.0), edges=True)
    assert "cube" in [node.title[0] for node in drawing.nodes if node.kind == "operator"]
    assert sorted([edge.label for edge in drawing.edges if edge.label]) == ["2", "8"]
    check_geometry(drawing)


def test_results_that_are_given():
    drawing = lay_out_drawing(explain(lambda x, y: (x, 2.0, x * x), 3.0, 4.0))
    assert sorted(node.kind for node in drawing.nodes if node.is_result) == ["data", "leaf", "value"]
    check_geometry(drawing)


def test_a_loop_over_two_lines_goes_round():
    explanation = explain(alternating(60), 0.5, 0.4)
    groups = find_groups(explanation, "line")
    assert [(group.rounds, len(group.steps)) for group in groups] == [(60, 120), (60, 60)]
    drawing = lay_out_drawing(explanation, "line")
    assert [edge.backward for edge in drawing.edges if edge.source != edge.target].count(True) == 1
    box = next(node for node in drawing.nodes if node.group == groups[0].id)
    assert f"line {groups[0].line}" in box.title[0]
    assert box.title[1] == "u = np.sin(x) * y"
    assert "120 operations" in box.title[2]


def test_a_loop_is_one_box_with_its_states():
    explanation = explain(alternating(60), 0.5, 0.4)
    (group,) = find_groups(explanation)
    assert group.kind == "loop"
    assert (group.rounds, len(group.steps)) == (60, 180)
    assert find_groups(explanation, "loop") == [group]
    box = next(node for node in lay_out_drawing(explanation).nodes if node.group == group.id)
    assert box.title[0].startswith("loop, line ")
    assert "60 steps of 3 operations" in box.title
    assert any(text.startswith("x: 0.5 → ") for text in box.title)
    assert any(text.startswith("grad_x: ") and " ← 1" in text for text in box.title)
    opened = lay_out_drawing(explanation, expanded=[group.id])
    assert {node.step for node in opened.nodes if node.kind == "operator"} == set(group.steps)


def test_a_scan_is_a_loop_in_the_picture():
    def f(x, w):
        h, ys = wg.scan(lambda h, u: (wg.tanh(w * h + u), h * h), x, np.linspace(0.0, 1.0, 50))
        return h + ys.sum()

    (group,) = [group for group in find_groups(explain(f, 0.5, 0.8)) if group.kind == "loop"]
    assert (group.rounds, len(group.steps)) == (50, 200)


def test_irregular_loops_are_grouped_by_line():
    explanation = explain(wandering(1, 200), 0.3, 0.5, -0.2)
    assert {group.kind for group in find_groups(explanation)} == {"line"}


def test_groups_share_out_the_operations():
    explanation = explain(wandering(1, 200), 0.3, 0.5, -0.2)
    for groups in (None, True, "line", "function"):
        steps = [i for group in find_groups(explanation, groups) for i in group.steps]
        assert sorted(steps) == [i for i, step in enumerate(explanation.steps) if step.operation]
    assert find_groups(explanation, False) == []
    assert find_groups(explain(running, 2.0, 5.0)) == []


def test_groups_open():
    explanation = explain(alternating(60), 0.5, 0.4)
    first, second = find_groups(explanation, "line")
    drawing = lay_out_drawing(explanation, "line", expanded=[second.id])
    assert [group.id for group in drawing.groups] == [first.id]
    assert {node.step for node in drawing.nodes if node.kind == "operator"} == set(second.steps)
    inside = lay_out_drawing(explanation, only=first.steps[:4])
    assert {node.step for node in inside.nodes if node.kind == "operator"} == set(first.steps[:4])
    check_geometry(inside)


def test_many_inputs_are_one_box():
    explanation = explain(lambda xs: sum(xs), [float(i) for i in range(200)])
    drawing = lay_out_drawing(explanation)
    assert next(node.title[0] for node in drawing.nodes if node.kind == "leaf") == "200 inputs"
    assert len(drawing.nodes) < LARGE


def program(lines):
    """A function with a line for each of its operations."""
    body = "\n".join([f"    x = x * y if {i} % 2 else x + y" for i in range(lines)])
    known: dict = {}
    exec(compile(f"def f(x, y):\n{body}\n    return x", "<generated>", "exec"), known)
    return known["f"]


def test_large_graphs():
    explanation = explain(alternating(3334), 0.5, 0.4)
    assert len(explanation.steps) > 10_000
    assert "<svg" in explanation.svg()
    assert "digraph" in explanation.dot()
    by_line = explain(program(300), 0.5, 0.4)
    assert [group.kind for group in find_groups(by_line)] == ["function"]
    assert_linear(lambda steps: explain(alternating(steps), 0.5, 0.4).dot(), 100)
    assert_linear(lambda steps: explain(wandering(5, steps), 0.3, 0.5, -0.2).svg(groups=False, edges=True), 40)


def test_too_large_to_draw_one_by_one():
    explanation = explain(alternating(MOST), 0.5, 0.4)
    with pytest.raises(ValueError, match=r"too many to draw one by one.*test_pictures\.py.*groups=None"):
        explanation.svg(groups=False)


def test_svg_is_well_formed_and_has_a_legend():
    picture = explain(lambda x: np.where(x < 1.0, x, 2.0) * x, 0.5).svg(edges=True)
    root = ElementTree.fromstring(picture)
    classes = [element.get("class", "").split() for element in root.iter(f"{SVG}g")]
    for kind in ("leaf", "data", "value", "operator"):
        assert ["node", kind] in [c[:2] for c in classes]
    legend = next(group for group in root.iter(f"{SVG}g") if group.get("class") == "legend")
    words = [text.text for text in legend.iter(f"{SVG}text")]
    assert {
        "leaf (input)",
        "data without gradient",
        "intermediate value",
        "operator",
        "adjoint",
        "local derivative",
    } <= set(words)
    texts = list(root.iter(f"{SVG}text"))
    assert all(0 <= float(t.get("x")) <= float(root.get("width")) for t in texts)
    assert all(0 <= float(t.get("y")) <= float(root.get("height")) for t in texts)
    assert "@media (prefers-color-scheme: dark)" in root.find(f"{SVG}style").text


def test_svg_writes_a_file(tmp_path):
    explanation = explain(running, 2.0, 5.0)
    picture = explanation.svg(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == picture
    assert "local derivative" not in picture


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_read(theme):
    """Text by 4.5 to 1 and borders by 3 to 1: the thresholds of WCAG 2.2, AA."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    for kind in ("data", "leaf", "value", "operator", "group"):
        inside, border = getattr(theme, kind)
        for ink in (theme.ink, theme.adjoint, theme.tangent, *([theme.muted] if kind == "group" else [])):
            assert contrast(ink, inside) >= 4.5, (kind, ink)
        assert contrast(border, theme.ground) >= 3.0, kind
    for ink in (theme.ink, theme.adjoint, theme.tangent, theme.local):
        assert contrast(ink, theme.ground) >= 4.5
    assert contrast(theme.line, theme.ground) >= 3.0


def test_dot():
    text = explain(running, 2.0, 5.0).dot(edges=True)
    declared = set(re.findall(r"^  (\w+) \[label", text, re.M))
    arrows = re.findall(r"^  (\w+) -> (\w+)", text, re.M)
    assert len(declared) == 12
    assert len(arrows) == 13
    assert {end for arrow in arrows for end in arrow} == declared
    assert 'label="0.284"' in text
    assert 'label="v₋₁ = x1 = 2\\nv\u0304₋₁ = 5.5"' in text
    assert text.count("{") == text.count("}")


def test_dot_quotes():
    def f(params):
        return params['a"b'] * params["c\\d"]

    text = explain(f, {'a"b': 2.0, "c\\d": 3.0}).dot()
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', text)
    assert any('a\\"b' in s for s in strings)
    assert '"' not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)


def has_font() -> bool:
    """Whether anything that pictures are written in is on this machine, asked without the code under test."""
    resvg = pytest.importorskip("resvg_py")
    draw = lambda text: resvg.svg_to_bytes(
        svg_string=f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{text}</svg>'
    )
    families = [name.strip(" '") for name in SANS.split(",")]
    return find_spec("matplotlib") is not None or any(
        draw(f'<text y="9" font-family="{name}">M</text>') != draw("") for name in families
    )


def test_png(tmp_path):
    if not has_font():
        pytest.skip("no font on this machine")
    explanation = explain(running, 2.0, 5.0)
    root = ElementTree.fromstring(explanation.svg())
    for scale in (1.0, 2.0):
        explanation.png(tmp_path / "graph.png", scale=scale)
        data = (tmp_path / "graph.png").read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24]) == (
            float(root.get("width")) * scale,
            float(root.get("height")) * scale,
        )
    with pytest.raises(ValueError, match="above 0"):
        explanation.png(tmp_path / "graph.png", scale=0.0)


@pytest.mark.parametrize("has_matplotlib", [False, True])
def test_png_without_the_fonts_of_the_system(tmp_path, monkeypatch, has_matplotlib):
    resvg = pytest.importorskip("resvg_py")
    draw = resvg.svg_to_bytes
    monkeypatch.setattr(resvg, "svg_to_bytes", lambda **options: draw(skip_system_fonts=True, **options))
    if has_matplotlib:
        pytest.importorskip("matplotlib")
    else:
        monkeypatch.setattr(png, "find_spec", lambda name: None)
    png.font_folders.cache_clear()
    explanation = explain(running, 2.0, 5.0)
    try:
        if has_matplotlib:
            explanation.png(tmp_path / "graph.png")
            assert (tmp_path / "graph.png").stat().st_size > len(
                bytes(draw(svg_string=explanation.svg(), skip_system_fonts=True, zoom=2))
            )
        else:
            with pytest.raises(RuntimeError, match="A PNG needs a font"):
                explanation.png(tmp_path / "graph.png")
            assert not (tmp_path / "graph.png").exists()
    finally:
        png.font_folders.cache_clear()


def test_png_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install wengert\[viz\]"):
        explain(running, 2.0, 5.0).png(tmp_path / "graph.png")
    assert not (tmp_path / "graph.png").exists()


@pytest.mark.parametrize("seed", range(20))
def test_crossings_by_counting_pairs(seed):
    rng = np.random.default_rng(seed)
    upper, lower = list(range(5)), list(range(5, 11))
    rng.shuffle(lower)
    edges = [(a, b) for a in upper for b in lower if rng.random() < 0.4]
    below: dict[int, list[int]] = {}
    for a, b in edges:
        below.setdefault(a, []).append(b)
    pairs = itertools.combinations([(upper.index(a), lower.index(b)) for a, b in edges], 2)
    assert count_crossings([upper, lower], below) == sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)


@pytest.mark.parametrize("seed", range(20))
def test_places_are_the_nearest_in_least_squares(seed):
    rng = np.random.default_rng(seed)
    goals, weights = rng.normal(scale=3.0, size=9), rng.uniform(0.1, 2.0, size=9)
    offsets = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 2.0, size=8))])
    expected = isotonic_regression(goals - offsets, weights=weights).x + offsets
    np.testing.assert_allclose(keep_apart(goals, weights, offsets), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_layers_follow_the_edges(seed):
    rng = np.random.default_rng(seed)
    edges = [(int(a), int(b)) for a, b in rng.integers(12, size=(20, 2)) if a < b]
    rank = topological_ranks(12, edges)
    assert sorted(rank) == list(range(12))
    layer = assign_layers(12, edges, rank, [False] * 12)
    assert all(rank[a] < rank[b] and layer[a] < layer[b] for a, b in edges)


def test_cycles_are_opened_at_one_edge():
    found = place_boxes([10.0] * 3, [(0, 1), (1, 2), (2, 0)], [False] * 3, 5.0)
    assert found.backward == [False, False, True]
    assert found.layer == [0, 1, 2]
