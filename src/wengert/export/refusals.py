"""Operations that cannot be exported, listed in one error with the user's lines."""

from __future__ import annotations

from wengert.compiler.program.program import Program
from wengert.control.loop import LOOP
from wengert.core.errors import user_error
from wengert.export.linear_algebra import FUNCTIONS
from wengert.graph.ir import Operation


class ExportError(TypeError):
    """A function has operations that cannot run where there is no Python."""


def refuse_operations(program: Program) -> None:
    """Raise an error if a program needs NumPy, LAPACK, or memory that grows."""
    reasons = [
        (node, "keeps as many values as it has steps; allow it to allocate memory (allocate=True)")
        if node.primitive is LOOP and node.params["shape"].length is None
        else (node, "has no native code for these operands")
        for node in program.refused
    ]
    users = dict(program.blas_users)
    missing = [name for name in program.blas_functions if name not in FUNCTIONS]
    reasons += [(users[name], f"calls {name} of LAPACK") for name in missing if name in users]
    lines = list(dict.fromkeys([describe_refusal(node, reason) for node, reason in reasons]))
    lines += [f"an operation that calls {name} of LAPACK" for name in missing if name not in users]
    if lines:
        raise user_error(
            ExportError,
            f"Of this function, {len(lines)} operation{'s' if len(lines) > 1 else ''} cannot run without Python:\n  "
            + "\n  ".join(lines)
            + "\nThe function was exported",
            "Write them with other operations, or leave them to the caller.",
        )


def describe_refusal(node: Operation, reason: str) -> str:
    """An operation with its operands, its line, and why it cannot be exported."""
    operands = ", ".join([repr(a.spec) for a in node.args])
    line = f"at {node.source.source_line}" if node.source is not None else "at an unknown line"
    return f"{node.primitive.name}({operands}) {line}, which {reason}"
