"""Pattern: which entries of a matrix of derivatives may be nonzero; and `sparsity`, which finds it."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from wengert.core.errors import TrackedValueError, user_error
from wengert.structure.dependence import find_dependences
from wengert.structure.incidence import csr_array
from wengert.structure.pattern_arguments import CallSignature
from wengert.transforms.boundary import Argnums
from wengert.transforms.gradients import grad

KINDS = ("jacobian", "hessian")
SCOPES = ("global", "local")


class Pattern:
    """The entries of a sparse matrix, sorted by rows: entry k is in row `rows[k]` and column `cols[k]`.

    It is made of a matrix, dense or sparse, whose stored entries count: `Pattern(matrix)`. `symmetric` marks the
    pattern of a Hessian.

    >>> pattern = Pattern(np.eye(3))
    >>> pattern.shape, pattern.nnz
    ((3, 3), 3)
    """

    __slots__ = ("_form", "indices", "indptr", "rows", "shape", "symmetric")

    def __init__(self, matrix: Any, symmetric: bool = False):
        if isinstance(matrix, Pattern):
            matrix = matrix.matrix
        found = csr_array(matrix)
        if found.ndim != 2:
            raise user_error(ValueError, f"A pattern is a matrix, and this has shape {found.shape}")
        found = csr_array((np.ones(found.nnz, bool), found.indices, found.indptr), shape=found.shape, copy=True)
        if symmetric:
            if found.shape[0] != found.shape[1]:
                raise user_error(ValueError, f"The pattern of a Hessian is square, and this has shape {found.shape}")
            found = found + found.T.tocsr()
        found.sum_duplicates()
        self.shape: tuple[int, int] = found.shape
        self.indices, self.indptr = found.indices, found.indptr
        self.rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        self.symmetric = symmetric
        for part in (self.indices, self.indptr, self.rows):
            part.flags.writeable = False
        self._form = csr_array((found.data, self.indices, self.indptr), shape=self.shape)
        self._form.has_canonical_format = True

    @property
    def cols(self) -> np.ndarray:
        """The column of each entry."""
        return self.indices

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return self.indices.size

    @property
    def density(self) -> float:
        """The share of entries that may be nonzero."""
        return self.nnz / max(self.shape[0] * self.shape[1], 1)

    @property
    def matrix(self) -> csr_array:
        """The pattern as a sparse matrix of booleans."""
        return self.filled(np.ones(self.nnz, bool))

    def filled(self, values: np.ndarray) -> csr_array:
        """The sparse matrix with these values: a copy of a matrix that SciPy has checked, which is faster."""
        matrix = copy.copy(self._form)
        matrix.data, matrix.indices, matrix.indptr = values, self.indices.copy(), self.indptr.copy()
        return matrix

    def toarray(self) -> np.ndarray:
        """The pattern as an array of booleans."""
        return self.matrix.toarray()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern):
            return NotImplemented
        return (
            self.shape == other.shape
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.nnz, self.indices.tobytes()))

    def __reduce__(self) -> tuple:
        return Pattern, (self.matrix, self.symmetric)

    # Files

    def save(self, path: str | os.PathLike) -> None:
        """Write it to a file, for `Pattern.load`."""
        with open(path, "wb") as file:
            np.savez_compressed(
                file, shape=self.shape, indices=self.indices, indptr=self.indptr, symmetric=self.symmetric
            )

    @staticmethod
    def load(path: str | os.PathLike) -> Pattern:
        """Read a pattern that `save` has written."""
        with np.load(path) as file:
            data = np.ones(file["indices"].size, bool)
            matrix = csr_array((data, file["indices"], file["indptr"]), shape=tuple(file["shape"]))
            return Pattern(matrix, bool(file["symmetric"]))

    # Drawings

    def __repr__(self) -> str:
        kind = "symmetric " if self.symmetric else ""
        return f"<{kind}pattern {self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros ({self.density:.2%})>"

    def spy(self, width: int = 64) -> str:
        """A drawing in text, at most `width` characters wide: each character shows a block of four by two entries.

        >>> print(Pattern(np.eye(8)).spy())
        ⠑⢄⠀⠀
        ⠀⠀⠑⢄
        """
        m, n = self.shape
        columns = min(2 * width, n)
        rows = m if columns == n else max(round(m * columns / n), 1)
        cells = self.cells(rows, columns)
        padded = np.zeros((-(-cells.shape[0] // 4) * 4, -(-cells.shape[1] // 2) * 2), int)
        padded[: cells.shape[0], : cells.shape[1]] = cells
        blocks = padded.reshape(padded.shape[0] // 4, 4, padded.shape[1] // 2, 2)
        codes = np.tensordot(blocks, BRAILLE, ((1, 3), (0, 1)))
        return "\n".join("".join(chr(0x2800 + code) for code in row) for row in codes)

    def cells(self, rows: int, columns: int) -> np.ndarray:
        """The pattern on a coarser grid: whether a cell has any entry in it."""
        grid = np.zeros((rows, columns), bool)
        grid[
            self.rows * rows // max(self.shape[0], 1), self.cols.astype(np.int64) * columns // max(self.shape[1], 1)
        ] = True
        return grid

    def svg(self, size: int = 400) -> str:
        """A drawing as SVG: a square for each entry, or for each cell of a coarser grid where there are too many."""
        m, n = self.shape
        scale = size / max(m, n, 1)
        rows, columns = min(m, size), min(n, size)
        cells = self.cells(max(rows, 1), max(columns, 1))
        height, width = m * scale, n * scale
        tall, wide = height / max(rows, 1), width / max(columns, 1)
        marks = "".join(
            f"M{j * wide:.4g} {i * tall:.4g}h{wide:.4g}v{tall:.4g}h-{wide:.4g}z" for i, j in np.argwhere(cells)
        )
        title = escape(repr(self).strip("<>"))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.4g}" height="{height:.4g}" viewBox="0 0 '
            f'{width:.4g} {height:.4g}">'
            f'<title>{title}</title><rect width="100%" height="100%" fill="#ffffff" stroke="#888888"/>'
            f'<path d="{marks}" fill="#2b5797"/></svg>'
        )

    def _repr_svg_(self) -> str:
        return self.svg()


BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The dots of a character: four rows, two columns."""


