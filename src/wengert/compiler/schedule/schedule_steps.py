"""The steps of a schedule: which of the values that it stores have a kernel in common, and the order of all steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wengert.compiler.forms.classify import COMPUTED, Form
from wengert.compiler.forms.gather import Written
from wengert.compiler.schedule.scatter_kernels import joined_scatters
from wengert.core import machine
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


class Kernel:
    """A loop nest over `domain` that stores `maps` and `reductions` over the `axes` of the domain, or `scatters`.

    Several scatters add to one array: each has the one before as its base. `arrays` are the large arrays that maps and
    reductions read or write, as bits of a number. In a row kernel (`row_kernels.py`), the first `outer` axes of a part
    are those of the rows, and `sums` are reductions along all of these.
    """

    def __init__(self, domain: tuple[int, ...], stage: int, axes: tuple[int, ...] = (), outer: int = 0):
        self.domain, self.stage, self.axes, self.outer = domain, stage, axes, outer
        self.maps: list[Node] = []
        self.reductions: list[Operation] = []
        self.sums: list[Operation] = []
        self.scatters: tuple[Operation, ...] = ()
        self.arrays = 0

    def finds_in_memory(self, schedule: Schedule, node: Node) -> bool:
        """Whether a value is in memory when this kernel runs."""
        return node in schedule.stored and schedule.stages[node] < self.stage

    @property
    def scatter(self) -> Operation | None:
        """The array that it scatters into, when all is done."""
        return self.scatters[-1] if self.scatters else None

    @property
    def scatter_base(self) -> Node | None:
        """The value that it writes or adds to; None are zeros."""
        return Written.by(self.scatters[0]).base

    @property
    def folds(self) -> list[Operation]:
        """The values that it adds up."""
        return [*self.reductions, *self.sums, *([self.scatter] if self.scatter is not None else [])]

    @property
    def roots(self) -> list[Node]:
        """The values that it stores."""
        return [*self.maps, *self.folds]

    @property
    def computed_values(self) -> list[Node]:
        """The values that it computes element by element."""
        scattered = [node for written in map(Written.by, self.scatters) for node in (written.value, *written.indices)]
        return [*self.maps, *[r.args[0] for r in (*self.reductions, *self.sums)], *scattered]


OUTSIDE = (Form.ROUTINE, Form.FALLBACK, Form.LOOP)
"""Steps that are no kernels."""


def order_steps(schedule: Schedule) -> list[Any]:
    """Kernels, routines and fallbacks, by stage."""
    arrays = arrays_of_values(schedule)
    kernels = make_folds(schedule, arrays)
    place_maps(schedule, kernels, arrays)
    others = [node for node in schedule.stored if schedule.forms[node] in OUTSIDE]
    steps: list[tuple[int, int, Any]] = [(kernel.stage, 0, kernel) for kernel in kernels]
    steps += [(schedule.stages[node], 1, node) for node in others]
    steps.sort(key=lambda step: step[:2])
    return [step[2] for step in steps]


def make_folds(schedule: Schedule, arrays: Mapping[Node, int]) -> list[Kernel]:
    """The kernels of scatters, and those of reductions along the same axes of one domain."""
    kernels: list[Kernel] = []
    folding: dict[Any, Kernel] = {}
    for node in schedule.stored:
        form, stage = schedule.forms[node], schedule.stages[node]
        if form is Form.SCATTER:
            assert isinstance(node, Operation)
            kernels.append(Kernel(Written.by(node).shape, stage))
            kernels[-1].scatters = joined_scatters(schedule, node)
        elif form is Form.REDUCE:
            assert isinstance(node, Operation)
            key = schedule.reading_domain(node.args[0]), stage, schedule.reduced_axes(node)
            home = folding.get(key)
            if home is None or is_full(schedule, home):
                home = folding[key] = Kernel(*key)
                kernels.append(home)
            home.reductions.append(node)
            home.arrays |= arrays[node]
    return kernels


def place_maps(schedule: Schedule, kernels: list[Kernel], arrays: Mapping[Node, int]) -> None:
    """Give each value that is stored element by element a kernel: one of these, or a new one."""
    alike: dict[tuple[tuple[int, ...], int], list[Kernel]] = {}
    for kernel in kernels:
        if kernel.scatter is None and not is_full(schedule, kernel):
            alike.setdefault((kernel.domain, kernel.stage), []).append(kernel)
    for node in schedule.stored:
        if schedule.forms[node] in (*OUTSIDE, Form.OUTPUT, Form.REDUCE, Form.SCATTER):
            continue
        key = schedule.domain(node), schedule.stages[node]
        candidates = alike.setdefault(key, [])
        home = next((k for k in candidates if schedule.is_tiny or can_join(k.arrays, arrays[node])), None)
        if home is None:
            home = Kernel(*key)
            kernels.append(home)
            candidates.append(home)
        home.maps.append(node)
        home.arrays |= arrays[node]
        if is_full(schedule, home):
            candidates.remove(home)


def arrays_of_values(schedule: Schedule) -> dict[Node, int]:
    """The large arrays in memory that the loop of each value reads or writes, as bits of a number."""
    own: dict[Node, int] = {}
    found: dict[Node, int] = {}
    for node in schedule.graph.nodes:
        is_array = node in schedule.stored or schedule.forms[node] is Form.GIVEN
        is_stream = is_array and node.nbytes > machine.current.max_bytes_without_stream
        own[node] = found[node] = 1 << len(own) if is_stream else 0
        if schedule.forms[node] in (*COMPUTED, Form.VIEW, Form.REDUCE):
            assert isinstance(node, Operation)
            for a in node.args:
                is_before = a in schedule.stored and schedule.stages[a] < schedule.stages[node]
                found[node] |= own[a] if is_before else found[a]
    return found


def is_full(schedule: Schedule, kernel: Kernel) -> bool:
    """Whether a kernel has as many values as one may have; a program without loops is one kernel."""
    most = machine.current.max_values_of_loop
    return len(kernel.maps) + len(kernel.reductions) >= most and not schedule.is_tiny


def can_join(used: int, own: int) -> bool:
    """Whether a value is computed in the loop of a kernel, by the large arrays of both: they share some or have few."""
    return bool(used & own) or (used | own).bit_count() <= machine.current.max_streams_of_loop
