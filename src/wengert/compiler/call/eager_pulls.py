"""Runs of the backward pass as kernels on blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler.call.block_program import BlockProgram, block_spec, can_run_blocks
from wengert.compiler.call.exact_parts import has_eager_bits, has_one_rounding
from wengert.compiler.call.operand_rows import DTYPES
from wengert.control.bodies import trace_body
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.modes.blocks import Run, pull_values
from wengert.ops.shape.reshaping import broadcast_to


def pull_rows(run: Run, inputs: Sequence[np.ndarray], size: int) -> list[np.ndarray] | None:
    """The cotangents of the nodes behind a run, as rows; None where NumPy would run a part of the kernel."""
    if size < machine.current.elements_of_block or not can_run_blocks():
        return None
    if not all(x.flags.aligned and x.dtype in DTYPES for x in inputs):
        return None
    kernel = kernel_of_run(run) if has_eager_bits(graph_of_run(run).operations, size) else None
    if kernel is None:
        return None
    rows = [np.empty(size, run.dtype) for _ in range(run.results)]
    kernel(size, inputs, rows)
    return rows


def is_exact_run(run: Run) -> bool:
    """Whether all operations of a run have the same bits on blocks and on whole arrays, whoever runs them."""
    return all(map(has_one_rounding, graph_of_run(run).operations))


@machine.kept("max_kernels_kept")
def graph_of_run(run: Run) -> Graph:
    """The trace of the rules of a run on a block."""
    block = machine.current.elements_of_block

    def pull_block(values: list[Any]) -> list[Any]:
        return [c if c.shape else broadcast_to(c, (block,)) for c in pull_values(run, values)]

    return trace_body(pull_block, [block_spec(dtype, is_row, block) for dtype, is_row in run.inputs])


@machine.kept("max_kernels_kept")
def kernel_of_run(run: Run) -> BlockProgram | None:
    """The kernel of a run; None if NumPy would run a part of it."""
    kernel = BlockProgram(graph_of_run(run), "pull", machine.current.elements_of_block)
    return kernel if kernel.is_native else None
