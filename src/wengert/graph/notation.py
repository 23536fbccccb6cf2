"""How operations are written, in Python and in mathematics. Those without a notation are written as calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.aspects import Aspect
from wengert.graph.forms import ENTRIES
from wengert.ops.indexing.key import Hole, Index

COMPARISON, OR, XOR, AND, SHIFT, SUM, FRACTION, PRODUCT, SIGN, POWER, ATOM = range(11)
"""What binds more tightly is larger, in Python as in mathematics.

A fraction on one line is apart from products only in mathematics.
"""


class Infix(NamedTuple):
    """An operation between its two operands: the symbol in Python, in plain text and in LaTeX."""

    python: str | None
    plain: str
    latex: str
    precedence: int


class PrefixFunction(NamedTuple):
    """A function whose argument needs no parentheses, and whose powers are written behind its name."""

    plain: str
    latex: str


class NamedFunction(NamedTuple):
    """A function with parentheses that has another name in mathematics."""

    plain: str
    latex: str


class Fence(NamedTuple):
    """The signs before and after the operand, in plain text and in LaTeX."""

    before: str
    after: str
    latex_before: str
    latex_after: str


notation: Aspect[Infix | PrefixFunction | NamedFunction | Fence] = Aspect(
    "notation",
    "its sign or short name in formulas",
    rest="it is written by its name",
    filled_by=ENTRIES,
)
TRANSPARENT = NamedFunction("", "")
"""The notation of what mathematics does not write down: the same numbers in another form."""
LN = PrefixFunction("ln", r"\ln")


def write_literal(value: Any) -> str:
    """A parameter as Python source."""
    if isinstance(value, np.dtype):
        return f"np.{value.name}" if value.isnative and hasattr(np, value.name) else f"np.{value!r}"
    if isinstance(value, type) and issubclass(value, np.generic):
        return write_literal(np.dtype(value))
    if isinstance(value, tuple):
        return f"({', '.join(map(write_literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, Index):
        return f"Index({write_literal(value.key)}, {value.repeats})"
    if isinstance(value, Hole):
        return str(value)
    if isinstance(value, bool | int) or value is None:
        return repr(value)
    return write_number(value) if isinstance(value, float | complex | np.generic) else repr(value)


def write_number(value: Any) -> str:
    """A number as Python source, exactly; NumPy's scalars keep their type."""
    if isinstance(value, np.generic | np.ndarray):
        return f"np.{value.dtype.name}({write_number(_shortest(value))})"
    if isinstance(value, complex):
        plain = repr(value)
        exact = not any(part in plain for part in ("nan", "inf")) and repr(eval(plain)) == plain
        return plain if exact else f"complex({write_number(value.real)}, {write_number(value.imag)})"
    if isinstance(value, float) and value - value != 0.0:
        return "np.nan" if value != value else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _shortest(value: Any) -> Any:
    """A NumPy scalar as the Python number with the fewest digits that gives it back."""
    exact = value.item()
    if isinstance(exact, float) and exact - exact == 0.0:
        short = float(str(value[()]))
        return short if value.dtype.type(short) == value else exact
    return exact


def write_key(index: Index, arrays: list[str]) -> str:
    """The source between the brackets of `x[...]`, given the source of its arrays."""
    parts = index.key if isinstance(index.key, tuple) else (index.key,)
    texts = iter(arrays)

    def write(part: Any) -> str:
        if isinstance(part, Hole):
            return next(texts)
        if isinstance(part, slice):
            bounds = ["" if b is None else str(b) for b in (part.start, part.stop, part.step)]
            return ":".join(bounds if bounds[2] else bounds[:2])
        return "..." if part is ... else str(part)

    whole = ", ".join(map(write, parts))
    tuple_of_one = isinstance(index.key, tuple) and len(parts) == 1 and not isinstance(parts[0], Hole)
    return "()" if not parts else f"{whole}," if tuple_of_one else whole
