"""Native code in eager operations: large calls of some operations run compiled code where there is a compiler.

    @natively(lambda: _convolution, work=multiplications)
    def _result(x, w, stride, ...): ...

The implementations of other operations ask for large arrays, too (`large_arrays.py`). How often a program has run never
changes a bit of its results, so there are two rules:

- An *exact* operation (`Facts.exact`: arithmetic, comparisons, choices, moves) has the same bits in NumPy and in native
  code. NumPy runs its large calls until it has spent as much time on them as a compiler would take, by the number of
  elements. From then on a vector kernel runs them, or, where programs have shapes (`LargeSignatures`), a program.
- Any other operation is native from the first call on, or never: that follows from the operation, the dtypes, the
  layout and the size alone. These sizes are fields of the order of additions (`machine/order.py`).

`WENGERT_EAGER_KERNELS=0` leaves everything to NumPy. The compiler is imported when it is first needed; NumPy runs what
has no program.
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

from wengert.core import machine, parallel
from wengert.core.aspects import Aspect
from wengert.core.facts import Facts
from wengert.core.primitive import Primitive

IS_ON = os.environ.get("WENGERT_EAGER_KERNELS") != "0"
"""Whether eager operations run native code."""

WIDE = frozenset(
    (
        *(np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.cbrt, np.power, np.tan),
        *(np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh),
    )
)
"""Functions that NumPy computes with vectors of 64 bytes; sine and cosine of doubles are not among them."""
ONLY_ARRAYS = {np.ndarray}
"""The classes of operands of large calls."""

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
            least = machine.current.min_operations_of_native_call
            is_large = operands[0].size * operands[-1].size >= least and operands[0].__class__ is np.ndarray
            if is_large and work(*operands, **params) >= least:
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
    now = machine.current
    return now.nanoseconds_before_kernel * (1 + operations // now.operations_of_kernel)


class LargeCalls:
    """The large calls of an elementwise operation.

    `impl` is NumPy's, and `is_exact` says that a kernel has the same bits: then `nanoseconds` are what NumPy takes for
    an element, and `spent` is the time so far for each combination of dtypes, which has a kernel of its own. A large
    call has at least `least` elements, or `grown` where the result has more elements than each operand.
    """

    __slots__ = ("grown", "impl", "is_cheap", "is_exact", "least", "nanoseconds", "primitive", "spent")

    def __init__(self, impl: Callable[..., Any], facts: Facts):
        is_ufunc = isinstance(impl, np.ufunc)
        self.impl, self.is_exact = impl, facts.exact
        self.is_cheap = facts.exact and facts.cost is not None and (is_ufunc or (facts.cost < 4 and not facts.selects))
        self.primitive: Primitive | None = None  # registered after its implementation is made
        self.spent: dict[tuple[Any, ...], int] = {}
        machine.on_change(self.read_record)
        self.read_record()

    def read_record(self) -> None:
        """Read the sizes of the machine record, and forget what was counted for another one."""
        now = machine.current
        if self.is_cheap:
            self.least, self.nanoseconds = now.min_elements_of_native_arithmetic, now.nanoseconds_of_cheap_element
        elif self.is_exact:
            self.least, self.nanoseconds = now.min_elements_of_native_choice, now.nanoseconds_of_choice_element
        else:
            self.least, self.nanoseconds = now.min_elements_of_native_function, 0
        self.grown = now.min_elements_of_native_growth if self.is_cheap else self.least
        self.spent.clear()

    def run(self, *operands: Any, **params: Any) -> Any:
        """The result: of a kernel if that pays, otherwise of NumPy, on all cores if it is a ufunc."""
        global met_large
        size = broadcast_size(operands)
        if size < self.least or (size < self.grown and not any(np.size(x) == size for x in operands)):
            return self.impl(*operands, **params)
        met_large = True
        if (
            IS_ON
            and self.primitive is not None
            and (self.pays(size, operands, params) if self.is_exact else self.is_native(size))
        ):
            found = run_natively(self.primitive, operands, params)
            if found is not None:
                return found
        if size >= machine.current.min_expensive_elements_shared and isinstance(self.impl, np.ufunc):
            return parallel.run_shared(self.impl, *operands)
        return self.impl(*operands, **params)

    def is_native(self, size: int) -> bool:
        """Whether native code runs calls of this size from the first one on, if they have a kernel."""
        is_left = self.impl in WIDE and has_wide_functions()
        return size >= (machine.current.min_elements_of_native_wide_function if is_left else self.least)

    def pays(self, size: int, operands: Sequence[Any], params: dict[str, Any]) -> bool:
        """Whether NumPy has spent so much time on such calls that a kernel pays, which has the same bits."""
        key = *[x.dtype.char if x.__class__ is np.ndarray else x.__class__ for x in operands], *params.values()
        most = machine.current.nanoseconds_before_kernel
        spent = self.spent.get(key, 0)
        if spent < most:
            spent = self.spent[key] = min(spent + size * self.nanoseconds, most)
        return spent >= most


def broadcast_size(operands: Sequence[Any]) -> int:
    """The number of elements of arrays and numbers, broadcast; 0 where they do not broadcast, which NumPy reports."""
    shapes = {x.shape for x in operands if x.__class__ is np.ndarray}
    if len(shapes) == 1:
        return math.prod(shapes.pop())
    ndim = max(map(len, shapes))
    extents = list(zip(*[(1,) * (ndim - len(shape)) + shape for shape in shapes], strict=True))
    return math.prod([max(n) for n in extents]) if all({*n} <= {1, max(n)} for n in extents) else 0


class LargeSignatures:
    """The large calls of an operation whose programs have shapes.

    `is_exact` says that programs have the bits of NumPy, in all calls or in some: then `spent` is NumPy's time for each
    signature, and programs run from the time on when that pays. Otherwise they run from the first call on.
    """

    __slots__ = ("impl", "is_exact", "primitive", "spent")

    def __init__(self, impl: Callable[..., Any], is_exact: bool):
        self.impl, self.is_exact = impl, is_exact
        self.primitive: Primitive | None = None
        self.spent: dict[tuple[Any, ...], int] = {}
        machine.on_change(self.spent.clear)

    def run(
        self,
        operands: tuple[Any, ...],
        params: dict[str, Any],
        nanoseconds: Callable[[], int],
        is_exact: bool | None = None,
    ) -> Any:
        """The result: of a program if that pays, otherwise of NumPy, which takes so many nanoseconds for it."""
        global met_large
        met_large = True
        if not IS_ON or self.primitive is None or set(map(type, operands)) != ONLY_ARRAYS:
            return self.impl(*operands, **params)
        try:
            pays = not (self.is_exact if is_exact is None else is_exact) or self.pays(operands, params, nanoseconds)
            found = run_natively(self.primitive, operands, params) if pays else None
        except TypeError:  # a parameter has no hash
            return self.impl(*operands, **params)
        return self.impl(*operands, **params) if found is None else found

    def pays(self, operands: tuple[Any, ...], params: dict[str, Any], nanoseconds: Callable[[], int]) -> bool:
        """Whether NumPy has spent so much time on calls of this signature that a program pays."""
        key = tuple([(x.shape, x.dtype.char) for x in operands]), tuple(params.items())
        now = machine.current
        spent = self.spent.get(key, 0)
        if spent < now.nanoseconds_before_kernel:
            if len(self.spent) >= now.max_signatures_counted:
                self.spent.clear()
            spent = self.spent[key] = min(spent + nanoseconds(), now.nanoseconds_before_kernel)
        return spent >= now.nanoseconds_before_kernel


class StackCalls(LargeSignatures):
    """The calls of an operation on matrices, which are native from the first one on, or never.

    Stacks of small matrices have one program for all lengths, if they are long enough: `fewest` is the field of the
    record that says from how many matrices on.
    """

    __slots__ = ("count", "fewest", "rows")

    def __init__(self, impl: Callable[..., Any], fewest: str):
        super().__init__(impl, is_exact=False)
        self.fewest = fewest
        machine.on_change(self.read_record)
        self.read_record()

    def read_record(self) -> None:
        """Read the sizes of the machine record."""
        self.count, self.rows = getattr(machine.current, self.fewest), machine.current.max_order_of_small_matrix

    def is_small(self, shape: tuple[int, ...]) -> bool:
        """Whether an operand is a stack of small matrices that is long enough."""
        return len(shape) > 2 and max(shape[-2:]) <= self.rows and math.prod(shape[:-2]) >= self.count

    def is_large(self, x: Any, others: Sequence[Any]) -> bool:  # noqa: ARG002  # as below
        """Whether a program for the shapes of these operands, arrays or nodes of a graph, pays."""
        return False


class MatrixCalls(StackCalls):
    """The same for an operation that also has programs for shapes: for large stacks, and for many right-hand sides.

    The larger one of the first two operands decides: a small matrix may have many right-hand sides. If the
    implementation runs one matrix after the other, `calls_for_each` is the number of calls in Python that each takes.
    With `alone`, one large matrix has a program, too. Calls with fewer elements than `some` have none.
    """

    __slots__ = ("alone", "calls_for_each", "each", "factored", "least", "most", "some")

    def __init__(self, impl: Callable[..., Any], calls_for_each: int, alone: bool):
        self.calls_for_each, self.alone = calls_for_each, alone
        super().__init__(impl, "min_matrices_of_native_stack")

    def read_record(self) -> None:
        super().read_record()
        now = machine.current
        self.least, self.most = now.min_elements_of_native_stack, now.max_rows_of_native_stack
        self.factored = now.min_elements_of_native_factors
        self.each = self.calls_for_each * now.elements_of_lapack_call
        self.some = min(self.count, self.least // (1 + self.each), self.factored)

    def is_large(self, x: Any, others: Sequence[Any]) -> bool:
        if self.alone and x.ndim == 2 and x.size >= self.factored:
            return True
        if x.shape[-1] > self.most:
            return False
        largest = others[0] if others and others[0].size > x.size else x
        size: int = largest.size
        if self.each and size and largest.ndim > 2:
            size += self.each * (size // (largest.shape[-2] * largest.shape[-1]))
        return size >= self.least
