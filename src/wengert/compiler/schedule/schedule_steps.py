"""The steps of a schedule: which of the values that it stores have a kernel in common, and the order of all steps."""

from __future__ import annotations

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


def order_steps(schedule: Schedule) -> list[Any]:
    """Kernels, routines and fallbacks, by stage."""
    kernels: dict[Any, Kernel] = {}
    others: list[tuple[int, Operation]] = []
    arrays = arrays_of_values(schedule)
    for node in schedule.stored:
        form = schedule.forms[node]
        if form in (Form.ROUTINE, Form.FALLBACK, Form.LOOP):
            assert isinstance(node, Operation)
            others.append((schedule.stages[node], node))
        elif form is Form.SCATTER:
            assert isinstance(node, Operation)
            kernel = kernels[node] = Kernel(Written.by(node).shape, schedule.stages[node])
            kernel.scatters = joined_scatters(schedule, node)
        elif form is Form.REDUCE:
            assert isinstance(node, Operation)
            operand = node.args[0]
            axes = schedule.reduced_axes(node)
            key = (schedule.reading_domain(operand), schedule.stages[node], axes)
            kernel = kernels.setdefault(key, Kernel(key[0], key[1], axes))
            kernel.reductions.append(node)
            kernel.arrays |= arrays[node]
    alike: dict[tuple[tuple[int, ...], int], list[Kernel]] = {}
    for kernel in kernels.values():
        if kernel.scatter is None:
            alike.setdefault((kernel.domain, kernel.stage), []).append(kernel)
    for node in schedule.stored:
        form = schedule.forms[node]
        if form in (Form.ROUTINE, Form.FALLBACK, Form.LOOP, Form.OUTPUT, Form.REDUCE, Form.SCATTER):
            continue
        stage, domain = schedule.stages[node], schedule.domain(node)
        candidates = alike.setdefault((domain, stage), [])
        home = next((k for k in candidates if schedule.is_tiny or can_join(k.arrays, arrays[node])), None)
        if home is None:
            home = kernels[node] = Kernel(domain, stage)
            candidates.append(home)
        home.maps.append(node)
        home.arrays |= arrays[node]
    steps: list[tuple[int, int, Any]] = [(k.stage, 0, k) for k in kernels.values()] + [
        (s, 1, node) for s, node in others
    ]
    steps.sort(key=lambda step: step[:2])
    return [step[2] for step in steps]


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


def can_join(used: int, own: int) -> bool:
    """Whether a value is computed in the loop of a kernel, by the large arrays of both: they share some or have few."""
    return bool(used & own) or (used | own).bit_count() <= machine.current.max_streams_of_loop
