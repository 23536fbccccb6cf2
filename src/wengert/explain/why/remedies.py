"""What makes numbers that are not finite, and what is usually done about it: the aspect `remedies`, filled in
`explain/aspects/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive

FORWARD, BACKWARD = "forward", "backward"


class Remedy(NamedTuple):
    """A case: the direction it is about, what the operands must be, what happened, and what is usually done."""

    direction: str
    applies: Callable[..., Any]
    cause: str
    advice: str


remedies: Aspect[tuple[Remedy, ...]] = Aspect(
    "remedies",
    "why its result or derivative may not be finite, and what is usually done",
    rest="general advice is given",
)
"""Of several cases that apply, the first one counts."""


def always(*operands: Any) -> bool:
    return True


def opposite(*operands: Any) -> bool:
    """Infinities among the operands: all that a sum needs to become NaN."""
    return any(np.any(np.isinf(x)) for x in operands if x.dtype.kind in "fc")


SAFE_ARGUMENT = "put a harmless argument in where it is not needed: wg.where(ok, np.log(wg.where(ok, x, 1.0)), 0.0)"

BAD_FACTOR = Remedy(
    BACKWARD,
    always,
    "the other factor is not finite, or the product is too large",
    "A mask that multiplies does not stop derivatives. Choose with wg.where(mask, x, 0.0), and see the other factor.",
)
INFINITE_TERMS = Remedy(
    FORWARD,
    opposite,
    "infinities among the terms",
    "Find where the infinities come from; sums of large numbers can be taken of logarithms, wg.logsumexp.",
)
TOO_LARGE_TOGETHER = Remedy(
    FORWARD,
    always,
    "the result is larger than any number of this precision",
    "Scale the numbers, take sums of logarithms instead of products, or compute in float64.",
)
BAD_SLOPE = Remedy(
    BACKWARD, always, "its local derivative is not finite here", "Scale the numbers, and keep them finite."
)

UNKNOWN = {
    FORWARD: (
        "its result is not finite here",
        "Look at the operands; keep them inside the domain of the operation, or choose with wg.where.",
    ),
    BACKWARD: (
        "its local derivative is not finite here",
        "Keep the operand away from this point, or choose another formula with wg.where.",
    ),
}

UNTAKEN = (
    "Its value does not reach the result, because something else is chosen there, but the derivative still passes "
    "through it: "
    f"{SAFE_ARGUMENT}, with your own operation in place of the logarithm."
)
ABSORBED = (
    "The infinity does not show in the result, as 1 / inf is 0, but the derivative meets it again on the way back."
)


def remedy(primitive: Primitive, direction: str, operands: Sequence[Any]) -> tuple[str, str]:
    """What happened, and what is usually done.

    The operands are those of the element, or whole arrays where it has no single one.
    """
    for case in remedies.of(primitive) or ():
        if direction == case.direction and holds(case.applies, operands):
            return case.cause, case.advice
    return UNKNOWN[direction]


def holds(condition: Callable[..., Any], operands: Sequence[Any]) -> bool:
    """Whether a case applies; one about single numbers applies to an array if it does to any element."""
    if condition in (always, opposite):
        return bool(condition(*operands))
    try:
        return bool(np.any(condition(*operands)))
    except (TypeError, ValueError):  # written for numbers, or for another count of operands
        return False
