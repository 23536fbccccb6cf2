"""The roofline of a compiled program: the time that it must take at the least, over the time that it takes.

Each step of the program (a kernel, a routine, those of the body of a loop as often as it runs) moves bytes, runs vector
instructions, and reads or writes elements at computed indices, which its report counts (`report.costs`). It takes at
least as long as the slowest of these, at the rates that this machine has reached in loops that do nothing else, on as
many cores as the step uses, and as long as its longest chain of instructions that wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby, product
from math import exp, log
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks import peaks
from benchmarks.index_rates import index_rate
from benchmarks.instruction_rates import CHAINS, instruction_rate
from benchmarks.latencies import LATENCIES, latency, seconds_of_hand_off
from benchmarks.reports.figure import Figure
from benchmarks.runner import prepared
from benchmarks.systems import cores
from benchmarks.tables import Table, quantity
from benchmarks.timing import BLOCK, REST, best_of_rounds
from benchmarks.workload import Workload
from benchmarks.workloads import EVERY_WORKLOAD
from wengert.compiler.call.compiled import Compiled
from wengert.compiler.program.step_costs import StepCost, program_costs
from wengert.graph.graph import is_traced

TARGET = 0.6
"""The geometric mean of the shares that should be reached."""
PROGRAMS = tuple(name for name, workload in EVERY_WORKLOAD.items() if workload.subject == "wengert compiled")
"""The workloads whose programs have a roofline: all that are compiled."""
SHARE = 4
"""Rounds are as many times shorter than in other benchmarks, and there are as many times more of them: some fall
between whatever else the machine does. They are much longer than what passes until threads that sleep are awake.
"""
READING = "Each time is the best round of several, and all rates were measured by the same run."
VECTOR_BYTES, MOST_VECTORS = peaks.vector_bits() // 8, 16
"""The bytes of a vector, and the most vectors of a row at an index whose rate is measured; longer rows are several."""
BYTES, ARITHMETIC, DIVISIONS, CALL = "bytes", "arithmetic", "divisions", "call"
INDICES, CHAIN = "indices", "chain"
"""What a program is limited by."""


class Rates(NamedTuple):
    """What the machine can do: bytes in a second, by how many they are, and instructions by class.

    All are functions of the number of cores, too. `latency` has the seconds that the next instruction of a chain waits,
    `hand_off` is the time of a job on all cores, and `call` that of a call, which compute nothing.
    """

    read: Callable[[int, int], float]
    write: Callable[[int, int], float]
    copy: Callable[[int, int], float]
    instructions: Callable[[str, int], float]
    indices: Callable[[tuple[str, int, int], int], float]
    latency: Callable[[str], float]
    hand_off: float
    call: float
    cores: int


class Limit(NamedTuple):
    """The least time of something, in seconds, and what limits it."""

    seconds: float
    by: str


class Roofline(NamedTuple):
    """The least time of one run of a workload, and how much of it each limit has."""

    seconds: float
    limits: dict[str, float]

    @property
    def limit(self) -> str:
        """What most of the time is limited by."""
        return max(self.limits, key=self.limits.__getitem__)


class UnknownLength(Exception):
    """A loop whose number of steps is not known before it runs."""


# The model


def step_limit(cost: StepCost, rates: Rates) -> Limit:
    """The least time of one run of a step.

    On several cores, the others begin after a part of the hand-off, and one may do it all.
    """
    alone = step_limit_on(cost, rates, 1)
    if not cost.is_shared or rates.cores == 1:
        return alone
    seconds, by = step_limit_on(cost, rates, rates.cores)
    late = rates.hand_off / 2 * (rates.cores - 1) / rates.cores
    return min(alone, Limit(seconds + late, by), key=lambda limit: limit.seconds)


def step_limit_on(cost: StepCost, rates: Rates, threads: int) -> Limit:
    """The least time of one run of a step on so many cores; what it waits for takes no less time on several."""
    return max(
        Limit(seconds_of_bytes(cost, rates, threads), BYTES),
        Limit(seconds_of_indices(cost, rates, threads), INDICES),
        Limit(0.0 if cost.loop is not None else seconds_of_chain(cost, rates), CHAIN),
        *limits_of_instructions(cost, rates, threads),
        key=lambda limit: limit.seconds,
    )


def seconds_of_indices(cost: StepCost, rates: Rates, threads: int) -> float:
    """Elements at computed indices, one after the other: each is a load, and perhaps a store, of its own.

    Those of a row are as many vectors, of which the largest power of two counts.
    """
    total = 0.0
    for found in cost.indexed:
        vectors = found.width // VECTOR_BYTES
        rounded = min(1 << (vectors.bit_length() - 1), MOST_VECTORS) if vectors else 0
        rows = found.elements * (vectors // MOST_VECTORS if vectors > MOST_VECTORS else 1)
        total += rows / rates.indices((found.kind, rounded_size(found.nbytes), rounded), threads)
    return total


def seconds_of_chain(cost: StepCost, rates: Rates) -> float:
    """Instructions of which each waits for the one before it."""
    return sum([count * rates.latency(name) for name, count in cost.chain.items()])


def seconds_of_bytes(cost: StepCost, rates: Rates, threads: int) -> float:
    """Bytes that are read and others that are written are copied, as far as there are as many; caches hold them all."""
    size = rounded_size(cost.read + cost.written)
    copied = min(cost.read, cost.written)
    parts = (
        (2 * copied, rates.copy),
        (cost.read - copied, rates.read),
        (cost.written - copied, rates.write),
    )
    return sum([count / rate(size, threads) for count, rate in parts if count])


def rounded_size(size: int) -> int:
    """The next smaller size of those for which bandwidths are measured: two for each power of two.

    >>> rounded_size(10_000), rounded_size(13_000)
    (8192, 12288)
    """
    power = 1 << max(size.bit_length() - 1, 12)
    return min(power + power // 2 if size >= power + power // 2 else power, peaks.MEMORY)


def limits_of_instructions(cost: StepCost, rates: Rates, threads: int) -> list[Limit]:
    """Those of multiplications, of additions, of all instructions, and of divisions and roots, which share a unit."""
    counts = cost.instructions
    rate = lambda name: rates.instructions(name, threads)
    slow = [name for name in counts if name.startswith(("divide", "sqrt"))]
    return [
        *[Limit(counts[name] / rate(name), ARITHMETIC) for name in ("multiply", "add", "shuffle") if name in counts],
        Limit(sum(counts.values()) / rate("all"), ARITHMETIC),
        Limit(sum([counts[name] / rate(name) for name in slow]), DIVISIONS),
    ]


def roofline(programs: Sequence[Sequence[StepCost]], rates: Rates) -> Roofline:
    """The least time of programs that are called one after the other."""
    limits: dict[str, float] = dict.fromkeys((CALL, BYTES, ARITHMETIC, DIVISIONS, INDICES, CHAIN), 0.0)
    for costs in programs:
        limits[CALL] += rates.call
        for _, steps in groupby(costs, lambda cost: cost.loop):
            for name, seconds in part_limits(list(steps), rates).items():
                limits[name] += seconds
    return Roofline(sum(limits.values()), limits)


def part_limits(costs: Sequence[StepCost], rates: Rates) -> dict[str, float]:
    """The least time of steps by what limits it: of a loop, whose steps may overlap, or of others."""
    limits: dict[str, float] = {}
    chain = 0.0
    for cost in costs:
        if cost.runs is None:
            raise UnknownLength(cost.name)
        limit = step_limit(cost, rates)
        limits[limit.by] = limits.get(limit.by, 0.0) + cost.runs * limit.seconds
        if cost.loop is not None:
            chain += cost.runs * seconds_of_chain(cost, rates)
    return {CHAIN: chain} if chain > sum(limits.values()) else limits


# The machine, and the programs


def machine_rates() -> Rates:
    """The rates of this machine; each is measured when it is first needed."""
    bandwidths = (peaks.read_bandwidth, peaks.write_bandwidth, peaks.copy_bandwidth)
    accesses = lambda what, threads: index_rate(*what, threads)
    found = [best_of_cores(rate) for rate in (*bandwidths, instruction_rate, accesses)]
    return Rates(*found, latency, seconds_of_hand_off(), seconds_of_call(), cores())


def best_of_cores(rate: Callable[[Any, int], float]) -> Callable[[Any, int], float]:
    """A rate on some cores: at least that of one, where others were busy when it was measured."""
    return lambda what, threads: max(rate(what, threads), rate(what, 1))


@cache
def seconds_of_call() -> float:
    """The time of a call of a compiled function of one number."""
    import wengert as wg

    smallest, one = wg.compile(lambda x: x + 1.0), np.ones(1)
    return best_of_rounds({"call": lambda: smallest(one)}, 9)["call"]


@contextmanager
def recorded_calls() -> Iterator[list[tuple[Compiled, tuple, dict[str, Any]]]]:
    """The compiled functions that are called meanwhile, with their arguments; not those that others call."""
    calls: list[tuple[Compiled, tuple, dict[str, Any]]] = []
    call, depth = Compiled.__call__, 0

    def record(self: Compiled, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if not depth:
            calls.append((self, args, kwargs))
        depth += 1
        try:
            return call(self, *args, **kwargs)
        finally:
            depth -= 1

    with patch.object(Compiled, "__call__", record):
        yield calls


def programs_of(workload: Workload, size: str) -> list[list[StepCost]]:
    """The costs of the programs that one run of a workload calls."""
    run = prepared(workload, size, workload.subject)
    run()
    with recorded_calls() as calls:
        run()
    return [costs_of_call(*call) for call in calls]


def costs_of_call(function: Compiled, args: tuple, kwargs: dict[str, Any]) -> list[StepCost]:
    """The costs of a call: those of its report, and the numbers of steps that these arguments lead to."""
    leaves, structure = function.flatten_arguments(args, kwargs)
    signature = function.signature(leaves, structure)
    inputs = [*[x for x in leaves if is_traced(x)], *[x.value for x in signature.captured]]
    return program_costs(signature.graph, signature.updates(), signature.rolls, inputs)


# The report


class Row(NamedTuple):
    """A workload at one size: the time of a run, and the roofline; None where a loop has no known length."""

    workload: str
    size: int
    seconds: float
    roofline: Roofline | None
    steps: int

    @property
    def share(self) -> float:
        """The least time over the measured one."""
        return 0.0 if self.roofline is None else self.roofline.seconds / self.seconds


def measure_row(name: str, size: str, rates: Rates, rounds: int) -> Row:
    """Count what a workload does, and time it."""
    workload = EVERY_WORKLOAD[name]
    programs = programs_of(workload, size)
    run = prepared(workload, size, workload.subject)
    seconds = best_of_rounds({name: run}, SHARE * rounds, BLOCK / SHARE, REST / SHARE)[name]
    steps = sum([cost.runs or 0 for costs in programs for cost in costs])
    try:
        found = roofline(programs, rates)
    except UnknownLength:
        found = None
    return Row(name, workload.sizes[size], seconds, found, steps)


def geometric_mean(shares: Sequence[float]) -> float:
    return exp(sum(map(log, shares)) / len(shares))


def roofline_table(rows: Sequence[Row]) -> Table:
    """A row per workload and size, and the geometric mean of the shares."""
    lines = []
    for row in rows:
        found = row.roofline
        size = f"{row.size:,}".replace(",", " ")
        least = ["", "", "steps depend on numbers", ""]
        if found is not None:
            mark = "below" if row.share < TARGET else ""
            least = [quantity(found.seconds, "s"), f"{row.share:.2f}", found.limit, mark]
        lines.append([row.workload, size, quantity(row.seconds, "s"), least[0], least[1], least[2], least[3]])
    known = [row for row in rows if row.roofline is not None]
    mean = geometric_mean([row.share for row in known])
    verdict = "met" if mean >= TARGET else "not met"
    lines.append([f"geometric mean of {len(known)}", "", "", "", f"{mean:.2f}", f"at least {TARGET}", verdict])
    columns = ["workload", "size", "Wengert", "roofline", "share", "limited by", "mark"]
    return Table("Roofline: the least time / Wengert's", columns, lines)


def roofline_figures(rows: Sequence[Row]) -> list[Figure]:
    """The share of each row, and their geometric mean."""
    known = [row for row in rows if row.roofline is not None]
    mean = geometric_mean([row.share for row in known])
    return [
        *[Figure(f"{row.workload} ({row.size}): share of the roofline", row.share) for row in known],
        Figure("geometric mean of the shares of the roofline", mean, target=TARGET, is_least=True),
    ]


def rate_figures(rates: Rates) -> list[Figure]:
    """The rates of the machine, on one core and on all."""
    figures = []
    for threads in sorted({1, rates.cores}):
        on = "one core" if threads == 1 else f"{threads} cores"
        for title, rate in (("read", rates.read), ("written", rates.write), ("copied", rates.copy)):
            for size in (2**14, 2**18, 2**22, peaks.MEMORY):
                name = f"{on}: {title} again and again, of {quantity(size, 'B')}, each second"
                figures.append(Figure(name, rate(size, threads), "B"))
        for name in CHAINS:
            count = rates.instructions(name, threads) / 1e9
            figures.append(Figure(f"{on}: instructions on vectors, {name}, 10^9 each second", count))
        for kind in ("read", "added", "moved"):
            for size in (2**14, 2**18, 2**22):
                count = rates.indices((kind, size, 0), threads) / 1e9
                figures.append(
                    Figure(f"{on}: elements {kind} at indices, of {quantity(size, 'B')}, 10^9 each second", count)
                )
        for kind, vectors in product(("read", "added"), (1, 4)):
            count = rates.indices((kind, 2**21, vectors), threads) / 1e9
            rows = f"rows of {quantity(vectors * VECTOR_BYTES, 'B')} {kind} at indices"
            figures.append(Figure(f"{on}: {rows}, of {quantity(2**21, 'B')}, 10^9 each second", count))
    for name in LATENCIES:
        figures.append(Figure(f"the next instruction waits for: {name}, nanoseconds", 1e9 * rates.latency(name)))
    figures.append(Figure("a job on all cores that computes nothing", rates.hand_off, "s"))
    return [*figures, Figure("a call that computes nothing", rates.call, "s")]
