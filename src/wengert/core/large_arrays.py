"""Implementations of operations that ask for large arrays: one comparison of sizes, and small ones go on to NumPy.

Large calls of exact operations are counted, and run natively when that pays; those of others are native from the first
call on, or never (`native.py`). There is a function for each kind of operation, which is called when an operation is
registered. It keeps the sizes of the machine record in variables of its own, which the record's changes reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from wengert.core import machine, native
from wengert.core.facts import NO_FACTS, Facts
from wengert.core.native import LargeCalls, LargeSignatures, MatrixCalls, StackCalls


def for_large_arrays(impl: Callable[..., Any], arity: int, facts: Facts) -> Callable[..., Any]:
    """The implementation of an elementwise operation, with native code for large arrays.

    The first operand that is an array decides: it is large, or, where elements cost more than the question, the result
    may be, which then is asked. Python's numbers are no arrays.
    """
    calls = LargeCalls(impl, facts)
    ndarray = np.ndarray
    least = some = 0

    @machine.on_change
    def read_record() -> None:
        nonlocal least, some
        least = calls.least
        some = machine.current.min_elements_of_growing_operand if calls.is_cheap else math.isqrt(least)

    read_record()

    def unary(x: Any) -> Any:
        if x.__class__ is ndarray and x.size >= least:
            return calls.run(x)
        return impl(x)

    def binary(x: Any, y: Any) -> Any:
        first = x if x.__class__ is ndarray else y
        if (
            first.__class__ is ndarray
            and first.size >= some
            and (
                first.size >= least
                or first is x
                and y.__class__ is ndarray
                and x.size * y.size >= calls.grown
                and y.shape != x.shape
            )
        ):
            return calls.run(x, y)
        return impl(x, y)

    def ternary(x: Any, y: Any, z: Any) -> Any:
        if x.__class__ is ndarray and x.size >= some:
            return calls.run(x, y, z)
        return impl(x, y, z)

    run: Callable[..., Any] = (unary, binary, ternary)[arity - 1]
    return attach(run, impl, calls)


def for_casts(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of a cast, with kernels for large arrays."""
    calls = LargeCalls(impl, Facts(moves=True, cost=1, exact=True))
    ndarray = np.ndarray
    least = 0

    @machine.on_change
    def read_record() -> None:
        nonlocal least
        least = calls.least

    read_record()

    def run(x: Any, dtype: np.dtype) -> Any:
        if x.__class__ is ndarray and x.size >= least and x.dtype != dtype:
            return calls.run(x, dtype=dtype)
        return impl(x, dtype)

    return attach(run, impl, calls)


