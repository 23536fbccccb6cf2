"""Facts about an operation besides its derivative, declared with it."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """What layers above the table need to know about an operation and would otherwise keep lists of."""

    moves: bool = False
    """It computes nothing: its result has elements of its arguments at other indices or in another dtype, and zeros."""
    view: bool = False
    """Its result shares the memory of its first argument (but for a copy of a few numbers, if that is faster)."""
    commutative: bool = False
    """Swapping its two arguments gives the same bits. (`maximum` of 0.0 and -0.0 may not.)"""
    cost: int | None = None
    """The cost of one element of its result, in additions; None if unknown."""


NO_FACTS = Facts()
MOVES = Facts(moves=True)
VIEW = Facts(moves=True, view=True, cost=0)
CHEAP = Facts(cost=1)
