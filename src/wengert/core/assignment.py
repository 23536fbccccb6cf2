"""`a[0] = x`, where `a` is a plain array and `x` a value that is being differentiated: the error that the user sees.

NumPy asks x for a number, and whatever error that raises, it raises one of its own instead: "setting an array element
with a sequence". Ours, which says what to do, would be its cause only. Nothing stands between NumPy and the user's line
but a trace function, so one is set for this moment; under a debugger, which has its own, NumPy's error stays.
"""

from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import Any

STORE = dis.opmap["STORE_SUBSCR"]


def is_assignment(frame: FrameType) -> bool:
    """Whether a frame is at this moment assigning to an element."""
    return frame.f_code.co_code[frame.f_lasti] == STORE


def raise_in(frame: FrameType, error: Exception) -> None:
    """Let the next error that arrives in a frame be this one, if it is the cause of it."""
    if sys.gettrace() is not None:
        return

    def arrived(frame: FrameType, event: str, argument: Any) -> None:
        sys.settrace(None)
        frame.f_trace = None
        if event == "exception" and argument[1].__cause__ is error:
            raise error.with_traceback(argument[2]) from None

    def elsewhere(frame: FrameType, event: str, argument: Any) -> None:
        sys.settrace(None)

    frame.f_trace = arrived
    sys.settrace(elsewhere)
