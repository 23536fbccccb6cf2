"""Programs on blocks: elementwise operations on arrays of any size, and stacks of any length, compiled once.

A program has the shapes of its inputs. This one has blocks of some elements, and a function around it runs it on the
blocks of long rows, on all cores. The elements may be small matrices. The last block of a row is moved back to end with
the row: some elements are computed twice, with equal values. So one program serves all sizes from a block on, and
results do not depend on threads.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Collection, Sequence

import numpy as np

from wengert.compiler.entry.native import LOCK, load_or_compile
from wengert.compiler.machine.python_objects import DATA, is_supported
from wengert.compiler.threads.pool import DECLARE_PARALLEL
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node

RUN_BLOCKS = "wengert.run_blocks"
HEAD, FIELDS = 4, 3
"""The entries of the table before the arrays (the extents, and the status), and those of each array: the object, and
the bytes between rows, along two axes.
"""

Extents = tuple[int, int, int]
"""Two numbers of rows, and the number of elements of a row."""

_Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # other threads of Python run meanwhile


class BlockProgram:
    """A program on blocks.

    Inputs and outputs of the graph have the first axis of a block. An input without axes is one number for each row, or
    for all of them; an output without axes is one number for each block. All blocks read the inputs with the numbers
    `whole` as they are. To compute an element takes about so many scalar `operations`.
    """

    def __init__(self, graph: Graph, name: str, block: int, whole: Collection[int] = (), operations: int = 0):
        callers = write_callers(graph, block, whole, operations or machine.current.operations_of_block_element)
        with LOCK:
            self.program = load_or_compile(graph, None, name, callers=callers)
        self.run = _Run(self.program.loaded.address(RUN_BLOCKS))
        self.is_native = self.program.build.program.is_native
        self.results = [spec.dtype for spec in self.program.build.program.outputs]

    def __call__(self, size: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Fill outputs, arrays of `size` elements. All are contiguous, aligned objects of the class ndarray itself."""
        fields = [field for x in (*inputs, *outputs) for field in (id(x), 0, 0)]
        self.run_rows((1, 1, size), fields)

    def run_rows(self, extents: Extents, fields: Sequence[int]) -> None:
        """Run on rows; `fields` are those of the table, for inputs and outputs."""
        table = array("q", (*extents, 0, *fields))
        self.run(table.buffer_info()[0])
        if table[3]:
            raise self.program.error(table[3])


def can_run_blocks() -> bool:
    """Whether arrays can be passed to programs on blocks."""
    return is_supported()


