"""Native code in eager operations: large calls of some operations run compiled code where there is a compiler.

    @natively(lambda: _convolution, work=multiplications)
    def _result(x, w, stride, ...): ...

Elementwise operations are specialised at registration (`for_large_arrays`): one comparison of sizes finds the large
calls. NumPy runs these, on all cores, until it has spent as much time on them as a compiler would take, by the number
of elements. From then on a vector kernel runs them, which is compiled, or read from disk. The same program therefore
has the same results each time, and a few calls cost nothing. The functions of a kernel may differ from NumPy's in the
last digit; arithmetic does not.

Reductions and operations on stacks of matrices follow the same rule for each signature (`by_signature`), because their
programs have shapes. Convolutions and pooling are native from the first large call on. `WENGERT_EAGER_KERNELS=0` leaves
everything to NumPy. The compiler is imported when it is first needed; NumPy runs what has no program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, update_wrapper, wraps
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core import parallel
from wengert.core.aspects import Aspect
from wengert.core.facts import Facts
from wengert.core.primitive import Primitive

IS_ON = os.environ.get("WENGERT_EAGER_KERNELS") != "0"
"""Whether eager operations run native code."""

LARGE = 1 << 20
"""The least number of scalar operations of a large call: some hundred microseconds in NumPy."""

CHEAP_ARRAY, EXPENSIVE_ARRAY = 1 << 18, 1 << 14
"""The least number of elements of a large call of an elementwise operation, by what an element costs: where kernels are
faster than NumPy, with all that is around them.
"""
CHEAP, EXPENSIVE = 1, 8
"""The nanoseconds that NumPy takes for an element, roughly."""
REDUCED_ARRAY, REDUCED = 1 << 16, 2
"""The same two figures for reductions."""
STACK_ARRAY, STACKED = 1 << 12, 32
"""The same for operations on stacks of matrices."""
MOST_SIGNATURES = 256
"""The number of signatures of one operation whose time is counted."""
PAYS = 1 << 26
"""The nanoseconds that NumPy spends on large calls before a kernel is compiled: about as long as that takes."""

NativeCall = Callable[[Sequence[np.ndarray], dict[str, Any]], np.ndarray | None]

native_call: Aspect[NativeCall] = Aspect(
    "native_call",
    "what runs a large eager call natively",
    rest="NumPy runs it in eager code",
    filled_by=("wengert.compiler.call.eager_call", "wengert.compiler.call.eager_elements"),
)
"""A function of the operands and the parameters, which returns None where there is no native code."""


met_large = False
"""Whether an operation has met a large array since the last backward pass, so that the next one looks for some."""


def natively(
    operation: Callable[[], Any], work: Callable[..., int]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for the implementation of an operation: large calls of it run natively.

    `operation` gives the operation, which is defined after its implementation. `work` gives the number of scalar
    operations of a call; it is only asked if the products of all elements could be so many.
    """

    def decorate(impl: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(impl)
        def run(*operands: Any, **params: Any) -> Any:
            if operands[0].size * operands[-1].size >= LARGE and work(*operands, **params) >= LARGE:
                found = run_natively(operation().primitive, operands, params)
                if found is not None:
                    return found
            return impl(*operands, **params)

        return run

    return decorate


def run_natively(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of native code; None where there is none."""
    global met_large
    met_large = True
    if not IS_ON:
        return None
    try:
        call = native_call.of(primitive)
    except ImportError:  # there is no compiler on this system, which is asked for once
        return None
    return call(operands, params) if call is not None else None


@cache
def find_native(module: str, name: str) -> Callable[..., Any] | None:
    """A function of the compiler; None where there is no compiler."""
    try:
        found: Callable[..., Any] = getattr(import_module(f"wengert.compiler.call.{module}"), name)
    except ImportError:
        return None
    return found


class LargeCalls:
    """The large calls of an elementwise operation.

    `impl` is NumPy's, and `nanoseconds` what it takes for an element. `spent` is the time that it has spent so far, for
    each combination of dtypes, which has a kernel of its own.
    """

    __slots__ = ("impl", "nanoseconds", "primitive", "spent")

    def __init__(self, impl: Callable[..., Any], nanoseconds: int):
        self.impl, self.nanoseconds = impl, nanoseconds
        self.primitive: Primitive | None = None  # registered after its implementation is made
        self.spent: dict[tuple[Any, ...], int] = {}

    def run(self, size: int, *operands: Any) -> Any:
        """The result: of a kernel if that pays, otherwise of NumPy, on all cores if it is a ufunc."""
        global met_large
        met_large = True
        if IS_ON and self.primitive is not None:
            key = tuple([x.dtype.char if x.__class__ is np.ndarray else x.__class__ for x in operands])
            spent = self.spent[key] = min(self.spent.get(key, 0) + size * self.nanoseconds, PAYS)
            if spent == PAYS:
                found = run_natively(self.primitive, operands, {})
                if found is not None:
                    return found
        if size >= parallel.EXPENSIVE and isinstance(self.impl, np.ufunc):
            return parallel.run_shared(self.impl, *operands)
        return self.impl(*operands)


def for_large_arrays(impl: Callable[..., Any], arity: int, facts: Facts) -> Callable[..., Any]:
    """The implementation of an elementwise operation, with native code for large arrays.

    The size is that of the first operand that is an array; Python's numbers are none.
    """
    is_cheap = facts.cost is not None and facts.cost < 4 and not facts.selects
    least = CHEAP_ARRAY if is_cheap else EXPENSIVE_ARRAY
    calls = LargeCalls(impl, CHEAP if is_cheap else EXPENSIVE)
    ndarray = np.ndarray

    def unary(x: Any) -> Any:
        if x.__class__ is ndarray and x.size >= least:
            return calls.run(x.size, x)
        return impl(x)

    def binary(x: Any, y: Any) -> Any:
        first = x if x.__class__ is ndarray else y
        if first.__class__ is ndarray and first.size >= least:
            return calls.run(first.size, x, y)
        return impl(x, y)

    def ternary(x: Any, y: Any, z: Any) -> Any:
        if x.__class__ is ndarray and x.size >= least:
            return calls.run(x.size, x, y, z)
        return impl(x, y, z)

    run: Callable[..., Any] = (unary, binary, ternary)[arity - 1]
    return attach(run, impl, calls)


class LargeSignatures:
    """The large calls of an operation whose programs have shapes; `spent` is NumPy's time for each signature."""

    __slots__ = ("impl", "nanoseconds", "primitive", "spent")

    def __init__(self, impl: Callable[..., Any], nanoseconds: int):
        self.impl, self.nanoseconds = impl, nanoseconds
        self.primitive: Primitive | None = None
        self.spent: dict[tuple[Any, ...], int] = {}

    def run(self, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result: of a program if that pays, otherwise of NumPy."""
        global met_large
        met_large = True
        if not IS_ON or self.primitive is None or not all(x.__class__ is np.ndarray for x in operands):
            return self.impl(*operands, **params)
        try:
            key = tuple([(x.shape, x.dtype.char) for x in operands]), tuple(params.items())
            if len(self.spent) >= MOST_SIGNATURES:
                self.spent.clear()
            spent = self.spent[key] = min(self.spent.get(key, 0) + operands[0].size * self.nanoseconds, PAYS)
        except TypeError:  # a parameter has no hash
            spent = 0
        found = run_natively(self.primitive, operands, params) if spent == PAYS else None
        return self.impl(*operands, **params) if found is None else found


def by_signature(impl: Callable[..., Any], least: int, nanoseconds: int) -> Callable[..., Any]:
    """The implementation of an operation, with programs for signatures that come again on large arrays.

    `least` is the number of elements of the first operand, and `nanoseconds` what NumPy takes for one of them.
    """
    calls = LargeSignatures(impl, nanoseconds)
    ndarray = np.ndarray

    def run(x: Any, *others: Any, **params: Any) -> Any:
        if x.__class__ is ndarray and x.size >= least:
            return calls.run((x, *others), params)
        return impl(x, *others, **params)

    return attach(run, impl, calls)


def for_reductions(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of a reduction of one array, with programs for large ones.

    Small arrays are frequent here, so the function is written with the parameters of `impl`, as in `primitive.py`.
    """
    calls = LargeSignatures(impl, REDUCED)
    code = impl.__code__
    _, *names = code.co_varnames[: code.co_argcount]
    given, named = ", ".join(names), ", ".join([f"{name!r}: {name}" for name in names])
    is_large = f"x.__class__ is ndarray and x.size >= {REDUCED_ARRAY}"
    text = f"lambda x, {given}: run((x,), {{{named}}}) if {is_large} else impl(x, {given})"
    run: Callable[..., Any] = eval(text, {"run": calls.run, "ndarray": np.ndarray, "impl": impl})
    run.__defaults__ = impl.__defaults__
    return attach(run, impl, calls)


def attach(
    run: Callable[..., Any], impl: Callable[..., Any], calls: LargeCalls | LargeSignatures
) -> Callable[..., Any]:
    """Give a function that runs an implementation what is known of that, and its large calls."""
    update_wrapper(run, impl).__dict__["large_calls"] = calls
    if isinstance(impl, np.ufunc):
        run.__dict__["ufunc"] = impl
    return run


def for_stacks(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of an operation on matrices, with programs for large stacks of them."""
    return by_signature(impl, STACK_ARRAY, STACKED)
