"""Functions of C for elementwise operations: those of <math.h>, and small static functions for what C99 lacks.

An operation that has no entry is written by its lowering (`compiler/aspects/`), if that is arithmetic and choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.forms.lowering import common_kind
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type
from wengert.core.aspects import Aspect
from wengert.export.c_source.static_functions import static_functions
from wengert.export.c_source.terms import CCode, Term
from wengert.graph.ir import Operation

ENTRIES = ("wengert.export.c_source.aspects",)
"""The modules that say how operations are computed in C."""


class CFunction(NamedTuple):
    """The functions of C that compute an operation: of floats, of integers.

    A function that `static_functions.py` has is part of the file; others are those of <math.h>. With `is_predicate`, it
    gives a condition.
    """

    floats: str | None = None
    integers: str | None = None
    is_predicate: bool = False

    def name_for(self, node: Operation) -> str | None:
        """The function for the dtypes of a node."""
        kind = common_kind([a.operand for a in node.args], node.spec)[0]
        return (
            {"f": self.floats, "i": self.integers}.get(kind) if node.dtype.kind in "fi" or self.is_predicate else None
        )


c_function: Aspect[CFunction] = Aspect(
    "c_function",
    "the function of C that computes it",
    rest="its lowering is written in C, or it has no form in C",
    filled_by=ENTRIES,
)


def write_function(code: CCode, node: Operation, operands: Sequence[Lanes], name: str) -> Term:
    """A call of the function of an operation. Static functions compute in double precision."""
    out, kind = Type.from_dtype(node.dtype), common_kind([a.operand for a in node.args], node.spec)
    is_static = name in static_functions()
    computed = ("f64" if is_static else kind) if kind[0] == "f" else "i64"
    arguments = [x.to(computed) for x in operands]
    suffix = "f" if computed == "f32" and out.is_float else ""
    found = c_function.of(node.primitive)
    given = Type("i1" if found is not None and found.is_predicate else computed)  # macros of <math.h>
    return code.function(name + suffix, given, arguments).to(out.kind)
