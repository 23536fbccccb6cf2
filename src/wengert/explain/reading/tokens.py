"""The pieces of a formula, each with its place in what was typed and in the line of Python that it becomes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

WIDTH = 100
"""Characters of a formula that are shown in an error."""

OPENING = {"(": ")", "[": "]"}
CLOSING = tuple(OPENING.values())
SPELLINGS = {"^": "**", "·": "*", "×": "*", "÷": "/", "−": "-", "≤": "<=", "≥": ">=", "≠": "!="}
"""Signs as they come from paper and other programs."""
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
TOKEN = re.compile(
    r"(?P<space>[^\S\n]+)|(?P<end>[;\n])|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<power>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<name>[^\W\d](?:[^\W⁰¹²³⁴⁵⁶⁷⁸⁹])*)|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%@<>=()\[\],:^·×÷−≤≥≠])"
)
ADVICE = {".": "There are no attributes in formulas.", "|": "Write abs(x).", "{": "Lists are written [1, 2]."}
ADVICE |= dict.fromkeys("'\"", "There is no text in formulas.")


class ExpressionError(ValueError):
    """A formula that cannot be read, with the characters that are to blame."""

    def __init__(self, message: str, text: str, at: int, width: int = 1):
        self.message, self.text, self.at, self.width = message, text, at, width
        super().__init__(f"{message}\n{self.pointed}")

    @property
    def pointed(self) -> str:
        """The line of the formula, and carets under what is wrong.

        >>> print(ExpressionError("", "2 + $", 4).pointed)
          2 + $
              ^
        """
        start = self.text.rfind("\n", 0, self.at) + 1
        line = self.text[start:].split("\n", 1)[0]
        at = self.at - start
        first = max(0, min(at - WIDTH // 2, len(line) - WIDTH))
        shown = re.sub(r"\s", " ", line[first : first + WIDTH])
        shown = "".join(
            c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown
        )  # an escape would command the terminal
        before, after = "..." if first else "", "..." if first + WIDTH < len(line) else ""
        carets = "^" * max(1, min(self.width, len(shown) - (at - first)))
        return f"  {before}{shown}{after}\n  {' ' * (len(before) + at - first)}{carets}"


class Token(NamedTuple):
    """A piece: `at` in what was typed, and from byte `start` to `stop` in the line of Python."""

    kind: str
    text: str
    at: int
    start: int
    stop: int


class Statement(NamedTuple):
    """A line of Python and its tokens, an end after them; `name` is what it assigns to, if it does."""

    tokens: list[Token]
    line: str
    name: Token | None


def statements(text: str) -> Iterator[Statement]:
    """The statements of a formula, between semicolons or on lines of their own.

    A line that ends inside brackets goes on.

    >>> [statement.line for statement in statements("s = x ^ 2; sin(s)")]
    ['    s = x ** 2', '    return sin(s)']
    """
    at = 0
    while at <= len(text):
        pieces: list[tuple[str, str, int]] = []
        brackets = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ExpressionError(
                    f"{text[at]!r} means nothing in a formula. {ADVICE.get(text[at], '')}".rstrip(), text, at
                )
            kind, piece = str(match.lastgroup), match.group()
            if kind == "end" and (piece == ";" or brackets <= 0):
                break
            brackets += (piece in OPENING) - (piece in CLOSING)
            pieces += [(kind, written, at) for kind, written in as_python(kind, piece)]
            if kind == "name" and not pieces[-1][1].isidentifier():
                raise ExpressionError(f"{piece!r} is no name.", text, at, len(piece))
            at = match.end()
        if any(kind != "space" for kind, _, _ in pieces):
            yield laid_out(pieces, at)
        at += 1


def as_python(kind: str, piece: str) -> list[tuple[str, str]]:
    """A piece as Python writes it: x₁ is x1, and x² is x**2."""
    if kind == "power":
        power = piece.translate(SUPERSCRIPTS)
        return [("sign", "**"), *[("sign", "-")] * power.startswith("-"), ("number", power.lstrip("-"))]
    if kind == "name":
        return [(kind, normalized(piece))]
    return [("space", " ")] if kind == "end" else [(kind, SPELLINGS.get(piece, piece))]


def normalized(name: str) -> str:
    """A name as Python sees it, in which subscripts and the like are plain characters."""
    return unicodedata.normalize("NFKC", name)


def laid_out(pieces: list[tuple[str, str, int]], end: int) -> Statement:
    """The line of Python that the pieces make."""
    while pieces[0][0] == "space":
        del pieces[0]
    shown = [(kind, piece) for kind, piece, _ in pieces if kind != "space"]
    assigns = len(shown) > 1 and shown[0][0] == "name" and shown[1][1] == "="
    line = "    " if assigns else "    return "
    tokens = []
    column = len(line)
    for kind, piece, at in pieces:
        start, column = column, column + len(piece.encode())
        if kind != "space":
            tokens.append(Token(kind, piece, at, start, column))
    line += "".join(piece for _, piece, _ in pieces).rstrip()
    return Statement([*tokens, Token("end", "", end, column, column)], line, tokens[0] if assigns else None)
