"""The root of a function, in a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from wengert.control.bodies import close_function
from wengert.core.array import Array
from wengert.core.spec import Spec
from wengert.implicit.root_operation import ROOT, RootProblem
from wengert.transforms.products import stop_gradient


def find_root(residual: Callable[..., Any], start: Any, values: Sequence[Any], what: str, **solver: Any) -> Any:
    """The root x of residual(x, *values), in a trace; what the function captures is an operand too."""
    import_module("wengert.implicit.root_expansion")  # for the compiler, which imports llvmlite
    specs = [Spec.of(start), *[Spec.of(v) for v in values]]
    body, captured = close_function(lambda symbols: [residual(*symbols)], specs, what)
    start = stop_gradient(start) if isinstance(start, Array) else start
    return ROOT.op(start, *values, *captured, problem=RootProblem(body, **solver))
