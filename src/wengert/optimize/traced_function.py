"""A function of one vector, traced once: values and derivatives come from that trace, as native code if possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error, user_line
from wengert.core.tree import LEAF, flatten
from wengert.ops.shape.reshaping import reshape
from wengert.optimize.variables import Variables, plain_array, refuse_tracked
from wengert.structure.flat_tree import FlatTree
from wengert.transforms.boundary import flatten_arrays
from wengert.transforms.tracing import Traced

AUTO = "auto"


class TracedFunction:
    """`f(tree, *args)` as a function of a vector.

    `first` is its value at the start, `is_native` whether it was traced, `why` why not. The user's function runs once
    on numbers, to see what it returns, and once on symbols. If that fails, or if the trace gives other numbers (a
    function that draws random numbers has frozen them), Python runs the function each time. `is_scalar` asks for one
    number; otherwise the value is a vector, whose tree is `out`.
    """

    def __init__(self, what: str, f: Callable, args: tuple, variables: Variables, compile: bool | str, is_scalar: bool):
        if not callable(f):
            raise user_error(TypeError, f"{what} is a function, and not a {type(f).__name__}")
        if compile not in (True, False, AUTO):
            raise user_error(ValueError, f"compile={compile!r}", "It is True, False or 'auto'.")
        self.what, self.f, self.args, self.variables, self.is_scalar = what, f, args, variables, is_scalar
        self.run: Callable = self.eager
        with np.errstate(all="ignore"):  # numbers that are not finite raise an error below
            value = f(variables.tree(variables.start.copy()), *args)
        refuse_tracked(value, f"What {what[0].lower()}{what[1:]} gives")
        self.out = None if is_scalar else FlatTree(value, f"the value of {what}")
        self.first = plain_array(self._as_result(value))
        self.is_native, self.why = False, "compile=False"
        self.must = compile is True
        if compile:
            self.trace()

    def eager(self, v: Any) -> Any:
        """The function, run by Python."""
        return self._as_result(self.f(self.variables.tree(v), *self.args))

    def _as_result(self, value: Any) -> Any:
        """One number, or a vector of as many as at the start."""
        if self.out is not None:
            return self.out.vector(value)
        leaves, structure = flatten_arrays(value)
        if structure is not LEAF or leaves[0].size != 1:
            found = f"an array of shape {leaves[0].shape}" if structure is LEAF else f"a {type(value).__name__}"
            raise user_error(
                ValueError,
                f"{self.what} must be one number, and is {found}",
                "Sum it, or minimise its squares with least_squares.",
            )
        if leaves[0].dtype.kind == "c":
            raise user_error(
                TypeError, f"{self.what} is complex", because="complex numbers have no order. Return a real number."
            )
        if leaves[0].dtype.kind not in "biuf":
            raise user_error(TypeError, f"{self.what} is a {type(value).__name__}", "Return a real number.")
        return reshape(value, ()) if leaves[0].ndim else value

    def trace(self) -> None:
        """Trace the function, or keep it as it is and say why."""
        start = self.variables.start
        try:
            found = Traced(self.eager, [start], flatten(((start,), {}))[1])
            # the graph lacks custom derivatives
            run = self.eager if found.has_rules else found.graph.evaluate
            with np.errstate(all="ignore"):
                again = plain_array(run(start.copy()))
        except Exception as error:  # whatever the reason, Python may run the function, or raise the same error again
            if self.must:
                raise
            self.why = error_summary(error)
            return
        if found.assignments or not is_close(again, self.first, self.first):
            if found.assignments:
                self.why = "it assigns to a tensor that it captures"
            else:
                self.why = "it gives other numbers when it runs again"
            if self.must:
                raise user_error(ValueError, f"{self.what} cannot be compiled: {self.why}", "Pass compile=False.")
            return
        self.run, self.is_native, self.why = run, True, ""

    def derive(self, derive: Callable[[Callable], Callable], *example: Any) -> Callable:
        """The result of `derive` on the function, as native code if it was traced.

        The native code is tried on `example`; if that fails, Python runs it.
        """
        if self.is_native:
            try:
                from wengert.compiler.call.compiled import (
                    compile as compiled,  # LLVM is loaded when something is compiled
                )

                native = compiled(derive(self.run))
                native(*example)
            except Exception as error:  # as for the trace
                if self.must:
                    raise
                self.why, self.is_native, self.run = error_summary(error), False, self.eager
            else:
                return native
        return derive(self.run)

    def warn_if_stale(self, x: np.ndarray, native: Callable) -> None:
        """Warn if captured arrays have changed since the trace, so that `native`, the compiled code, is out of date."""
        if self.is_native and not is_close(plain_array(self.eager(x.copy())), native(x), self.first):
            warnings.warn(
                f"{self.what} has changed while it was used, at {user_line()}: run by Python, it gives another value "
                f"at the solution than "
                f"the trace does. Something that it captures, or args, was changed in place. Pass compile=False to "
                f"have changes seen.",
                RuntimeWarning,
                stacklevel=2,
            )

    @property
    def code(self) -> str:
        """How the function runs."""
        return "native code" if self.is_native else "by Python"

    @property
    def notes(self) -> list[str]:
        """Why the function was not compiled."""
        return [f"{self.what[0].lower()}{self.what[1:]} was not compiled: {self.why}"] if self.why else []


def error_summary(error: Exception) -> str:
    """An error in one line."""
    return (
        f"{type(error).__name__}: {str(error).split('. ')[0].splitlines()[0]}" if str(error) else type(error).__name__
    )


def is_close(y: Any, z: Any, scale: Any) -> bool:
    """Whether two evaluations differ by rounding alone. Sums near zero are compared to `scale`."""
    size = np.max(np.abs([np.max(np.abs(a), initial=0.0) for a in (y, z, scale)]), initial=0.0)
    return bool(np.allclose(y, z, rtol=1e-6, atol=1e-6 * size + 1e-12, equal_nan=True)) if np.isfinite(size) else True
