"""A program on a device: its arrays, its table of pointers, and its steps in order.

What a device is (arrays, launches of kernels, a library's implementations) is said by `Device`: CUDA's in `cuda.py`;
the emulator of the tests is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from wengert.compiler.program.failures import FAILURES
from wengert.compiler.program.memory_plan import Slot
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
from wengert.compiler.targets.grid_plan import VECTOR_BYTES
from wengert.compiler.targets.grid_scatter import Sort
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

    def load(self, program: DeviceProgram) -> Kernels:
        """The kernels of a program."""


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
        if not self.is_simple:
            return DeviceRun(self, inputs).run()
        outputs, address = self.allocate(), self.device.address
        self.kernels.launch(0, [0, *map(address, inputs), *map(address, outputs), *self.addresses])
        return outputs


class DeviceRun:
    """One call of a program."""

    def __init__(self, loaded: LoadedProgram, inputs: Sequence[Any]):
        self.loaded, self.program, self.device = loaded, loaded.program, loaded.device
        device, program = self.device, self.program
        self.outputs = loaded.allocate()
        self.arena = device.empty((program.arena,), np.dtype(np.uint8)) if program.arena else None
        self.status = device.arrays.zeros(1, np.int64) if program.may_fail else None
        self.owners = [self.status, *inputs, *self.outputs, *loaded.constants, self.arena]
        self.table = [0 if x is None else device.address(x) for x in self.owners]
        self.sequences: dict[Slot, Any] = {}  # those of unknown length

    def run(self) -> list[Any]:
        """Run all steps."""
        for step in self.program.steps:
            if isinstance(step, Launches):
                self.loaded.kernels.launch(self.loaded.groups[id(step)], self.table)
            elif isinstance(step, LibraryStep):
                self.run_library(step)
            elif isinstance(step, Sort):
                keys = self.view(ArraySource(step.keys, Spec((step.length,), np.dtype(f"i{step.bits // 8}"))))
                order = self.view(ArraySource(step.order, Spec((step.length,), INTEGER)))
                order[...] = self.device.arrays.argsort(keys, kind="stable")
                keys[...] = keys[order]
            elif isinstance(step, Copy):
                self.view(step.target)[...] = self.view(step.source)
            elif isinstance(step, Lengths):
                self.find_lengths(step)
            elif isinstance(step, LoopStep):
                self.run_loop(step)
            else:
                self.run_switch(step)
        if self.status is not None:
            self.check(int(self.status[0]))
        return self.outputs

    def check(self, status: int) -> None:
        """Raise the error of the first failure of a kernel."""
        if status:
            raise FAILURES[(status & -status).bit_length() - 1].error()

    def view(self, source: ArraySource) -> Any:
        """An array of the program."""
        if source.slot is None:
            return source.value if source.spec is None else self.device.arrays.full(*source.spec[:1], source.value)
        if source.slot in self.sequences:
            return self.sequences[source.slot]
        assert source.spec is not None
        shape, dtype = source.spec
        whole: Any = self.owners[source.slot.entry]
        if source.slot.entry == len(self.owners) - 1:  # the arena
            size = self.program.arena - source.slot.offset
            whole = whole[source.slot.offset :][: size // dtype.itemsize * dtype.itemsize].view(dtype)
        else:
            whole = whole.reshape(-1)
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
            self.device.arrays.matmul(*given, out=self.view(first))
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
        return self.aligned(self.device.arrays.asarray(self.view(source)))

    def aligned(self, array: Any) -> Any:
        """An array that is contiguous, at an address from which threads can read several numbers at once."""
        is_aligned = array.flags.c_contiguous and self.device.address(array) % VECTOR_BYTES == 0
        return array if is_aligned else array.copy()

    def run_loop(self, step: LoopStep) -> None:
        """Run the program of a body for each step."""
        shape, (body, *conditions) = step.shape, self.loaded.bodies[id(step)]
        operands = [self.contiguous(o) for o in step.operands]
        count = shape.length
        if shape.length is None and not conditions:
            count, *operands = int(operands[0]), *operands[1:]
        constants, states, sequences = shape.split(operands)
        rows: dict[int, list[Any]] = {}
        for i in shape.indices(count) if count is not None else iter(lambda: len(rows), None):
            if conditions and not bool(conditions[0]([*constants, *states])[0]):
                break
            outs = body([*constants, *states, *[self.aligned(row_of(x, i)) for x in sequences]])
            states, rows[i] = outs[: shape.states], outs[shape.states :]
        for result, state in zip(step.results, states, strict=False):
            self.put(result, state)
        for k, spec in enumerate(body.program.outputs[shape.states :]):
            ordered = [rows[i][k] for i in range(len(rows))]
            whole = self.device.arrays.stack(ordered) if ordered else self.device.empty((0, *spec.shape), spec.dtype)
            self.put(step.results[shape.states + k], whole)
        if conditions:
            self.put(step.results[-1], len(rows))

    def find_lengths(self, step: Lengths) -> None:
        """Note the number of steps of a loop, and make its sequences."""
        count = int(self.device.arrays.asarray(self.view(step.counts)).max())
        self.put(step.steps, count)
        for result in step.sequences:
            assert result.spec is not None
            self.put(result, self.device.empty((count, *result.spec.shape[1:]), result.spec.dtype))


def row_of(array: Any, i: int) -> Any:
    """A row of an array, as a view."""
    return array[i : i + 1].reshape(array.shape[1:])


def launches_of(program: DeviceProgram) -> list[Launches]:
    """The groups of kernels of a program."""
    return [step for step in program.steps if isinstance(step, Launches)]
