"""Whether two systems computed the same: nothing is timed before they did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-3}
"""The largest difference, relative to the largest entry of the reference, by dtype."""


class DisagreementError(Exception):
    """A system computed something else than the reference, as a rule hand-written NumPy code."""


def check(
    system: str, results: Sequence[np.ndarray], reference: Sequence[np.ndarray], tolerance: float | None = None
) -> None:
    """Raise DisagreementError unless the arrays agree in number, shape, dtype and value."""
    if len(results) != len(reference):
        raise DisagreementError(f"{system} returned {len(results)} results, NumPy {len(reference)}.")
    for i, (result, expected) in enumerate(zip(results, reference, strict=True)):
        if result.shape != expected.shape or result.dtype != expected.dtype:
            raise DisagreementError(
                f"Result {i} of {system} has shape {result.shape} and dtype {result.dtype}, NumPy's {expected.shape} "
                f"and {expected.dtype}."
            )
        scale = np.abs(expected).max(initial=0.0)
        error = np.abs(result - expected).max(initial=0.0)
        if not error <= (TOLERANCE[expected.dtype] if tolerance is None else tolerance) * scale:
            raise DisagreementError(
                f"Result {i} of {system} differs from NumPy's by {error:.3g}, where the largest entry is {scale:.3g}."
            )
