"""Where in the user's program something happened, as a line that can be read and found."""

from __future__ import annotations

import html
import linecache
import os
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.tree import map as mapped
from wengert.graph.ir import Node, Operation


class Place(NamedTuple):
    """An operation, and the line of the user's that asked for it; for an input only its name is known."""

    operation: str
    filename: str | None
    line: int | None
    function: str | None
    code: str

    def __str__(self) -> str:
        if self.filename is None:
            return self.operation
        return f"{shortened(self.filename)}:{self.line} in {self.function}:  {self.code}"


def place(node: Node) -> Place:
    """The line that made a node."""
    operation = node.primitive.name if isinstance(node, Operation) else node.name or "a constant"
    source = node.source
    if source is None:
        return Place(operation, None, None, None, "")
    code = linecache.getline(source.code.co_filename, source.line).strip()
    return Place(operation, source.code.co_filename, source.line, source.code.co_qualname, code)


def shortened(filename: str) -> str:
    """A path from where the program runs, if it lies below."""
    here = os.getcwd() + os.sep
    return filename.removeprefix(here)


def numbers_of(value: Any) -> Any:
    """The plain numbers of a value, of whatever modes it is; of several outputs, a tuple of them."""
    if isinstance(value, tuple | list):
        return tuple([numbers_of(part) for part in value])
    while isinstance(value, Array):
        value = value.value
    return None if value is None else np.asarray(value)


def plain_arguments(args: Any) -> Any:
    """Trees of arguments in which the user's tensors are plain arrays."""
    return mapped(lambda leaf: np.asarray(leaf.value)[()] if isinstance(leaf, Array) and not leaf.level else leaf, args)


def indexed(name: str, index: Sequence[int]) -> str:
    """`x[1, 2]`, or `x` of a single number."""
    return f"{name}[{', '.join(map(str, index))}]" if len(index) else name


def listed(rows: Sequence[tuple[str, str]], width: int = 120) -> str:
    """Headings with their texts beside them, wrapped."""
    column = max([len(heading) for heading, _ in rows]) + 2
    lines: list[str] = []
    for heading, text in rows:
        wrapped = textwrap.wrap(text, max(40, width - column), break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{heading if not i else '':<{column}}{part}" for i, part in enumerate(wrapped)]
    return "\n".join(lines)


def listed_html(rows: Sequence[tuple[str, str]]) -> str:
    """The same as a table of a page."""
    cells = "".join(f"<tr><th>{html.escape(heading)}</th><td>{html.escape(text)}</td></tr>" for heading, text in rows)
    return f'<table class="wengert-why" style="text-align:left">{cells}</table>'
