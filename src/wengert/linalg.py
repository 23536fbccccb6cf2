"""`wg.linalg`: linear algebra, by the names of `np.linalg` and, where it has none, of `scipy.linalg`."""

from numpy.linalg import LinAlgError

from wengert.ops.contract import matmul, vecdot
from wengert.ops.einsum import tensordot
from wengert.ops.factor import lu, qr
from wengert.ops.gauge import GaugeWarning
from wengert.ops.least_squares import cond, lstsq, matrix_rank, pinv
from wengert.ops.matrix_functions import expm, logm, sqrtm
from wengert.ops.norms import cross, diagonal, matrix_norm, matrix_power, multi_dot, norm, outer, trace, vector_norm
from wengert.ops.shape import matrix_transpose
from wengert.ops.spectral import eig, eigh, eigvals, eigvalsh, svd, svdvals
from wengert.ops.structured import block_diag, solve_banded, solve_sylvester, tensorinv, tensorsolve, toeplitz
from wengert.ops.systems import det, inv, slogdet, solve
from wengert.ops.triangular import cho_solve, cholesky, solve_triangular

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
