"""A failing program made small: what is left still fails in the same check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tools.fuzz.oracles import Difference, examine
from tools.fuzz.prelude import quiet
from tools.fuzz.programs import Program


def smaller(program: Program) -> Iterator[Program]:
    """Programs with one part less."""
    yield from with_less_code(program)
    yield from with_less_data(program)
    yield from with_simpler_machines(program)


def with_less_code(program: Program) -> Iterator[Program]:
    """Programs with a term of the result, a statement or a line less, or that end earlier."""
    if not program.is_vector:
        parts = program.result.split(" + ")
        for part in parts if len(parts) > 1 else ():
            yield replace(program, result=part)
    for k in reversed(range(len(program.statements))):
        rest = program.statements[:k] + program.statements[k + 1 :]
        yield replace(program, statements=rest)
        shorter = replace(
            program, statements=program.statements[: k + 1], result=f"total({program.statements[k].target})"
        )
        if shorter.source != program.source:
            yield shorter
        lines = program.statements[k].text.splitlines()
        for j in range(1, len(lines)):
            fewer = replace(program.statements[k], text="\n".join(lines[:j] + lines[j + 1 :]))
            yield replace(program, statements=[*program.statements[:k], fewer, *program.statements[k + 1 :]])


def with_less_data(program: Program) -> Iterator[Program]:
    """Programs without an array that nothing uses, or with an input in plain layout."""
    for k, c in enumerate(program.captured):
        if c.name not in program.source:
            yield replace(program, captured=program.captured[:k] + program.captured[k + 1 :])
    for name in program.constants:
        if name not in program.source:
            yield replace(program, constants={other: a for other, a in program.constants.items() if other != name})
    body = program.source.split("\n", 1)[1]
    for k, argument in enumerate(program.inputs):
        if argument.name not in body and len(program.live) > 1:
            yield replace(program, inputs=program.inputs[:k] + program.inputs[k + 1 :])
        if argument.layout != "plain":
            yield replace(program, inputs=[replace(a, layout="plain") if a is argument else a for a in program.inputs])


def with_simpler_machines(program: Program) -> Iterator[Program]:
    """Programs for a machine less, or for machines with some fields, or one field, of this computer."""
    records = program.records
    for k in range(len(records) if len(records) > 1 else 0):
        yield replace(program, records=records[:k] + records[k + 1 :])
    names = sorted({name for record in records for name in record} - {"threads"})
    halves = [names[: len(names) // 2], names[len(names) // 2 :]] if len(names) > 3 else []
    for some in [*halves, *([name] for name in names)]:
        fewer = [{name: value for name, value in record.items() if name not in some} for record in records]
        yield replace(program, records=tuple(fewer))


def shrink(program: Program, differences: list[Difference], tries: int = 150) -> tuple[Program, list[Difference]]:
    """The smallest program found within some tries that shows a difference in the same check."""
    kind = kind_of(differences)
    found = True
    while found and tries > 0:
        found = False
        for candidate in smaller(program):
            tries -= 1
            if tries < 0:
                break
            try:
                with quiet():
                    candidate.load()[0](*candidate.at(0))
                some = examine(candidate, Counter(), [differences[0].by])
            except Exception:
                continue
            if some and kind_of(some) == kind:
                program, differences, found = candidate, some, True
                break
    return program, differences


def kind_of(differences: list[Difference]) -> tuple[str, str]:
    """What makes two failures the same one: the check, and the error if it was one."""
    last = differences[0].message.splitlines()[-1]
    return differences[0].check.split(" at other")[0], last.split(":")[0] if "Error" in last.split(":")[0] else ""
