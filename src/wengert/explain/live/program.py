"""The program that the page runs when an input is changed: every number that it shows, as JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine
from wengert.core.levels import bottom_array
from wengert.explain.live.javascript import CodeWriter, NoForm, literal
from wengert.graph.ir import Input, Node, Operation, topological_order
from wengert.modes.symbolic import Symbol


class LiveProgram(NamedTuple):
    """A function of the inputs as JavaScript, or the reason why there is none."""

    source: str = ""
    reason: str = ""


def write_program(inputs: Sequence[Input], outputs: Sequence[Any]) -> LiveProgram:
    """A function of the inputs that returns all outputs: symbols, numbers, or None.

    >>> from wengert.core.spec import Spec
    >>> x = Input(Spec((), np.dtype(float)), name="x")
    >>> print(write_program([x], [Symbol(x) * 2.0, None]).source)
    (x0) => {
    const v0 = (x0 * 2);
    return [v0, null];
    }
    """
    nodes = topological_order([out.value for out in outputs if isinstance(out, Symbol)])
    operations = [node for node in nodes if isinstance(node, Operation)]
    most = machine.current.max_operations_of_live_program
    if len(operations) > most:
        return LiveProgram(reason=f"it has {len(operations):,} operations, and at most {most:,} are recomputed")
    for node in (*inputs, *operations):
        if any(spec.size > machine.current.max_elements_of_live_array for spec in node.specs):
            return LiveProgram(reason=f"an array has more than {machine.current.max_elements_of_live_array} elements")
    writer = CodeWriter()
    writer.names = {node: f"x{i}" for i, node in enumerate(inputs)}
    try:
        for operation in operations:
            writer.add(operation)
        results = [write_output(writer, out) for out in outputs]
    except NoForm as error:
        return LiveProgram(reason=str(error))
    tables = [f"const {name} = {numbers};" for numbers, name in writer.tables.items()]
    arguments = ", ".join([writer.names[node] for node in inputs])
    lines = [*tables, f"({arguments}) => {{", *writer.statements, f"return [{', '.join(results)}];", "}"]
    if not tables:
        return LiveProgram("\n".join(lines))
    lines[len(tables)] = f"return {lines[len(tables)]}"
    return LiveProgram("\n".join(["(() => {", *lines, "})()"]))


def write_output(writer: CodeWriter, out: Any) -> str:
    """A result: a variable, or a literal."""
    if isinstance(out, Symbol):
        node: Node = out.value
        return writer.name(node)
    out = bottom_array(out)
    if out is None or isinstance(out, tuple | list):
        return "null"
    x = np.asarray(out)
    if x.dtype.kind == "c":
        raise NoForm("complex numbers are not recomputed in the page")
    return literal(x.astype(float).ravel().tolist() if x.ndim else float(x))
