"""What answers are written in: source lines of the user's program, and rows of text."""

from __future__ import annotations

import html
import linecache
import os
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wengert.explain.recorder import Recording
from wengert.graph.ir import Node, Operation

WIDTH = 120


class SourceLine(NamedTuple):
    """An operation, and the source line that called it; an input has only a name. `step` is that of a loop."""

    operation: str
    filename: str | None
    line: int | None
    function: str | None
    code: str
    step: str = ""

    def __str__(self) -> str:
        if self.filename is None:
            return self.operation
        filename = self.filename.removeprefix(os.getcwd() + os.sep)
        return f"{filename}:{self.line} in {self.function}{f', {self.step}' if self.step else ''}:  {self.code}"


def source_line_of(recording: Recording, node: Node) -> SourceLine:
    """The source line that computed a node, and in which step of a loop."""
    operation = node.primitive.name if isinstance(node, Operation) else node.name or "a constant"
    source = node.source
    if source is None:
        return SourceLine(operation, None, None, None, "")
    code = linecache.getline(source.code.co_filename, source.line).strip()
    step = recording.step_of(node)
    return SourceLine(operation, source.code.co_filename, source.line, source.code.co_qualname, code, step)


def element_name(name: str, index: Sequence[int]) -> str:
    """`x[1, 2]`, or `x` if it is a single number."""
    return f"{name}[{', '.join(map(str, index))}]" if len(index) else name


class Answer:
    """An answer that prints as rows: headings in one column, and strings beside them."""

    def rows(self) -> Iterable[tuple[str, str]]:
        raise NotImplementedError  # each kind defines it

    def __str__(self) -> str:
        rows = list(self.rows())
        column = max([len(heading) for heading, _ in rows]) + 2
        lines: list[str] = []
        for heading, text in rows:
            wrapped = textwrap.wrap(text, max(40, WIDTH - column), break_long_words=False, break_on_hyphens=False) or [
                ""
            ]
            lines += [f"{heading if not i else '':<{column}}{part}" for i, part in enumerate(wrapped)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        escaped = [(html.escape(heading), html.escape(text)) for heading, text in self.rows()]
        cells = "".join(f"<tr><th>{heading}</th><td>{text}</td></tr>" for heading, text in escaped)
        return f'<table class="wengert-why" style="text-align:left">{cells}</table>'
