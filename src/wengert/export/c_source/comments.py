"""Comments: what the statements of a C file compute, as formulas and by the user's own lines."""

from __future__ import annotations

import linecache
import re
import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wengert.compiler.forms.lowering import Scatter, lowering
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.notation import ATOM, PRODUCT, write_key
from wengert.graph.python_source import SourceWriter
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.reductions.sums import _sum
from wengert.ops.shape.reshaping import _expand_dims

if TYPE_CHECKING:
    from wengert.export.c_source.function_writer import FunctionWriter

LONGEST = 80
"""The length of a formula from which on its value gets a line of its own."""
MOST_LINES = 4
"""The most lines of the user that one comment quotes."""
WIDTH = 110


def plain(text: str) -> str:
    """A text that can stand in a comment: of ASCII, and without the signs that begin or end one."""
    return text.encode("ascii", "replace").decode().replace("*/", "* /").replace("/*", "/ *")


def without_comments(text: str) -> str:
    """A text of C without its comments."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def write_block(lines: Sequence[str], indent: str = "") -> list[str]:
    """A comment of several lines."""
    wrapped = [
        part
        for line in lines
        for part in (
            textwrap.wrap(plain(line), WIDTH - len(indent), subsequent_indent="      ", break_long_words=False)
            if len(line) > WIDTH - len(indent)
            else [plain(line)]
        )
    ]
    if len(wrapped) == 1:
        return [f"{indent}/* {wrapped[0]} */"]
    return [f"{indent}/* {wrapped[0]}", *[f"{indent} * {line}".rstrip() for line in wrapped[1:]], f"{indent} */"]


def tidy(text: str) -> str:
    """A formula without the names of modules and the dtypes of numbers."""
    return re.sub(r"(?:np\.)?(?:float|int)(?:64|32)\(([-\w.]+)\)|\b(?:np|wg)\.", r"\1", text)


class Formulas:
    """The formulas of the values of a function, in the notation of NumPy, with the names that they have in C."""

    def __init__(self, writer: FunctionWriter):
        self.writer = writer
        self.source = SourceWriter(writer.graph, "f")
        self.numbers = 0
        for constant in writer.graph.constants:
            if not constant.is_captured and constant.size == 1:
                self.source.texts[constant] = self.source.constant(constant)

    def lines(self, roots: Collection[Node], computed: Collection[Node]) -> list[str]:
        """One formula for each value with a name, and for each one that would make a formula too long."""
        found: list[str] = []
        texts = self.source.texts
        inner = {*roots, *computed}
        for node in sorted(inner, key=lambda node: node.sequence):
            if not isinstance(node, Operation):
                continue
            for a in node.args:
                if a not in texts or a not in inner:
                    self.name(a)
            text, precedence = self.expression(node)
            name = self.writer.user_name(node)
            if node in roots:
                found.append(f"{self.writer.shown_name(node)} = {text}")
            elif name is not None or len(text) > LONGEST:
                name = name or self.new_name()
                found.append(f"{name} = {text}")
                text, precedence = name, ATOM
            texts[node] = text, precedence
        return found

    def new_name(self) -> str:
        """A name for a part of a formula, which nothing in C has."""
        while True:
            self.numbers += 1
            name = f"u{self.numbers}"
            if name not in self.writer.scope.taken:
                return name

    def expression(self, node: Operation) -> tuple[str, int]:
        """The formula of an operation; what is written or added at a key, as a call with that key."""
        key = node.params.get("key")
        if isinstance(key, Index) and isinstance(lowering.of(node.primitive), Scatter):
            texts = [tidy(self.source.texts[a][0]) for a in node.args]
            count = len(texts) - sum([isinstance(part, Hole) for part in key.parts(node.ndim)])
            return f"{node.primitive.name}({', '.join(texts[:count])}, [{write_key(key, texts[count:])}])", ATOM
        factors = matrix_factors(node)
        if factors is not None:
            return f"{self.source.enclose(factors[0])} @ {self.source.enclose(factors[1])}", PRODUCT
        text, precedence = self.source.expression(node)
        return tidy(text), precedence

    def name(self, node: Node) -> None:
        """Call a value that is in memory by its name in C; a constant may be a number."""
        if not (isinstance(node, Constant) and node in self.source.texts):
            self.source.texts[node] = self.writer.shown_name(node), ATOM


def matrix_factors(node: Operation) -> tuple[Node, Node] | None:
    """The factors x and y of a product x @ y that is written as a sum of products."""
    if not is_a(node, _sum) or not is_a(node.args[0], multiply) or node.params["keepdims"]:
        return None
    product, axes = node.args[0], node.params["axis"]
    x, y = product.args
    if y.ndim == 1 and x.ndim >= 2 and axes == (x.ndim - 1,) and x.shape[-1] == y.shape[0]:
        return x, y
    is_column = is_a(x, _expand_dims) and x.shape[-1] == 1 and x.ndim == product.ndim
    if is_column and y.ndim == 2 and axes == (product.ndim - 2,) and x.shape[-2] == y.shape[0]:
        return x.args[0], y  # type: ignore[attr-defined]  # an operation
    return None


def quote_lines(nodes: Collection[Node]) -> list[str]:
    """The user's lines that ask for these values."""
    found: dict[str, None] = {}
    for node in sorted(nodes, key=lambda node: node.sequence):
        if node.source is not None:
            file, line = node.source.code.co_filename, node.source.line
            text = linecache.getline(file, line).strip()
            found[textwrap.shorten(f"{Path(file).name}:{line}" + (f": {text}" if text else ""), WIDTH - 10)] = None
    lines = list(found)
    more = len(lines) - MOST_LINES + 1
    return lines if more <= 1 else [*lines[: MOST_LINES - 1], f"and {more} other lines"]
