"""The freedom in the choice of eigenvectors and singular vectors, and how their derivatives deal with it.

Eigenvectors and singular vectors are determined up to a factor of modulus one, their *gauge*, and those of equal values
up to a rotation among them. Where values are distinct, vectors follow NumPy's own choice as the matrix moves. Where
values coincide (up to rounding), the terms that would rotate their vectors into each other are left out. That is right
and finite for

* functions that treat coinciding values alike: the sum of their squares, the log-determinant, the nuclear norm;
* functions that see coinciding values' vectors through the projector on their span only.

Anything else depends on the gauge there: the larger of two equal eigenvalues, one vector of several, and V f(w) V^T,
whose derivative within an eigenspace is lost with the decomposition; so are second derivatives in directions that split
coinciding values. Reverse mode, and every mode at second order, warns (`GaugeWarning`) where the numbers show it;
compiled code has no numbers to show when it is made.
"""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.devices import DeviceArray
from wengert.core.errors import user_line
from wengert.core.facts import Facts
from wengert.core.infer import example_of, keep_shape
from wengert.core.kinds import case, keep_params, nondifferentiable
from wengert.core.levels import bottom_array, iterate_payloads
from wengert.core.spec import Spec
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import imag, real
from wengert.ops.elementwise.predicates import equal, logical_and
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.reshaping import expand_dims

__all__ = ["GaugeWarning"]


class GaugeWarning(UserWarning):
    """A derivative depends on how the vectors of coinciding values were chosen, or on holding the rank of a matrix."""


def as_columns(x: Any) -> Any:
    """A vector as factors of the columns of a matrix."""
    return expand_dims(x, -2)


def as_rows(x: Any) -> Any:
    """A vector as factors of the rows of a matrix."""
    return expand_dims(x, -1)


def is_negligible(x: Any) -> Any:
    size = np.abs(x)
    return size <= _margin(size)


def _margin(size: Any) -> Any:
    """The rounding error of values of these sizes that are computed together."""
    return 8 * size.shape[-1] * np.finfo(size.dtype).eps * _largest_size(size, -1)


def _largest_size(size: Any, axis: int) -> Any:
    """The largest of some sizes along an axis, 0 if there are none."""
    return (size.max if size.shape[axis] else size.sum)(axis, keepdims=True)


def are_coincident(x: Any) -> Any:
    return np.abs(x[..., :, None] - x[..., None, :]) <= _margin(np.abs(x))[..., None]


def _anchor_impl(x: Any) -> Any:
    size = np.where(x.imag == 0, np.abs(x), 0)
    largest = (size > 0) & (size == _largest_size(size, -2))
    return (largest & (np.cumsum(largest, -2) == 1)).astype(size.dtype)


TRUTH = "the result is true or false"
negligible = nondifferentiable(
    "negligible",
    is_negligible,
    takes_params=True,
    batch=keep_params,
    spec=keep_shape(is_negligible),
    cases=(case(np.array([2.0, 1e-17, 0.0])), case((0,))),
    facts=Facts(exact=True),
    reason=TRUTH,
)
_coincident = nondifferentiable(
    "coincident",
    are_coincident,
    takes_params=True,
    batch=keep_params,
    spec=lambda x: Spec((*example_of(x).shape, x.shape[-1]), np.dtype(np.bool)),
    cases=(case(np.array([1.0, 1.0 + 1e-15, 2.0])), case((2, 3))),
    facts=Facts(exact=True),
    reason=TRUTH,
)
_anchor = nondifferentiable(
    "anchor",
    _anchor_impl,
    takes_params=True,
    batch=keep_params,
    cases=(case((3, 2)), case((0, 0))),
    reason="it marks the component held real",
)


def inverse_differences(x: Any) -> Any:
    """1 / (x_j - x_i), and 0 where they coincide."""
    same = _coincident(x)  # and no infinite denominators: on a GPU, a complex number divided by one is NaN
    return where(same, 0.0, 1.0 / where(same, 1.0, as_columns(x) - as_rows(x)))


def _hold_phase(vectors: Any) -> tuple[Any, Any]:
    """A mask of the component of each vector that NumPy holds real, and that component, infinite if there is none."""
    held = _anchor(vectors)
    component = sum_(held * real(vectors), -2, keepdims=True)
    return held, where(equal(component, 0), inf, component)


