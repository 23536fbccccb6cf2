"""Which variables statements read and assign, for the rewriting of branches and loops."""

from __future__ import annotations

import ast
from collections.abc import Iterable


class Names(ast.NodeVisitor):
    """The names that some statements of one function assign and read; nested functions count as reads."""

    def __init__(self, nodes: Iterable[ast.AST]):
        self.assigned: dict[str, None] = {}
        self.read: dict[str, None] = {}
        self.appended: dict[str, None] = {}
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A use of a variable."""
        (self.read if isinstance(node.ctx, ast.Load) else self.assigned)[node.id] = None

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """`x += v` reads and assigns x."""
        if isinstance(node.target, ast.Name):
            self.read[node.target.id] = None
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """`x[i] = v` assigns a new value to x."""
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            self.assigned[node.value.id] = None
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A nested function: its name is assigned, its free variables are read."""
        self.assigned[node.name] = None
        self.read |= free_names(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A nested function without a name."""
        self.read |= free_names(node)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        """A comprehension has variables of its own."""
        self.visit_comprehension_of(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # type: ignore[assignment]  # alike

    def visit_comprehension_of(self, node: ast.AST) -> None:
        """The names that a comprehension reads."""
        inner = Names(ast.iter_child_nodes(node))
        self.read |= {name: None for name in inner.read if name not in inner.assigned}

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """One `for` of a comprehension."""
        self.generic_visit(node)


def free_names(node: ast.FunctionDef | ast.Lambda) -> dict[str, None]:
    """The names that a function reads and does not define."""
    body = node.body if isinstance(node.body, list) else [node.body]
    inner = Names([*body, *node.args.defaults])
    given = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    return {name: None for name in inner.read if name not in given and name not in inner.assigned}
