"""Gauss's hypergeometric function, differentiable with respect to its argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.kinds import case
from wengert.core.primitive import as_operand
from wengert.ops.special.scipy_functions import constants_for, of_scipy, with_constants

__all__ = ["hyp2f1"]

_hyp2f1 = with_constants(
    "hyp2f1",
    of_scipy("hyp2f1"),
    lambda t, a, b, c, z: t * (a * b / c * _hyp2f1(a + 1, b + 1, c + 1, z)),
    ("a", "b", "c", "z"),
    ("parameter a", "parameter b", "parameter c"),
    (
        case(np.array(1), np.array(2), np.array(4), np.array([-1.5, -0.2, 0.4])),
        case(np.array([[1], [-2]]), np.array(1), np.array(3), np.array([0.3, 0.6])),
        case(np.array(1), np.array(2), np.array(3), np.ones((0, 2))),
    ),
)


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Any:
    """Gauss's hypergeometric function, differentiable with respect to z.

    Values are those of SciPy, which for complex z are wrong near exp(i pi / 3) and exp(-i pi / 3).

    >>> hyp2f1(1.0, 1.0, 2.0, [-1.0, 0.5]).round(6)  # -log(1 - z) / z
    array([0.693147, 1.386294])
    """
    z = as_operand(z)
    return _hyp2f1(*constants_for(z, a, b, c), z)
