"""Products with few elements, each of which is a long sum: a Gram matrix of tall data, the gradient of a layer.

The sum is cut into a number of pieces that depends on the shape alone. Their products are computed on all cores, from
rows that stay in the cache, and added up in order: the bits do not depend on the number of threads.
"""

from __future__ import annotations

import math

from wengert.compiler.routines.small_products import SmallProduct
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.graph.ir import Operation


def piece_length(node: Operation) -> int | None:
    """The number of terms of the pieces that a product is cut into, if it is."""
    x, y = node.args
    if x.ndim != 2 or y.ndim != 2 or node.dtype.kind != "f":
        return None
    (m, k), n, now = x.shape, y.shape[1], machine.current
    fewest = max(now.product_pieces_from_terms, now.product_pieces_from_terms_per_side * max(m, n))
    if k < fewest or m * n > now.max_results_of_product_pieces or min(m, n) == 1:
        return None
    return max(now.min_terms_of_product_piece, -(-k // now.max_product_pieces))


def pieces_bytes(node: Operation) -> int:
    """The bytes of the products of all pieces."""
    length = piece_length(node)
    return 0 if length is None else -(-node.args[0].shape[1] // length) * node.nbytes


def pieces(product: SmallProduct, length: int) -> tuple[SmallProduct, SmallProduct | None, int]:
    """The product of a piece, that of a shorter last one, and their number."""
    rest = product.k % length
    return product._replace(k=length), product._replace(k=rest) if rest else None, -(-product.k // length)


def write_piece(
    code: Code, product: SmallProduct, length: int, i: Lanes, x: Lanes, y: Lanes, results: Lanes
) -> tuple[Lanes, Lanes, Lanes]:
    """The addresses of the operands of a piece, and of its result."""
    element = Type(product.kind)
    down = length * (product.x_stride if product.is_x_transposed else 1)
    along = length * (1 if product.is_y_transposed else product.y_stride)
    return (
        code.offset(x, i * down, element),
        code.offset(y, i * along, element),
        code.offset(results, i * (product.m * product.n), element),
    )


def write_sum(code: Code, product: SmallProduct, count: int, results: Lanes, result: Lanes) -> None:
    """Add up the products of all pieces, in order."""
    size = product.m * product.n
    lanes = math.gcd(size, product.most_lanes)
    type, element = Type(product.kind, lanes), Type(product.kind)
    read = lambda at: code.load(code.offset(results, at, element), type, element.bits // 8)
    with code.loop(0, size, lanes) as i:
        total = code.variable(type, read(i))
        with code.loop(1, count) as piece:
            code.store(code.load(total, type) + read(piece * size + i), total)
        code.store(code.load(total, type), code.offset(result, i, element), element.bits // 8)
