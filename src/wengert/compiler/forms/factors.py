"""Small matrices are factored in registers, where they are used: there is no factorization in memory.

Eager code factors a matrix once, for all systems with it and for their derivatives. In a native program, operations on
one small matrix share its factorization if they are in one kernel, and to repeat it is as fast as to read it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import MatrixFunction, native_code
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.ops.linear_algebra.systems import _det_sign, _logdet, _solve


@lru_cache(256)
def drop_factors(graph: Graph) -> Graph:
    """The graph without the factorizations of small matrices, also in the bodies of its loops and choices."""
    return rebuild(graph, lambda node, _: without_factors(node))


machine.on_change(drop_factors.cache_clear)


def without_factors(node: Operation) -> Node | None:
    """An operation that does not use the factorization of a small matrix; None if it stays."""
    if node.primitive in (LOOP, SWITCH):
        return with_bodies(node)
    if not is_a(node, _solve, _logdet, _det_sign) or not node.args[-1].size:
        return None
    if not isinstance(native_code(node), MatrixFunction):
        return None
    *operands, factors = node.args
    none = Constant(np.empty((*factors.shape[:-2], 0, factors.shape[-1]), factors.dtype))
    return make_operation(node.primitive, [*operands, none], **node.params)


def with_bodies(node: Operation) -> Node | None:
    """A loop or choice whose bodies do without factorizations; None if they do already."""
    params = {name: drop_from_parameter(value) for name, value in node.params.items()}
    if all(params[name] is value for name, value in node.params.items()):
        return None
    return make_operation(node.primitive, node.args, **params)


def drop_from_parameter(value: Any) -> Any:
    """A parameter of a loop or choice: a graph, a tuple of graphs, or something else."""
    if isinstance(value, Graph):
        return drop_factors(value)
    if not isinstance(value, tuple) or not all(isinstance(part, Graph) for part in value):
        return value
    parts = tuple(map(drop_factors, value))
    return value if all(x is y for x, y in zip(parts, value, strict=True)) else parts
