"""A page that shows how a derivative is computed: graph, table and program side by side.

The page itself is in `assets`; here its data, styles and scripts are put into one self-contained file.
"""

from __future__ import annotations

import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

from wengert.explain.explanation import Explanation, writes
from wengert.explain.page.boxes import BOX, LINE, drawing_data
from wengert.explain.page.listing import listing
from wengert.explain.page.timeline import Timeline, cut_text
from wengert.explain.tables.numbers import format_value as shown

STYLES = ("page.css", "graph.css")
SCRIPTS = ("timeline.js", "tip.js", "scene.js", "graph.js", "window.js", "table.js", "listing.js", "player.js")


@writes("html")
def write_page(explanation: Explanation) -> str:
    """The page as HTML."""
    data = page_data(explanation)
    parts = {
        "TITLE": html.escape(f"{data['name']}: how its derivative is computed"),
        "STYLE": "\n".join(map(asset, STYLES)),
        "SCRIPT": "\n".join(map(asset, SCRIPTS)),
        "DATA": embed_json(data),
    }
    pieces = asset("page.html").split("%%")
    return "".join([parts[piece] if i % 2 else piece for i, piece in enumerate(pieces)])


def page_data(explanation: Explanation) -> dict[str, Any]:
    """The data of the page."""
    timeline = Timeline(explanation)
    function = explanation.recording.function
    name = getattr(function, "__name__", type(function).__name__)
    return {
        "name": "f" if name == "<lambda>" else name,
        "mode": explanation.mode,
        "inputs": [step.title for step in explanation.inputs],
        "outputs": [timeline.index[node] for node in explanation.outputs if node in timeline.index],
        "results": [cut_text(shown(explanation.recording.values[node])) for node in explanation.outputs],
        "steps": timeline.steps(),
        "data": timeline.data,
        "edges": timeline.edges,
        "back": timeline.back(),
        "listing": listing(timeline.formulas.steps, function),
        "drawing": drawing_data(explanation, timeline) | {"box": BOX, "line": LINE},
    }


@cache
def asset(name: str) -> str:
    """The contents of a file of `assets`."""
    return files("wengert.explain.page").joinpath("assets", name).read_text(encoding="utf-8")


def embed_json(data: Any) -> str:
    """JSON for a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
