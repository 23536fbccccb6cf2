"""Definite integrals by SciPy, differentiable with respect to parameters and limits.

The derivative of an integral is the integral of the derivative, and at its limits the integrand (Leibniz's rule). Both
are integrals and integrands of the same kind, so any order of differentiation in any mode follows. SciPy only ever sees
plain numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wengert.control.call import ARRAY, Call, call_operation
from wengert.control.closures import CapturedValues, close_over
from wengert.control.linear_tape import LinearTape
from wengert.core import machine, tree
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.errors import user_line
from wengert.core.levels import bottom_array, is_own
from wengert.core.primitive import Primitive, as_operand
from wengert.core.spec import Spec
from wengert.integrate.continuous_adjoint import SmoothArrays
from wengert.integrate.flow import has_derivative, strip_derivatives
from wengert.modes.batch import Batched, bind_axis
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import jvp

INTEGRAL = call_operation("quad")


def quad(
    func: Callable,
    a: Any,
    b: Any,
    args: tuple = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
) -> tuple[Any, Any]:
    """The integral of func(x, *args) over x from a to b, and an estimate of its error, as `scipy.integrate.quad`.

    The integral has derivatives with respect to the arrays in `args` (which may be in lists and dicts), to the limits,
    which may be infinite, and to what `func` captures. `func` may return an array, whose components are integrated, and
    complex numbers.

    >>> from wengert.transforms.gradients import grad
    >>> area = lambda s: quad(lambda x, s: np.exp(-s * x**2), -np.inf, np.inf, (s,))[0]
    >>> round(float(grad(area)(1.0)), 6)  # -sqrt(pi) / 2
    -0.886227
    """
    if not isinstance(args, tuple | list):
        args = (args,)  # as SciPy does
    call = Integral(
        func,
        (as_limit(a), as_limit(b), tuple(args)),
        {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points},
    )
    value, error = call(INTEGRAL)
    return value, strip_derivatives(error)


def as_limit(x: Any) -> Any:
    """A limit: a value as it is, numbers as Python's, which have no derivative."""
    if isinstance(x, Array):
        return x if x.dtype.kind == "f" else astype(x, float)
    return float(x)


