"""What a function costs, as a number of calls: a machine's clock says something else each time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def count_calls(function: Callable[[], Any]) -> int:
    """The number of calls of functions, of Python and of C, that a function makes."""
    calls = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


def assert_linear(run: Callable[[int], Any], size: int) -> None:
    """Assert that a function of a size makes about four times as many calls for four times the size."""
    run(size)  # what is imported or cached at first does not count
    assert count_calls(lambda: run(4 * size)) < 5 * count_calls(lambda: run(size))