def block_of(length: int) -> int | None:
    """The number of elements of a block, for rows of this length: the one that costs least; None for short rows."""
    now = machine.current
    sizes = [now.elements_of_block]
    while sizes[-1] // 4 >= now.elements_of_shortest_block:
        sizes.append(sizes[-1] // 4)
    cost = lambda size: count_blocks(length, size) * (size + now.elements_of_block_call)
    return min([size for size in sizes if size <= length], key=cost, default=None)


def count_blocks(size: int, block: int) -> int:
    """The number of blocks of so many elements."""
    return -(-size // block)


def block_slice(number: int, size: int, block: int) -> slice:
    """The elements of a block of a row."""
    start = min(number * block, size - block)
    return slice(start, start + block)


def block_spec(dtype: np.dtype, is_row: bool, block: int) -> Spec:
    """The spec of a block, or of a number for all its elements."""
    return Spec((block,) if is_row else (), dtype)


def write_callers(graph: Graph, block: int, whole: Collection[int], operations: int) -> str:
    """The LLVM text of the functions that run a program on all blocks: of one thread, and of all."""
    inputs, outputs = graph.inputs, graph.outputs
    nodes: list[Node] = [*inputs, *outputs]
    places = [("%inputs", i) for i in range(len(inputs))] + [("%outputs", i) for i in range(len(outputs))]
    before, within = [], []
    for k, (node, (group, i)) in enumerate(zip(nodes, places, strict=True)):
        before += [
            f"  %entry.{k} = getelementptr i64, ptr %table, i64 {HEAD + FIELDS * k}",
            f"  %outer.entry.{k} = getelementptr i64, ptr %entry.{k}, i64 1",
            f"  %inner.entry.{k} = getelementptr i64, ptr %entry.{k}, i64 2",
            f"  %object.{k} = load ptr, ptr %entry.{k}",
            f"  %outer.step.{k} = load i64, ptr %outer.entry.{k}",
            f"  %inner.step.{k} = load i64, ptr %inner.entry.{k}",
            f"  %field.{k} = getelementptr i8, ptr %object.{k}, i64 {DATA}",
            f"  %data.{k} = load ptr, ptr %field.{k}",
            f"  %target.{k} = getelementptr ptr, ptr {group}, i64 {i}",
        ]
        if not node.shape and group == "%outputs":
            within.append(f"  %offset.{k} = mul i64 %block, {node.dtype.itemsize}")
        else:
            index, itemsize = ("%start", node.nbytes // block) if node.shape and k not in whole else ("0", 0)
            within += [
                f"  %outer.offset.{k} = mul i64 %outer, %outer.step.{k}",
                f"  %inner.offset.{k} = mul i64 %inner, %inner.step.{k}",
                f"  %row.{k} = add i64 %outer.offset.{k}, %inner.offset.{k}",
                f"  %in.row.{k} = mul i64 {index}, {itemsize}",
                f"  %offset.{k} = add i64 %row.{k}, %in.row.{k}",
            ]
        within += [
            f"  %address.{k} = getelementptr i8, ptr %data.{k}, i64 %offset.{k}",
            f"  store ptr %address.{k}, ptr %target.{k}",
        ]
    fill, move = "\n".join(before), "\n".join(within)
    read_extents = f"""  %inner.entry = getelementptr i64, ptr %table, i64 1
  %length.entry = getelementptr i64, ptr %table, i64 2
  %inners = load i64, ptr %inner.entry
  %length = load i64, ptr %length.entry
  %up = add i64 %length, {block - 1}
  %blocks = sdiv i64 %up, {block}"""
    return f"""
{DECLARE_PARALLEL}
declare i64 @llvm.smin.i64(i64, i64)

define internal void @run_part(ptr %table, i64 %begin, i64 %end) {{
entry:
  %inputs = alloca [{max(len(inputs), 1)} x ptr]
  %outputs = alloca [{max(len(outputs), 1)} x ptr]
{read_extents}
  %last = sub i64 %length, {block}
  %first.row = sdiv i64 %begin, %blocks
  %first.column = srem i64 %begin, %blocks
  %first.outer = sdiv i64 %first.row, %inners
  %first.inner = srem i64 %first.row, %inners
{fill}
  br label %loop
loop:
  %block = phi i64 [ %begin, %entry ], [ %next, %done ]
  %column = phi i64 [ %first.column, %entry ], [ %next.column, %done ]
  %inner = phi i64 [ %first.inner, %entry ], [ %next.inner, %done ]
  %outer = phi i64 [ %first.outer, %entry ], [ %next.outer, %done ]
  %more = icmp slt i64 %block, %end
  br i1 %more, label %run, label %end.of.part
run:
  %wanted = mul i64 %column, {block}
  %start = call i64 @llvm.smin.i64(i64 %wanted, i64 %last)
{move}
  %status = call i32 @wengert.run(ptr %inputs, ptr %outputs)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %note, label %done
note:
  %wide = zext i32 %status to i64
  %status.entry = getelementptr i64, ptr %table, i64 3
  store atomic i64 %wide, ptr %status.entry seq_cst, align 8
  br label %done
done:
  %next = add i64 %block, 1
  %column.up = add i64 %column, 1
  %row.ends = icmp eq i64 %column.up, %blocks
  %next.column = select i1 %row.ends, i64 0, i64 %column.up
  %row.step = zext i1 %row.ends to i64
  %inner.up = add i64 %inner, %row.step
  %inner.ends = icmp eq i64 %inner.up, %inners
  %next.inner = select i1 %inner.ends, i64 0, i64 %inner.up
  %outer.step = zext i1 %inner.ends to i64
  %next.outer = add i64 %outer, %outer.step
  br label %loop
end.of.part:
  ret void
}}

define void @{RUN_BLOCKS}(ptr %table) {{
entry:
  %outers = load i64, ptr %table
{read_extents}
  %rows = mul i64 %outers, %inners
  %all = mul i64 %rows, %blocks
  %size = mul i64 %rows, %length
  %work = mul i64 %size, {operations}
  call void @wengert.parallel(ptr @run_part, ptr %table, i64 %all, i64 1, i64 %work)
  ret void
}}
"""
