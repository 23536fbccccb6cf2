"""Runs of the backward pass as kernels on blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.compiler.call.block_program import BLOCK, BlockProgram, block_spec, can_run_blocks
from wengert.compiler.call.eager_elements import MOST_KERNELS
from wengert.compiler.call.operand_rows import DTYPES
from wengert.control.bodies import trace_body
from wengert.modes.blocks import Run, pull_values
from wengert.ops.shape.reshaping import broadcast_to


def pull_rows(run: Run, inputs: Sequence[np.ndarray], size: int) -> list[np.ndarray] | None:
    """The cotangents of the nodes behind a run, as rows; None where NumPy would run a part of the kernel."""
    if size < BLOCK or not can_run_blocks() or not all(x.flags.aligned and x.dtype in DTYPES for x in inputs):
        return None
    kernel = kernel_of_run(run)
    if kernel is None:
        return None
    rows = [np.empty(size, run.dtype) for _ in range(run.results)]
    kernel(size, inputs, rows)
    return rows


@lru_cache(MOST_KERNELS)
def kernel_of_run(run: Run) -> BlockProgram | None:
    """The kernel of a run, from the trace of its rules; None if NumPy would run a part of it."""

    def pull_block(values: list[Any]) -> list[Any]:
        return [c if c.shape else broadcast_to(c, (BLOCK,)) for c in pull_values(run, values)]

    graph = trace_body(pull_block, [block_spec(dtype, is_row) for dtype, is_row in run.inputs])
    kernel = BlockProgram(graph, "pull")
    return kernel if kernel.is_native else None
