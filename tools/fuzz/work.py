"""Programs made and examined one after the other, or by several processes at once."""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tools.fuzz.generate import generate
from tools.fuzz.large import check_large, generate_large
from tools.fuzz.machines import check_machines, generate_for_machines
from tools.fuzz.oracles import Difference, Run, examine
from tools.fuzz.programs import Program
from tools.fuzz.schedules import check_schedules, generate_for_schedules
from tools.fuzz.shrink import shrink


def work(task: tuple[int, argparse.Namespace]) -> tuple[int, Counter[str], Program | None, list[Difference]]:
    index, chosen = task
    counts: Counter[str] = Counter()
    checks: Sequence[Callable[[Run], None]] = ()
    if chosen.machines:
        program, checks = generate_for_machines(chosen.seed, index), [check_machines]
    elif chosen.schedules:
        program, checks = generate_for_schedules(chosen.seed, index), [check_schedules]
    elif chosen.large:
        program, checks = generate_large(chosen.seed, index), [check_large]
    else:
        program = generate(chosen.seed, index, chosen.without.split(","), chosen.state)
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
