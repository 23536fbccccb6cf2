"""A program on a device: its arrays, its table of pointers, and its steps in order.

What a device is (arrays, launches of kernels, a library's implementations) is said by `Device`: CUDA's in `cuda.py`;
the emulator of the tests is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from wengert.compiler.forms.failures import FAILURES
from wengert.compiler.schedule.memory_plan import Slot
from wengert.compiler.targets.device_loop import LoopRun, align
from wengert.compiler.targets.device_program import (
    ArraySource,
    Copy,
    DeviceProgram,
    Launches,
    Lengths,
    LibraryStep,
    LoopStep,
    SwitchStep,
)
from wengert.control.residuals import has_unknown_length
from wengert.core.aspects import primitive_of
from wengert.core.device_calls import call_of
from wengert.core.devices import ArrayLibrary
from wengert.core.infer import is_elementwise
from wengert.core.spec import Spec
from wengert.ops.contraction.products import matmul

MATMUL = primitive_of(matmul)
INTEGER = np.dtype(np.int64)
POINTER = Spec((1,), INTEGER)


class Kernels(Protocol):
    """The loaded kernels of one program."""

    def launch(self, group: int, table: list[int]) -> None:
        """Launch a group of kernels that follow each other, and read a table of pointers."""


class Device(Protocol):
    """Where a program runs. `library` is that of its arrays, and `arrays` its module with NumPy's functions."""

    library: ArrayLibrary
    arrays: Any

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A new array."""

    def allocator(self, specs: Sequence[Spec]) -> Callable[[], list[Any]]:
        """What makes new arrays for each call."""

    def address(self, array: Any) -> int:
        """Where an array is in the device's memory."""

    def multiply(self, x: Any, y: Any, out: Any) -> None:
        """Write the product of matrices to an array."""

    def load(self, program: DeviceProgram) -> Kernels:
        """The kernels of a program."""


class CallMemory(NamedTuple):
    """The memory of a call: its results, intermediate results, and the bits of what failed.

    `views` are the arrays in the arena that library calls have asked for; the next step of a loop asks for the same.
    """

    outputs: list[Any]
    arena: Any
    status: Any
    views: dict[ArraySource, Any]


class LoadedProgram:
    """A program on a device; it is called with arrays of the device, and returns such arrays."""

    def __init__(self, program: DeviceProgram, device: Device):
        self.program, self.device = program, device
        self.kernels = device.load(program)
        self.constants = [device.arrays.asarray(np.ascontiguousarray(value)) for value in program.constants]
        self.groups = {id(step): k for k, step in enumerate(launches_of(program))}
        self.bodies: dict[int, list[LoadedProgram]] = {}
        for step in program.steps:
            if isinstance(step, LoopStep | SwitchStep):
                parts = step.branches if isinstance(step, SwitchStep) else (step.body, step.condition)
                self.bodies[id(step)] = [LoadedProgram(part, device) for part in parts if part is not None]

        self.allocate = device.allocator(program.outputs)
        is_one_launch = len(program.steps) == 1 and isinstance(program.steps[0], Launches)
        self.is_simple = is_one_launch and not (program.arena or program.may_fail)
        self.addresses = [*map(device.address, self.constants), 0]

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The results; where one launch is all there is to do, by the shortest way."""
        outputs = self.allocate()
        if self.is_simple:
            self.launch(inputs, outputs)
            return outputs
        memory = self.make_memory(outputs)
        self.run(inputs, memory)
        if memory.status is not None:
            self.check(memory.status)
        return outputs

    def make_memory(self, outputs: list[Any]) -> CallMemory:
        """New memory for a call that writes these results."""
        device, program = self.device, self.program
        arena = device.empty((program.arena,), np.dtype(np.uint8)) if program.arena else None
        status = device.arrays.zeros(1, np.int64) if program.may_fail else None
        return CallMemory(outputs, arena, status, {})

    def run(self, inputs: Sequence[Any], memory: CallMemory) -> None:
        """Run it with given memory."""
        if self.is_simple:
            self.launch(inputs, memory.outputs)
        else:
            DeviceRun(self, inputs, memory).run()

    def launch(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Run a program of one launch."""
        address = self.device.address
        self.kernels.launch(0, [0, *map(address, inputs), *map(address, outputs), *self.addresses])

    def check(self, status: Any) -> None:
        """Raise the error of the first failure of a kernel, if there is one; waits for the device."""
        number = int(status[0])
        if number:
            raise FAILURES[(number & -number).bit_length() - 1].error()


