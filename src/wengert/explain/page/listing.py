"""The user's program beside the graph: the functions that ran, and the span of code that computed each value."""

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

from wengert.explain.steps import TraceStep

LONGEST = 400
"""Of a longer function, only the lines around what ran are shown."""
MARGIN = 3


def listing(steps: Sequence[TraceStep], function: Any) -> dict[str, Any]:
    """Blocks of lines, distinct spans as (block, line, column, last line, last column), and for each step its span.

    A span is an index, or -1 if there is none. Lines and columns of a span count from 0 within the block.
    """
    blocks = code_blocks(steps, function)
    spans: dict[tuple[int, ...], int] = {}
    found: list[int] = []
    known: dict[Any, int] = {}
    for step in steps:
        source = step.node.source
        key = (source.code, source.instruction) if source is not None else step.name
        if key not in known:
            span = (
                expression_span(source.code, source.instruction, source.line)
                if source is not None
                else parameter_span(function, step.name)
            )
            shown = span and position_in_blocks(blocks, *span)
            known[key] = spans.setdefault(shown, len(spans)) if shown else -1
        found.append(known[key])
    return {"blocks": [block.data() for block in blocks], "spans": list(spans), "span": found}


class CodeBlock:
    """Consecutive lines of a file."""

    def __init__(self, filename: str, first: int, lines: list[str], title: str):
        self.filename, self.first, self.title = filename, first, title
        self.raw = lines
        self.indent = len(lines[0]) - len(lines[0].lstrip()) if textwrap.dedent("".join(lines)) != "".join(lines) else 0

    @property
    def last(self) -> int:
        return self.first + len(self.raw) - 1

    def data(self) -> dict[str, Any]:
        lines = [
            line[self.indent :].rstrip() if not line[: self.indent].strip() else line.rstrip() for line in self.raw
        ]
        return {"title": self.title, "file": Path(self.filename).name, "first": self.first, "lines": lines}


def code_blocks(steps: Sequence[TraceStep], function: Any) -> list[CodeBlock]:
    """The source of every function that ran, the explained one first, without those inside another block."""
    used: dict[CodeType, list[int]] = {}
    own = getattr(function, "__code__", None)
    if isinstance(own, CodeType) and not is_ours(own):
        used[own] = [own.co_firstlineno]
    for step in steps:
        if step.node.source is not None:
            used.setdefault(step.node.source.code, []).append(step.node.source.line)
    blocks: list[CodeBlock] = []
    for code, lines in used.items():
        first, text = source_lines(code, min(lines), max(lines))
        if text:
            blocks.append(CodeBlock(code.co_filename, first, text, code.co_qualname.replace("<locals>.", "")))
    return [
        block
        for i, block in enumerate(blocks)
        if not any(is_within(block, i, other, j) for j, other in enumerate(blocks))
    ]


def is_ours(code: CodeType) -> bool:
    """Whether a function is part of this package: a wrapper around the user's function."""
    return str(Path(__file__).parents[2]) in code.co_filename


def is_within(inner: CodeBlock, i: int, outer: CodeBlock, j: int) -> bool:
    """Whether a block lies inside another one; of two equal blocks, the second does."""
    return i != j and covers(outer, inner) and (j < i or not covers(inner, outer))


def covers(outer: CodeBlock, inner: CodeBlock) -> bool:
    """Whether a block has all lines of another one."""
    return outer.filename == inner.filename and outer.first <= inner.first and inner.last <= outer.last


def source_lines(code: CodeType, lowest: int, highest: int) -> tuple[int, list[str]]:
    """The lines of a function; of a long one or a module, those around what ran. Empty if there is no source."""
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
def code_positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    """Lines and columns of each instruction."""
    return list(code.co_positions())


def expression_span(code: CodeType, instruction: int, line: int) -> tuple[str, int, int, int, int]:
    """The expression that an instruction computes: file, line and column of its beginning, and of its end."""
    table = code_positions(code)
    first, last, begin, end = table[instruction // 2] if instruction // 2 < len(table) else (None, None, None, None)
    if first is None or last is None or begin is None or end is None:
        return code.co_filename, line, 0, line, -1
    return code.co_filename, first, count_characters(code, first, begin), last, count_characters(code, last, end)


def count_characters(code: CodeType, line: int, column: int) -> int:
    """A column in characters, from one in bytes."""
    return len(linecache.getline(code.co_filename, line).encode()[:column].decode(errors="ignore"))


def parameter_span(function: Any, name: str | None) -> tuple[str, int, int, int, int] | None:
    """The span of a parameter in the first lines of its function; `params['w']` is a part of `params`."""
    code = getattr(function, "__code__", None)
    root = re.match(r"\w+", name or "")
    if not isinstance(code, CodeType) or is_ours(code) or root is None:
        return None
    for line in range(code.co_firstlineno, code.co_firstlineno + 12):
        text = linecache.getline(code.co_filename, line)
        start = re.search(r"\blambda\b|\bdef\b|$", text).end() if line == code.co_firstlineno else 0  # type: ignore[union-attr]  # matches at the end at the latest
        hit = re.compile(rf"\b{root.group()}\b").search(text, start)
        if hit:
            return code.co_filename, line, hit.start(), line, hit.end()
    return None


def position_in_blocks(
    blocks: list[CodeBlock], filename: str, line: int, column: int, last: int, end: int
) -> tuple[int, ...] | None:
    """A span in a file as a span in a block."""
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
