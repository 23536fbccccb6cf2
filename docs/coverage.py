"""Write docs/coverage.md: every operation of the table, and how each mode runs it. `python docs/coverage.py` writes the page anew."""

from __future__ import annotations

from pathlib import Path

from wengert.core.kinds import unchanged
from wengert.core.primitive import TABLE, Primitive
from wengert.modes.batch import RULES

PAGE = Path(__file__).with_name("coverage.md")

INTRODUCTION = """# Every operation in every mode

This page is generated from the table of operations (`python docs/coverage.py`). An operation is declared once; this is what each mode
makes of it.

- **reverse**: *rule*, the operation's derivative, one line per argument; *transpose*, that of a linear or multilinear operation.
- **forward**: *same rule*, because an elementwise rule is its own transpose; *itself*, a linear operation on tangents; *rule, summed*, for
  reductions.
- **Taylor**: *each coefficient*, for linear operations; *convolution*, for products; *recurrence*, where the table has one; *from the
  derivative*, the rule solved as a differential equation, order by order.
- **batch**: *aligned*, one call on arrays with one more axis; *shifted*, one call with metadata for one more axis; *rule*, one call,
  arranged by hand; *loop*, one call for each element.

| operation | kind | reverse | forward | Taylor | batch | remarks |
|---|---|---|---|---|---|---|
"""

REVERSE = {"linear": "transpose", "multilinear": "transposes"}
FORWARD = {
    "elementwise": "same rule",
    "linear": "itself",
    "multilinear": "itself, by argument",
    "reduction": "rule, summed",
    "general": "rule",
}


def row(primitive: Primitive) -> str:
    kind = primitive.kind
    if kind == "nondifferentiable":
        cells = ["-", "-", "-", batch(primitive), f"no derivative: {primitive.reason}"]
    else:
        cells = [REVERSE.get(kind, "rule"), FORWARD[kind], taylor(primitive), batch(primitive), remarks(primitive)]
    return f"| `{primitive.name}` | {kind} | {' | '.join(cells)} |"


def taylor(primitive: Primitive) -> str:
    if primitive.kind == "linear" or (primitive.kind == "elementwise" and not primitive.wanted):
        return "each coefficient"
    if primitive.kind == "multilinear":
        return "convolution"
    return "recurrence" if primitive.taylor else "from the derivative"


def batch(primitive: Primitive) -> str:
    if primitive.kind == "elementwise" or primitive.batch is unchanged:
        return "aligned"
    return "rule" if primitive.name in RULES else "shifted" if primitive.batch else "loop"


def remarks(primitive: Primitive) -> str:
    chosen = [f"({', '.join(map(number, at))}) → ({', '.join(map(number, slopes))})" for at, slopes in primitive.singular.items()]
    constant = [name for name, rule in zip(primitive.inputs, primitive.rules, strict=False) if rule is None and not name.startswith("*")]
    notes = [f"derivative chosen at {'; '.join(chosen)}"] if chosen else []
    notes += [f"constant in {', '.join(constant)}"] if constant else []
    return "; ".join(notes)


def number(x: float) -> str:
    return f"{x:g}".replace("inf", "∞")


def page() -> str:
    return INTRODUCTION + "\n".join(row(TABLE[name]) for name in sorted(TABLE)) + "\n"


if __name__ == "__main__":
    import wengert  # noqa: F401  # fills the table

    PAGE.write_text(page())
