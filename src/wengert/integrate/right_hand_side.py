"""The right-hand side of a differential equation as a graph, on the parts of the state.

A state of few components is kept as that many numbers, which native loops hold in registers; a larger one is one
vector. So a method is written once, on lists of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.bodies import close_function
from wengert.core import machine, tree
from wengert.core.primitive import SHAPED
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.passes import run_until_stable
from wengert.graph.passes.dead import remove_dead
from wengert.graph.passes.views import merge_views
from wengert.integrate.flow import time_derivative
from wengert.ops.shape.joining import stack
from wengert.transforms.products import jvp

TIME = Spec((), np.dtype(float))

Parts = list[Any]


class RightHandSide:
    """y' = fun(t, y, *args), traced once. What `fun` captured becomes an operand of the graph."""

    def __init__(self, fun: Callable, y0: Any, args: tuple):
        self.n, self.dtype = y0.shape[0], y0.dtype
        self.is_vector = self.n > machine.current.max_components_of_written_state
        leaves, structure = tree.flatten(args)
        arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf, SHAPED)]
        part = Spec((self.n,) if self.is_vector else (), self.dtype)
        count = 1 if self.is_vector else self.n

        def flat(symbols: list[Any]) -> list[Any]:
            t, parts, values = symbols[0], symbols[1 : 1 + count], symbols[1 + count :]
            whole = list(leaves)
            for i, value in zip(arrays, values, strict=True):
                whole[i] = value
            return self.split(time_derivative(fun, t, self.join(parts), tree.unflatten(structure, whole)))

        specs = [TIME, *[part] * count, *[Spec.of(leaves[i]) for i in arrays]]
        body, captured = close_function(flat, specs, "solve_ivp")
        self.body: Graph = run_until_stable(body, (remove_dead, merge_views))
        self.operands = [*[leaves[i] for i in arrays], *captured]

    def split(self, y: Any) -> Parts:
        """The parts of a state."""
        return [y] if self.is_vector else [y[i] for i in range(self.n)]

    def join(self, parts: Sequence[Any]) -> Any:
        """The state of these parts, as a vector."""
        return parts[0] if self.is_vector else stack(list(parts))

    def rate(self, t: Any, y: Sequence[Any]) -> Parts:
        """The derivative with respect to time."""
        return self.body.run([t, *y, *self.operands])

    @property
    def is_autonomous(self) -> bool:
        """Whether the right-hand side does not depend on time itself."""
        return self.body.count_uses().get(self.body.inputs[0], 0) == 0

    def time_slope(self, t: Any, y: Sequence[Any]) -> Parts:
        """The partial derivative of the right-hand side with respect to time."""
        return list(jvp(lambda t: tuple(self.rate(t, y)), (t,), (np.float64(1.0),))[1])

    def jacobian(self, t: Any, y: Sequence[Any]) -> list[Parts]:
        """The derivatives of the parts with respect to the parts: of numbers, in rows of numbers."""
        columns = []
        for j, part in enumerate(y):

            def along(x: Any, j: int = j) -> tuple[Any, ...]:
                return tuple(self.rate(t, [*y[:j], x, *y[j + 1 :]]))

            columns.append(jvp(along, (part,), (np.ones((), self.dtype)[()],))[1])
        return [list(row) for row in zip(*columns, strict=True)]
