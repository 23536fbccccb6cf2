"""`explain`: how a derivative comes about, as an object that prints in a terminal, in a notebook and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.tree import flatten
from wengert.explain.observation import Recording, record
from wengert.explain.steps import Step, steps
from wengert.explain.sweeps import Adjoints, adjoints, tangents
from wengert.graph.ir import Node

__all__ = ["explain"]

Mode = Literal["reverse", "forward", "both"]


class Explanation:
    """An evaluation line by line, beside it tangents, adjoints, or both.

    `steps` are the lines; `tangents` and `adjoints` are by node, None where the mode does not ask for them.
    """

    def __init__(self, recording: Recording, mode: Mode, seed: Any):
        self.recording, self.mode = recording, mode
        self.steps: list[Step] = steps(recording)
        self.step_of: dict[Node, Step] = {step.node: step for step in self.steps}
        self.tangents: dict[Node, Any] | None = (
            tangents(recording, directions(recording, seed, mode)) if mode != "reverse" else None
        )
        self.adjoints: Adjoints | None = (
            adjoints(recording, seeds(recording, seed, mode)) if mode != "forward" else None
        )

    @property
    def inputs(self) -> list[Step]:
        return [step for step in self.steps if step.is_input]

    @property
    def outputs(self) -> list[Node]:
        return self.recording.outputs

    # What it looks like. Each form is in a file of its own, imported when it is asked for.

    def text(self, color: bool = False, limit: int | None = 60) -> str:
        """The traces as tables for a terminal.

        Of more lines than `limit` the middle is left out; None for all of them.
        """
        from wengert.explain.tables.table import text

        return text(self, color, limit=limit)

    def markdown(self) -> str:
        from wengert.explain.tables.markdown import markdown

        return markdown(self)

    def latex(self) -> str:
        from wengert.explain.tables.latex import latex

        return latex(self)

    def svg(self, path: Path | str | None = None, *, edges: bool = False, groups: bool | None = None) -> str:
        """The graph as a picture.

        `edges` labels the edges with local derivatives, `groups` joins what one line made (None: if large).
        """
        from wengert.explain.pictures.picture import svg

        return saved(svg(self, edges, groups), path)

    def dot(self, path: Path | str | None = None, *, edges: bool = False, groups: bool | None = None) -> str:
        """The graph in Graphviz's language."""
        from wengert.explain.pictures.dot import dot

        return saved(dot(self, edges, groups), path)

    def png(self, path: Path | str, *, edges: bool = False, groups: bool | None = None, scale: float = 2.0) -> None:
        from wengert.explain.pictures.bitmap import png

        png(self, path, edges, groups, scale)

    def html(self, path: Path | str | None = None) -> str:
        """One page that needs nothing else: graph, table and source side by side, to play through forward and back."""
        from wengert.explain.page import page

        return saved(page(self), path)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from wengert.explain.tables.notebook import fragment

        return fragment(self)


def saved(text: str, path: Path | str | None) -> str:
    """Write a text to a file, if one is named."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def explain(f: Callable, *args: Any, mode: Mode = "reverse", seed: Any = None, **kwargs: Any) -> Explanation:
    """How the derivative of `f` comes about at these arguments.

    `seed` is the direction of the inputs for "forward" (a tree like the arguments; by default the first input changes
    by 1), the weight of the results for "reverse" (by default 1), and for "both" a pair of these.

    >>> explanation = explain(lambda x: np.sin(x) * x, 2.0)
    >>> [step.title for step in explanation.steps]
    ['x', 'v1', 'v2']
    """
    if mode not in ("reverse", "forward", "both"):
        raise user_error(ValueError, f"explain: mode={mode!r}", "The modes are 'reverse', 'forward' and 'both'.")
    recording = record(f, *args, **kwargs)
    if recording.inputs and not any(map(is_smooth, recording.inputs)):
        raise user_error(
            GradientError,
            "explain: no argument is a floating-point number",
            "Pass 2.0 instead of 2, or x.astype(float).",
        )
    return Explanation(recording, mode, seed)


def is_smooth(node: Node) -> bool:
    """Whether there is a derivative in an input."""
    return node.dtype.kind in "fc"


def directions(recording: Recording, seed: Any, mode: Mode) -> list:
    """The tangents of the inputs: what is not smooth has none."""
    given = seed[0] if mode == "both" and seed is not None else seed
    smooth = [node for node in recording.inputs if is_smooth(node)]
    if given is not None:
        return flatten(given)[0]
    return [
        None if not is_smooth(node) else np.ones(node.shape) if node is smooth[0] else np.zeros(node.shape)
        for node in recording.inputs
    ]


def seeds(recording: Recording, seed: Any, mode: Mode) -> list:
    """The adjoints of the results."""
    given = seed[1] if mode == "both" and seed is not None else seed
    if given is not None:
        return flatten(given)[0]
    return [np.ones(node.shape) if node.spec is not None else None for node in recording.outputs]
