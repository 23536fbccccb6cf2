"""Reports on compiled functions."""

from __future__ import annotations

import zlib

import numpy as np

from wengert.compiler.machine.native import Build

BLAS = ("gemm", "gemv", "trsm", "potrf", "getrf", "getrs", "geqrf", "syevd", "gesdd", "gelsd")
"""The steps that are calls of BLAS or LAPACK."""


class Report:
    """Kernels, fallbacks, memory, compile time and LLVM text of a compiled function; prints as a summary."""

    def __init__(self, name: str, build: Build, is_warm: bool):
        self.name, self.is_warm = name, is_warm
        program = build.program
        self.steps = list(program.summary)
        everywhere = [step.strip() for step in program.summary]
        self.kernels = [step for step in everywhere if "kernel." in step.split(":")[0]]
        self.calls = [step for step in everywhere if step.startswith(BLAS)]
        self.fallbacks = [step.split()[1] for step in everywhere if step.startswith("NumPy:")]
        self.arena_bytes, self.code_bytes = program.arena, sum(map(len, build.code))
        self.constant_bytes = sum(np.asarray(c).nbytes for c in program.constants)
        self.seconds = build.seconds
        self.operations_traced, self.operations = build.operations
        self._text = build.text

    @property
    def llvm(self) -> str:
        """The LLVM text of the program, before optimisation."""
        return zlib.decompress(self._text).decode()

    def __str__(self) -> str:
        origin = "loaded from the disk cache, " if self.is_warm else ""
        lines = [
            f"{self.name}: {self.operations_traced} operations traced, {self.operations} after the passes",
            f"  {len(self.kernels)} kernels, {len(self.calls)} BLAS calls, {len(self.fallbacks)} operations by NumPy",
            f"  memory: {self.arena_bytes} bytes of intermediate results, {self.constant_bytes} of constants, "
            f"{self.code_bytes} of code",
            f"  {origin}compiled in {1e3 * self.seconds:.1f} ms",
        ]
        return "\n".join(lines + [f"    {step}" for step in self.steps])

    __repr__ = __str__