def phase_drift(moved: Any, vectors: Any) -> Any:
    """The angle by which each moved vector must be rotated back to keep that component real."""
    held, component = _hold_phase(vectors)
    return sum_(held * imag(moved), -2, keepdims=True) / component


def transpose_phase_drift(turn: Any, vectors: Any) -> Any:
    """The transpose of `phase_drift`: what it adds to the cotangents of the vectors.

    The imaginary part of `turn` says how the result changes as each vector turns.
    """
    held, component = _hold_phase(vectors)
    return held * (-1j * (imag(turn) / component))


def inverse_sums(x: Any) -> Any:
    """1 / (x_j + x_i), and 0 where both vanish."""
    none = negligible(x)
    return 1.0 / where(logical_and(as_columns(none), as_rows(none)), inf, as_columns(x) + as_rows(x))


def inverses(x: Any) -> Any:
    """1 / x, and 0 where x vanishes."""
    return 1.0 / where(negligible(x), inf, x)


def _is_degenerate(x: np.ndarray, kink: bool = False) -> bool:
    """Whether any two sorted real values coincide; with `kink`, also whether one is 0."""
    if x.dtype.kind == "c":
        return True
    size = np.abs(x)
    margin = _margin(size)
    return bool((np.abs(x[..., 1:] - x[..., :-1]) <= margin).any() or (kink and (size <= margin).any()))


def is_absent(t: Any) -> bool:
    """Whether a cotangent is known to be zero, so that nothing need be computed from it."""
    return not isinstance(t, Array | DeviceArray) and not t.any()


def _numbers(x: Any) -> tuple[Any, bool]:
    """The numbers of a value (None if they are not known yet), and whether it is being differentiated."""
    numbers = bottom_array(x)
    differentiated = any(payload.extra is not None for payload in iterate_payloads(x))
    return (numbers, differentiated) if isinstance(numbers, np.ndarray) else (None, False)


def warn_of_second_derivative(name: str, what: str, values: Any) -> None:
    """Warn if a rule that leaves out terms between coinciding values is differentiated again."""
    numbers, differentiated = _numbers(values)
    if differentiated and _is_degenerate(numbers) and _pairs(numbers).any():
        warnings.warn(
            f"The second derivative of {name} at {user_line()} lacks what coinciding {what} contribute in directions "
            f"that split them. "
            f"Use a function that needs no {name}: the trace, det or norm of matrices, or solve, inv and products of "
            f"them.",
            GaugeWarning,
            stacklevel=2,
        )


def _pairs(values: np.ndarray) -> np.ndarray:
    return are_coincident(values) & ~np.eye(values.shape[-1], dtype=bool)


def warn_of_gauge(name: str, what: str, values: Any, t: Any, turned: Any, kink: bool = False) -> None:
    """Warn if cotangents distinguish coinciding values, as far as these are known.

    `t` are the cotangents of the values, `turned` those of turning vectors into each other, whose skew part should
    vanish. What is left is right for a projector. With cotangents of the values beside it, it may also be that of V
    f(w) V^H, which lacks f'(w) between vectors of coinciding values: no rule can know. `kink` says that values are not
    smooth at 0.
    """
    if isinstance(t, Array) or isinstance(turned, Array):
        return warn_of_second_derivative(name, what, values)
    values, _ = _numbers(values)
    if values is None or not _is_degenerate(values, kink):
        return None
    pairs, at_zero = _pairs(values), is_negligible(values) & kink
    suspects = [
        (t, t[..., :, None] - t[..., None, :], pairs),
        (turned, turned - np.conj(turned.swapaxes(-1, -2)), pairs),
        (t, t, at_zero),
        (turned, turned * bool(t.any()), pairs),
    ]
    for whole, difference, mask in suspects:
        suspicious = np.abs(difference) > 1e3 * np.finfo(whole.dtype).eps * np.max(np.abs(whole), initial=0)
        if np.any(suspicious & mask):
            warnings.warn(
                f"The derivative of {name} at {user_line()} depends on how the vectors of coinciding {what}, or of "
                f"those that are 0, were "
                f"chosen, or lacks what changes of these values contribute between their vectors. Use functions that "
                f"treat coinciding "
                f"values alike, and the projector on the span of their vectors; instead of V f(w) V^H, use expm, logm, "
                f"sqrtm, inv or "
                f"matrix_power.",
                GaugeWarning,
                stacklevel=2,
            )
            return None
    return None