def for_reductions(impl: Callable[..., Any], facts: Facts = NO_FACTS, size: str = "") -> Callable[..., Any]:
    """The implementation of a reduction of one array, with programs for large ones.

    `size` is the field of the record that says from how many elements an array is large: that of extremes or of sums,
    if it is not given. Small arrays are frequent here, so the function is written with the parameters of `impl`, as in
    `primitive.py`.
    """
    calls = LargeSignatures(impl, facts.exact)
    name = size or ("min_elements_of_native_extreme" if facts.exact else "min_elements_of_native_sum")
    code = impl.__code__
    _, *names = code.co_varnames[: code.co_argcount]
    given, named = ", ".join(names), ", ".join([f"{name!r}: {name}" for name in names])
    is_long = "x.size >= some and x.shape[-1] < short and reduced_size(x, axis) >= least"
    is_large = f"x.__class__ is ndarray and (x.size >= least or {is_long})"
    time = "lambda: reduced_time(x, axis)"
    text = f"lambda x, {given}: run((x,), {{{named}}}, {time}) if {is_large} else impl(x, {given})"
    known: dict[str, Any] = {"run": calls.run, "ndarray": np.ndarray, "impl": impl}
    known |= {"reduced_size": reduced_size, "reduced_time": reduced_time}

    @machine.on_change
    def read_record() -> None:
        now = machine.current
        least = known["least"] = getattr(now, name)
        known["some"] = max(least // now.elements_of_inner_loop, 2)  # one element may have no axis
        known["short"] = now.max_elements_of_short_inner_loop

    read_record()
    run: Callable[..., Any] = eval(text, known)
    run.__defaults__ = impl.__defaults__
    return attach(run, impl, calls)


def reduced_size(x: np.ndarray, axis: tuple[int, ...]) -> int:
    """The number of elements whose reduction in one loop takes NumPy as long as that of x along its axes.

    >>> reduced_size(np.ones((100, 50)), (0, 1)), reduced_size(np.ones((100, 50)), (1,))
    (5080, 13000)
    """
    last, length = x.ndim - 1 in axis, 1
    for k in range(x.ndim - 1, -1, -1):
        if (k in axis) != last:
            break
        length *= x.shape[k]
    return x.size + machine.current.elements_of_inner_loop * (x.size // max(length, 1))


def reduced_time(x: np.ndarray, axis: tuple[int, ...]) -> int:
    """The nanoseconds that NumPy takes for a reduction, roughly."""
    return machine.current.nanoseconds_of_reduced_element * reduced_size(x, axis)


def for_rows(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of an operation that computes functions of the elements along axes, as a softmax does."""
    return for_reductions(impl, size="min_elements_of_native_rows")


def for_products(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of products of matrices.

    BLAS runs them, and the next backward pass knows of large ones; stacks of small ones are native.
    """
    calls = StackCalls(impl, "min_matrices_of_native_product")
    ndarray = np.ndarray
    least = 0

    @machine.on_change
    def read_record() -> None:
        nonlocal least
        least = machine.current.min_elements_of_native_function

    read_record()

    def run(x: Any, y: Any) -> Any:
        if x.__class__ is ndarray:
            if x.ndim > 2 and calls.is_small(x.shape):
                return calls.run((x, y), {}, lambda: 0)
            if x.size >= least:
                native.met_large = True
        return impl(x, y)

    return attach(run, impl, calls)


def for_sorting(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of an operation that sorts, with programs for large arrays whose equal elements stay in order.

    Other kinds of sorting are NumPy's, whose order of equal elements native code does not have.
    """
    calls = LargeSignatures(impl, is_exact=True)
    ndarray = np.ndarray
    least = 0

    @machine.on_change
    def read_record() -> None:
        nonlocal least
        least = machine.current.min_elements_of_native_sort

    read_record()

    def run(x: Any, axis: int, kind: str | None) -> Any:
        if x.__class__ is ndarray and x.size >= least and kind == "stable":
            time = lambda: x.size * machine.current.nanoseconds_of_sorted_element
            return calls.run((x,), {"axis": axis, "kind": kind}, time)
        return impl(x, axis=axis, kind=kind)

    return attach(run, impl, calls)


def for_keys(
    impl: Callable[..., Any],
    size: Callable[..., int],
    facts: Facts = NO_FACTS,
    targets: Callable[..., int] | None = None,
) -> Callable[..., Any]:
    """The implementation of an operation at a key, with programs for large arrays in keys, the last operands.

    `size` gives the number of elements that are read or written. Reads are exact. So are additions to many elements, of
    which `targets` gives the number: native code makes them in the order of NumPy.
    """
    calls = LargeSignatures(impl, facts.exact)
    least = exact = ordered = 0

    @machine.on_change
    def read_record() -> None:
        nonlocal least, exact, ordered
        now = machine.current
        exact, ordered = now.min_elements_of_native_key, now.min_indices_of_native_addition
        least = min(exact, ordered)

    read_record()

    def run(*operands: Any, **params: Any) -> Any:
        if len(operands) > 1 and operands[-1].size >= least:
            terms = size(*operands, **params)
            is_exact = facts.exact or (targets is not None and not has_many_terms(terms, targets(**params)))
            if operands[-1].size >= (exact if is_exact else ordered):
                time = lambda: terms * machine.current.nanoseconds_of_element_at_key
                return calls.run(operands, params, time, is_exact)
        return impl(*operands, **params)

    return attach(run, impl, calls)


def has_many_terms(terms: int, targets: int) -> bool:
    """Whether a loop of so many additions to so few elements may be cut into pieces, each with a sum of its own."""
    now = machine.current
    return now.scatter_terms_per_target * now.sum_pieces * targets <= terms


def for_stacks(impl: Callable[..., Any], calls_for_each: int = 0, alone: bool = False) -> Callable[..., Any]:
    """The implementation of an operation on matrices, with programs for stacks, and for large matrices.

    `MatrixCalls` says what the others are.
    """
    calls = MatrixCalls(impl, calls_for_each, alone)
    ndarray = np.ndarray
    some = noted = 0

    @machine.on_change
    def read_record() -> None:
        nonlocal some, noted
        some, noted = calls.some, machine.current.min_elements_of_native_function

    read_record()

    def run(x: Any, *others: Any, **params: Any) -> Any:
        has_some = x.__class__ is ndarray and (x.size >= some or others and others[0].size >= some)
        if has_some and (calls.is_small(x.shape) or calls.is_large(x, others)):
            return calls.run((x, *others), params, lambda: 0)
        if x.size >= noted:
            native.met_large = True
        return impl(x, *others, **params)

    return attach(run, impl, calls)


def attach(
    run: Callable[..., Any], impl: Callable[..., Any], calls: LargeCalls | LargeSignatures
) -> Callable[..., Any]:
    """Give a function that runs an implementation what is known of that, and its large calls."""
    update_wrapper(run, impl).__dict__["large_calls"] = calls
    if isinstance(impl, np.ufunc):
        run.__dict__["ufunc"] = impl
    return run
