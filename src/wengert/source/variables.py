"""Which variables statements of one function assign and read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from wengert.source.syntax import SCOPES, children, own_nodes

CREATION = frozenset(
    ["arange", "array", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "linspace", "ones",
     "ones_like", "tile", "zeros", "zeros_like"]
)  # fmt: skip
"""Functions of NumPy that return a new array."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Assigned(ast.NodeVisitor):
    """The names that statements assign, in order; `x[i] = v` and `x.a = v` assign none."""

    def __init__(self, nodes: Iterable[ast.AST]):
        self.names: dict[str, None] = {}
        for node in nodes:
            self.visit(node)

    def visit(self, node: ast.AST) -> None:
        """Note what one node assigns, and what those inside it do."""
        if isinstance(node, SCOPES):  # of a nested function only its name is assigned here
            self.names |= {} if isinstance(node, ast.Lambda) else {node.name: None}
            return
        if isinstance(node, COMPREHENSIONS):  # it has variables of its own, apart from those of `:=`
            inner = [part.target for part in own_nodes([node]) if isinstance(part, ast.NamedExpr)]
            self.names |= dict.fromkeys([target.id for target in inner])
            return
        name = name_assigned(node)
        if name:
            self.names[name] = None
        self.generic_visit(node)


def name_assigned(node: ast.AST) -> str | None:
    """The name that a node itself assigns, if any."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    return node.name if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) else None


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that statements assign."""
    return list(Assigned(nodes).names)


def reads(nodes: Sequence[ast.AST], without: ast.AST | None = None) -> set[str]:
    """The names that statements read, those of nested functions included; `without` one statement."""
    found: set[str] = set()
    for node in nodes:
        if node is without:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        found |= reads(children(node), without)
    return found


def read_first(body: Sequence[ast.stmt], names: Sequence[str]) -> set[str]:
    """Those of these names that a step may read before it assigns them: not assigned first at the outermost level."""
    known: set[str] = set()
    found: set[str] = set()
    for statement in body:
        found |= (reads([statement]) - known) & set(names)
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.With | ast.FunctionDef):
            known |= set(assigned([statement]))
    return found


def fresh_arrays(node: ast.FunctionDef) -> set[str]:
    """Variables that only ever hold new arrays of this function, to which no other variable refers.

    A value that is assigned to an element of such an array may replace the array by a new one.
    """
    made: dict[str, bool] = {}
    for part in own_nodes(node.body):
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.NamedExpr) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target, value in match_targets(targets, part.value):
                for name in assigned([target]):
                    is_new = len(targets) == 1 and target.__class__ is ast.Name and is_creation(value)
                    made[name] = made.get(name, True) and is_new
                for name in aliases(value):
                    made[name] = False
        elif isinstance(part, ast.For | ast.With | ast.ExceptHandler | ast.Import | ast.ImportFrom | ast.FunctionDef):
            made |= dict.fromkeys(bound_names(part), False)
    given = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    return {name for name, is_new in made.items() if is_new and name not in given}


def match_targets(targets: Sequence[ast.expr], value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, and what each is given: that of `a, b = x, y` is x, and y."""
    kinds = ast.Tuple | ast.List
    for target in targets:
        parts = [*target.elts, *value.elts] if isinstance(target, kinds) and isinstance(value, kinds) else []
        if not parts or len(target.elts) != len(value.elts) or any(isinstance(x, ast.Starred) for x in parts):  # type: ignore[attr-defined]  # tuples
            yield target, value
            continue
        for inner, part in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]  # tuples
            yield from match_targets([inner], part)


def bound_names(node: ast.AST) -> list[str]:
    """The variables that a statement other than an assignment gives values to, without those inside it."""
    if isinstance(node, ast.For):
        return assigned([node.target])
    if isinstance(node, ast.With):
        return assigned([item.optional_vars for item in node.items if item.optional_vars is not None])
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    return assigned([node])


def is_creation(value: ast.expr) -> bool:
    """Whether an expression makes a new array: `np.zeros(3)`, or arithmetic."""
    if isinstance(value, ast.BinOp):
        return True
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in CREATION


def aliases(value: ast.expr) -> set[str]:
    """The variables whose objects an expression may return or hold: `y`, `(y, z)`, `y if a else z`."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.Starred | ast.BoolOp):
        parts = [part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)]
        return {name for part in parts for name in aliases(part)}
    return set()
