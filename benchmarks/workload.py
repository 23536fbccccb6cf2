"""A workload: one problem, the sizes at which it is solved, one implementation per system, and the ratios that must
hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Run = Callable[[], tuple]
FAMILIES = (
    "linear algebra",
    "complex",
    "loops",
    "attention",
    "convolution",
    "stencils",
    "gather",
    "statistics",
    "values only",
)
"""Kinds of programs, each of which is judged by the ratios of its workloads."""


class Workload:
    """`data(size)` makes the problem; an implementation takes it and returns the function that is timed.

    What that function returns is compared with the implementation of `reference`, by default NumPy's, before anything
    is timed; `tolerance` replaces the usual one. `observe(problem, result)` picks from it what is compared, by default
    everything. `targets[size][peer]` is the largest ratio of Wengert's time to the peer's, and `compile_targets` that
    of the times to compile; `subject` is the face of Wengert that is measured.

    `family` is one of FAMILIES, for those that are judged together. `traffic(size)` and `flops(size)` are what no
    implementation can do without, where that is known: the bytes of its inputs and results, each counted once, and its
    operations on floating-point numbers.
    """

    def __init__(
        self,
        name: str,
        statement: str,
        data: Callable[[int], tuple],
        sizes: Mapping[str, int],
        targets: Mapping[str, Mapping[str, float]] | None = None,
        observe: Callable[[tuple, tuple], tuple] = lambda problem, result: result,
        subject: str = "wengert",
        compile_targets: Mapping[str, Mapping[str, float]] | None = None,
        reference: str = "numpy",
        tolerance: float | None = None,
        family: str | None = None,
        traffic: Callable[[int], float] | None = None,
        flops: Callable[[int], float] | None = None,
    ):
        if family is not None and family not in FAMILIES:
            raise ValueError(f"{family!r} is no family: they are {', '.join(FAMILIES)}.")
        self.name, self.statement, self.data, self.sizes = name, statement, data, sizes
        self.targets, self.observe, self.subject = targets or {}, observe, subject
        self.compile_targets, self.reference, self.tolerance = compile_targets or {}, reference, tolerance
        self.family, self.traffic, self.flops = family, traffic, flops
        self.implementations: dict[str, Callable[..., Run]] = {}

    def implementation(self, system: str) -> Callable[[Callable[..., Run]], Callable[..., Run]]:
        """Declare how a system solves the problem."""

        def declare(prepare: Callable[..., Run]) -> Callable[..., Run]:
            self.implementations[system] = prepare
            return prepare

        return declare