class DeviceRun:
    """One call of a program."""

    def __init__(self, loaded: LoadedProgram, inputs: Sequence[Any], memory: CallMemory):
        self.loaded, self.program, self.device = loaded, loaded.program, loaded.device
        self.owners = [memory.status, *inputs, *memory.outputs, *loaded.constants, memory.arena]
        self.table = [0 if x is None else self.device.address(x) for x in self.owners]
        self.views = memory.views
        self.sequences: dict[Slot, Any] = {}  # those of unknown length

    def run(self) -> None:
        """Run all steps."""
        for step in self.program.steps:
            if isinstance(step, Launches):
                self.loaded.kernels.launch(self.loaded.groups[id(step)], self.table)
            elif isinstance(step, LibraryStep):
                self.run_library(step)
            elif isinstance(step, Copy):
                self.view(step.target)[...] = self.view(step.source)
            elif isinstance(step, Lengths):
                self.find_lengths(step)
            elif isinstance(step, LoopStep):
                self.run_loop(step)
            else:
                self.run_switch(step)

    def view(self, source: ArraySource) -> Any:
        """An array of the program."""
        if source.slot is None:
            return source.value if source.spec is None else self.device.arrays.full(*source.spec[:1], source.value)
        if source.slot in self.sequences:
            return self.sequences[source.slot]
        whole: Any = self.owners[source.slot.entry]
        if source.slot.entry < len(self.owners) - 1:
            return self.view_of(whole.reshape(-1), source)
        if source not in self.views:  # in the arena
            assert source.spec is not None
            size, width = self.program.arena - source.slot.offset, source.spec.dtype.itemsize
            rest = whole[source.slot.offset :][: size // width * width].view(source.spec.dtype)
            self.views[source] = self.view_of(rest, source)
        return self.views[source]

    def view_of(self, whole: Any, source: ArraySource) -> Any:
        """An array of the program in flat memory."""
        assert source.spec is not None
        shape, dtype = source.spec
        if source.strides is not None:
            steps = tuple([k * dtype.itemsize for k in source.strides])
            return self.device.arrays.lib.stride_tricks.as_strided(whole[source.offset :], shape, steps)
        found = whole[: source.spec.size].reshape(shape)
        return found.swapaxes(-1, -2) if source.is_transposed else found

    def put(self, result: ArraySource | None, value: Any) -> None:
        """Store a result of a step."""
        if result is None:
            return
        if result.spec is not None and has_unknown_length(result.spec):
            assert result.slot is not None
            self.view(ArraySource(result.slot, POINTER))[...] = self.device.address(value)  # for kernels
            self.sequences[result.slot] = value
        else:  # of constants alone, NumPy may have computed it
            self.view(result)[...] = self.device.arrays.asarray(value) if isinstance(value, np.ndarray) else value

    def run_library(self, step: LibraryStep) -> None:
        """Run an operation by the library's implementation."""
        is_number = is_elementwise(step.primitive)
        given = [
            self.view(o).item() if o.weak is not None and o.slot is not None and is_number else self.view(o)
            for o in step.operands
        ]
        (first, *_) = step.results
        if step.primitive is MATMUL and first is not None:
            x, y = given
            self.device.multiply(x, y, self.view(first))
            return
        with np.errstate(all="ignore"):
            out = call_of(step.primitive)(self.device.library, *given, **step.params)
        values = (out,) if step.primitive.outputs == 1 else out
        for result, value in zip(step.results, values, strict=True):
            self.put(result, value)

    def run_switch(self, step: SwitchStep) -> None:
        """Run one of several programs."""
        index, *operands = [self.contiguous(o) for o in step.operands]
        branches = self.loaded.bodies[id(step)]
        chosen = branches[min(max(int(index), 0), len(branches) - 1)]
        for result, value in zip(step.results, chosen(operands), strict=True):
            self.put(result, value)

    def contiguous(self, source: ArraySource) -> Any:
        """An array of the program, as programs take them."""
        return align(self.device, self.device.arrays.asarray(self.view(source)))

    def run_loop(self, step: LoopStep) -> None:
        """Run the program of a body for each step."""
        loop = LoopRun(self.device, step, self.loaded.bodies[id(step)], list(map(self.contiguous, step.operands)))
        for result, value in zip(step.results, loop.run(), strict=True):
            self.put(result, value)

    def find_lengths(self, step: Lengths) -> None:
        """Note the number of steps of a loop, and make its sequences."""
        count = int(self.device.arrays.asarray(self.view(step.counts)).max())
        self.put(step.steps, count)
        for result in step.sequences:
            assert result.spec is not None
            self.put(result, self.device.empty((count, *result.spec.shape[1:]), result.spec.dtype))


def launches_of(program: DeviceProgram) -> list[Launches]:
    """The groups of kernels of a program."""
    return [step for step in program.steps if isinstance(step, Launches)]
