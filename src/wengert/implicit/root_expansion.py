"""The root of an equation in compiled functions: the loop that solves it."""

from __future__ import annotations

from typing import Any

from wengert.compiler.forms.expand import expand
from wengert.compiler.forms.lowering import expansion
from wengert.graph.graph import Graph
from wengert.implicit.root_operation import ROOT, RootProblem
from wengert.modes.symbolic import Symbol


@expansion(ROOT.op)
def expand_root(x: Any, *operands: Any, problem: RootProblem) -> Any:
    """The solver's operations, expanded as well."""
    found = problem.solve(x, operands)
    (node,) = expand(Graph([], [found.node])).outputs
    return Symbol(node)
