"""Native code in eager operations: large calls of some operations run compiled code where there is a compiler.

    @natively(lambda: _convolution, work=multiplications)
    def _result(x, w, stride, ...): ...

Elementwise operations are specialised at registration (`for_large_arrays`): one comparison of sizes finds the large
calls. NumPy runs these, on all cores, until it has spent as much time on them as a compiler would take, by the number
of elements. From then on a vector kernel runs them, which is compiled, or read from disk. The same program therefore
has the same results each time, and a few calls cost nothing. The functions of a kernel may differ from NumPy's in the
last digit; arithmetic does not.

Reductions, sorting and operations on matrices follow the same rule for each signature (`LargeSignatures`), because
their programs have shapes. Convolutions and pooling are native from the first large call on. `WENGERT_EAGER_KERNELS=0`
leaves everything to NumPy. The compiler is imported when it is first needed; NumPy runs what has no program.
"""

from __future__ import annotations

import math
import os
import sys
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

CHEAP_ARRAY, MODERATE_ARRAY, EXPENSIVE_ARRAY = 1 << 18, 1 << 14, 1 << 13
"""The least number of elements of the result of a large call of an elementwise operation, by what an element costs:
where kernels are faster than NumPy, with all that is around them. Arithmetic, roots and extremes are cheap: NumPy has
vector code for them. Other operations of known cost, such as `where`, are moderate, and functions expensive.
"""
WIDE_ARRAY = 1 << 17
"""The same for kernels of functions that NumPy computes with vectors of 64 bytes: on one core they take 1 to 4 times as
long, and they only gain by the cores that they run on.
"""
WIDE = frozenset(
    (
        *(np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.cbrt, np.power, np.tan),
        *(np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh),
    )
)
"""These functions; sine and cosine of doubles are not among them."""
GROWING, GROWN = 1 << 11, 1 << 20
"""The least number of elements of an operand of arithmetic whose result may be larger than all operands, and the least
of such a result in a large call: its rows are short.
"""
CHEAP, EXPENSIVE, COMPOSED = 1, 8, 16
"""The nanoseconds that NumPy takes for an element, roughly; functions that it does not have take longer."""
PULLED = 6
"""The nanoseconds that NumPy takes for an element in the rules of one operation."""
REDUCED_ARRAY, REDUCED = 1 << 16, 2
"""The same two figures for reductions."""
INNER_LOOP, SHORT = 80, 64
"""NumPy reduces in inner loops along neighbouring axes, each of which takes as long as so many elements; and the length
of those that are short.
"""
SOME_LOOPS = REDUCED_ARRAY // INNER_LOOP
"""Fewer elements are not reduced in so many inner loops as would be a large call."""
STACK_ARRAY, STACKED = 1 << 12, 32
"""The same for operations on stacks of matrices."""
FEWEST_ROWS = 16
"""The fewest rows of one matrix that native code factors, in eager and in compiled code: LAPACK is slower then."""
CALL_OF_LAPACK = 192
"""So many elements take as long as a call of LAPACK in Python."""
SORTED_ARRAY, SORTED = 1 << 12, 64
"""The same for stable sorting."""
PRODUCT_ARRAY, PRODUCTS = 1 << 12, 32
"""The least number of elements of the left factor of a large product, and the multiplications of a nanosecond."""
KEY_ARRAY, AT_KEY = 1 << 12, 16
"""The same for reads and additions at a key with arrays: the least number of elements of its last array."""
ONLY_ARRAYS = {np.ndarray}
"""The classes of operands of large calls."""
MOST_SIGNATURES = 256
"""The number of signatures of one operation whose time is counted."""
PAYS = 1 << 26
"""The nanoseconds that NumPy spends on large calls before a kernel is compiled: about as long as that takes."""

OPERATIONS_OF_KERNEL = 32
"""So many operations take as long to compile as all that is around them."""

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
            is_large = operands[0].size * operands[-1].size >= LARGE and operands[0].__class__ is np.ndarray
            if is_large and work(*operands, **params) >= LARGE:
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


@cache
def has_wide_functions() -> bool:
    """Whether NumPy has functions for vectors of 64 bytes, and the processor has them: those of Intel, on Linux."""
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]  # private
    return sys.platform == "linux" and bool(features.get("AVX512_SKX"))


