"""Native code in eager operations: large calls of some operations run compiled code where there is a compiler.

    @natively(lambda: _convolution, work=multiplications)
    def _result(x, w, stride, ...): ...

The implementations of other operations ask for large arrays, too (`large_arrays.py`). NumPy runs large calls of
elementwise operations, on all cores, until it has spent as much time on them as a compiler would take, by the number
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
from functools import cache, wraps
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core import parallel
from wengert.core.aspects import Aspect
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
STACK_ARRAY, STACKED = 1 << 12, 32
"""The same for operations on stacks of matrices."""
SORTED_ARRAY, SORTED = 1 << 12, 64
"""The same for stable sorting."""
PRODUCT_ARRAY, PRODUCTS = 1 << 12, 32
"""The least number of elements of the left factor of a large product, and the multiplications of a nanosecond."""
THREADED, SPINNING = 10**6, 1 << 20
"""The multiplications of a product from which on BLAS uses threads, and the nanoseconds that they may take from other
native code afterwards: they wait for the next product on their cores.
"""
KEY_ARRAY, AT_KEY = 1 << 12, 16
"""The same for reads and additions at a key with arrays: the least number of elements of its last array."""
FEWEST_ROWS = 16
"""The fewest rows of one matrix that native code factors, in eager and in compiled code: LAPACK is slower then."""
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
runs = 0
"""How often operations and backward passes have run native code."""


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
    global met_large, runs
    met_large = True
    runs += 1
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
