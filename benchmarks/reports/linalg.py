"""What gradients of factorisations cost over the functions themselves, beside what they cost in PyTorch and, compiled,
in JAX.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.reports.figure import Figure
from benchmarks.systems import named
from benchmarks.timing import BLOCK, best_of_rounds
from benchmarks.workloads.linalg import FACTORISATIONS, SIZES, runs

PAIRS = (("wengert", "torch"), ("wengert compiled", "jax"))
"""Who is compared with whom: those that interpret, and those that compile."""

TARGET = 1.1


def cost_ratios(name: str, size: int, systems: Iterable[str], rounds: int, block: float = BLOCK) -> dict[str, float]:
    """The time of function and gradient over that of the function, by system."""
    timed = {}
    for system in systems:
        named(system).prepare()
        function, gradient = runs(name, system, size)
        timed |= {f"{system}: function": function, f"{system}: gradient": gradient}
    seconds = best_of_rounds(timed, rounds, block)
    return {system: seconds[f"{system}: gradient"] / seconds[f"{system}: function"] for system in systems}


def linalg_figures(sizes: Iterable[int] = tuple(SIZES.values()), rounds: int = 9, block: float = BLOCK) -> list[Figure]:
    """What gradients of cholesky, solve, eigh and svd cost over the functions, beside PyTorch and JAX."""
    pairs = [pair for pair in PAIRS if named(pair[1]).installed]
    figures = []
    for name in FACTORISATIONS:
        for size in sizes:
            ratios = cost_ratios(name, size, [system for pair in pairs for system in pair], rounds, block)
            for subject, peer in pairs:
                at = f"{name}, n = {size}"
                figures += [
                    Figure(f"{at}: grad / f of {named(subject).title}", ratios[subject]),
                    Figure(f"{at}: grad / f of {named(peer).title}", ratios[peer]),
                    Figure(
                        f"{at}: {named(subject).title} / {named(peer).title}",
                        ratios[subject] / ratios[peer],
                        target=TARGET,
                    ),
                ]
    return figures
