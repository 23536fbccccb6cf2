"""The order of additions of a product, by one function of its sizes and of how its operands are stored.

| order | each sum | which products |
|---|---|---|
| `terms` | one term after the other, after what the product is added to | right operands stored by rows, or packed |
| `lanes` | so many lanes side by side, added up by halves; what it is added to comes first | both stored along p |
| `sums` | so many sums of every n-th term, added up by pairs | a vector times a narrow matrix in the cache |
| `pieces` | pieces of so many terms, each in one of the orders above, added one after the other | few, long sums |
| `library` | as BLAS adds, or what is exported in its place | all others |

It is the same on every machine (`core/machine/order_routines.py`), whatever is decided about the product; but on
processors with short vectors, BLAS has large ones.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from wengert.compiler.machine.target import has_wide_vectors, sum_lanes
from wengert.compiler.products.product import Product
from wengert.core import machine


class Order(NamedTuple):
    """The order in which the terms of each element are added; lanes, sums and pieces have an amount."""

    kind: Literal["terms", "lanes", "sums", "pieces", "library"]
    amount: int = 0


LIBRARY, TERMS = Order("library"), Order("terms")


def order_of(product: Product, is_in_loop: bool, is_single: bool = True) -> Order:
    """The order of additions of a product, which may be in the body of a loop, or one of a stack."""
    if product.is_of_vector:
        return order_of_vector(product)
    length = piece_length(product) if is_single else None
    if length is not None and is_own(product._replace(k=length), True):
        return Order("pieces", length)
    is_small = is_own(product, is_in_loop)
    if product.is_gram and not is_small:
        return LIBRARY
    if is_large(product) and (product.m >= machine.current.min_rows_of_packed_product or not is_small):
        return TERMS
    return order_of_own(product) if is_small else LIBRARY


def order_of_own(product: Product) -> Order:
    """The order of a small product, or of a piece."""
    return Order("lanes", sum_lanes(product.element.align)) if is_along_sum(product) else TERMS


def order_of_vector(product: Product) -> Order:
    """The order of a product of a matrix and a vector: whether the rows that are read are those that are summed."""
    if product.n > 1 or product.y_steps[0] != 1:
        product = product.transposed
    lanes, now = sum_lanes(product.element.align), machine.current
    if not product.is_x_transposed:
        return Order("lanes", lanes)
    is_short = product.m <= now.max_vectors_of_narrow_product * lanes
    is_cached = product.k * product.x_stride * product.element.align <= now.max_bytes_of_narrow_product
    return Order("sums", min(now.narrow_product_sums, product.k)) if is_short and is_cached else TERMS


def piece_length(product: Product) -> int | None:
    """The number of terms of the pieces that the sums of a product are cut into, if they are."""
    m, n, k, now = product.m, product.n, product.k, machine.current
    if product.element.is_complex or product.initial_stride is not None:
        return None
    fewest = max(now.product_pieces_from_terms, now.product_pieces_from_terms_per_side * max(m, n))
    if k < fewest or m * n > now.max_results_of_product_pieces or min(m, n) == 1:
        return None
    return max(now.min_terms_of_product_piece, -(-k // now.max_product_pieces))


def is_along_sum(product: Product) -> bool:
    """Whether both operands are read along the sum: to transpose the right one first would take longer."""
    is_long = product.k * product.n > machine.current.max_elements_of_transposed_operand
    return product.is_y_transposed and is_long


def is_own(product: Product, is_in_loop: bool) -> bool:
    """Whether a small product, or a narrow one, is faster by a function of its own than by BLAS."""
    m, n, k, now = product.m, product.n, product.k, machine.current
    count, right, align = product.multiplications, product.right_bytes, product.element.align
    is_wide = m <= now.max_rows_of_wide_own_product
    if right > (now.max_right_bytes_of_wide_own_product if is_wide else now.max_right_bytes_of_own_product):
        return False
    is_small = right <= now.max_right_bytes_of_any_own_product or count <= now.max_multiplications_of_own_product
    if not count or not is_small:
        return False
    if is_along_sum(product):
        return not product.is_x_transposed and k % sum_lanes(align) == 0
    lanes = lanes_of_row(n, sum_lanes(align))  # not those of the processor: BLAS adds in another order
    is_filled = n >= now.min_filled_lanes_of_own_product * lanes * -(-n // lanes)
    is_direct = now.direct_blas_from_multiplications < count <= now.direct_blas_to_multiplications
    return n >= now.min_columns_of_own_product and (is_in_loop or is_filled or not is_direct)


def is_large(product: Product) -> bool:
    """Whether a large product is faster on all cores, with a copy of its right operand, than by BLAS."""
    now = machine.current
    is_long = product.multiplications >= now.min_multiplications_of_packed_product and product.multiplications > 0
    fits = product.right_bytes <= now.max_right_bytes_of_packed_product
    has_sides = min(product.m, product.n) > 1
    return is_long and fits and has_sides and not product.element.is_complex and has_wide_vectors()


def lanes_of_row(columns: int, lanes: int) -> int:
    """Of so many lanes, as many as there are elements of a row."""
    while lanes > columns:
        lanes //= 2
    return lanes
