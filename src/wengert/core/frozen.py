"""Values that do not change in place: those of programs whose system has immutable arrays.

Inside `frozen()`, `x += v` makes a new value and rebinds the name, and `x[i] = v` raises an error. Classes of values
that are always like that have `is_frozen`.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any

from wengert.core.errors import user_error

FROZEN: ContextVar[bool] = ContextVar("wengert_frozen", default=False)


class frozen:
    """A block in which no value changes in place.

    >>> import wengert as wg
    >>> x = y = wg.tensor([1.0, 2.0])
    >>> with frozen():
    ...     x += 1.0
    >>> y
    tensor([1., 2.])
    """

    __slots__ = ("token",)

    token: Token[bool]

    def __enter__(self) -> None:
        self.token = FROZEN.set(True)

    def __exit__(self, *exc: Any) -> None:
        FROZEN.reset(self.token)


def is_frozen(x: Any) -> bool:
    """Whether a value may not change in place here."""
    return x.is_frozen or FROZEN.get()


def refuse_frozen(x: Any) -> None:
    """Raise an error for a change in place of a value that may not change."""
    if is_frozen(x):
        raise user_error(
            TypeError,
            "An array of this program was changed in place, and arrays are immutable",
            "Write x = x.at[index].set(v), which makes a new array; at[index].add and others are like it.",
        )
