"""Write docs/coverage.md: every operation of the table, how each mode runs it, and what each layer adds to it.

`python docs/coverage.py` writes the page.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

import wengert
import wengert.distributed  # enters its operation in the table
from wengert.compiler.forms.classify import Form, form_of
from wengert.compiler.forms.expand import expand
from wengert.core.aspects import ASPECTS, Aspect
from wengert.core.errors import TrackedValueError
from wengert.core.infer import is_elementwise
from wengert.core.kinds import Case, case, keep_params
from wengert.core.primitive import TABLE, Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.modes.batching import batching
from wengert.transforms.tracing import trace as traced

PAGE = Path(__file__).with_name("coverage.md")

INTRODUCTION = """# Every operation in every mode

This page is generated from the table of operations (`python docs/coverage.py`). An operation is declared once; the
table shows how each mode runs it.

- **reverse**: *rule*, the operation's derivative, one line per argument; *transpose*, that of a linear or multilinear
  operation.
- **forward**: *same rule*, because an elementwise rule is its own transpose; *itself*, a linear operation on tangents;
  *rule, summed*, for reductions.
- **Taylor**: *each coefficient*, for linear operations; *convolution*, for products; *recurrence*, where the table has
  one; *from the derivative*, the rule solved as a differential equation, order by order.
- **reverse**, **forward**, **Taylor** and **batch** of [control flow](control.md): *derived body*, the operation over
  another body, which follows from its own.
- **batch**: *aligned*, one call on arrays with one more axis; *shifted*, one call with parameters for one more axis;
  *rule*, one call, by a rule for batches; *loop*, one call for each element.
- **trace**, how a [graph](graph.md) gets shape and dtype without numbers: *broadcast* and *axes*, the shape by the
  rule of the kind and the dtype from NumPy on one element; *example*, from NumPy's result for zeros that take no
  memory; *rule*, a rule of this operation; *refused*, an error, because the shape depends on the numbers.
- **compiled**, how [the compiler](compile.md) runs it in double precision (single precision is the same; for
  complex numbers see *complex_lowering* below): *native*, loops that fuse with their neighbours; *routine*, a step of
  its own, such as a call of BLAS; *NumPy*, NumPy's implementation between native parts. Where there are two, it
  depends on sizes, dtypes or keys.

| operation | kind | reverse | forward | Taylor | batch | trace | compiled | remarks |
|---|---|---|---|---|---|---|---|---|
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
    if kind == "control":
        return f"| `{primitive.name}` | {kind} | {' | '.join([BODY, BODY, *control(primitive)])} | |"
    if kind == "nondifferentiable":
        cells, remark = ["-", "-", "-"], f"no derivative: {primitive.definition.reason}"
    else:
        cells, remark = [REVERSE.get(kind, "rule"), FORWARD[kind], taylor(primitive)], remarks(primitive)
    cells += [batch(primitive), *symbolic(primitive), remark]
    return f"| `{primitive.name}` | {kind} | {' | '.join(cells)} |"


BODY = "derived body"
PROGRAMS = {
    "distributed_sum": lambda x: wengert.distributed.sum(lambda w, s: (w * s).sum(), [np.ones(3)])(x),
    "loop": lambda x: wengert.scan(lambda s, u: (wengert.sin(s) * u, s), x[0], x),
    "switch": lambda x: wengert.cond(x[0] > 0, wengert.sin, wengert.cos, x),
}
"""A program for each operation of control flow."""


def control(primitive: Primitive) -> list[str]:
    """How an operation that holds graphs runs in Taylor mode, on a batch, in a trace and compiled."""
    return [BODY, BODY, "rule", way(traced(PROGRAMS[primitive.name], np.ones(3)))]


def taylor(primitive: Primitive) -> str:
    if primitive.kind == "linear" or (primitive.kind == "elementwise" and not primitive.wanted):
        return "each coefficient"
    if primitive.kind == "multilinear":
        return "convolution"
    return "recurrence" if primitive.definition.taylor else "from the derivative"


def batch(primitive: Primitive) -> str:
    if primitive.kind == "elementwise" or primitive.definition.batch is keep_params:
        return "aligned"
    return "rule" if primitive in batching.entries else "shifted" if primitive.definition.batch else "loop"


LARGE = {"matmul": [case((64, 64), (64, 64))], "einsum": [case((64, 64), (64, 64), subscripts="ij,jk->ik")]}
"""Cases beside those of the tests: products that are left to BLAS."""

ON_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift")


def cases(primitive: Primitive) -> Iterator[Case]:
    """Arguments to trace an operation with: those of its tests that have elements, or vectors."""
    yield from [
        c for c in primitive.trial.cases if all(np.prod(a if isinstance(a, tuple) else np.shape(a)) for a in c.args)
    ]
    yield from LARGE.get(primitive.name, ())
    if not primitive.trial.cases:
        dtypes = [
            "?" if name == "condition" else "i8" if primitive.name in ON_INTEGERS else "f8" for name in primitive.inputs
        ]
        yield Case(tuple([np.ones(3, dtype) for dtype in dtypes]), primitive.trial.params)


