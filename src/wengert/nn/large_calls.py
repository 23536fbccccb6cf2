"""Functions that are composed of several operations, as one compiled operation where arrays are large.

    @compiled_if_large("input", "weight", "bias")
    def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5): ...

One after the other, the operations of a normalisation read and write whole arrays, forward and backward. Compiled, they
are one loop over rows, and one node of the tape. A program has the shapes of its arguments, so it is compiled only when
calls with the same shapes have had as many elements as `PAYS`: in the loop of a training. Until then, and in traces and
other modes, the function runs as it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from wengert.core import native
from wengert.modes import recording
from wengert.modes.tensor import Tensor

PAYS = 1 << 24
"""The number of elements of calls with the same shapes before they are compiled."""
MOST_PROGRAMS = 256
"""The number of different calls that are counted, and of functions that are kept."""
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

SEEN: dict[Any, int] = {}
"""The number of elements so far, for each function with its constants and shapes."""

F = TypeVar("F", bound=Callable[..., Any])


def compiled_if_large(*arrays: str) -> Callable[[F], F]:
    """A decorator: large calls are compiled. `arrays` names the arguments that are arrays, or None; the first decides.

    All other arguments are constants of the program.
    """

    def decorate(function: F) -> F:
        parameters = signature(function)

        @wraps(function)
        def run(input: Any, *args: Any, **kwargs: Any) -> Any:
            value = input.value if input.__class__ is Tensor else input
            if value.__class__ is np.ndarray and value.size >= native.EXPENSIVE_ARRAY and native.IS_ON:
                bound = parameters.bind(input, *args, **kwargs)
                bound.apply_defaults()
                return run_large(function, arrays, value.size, bound.arguments)
            return function(input, *args, **kwargs)

        return run  # type: ignore[return-value]  # it has the signature of the function

    return decorate


def run_large(function: Callable[..., Any], names: tuple[str, ...], size: int, arguments: dict[str, Any]) -> Any:
    """The result of a function on arrays of so many elements."""
    given = {name: arguments[name] for name in names if arguments[name] is not None}
    constants = tuple([(name, value) for name, value in arguments.items() if name not in given])
    values = [x.value if x.__class__ is Tensor else x for x in given.values()]
    if (
        not all(x.__class__ is np.ndarray and x.dtype in FLOATS for x in values)
        or recording.current_trace() is not None
    ):
        return function(**arguments)
    try:
        key = function, constants, tuple([(x.shape, x.dtype) for x in values])
        if len(SEEN) >= MOST_PROGRAMS:
            SEEN.clear()
        seen = SEEN[key] = min(SEEN.get(key, 0) + size, PAYS)
    except TypeError:  # a constant has no hash
        return function(**arguments)
    if seen < PAYS:
        return function(**arguments)
    try:
        compiled = compile_function(function, tuple(given), constants)
    except ImportError:  # there is no compiler on this system
        return function(**arguments)
    out = compiled(*given.values())
    report_errors(function, out, dict(zip(given, values, strict=True)) | dict(constants))
    return out


@lru_cache(MOST_PROGRAMS)
def compile_function(function: Callable[..., Any], names: tuple[str, ...], constants: tuple[Any, ...]) -> Any:
    """A function of some of its arguments, compiled; the others are constants."""
    from wengert.compiler.call.compiled import compile  # which loads LLVM

    def run(*arrays: Any) -> Any:
        return function(**dict(zip(names, arrays, strict=True)), **dict(constants))

    run.__name__ = function.__name__  # the name of the operation on the tape
    return compile(run)


def report_errors(function: Callable[..., Any], out: Any, arguments: dict[str, Any]) -> None:
    """If results are not finite, let NumPy warn or raise, where the user wants to know."""
    value = out.value if out.__class__ is Tensor else out
    with np.errstate(all="ignore"):
        is_finite = np.isfinite(np.add.reduce(value, axis=None))
    if not is_finite and set(np.geterr().values()) != {"ignore"}:
        function(**arguments)
