"""Products with `x.T @ x` that read one triangle of it, so that no mirror image is made.

BLAS computes one half of a product of a matrix and its own transpose, and multiplies by such a half as fast as by a
whole matrix. So the other half is needed only where something else reads the product. To mirror a small matrix takes no
time.
"""

from __future__ import annotations

from wengert.compiler.forms.matrices import is_gram, is_matrix_transpose
from wengert.compiler.forms.symmetric_products import SYMMETRIC_PRODUCT, TRIANGLE
from wengert.compiler.routines.long_products import piece_length
from wengert.compiler.schedule.product_sums import is_by_blas
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.ops.contraction.products import matmul


def read_triangles(graph: Graph, is_in_loop: bool) -> Graph:
    """The graph with products that read one triangle of the products of matrices and their own transposes."""
    triangles = find_triangles(graph, is_in_loop)

    def rule(node: Operation, before: Operation) -> Node | None:
        if before in triangles:
            return make_operation(TRIANGLE, node.args)
        if not is_a(before, matmul):
            return None
        for i, a in enumerate(before.args):
            if symmetric_base(a) in triangles:
                symmetric = symmetric_base(node.args[i])
                return make_operation(SYMMETRIC_PRODUCT, [symmetric, node.args[1 - i]], is_left=i == 0)
        return None

    return rebuild(graph, rule) if triangles else graph


def find_triangles(graph: Graph, is_in_loop: bool) -> set[Node]:
    """The symmetric products of which one triangle is enough."""
    products = [node for node in graph.operations if is_a(node, matmul) and is_gram(node)]
    fewest = machine.current.min_rows_of_triangle_product
    large = [node for node in products if node.shape[0] >= fewest and is_whole(node, is_in_loop)]
    users: dict[Node, list[Operation]] = {}
    for node in graph.operations if large else ():
        for a in set(node.args):
            users.setdefault(a, []).append(node)
    found: set[Node] = set()
    for node in large:
        if can_be_triangle(node, graph, users, found, is_in_loop):
            found.add(node)
    return found


def is_whole(product: Operation, is_in_loop: bool) -> bool:
    """Whether BLAS computes a product of two matrices."""
    is_matrix = product.ndim == 2 and product.args[1].ndim == 2 and 1 not in product.shape
    return is_matrix and piece_length(product) is None and is_by_blas(product, is_in_loop)


def can_be_triangle(
    node: Operation, graph: Graph, users: dict[Node, list[Operation]], triangles: set[Node], is_in_loop: bool
) -> bool:
    """Whether only products with whole matrices, stored by rows, read a symmetric product or its transpose."""
    views = [user for user in users.get(node, ()) if is_matrix_transpose(user)]
    readers = [user for a in (node, *views) for user in users.get(a, ()) if user not in views]

    def multiplies(reader: Operation) -> bool:
        if not is_a(reader, matmul) or not is_whole(reader, is_in_loop):
            return False
        others = [a for a in reader.args if symmetric_base(a) is not node]
        return len(others) == 1 and not is_matrix_transpose(others[0]) and others[0] not in triangles

    return not any(a in graph.outputs for a in (node, *views)) and all(map(multiplies, readers))


def symmetric_base(node: Node) -> Node:
    """A matrix, or the one that a transpose is of."""
    return node.args[0] if is_matrix_transpose(node) else node