def symbolic(primitive: Primitive) -> tuple[str, str]:
    """How an operation is traced, and how it is compiled: what its cases show."""
    refused, ways = False, set()
    for args, params in cases(primitive):
        specs = [Spec(a, np.dtype(np.float64)) if isinstance(a, tuple) else a for a in args]
        try:
            ways.add(way(traced(lambda *x, params=params: primitive.op(*x, **params), *specs)))
        except TrackedValueError:
            refused = True
    shapes = [shape_rule(primitive)] * bool(ways) + ["refused"] * refused
    return " or ".join(shapes), " or ".join(sorted(ways, key=WAYS.index)) or "-"


WAYS = ("native", "routine", "NumPy")


def way(graph: Graph) -> str:
    """The least native of what a graph is made of."""
    forms = {form_of(node, ()) for node in expand(graph).nodes}
    return "NumPy" if Form.FALLBACK in forms else "routine" if Form.ROUTINE in forms else "native"


def shape_rule(primitive: Primitive) -> str:
    if primitive.definition.spec is not None:
        return "rule"
    if is_elementwise(primitive):
        return "broadcast"
    return "axes" if any("keepdims" in params for _, params in primitive.trial.cases) else "example"


def remarks(primitive: Primitive) -> str:
    chosen = [
        f"({', '.join(map(number, at))}) → ({', '.join(map(number, slopes))})"
        for at, slopes in primitive.trial.singular.items()
    ]
    constant = [
        name
        for name, rule in zip(primitive.inputs, primitive.definition.rules, strict=False)
        if rule is None and not name.startswith("*")
    ]
    notes = [f"derivative chosen at {'; '.join(chosen)}"] if chosen else []
    notes += [f"constant in {', '.join(constant)}"] if constant else []
    return "; ".join(notes)


def number(x: float) -> str:
    return f"{x:g}".replace("inf", "∞")


ASPECTS_INTRODUCTION = """
# What each layer adds to every operation

Layers add what they need to the table, as *aspects*: **●** is an entry for the operation, **○** is the default for its
kind. Where there is neither, the reason is given here or below the table.

"""


def aspects() -> list[Aspect]:
    """Every aspect, filled: modules and folders with the name `aspects` have the entries."""
    found = [
        name
        for _, name, _ in pkgutil.walk_packages(wengert.__path__, "wengert.", onerror=None)
        if "aspects" in name.split(".")
    ]
    for name in found:
        import_module(name)
    return [ASPECTS[name] for name in sorted(ASPECTS)]


def mark(aspect: Aspect, primitive: Primitive) -> str:
    return "●" if primitive in aspect.entries else "○" if primitive in aspect else " "


def gaps() -> list[str]:
    """Operations without an entry for an aspect, of which nobody said why."""
    pairs = [(aspect, primitive) for aspect in aspects() for primitive in TABLE.values()]
    return [f"{aspect.name} of {p.name}" for aspect, p in pairs if p not in aspect and aspect.reason(p) is None]


def meanings(aspect: Aspect) -> Iterator[str]:
    """What an aspect is, and what happens to operations without it."""
    yield f"- **{aspect.name}**: {aspect.meaning}."
    if isinstance(aspect.rest, str):
        yield f" Otherwise {aspect.rest}." if aspect.rest else ""
    else:
        for reason in dict.fromkeys(aspect.rest.values()):
            kinds = [kind for kind, other in aspect.rest.items() if other == reason]
            yield f" Otherwise, for {', '.join(kinds)} operations: {reason}."


def own_reasons(aspect: Aspect) -> Iterator[str]:
    """The reasons that are those of single operations."""
    for reason in dict.fromkeys(aspect.reasons.values()):
        names = [f"`{p.name}`" for p, other in aspect.reasons.items() if other == reason]
        yield f"- **{aspect.name}**, not for {', '.join(names)}: {reason}."


def aspects_page() -> str:
    known = aspects()
    rows = ["\n".join("".join(meanings(aspect)) for aspect in known), ""]
    rows += [f"| operation | {' | '.join(aspect.name for aspect in known)} |", f"|---|{'---|' * len(known)}"]
    rows += [f"| `{name}` | {' | '.join(mark(aspect, TABLE[name]) for aspect in known)} |" for name in sorted(TABLE)]
    return (
        ASPECTS_INTRODUCTION
        + "\n".join([*rows, "", *[line for aspect in known for line in own_reasons(aspect)]])
        + "\n"
    )


def page() -> str:
    return INTRODUCTION + "\n".join(row(TABLE[name]) for name in sorted(TABLE)) + "\n" + aspects_page()


if __name__ == "__main__":
    PAGE.write_text(page())
