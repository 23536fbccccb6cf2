"""The tokens of a formula, with their positions in the formula and in the line of Python that it becomes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

WIDTH = 100
"""How many characters of a formula an error shows."""

OPENING = {"(": ")", "[": "]"}
CLOSING = tuple(OPENING.values())
SPELLINGS = {"^": "**", "·": "*", "×": "*", "÷": "/", "−": "-", "≤": "<=", "≥": ">=", "≠": "!="}
"""Signs of mathematics and of other programs."""
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
TOKEN = re.compile(
    r"(?P<space>[^\S\n]+)|(?P<end>[;\n])|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<power>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<name>[^\W\d](?:[^\W⁰¹²³⁴⁵⁶⁷⁸⁹])*)|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%@<>=()\[\],:^·×÷−≤≥≠])"
)
ADVICE = {".": "There are no attributes in formulas.", "|": "Write abs(x).", "{": "Lists are written [1, 2]."}
ADVICE |= dict.fromkeys("'\"", "There are no strings in formulas.")


class ExpressionError(ValueError):
    """A formula that cannot be parsed, with the characters that are to blame."""

    def __init__(self, message: str, text: str, at: int, width: int = 1):
        self.message, self.text, self.at, self.width = message, text, at, width
        super().__init__(f"{message}\n{self.excerpt}")

    @property
    def excerpt(self) -> str:
        """The line of the formula, with carets under the error.

        >>> print(ExpressionError("", "2 + $", 4).excerpt)
          2 + $
              ^
        """
        start = self.text.rfind("\n", 0, self.at) + 1
        line = self.text[start:].split("\n", 1)[0]
        at = self.at - start
        first = max(0, min(at - WIDTH // 2, len(line) - WIDTH))
        shown = re.sub(r"\s", " ", line[first : first + WIDTH])
        # escape sequences must not reach the terminal
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
        before, after = "..." if first else "", "..." if first + WIDTH < len(line) else ""
        carets = "^" * max(1, min(self.width, len(shown) - (at - first)))
        return f"  {before}{shown}{after}\n  {' ' * (len(before) + at - first)}{carets}"


class Token(NamedTuple):
    """A token: at index `at` of the formula, and from byte `start` to `stop` of the line of Python."""

    kind: str
    text: str
    at: int
    start: int
    stop: int


class Statement(NamedTuple):
    """A line of Python and its tokens, with an end token; `name` is what it assigns to, if it is an assignment."""

    tokens: list[Token]
    line: str
    name: Token | None


def statements(text: str) -> Iterator[Statement]:
    """The statements of a formula, separated by semicolons or newlines. A line that ends inside brackets continues.

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
            pieces += [(kind, part, at) for kind, part in python_pieces(kind, piece)]
            if kind == "name" and not pieces[-1][1].isidentifier():
                raise ExpressionError(f"{piece!r} is not a name.", text, at, len(piece))
            at = match.end()
        if any(kind != "space" for kind, _, _ in pieces):
            yield lay_out_statement(pieces, at)
        at += 1


def python_pieces(kind: str, piece: str) -> list[tuple[str, str]]:
    """A token in Python: x₁ is x1, and x² is x**2."""
    if kind == "power":
        power = piece.translate(SUPERSCRIPTS)
        return [("sign", "**"), *[("sign", "-")] * power.startswith("-"), ("number", power.lstrip("-"))]
    if kind == "name":
        return [(kind, normalize_name(piece))]
    return [("space", " ")] if kind == "end" else [(kind, SPELLINGS.get(piece, piece))]


def normalize_name(name: str) -> str:
    """A name as Python normalizes it: subscripts become plain characters."""
    return unicodedata.normalize("NFKC", name)


def lay_out_statement(pieces: list[tuple[str, str, int]], end: int) -> Statement:
    """The line of Python of these tokens."""
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
