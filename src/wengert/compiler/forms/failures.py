"""What can fail in a kernel, and the errors that are raised then.

A kernel sets the bit of a failure in the status of a run. If several are set, the lowest one decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert.core.errors import user_error

FAILURES: list[Failure] = []
"""All failures, by their bits."""

DIAGONAL = 16
"""The number of elements of a diagonal that have failures of their own."""


class Failure(NamedTuple):
    """A failure with a bit in the status: the class of the error, what it says, and what to do."""

    bit: int
    kind: type[Exception]
    what: str
    do: str = ""

    def error(self) -> Exception:
        """The error to raise."""
        return user_error(self.kind, self.what, self.do)


def declare(kind: type[Exception], what: str, do: str = "") -> Failure:
    """A failure with a bit of its own."""
    FAILURES.append(Failure(len(FAILURES), kind, what, do))
    return FAILURES[-1]


OUT_OF_BOUNDS = declare(IndexError, "An index is out of bounds in a compiled function")
DEPENDENT = declare(
    np.linalg.LinAlgError,
    "The derivative of qr does not exist where the first columns of a matrix, as many as Q has, are linearly dependent",
    "Use svd or pinv for matrices without full rank.",
)
SINGULAR = declare(np.linalg.LinAlgError, "Singular matrix")
NOT_POSITIVE = declare(np.linalg.LinAlgError, "Matrix is not positive definite")
ZERO_ON_DIAGONAL = [
    declare(np.linalg.LinAlgError, f"Singular matrix: the triangular matrix has a zero at index {i} of its diagonal")
    for i in range(DIAGONAL)
]
NOT_CONVERGED = declare(np.linalg.LinAlgError, "Eigenvalues did not converge")
OUT_OF_RANGE = declare(OverflowError, "A Python integer is out of bounds for int32 in a compiled function")
