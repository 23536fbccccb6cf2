"""What makes numbers that are not finite, by operation, and what is usually done about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

FORWARD, BACKWARD = "forward", "backward"


class Remedy(NamedTuple):
    """A case: the operations and the direction it is about, what its operands must be, what happened, and what is usually done."""

    operations: tuple[str, ...]
    direction: str
    applies: Callable[..., Any]
    cause: str
    advice: str


def always(*operands: Any) -> bool:
    return True


def opposite(*operands: Any) -> bool:
    """Infinities among the operands: all that a sum needs to become NaN."""
    return any(np.any(np.isinf(x)) for x in operands if x.dtype.kind in "fc")


def zero_times_infinity(x: Any, y: Any) -> bool:
    return bool((x == 0 and np.isinf(y)) or (y == 0 and np.isinf(x)))


LOGS = ("log", "log2", "log10")
ROOTS = ("sqrt", "root")
EXPONENTIALS = ("exp", "exp2", "expm1", "sinh", "cosh")
SAFE_ARGUMENT = "put a harmless argument in where it is not needed: wg.where(ok, np.log(wg.where(ok, x, 1.0)), 0.0)"

REMEDIES = (
    Remedy(
        LOGS, FORWARD, lambda x: x == 0, "the logarithm of 0 is -inf",
        "Keep the argument above 0: np.log(x + eps) or np.log(np.maximum(x, eps)). The logarithm of a softmax is x - wg.logsumexp(x), "
        "that of a sigmoid is -wg.softplus(-x), and log(1 + x) is np.log1p(x).",
    ),
    Remedy(
        LOGS, FORWARD, lambda x: x < 0, "a negative number has no real logarithm",
        f"Check the sign of what comes in, or {SAFE_ARGUMENT}.",
    ),
    Remedy(
        LOGS, BACKWARD, always, "1 / x is larger than any number of this precision",
        "Keep the argument away from 0: np.log(np.maximum(x, eps)).",
    ),
    Remedy(("log1p",), FORWARD, lambda x: x <= -1, "log(1 + x) does not exist for x <= -1", "Keep x above -1: np.maximum(x, -1 + eps)."),
    Remedy(
        ROOTS, FORWARD, lambda x: x < 0, "a negative number has no real square root",
        "Rounding may make a sum of squares or a variance slightly negative: np.sqrt(np.maximum(x, 0.0)).",
    ),
    Remedy(
        ROOTS, BACKWARD, lambda x: x == 0, "the derivative 1 / (2 sqrt x) is infinite at 0",
        "Use np.linalg.norm(x) for the root of a sum of squares (its derivative at 0 is taken as 0), np.sqrt(x + eps), or "
        "wg.where(x > 0, np.sqrt(wg.where(x > 0, x, 1.0)), 0.0).",
    ),
    Remedy(("cbrt",), BACKWARD, lambda x: x == 0, "the derivative of a cube root is infinite at 0", "Move the argument away from 0."),
    Remedy(
        ("divide", "floor_divide", "remainder", "fmod"), FORWARD, lambda x, y: x == 0 and y == 0, "0 / 0 is not a number",
        "Decide what the quotient should be there: wg.where(y == 0, value, x / wg.where(y == 0, 1.0, y)). For sin(x) / x use np.sinc.",
    ),
    Remedy(
        ("divide",), FORWARD, lambda x, y: np.isinf(x) and np.isinf(y), "an infinity divided by an infinity is not a number",
        "Both overflowed before: divide by the largest term first, or subtract logarithms. In a softmax subtract the maximum, x - x.max().",
    ),
    Remedy(
        ("divide", "divide_live", "reciprocal", "floor_divide", "remainder", "fmod"), FORWARD, lambda *args: args[-1] == 0,
        "a division by 0",
        "Add a small number to the denominator, x / (y + eps), or choose: wg.where(y == 0, value, x / wg.where(y == 0, 1.0, y)).",
    ),
    Remedy(
        ("divide", "reciprocal"), BACKWARD, always, "the derivative -x / y**2 is larger than any number of this precision",
        "Keep the denominator away from 0: np.maximum(y, eps).",
    ),
    Remedy(
        EXPONENTIALS, FORWARD, always, "the result is larger than any number of this precision",
        "Take the largest argument out first, np.exp(x - x.max()); wg.logsumexp, wg.softplus, wg.sigmoid and np.logaddexp do so. Or bound "
        "the argument: np.minimum(x, 50.0).",
    ),
    Remedy(
        EXPONENTIALS, BACKWARD, always, "the derivative is larger than any number of this precision",
        "Take the largest argument out first, np.exp(x - x.max()), or bound it.",
    ),
    Remedy(
        ("power",), FORWARD, lambda x, y: x == 0 and y < 0, "0 to a negative power is a division by 0",
        "Keep the base away from 0: (x + eps) ** y.",
    ),
    Remedy(
        ("power",), FORWARD, lambda x, y: x < 0 and y != np.round(y), "a negative number has no real power that is not whole",
        "Use np.abs(x) ** y, np.sign(x) * np.abs(x) ** y, or np.cbrt for a third.",
    ),
    Remedy(("power",), FORWARD, always, "the power is larger than any number of this precision", "Compute with logarithms, or scale x."),
    Remedy(
        ("power",), BACKWARD, lambda x, y: x == 0, "the derivative y * x**(y - 1) is infinite at 0 for y < 1",
        "Keep the base away from 0: (x + eps) ** y.",
    ),
    Remedy(
        ("power",), BACKWARD, lambda x, y: x < 0, "the derivative in the exponent has the logarithm of the base, which is negative",
        "Pass the exponent as a plain number or integer if no derivative in it is needed, or make the base positive.",
    ),
    Remedy(
        ("multiply",), FORWARD, zero_times_infinity, "0 times an infinity is not a number",
        "A mask that multiplies does not remove what it masks. Choose instead: wg.where(mask, x, 0.0).",
    ),
    Remedy(
        ("multiply", "einsum", "matmul"), BACKWARD, always, "the other factor is not finite, or the product is too large",
        "A mask that multiplies does not stop derivatives. Choose with wg.where(mask, x, 0.0), and see the other factor.",
    ),
    Remedy(
        ("add", "subtract"), FORWARD, opposite, "inf - inf is not a number",
        "Find which infinity was meant. Where all entries of a row are masked by -inf, x - x.max() is one: mask with a large finite number "
        "such as -1e9, or use wg.logsumexp, which knows.",
    ),
    Remedy(
        ("sum", "mean", "cumsum", "matmul", "einsum"), FORWARD, opposite, "infinities among the terms",
        "Find where the infinities come from; sums of large numbers can be taken of logarithms, wg.logsumexp.",
    ),
    Remedy(("mean",), FORWARD, lambda x: x.size == 0, "the mean of no numbers is 0 / 0", "Leave empty arrays out before taking the mean."),
    Remedy(
        ("prod", "cumprod", "sum", "mean", "cumsum", "matmul", "einsum", "norm"), FORWARD, always,
        "the result is larger than any number of this precision",
        "Scale the numbers, take sums of logarithms instead of products, or compute in float64.",
    ),
    Remedy(
        ("multiply", "square", "add", "subtract", "divide", "reciprocal"), FORWARD, always,
        "the result is larger than any number of this precision", "Scale the numbers, compute with logarithms, or in float64.",
    ),
    Remedy(
        ("arccos", "arcsin"), FORWARD, always, "the argument is not between -1 and 1",
        "Rounding may carry a cosine over 1: np.clip(x, -1.0, 1.0). The angle between vectors is np.arctan2(|a x b|, a . b) at any angle.",
    ),
    Remedy(
        ("arccos", "arcsin"), BACKWARD, always, "the derivative 1 / sqrt(1 - x**2) is infinite at -1 and 1",
        "Stay inside, np.clip(x, -1 + eps, 1 - eps), or compute the angle by np.arctan2, which is smooth there.",
    ),
    Remedy(
        ("arctanh",), FORWARD, always, "arctanh exists only between -1 and 1, and is infinite at both ends",
        "Stay inside: np.clip(x, -1 + eps, 1 - eps).",
    ),
    Remedy(("arccosh",), FORWARD, always, "arccosh exists only for numbers of at least 1", "Keep the argument up: np.maximum(x, 1.0)."),
    Remedy(("arccosh", "arctanh"), BACKWARD, always, "the derivative is infinite at the end of the domain", "Stay inside by a little."),
    Remedy(
        ("astype",), FORWARD, always, "the number is too large for the new dtype", "Scale before the conversion, or keep the larger dtype.",
    ),
    Remedy(
        ("norm", "hypot", "logsumexp", "prod", "cumprod"), BACKWARD, always, "its local derivative is not finite here",
        "Scale the numbers, and keep them finite.",
    ),
)  # fmt: skip

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
    "Its value does not reach the result, because something else is chosen there, but the derivative still passes through it: "
    f"{SAFE_ARGUMENT}, with your own operation in place of the logarithm."
)
ABSORBED = "The infinity does not show in the result, as 1 / inf is 0, but the derivative meets it again on the way back."


def remedy(operation: str, direction: str, operands: Sequence[Any]) -> tuple[str, str]:
    """What happened, and what is usually done; the operands are those of the element, or whole arrays where it has no single one."""
    for case in REMEDIES:
        if operation in case.operations and direction == case.direction and holds(case.applies, operands):
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