class Integral(Call):
    """An integral as one operation on (a, b, args)."""

    has_rule = True

    def __init__(self, func: Callable, args: tuple, options: dict[str, Any]):
        super().__init__("quad", args)
        self.func, self.options = func, options

    def close(self) -> None:
        a, b, args = self.assemble(self.arrays)
        self.func, captured = close_over(self.func, (np.float64(0.0), *args), "quad")
        super().__init__("quad", (a, b, (*args, captured)))

    def function(self, a: Any, b: Any, args: tuple) -> tuple:
        """The value and its error, on numbers."""
        args = tree.map(strip_derivatives, args)
        spec = Spec((), np.dtype(float))

        def integrand(x: float) -> np.ndarray:
            nonlocal spec
            y = as_operand(self.func(x, *args))
            if has_derivative(y) or isinstance(strip_derivatives(y), Array):
                raise CapturedValues
            flat = np.ravel(strip_derivatives(y))
            spec = Spec.of(y)
            return np.concatenate([flat.real, flat.imag]) if spec.dtype.kind == "c" else flat.astype(float)

        value, error = integrate_components(
            integrand, float(strip_derivatives(a)), float(strip_derivatives(b)), self.options
        )
        if spec.dtype.kind == "c":
            half = len(value) // 2
            value, error = value[:half] + 1j * value[half:], np.hypot(error[:half], error[half:])
        return value.reshape(spec.shape)[()], error.reshape(spec.shape)[()]

    def run(self, x: Sequence[Any]) -> tuple:
        return tuple(self.flatten_results(self.function(*self.assemble(x))))

    def run_inline(self, x: Sequence[Any]) -> tuple:
        return self.run(x)

    def in_batched_mode(self, primitive: Primitive, top: Batched, x: Sequence[Any]) -> tuple:
        """One integral after the other, as each is subdivided by itself."""
        rows = []
        for i in range(len(top.value)):
            row = [v.value[i] if is_own(v, Batched, top.level) else v for v in x]
            with bind_axis(name_of_level(top.level), None):
                rows.append(primitive.op(*row, call=self))
        return tuple([Batched(stack(column), top.level) for column in zip(*rows, strict=True)])

    def integrand_at(self, x: Any, args: tuple) -> Any:
        """The integrand at a limit; zero at infinity, where it must vanish for the integral to exist."""
        return 0.0 if np.isinf(bottom_array(x)) else as_operand(self.func(x, *args))

    def integral(self, func: Callable, a: Any, b: Any, args: tuple) -> Any:
        return quad(func, a, b, args, **self.options)[0]

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list, list]:
        a, b, args = self.assemble(x)
        da, db, dargs = self.assemble(t, lambda fixed: None)
        value, error = quad(self.func, a, b, args, **self.options)
        smooth = SmoothArrays(args)
        tangents = smooth.pick_tangents(tree.leaves(dargs), self.leaves[2:])
        tangent: Any = np.zeros_like(strip_derivatives(value)) if not smooth.chosen else None
        if smooth.chosen:

            def along(x: Any, args: tuple, tangents: list) -> Any:
                smooth = SmoothArrays(args)
                return jvp(lambda *new: as_operand(self.func(x, *smooth.replace(new))), smooth.values, tangents)[1]

            tangent = self.integral(along, a, b, (args, tangents))
        if db is not None:
            tangent = tangent + self.integrand_at(b, args) * db
        if da is not None:
            tangent = tangent - self.integrand_at(a, args) * da
        return self.flatten_results((value, error)), [tangent, np.zeros(np.shape(error))]

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        a, b, args = self.assemble(x)
        lives = iter(live)
        wanted = [next(lives) if leaf is ARRAY else False for leaf in self.leaves]
        c = t[0]
        if c is None:
            return [None] * len(x)
        ca = -(self.integrand_at(a, args) * c).sum() if wanted[0] else None
        cb = (self.integrand_at(b, args) * c).sum() if wanted[1] else None
        smooth = SmoothArrays(args, wanted[2:])
        parts: list = []
        if smooth.chosen:

            def back(x: Any, args: tuple, c: Any) -> Any:
                values = smooth.pick(args)
                with LinearTape(values) as tape:
                    y = as_operand(self.func(x, *smooth.replace(tape.inputs, args)))
                    found = tape.transpose([y], [c])
                return concatenate(
                    [reshape(np.zeros(v.shape) if g is None else g, (-1,)) for g, v in zip(found, values, strict=True)]
                )

            whole = self.integral(back, a, b, (args, c))
            bounds = np.cumsum([0, *[v.size for v in smooth.values]])
            parts = [reshape(whole[i:j], v.shape) for i, j, v in zip(bounds, bounds[1:], smooth.values, strict=False)]
        return self.select_arrays([ca, cb, *smooth.spread(parts)])


def integrate_components(
    integrand: Callable[[float], np.ndarray], a: float, b: float, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The integrals of the components of a function, and estimates of their errors."""
    integrate = import_module("scipy.integrate")
    known: dict[float, np.ndarray] = {}

    def at(x: float) -> np.ndarray:
        if x not in known:
            known[x] = integrand(x)
        return known[x]

    size = len(at(point_between(a, b)))
    if size > machine.current.max_components_by_quadpack:
        tolerances = {"epsabs": options["epsabs"], "epsrel": options["epsrel"], "limit": 20 * options["limit"]}
        value, error, info = integrate.quad_vec(
            integrand, a, b, points=options["points"], full_output=True, **tolerances
        )
        if not info.success:
            warnings.warn(f"{info.message} (at {user_line()})", integrate.IntegrationWarning, stacklevel=2)
        return value, np.full(size, error)
    found = [integrate.quad(lambda x, i=i: at(x)[i], a, b, **options) for i in range(size)]
    return np.array([value for value, _ in found]), np.array([error for _, error in found])


def point_between(a: float, b: float) -> float:
    """A number between the limits; the integrand may be singular at the limits themselves."""
    if np.isfinite(a) and np.isfinite(b):
        return 0.5 * (a + b)
    return a + 1.0 if np.isfinite(a) else b - 1.0 if np.isfinite(b) else 0.5