def sparsity(
    f: Callable, *args: Any, argnums: Argnums = 0, kind: str = "jacobian", scope: str = "global", **kwargs: Any
) -> Pattern:
    """The pattern of the Jacobian, or Hessian, of `f`, found by propagating sets of indices through the function.

    With scope="global" the pattern holds for all arguments of these shapes, so the function may not look at numbers
    (`if x > 0`). With scope="local" it holds at these arguments, and what is zero there is left out. Rows and columns
    are the elements of result and argument, flattened; several arrays follow one another.

    >>> sparsity(lambda x: (x[1:] - x[:-1]) ** 2, np.ones(50))
    <pattern 49 x 50, 98 nonzeros (4.00%)>
    """
    if not callable(f):
        raise user_error(TypeError, f"sparsity takes a function, and was given a {type(f).__name__}")
    if kind not in KINDS:
        raise user_error(ValueError, f"sparsity: kind={kind!r}", f"Choose one of {', '.join(map(repr, KINDS))}.")
    if scope not in SCOPES:
        raise user_error(ValueError, f"sparsity: scope={scope!r}", f"Choose one of {', '.join(map(repr, SCOPES))}.")
    signature = CallSignature("sparsity", argnums, args, kwargs)
    return find_pattern(grad(f, argnums) if kind == "hessian" else f, signature, kind == "hessian", scope)


def find_pattern(function: Callable, signature: CallSignature, symmetric: bool, scope: str = "global") -> Pattern:
    """The pattern of the Jacobian of a function; `symmetric` says that the function is a gradient."""
    call = lambda leaves: signature.call(function, leaves)
    try:
        return Pattern(find_dependences(call, signature.leaves, signature.others, scope), symmetric)
    except TrackedValueError as error:
        if scope == "global":
            error.add_note(
                "A pattern that holds everywhere cannot depend on numbers; one for these arguments can: scope='local'."
            )
        raise
