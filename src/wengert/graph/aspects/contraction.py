"""Products that sum over axes."""

from __future__ import annotations

from wengert.graph.ir import Operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import ATOM, PRODUCT, Infix, notation
from wengert.ops.contraction import einsum, products

notation.enter(Infix("@", "", "", PRODUCT), products.matmul)


def transpose_factor(writer: Writer, factor: Expression) -> Expression:
    """A factor with a superscript T."""
    return Expression(writer.style.transpose(writer.within(factor, ATOM)))


@expression(products.matmul)
def write_matmul(writer: Writer, node: Operation) -> Expression:
    """`A B`; a vector at the left is a row: `xᵀy`, `xᵀA`."""
    left, right = [writer.known[a] for a in node.args]
    if node.args[0].ndim == node.args[1].ndim == 1 and not writer.style.stacks:
        return Expression(f"{transpose_factor(writer, left).text}{writer.within(right, ATOM)}", PRODUCT)
    return writer.product(transpose_factor(writer, left) if node.args[0].ndim == 1 else left, right)


@expression(einsum._einsum)
def write_einsum(writer: Writer, node: Operation) -> Expression:
    """A product of two matrices, transposed as need be, or else a call."""
    factors = matrix_factors(node.params["subscripts"])
    if factors is None:
        return writer.call(
            writer.style.operator("einsum"), [writer.with_sign(writer.known[a]) for a in node.args], node
        )
    known = [(writer.known[node.args[i]], flipped) for i, flipped in factors]
    left, right = [transpose_factor(writer, factor) if flipped else factor for factor, flipped in known]
    return writer.product(left, right)


def matrix_factors(subscripts: str) -> list[tuple[int, bool]] | None:
    """The two factors of a matrix product in their order, each with whether it is transposed; None for other products.

    >>> matrix_factors("ab,zb->az"), matrix_factors("ab,az->zb")
    ([(0, False), (1, True)], [(1, True), (0, False)])
    """
    given, _, out = subscripts.partition("->")
    terms = given.split(",")
    if len(terms) != 2 or len(out) != 2 or any(len(set(term)) != 2 or len(term) != 2 for term in terms):
        return None
    shared = set(terms[0]) & set(terms[1])
    if len(shared) != 1 or shared & set(out):
        return None
    order = [i for letter in out for i, term in enumerate(terms) if letter in term]
    inner = shared.pop()
    return [(order[0], terms[order[0]][1] != inner), (order[1], terms[order[1]][0] != inner)]
