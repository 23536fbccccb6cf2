"""Reports on programs for GPUs."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wengert.compiler.targets.device_program import DeviceProgram, LibraryStep

if TYPE_CHECKING:
    from wengert.compiler.targets.cuda_driver import Module, Usage


class DeviceBuild(NamedTuple):
    """A compiled program as it is kept on disk; `text` is its LLVM text, compressed."""

    program: DeviceProgram
    ptx: str
    code: bytes
    text: bytes
    operations: tuple[int, int]
    seconds: float


class KernelReport(NamedTuple):
    """A kernel: its blocks, the bytes that it must move, and what a thread needs, if it is loaded."""

    name: str
    blocks: int
    nbytes: int
    usage: Usage | None

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.blocks} blocks, {self.nbytes} bytes"]
        if self.usage is not None:
            parts.append(f"{self.usage.registers} registers")
            parts += [f"{self.usage.shared_bytes} bytes of shared memory"] if self.usage.shared_bytes else []
            parts += [f"{self.usage.local_bytes} bytes of local memory"] if self.usage.local_bytes else []
        return ", ".join(parts)


class DeviceReport:
    """Kernels, library calls, memory, time to compile, PTX and LLVM text of a program on a GPU; prints as a summary.

    `nbytes` are those that all kernels must read and write: at the bandwidth of the device, they take
    `seconds_at(bandwidth)`, which a measured time can be compared with.
    """

    def __init__(self, name: str, build: DeviceBuild, module: Module | None, is_warm: bool):
        self.name, self.is_warm, self.ptx, self._text = name, is_warm, build.ptx, build.text
        self.steps = list(build.program.summary)
        programs = build.program.programs
        self.kernels = [
            KernelReport(*kernel, None if module is None else module.usage(kernel.name))
            for part in programs
            for kernel in part.kernels
        ]
        libraries = [step for part in programs for step in part.steps if isinstance(step, LibraryStep)]
        self.library_calls = [step.primitive.name for step in libraries]
        self.arena_bytes, self.code_bytes = build.program.arena, len(build.code)
        self.constant_bytes = sum(np.asarray(c).nbytes for c in build.program.constants)
        self.operations_traced, self.operations = build.operations
        self.seconds = build.seconds

    @property
    def llvm(self) -> str:
        """The LLVM text of the kernels, before optimisation."""
        return zlib.decompress(self._text).decode()

    @property
    def nbytes(self) -> int:
        """The bytes that all kernels must read and write."""
        return sum(kernel.nbytes for kernel in self.kernels)

    def seconds_at(self, bandwidth: float) -> float:
        """The least time of all kernels, for a bandwidth in bytes per second."""
        return self.nbytes / bandwidth

    def __str__(self) -> str:
        origin = "loaded from the disk cache, " if self.is_warm else ""
        lines = [
            f"{self.name}: {self.operations_traced} operations traced, {self.operations} after the passes",
            f"  {len(self.kernels)} kernels, {len(self.library_calls)} calls of libraries, {self.nbytes} bytes to move",
            f"  memory: {self.arena_bytes} bytes of intermediate results, {self.constant_bytes} of constants, "
            f"{self.code_bytes} of code",
            f"  {origin}compiled in {1e3 * self.seconds:.1f} ms",
            *[f"    {kernel}" for kernel in self.kernels],
            *[f"    {step}" for step in self.steps],
        ]
        return "\n".join(lines)

    __repr__ = __str__
