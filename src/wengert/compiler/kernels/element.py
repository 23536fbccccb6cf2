"""Elements: the instructions that compute one element of a value, or SIMD lanes of neighbouring ones.

`Elements` writes the instructions for each pair of node and position once. The sources of an element are found first,
without recursion, so that programs may be arbitrarily deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.affine import ZERO, Affine, Counter, Position, flat_index, lane_stride
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.failures import OUT_OF_BOUNDS, OUT_OF_RANGE, Failure
from wengert.compiler.forms.gather import IndexedPosition, are_indices
from wengert.compiler.forms.lowering import (
    Draw,
    MatrixFunction,
    Reduction,
    converted_numbers,
    lowering_of,
    write_element,
)
from wengert.compiler.kernels.choices import choose, read_chosen
from wengert.compiler.kernels.iteration import write_iteration
from wengert.compiler.kernels.row_sums import sum_of_products
from wengert.compiler.nests.element_sources import SUM, Element, ElementSources
from wengert.compiler.schedule.memory_plan import Pointers
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.complex_lanes import Complex, constant, parts_of
from wengert.compiler.simd.lane_operations import (
    count_lanes,
    gather_lanes,
    load_element,
    pick_lanes,
    scatter_lanes,
    splat,
    store_element,
)
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.transposes import block_start, block_width, read_block, store_rows
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.small_matrices.call import MatrixCall
from wengert.core import machine
from wengert.graph.ir import Constant, Node, Operation


class StoredElement(NamedTuple):
    """An element `at` an index of an array of `size` elements in memory, which the kernel may write to."""

    base: Lanes
    at: Affine
    size: int
    is_overwritten: bool


class Elements(ElementSources):
    """The elements of one kernel."""

    has_lapack = True
    """Whether kernels may call LAPACK."""

    def __init__(self, code: Code, schedule: Schedule, kernel: Kernel, pointers: Pointers, is_flat: bool = False):
        super().__init__(schedule, kernel, is_flat)
        self.code, self.pointers = code, pointers
        self.known: dict[Element, Lanes] = {}
        self.counters: dict[Counter, Lanes] = {}
        self.affine_values: dict[Any, Lanes] = {}
        self.splats: dict[tuple[str, int], Lanes] = {}
        self.factorizations: dict[Any, Any] = {}
        self.blocks: dict[tuple[str, Affine, Type], list[Lanes]] = {}
        self.failures: dict[tuple[Failure, int], Lanes] = {}  # variables: in which lanes something failed
        self.overwritten: set[Node] = set()  # inputs whose memory the kernel may write its results to

    def forget(self) -> None:
        """Start another block, where values of earlier blocks may be missing."""
        self.known.clear()
        self.affine_values.clear()
        self.splats.clear()
        self.factorizations.clear()
        self.blocks.clear()

    def forget_along(self, counter: Counter) -> None:
        """Forget what depends on a counter, whose value changes within a block."""
        depends = lambda position: any(c is counter for index in position for c, _ in index.terms)
        kept = {element: value for element, value in self.known.items() if not depends(element[1])}
        self.forget()
        self.known.update(kept)

    def at(self, node: Node, position: Position) -> Lanes:
        """The element of a node at a position: one lane if that does not depend on the vector's counter."""
        known = self.known
        stack = [(node, position)]
        waiting: set[Element] = set()  # what is computed when all above it on the stack is known
        while stack:
            element = stack[-1]
            if element in known:
                stack.pop()
                continue
            if element not in waiting:
                at_once = self.read_at_once(*element)
                if at_once is not None:
                    known[element] = at_once
                    continue
                missing = [e for e in self.needed(element) if e not in known]
                if missing:
                    waiting.add(element)
                    stack += missing
                    continue
            known[element] = self.compute(*element)
            stack.pop()
        return known[node, position]

    def needed(self, element: Element) -> list[Element]:
        """The elements that must be known before this one is computed."""
        return self.sources(*element)

    def read_at_once(self, node: Node, position: Position) -> Lanes | None:
        """An element that is computed from memory as a whole, and not from its sources one by one."""
        return self.row_sum(node, position) or read_chosen(self, node, position)

    def row_sum(self, node: Node, position: Position) -> Lanes | None:
        """A sum of products that is computed from whole rows in memory.

        Its order of additions depends on the lanes, which the order of a scatter leaves free.
        """
        if self.schedule.forms[node] is not Form.UNROLLED or self.is_stored(node) or self.kernel.scatters:
            return None
        assert isinstance(node, Operation)
        if self.factors(node) is None or node.dtype.kind != "f":
            return None
        terms = self.sources(node, position)
        return sum_of_products(self, terms, Type.from_dtype(node.dtype))

    def compute(self, node: Node, position: Position) -> Lanes:
        """The instructions for one element whose sources are known."""
        if self.is_stored(node):
            return self.load(node, position)
        assert isinstance(node, Operation)
        form = self.schedule.forms[node]
        if form is Form.CHOICE:
            return choose(self, node, self.reads(node, position))
        if form is Form.GATHER:
            return self.gather(node, position)
        parts = [self.known[element] for element in self.sources(node, position)]
        if form is Form.VIEW:
            return parts[0]
        if form is Form.UNROLLED:
            return self.fold_terms(node, parts)
        if form is Form.MATRIX:
            return self.element_of_matrix(node, position, parts)
        if form is Form.DRAW:
            return self.draw(node, position, parts)
        if form is Form.ITERATED:
            return self.iterate(node, position, parts)
        self.check_range(node, parts)
        return write_element(node, self.align(parts))

    def check_range(self, node: Operation, parts: Sequence[Lanes]) -> None:
        """Fail where a Python integer beside an array of int32 is none of its numbers."""
        if node.dtype == np.int32:
            for i in converted_numbers(node):
                self.fail(parts[i].ne(parts[i].to("i32").to("i64")), OUT_OF_RANGE)

    # Lanes

    def align(self, parts: Sequence[Lanes]) -> list[Lanes]:
        """All with as many lanes as the widest."""
        lanes = max(p.type.lanes for p in parts)
        return [self.splat(p, lanes) for p in parts]

    def splat(self, x: Lanes, lanes: int) -> Lanes:
        """One value in every lane, written once in a block."""
        if x.type.lanes == lanes:
            return x
        if isinstance(x, Complex):
            return x.of_parts(lambda part: self.splat(part, lanes))
        if x.text[0] != "%":
            type = Type(x.type.kind, lanes)
            return Lanes(self.code, f"splat ({x.type.scalar} {x.text})", type)
        key = x.text, lanes
        if key not in self.splats:
            self.splats[key] = splat(x, lanes)
        return self.splats[key]

    def both(self, x: Lanes | None, y: Lanes) -> Lanes:
        """Whether both conditions hold; None always does."""
        if x is None:
            return y
        x, y = self.align([x, y])
        return x & y

    def sum(self, x: Lanes | None, y: Lanes) -> Lanes:
        """x + y, where None is zero."""
        if x is None:
            return y
        x, y = self.align([x, y])
        return x + y

    def evaluate(self, affine: Affine, per_lane: bool) -> Lanes:
        """The value of an affine function: of the first lane, or of every lane."""
        key = affine, per_lane
        if key in self.affine_values:
            return self.affine_values[key]
        total: Lanes | None = None
        for counter, k in affine.terms:
            term = self.counters[counter] * k if k != 1 else self.counters[counter]
            total = term if total is None else total + term
        if total is None:
            total = self.code.constant(affine.constant, I64)
        elif affine.constant:
            total = total + affine.constant
        stride, lanes = lane_stride(affine)
        if per_lane and lanes > 1:
            total = self.splat(total, lanes) + count_lanes(self.code, Type("i64", lanes), stride)
        self.affine_values[key] = total
        return total

    # Memory

    def load(self, node: Node, position: Position) -> Lanes:
        """An element of a value in memory; zero outside its bounds, for reads that a choice then ignores."""
        if isinstance(node, Constant) and (node.weak or node.size == 1):
            value = node.value.item() if isinstance(node.value, np.ndarray | np.generic) else node.value
            return constant(self.code, value, Type.from_dtype(node.dtype))
        mask = None
        if not self.is_flat:
            for i, n in zip(position, node.shape, strict=True):
                if not i.is_within(n):
                    k = self.evaluate(i, True)
                    mask = self.both(mask, (k >= 0) & (k < n))
        type = Type.from_dtype(node.dtype).in_memory
        base, index, size, is_overwritten = self.find_source(node, self.memory_index(node, position))
        if mask is None and lane_stride(index)[0] > 1:
            column = self.read_column(base, index, type, size, is_overwritten)
            if column is not None:
                return column.ne(0) if node.dtype.kind == "b" else column
        if mask is None:
            value = self.read_memory(base, index, type, is_overwritten)
        else:
            value = self.read_guarded(StoredElement(base, index, size, is_overwritten), type, mask)
        return value.ne(0) if node.dtype.kind == "b" else value

    def find_source(self, node: Node, index: Affine) -> StoredElement:
        """Where an element of a value is read, by its index in the value: nothing else knows where values are."""
        owner = self.schedule.aliases.get(node, node)
        return StoredElement(self.pointers.source(owner), index, node.size, owner in self.overwritten)

    def read_memory(self, base: Lanes, index: Affine, type: Type, is_overwritten: bool) -> Lanes:
        """Elements from memory: neighbours at once, one for all lanes, or each lane by itself."""
        code, align, first = self.code, type.align, self.evaluate(index, False)
        stride, lanes = lane_stride(index)
        if lanes == 1:
            return load_element(code, code.offset(base, first, type), type, align, is_overwritten)
        vector = Type(type.kind, lanes)
        if stride == 1:
            return load_element(code, code.offset(base, first, type), vector, align, is_overwritten)
        if stride == -1:
            address = code.offset(base, first - (lanes - 1), type)
            return pick_lanes(load_element(code, address, vector, align, is_overwritten), range(lanes)[::-1])
        return gather_lanes(base, self.splat(self.evaluate(index, True), lanes), vector, align)

    def read_guarded(self, source: StoredElement, type: Type, mask: Lanes) -> Lanes:
        """Elements of an array where a mask holds, zero elsewhere: the first ones are read instead, and ignored.

        A masked read would do, too, but is slow where the address is outside of the pages of the process.
        """
        (base, index, size, is_overwritten), code, align = source, self.code, type.align
        stride, lanes = lane_stride(index)
        if mask.type.lanes == 1 and (lanes == 1 or (stride == 1 and lanes <= size)):
            address = code.offset(base, select(mask, self.evaluate(index, False), 0), type)
            value = load_element(code, address, Type(type.kind, lanes), align, is_overwritten)
            return select(self.splat(mask, lanes), value, 0)
        lanes = max(lanes, mask.type.lanes)
        mask, indices = self.splat(mask, lanes), self.splat(self.evaluate(index, True), lanes)
        value = gather_lanes(base, select(mask, indices, 0), Type(type.kind, lanes), align)
        return select(mask, value, 0)

    def read_column(self, base: Lanes, index: Affine, type: Type, size: int, is_overwritten: bool) -> Lanes | None:
        """Lanes that are a short row apart in an array of `size` elements, from a block of columns read once."""
        if type.is_complex:  # both parts are columns of the same block
            real, imag = [
                self.read_column(base, index.times(2).plus(i), type.part, 2 * size, is_overwritten) for i in (0, 1)
            ]
            return Complex(real, imag) if real is not None and imag is not None else None
        stride, lanes = lane_stride(index)
        if stride > machine.current.max_elements_of_transposed_row:
            return None
        column = index.constant % stride
        start = block_start(column, stride, lanes)
        first, vector = index.plus(start - column), Type(type.kind, lanes)
        low, high = first.range
        if low < 0 or high + block_width(stride, lanes) > size:
            return None
        key = base.text, first, type
        if key not in self.blocks:
            at = self.code.offset(base, self.evaluate(first, False), type)
            read = lambda i, part: load_element(
                self.code, self.code.offset(at, i, type), part, type.bits // 8, is_overwritten
            )
            self.blocks[key] = read_block(read, stride, vector)
        return self.blocks[key][column - start]

    def store(self, node: Node, positions: Sequence[Position], values: Sequence[Lanes]) -> None:
        """Write elements of a value that this kernel makes: at once if they are short rows, one after the other."""
        indices = [self.memory_index(node, position) for position in positions]
        stride, lanes = lane_stride(indices[0])
        are_rows = stride == len(values) and indices == [indices[0].plus(k) for k in range(stride)]
        if not are_rows or lanes == 1 or stride == 1:
            for index, value in zip(indices, values, strict=True):
                self.store_at(node, index, value)
            return
        type = Type.from_dtype(node.dtype).in_memory
        columns = [part for value in values for part in parts_of(self.splat(value.to(type.kind), lanes))]
        start = self.code.offset(self.pointers.target(node), self.evaluate(indices[0], False), type)
        store_rows(columns, start, type.part)

    def store_at(self, node: Node, index: Affine, value: Lanes) -> None:
        """Write an element of a value that this kernel makes, by its index in the value."""
        self.write_memory(self.pointers.target(node), index, value)

    def write_memory(self, base: Lanes, index: Affine, value: Lanes) -> None:
        """Lanes to memory: neighbours at once, or each lane by itself."""
        value = value.to(value.type.in_memory.kind)
        stride, lanes = lane_stride(index)
        value = self.splat(value, lanes)
        if lanes == 1 or stride == 1:
            store_element(value, self.code.offset(base, self.evaluate(index, False), value.type), value.type.align)
        else:
            scatter_lanes(value, base, self.evaluate(index, True), value.type.align)

    # Operations that are not elementwise

    def iterate(self, node: Operation, position: Position, parts: Sequence[Lanes]) -> Lanes:
        """A state after all steps of a loop, which is written once for all of its states."""
        key = node.params["body"], node.args, position
        if key not in self.factorizations:
            self.factorizations[key] = write_iteration(self.align(parts), node.params, self.splat)
        return self.factorizations[key][node.params["index"]]

    def draw(self, node: Operation, position: Position, state: Sequence[Lanes]) -> Lanes:
        """A random number: a hash of the state and the index of the element among those of the state."""
        size = node.params["size"]
        index = self.evaluate(flat_index(position[node.ndim - len(size) :], size), True)
        return lowering_of(node, Draw).body(*self.align([*state, index]), **node.params)

    def fold_terms(self, node: Operation, parts: Sequence[Lanes]) -> Lanes:
        """The terms of a reduction one after the other, as NumPy adds few of them.

        A sum starts with zero, so it is never negative zero.
        """
        terms = [p.to(Type.from_dtype(node.dtype).kind) for p in self.align(parts)]
        if self.factors(node) is not None:
            pairs = zip(terms[::2], terms[1::2], strict=True)
            return reduce(lambda total, pair: fma(pair[0], pair[1], total), pairs, terms[0].like(0.0))
        if node.primitive is SUM and terms[0].type.part.is_float:
            terms[0] = terms[0] + 0.0
        rule = lowering_of(node, Reduction)
        return rule.finish(rule.begin(terms))

    def element_of_matrix(self, node: Operation, position: Position, parts: Sequence[Lanes]) -> Lanes:
        """An element of a small matrix, which is computed as a whole; one is chosen where loops run along it."""
        lead = position[: lowering_of(node, MatrixFunction).lead(node)]
        shape, index = node.shape[len(lead) :], position[len(lead) :]
        elements = self.compute_matrix(node, lead, shape, parts)
        if not any(i.terms for i in index):
            return self.known[node, position]
        at = self.evaluate(flat_index(index, shape), True)
        found = elements[0]
        for k, element in enumerate(elements[1:], 1):
            is_here, element, found = self.align([at.eq(k), element, found])
            found = select(is_here, element, found)
        return found

    def compute_matrix(
        self, node: Operation, lead: Position, shape: tuple[int, ...], parts: Sequence[Lanes]
    ) -> list[Lanes]:
        """All elements of a small matrix."""
        found, type = lowering_of(node, MatrixFunction), Type.from_dtype(node.dtype)
        matrices, elements, kind = [], iter(parts), "f64" if found.in_double else type.kind
        for a in node.args[: found.operands]:
            rows, columns = a.shape[-2:]
            aligned = self.align([next(elements).to(kind) for _ in range(rows * columns)])
            matrices.append([aligned[i * columns : (i + 1) * columns] for i in range(rows)])
        call = MatrixCall(matrices, self.factorizations, self.splat, self.fail, self.has_lapack)
        results = found.body(call, **node.params)
        values = [x.to(type.kind) for row in results for x in row]
        for index, value in zip(np.ndindex(shape), values, strict=True):
            self.known[node, (*lead, *map(Affine, index))] = value
        return values

    def gather(self, node: Operation, position: Position) -> Lanes:
        """An element at an index that other values give."""
        source, indexed = node.args[0], self.indexed_in_memory(node, position)
        start, affine = self.computed_index(node.args[1:], indexed)
        if source.size == 1:  # a constant may have no address
            return self.load(source, (ZERO,) * source.ndim)
        type = Type.from_dtype(source.dtype).in_memory
        base, affine, _, is_overwritten = self.find_source(source, affine)
        if start is None or start.type.lanes == 1:
            leaves = any(axis.affine is not None and self.may_leave(axis.affine, axis.extent) for axis in indexed.axes)
            step = 1 if leaves else indexed.step
            base = base if start is None else self.offset_base(base, start, type, step)
            value = self.read_memory(base, affine, type, is_overwritten)
        else:
            index = start if affine == ZERO else self.sum(start, self.evaluate(affine, True))
            value = gather_lanes(base, index, Type(type.kind, index.type.lanes), type.align)
        return value.ne(0) if source.dtype.kind == "b" else value

    def offset_base(self, base: Lanes, start: Lanes, type: Type, step: int) -> Lanes:  # noqa: ARG002  # for alignment
        """The address of an element of an array, whose number is a multiple of `step`."""
        return self.code.offset(base, start, type)

    def computed_index(self, arrays: Sequence[Node], indexed: IndexedPosition) -> tuple[Lanes | None, Affine]:
        """The index of an element in memory: the part that arrays give, and the rest.

        Where a choice will ignore the element, an affine index may be outside of the array: zero takes its place.
        """
        elements, stride = iter(reversed(self.index_elements(arrays, indexed))), 1
        total: Lanes | None = None
        inside = []
        for axis in reversed(indexed.axes):
            if axis.operand is not None:
                total = self.add_index(total, self.index_along(next(elements), axis.extent), stride)
            elif axis.affine is not None and self.may_leave(axis.affine, axis.extent):
                index = self.evaluate(axis.affine, True)
                index = select((index >= 0) & (index < axis.extent), index, index.like(0))
                total = self.add_index(total, index, stride)
                axis = axis._replace(affine=ZERO)
            inside.append(axis)
            stride *= axis.extent
        return total, IndexedPosition(inside[::-1], indexed.in_arrays).affine_part

    def may_leave(self, index: Affine, extent: int) -> bool:
        """Whether an index may be outside of an array, where a choice ignores what it reads."""
        return not index.is_within(extent)

    def add_index(self, total: Lanes | None, index: Lanes, stride: int) -> Lanes:
        """The index in memory so far, and a number of strides."""
        return self.sum(total, index * stride if stride != 1 else index)

    def index_along(self, element: Element, extent: int) -> Lanes:
        """The index that an element of an array gives: negative ones count from the end, and all are checked.

        Those of a table that is part of the program need neither.
        """
        index = self.known[element].to("i64")
        if are_indices(element[0], extent):
            return index
        index = select(index < 0, index + extent, index)
        bad = (index < 0) | (index >= extent)
        self.fail(bad, OUT_OF_BOUNDS)
        return select(bad, index.like(0), index)

    def fail(self, condition: Lanes, failure: Failure) -> None:
        """Note a failure in the lanes where a condition holds."""
        code, key = self.code, (failure, condition.type.lanes)
        if key not in self.failures:
            self.failures[key] = Lanes(code, code.name(), PTR)
            none = code.constant(False, condition.type)
            code.hoisted += [
                f"  {self.failures[key].text} = alloca {condition.type.text}",
                f"  store {none.typed}, {self.failures[key].typed}",
            ]
        code.store(code.load(self.failures[key], condition.type) | condition, self.failures[key])
