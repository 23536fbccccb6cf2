"""Functions that are composed of several operations, as one compiled operation where arrays are large.

    @compiled_if_large("input", "weight", "bias")
    def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5): ...

One after the other, the operations of a normalisation read and write whole arrays, forward and backward. Compiled, they
are one loop over rows, and one node of the tape. A program has the shapes of its arguments, and bits of its own: sums
in another order, other functions. So it runs from the first call on where arrays are so large that this pays, or never.
In traces and other modes, the function runs as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.core import machine, native
from wengert.core.constant_key import constant_key
from wengert.modes import recording
from wengert.modes.tensor import Tensor
from wengert.ops.reductions.sums import sum as sum_
from wengert.transforms.products import stop_gradient

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
NATIVE = (*FLOATS, *map(np.dtype, (np.bool_, np.int64, np.int32)))
"""The dtypes of the first array, and of the others."""

F = TypeVar("F", bound=Callable[..., Any])


class LargeFunction(NamedTuple):
    """A compiled function of arrays, with the signature of calls like this one, and its recorded calls by live inputs.

    Its second result is zero if the first one is finite, and NaN if not.
    """

    compiled: Any
    signature: Any
    recorded: dict[tuple[bool, ...], Any]


KNOWN: dict[Any, LargeFunction] = {}
"""What was compiled, for each function with its constants and shapes."""
machine.on_change(KNOWN.clear)


def compiled_if_large(*arrays: str, work: Callable[..., int] = lambda x, *_: x.size) -> Callable[[F], F]:
    """A decorator: large calls are compiled. `arrays` names the arguments that are arrays, or None.

    All other arguments are constants of the program. `work` gives the number of elements that a call takes time for,
    from its arrays, which decides; it is only asked if the first array is not small.
    """

    def decorate(function: F) -> F:
        parameters = signature(function).parameters
        names, defaults = tuple(parameters), tuple([p.default for p in parameters.values()])
        required, most = defaults.count(Parameter.empty), len(names)
        places = tuple([i for i, name in enumerate(names) if name in arrays])

        @wraps(function)
        def run(input: Any, *args: Any, **kwargs: Any) -> Any:
            value = input.value if input.__class__ is Tensor else input
            if (
                value.__class__ is np.ndarray
                and native.IS_ON
                and value.size >= machine.current.min_elements_of_native_function
            ):
                count = 1 + len(args)
                arguments = (input, *args, *defaults[count:])
                if kwargs:
                    left = names[count:]
                    is_valid = count <= most and kwargs.keys() <= set(left)
                    arguments = (*arguments[:count], *map(kwargs.get, left, defaults[count:]))
                    is_valid = is_valid and not any(x is Parameter.empty for x in arguments)
                else:
                    is_valid = required <= count <= most
                if is_valid:
                    return run_large(function, arguments, places, work)
            return function(input, *args, **kwargs)  # which raises the error if arguments are not valid

        return run  # type: ignore[return-value]  # it has the signature of the function

    return decorate


def run_large(
    function: Callable[..., Any], arguments: tuple[Any, ...], places: tuple[int, ...], work: Callable[..., int]
) -> Any:
    """The result of a function on large arrays, which are the arguments at these places, or None."""
    given, values = [], []
    key: list[Any] = [function]
    for i, x in enumerate(arguments):
        if x is None or i not in places:
            key.append(constant_key(x))
            continue
        value = x.value if x.__class__ is Tensor else x
        if value.__class__ is not np.ndarray:
            return function(*arguments)
        given.append(x)
        values.append(value)
        key.append((value.shape, value.dtype))
    if recording.active and recording.current_trace() is not None:
        return function(*arguments)
    try:
        known = tuple(key)
        large = KNOWN.get(known)
        if large is None:
            large = compile_large(function, known, arguments, places, values, work)
            if large is None:
                return function(*arguments)
    except TypeError:  # a constant has no hash
        return function(*arguments)
    native.met_large = True
    out, flag = call_large(large, given, values)
    if flag.item() != 0.0 and set(np.geterr().values()) != {"ignore"}:
        function(*[x.value if x.__class__ is Tensor else x for x in arguments])  # NumPy warns or raises
    return out


def compile_large(
    function: Callable[..., Any],
    key: tuple[Any, ...],
    arguments: tuple[Any, ...],
    places: tuple[int, ...],
    values: Sequence[np.ndarray],
    work: Callable[..., int],
) -> LargeFunction | None:
    """A function compiled for arguments like these, if such calls have so much work that the first one is compiled."""
    now = machine.current
    if work(*values) < now.min_elements_of_native_rows:
        return None
    if not all(x.dtype in NATIVE for x in values) or values[0].dtype not in FLOATS:
        return None
    are_arrays = [i in places and x is not None for i, x in enumerate(arguments)]
    constants = [None if is_array else x for x, is_array in zip(arguments, are_arrays, strict=True)]
    large = compile_function(function, are_arrays, constants, values)
    if large is not None:
        if len(KNOWN) >= now.max_calls_kept:
            KNOWN.clear()
        KNOWN[key] = large
    return large


def compile_function(
    function: Callable[..., Any], are_arrays: Sequence[bool], constants: Sequence[Any], values: Sequence[np.ndarray]
) -> LargeFunction | None:
    """A function of some of its arguments, compiled for values like these; the others are constants."""
    try:
        from wengert.compiler.call.compiled import compile  # which loads LLVM
    except ImportError:  # there is no compiler on this system
        return None

    def run(*arrays: Any) -> Any:
        rest = iter(arrays)
        out = function(*[next(rest) if is_array else x for is_array, x in zip(are_arrays, constants, strict=True)])
        known = stop_gradient(out)
        return out, sum_(known - known)

    run.__name__ = function.__name__  # the name of the operation on the tape
    compiled = compile(run)
    return LargeFunction(compiled, compiled.signature(*compiled.flatten_arguments(tuple(values), {})), {})


def call_large(large: LargeFunction, given: Sequence[Any], values: Sequence[np.ndarray]) -> tuple[Any, Any]:
    """The results of a compiled function, of arrays or tensors with these values; with a history, if some have one."""
    levels = {x.level for x in given if x.__class__ is Tensor}
    parents = [x.node if x.__class__ is Tensor else None for x in given]
    live = tuple([node is not None for node in parents])
    if recording.active or len(levels) != 1 or True not in live:
        return large.compiled(*given)
    calls = large.recorded.get(live)
    if calls is None:
        from wengert.compiler.call.transformed_call import RecordedCalls  # it was loaded before

        calls = large.recorded[live] = RecordedCalls(large.signature, live)
    return calls.record(levels.pop(), values, parents, [x for x in given if x.__class__ is not Tensor])
