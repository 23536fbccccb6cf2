"""Products of matrices as steps of a program: their order of additions, what is decided, and the calls that follow.

A product may be added to other numbers (`PRODUCT_SUM`), which its sums begin with: functions of their own read them
where they are, and BLAS adds to them in the memory of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import are_float_stacks
from wengert.compiler.forms.strides import contiguous_strides, is_factor, is_summand
from wengert.compiler.products.decisions import Decisions
from wengert.compiler.products.in_place import ProductFunction
from wengert.compiler.products.library import call_gemm, call_syrk
from wengert.compiler.products.order import Order, is_large, order_of, order_of_own, piece_length
from wengert.compiler.products.packed import PackedFunction, PanelFunction, packed_bytes, sizes_of
from wengert.compiler.products.policy import decide
from wengert.compiler.products.product import Product, Stack, Strides, product_of
from wengert.compiler.products.tile import Tiling, smaller
from wengert.compiler.products.transposing import define_transpose
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lanes import Code, Lanes, split_index
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.routines.call import RoutineCall


class ProductPlan(NamedTuple):
    """Products, their order of additions, and what is decided about them; `is_turned` if they are the transposes."""

    stack: Stack
    order: Order
    decisions: Decisions
    is_turned: bool

    @property
    def extent(self) -> int:
        """The rows of a product, or the columns of its only row, which threads share."""
        product = self.stack.product
        return product.n if product.m == 1 and product.is_of_vector else product.m


def plan(node: Operation, strides: Sequence[Strides] | None, is_in_loop: bool) -> ProductPlan:
    """What is known about a product before it is written.

    Products with vectors are written for one column if they are added up in lanes, and for one row otherwise.
    """
    stack = product_of(node, strides)
    product, is_single = stack.product, stack.shape == ()
    order, is_turned = order_of(product, is_in_loop, is_single), False
    if product.is_of_vector:
        is_column = product.n == 1 and product.y_steps[0] == 1
        is_turned = is_column != (order.kind == "lanes")
        stack = stack.transposed if is_turned else stack
    return ProductPlan(stack, order, decide(stack.product, order, is_in_loop, stack.matrices == 1), is_turned)


def write_matmul(call: RoutineCall) -> None:
    """Write the product of each matrix of a stack, with what it is added to."""
    node, strides = call.node, [operand.strides for operand in call.operands]
    if not node.size:
        return
    found = plan(node, strides, call.is_in_loop)
    *initial, x, y = [operand.pointer for operand in call.operands]
    pointers = [y, x, *initial] if found.is_turned else [x, y, *initial]
    if found.decisions.library:
        write_by_library(call, found, pointers)
    elif found.order.kind == "pieces":
        write_pieces(call, found, pointers)
    elif found.decisions.packed:
        write_packed(call, found, pointers)
    else:
        write_in_place(call, found, pointers)
    if initial:
        call.name += ", added to"


def write_by_library(call: RoutineCall, found: ProductPlan, pointers: Sequence[Lanes]) -> None:
    """Products by BLAS, one after the other."""
    product = found.stack.product
    call.name = "syrk" if product.is_gram else "gemm"
    if product.is_gram:
        call_syrk(call, product, pointers[0])
        return

    def write(pointers: Sequence[Lanes], result: Lanes) -> None:
        x, y, *initial = pointers
        call_gemm(call, product, x, y, initial[0] if initial else None, result)

    for_each(call.code, found.stack, pointers, call.result, write)


def write_in_place(call: RoutineCall, found: ProductPlan, pointers: Sequence[Lanes]) -> None:
    """Products by a function of their own: threads share the stack, or the rows of one, or the columns of a row."""
    stack, product = found.stack, found.stack.product
    function = ProductFunction(product, found.order, found.decisions)
    call.name = f"product ({found.decisions})"
    call.define(function.name, function.parameters, function.write)

    def write_part(code: Code) -> None:
        """The function of a table and a part."""
        (*pointers, result), begin, end = read_part(code, len(stack.steps) + 1)
        if stack.matrices == 1:
            function.run(code, pointers, result, begin, end)
            return
        write = lambda pointers, result: function.run(code, pointers, result, 0, found.extent)
        for_each(code, stack, pointers, result, write, (begin, end))

    steps = ".".join("x".join(map(str, steps)) for steps in stack.steps)
    name = f"{function.name}.of{'x'.join(map(str, stack.shape))}.{steps}"
    call.define_part(name, write_part)
    extent = found.extent if stack.matrices == 1 else stack.matrices
    work = operations_of(product) * stack.matrices
    call.run_on_all_cores(name, [*pointers, call.result], extent, found.decisions.grain, work)


def write_packed(call: RoutineCall, found: ProductPlan, pointers: Sequence[Lanes]) -> None:
    """Products whose right operands are packed first, one after the other, each on all cores."""
    product, copy = found.stack.product, call.workspace
    panels, function = PanelFunction(product), PackedFunction(product)
    call.name = f"product ({found.decisions})"
    for tile in function.tiles:
        call.define(tile.name, tile.parameters, tile.write, "noinline")
    if product.is_y_transposed:
        define_transpose(call, product.element)
    call.define_part(panels.name, panels.write)
    call.define_part(function.name, function.write)
    sizes = call.code.numbers(I64, sizes_of(product, found.decisions.chunk))
    assert copy is not None

    def write(pointers: Sequence[Lanes], result: Lanes) -> None:
        x, y, *initial = pointers
        copying = machine.current.operations_of_packed_element * product.n * product.k
        call.run_on_all_cores(panels.name, (sizes, y, copy), product.n, panels.width, copying)
        work, grain = operations_of(product), found.decisions.grain
        call.run_on_all_cores(function.name, (sizes, x, copy, *initial, result), product.m, grain, work)

    for_each(call.code, found.stack, pointers, call.result, write)


def write_pieces(call: RoutineCall, found: ProductPlan, pointers: Sequence[Lanes]) -> None:
    """A product whose sums are cut into pieces, on all cores."""
    product, length = found.stack.product, found.order.amount
    size, element, (whole, rest) = product.m * product.n, product.element, divmod(product.k, length)
    pieces = [product._replace(k=k, is_gram=False) for k in (length, rest) if k]
    functions = [ProductFunction(p, order_of_own(p), decide(p, order_of_own(p), True)) for p in pieces]
    call.name = f"product of pieces ({functions[0].decisions})"
    for function in functions:
        call.define(function.name, function.parameters, function.write)
    down, along = length * product.x_steps[1], length * product.y_steps[0]

    def write_part(code: Code) -> None:
        (x, y, results), begin, end = read_part(code, 3)

        def run(function: ProductFunction, i: Lanes) -> None:
            factors = [code.offset(x, i * down, element), code.offset(y, i * along, element)]
            function.run(code, factors, code.offset(results, i * size, element), 0, product.m)

        with code.loop(begin, smaller(end, whole)) as i:
            run(functions[0], i)
        if rest:
            with code.loop(code.intrinsic("smax", I64, begin, begin.like(whole)), end) as i:
                run(functions[1], i)

    name = f"wengert.product.{product.name}.pieces"
    call.define_part(name, write_part)
    assert call.workspace is not None
    table = [*pointers, call.workspace]
    call.run_on_all_cores(name, table, whole + (rest > 0), 1, operations_of(product))
    add_pieces(call, element, 1, whole + (rest > 0), size, call.workspace, call.result)


def add_pieces(
    call: RoutineCall, element: Type, members: int, pieces: int, size: int, partials: Lanes, result: Lanes
) -> None:
    """Add up so many pieces of each of some arrays, in order."""
    type = Type(element.kind, math.gcd(size, Tiling(element.kind).lanes))

    def write(code: Code) -> None:
        partials, result = Lanes(code, "%partials", PTR), Lanes(code, "%result", PTR)
        with code.loop(0, members) as number, code.loop(0, size, type.lanes) as i:
            read = lambda piece: code.load(
                code.offset(partials, (number * pieces + piece) * size + i, element), type, element.align
            )
            total = Variable(code, type, read(0))
            with code.loop(1, pieces) as piece:
                total.store(total.load() + read(piece))
            code.store(total.load(), code.offset(result, number * size + i, element), element.align)

    name = f"wengert.pieces.{element.kind}.{members}x{pieces}x{size}"
    call.define(name, ("ptr noalias %partials", "ptr noalias %result"), write)
    call.run(name, partials, result)


def for_each(
    code: Code, stack: Stack, pointers: Sequence[Lanes], result: Lanes,
    write: Callable[[Sequence[Lanes], Lanes], None], bounds: tuple[Lanes, Lanes] | None = None,
) -> None:  # fmt: skip
    """Write something for each matrix of a stack, or for those within bounds."""
    if stack.matrices == 1 and bounds is None:
        write(pointers, result)
        return
    product, element = stack.product, stack.product.element
    with code.loop(*(bounds or (0, stack.matrices))) as i:
        indices = split_index(i, *stack.shape[1:])
        at = lambda pointer, steps: matrix_in_stack(pointer, indices, steps, element)
        write(list(map(at, pointers, stack.steps)), code.offset(result, i * (product.m * product.n), element))


def matrix_in_stack(pointer: Lanes, indices: Sequence[Lanes], steps: Strides, element: Type) -> Lanes:
    """The address of a matrix of a stack, whose axes are the last ones of these indices."""
    for index, step in zip(reversed(indices), reversed(steps), strict=False):
        pointer = pointer.code.offset(pointer, index * step, element) if step else pointer
    return pointer


def operations_of(product: Product) -> int:
    """The scalar operations that take as long as a product; those with vectors wait for memory."""
    if product.is_of_vector:
        return 2 * product.multiplications
    return product.multiplications // machine.current.multiplications_per_operation


def adds_in_place(node: Operation, strides: Sequence[Strides], is_in_loop: bool) -> bool:
    """Whether a product with these strides of its operands is added in the memory of its first one: by BLAS.

    Other functions compute some elements twice, and must not read what they have written.
    """
    found = plan(node, strides, is_in_loop)
    is_whole = strides[0] == contiguous_strides(node.args[0].shape)
    return is_whole and min(found.stack.product[1:3]) > 1 and found.decisions.library


def can_multiply(node: Operation) -> bool:
    """Whether the operands are matrices of one real or complex dtype, stacks of them, or a matrix and a vector."""
    x, y = node.args
    if y.ndim == 1:
        return x.ndim == 2 and x.dtype == y.dtype == node.dtype and node.dtype.kind in "fc"
    return are_float_stacks(node)


def workspace(node: Operation) -> int:
    """The bytes that a product may need besides its result, wherever its operands are."""
    product = product_of(node).product
    length = piece_length(product) if node.ndim == 2 else None
    packed = packed_bytes(product, Tiling(product.kind).chunk) if is_large(product) else 0
    return max(packed, 0 if length is None else -(-product.k // length) * node.nbytes)


MATMUL = Routine(
    write_matmul, can_multiply, workspace=workspace, reads_strided=lambda i, shape, strides: is_factor(shape, strides)
)
MATMUL_SUM = Routine(
    write_matmul,
    lambda node: True,  # a pass makes it, of products that are native
    workspace=workspace,
    reads_strided=lambda i, shape, strides: (is_factor if i else is_summand)(shape, strides),
    updates=adds_in_place,
)
