"""The page of an explanation without a browser: that it holds together, says what was computed, and cannot be broken by
what it shows.
"""

import base64
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.counted_calls import assert_linear
from tests.explain.textbook import neuron, running

from wengert.explain.explanation import explain
from wengert.explain.page.document import embed_json
from wengert.explain.tables.numbers import format_value as shown

HOSTILE = "</script><script>alert(1)</script><!-- & \u2028"


class Parts(HTMLParser):
    """What a browser would make of a page: its elements, and the text of scripts, styles and title."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], {}
        self.open = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.open = f"data:{tag}" if dict(attrs).get("id") == "data" else tag

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] = self.texts.get(self.open, "") + data


def data_of(explanation):
    return read_data(explanation.html())


def read_data(page):
    """The data of a page, which is compressed if it is large."""
    text = Parts(page).texts["data:script"]
    return json.loads(text if text.startswith("{") else zlib.decompress(base64.b64decode(text)))


def many(x, steps=3334):
    y = x
    for _ in range(steps):
        y = 1.9 * y * (1 - y)
    return y


def layer(w, x):
    weights = np.arange(1.0, 4.0)
    h = np.tanh(w @ x) * weights
    return np.sum(h * h), h


def halves(x):
    first, second = np.split(x, 2)
    return np.sum(first * second) + first[0]


CASES = {
    "running": (running, (2.0, 5.0)),
    "neuron": (neuron, (1.0, 2.0, 3.0, -1.0, -2.0)),
    "square": (lambda x: x * x, (3.0,)),
    "layer": (layer, (np.eye(3), np.arange(3.0))),
    "parts": (halves, (np.arange(1.0, 5.0),)),
    "same": (lambda x: x, (3.0,)),
    "unused": (lambda x, y: x * 2, (3.0, 4.0)),
    "integer": (lambda x, n: x**n, (3.0, 2)),
    "result used again": (lambda x: (lambda y: (y, y * 3))(x * 2), (1.5,)),
}


def test_the_page_needs_nothing_else():
    text = explain(running, 2.0, 5.0).html()
    parts = Parts(text)
    assert text.startswith("<!doctype html>")
    assert parts.tags.count("script") == 2
    assert parts.tags.count("style") == 1
    assert not [
        a for a in parts.attributes if a[1] in ("src", "srcset", "action") or a[1] == "href" and a[2] != "data:,"
    ]
    assert set(re.findall(r"https?://[^\"')\s]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|fetch\(|XMLHttpRequest|import\(|url\((?!#)", text)
    assert "%%" not in text


def test_every_element_that_the_script_asks_for_is_there():
    text = explain(running, 2.0, 5.0).html()
    ids = {a[2] for a in Parts(text).attributes if a[1] == "id"}
    asked = set(re.findall(r'\$\("([\w-]+)"\)', text))
    assert asked
    assert asked <= ids


def test_it_is_saved(tmp_path):
    path = tmp_path / "out.html"
    text = explain(running, 2.0, 5.0).html(path)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["reverse", "forward", "both"])
def test_what_was_computed_is_told(name, mode):
    f, args = CASES[name]
    explanation = explain(f, *args, mode=mode)
    data = data_of(explanation)
    steps = [
        step
        for step in explanation.steps
        if step.title in data["steps"]["title"] or step.label in data["steps"]["title"]
    ]
    assert data["steps"]["value"] == [shown(step.value) for step in steps]
    assert len({len(column) for column in data["steps"].values()}) == 1
    assert len({len(column) for column in data["edges"].values()}) == 1
    assert len({len(column) for column in data["back"].values()}) == 1
    assert len(data["listing"]["span"]) == len(steps)
    assert ("tangent" in data["steps"]) == (mode != "reverse")
    if mode != "reverse":
        assert data["steps"]["tangent"] == [
            shown(explanation.tangents[s.node]) if s.node in explanation.tangents else "" for s in steps
        ]
    final = dict(zip(data["back"]["step"], data["back"]["total"], strict=True))
    adjoints = explanation.adjoints.values if mode != "forward" else {}
    assert final == {i: shown(adjoints[step.node]) for i, step in enumerate(steps) if step.node in adjoints}


@pytest.mark.parametrize("name", CASES)
def test_terms_come_after_the_adjoint_they_are_made_from(name):
    f, args = CASES[name]
    data = data_of(explain(f, *args))
    edges, back = data["edges"], data["back"]
    complete = {step: row for row, step in enumerate(back["step"])}
    for row, (step, edge) in enumerate(zip(back["step"], back["edge"], strict=True)):
        if edge >= 0:
            assert edges["from"][edge] == step
            assert complete[edges["to"][edge]] < row
    assert len(set(back["edge"]) - {-1}) == len([e for e in back["edge"] if e >= 0])


def test_the_running_example_term_by_term():
    data = data_of(explain(running, 2.0, 5.0))
    back = data["back"]
    titles = [data["steps"]["title"][i] for i in back["step"]]
    assert titles == ["v5", "v4", "v3", "v0", "v1", "v2", "v-1", "v0", "v-1"]
    assert back["value"] == ["1", "1", "-1", "-0.284", "1", "1", "5", "2", "0.5"]
    assert back["total"] == ["1", "1", "-1", "-0.284", "1", "1", "5", "1.716", "5.5"]
    assert back["formula"][3] == "v̄3 · cos v0"
    local = dict(zip(zip(data["edges"]["from"], data["edges"]["to"], strict=True), data["edges"]["local"], strict=True))
    assert local == {
        (0, 2): "0.5",
        (0, 3): "5",
        (1, 3): "2",
        (1, 4): "0.284",
        (2, 5): "1",
        (3, 5): "1",
        (5, 6): "1",
        (4, 6): "-1",
    }


def test_a_value_used_twice_has_two_edges_and_a_sum():
    data = data_of(explain(lambda x: x * x, 3.0))
    assert list(zip(data["edges"]["from"], data["edges"]["to"], strict=True)) == [(0, 1), (0, 1)]
    assert data["back"]["value"] == ["1", "3", "3"]
    assert data["back"]["total"] == ["1", "3", "6"]
    assert len(data["drawing"]["edges"]) == 2


def test_names_are_the_users():
    data = data_of(explain(neuron, 1.0, 2.0, 3.0, -1.0, -2.0))
    assert data["steps"]["title"] == ["w0", "w1", "w2", "x0", "x1", "s0", "s1", "s2", "s3", "L"]
    assert data["name"] == "neuron"
    assert data["steps"]["kind"] == ["leaf"] * 5 + ["value"] * 4 + ["result"]


def test_the_program_is_marked_where_each_value_is_made():
    data = data_of(explain(running, 2.0, 5.0))
    (block,) = data["listing"]["blocks"]
    marked = []
    for span in data["listing"]["span"]:
        _, line, begin, last, end = data["listing"]["spans"][span]
        assert line == last
        marked.append(block["lines"][line][begin:end])
    assert marked == [
        "x1",
        "x2",
        "np.log(x1)",
        "x1 * x2",
        "np.sin(x2)",
        "np.log(x1) + x1 * x2",
        "np.log(x1) + x1 * x2 - np.sin(x2)",
    ]
    assert block["title"] == "running"
    assert block["lines"][0] == "def running(x1, x2):"


def test_the_functions_that_it_calls_are_listed_too():
    def inner(y):
        return np.exp(y)

    def outer(x):
        return inner([inner(part) for part in (x, x)][0] * 2)

    blocks = data_of(explain(outer, 0.1))["listing"]["blocks"]
    assert [block["title"].rpartition(".")[2] for block in blocks] == ["outer", "inner"]
    assert [block["lines"][0] for block in blocks] == ["def outer(x):", "def inner(y):"]


def test_letters_beyond_ascii_do_not_shift_the_marks():
    def f(x):
        return np.sin(x * len("äöü…")) + x

    data = data_of(explain(f, 1.0))
    block, line, begin, _, end = data["listing"]["spans"][data["listing"]["span"][2]]
    assert data["listing"]["blocks"][block]["lines"][line][begin:end] == 'np.sin(x * len("äöü…"))'


def test_a_function_without_source_is_shown_without():
    space = {"np": np}
    exec("def f(x):\n    return np.sin(x)", space)
    data = data_of(explain(space["f"], 1.0))
    assert data["listing"] == {"blocks": [], "spans": [], "span": [-1, -1]}


def test_names_and_source_cannot_break_out():
    def f(arguments):
        (x,) = arguments.values()
        return x * len("</script><script>alert(2)</script>")

    f.__name__ = HOSTILE
    explanation = explain(f, {HOSTILE: 2.0})
    text = explanation.html()
    parts = Parts(text)
    assert parts.tags.count("script") == 2
    assert "<script>alert" not in text
    assert "\u2028" not in parts.texts["data:script"]
    data = json.loads(parts.texts["data:script"])
    assert data["name"] == HOSTILE
    assert HOSTILE.replace("\u2028", "\\u2028") in data["inputs"][0]
    assert any("</script>" in line for block in data["listing"]["blocks"] for line in block["lines"])


def test_embedded_data_comes_back_as_it_was():
    whole = {"text": HOSTILE + "'\"\\ \u2029 ]]>", "numbers": [1, -2.5]}
    text = embed_json(whole)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == whole


def test_not_finite_numbers_are_shown():
    with np.errstate(divide="ignore"):
        data = data_of(explain(lambda x: np.log(x) * 2, 0.0))
    assert data["steps"]["value"][1] == "-inf"
    assert data["back"]["total"][-1] == "inf"


def test_arrays_that_the_program_brings_along_are_data():
    data = data_of(explain(layer, np.eye(3), np.arange(3.0)))
    assert data["data"] == {
        "title": ["weights"],
        "value": ["[1, 2, 3]"],
        "array": [{"shape": [3], "grid": [1, 3], "numbers": [1.0, 2.0, 3.0]}],
    }
    assert len(data["drawing"]["boxes"]) == len(data["steps"]["title"]) + 1


def test_ten_thousand_operations_are_grouped_and_small():
    text = explain(lambda x: many(x), 0.3).html()
    assert len(text.encode()) < 10e6
    data = read_data(text)
    assert len(data["steps"]["title"]) > 10_000
    drawing = data["drawing"]
    assert len(drawing["boxes"]) <= 150
    inside = [step for group in drawing["groups"] for step in np.cumsum(group["steps"])]
    alone = [box for box in drawing["boxes"] if box >= 0]
    assert sorted([*inside, *alone]) == list(range(len(data["steps"]["title"])))


def test_work_is_linear():
    assert_linear(lambda steps: explain(lambda x: many(x, steps), 0.3).html(), 150)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["down", "sideways"])
def test_boxes_do_not_overlap(name, way):
    f, args = CASES[name]
    drawing = data_of(explain(f, *args))["drawing"]
    width, height = drawing["box"]
    centres = drawing[way]["centres"]
    for i, (x, y) in enumerate(centres):
        for u, v in centres[:i]:
            assert abs(x - u) >= width + 10 or abs(y - v) >= height + 10
