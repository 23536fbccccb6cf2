"""Programs on blocks: elementwise operations on arrays of any size, compiled once.

A program has the shapes of its inputs. This one has blocks of `BLOCK` elements, and a function around it runs it on the
blocks of long arrays, on all cores. The last block is moved back to end with the arrays: some elements are computed
twice, with equal values. So one program serves all sizes from `BLOCK` on, and results do not depend on threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.compiler.entry.python_objects import DATA, is_supported
from wengert.compiler.kernels.threads import DECLARE_PARALLEL
from wengert.compiler.machine.native import LOCK, load_or_compile
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node

BLOCK = 2048
"""The elements of a block: a few microseconds of work, and all arrays of a block fit in the first cache."""
RUN_BLOCKS = "wengert.run_blocks"
WORK = 24
"""The scalar operations of one element, as threads see them; most programs have a mathematical function."""
_HEAD = 2
"""The entries of the table before the arrays: the number of elements, and the status."""

_Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # other threads of Python run meanwhile


class BlockProgram:
    """A program on blocks.

    Inputs and outputs of the graph have the shape (BLOCK,). An input without axes is one number for all blocks, an
    output without axes one number for each block.
    """

    def __init__(self, graph: Graph, name: str):
        with LOCK:
            self.program = load_or_compile(graph, None, name, callers=write_callers(graph))
        self.run = _Run(self.program.loaded.address(RUN_BLOCKS))
        self.is_native = not self.program.build.program.fallbacks
        self.table = _table_type(_HEAD + len(graph.inputs) + len(graph.outputs))

    def __call__(self, size: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Fill outputs, arrays of `size` elements. All are contiguous, aligned objects of the class ndarray itself."""
        table = self.table(size, 0, *map(id, inputs), *map(id, outputs))
        self.run(table)
        if table[1]:
            raise self.program.error(table[1])


def can_run_blocks() -> bool:
    """Whether arrays can be passed to programs on blocks."""
    return is_supported()


def count_blocks(size: int) -> int:
    """The number of blocks of so many elements."""
    return -(-size // BLOCK)


def block_slice(number: int, size: int) -> slice:
    """The elements of a block."""
    start = min(number * BLOCK, size - BLOCK)
    return slice(start, start + BLOCK)


def block_spec(dtype: np.dtype, is_row: bool = True) -> Spec:
    """The spec of a block, or of a number for all blocks."""
    return Spec((BLOCK,) if is_row else (), dtype)


@cache
def _table_type(length: int) -> Any:
    """The type of a table: made once, as classes are cyclic garbage."""
    return ctypes.c_int64 * length


def write_callers(graph: Graph) -> str:
    """The LLVM text of the functions that run a program on all blocks: of one thread, and of all."""
    inputs, outputs = graph.inputs, graph.outputs
    nodes: list[Node] = [*inputs, *outputs]
    places = [("%inputs", i) for i in range(len(inputs))] + [("%outputs", i) for i in range(len(outputs))]
    before, within = [], []
    for k, (node, (group, i)) in enumerate(zip(nodes, places, strict=True)):
        before += [
            f"  %entry.{k} = getelementptr i64, ptr %table, i64 {_HEAD + k}",
            f"  %object.{k} = load ptr, ptr %entry.{k}",
            f"  %field.{k} = getelementptr i8, ptr %object.{k}, i64 {DATA}",
            f"  %data.{k} = load ptr, ptr %field.{k}",
            f"  %target.{k} = getelementptr ptr, ptr {group}, i64 {i}",
        ]
        if not node.shape and group == "%inputs":
            before.append(f"  store ptr %data.{k}, ptr %target.{k}")
            continue
        index = "%start" if node.shape else "%block"
        within += [
            f"  %offset.{k} = mul i64 {index}, {node.dtype.itemsize}",
            f"  %address.{k} = getelementptr i8, ptr %data.{k}, i64 %offset.{k}",
            f"  store ptr %address.{k}, ptr %target.{k}",
        ]
    fill, move = "\n".join(before), "\n".join(within)
    return f"""
{DECLARE_PARALLEL}
declare i64 @llvm.smin.i64(i64, i64)

define internal void @run_part(ptr %table, i64 %begin, i64 %end) {{
entry:
  %inputs = alloca [{max(len(inputs), 1)} x ptr]
  %outputs = alloca [{max(len(outputs), 1)} x ptr]
  %size = load i64, ptr %table
  %last = sub i64 %size, {BLOCK}
{fill}
  br label %loop
loop:
  %block = phi i64 [ %begin, %entry ], [ %next, %done ]
  %more = icmp slt i64 %block, %end
  br i1 %more, label %run, label %end.of.part
run:
  %wanted = mul i64 %block, {BLOCK}
  %start = call i64 @llvm.smin.i64(i64 %wanted, i64 %last)
{move}
  %status = call i32 @wengert.run(ptr %inputs, ptr %outputs)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %note, label %done
note:
  %wide = zext i32 %status to i64
  %status.entry = getelementptr i64, ptr %table, i64 1
  store atomic i64 %wide, ptr %status.entry seq_cst, align 8
  br label %done
done:
  %next = add i64 %block, 1
  br label %loop
end.of.part:
  ret void
}}

define void @{RUN_BLOCKS}(ptr %table) {{
entry:
  %size = load i64, ptr %table
  %up = add i64 %size, {BLOCK - 1}
  %blocks = sdiv i64 %up, {BLOCK}
  %work = mul i64 %size, {WORK}
  call void @wengert.parallel(ptr @run_part, ptr %table, i64 %blocks, i64 1, i64 %work)
  ret void
}}
"""
