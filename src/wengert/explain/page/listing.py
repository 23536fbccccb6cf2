"""The user's program as it is shown beside the graph: the functions that ran, and the place in them where each value
was made.
"""

from __future__ import annotations

import inspect
import linecache
import re
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from wengert.explain.steps import Step

LONGEST = 400
"""Of a function with more lines than this only those around what ran are shown."""
MARGIN = 3


def listing(steps: Sequence[Step], function: Any) -> dict[str, Any]:
    """Blocks of lines, the distinct places in them as (block, line, column, last line, last column), and for each step
    its place or -1.

    Lines and columns count from 0 within a block.
    """
    blocks = ranges(steps, function)
    places: dict[tuple[int, ...], int] = {}
    found: list[int] = []
    known: dict[Any, int] = {}
    for step in steps:
        source = step.node.source
        key = (source.code, source.instruction) if source is not None else step.name
        if key not in known:
            place = (
                span(source.code, source.instruction, source.line)
                if source is not None
                else parameter(function, step.name)
            )
            shown = place and placed(blocks, *place)
            known[key] = places.setdefault(shown, len(places)) if shown else -1
        found.append(known[key])
    return {"blocks": [block.shown() for block in blocks], "places": list(places), "place": found}


class Block:
    """Consecutive lines of a file."""

    def __init__(self, filename: str, first: int, lines: list[str], title: str):
        self.filename, self.first, self.title = filename, first, title
        self.raw = lines
        self.indent = len(lines[0]) - len(lines[0].lstrip()) if textwrap.dedent("".join(lines)) != "".join(lines) else 0

    @property
    def last(self) -> int:
        return self.first + len(self.raw) - 1

    def shown(self) -> dict[str, Any]:
        lines = [
            line[self.indent :].rstrip() if not line[: self.indent].strip() else line.rstrip() for line in self.raw
        ]
        return {"title": self.title, "file": Path(self.filename).name, "first": self.first, "lines": lines}


def ranges(steps: Sequence[Step], function: Any) -> list[Block]:
    """The source of every function that ran, the explained one first; what lies within another is not repeated."""
    used: dict[CodeType, list[int]] = {}
    own = getattr(function, "__code__", None)
    if isinstance(own, CodeType) and not ours(own):
        used[own] = [own.co_firstlineno]
    for step in steps:
        if step.node.source is not None:
            used.setdefault(step.node.source.code, []).append(step.node.source.line)
    blocks: list[Block] = []
    for code, lines in used.items():
        first, text = source_lines(code, min(lines), max(lines))
        if text:
            blocks.append(Block(code.co_filename, first, text, code.co_qualname.replace("<locals>.", "")))
    return [
        block for i, block in enumerate(blocks) if not any(within(block, i, other, j) for j, other in enumerate(blocks))
    ]


def ours(code: CodeType) -> bool:
    """Whether a function is part of this package: a wrapper that is no part of what the user wrote."""
    return str(Path(__file__).parents[2]) in code.co_filename


def within(inner: Block, i: int, outer: Block, j: int) -> bool:
    """Whether a block lies in another one; of two that are the same, the second does."""
    return i != j and covers(outer, inner) and (j < i or not covers(inner, outer))


def covers(outer: Block, inner: Block) -> bool:
    return outer.filename == inner.filename and outer.first <= inner.first and inner.last <= outer.last


def source_lines(code: CodeType, lowest: int, highest: int) -> tuple[int, list[str]]:
    """The lines of a function, or of a long one or a module those around what ran.

    None where the text is not to be had.
    """
    everything = linecache.getlines(code.co_filename)
    if not everything:
        return 0, []
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, SyntaxError, IndexError):
        lines, first = [], lowest
    if (
        not lines
        or len(lines) > LONGEST
        or code.co_name == "<module>"
        or not first <= lowest <= highest < first + len(lines)
    ):
        first = max(lowest - MARGIN, 1)
        lines = everything[first - 1 : highest + MARGIN]
    return max(first, 1), lines


@lru_cache(256)
def positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def span(code: CodeType, instruction: int, line: int) -> tuple[str, int, int, int, int]:
    """Where the expression stands that an instruction computes: file, line and column of its beginning, and of its end."""
    table = positions(code)
    first, last, begin, end = table[instruction // 2] if instruction // 2 < len(table) else (None, None, None, None)
    if first is None or last is None or begin is None or end is None:
        return code.co_filename, line, 0, line, -1
    return code.co_filename, first, characters(code, first, begin), last, characters(code, last, end)


def characters(code: CodeType, line: int, column: int) -> int:
    """A column counted in bytes, counted in characters."""
    return len(linecache.getline(code.co_filename, line).encode()[:column].decode(errors="ignore"))


def parameter(function: Any, name: str | None) -> tuple[str, int, int, int, int] | None:
    """Where a parameter stands in the first lines of its function; `params['w']` is a part of `params`."""
    code = getattr(function, "__code__", None)
    root = re.match(r"\w+", name or "")
    if not isinstance(code, CodeType) or ours(code) or root is None:
        return None
    for line in range(code.co_firstlineno, code.co_firstlineno + 12):
        text = linecache.getline(code.co_filename, line)
        start = re.search(r"\blambda\b|\bdef\b|$", text).end() if line == code.co_firstlineno else 0  # type: ignore[union-attr]  # matches at the end at the latest
        hit = re.compile(rf"\b{root.group()}\b").search(text, start)
        if hit:
            return code.co_filename, line, hit.start(), line, hit.end()
    return None


def placed(blocks: list[Block], filename: str, line: int, column: int, last: int, end: int) -> tuple[int, ...] | None:
    """A place in a file as a place in a block."""
    for i, block in enumerate(blocks):
        if block.filename == filename and block.first <= line <= block.last:
            stop = len(block.raw[min(last, block.last) - block.first].rstrip()) if end < 0 else end
            return (
                i,
                line - block.first,
                max(column - block.indent, 0),
                min(last, block.last) - block.first,
                max(stop - block.indent, 0),
            )
    return None
