"""Functions that capture values: what a function captured becomes an argument.

The function is traced, and runs as a graph from then on. A value that it captured enters the graph where an operation
reads it, and is an input like the arguments. So each mode treats it as it treats them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.control.bodies import close_function
from wengert.core import tree
from wengert.core.errors import GradientError, TrackedValueError
from wengert.core.levels import bottom_array, iterate_payloads
from wengert.core.primitive import SHAPED, as_operand
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.modes import recording
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor


class CapturedValues(Exception):  # a message from a run to its call
    """Raised when a run used captured values; `known` are its results, if they are those of the call, else None."""

    def __init__(self, outs: Sequence[Any] = ()):
        layers = [layer for y in outs for layer in iterate_payloads(y)]
        is_known = outs and all(isinstance(x, Tensor | Dual) for x in layers)
        self.known = [bottom_array(y) for y in outs] if is_known else None


class ClosedFunction:
    """A function as a graph: it takes the arguments, and behind them a list of the values that it captured.

    `arrays` are the indices of the leaves of the arguments that the graph takes; the others are fixed.
    """

    def __init__(self, body: Graph, arrays: list[int], result: tree.Structure):
        self.body, self.arrays, self.result = body, arrays, result

    def __call__(self, *args: Any) -> Any:
        *own, captured = args
        leaves = tree.leaves(tuple(own))
        return tree.unflatten(self.result, self.body.run([*[leaves[i] for i in self.arrays], *captured]))

    def zeros(self) -> Any:
        """Zeros in the place of what it returns."""
        return tree.unflatten(self.result, [zeros_like(node.spec) for node in self.body.outputs])


def close_over(f: Callable[..., Any], args: tuple[Any, ...], what: str) -> tuple[ClosedFunction, list[Any]]:
    """`f` as a function of its arguments and of the values that it captured, and these values.

    It is traced for arguments like these: their arrays may change, everything else is fixed.

    >>> import numpy as np
    >>> w = Tensor(np.float64(3.0))
    >>> closed, captured = close_over(lambda x: w * x, (np.float64(2.0),), "a function")
    >>> closed(np.float64(2.0), [np.float64(10.0)])
    np.float64(20.0)
    """
    leaves, structure = tree.flatten(args)
    arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf, SHAPED)]
    result: list[tree.Structure] = []

    def flat(symbols: list[Any]) -> list[Any]:
        whole = list(leaves)
        for i, symbol in zip(arrays, symbols, strict=True):
            whole[i] = symbol
        outs, found = tree.flatten(f(*tree.unflatten(structure, whole)))
        result[:] = [found]
        return [as_operand(y) for y in outs]

    body, captured = close_function(flat, [Spec.of(leaves[i]) for i in arrays], what)
    return ClosedFunction(body, arrays, result[0]), captured


def is_for_graph(f: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a call of f belongs to the graph that is being traced, by its arguments or by what it captures.

    A function that cannot be traced does not: it runs on numbers, if it is given numbers.
    """
    leaves = tree.leaves(args)
    if any(isinstance(payload, Symbol) for leaf in leaves for payload in iterate_payloads(leaf)):
        return True
    if recording.current_trace() is None:
        return False
    try:
        return bool(close_over(f, args, "a function")[1])
    except (TrackedValueError, GradientError):
        return False


class Closure:
    """A function that a call holds, closed: what it captured are further arrays of the call."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], what: str, arrays: list[Any]):
        self.closed, captured = close_over(f, args, what)
        self.start, self.stop = len(arrays), len(arrays) + len(captured)
        arrays += captured

    def bind(self, x: Sequence[Any]) -> Callable[..., Any]:
        """The function of its arguments alone, where the arrays of the call are x."""
        return lambda *args: self.closed(*args, x[self.start : self.stop])
