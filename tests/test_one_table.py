"""One table: what is true of an operation is found from the operation, never by comparing or looking up its name."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import wengert.compiler  # noqa: F401  # every layer that defines operations
from wengert.core.primitive import TABLE

SOURCES = Path(__file__).parent.parent / "src" / "wengert"
DECLARATIONS = {
    "explain/reading/vocabulary.py",  # the words of the formula language are names
    "random/continuous_draws.py",  # the options of NumPy's multivariate_normal
}
NAMES = set(TABLE)


def is_name_of_operation(node: ast.AST) -> bool:
    """`primitive.name`, `node.primitive.name`, `op.name`."""
    if not any(getattr(n, "attr", "") == "name" or getattr(n, "id", "") == "operation_name" for n in ast.walk(node)):
        return False  # most: to print them takes long
    text = ast.unparse(node)
    return text.endswith(("primitive.name", "operation.name", "op.name", "node.name")) or text in ("operation_name",)


def mentions(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.value for node in nodes for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in NAMES}


def offences(tree: ast.AST) -> list[str]:
    """Comparisons with names of operations, lookups by name, and dictionaries from names of operations."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if mentions(sides) and any(map(is_name_of_operation, sides)):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Dict):
            keys = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
            if len(keys) >= 3 and set(keys) <= NAMES:
                found.append(f"line {node.lineno}: a dictionary from names of operations: {', '.join(keys[:4])} ...")
        elif isinstance(node, ast.Set | ast.List | ast.Tuple) and len(node.elts) >= 3:
            items = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            if len(items) == len(node.elts) and set(items) <= NAMES:
                found.append(f"line {node.lineno}: a list of names of operations: {', '.join(items[:4])} ...")
        elif (
            isinstance(node, ast.Subscript) and is_name_of_operation(node.slice) and ast.unparse(node.value) != "TABLE"
        ):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def test_no_operation_is_known_by_its_name():
    found = {
        str(path.relative_to(SOURCES)): offences(ast.parse(path.read_text()))
        for path in sorted(SOURCES.rglob("*.py"))
        if path.relative_to(SOURCES).parts[0] != "ops" and str(path.relative_to(SOURCES)) not in DECLARATIONS
    }
    assert not {path: lines for path, lines in found.items() if lines}


def test_the_test_can_fail():
    assert offences(ast.parse('if node.primitive.name == "sin": pass'))
    assert offences(ast.parse('if primitive.name in ("sin", "cos"): pass'))
    assert offences(ast.parse('COSTS = {"sin": 1, "cos": 1, "exp": 2}'))
    assert offences(ast.parse('MOVES = {"transpose", "reshape", "flip"}'))
    assert offences(ast.parse("cost = COSTS[primitive.name]"))
    assert not offences(ast.parse('if kind == "linear": pass'))