def compile_time(operations: int) -> int:
    """The nanoseconds that NumPy spends on so many operations before they are compiled as one program."""
    return PAYS * (1 + operations // OPERATIONS_OF_KERNEL)


class LargeCalls:
    """The large calls of an elementwise operation.

    `impl` is NumPy's, `nanoseconds` what it takes for an element, and `least` the number of elements of a large call,
    or `grown` where the result has more elements than each operand. `spent` is the time so far for each combination of
    dtypes, which has a kernel of its own.
    """

    __slots__ = ("grown", "impl", "least", "nanoseconds", "primitive", "spent")

    def __init__(self, impl: Callable[..., Any], nanoseconds: int, least: int):
        self.impl, self.nanoseconds, self.least = impl, nanoseconds, least
        self.grown = GROWN if least == CHEAP_ARRAY else least
        self.primitive: Primitive | None = None  # registered after its implementation is made
        self.spent: dict[tuple[Any, ...], int] = {}

    def run(self, *operands: Any, **params: Any) -> Any:
        """The result: of a kernel if that pays, otherwise of NumPy, on all cores if it is a ufunc."""
        global met_large
        size = broadcast_size(operands)
        if size < self.least or (size < self.grown and not any(np.size(x) == size for x in operands)):
            return self.impl(*operands, **params)
        met_large = True
        is_left = self.impl in WIDE and size < WIDE_ARRAY and has_wide_functions()
        if IS_ON and self.primitive is not None and not is_left:
            key = *[x.dtype.char if x.__class__ is np.ndarray else x.__class__ for x in operands], *params.values()
            spent = self.spent.get(key, 0)
            if spent != PAYS:
                spent = self.spent[key] = min(spent + size * self.nanoseconds, PAYS)
            if spent == PAYS:
                found = run_natively(self.primitive, operands, params)
                if found is not None:
                    return found
        if size >= parallel.EXPENSIVE and isinstance(self.impl, np.ufunc):
            return parallel.run_shared(self.impl, *operands)
        return self.impl(*operands, **params)


def broadcast_size(operands: Sequence[Any]) -> int:
    """The number of elements of arrays and numbers, broadcast; 0 where they do not broadcast, which NumPy reports."""
    shapes = {x.shape for x in operands if x.__class__ is np.ndarray}
    if len(shapes) == 1:
        return math.prod(shapes.pop())
    ndim = max(map(len, shapes))
    extents = list(zip(*[(1,) * (ndim - len(shape)) + shape for shape in shapes], strict=True))
    return math.prod([max(n) for n in extents]) if all({*n} <= {1, max(n)} for n in extents) else 0


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


class LargeSignatures:
    """The large calls of an operation whose programs have shapes; `spent` is NumPy's time for each signature."""

    __slots__ = ("impl", "nanoseconds", "primitive", "spent")

    def __init__(self, impl: Callable[..., Any], nanoseconds: int):
        self.impl, self.nanoseconds = impl, nanoseconds
        self.primitive: Primitive | None = None
        self.spent: dict[tuple[Any, ...], int] = {}

    def run(self, operands: tuple[Any, ...], params: dict[str, Any], size: Callable[[], int] | None = None) -> Any:
        """The result: of a program if that pays, otherwise of NumPy.

        `size` gives the number of elements that it takes time for: those of the first operand, if it is not given.
        """
        global met_large
        met_large = True
        if not IS_ON or self.primitive is None or set(map(type, operands)) != ONLY_ARRAYS:
            return self.impl(*operands, **params)
        key = tuple([(x.shape, x.dtype.char) for x in operands]), tuple(params.items())
        try:
            spent = self.spent.get(key, 0)
        except TypeError:  # a parameter has no hash
            return self.impl(*operands, **params)
        if spent != PAYS:
            if len(self.spent) >= MOST_SIGNATURES:
                self.spent.clear()
            elements = operands[0].size if size is None else size()
            spent = self.spent[key] = min(spent + elements * self.nanoseconds, PAYS)
        found = run_natively(self.primitive, operands, params) if spent == PAYS else None
        return self.impl(*operands, **params) if found is None else found


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

    NumPy's are as fast alone, but its threads and those of other native code wait for each other.
    """
    calls = LargeSignatures(impl, 1)
    ndarray = np.ndarray

    def run(x: Any, y: Any) -> Any:
        if x.__class__ is ndarray and x.size >= PRODUCT_ARRAY and y.__class__ is ndarray and x.ndim >= y.ndim == 2:
            work = x.size * y.shape[1]
            if work >= LARGE:
                return calls.run((x, y), {}, lambda: work // PRODUCTS)
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
