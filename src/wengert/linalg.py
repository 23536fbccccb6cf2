"""`wg.linalg`: linear algebra, by the names of `np.linalg` and, where it has none, of `scipy.linalg`."""

from numpy.linalg import LinAlgError as LinAlgError

from wengert.core.namespaces import gather_names, name_functions

FAMILIES = (
    "ops.contraction.einsum: tensordot",
    "ops.contraction.products: matmul vecdot",
    "ops.linear_algebra.cholesky",
    "ops.linear_algebra.factorizations",
    "ops.linear_algebra.gauge",
    "ops.linear_algebra.least_squares",
    "ops.linear_algebra.matrix_functions",
    "ops.linear_algebra.norms",
    "ops.linear_algebra.spectral",
    "ops.linear_algebra.structured",
    "ops.linear_algebra.systems",
    "ops.linear_algebra.triangular",
    "ops.shape.reshaping: matrix_transpose",
)

__all__ = ["LinAlgError", *gather_names(globals(), FAMILIES)]

__getattr__, __dir__ = name_functions(globals())
