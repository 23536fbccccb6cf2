"""The error of `a[0] = x`, where `a` is a plain array and `x` a value that is being differentiated.

NumPy asks x for a number and replaces our error by its own, "setting an array element with a sequence". Ours, which
says what to do, would only be the cause. A trace function that is set for a moment puts our error back. Under a
debugger, which has its own trace function, NumPy's error stays.
"""

from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import Any

STORE = dis.opmap["STORE_SUBSCR"]


def is_assignment(frame: FrameType) -> bool:
    """Whether a frame is assigning to an element right now."""
    return frame.f_code.co_code[frame.f_lasti] == STORE


def raise_in(frame: FrameType, error: Exception) -> None:
    """Replace the next error in a frame by this one, if this one is its cause."""
    if sys.gettrace() is not None:
        return

    def replace_error(frame: FrameType, event: str, argument: Any) -> None:
        sys.settrace(None)
        frame.f_trace = None
        if event == "exception" and argument[1].__cause__ is error:
            raise error.with_traceback(argument[2]) from None

    start = frame.f_lasti

    def end_tracing(*_: Any) -> None:
        if frame.f_lasti != start:  # else a finalizer is called, during the assignment
            sys.settrace(None)

    frame.f_trace = replace_error
    sys.settrace(end_tracing)
