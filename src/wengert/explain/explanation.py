"""`explain`: how a derivative is computed, as an object that prints in terminals, notebooks and documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.spec import Spec
from wengert.core.tree import flatten
from wengert.explain.recorder import Recording, record_run
from wengert.explain.steps import TraceStep, steps
from wengert.explain.sweeps import Adjoints, adjoints, tangents
from wengert.graph.ir import Node
from wengert.transforms.gradients import grad

__all__ = ["explain"]

Mode = Literal["reverse", "forward", "both", "hvp"]
MODES: tuple[Mode, ...] = get_args(Mode)
Writer = TypeVar("Writer", bound=Callable)

FORMATS: dict[str, Callable] = {}
"""The functions that write an explanation, by name of the format."""
FORMAT_MODULES = "wengert.explain.table_formats", "wengert.explain.graph_formats"
"""Imported in this order until a format is known."""


def writes(name: str) -> Callable[[Writer], Writer]:
    """Register a function as the writer of a format. Its first argument is the explanation."""

    def register(function: Writer) -> Writer:
        FORMATS[name] = function
        return function

    return register


class Explanation:
    """An evaluation line by line, with tangents, adjoints, or both.

    `steps` are the lines. `tangents` and `adjoints` are by node, and None if the mode does not ask for them.
    """

    def __init__(self, recording: Recording, mode: Mode, seed: Any):
        self.recording, self.mode, self.seed = recording, mode, seed
        self.steps: list[TraceStep] = steps(recording)
        self.step_of: dict[Node, TraceStep] = {step.node: step for step in self.steps}
        self.tangents: dict[Node, Any] | None = (
            tangents(recording, input_directions(recording, seed, mode)) if mode != "reverse" else None
        )
        self.adjoints: Adjoints | None = (
            adjoints(recording, output_seeds(recording, seed, mode)) if mode in ("reverse", "both") else None
        )

    @property
    def inputs(self) -> list[TraceStep]:
        """The lines of the inputs."""
        return [step for step in self.steps if step.is_input]

    @property
    def outputs(self) -> list[Node]:
        """The nodes of the results."""
        return self.recording.outputs

    def text(self, color: bool = False, limit: int | None = 60) -> str:
        """The traces as tables for a terminal.

        The middle of a trace of more than `limit` lines is left out; None shows all lines.
        """
        return self._write("text", color, limit=limit)

    def markdown(self) -> str:
        """The traces as Markdown tables."""
        return self._write("markdown")

    def latex(self) -> str:
        """The traces as LaTeX tables."""
        return self._write("latex")

    def svg(self, path: Path | str | None = None, *, edges: bool = False, groups: bool | None = None) -> str:
        """The graph as a picture.

        `edges` labels the edges with local derivatives. `groups` draws a loop, or else the operations of one source
        line, as one box (None: only if the graph is large).
        """
        return save(self._write("svg", edges, groups), path)

    def dot(self, path: Path | str | None = None, *, edges: bool = False, groups: bool | None = None) -> str:
        """The graph in Graphviz's language."""
        return save(self._write("dot", edges, groups), path)

    def png(self, path: Path | str, *, edges: bool = False, groups: bool | None = None, scale: float = 2.0) -> None:
        """Write the graph as a picture to a file; `edges` and `groups` are as in `svg`."""
        Path(path).write_bytes(self._write("png", edges, groups, scale))

    def html(self, path: Path | str | None = None) -> str:
        """One self-contained page: graph, table and source side by side, which can be stepped through."""
        return save(self._write("html"), path)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._write("notebook")

    def _write(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Write a format, after the module that registers it is imported."""
        for module in FORMAT_MODULES:
            if name not in FORMATS:
                import_module(module)
        return FORMATS[name](self, *args, **kwargs)


def save(text: str, path: Path | str | None) -> str:
    """Write a string to a file, if one is named."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def explain(f: Callable, *args: Any, mode: Mode = "reverse", seed: Any = None, **kwargs: Any) -> Explanation:
    """How the derivative of `f` is computed at these arguments.

    `seed` is the tangent of the inputs for "forward" (a tree like the arguments; by default 1 for the first input), the
    cotangent of the results for "reverse" (by default 1), and for "both" a pair of these. "hvp" is the product of the
    Hessian and a vector, `seed`, as forward over reverse: lines compute the gradient, and their tangents the product.

    >>> explanation = explain(lambda x: np.sin(x) * x, 2.0)
    >>> [step.title for step in explanation.steps]
    ['x', 'v1', 'v2']
    """
    if mode not in MODES:
        raise user_error(ValueError, f"explain: mode={mode!r}", f"The modes are {', '.join(map(repr, MODES))}.")
    recording = record_run(f, *args, **kwargs) if mode != "hvp" else record_gradient(f, *args, **kwargs)
    if recording.inputs and not any(map(is_smooth, recording.inputs)):
        raise user_error(
            GradientError,
            "explain: no argument is a floating-point number",
            "Pass 2.0 instead of 2, or x.astype(float).",
        )
    return Explanation(recording, mode, seed)


def record_gradient(f: Callable, *args: Any, **kwargs: Any) -> Recording:
    """The run of a function and of its backward pass, with the gradients as results."""
    smooth = tuple(i for i, x in enumerate(args) if all(map(is_smooth_leaf, flatten(x)[0])))
    if not smooth:
        raise user_error(GradientError, "explain: no argument is a floating-point number", "Pass 2.0 instead of 2.")
    gradient = grad(f, argnums=smooth)

    @wraps(f)
    def gradients(*args: Any, **kwargs: Any) -> Any:
        return gradient(*args, **kwargs)

    gradients.__name__ = f"∇{getattr(f, '__name__', 'f').replace('<lambda>', 'f')}"
    return record_run(gradients, *args, **kwargs)


def is_smooth_leaf(x: Any) -> bool:
    """Whether an argument is made of floating-point numbers."""
    return Spec.of(x).dtype.kind in "fc"


def is_smooth(node: Node) -> bool:
    """Whether there is a derivative with respect to an input."""
    return node.dtype.kind in "fc"


def input_directions(recording: Recording, seed: Any, mode: Mode) -> list:
    """The tangents of the inputs; None for those that are not smooth."""
    given = seed[0] if mode == "both" and seed is not None else seed
    smooth = [node for node in recording.inputs if is_smooth(node)]
    if given is not None:
        return flatten(given)[0]
    return [
        None if not is_smooth(node) else np.ones(node.shape) if node is smooth[0] else np.zeros(node.shape)
        for node in recording.inputs
    ]


def output_seeds(recording: Recording, seed: Any, mode: Mode) -> list:
    """The adjoints of the results."""
    given = seed[1] if mode == "both" and seed is not None else seed
    if given is not None:
        return flatten(given)[0]
    return [np.ones(node.shape) if node.spec is not None else None for node in recording.outputs]
