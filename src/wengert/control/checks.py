"""Assertions in programs: what must hold when the program runs, or an error of the user's is raised.

A trace collects them. They become part of its first result, so that they run exactly if the program does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.definition import Definition
from wengert.core.kinds import keep_params
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.ir import Node, make_operation


class Failure(NamedTuple):
    """An error that a program may raise."""

    kind: type[Exception]
    args: tuple[Any, ...]
    line: str

    def error(self) -> Exception:
        """The error, with the line of the user's that it is about."""
        error = self.kind(*self.args)
        error.add_note(f"This was checked at {self.line}, in a compiled or traced function.")
        return error


def run_require(x: Any, holds: Any, failure: Failure) -> Any:
    """A copy of x, or the error."""
    if not np.all(holds):
        raise failure.error()
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(holds))).copy()


REQUIRE = Primitive(
    Definition(
        name="require",
        impl=run_require,
        kind="general",
        inputs=("x", "holds"),
        takes_params=True,
        rules=(lambda t: t, None),
        jvps=(lambda t: t, None),
        batch=keep_params,
        spec=lambda x, holds, failure: Spec.of(x),
    )
)
"""The first operand, if the second is true."""


def attach_checks(outputs: Sequence[Node], checks: Sequence[tuple[Node, Failure]]) -> list[Node]:
    """The outputs of a graph, the first of which is computed only if all checks hold."""
    new = list(outputs)
    for holds, failure in checks if new else ():
        new[0] = make_operation(REQUIRE, [new[0], holds], failure=failure)
    return new
