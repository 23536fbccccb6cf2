"""Facts: what is plainly true of an operation beside its derivative, declared with it, for whoever asks."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """What layers above the table want to know of an operation, and would keep lists for."""

    moves: bool = False
    """It computes nothing: the numbers of its result are numbers of its arguments, at other places or in another dtype,
    and zeros.
    """
    view: bool = False
    """Its result lies in the memory of its first argument (a copy of a few numbers aside, where that is faster)."""
    commutative: bool = False
    """Two arguments give the same bits either way round. (`maximum` of 0.0 and -0.0 may not.)"""
    cost: int | None = None
    """About how many additions one element of its result costs; None where that is not known, as for functions."""


NO_FACTS = Facts()
MOVES = Facts(moves=True)
VIEW = Facts(moves=True, view=True, cost=0)
CHEAP = Facts(cost=1)
