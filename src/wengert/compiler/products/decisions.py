"""Decisions about a product: what computes it, in which tiles, and what threads share. They change no bit of it.

| decision | says | is possible where |
|---|---|---|
| `library` | BLAS computes it | the order of additions is that of the library, and only there |
| `packed` | panels of the right operand are copied first | terms are added in order, in several rows and columns |
| `tile` | the rows, and the vectors of columns, whose sums are in registers together | it is neither |
| `chunk` | the terms after which sums are stored, and read again | terms are added in order: packed, or one row |
| `grain` | the rows that the parts for threads are multiples of; columns if there is one row | whole vectors of a row |

`refuse` says so in code; `policy.py` says which of them pay.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.machine.target import vector_lanes, vector_registers
from wengert.compiler.products.order import Order
from wengert.compiler.products.product import Product


class Decisions(NamedTuple):
    """How a product is computed; what is zero or empty was not decided."""

    library: bool = False
    packed: bool = False
    tile: tuple[int, int] = (0, 0)
    chunk: int = 0
    grain: int = 1

    def __str__(self) -> str:
        if self.library:
            return "library"
        found = [f"tile {self.tile[0]} x {self.tile[1]} vectors"] if all(self.tile) else []
        found += ["packed"] * self.packed + [f"chunk {self.chunk}"] * (self.chunk > 0)
        return ", ".join([*found, f"threads {self.grain}"])


def refuse(product: Product, order: Order, new: Decisions) -> str | None:
    """Why a product may not be computed so; None if it may."""
    is_row = product.m == 1 and product.is_of_vector
    if new.library != (order.kind == "library"):
        return "the order of additions is that of the library, or is not"
    if new.library:
        return None
    if (new.packed or new.chunk) and order.kind != "terms":
        return "sums are not added term after term"
    if new.packed:
        is_matrix = min(product.m, product.n) > 1 and not product.element.is_complex
        return None if new.chunk and is_matrix and not all(new.tile) else "only matrices of real numbers are packed"
    if bool(new.chunk) != (is_row and order.kind == "terms"):
        return "sums of several rows stay in registers, and a row is read in chunks"
    if new.chunk and new.grain % vector_lanes(product.element.align):
        return "parts of a row would end inside a vector, to which two threads would add"
    rows, vectors = new.tile
    if not is_row and not (1 <= rows <= product.m and vectors >= 1 and rows * vectors <= vector_registers()):
        return "a tile has more rows than the result, or more sums than there are registers"
    return None
