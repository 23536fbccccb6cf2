"""What is decided about a product: of the possible decisions, those that take the fewest cycles."""

from __future__ import annotations

from wengert.compiler.machine.target import vector_lanes, vector_registers
from wengert.compiler.products.decisions import Decisions
from wengert.compiler.products.order import Order, is_large, is_own, lanes_of_row
from wengert.compiler.products.product import Product
from wengert.compiler.products.tile import Tiling
from wengert.core import machine


def decide(product: Product, order: Order, is_in_loop: bool, is_single: bool = True) -> Decisions:
    """The decisions about a product with an order of additions; threads share a stack matrix by matrix."""
    now, lanes = machine.current, vector_lanes(product.element.align)
    if order.kind == "library":
        return Decisions(library=True)
    if product.is_of_vector:
        chunk = now.rows_of_vector_product if product.m == 1 and order.kind == "terms" else 0
        rows = min(lanes, order.amount, product.m) if order.kind == "lanes" else 1
        return Decisions(tile=(rows, 1), chunk=chunk, grain=lanes)
    if pays_to_pack(product, order, is_in_loop):
        tiling = Tiling(product.kind)
        return Decisions(packed=True, chunk=tiling.chunk, grain=tiling.low_rows)
    return Decisions(tile=choose_tile(product, order), grain=now.rows_of_product_part if is_single else 1)


def pays_to_pack(product: Product, order: Order, is_in_loop: bool) -> bool:
    """Whether enough rows read a packed right operand, or it is too large to be read where it is."""
    is_tall = product.m >= machine.current.min_rows_of_packed_product
    return order.kind == "terms" and is_large(product) and (is_tall or not is_own(product, is_in_loop))


def choose_tile(product: Product, order: Order) -> tuple[int, int]:
    """The rows and vectors of the tiles that take the fewest cycles, with those at the ends."""
    sums = 3 * vector_registers() // 4 // (2 if product.element.is_complex else 1)
    tiles = [
        (rows, vectors) for vectors in range(1, sums + 1) for rows in range(1, min(product.m, sums // vectors) + 1)
    ]
    return min(tiles, key=lambda tile: cycles_of_tiles(product, order, tile))


def cycles_of_tiles(product: Product, order: Order, tile: tuple[int, int]) -> float:
    """The cycles of a product in tiles of some rows and vectors, in the order of `ProductFunction.write_tiles`."""
    rows, vectors = tile
    if order.kind == "lanes":
        columns, steps = product.n, -(-product.k // order.amount)
    else:
        lanes = lanes_of_row(product.n, vector_lanes(product.element.align))
        columns, steps = -(-product.n // lanes), product.k
    panels, rest = divmod(columns, vectors)
    found = panels * -(-product.m // rows) * cycles_of_tile(product, rows, vectors, steps)
    if rest:
        rows = min(rows * vectors // rest, product.m)
        found += -(-product.m // rows) * cycles_of_tile(product, rows, rest, steps)
    return found


def cycles_of_tile(product: Product, rows: int, vectors: int, steps: int) -> float:
    """The cycles of a tile: products, or the wait for sums, and reads, most of which are not of the nearest cache."""
    now, parts = machine.current, 2 if product.element.is_complex else 1
    sums = parts * rows * vectors
    step = max(parts * sums / now.products_per_cycle, parts * now.cycles_of_dependent_sum)
    step += parts * (rows + vectors) / now.reads_per_cycle
    return steps * step + now.cycles_of_dependent_sum + sums
