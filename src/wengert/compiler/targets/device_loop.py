"""Loops on a device whose steps are runs of a program: the host decides nothing in a step but the launch.

The steps share their memory: states alternate between two sets of arrays, intermediate results are in one arena, slices
of sequences are written where they belong, and whether something failed is looked at after the last step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wengert.compiler.nests.thread_order import VECTOR_BYTES
from wengert.compiler.targets.device_program import LoopStep
from wengert.core.spec import Spec

if TYPE_CHECKING:
    from wengert.compiler.targets.device_run import Device, LoadedProgram


class Slices:
    """The slices of a sequence that a loop writes, and the whole of them."""

    def __init__(self, device: Device, spec: Spec, count: int | None):
        self.device, self.spec = device, spec
        is_aligned = spec.size * spec.dtype.itemsize % VECTOR_BYTES == 0
        self.whole = None if count is None or not is_aligned else device.empty((count, *spec.shape), spec.dtype)
        self.parts: dict[int, Any] = {}  # where the number of steps, or the alignment, does not allow to write into it

    def at(self, i: int) -> Any:
        """The array that a step writes."""
        if self.whole is not None:
            return slice_of(self.whole, i)
        self.parts[i] = self.device.empty(*self.spec)
        return self.parts[i]

    def join(self) -> Any:
        """The sequence."""
        if self.whole is not None:
            return self.whole
        if not self.parts:
            return self.device.empty((0, *self.spec.shape), self.spec.dtype)
        return self.device.arrays.stack([self.parts[i] for i in range(len(self.parts))])


class LoopRun:
    """One run of a loop with these operands; its results are those of the operation."""

    def __init__(self, device: Device, step: LoopStep, programs: Sequence[LoadedProgram], operands: Sequence[Any]):
        self.device, self.shape = device, step.shape
        self.body, *self.conditions = programs
        self.count = self.shape.length
        if self.count is None and not self.conditions:
            self.count, *operands = int(operands[0]), *operands[1:]
        self.constants, self.states, self.sequences = self.shape.split(operands)
        outputs = self.body.program.outputs
        self.sets = [[device.empty(*spec) for spec in outputs[: self.shape.states]] for _ in range(2)]
        self.slices = [Slices(device, spec, self.count) for spec in outputs[self.shape.states :]]
        self.memory = self.body.make_memory([])

    def run(self) -> list[Any]:
        """The states after the last step, the sequences, and, if there is a condition, the number of steps."""
        steps = 0
        indices = self.shape.indices(self.count) if self.count is not None else None
        while (indices is None or steps < len(indices)) and self.goes_on():
            self.run_step(steps if indices is None else indices[steps], steps % 2)
            steps += 1
        self.check()
        return [*self.states, *[s.join() for s in self.slices], *([steps] if self.conditions else [])]

    def goes_on(self) -> bool:
        """Whether the condition holds, if there is one: then the host waits for it, and sees what failed."""
        if not self.conditions:
            return True
        self.check()
        return bool(self.conditions[0]([*self.constants, *self.states])[0])

    def check(self) -> None:
        """Raise the error of a step that failed."""
        if self.memory.status is not None:
            self.body.check(self.memory.status)

    def run_step(self, i: int, which: int) -> None:
        """One step, which reads and writes the slices `i`, and writes one of the two sets of states."""
        states, read = self.sets[which], [align(self.device, slice_of(x, i)) for x in self.sequences]
        memory = self.memory._replace(outputs=[*states, *[s.at(i) for s in self.slices]])
        self.body.run([*self.constants, *self.states, *read], memory)
        self.states = states


def slice_of(array: Any, i: int) -> Any:
    """A slice along the first axis, as a view."""
    return array[i : i + 1].reshape(array.shape[1:])


def align(device: Device, array: Any) -> Any:
    """An array that is contiguous, at an address from which threads can read several numbers at once."""
    return array if array.flags.c_contiguous and device.address(array) % VECTOR_BYTES == 0 else array.copy()
