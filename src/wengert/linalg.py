"""`wg.linalg`: linear algebra, by the names of `np.linalg` and, where it has none, of `scipy.linalg`."""

from numpy.linalg import LinAlgError

from wengert.ops.contraction.einsum import tensordot
from wengert.ops.contraction.products import matmul, vecdot
from wengert.ops.linear_algebra.cholesky import cho_solve, cholesky
from wengert.ops.linear_algebra.factorizations import lu, qr
from wengert.ops.linear_algebra.gauge import GaugeWarning
from wengert.ops.linear_algebra.least_squares import cond, lstsq, matrix_rank, pinv
from wengert.ops.linear_algebra.matrix_functions import expm, logm, sqrtm
from wengert.ops.linear_algebra.norms import (
    cross,
    diagonal,
    matrix_norm,
    matrix_power,
    multi_dot,
    norm,
    outer,
    trace,
    vector_norm,
)
from wengert.ops.linear_algebra.spectral import eig, eigh, eigvals, eigvalsh, svd, svdvals
from wengert.ops.linear_algebra.structured import (
    block_diag,
    solve_banded,
    solve_sylvester,
    tensorinv,
    tensorsolve,
    toeplitz,
)
from wengert.ops.linear_algebra.systems import det, inv, slogdet, solve
from wengert.ops.linear_algebra.triangular import solve_triangular
from wengert.ops.shape.reshaping import matrix_transpose

__all__ = [
    "GaugeWarning",
    "LinAlgError",
    "block_diag",
    "cho_solve",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "logm",
    "lstsq",
    "lu",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "toeplitz",
    "trace",
    "vecdot",
    "vector_norm",
]
