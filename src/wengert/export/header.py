"""The C header of an exported function: its documentation, the sizes of its arrays and of its arena, its prototype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from wengert.compiler.forms.failures import FAILURES
from wengert.compiler.program.program import FIRST_FAILURE, NO_MEMORY, RAISED
from wengert.export.interface import Interface, Parameter, Sparse, unused_name

WIDTH = 100
FAILED_ROUTINE = "a matrix is singular, or not positive definite"


def write_header(interface: Interface, arena: int, origin: str, allocates: bool = False) -> str:
    """The header; `origin` says what made it, `allocates` whether it calls `realloc`."""
    guard = f"{interface.name.upper()}_H"
    parts = [
        f"/* {interface.name}: {as_comment(interface.summary)}. Made by {origin}. */",
        f"#ifndef {guard}\n#define {guard}",
        "#include <stdint.h>",
        "\n".join(write_sizes(interface, arena)),
        *([write_pattern(interface.name, interface.sparse)] if interface.sparse else []),
        '#ifdef __cplusplus\nextern "C" {\n#endif',
        f"{write_documentation(interface, arena, allocates)}\n{write_prototype(interface)};",
        "#ifdef __cplusplus\n}\n#endif",
        f"#endif /* {guard} */",
    ]
    return "\n\n".join(parts) + "\n"


def write_sizes(interface: Interface, arena: int) -> Iterator[str]:
    """The numbers of elements, and the bytes of the arena, as macros."""
    prefix = interface.name.upper()
    yield f"#define {prefix}_ARENA {arena} /* bytes */"
    taken: set[str] = set()
    for p in (*interface.inputs, *interface.outputs):
        yield f"#define {prefix}_{unused_name(p.name.upper(), taken)}_SIZE {p.length}"


def write_prototype(interface: Interface, name: str | None = None) -> str:
    """The declaration of the function, without the semicolon."""
    inputs = [f"const {p.c_type} *{p.name}" for p in interface.inputs]
    outputs = [f"{p.c_type} *{p.name}" for p in interface.outputs]
    return f"int32_t {name or interface.name}({', '.join([*inputs, *outputs, 'void *arena'])})"


def write_documentation(interface: Interface, arena: int, allocates: bool) -> str:
    """The comment before the prototype."""
    width = max(map(len, ["arena", *[p.name for p in (*interface.inputs, *interface.outputs)]]))
    row = lambda name, text: f" *   {name:{width}}  {text}"
    memory = (
        f"memory of {interface.name.upper()}_ARENA bytes for intermediate results, at any address, one for each thread"
        if arena
        else "not used, may be NULL"
    )
    lines = [
        f"/* {as_comment(interface.summary)}.",
        " *",
        " * Arrays are stored by rows (C order) and do not overlap; results are written.",
        *([" * Complex numbers are pairs of a real and an imaginary part."] if has_complex(interface) else []),
        " *",
        *[row(p.name, f"argument {as_comment(p.path)}, {describe_array(p)}") for p in interface.inputs],
        *[row(p.name, f"{as_comment(p.path)}, {describe_array(p)}") for p in interface.outputs],
        row("arena", memory),
        " *",
        " * Returns 0, or if it fails:",
        *[f" *   {status}: {text}" for status, text in failures()],
        " *",
        f" * It {'may allocate memory' if allocates else 'allocates nothing'}, has no state, "
        "and may be called by several threads at once.",
        " */",
    ]
    return "\n".join(lines)


def as_comment(text: str) -> str:
    """A text that does not end the comment that it is in."""
    return text.replace("*/", "* /")


def has_complex(interface: Interface) -> bool:
    """Whether an array has complex numbers."""
    return any(p.spec.dtype.kind == "c" for p in (*interface.inputs, *interface.outputs))


def describe_array(p: Parameter) -> str:
    """Shape and dtype, as a reader of C wants to know them."""
    shape = " x ".join(map(str, p.spec.shape)) if p.spec.shape else "one number"
    return f"{shape}, {p.spec.dtype}"


def failures() -> list[tuple[int, str]]:
    """What the numbers mean that a failed call returns; neighbours with one meaning are together."""
    known = [(RAISED, FAILED_ROUTINE), (NO_MEMORY, "there is no memory")]
    for start, group in groupby(FAILURES, key=lambda failure: failure.what.split(":")[0]):
        members = list(group)
        number = FIRST_FAILURE + members[0].bit
        if len(members) > 1:
            start = f"{start} (up to {number + len(members) - 1}: at which index of the diagonal)"
        known.append((number, start[0].lower() + start[1:]))
    return known


def write_pattern(name: str, sparse: Sparse) -> str:
    """The pattern of a sparse matrix, by rows, and its colours."""
    pattern, coloring = sparse
    prefix = name.upper()
    kind = "rows" if coloring.kind == "row" else "columns"
    return "\n".join(
        [
            f"/* The result has the entries of a sparse matrix, row after row: entry k is in column {name}_columns[k],",
            f" * and the entries of row i are those from {name}_row_starts[i] on, before {name}_row_starts[i + 1].",
            f" * They are computed by {coloring.number} products; {kind} of one colour are computed together. */",
            f"#define {prefix}_ROWS {pattern.shape[0]}",
            f"#define {prefix}_COLUMNS {pattern.shape[1]}",
            f"#define {prefix}_ENTRIES {pattern.nnz}",
            f"#define {prefix}_COLORS {coloring.number}",
            write_table(f"{name}_row_starts", pattern.indptr),
            write_table(f"{name}_columns", pattern.indices),
            write_table(f"{name}_colors", coloring.colors),
        ]
    )


def write_table(name: str, values: Sequence[int] | np.ndarray) -> str:
    """A table of integers."""
    rows, line = [], "   "
    for value in map(int, values):
        if len(line) + len(str(value)) + 2 > WIDTH:
            rows.append(line)
            line = "   "
        line += f" {value},"
    table = "\n".join([*rows, line.rstrip(",")])
    return f"static const int32_t {name}[{max(len(values), 1)}] = {{\n{table if len(values) else '    0'}\n}};"
