"""One page that shows how a derivative comes about: graph, table and program side by side, played forward and back.

The page is written in `assets`; here its data is put in, with style and script, so that it needs nothing else.
"""

from __future__ import annotations

import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

from wengert.explain.explanation import Explanation
from wengert.explain.page.boxes import BOX, LINE, drawing
from wengert.explain.page.listing import listing
from wengert.explain.page.story import Story, cut
from wengert.explain.tables.numbers import value as shown

STYLES = ("page.css", "graph.css")
SCRIPTS = ("story.js", "tip.js", "scene.js", "graph.js", "window.js", "table.js", "listing.js", "player.js")


def page(explanation: Explanation) -> str:
    """The page as text."""
    data = told(explanation)
    parts = {
        "TITLE": html.escape(f"{data['name']}: how its derivative comes about"),
        "STYLE": "\n".join(map(asset, STYLES)),
        "SCRIPT": "\n".join(map(asset, SCRIPTS)),
        "DATA": embedded(data),
    }
    pieces = asset("page.html").split("%%")
    return "".join([parts[piece] if i % 2 else piece for i, piece in enumerate(pieces)])


def told(explanation: Explanation) -> dict[str, Any]:
    """All that the page knows."""
    story = Story(explanation)
    function = explanation.recording.function
    name = getattr(function, "__name__", type(function).__name__)
    return {
        "name": "f" if name == "<lambda>" else name,
        "mode": explanation.mode,
        "inputs": [step.title for step in explanation.inputs],
        "outputs": [story.index[node] for node in explanation.outputs if node in story.index],
        "results": [cut(shown(explanation.recording.values[node])) for node in explanation.outputs],
        "steps": story.steps(),
        "data": story.data,
        "edges": story.edges,
        "back": story.back(),
        "listing": listing(story.formulas.steps, function),
        "drawing": drawing(explanation, story) | {"box": BOX, "line": LINE},
    }


@cache
def asset(name: str) -> str:
    return files("wengert.explain.page").joinpath("assets", name).read_text(encoding="utf-8")


def embedded(data: Any) -> str:
    """JSON that may stand within a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
