"""Programs from numbers.

A program grows a statement at a time. Each one is run at once, on plain arrays at every point, and kept if its result
is of a moderate size everywhere; so statements need no inference of shapes, and a program is a function of its seed
alone.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tools.fuzz.programs import POINTS, Captured, Input, Program
from tools.fuzz.scope import NoStatement, Scope
from tools.fuzz.statements import FAMILIES

LAYOUTS = ["plain", "plain", "fortran", "strided", "reversed", "read-only", "scalar"]
SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (4,), (2, 3), (3, 1), (1, 3), (3, 3), (2, 1, 3), (2, 2, 2), (5,)]
UNUSUAL: list[tuple[int, ...]] = [(1, 1), (0,), (0, 3), (2, 0), (1, 1, 1), (7,)]
DTYPES = [np.float64] * 7 + [np.float32, np.complex128]


def numbers(scope: Scope, shape: tuple[int, ...], dtype: type, count: int) -> list[np.ndarray]:
    rng = scope.rng
    if dtype is np.int64:
        return [rng.integers(0, 3, shape) for _ in range(count)]
    if dtype is np.bool_:
        return [rng.random(shape) < 0.5 for _ in range(count)]
    imaginary = 1j if np.dtype(dtype).kind == "c" else 0.0
    return [
        (rng.uniform(-1.8, 1.8, shape) + imaginary * rng.uniform(-1.0, 1.0, shape)).astype(dtype) for _ in range(count)
    ]


def shape_of(scope: Scope) -> tuple[int, ...]:
    return scope.one_of(UNUSUAL if scope.chance(0.06) else SHAPES)


def generate(seed: int, index: int, without: Collection[str] = (), state: bool = False) -> Program:
    """The program of this number, without statements of some families.

    With `state`, one that assigns to the tensors that it captures.
    """
    program = Program((seed, index))
    scope = Scope(program, np.random.default_rng([seed, index]))
    for i in range(scope.number(1, 3)):
        dtype = scope.one_of(DTYPES)
        program.inputs.append(Input(f"x{i}", numbers(scope, shape_of(scope), dtype, POINTS), scope.one_of(LAYOUTS)))
    if scope.chance(0.3):
        program.inputs.append(
            Input("n", numbers(scope, scope.one_of(SHAPES), scope.one_of([np.int64, np.int64, np.bool_]), POINTS))
        )
    if state or ("captured" not in without and scope.chance(0.5)):
        for i in range(scope.number(1, 2)):
            dtype = scope.one_of(DTYPES[2:] if i else DTYPES[:7])
            program.captured.append(
                Captured(f"c{i}", numbers(scope, scope.one_of(SHAPES), dtype, 2), scope.chance(0.5))
            )
    for argument in program.inputs:
        scope.enter(argument.name, [argument.at(point) for point in range(POINTS)])
    for c in program.captured:
        scope.enter(c.name, [c.values[point % 2] for point in range(POINTS)])
    some = {family: makers for family, makers in FAMILIES.items() if family not in without}
    grow(scope, some, scope.number(3, 12))
    finish(program, scope, state)
    return program


def grow(scope: Scope, families: dict[str, tuple], wanted: int) -> None:
    """Add so many statements of some families."""
    program = scope.program
    makers = [(family, maker) for family, (weight, *some) in families.items() for maker in some for _ in range(weight)]
    for _ in range(10 * wanted):
        if len(program.statements) == wanted:
            break
        family, maker = scope.one_of(makers)
        try:
            text = maker(scope)
        except NoStatement:
            continue
        scope.add(family, text)


def finish(program: Program, scope: Scope, state: bool) -> None:
    """The result: one number from all that nothing else uses, or a few numbers."""
    parts = [f"total({name})" for name in scope.unused if scope[name].dtype.kind in "fc" or scope.chance(0.2)]
    program.result = (
        f"np.stack([{', '.join(parts)}])" if len(parts) > 1 and scope.chance(0.2) else " + ".join(parts) or "total(x0)"
    )
    if state:
        is_leaf = any(c.requires_grad for c in program.captured)
        program.updates = tuple(
            [line for c in program.captured for line in update(scope, c, names, is_leaf)]
            for names in (["x0"], scope.names)
        )


def update(scope: Scope, c: Captured, names: list[str], is_leaf: bool) -> list[str]:
    """Lines that assign to a captured tensor."""
    shape, dtype = c.values[0].shape, c.values[0].dtype
    name = scope.one_of([n for n in names if scope[n].dtype.kind in "fc"])
    value = f"0.1 * np.real(fit({name}, {shape})).astype(np.{dtype})"
    line = scope.one_of(
        ["{c} += {value}", "{c}[...] = {value} + {c}", "{c} -= {value} * {c}", "{c} *= 0.5", "{c}[...] = {value}"]
    )
    line = line.format(c=c.name, value=value)
    return ["with wg.no_grad():", f"    {line}"] if is_leaf else [line]
