"""Functions of small matrices, written out; routines are for larger ones."""

from __future__ import annotations

from wengert.compiler.forms.lowering import MatrixFunction
from wengert.compiler.small_matrices import eigenvalues, elimination, products, reflections, triangles
from wengert.core import machine
from wengert.graph.ir import Operation


def order(node: Operation) -> int:
    """The number of rows of the first operand."""
    return node.args[0].shape[-2]


def pivot_flops(node: Operation) -> int:
    """Those that quotients and roots of all columns take as long as."""
    return machine.current.operations_of_pivot * order(node)


def elimination_flops(node: Operation) -> int:
    """Multiplications, and selects that exchange rows."""
    n = order(node)
    return n * n * n // 3 + n * n * (n - 1) + 8 * n


def solution_flops(node: Operation) -> int:
    """Those, and substitutions for each column."""
    n = order(node)
    return elimination_flops(node) + n * (2 * n - 1) * node.shape[-1]


def inverse_flops(node: Operation) -> int:
    """Those, the inverses of both factors and their product, and selects that exchange columns."""
    n = order(node)
    return elimination_flops(node) + 2 * n * n * n // 3 + n * n * (n - 1)


def qr_flops(node: Operation) -> int:
    """Those of reflecting the columns of R and of Q; a reflection has a root and quotients."""
    rows, columns = node.args[0].shape[-2:]
    k = min(rows, columns)
    return sum(2 * (rows - i) * (columns + k - 2 * i) + 3 * machine.current.operations_of_pivot for i in range(k))


def complement_flops(node: Operation) -> int:
    """Those of reflecting the columns of R and the last ones of Q."""
    rows, columns = node.args[0].shape[-2:]
    return sum(2 * (rows - i) * (rows - i) + 3 * machine.current.operations_of_pivot for i in range(columns))


def product_flops(node: Operation) -> int:
    """Those of all sums."""
    return 2 * node.shape[-2] * node.shape[-1] * node.args[0].shape[-1]


def eigh_flops(node: Operation) -> int:
    """Those of the reduction, and of sweeps, which are a loop."""
    n = order(node)
    return 2 * n * n * n + 10 * n * n


ALWAYS = lambda node: True

SOLVE = MatrixFunction(elimination.write_solve, solution_flops, operands=2, may_fail=ALWAYS)
INV = MatrixFunction(elimination.write_inv, inverse_flops, may_fail=ALWAYS)
COFACTOR = MatrixFunction(elimination.write_cofactor, inverse_flops)
DET = MatrixFunction(elimination.write_det, elimination_flops, core=0)
LOGDET = MatrixFunction(elimination.write_logdet, lambda node: elimination_flops(node) + pivot_flops(node), core=0)
DET_SIGN = MatrixFunction(elimination.write_det_sign, elimination_flops, core=0)
CHOLESKY = MatrixFunction(
    triangles.write_cholesky,
    lambda node: order(node) ** 3 // 6 + pivot_flops(node),
    is_triangle=True,
    may_fail=ALWAYS,
)
CHOLESKY_PULL = MatrixFunction(
    triangles.write_cholesky_pull,
    lambda node: order(node) ** 3 // 3 + pivot_flops(node),
    operands=2,
    is_triangle=True,
    in_double=False,
)
SOLVE_TRIANGULAR = MatrixFunction(
    triangles.write_solve_triangular,
    lambda node: order(node) ** 2 * node.shape[-1] // 2 + pivot_flops(node),
    operands=2,
    is_triangle=True,
    in_double=False,
    may_fail=lambda node: not node.params["unit_diagonal"],
)
QR = MatrixFunction(reflections.write_qr, qr_flops)
COMPLEMENT = MatrixFunction(reflections.write_complement, complement_flops)
INDEPENDENT = MatrixFunction(
    reflections.write_independent, lambda node: 3 * order(node) ** 2, in_double=False, may_fail=ALWAYS
)
PRODUCT = MatrixFunction(products.write_small_product, product_flops, operands=2, in_double=False)
EIGH = MatrixFunction(
    eigenvalues.write_eigh,
    eigh_flops,
    may_fail=lambda node: order(node) > 1,
    vectors=lambda node: 2 if order(node) <= machine.current.max_order_of_two_vectors_of_eigenvalues else 1,
)
