"""The schedules of compiled programs; numbers that decide what one loop computes are in `order.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class ScheduleFields:
    """How the bodies of loops are scheduled."""

    max_kernels_of_inline_body: int = 8
    """Kernels of one element of which a loop's body consists that becomes part of the loop: a call costs as much as
    some.
    """
    steps_of_awaited_states: int = 8
    """Steps of a loop that are looked ahead for the longest chain of operations, which may pass through several states.
    """
