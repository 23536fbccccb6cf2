"""A page that shows how a derivative is computed: graph, table and program side by side.

The page itself is in `assets`; here its data, styles and scripts are put into one self-contained file.
"""

from __future__ import annotations

import base64
import html
import zlib
from collections.abc import Sequence
from typing import Any

from wengert.core.json_text import write_json
from wengert.core.primitive import TABLE
from wengert.explain.aspects.phrases import phrase
from wengert.explain.explanation import Explanation, writes
from wengert.explain.folding import find_loops
from wengert.explain.live.runtime import runtime
from wengert.explain.page.boxes import drawing_data
from wengert.explain.page.costs import cost_columns
from wengert.explain.page.listing import listing
from wengert.explain.page.live import LivePage, live_page
from wengert.explain.page.sketches import sketches
from wengert.explain.page.timeline import Timeline, arrivals, cut_text
from wengert.explain.progress import show_progress
from wengert.explain.schedule import checkpoint_schedule
from wengert.explain.tables.numbers import format_value as shown
from wengert.explain.templates import fill_template, read_asset
from wengert.graph.ir import Operation

STYLES = ("page.css", "graph.css", "live.css", "narrow.css", "embed.css")
SCRIPTS = (
    "timeline.js", "numbers.js", "words.js", "tip.js", "heat.js", "shapes.js", "scene.js", "graph.js", "window.js",
    "minimap.js", "table.js", "listing.js", "costs.js", "live.js", "plot.js", "inputs.js", "search.js", "picture.js",
    "share.js", "player.js",
)  # fmt: skip
"""In the order in which they use each other."""
LEAST_STEPS, MOST_STEPS = 6, 40
"""Of a loop whose checkpoint schedule is drawn."""
LARGE = 1_000_000
"""From how many characters on data is compressed."""


@writes("html")
def write_page(explanation: Explanation) -> str:
    """The page as HTML."""
    with show_progress("are being written", lambda: len(explanation.steps)):
        timeline = Timeline(explanation)
        live = live_page(explanation, timeline)
        data = page_data(explanation, timeline, live)
    parts = {
        "TITLE": html.escape(f"{data['name']}: how its derivative is computed"),
        "STYLE": read_all(STYLES),
        "SCRIPT": f"{recompute_script(live)}\n{read_all(SCRIPTS)}",
        "DATA": embed_data(data),
    }
    return fill_template(read_asset(__package__, "page.html"), parts)


def read_all(names: Sequence[str]) -> str:
    """The contents of several files."""
    return "\n".join([read_asset(__package__, name) for name in names])


def recompute_script(live: LivePage) -> str:
    """The function that computes all numbers of the page from its inputs; null if it has none."""
    if live.program.reason:
        return "const recompute = null;"
    return f"const recompute = (() => {{\n{runtime()}\nreturn {live.program.source};\n}})();"


def page_data(explanation: Explanation, timeline: Timeline, live: LivePage) -> dict[str, Any]:
    """The data of the page."""
    function = explanation.recording.function
    name = getattr(function, "__name__", type(function).__name__)
    rows = list(arrivals(explanation.adjoints, timeline)) if explanation.adjoints is not None else []
    used = {step.node.primitive for step in timeline.formulas.steps if isinstance(step.node, Operation)}
    return {
        "name": "f" if name == "<lambda>" else name,
        "mode": explanation.mode,
        "byLabel": timeline.formulas.names.by_label,
        "inputs": [step.title for step in explanation.inputs],
        "outputs": [timeline.index[node] for node in explanation.outputs if node in timeline.index],
        "results": [cut_text(shown(explanation.recording.values[node])) for node in explanation.outputs],
        "steps": drop_empty(timeline.steps()),
        "data": timeline.data,
        "edges": timeline.edges,
        "back": drop_empty(timeline.back()),
        "costs": cost_columns(timeline, rows),
        "phrases": {primitive.name: phrase.of(primitive) for primitive in used if primitive.name in TABLE},
        "sketches": sketches(timeline),
        "live": live.data,
        "schedule": loop_schedule(explanation),
        "listing": listing(timeline.formulas.steps, function),
        "drawing": drawing_data(explanation, timeline),
    }


def loop_schedule(explanation: Explanation) -> str | None:
    """The checkpoint schedule of the longest loop, as a picture; of its first steps if there are many."""
    rounds = max([loop.rounds for loop in find_loops(explanation.steps)], default=0)
    if explanation.adjoints is None or rounds < LEAST_STEPS:
        return None
    return checkpoint_schedule(min(rounds, MOST_STEPS)).svg()


def drop_empty(columns: dict[str, list]) -> dict[str, list]:
    """Columns without those of arrays, if there are none."""
    return {name: column for name, column in columns.items() if not name.lower().endswith("array") or any(column)}


def embed_data(data: Any) -> str:
    """The data for its script element: JSON, and compressed if it is large."""
    text = embed_json(data)
    return text if len(text) < LARGE else base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def embed_json(data: Any) -> str:
    """JSON for a script element: nothing in it can end the element or begin a comment."""
    text = write_json(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
