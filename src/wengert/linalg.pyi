# Written by tools/stubs.py.

from numpy.linalg import LinAlgError as LinAlgError
from wengert.ops.contraction.einsum import tensordot as tensordot
from wengert.ops.contraction.products import matmul as matmul
from wengert.ops.contraction.products import vecdot as vecdot
from wengert.ops.linear_algebra.cholesky import cho_solve as cho_solve
from wengert.ops.linear_algebra.cholesky import cholesky as cholesky
from wengert.ops.linear_algebra.factorizations import lu as lu
from wengert.ops.linear_algebra.factorizations import qr as qr
from wengert.ops.linear_algebra.gauge import GaugeWarning as GaugeWarning
from wengert.ops.linear_algebra.least_squares import cond as cond
from wengert.ops.linear_algebra.least_squares import lstsq as lstsq
from wengert.ops.linear_algebra.least_squares import matrix_rank as matrix_rank
from wengert.ops.linear_algebra.least_squares import pinv as pinv
from wengert.ops.linear_algebra.matrix_functions import expm as expm
from wengert.ops.linear_algebra.matrix_functions import logm as logm
from wengert.ops.linear_algebra.matrix_functions import sqrtm as sqrtm
from wengert.ops.linear_algebra.norms import cross as cross
from wengert.ops.linear_algebra.norms import diagonal as diagonal
from wengert.ops.linear_algebra.norms import matrix_norm as matrix_norm
from wengert.ops.linear_algebra.norms import matrix_power as matrix_power
from wengert.ops.linear_algebra.norms import multi_dot as multi_dot
from wengert.ops.linear_algebra.norms import norm as norm
from wengert.ops.linear_algebra.norms import outer as outer
from wengert.ops.linear_algebra.norms import trace as trace
from wengert.ops.linear_algebra.norms import vector_norm as vector_norm
from wengert.ops.linear_algebra.spectral import eig as eig
from wengert.ops.linear_algebra.spectral import eigh as eigh
from wengert.ops.linear_algebra.spectral import eigvals as eigvals
from wengert.ops.linear_algebra.spectral import eigvalsh as eigvalsh
from wengert.ops.linear_algebra.spectral import svd as svd
from wengert.ops.linear_algebra.spectral import svdvals as svdvals
from wengert.ops.linear_algebra.structured import block_diag as block_diag
from wengert.ops.linear_algebra.structured import solve_banded as solve_banded
from wengert.ops.linear_algebra.structured import solve_sylvester as solve_sylvester
from wengert.ops.linear_algebra.structured import tensorinv as tensorinv
from wengert.ops.linear_algebra.structured import tensorsolve as tensorsolve
from wengert.ops.linear_algebra.structured import toeplitz as toeplitz
from wengert.ops.linear_algebra.systems import det as det
from wengert.ops.linear_algebra.systems import inv as inv
from wengert.ops.linear_algebra.systems import slogdet as slogdet
from wengert.ops.linear_algebra.systems import solve as solve
from wengert.ops.linear_algebra.triangular import solve_triangular as solve_triangular
from wengert.ops.shape.reshaping import matrix_transpose as matrix_transpose

__all__: list[str]
