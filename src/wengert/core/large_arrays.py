"""Implementations of operations that ask for large arrays: one comparison of sizes, and small ones go on to NumPy.

Large calls are counted, and run natively if that pays (`native.py`). There is a function for each kind of operation,
which is called when an operation is registered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from wengert.core import native
from wengert.core.facts import Facts
from wengert.core.native import (
    AT_KEY,
    CHEAP,
    CHEAP_ARRAY,
    COMPOSED,
    EXPENSIVE,
    EXPENSIVE_ARRAY,
    GROWING,
    KEY_ARRAY,
    MODERATE_ARRAY,
    PRODUCT_ARRAY,
    PRODUCTS,
    REDUCED,
    REDUCED_ARRAY,
    SORTED,
    SORTED_ARRAY,
    SPINNING,
    STACK_ARRAY,
    STACKED,
    THREADED,
    LargeCalls,
    LargeSignatures,
)

INNER_LOOP, SHORT = 80, 64
"""NumPy reduces in inner loops along neighbouring axes, each of which takes as long as so many elements; and the length
of those that are short.
"""
SOME_LOOPS = REDUCED_ARRAY // INNER_LOOP
"""Fewer elements are not reduced in so many inner loops as would be a large call."""
CALL_OF_LAPACK = 192
"""So many elements take as long as a call of LAPACK in Python."""


def for_large_arrays(impl: Callable[..., Any], arity: int, facts: Facts) -> Callable[..., Any]:
    """The implementation of an elementwise operation, with native code for large arrays.

    The first operand that is an array decides: it is large, or, where elements cost more than the question, the result
    may be, which then is asked. Python's numbers are no arrays.
    """
    is_known = facts.cost is not None
    is_cheap = facts.cost is not None and (isinstance(impl, np.ufunc) or (facts.cost < 4 and not facts.selects))
    least = CHEAP_ARRAY if is_cheap else MODERATE_ARRAY if is_known else EXPENSIVE_ARRAY
    is_numpy = is_known or isinstance(impl, np.ufunc)
    calls = LargeCalls(impl, CHEAP if is_cheap else EXPENSIVE if is_numpy else COMPOSED, least)
    ndarray, some = np.ndarray, GROWING if is_cheap else math.isqrt(least)

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
    calls = LargeCalls(impl, CHEAP, CHEAP_ARRAY)
    ndarray = np.ndarray

    def run(x: Any, dtype: np.dtype) -> Any:
        if x.__class__ is ndarray and x.size >= CHEAP_ARRAY and x.dtype != dtype:
            return calls.run(x, dtype=dtype)
        return impl(x, dtype)

    return attach(run, impl, calls)


def for_reductions(
    impl: Callable[..., Any], least: int = REDUCED_ARRAY, nanoseconds: int = REDUCED
) -> Callable[..., Any]:
    """The implementation of a reduction of one array, with programs for large ones.

    Small arrays are frequent here, so the function is written with the parameters of `impl`, as in `primitive.py`.
    """
    calls = LargeSignatures(impl, nanoseconds)
    code = impl.__code__
    _, *names = code.co_varnames[: code.co_argcount]
    given, named = ", ".join(names), ", ".join([f"{name!r}: {name}" for name in names])
    is_long = f"x.size >= {SOME_LOOPS} and x.shape[-1] < {SHORT} and reduced_size(x, axis) >= {least}"
    is_large = f"x.__class__ is ndarray and (x.size >= {least} or {is_long})"
    size = "lambda: reduced_size(x, axis)"
    text = f"lambda x, {given}: run((x,), {{{named}}}, {size}) if {is_large} else impl(x, {given})"
    known = {"run": calls.run, "ndarray": np.ndarray, "impl": impl, "reduced_size": reduced_size}
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
    return x.size + INNER_LOOP * (x.size // max(length, 1))


def for_rows(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of an operation that computes functions of the elements along axes, as a softmax does."""
    return for_reductions(impl, EXPENSIVE_ARRAY, EXPENSIVE)


def for_products(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of products of matrices, with programs for large ones.

    NumPy's are as fast alone, but its threads and those of other native code wait for each other. So a product counts
    for more if there was other native code since the last one.
    """
    calls = LargeSignatures(impl, 1)
    ndarray = np.ndarray
    last = 0

    def run(x: Any, y: Any) -> Any:
        nonlocal last
        if x.__class__ is ndarray and x.size >= PRODUCT_ARRAY and y.__class__ is ndarray and x.ndim >= y.ndim == 2:
            work = x.size * y.shape[1]
            if work >= THREADED:
                nanoseconds = work // PRODUCTS if native.runs == last else max(work // PRODUCTS, SPINNING)
                out = calls.run((x, y), {}, lambda: nanoseconds)
                last = native.runs
                return out
        return impl(x, y)

    return attach(run, impl, calls)


def for_sorting(impl: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of an operation that sorts, with programs for large arrays whose equal elements stay in order.

    Other kinds of sorting are NumPy's, whose order of equal elements native code does not have.
    """
    calls = LargeSignatures(impl, SORTED)
    ndarray = np.ndarray

    def run(x: Any, axis: int, kind: str | None) -> Any:
        if x.__class__ is ndarray and x.size >= SORTED_ARRAY and kind == "stable":
            return calls.run((x,), {"axis": axis, "kind": kind})
        return impl(x, axis=axis, kind=kind)

    return attach(run, impl, calls)


def for_keys(impl: Callable[..., Any], size: Callable[..., int]) -> Callable[..., Any]:
    """The implementation of a read or an addition at a key, with programs for large arrays in keys, the last operands.

    `size` gives the number of elements that are read or added.
    """
    calls = LargeSignatures(impl, AT_KEY)

    def run(*operands: Any, **params: Any) -> Any:
        if operands[-1].size >= KEY_ARRAY:
            return calls.run(operands, params, lambda: size(*operands, **params))
        return impl(*operands, **params)

    return attach(run, impl, calls)


def attach(
    run: Callable[..., Any], impl: Callable[..., Any], calls: LargeCalls | LargeSignatures
) -> Callable[..., Any]:
    """Give a function that runs an implementation what is known of that, and its large calls."""
    update_wrapper(run, impl).__dict__["large_calls"] = calls
    if isinstance(impl, np.ufunc):
        run.__dict__["ufunc"] = impl
    return run


def for_stacks(impl: Callable[..., Any], calls_for_each: int = 0, alone: int = STACK_ARRAY) -> Callable[..., Any]:
    """The implementation of an operation on matrices, with programs for large ones, and for stacks of them.

    The larger one of the first two operands decides: a small matrix may have many right-hand sides. If the
    implementation runs one matrix after the other, `calls_for_each` is the number of calls in Python that each takes.
    One matrix is large if it has as many elements as `alone`.
    """
    calls = LargeSignatures(impl, STACKED)
    ndarray, each = np.ndarray, calls_for_each * CALL_OF_LAPACK
    some = min(STACK_ARRAY // (1 + each), alone)

    def run(x: Any, *others: Any, **params: Any) -> Any:
        if x.__class__ is ndarray and (x.size >= some or others and others[0].size >= some):
            largest = others[0] if others and others[0].size > x.size else x
            size = largest.size
            if each and size and largest.ndim > 2:
                size += each * (size // (largest.shape[-2] * largest.shape[-1]))
            if size >= STACK_ARRAY or (size >= alone and largest.ndim == 2):
                return calls.run((x, *others), params, lambda: size)
        return impl(x, *others, **params)

    return attach(run, impl, calls)
