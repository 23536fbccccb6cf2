"""Programs made and examined one after the other, or by several processes at once."""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tools.fuzz.generate import generate
from tools.fuzz.large import check_large, generate_large
from tools.fuzz.machines import check_machines, generate_for_machines
from tools.fuzz.oracles import Difference, Run, examine
from tools.fuzz.programs import Program
from tools.fuzz.schedules import check_schedules, generate_for_schedules
from tools.fuzz.shrink import shrink


class Kind(NamedTuple):
    """How the programs of one kind are made, from a seed and a number, and examined beside what all programs are."""

    generate: Callable[[int, int], Program]
    check: Callable[[Run], None]


KINDS = {
    "machines": Kind(generate_for_machines, check_machines),
    "schedules": Kind(generate_for_schedules, check_schedules),
    "large": Kind(generate_large, check_large),
}
"""The kinds beside programs in every mode."""


def work(task: tuple[int, argparse.Namespace]) -> tuple[int, Counter[str], Program | None, list[Difference]]:
    index, chosen = task
    counts: Counter[str] = Counter()
    kind = KINDS.get(chosen.kind)
    if kind is not None:
        program, checks = kind.generate(chosen.seed, index), [kind.check]
    else:
        program, checks = generate(chosen.seed, index, chosen.without.split(","), chosen.state), []
    counts.update(f"statements: {s.family}" for s in program.statements)
    differences = examine(program, counts, checks)
    if differences and not chosen.no_shrink:
        program, differences = shrink(program, differences)
    return index, counts, program if differences or chosen.only is not None else None, differences


def results(chosen: argparse.Namespace) -> Iterator:
    numbers = [chosen.only] if chosen.only is not None else range(chosen.start, chosen.start + chosen.programs)
    tasks = [(index, chosen) for index in numbers]
    if chosen.jobs == 1:
        yield from map(work, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(chosen.jobs, maxtasksperchild=200) as pool:
        yield from pool.imap_unordered(work, tasks)
