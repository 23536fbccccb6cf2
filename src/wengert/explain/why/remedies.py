"""Why results are not finite, and what is usually done: the aspect `remedies`, filled in `explain/aspects/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive

FORWARD, BACKWARD = "forward", "backward"


class Remedy(NamedTuple):
    """A case: the pass, a condition on the operands, what happened, and what is usually done."""

    direction: str
    applies: Callable[..., Any]
    cause: str
    advice: str


remedies: Aspect[tuple[Remedy, ...]] = Aspect(
    "remedies",
    "why its result or derivative may not be finite, and what is usually done",
    rest="general advice is given",
)
"""The first case that applies counts."""


def always(*_operands: Any) -> bool:
    """A case for all operands."""
    return True


def has_infinity(*operands: Any) -> bool:
    """Whether an operand has an infinity: a sum may then be NaN."""
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
    has_infinity,
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
    "Its value does not reach the result, because something else is selected there, but the derivative still passes "
    f"through it: {SAFE_ARGUMENT}, with your own operation in place of the logarithm."
)
ABSORBED = (
    "The infinity does not show in the result, as 1 / inf is 0, but the derivative meets it in the backward pass."
)


def remedy(primitive: Primitive, direction: str, operands: Sequence[Any]) -> tuple[str, str]:
    """What happened, and what is usually done. The operands are numbers, or whole arrays."""
    for case in remedies.of(primitive) or ():
        if direction == case.direction and applies_to(case.applies, operands):
            return case.cause, case.advice
    return UNKNOWN[direction]


def applies_to(condition: Callable[..., Any], operands: Sequence[Any]) -> bool:
    """Whether a case applies to the operands, or to any element of them."""
    if condition in (always, has_infinity):
        return bool(condition(*operands))
    try:
        return bool(np.any(condition(*operands)))
    except (TypeError, ValueError):  # written for numbers, or for another count of operands
        return False
