"""What notebooks show: the page of an explanation, and graphs as mathematics and as pictures."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from functools import reduce

import numpy as np

import wengert as wg
from wengert.explain.page import notebook


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def test_an_explanation_is_the_page_in_a_frame():
    explanation = wg.explain(f, 2.0, 5.0)
    shown = explanation._repr_html_()
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts allow-downloads".*?></iframe>\n<details>.*', shown, re.S
    )
    assert html.unescape(frame[1]) == explanation.html()
    assert not re.search(r"(src|href)=.?https?:", html.unescape(frame[1]))  # self-contained
    assert "<summary>As a table</summary>" in shown
    assert "wengert-trace" in shown


def test_a_large_page_is_left_out(monkeypatch):
    monkeypatch.setattr(notebook, "LARGEST", 100)
    shown = wg.explain(f, 2.0, 5.0)._repr_html_()
    assert "<iframe" not in shown
    assert "wengert-trace" in shown
    assert "explanation.html(path)" in shown


def test_a_graph_is_mathematics_and_a_picture():
    graph = wg.trace(f, 2.0, 5.0)
    assert graph._repr_latex_() == f"$\\displaystyle {graph.latex()}$"
    picture = ET.fromstring(graph._repr_svg_())
    texts = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"x1", "x2", "sin", "×", "+"} <= set(texts)
    boxes = [g.get("class") for g in picture.iter("{http://www.w3.org/2000/svg}g") if g.get("class")]
    assert sum("leaf" in box for box in boxes) == 2
    assert sum("operator" in box for box in boxes) == 5
    assert sum("result" in box and box.startswith("node") for box in boxes) == 1


def test_pictures_of_operations_with_several_outputs_constants_and_integers():
    def g(x, i):
        values, vectors = np.linalg.eigh(x)
        return values[i] + vectors.sum(), 3.0

    picture = wg.trace(g, np.eye(3), np.array([0, 2])).svg()
    assert ET.fromstring(picture) is not None
    assert "i64[2]" in picture
    assert "eigh" in picture


def test_a_graph_that_is_too_large_to_read_is_text():
    graph = wg.trace(lambda x: reduce(lambda y, i: np.sin(y) * i, range(1, 300), x), 0.5)
    assert graph._repr_latex_() is None
    assert graph._repr_svg_() is None
    assert graph.svg().startswith("<svg")
