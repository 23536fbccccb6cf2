"""Tables of every error message of the package: what happened, and what to do, read from the source.

Errors are made by `user_error(kind, what, do, because=...)` (`core/errors.py`), or raised with a string. What a
message fills in is written as an ellipsis.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "wengert"

PARTS = {
    "core": "Arrays, and operations in general",
    "modes": "Tensors, tapes, tracing, batches",
    "ops": "Operations",
    "graph": "Graphs",
    "control": "Loops, branches, checkpoints, custom rules",
    "source": "Python's statements on traced values",
    "transforms": "Transforms",
    "autograd": "The interface of PyTorch",
    "compiler": "Compiled functions",
    "structure": "Sparse derivatives and operators",
    "implicit": "Implicit functions",
    "integrate": "Differential equations and integrals",
    "random": "Random numbers",
    "stats": "Distributions",
    "optimize": "Optimisation",
    "nn": "Models and training",
    "optim": "Optimisers",
    "data": "Data",
    "explain": "Explanations and formulas",
    "compat": "Layers of names for other systems",
}
"""What one does when the errors of a folder are met; other folders have their own names as titles."""


class Message(NamedTuple):
    """An error that the source raises."""

    what: str
    kind: str
    do: str


def pattern(node: ast.expr | None) -> str:
    """What is known of a string that an expression makes.

    >>> pattern(ast.parse('f"kind={kind!r} of " + other', mode="eval").body)
    'kind=… of …'
    """
    match node:
        case None:
            return ""
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(pattern, parts))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return pattern(left) + pattern(right)
        case ast.IfExp(body=body, orelse=other):
            return " / ".join(filter(None, [pattern(body), pattern(other)]))
        case _:
            return "…"


def messages(tree: ast.AST) -> Iterator[Message]:
    """The errors of a module, without those whose text is made elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("user_error") and len(node.args) > 1:
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            reason = pattern(keywords.get("because"))
            do = pattern(node.args[2] if len(node.args) > 2 else keywords.get("do"))
            what = pattern(node.args[1]) + (f": {reason}" if reason else "")
            yield Message(what, ast.unparse(node.args[0]).rpartition(".")[2], do)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            kind = ast.unparse(node.exc.func)
            if kind[:1].isupper():
                yield Message(pattern(node.exc.args[0]), kind, "")


def collect() -> dict[str, list[Message]]:
    """The messages by part of the package, sorted, each once."""
    found: dict[str, set[Message]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        folder = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        for message in messages(ast.parse(file.read_text())):
            if message.what.strip("… ") and message.kind.endswith(("Error", "Warning")):
                found.setdefault(PARTS.get(folder, folder), set()).add(message)
    order = [*PARTS.values(), *sorted(found.keys() - set(PARTS.values()))]
    return {part: sorted(found[part]) for part in order if part in found}


def cell(text: str) -> str:
    """Text in a cell of a table, in which only code is markup.

    >>> cell("`x[*i]` is a*b | c")
    '`x[*i]` is a&#42;b \\\\| c'
    """
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    parts[::2] = [re.sub(r"[&<*_$\[]", lambda sign: f"&#{ord(sign[0])};", part) for part in parts[::2]]
    return "`".join(parts)


def tables() -> str:
    """What the site adds to docs/errors.md: a table for each part of the package."""
    parts = []
    for part, found in collect().items():
        rows = [f"| {cell(m.what)} | `{m.kind}` | {cell(m.do)} |" for m in found]
        parts.append("\n".join([f"## {part}\n", "| message | error | what to do |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)
