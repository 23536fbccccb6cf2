"""Products that are added to other numbers: their sums begin with these, so that no kernel adds them.

`h @ U + x @ W + b` is one product after the other, each added to what there is so far, and the first to b. It changes
only the order in which the terms of products are added, which is free. Small products and those with a vector read the
numbers where they are. BLAS adds to them in the memory of the result: to a value that nothing else reads, or to a copy.
It would set that memory to zeros otherwise, so a copy costs no more than to read the numbers. Where a kernel reads the
sum anyway, it adds at no cost: then products begin with what is in the cache, and BLAS with values of its own only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from wengert.compiler.forms.classify import Form, form_of
from wengert.compiler.forms.strides import is_summand, layout_of
from wengert.compiler.products.order import piece_length
from wengert.compiler.products.product import PRODUCT_SUM, product_of
from wengert.compiler.products.routine import plan
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import broadcast_node, rebuild, reshape_node
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.shape.reshaping import _reshape

IN_MEMORY = (Form.GIVEN, Form.ROUTINE, Form.OUTPUT)
"""The forms of values that no kernel computes."""
WHOLE = (Form.ROUTINE, Form.FALLBACK, Form.LOOP)
"""The forms of operations whose operands are in memory."""


def add_to_products(graph: Graph, forms: Mapping[Node, Form], is_in_loop: bool) -> Graph:
    """The graph with products that are added to other numbers, where that is better than a kernel."""
    if not any(is_a(node, matmul) and forms[node] is Form.ROUTINE for node in graph.operations):
        return graph
    return rebuild(graph, ProductAdder(graph, forms, is_in_loop).rule)


class ProductAdder:
    """Finds sums with products.

    `uses` counts the uses of nodes before and after they are rewritten, and `kept` are the values that are in memory
    whatever computes them, or that a product can be added to.
    """

    def __init__(self, graph: Graph, forms: Mapping[Node, Form], is_in_loop: bool):
        self.forms, self.is_in_loop = dict(forms), is_in_loop
        self.uses = graph.count_uses()
        self.kept: set[Node] = set(graph.outputs)
        for node in reversed(graph.operations):
            is_sum = is_a(node, add) and any(is_a(a, matmul) and self.uses[a] == 1 for a in node.args)
            if forms[node] in WHOLE or is_sum or (forms[node] is Form.VIEW and node in self.kept):
                self.kept.update(node.args)

    def form(self, node: Node) -> Form:
        """The form of a node, also of one that this pass has made."""
        found = self.forms.get(node)
        if found is None:
            found = self.forms[node] = form_of(node, ())
        return found

    def rule(self, node: Operation, before: Operation) -> Node | None:
        """A sum with a product; None if it stays."""
        self.uses[node] = self.uses[before]
        self.form(node)
        if not is_a(node, add):
            return None
        for product, other in (node.args, node.args[::-1]):
            put = self.added(node, product, other, before in self.kept) if self.uses[product] == 1 else None
            if put is not None:
                self.uses[put] = self.uses[before]
                self.form(put)
                return put
        return None

    def added(self, node: Operation, product: Node, other: Node, is_kept: bool) -> Node | None:
        """The sum of a product, or a reshaped one, and something else."""
        if is_a(product, _reshape) and product.shape[-1:] == product.args[0].shape[-1:]:
            inner = product.args[0]
            if self.uses[inner] > 1 or product.shape != node.shape:
                return None
            if other.ndim > 1:
                other = self.view(reshape_node(node, other, inner.shape)) if other.shape == node.shape else other
            put = self.added(node, inner, other, is_kept)
            return None if put is None else self.view(reshape_node(node, put, node.shape))
        if not is_product(product) or product.dtype != other.dtype or not is_broadcast_to(other.shape, product.shape):
            return None
        return self.with_initial(product, self.view(broadcast_node(node, other, product.shape)), is_kept)

    def view(self, node: Node) -> Node:
        """A node that this pass has made, used once."""
        self.uses.setdefault(node, 1)
        self.form(node)
        return node

    def with_initial(self, product: Operation, initial: Node, is_kept: bool) -> Node | None:
        """A product, or a sum of products, that begins with other numbers; None if it should not."""
        if product.primitive is PRODUCT_SUM:
            first, *factors = product.args
            if not is_product(first) or self.uses[first] > 1:
                return None
            begun = self.with_initial(first, initial, True)
            return None if begun is None else self.view(make_operation(PRODUCT_SUM, [begun, *factors]))
        if self.form(product) is not Form.ROUTINE or initial in product.args:
            return None
        stack = product_of(product)
        is_in_pieces = stack.shape == () and piece_length(stack.product) is not None
        if stack.product.is_gram or is_in_pieces or not self.is_better(product, initial, is_kept):
            return None
        return self.view(make_operation(PRODUCT_SUM, [initial, *product.args]))

    def is_better(self, product: Operation, initial: Node, is_kept: bool) -> bool:
        """Whether a product should begin with other numbers, rather than that a kernel adds them."""
        base = initial.args[0] if is_a(initial, _reshape) else initial
        layout = layout_of(base, self.forms, {}, lambda node: False, is_summand)
        is_in_memory = layout is not None and self.form(layout.base) in IN_MEMORY
        if not plan(product, None, self.is_in_loop).decisions.library:
            most = machine.current.max_bytes_added_to_product
            return layout is not None and is_in_memory and (is_kept or layout.base.nbytes <= most)
        is_own = self.uses[initial] == self.uses[base] == 1
        return (is_own and self.form(base) in (Form.ROUTINE, Form.OUTPUT)) or (is_kept and (is_in_memory or is_own))


def is_product(node: Node) -> TypeGuard[Operation]:
    """Whether a node is a product, or a sum that ends with one."""
    return is_a(node, matmul) or (isinstance(node, Operation) and node.primitive is PRODUCT_SUM)


def is_broadcast_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of one shape can be broadcast to another one, with rows of the same length."""
    if not 0 < len(shape) <= len(target) or shape[-1] != target[-1]:
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False))
