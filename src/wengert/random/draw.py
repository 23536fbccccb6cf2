"""One call of a generator's method: numbers from NumPy's generator, and the parameters on which they depend.

Numbers are drawn for the values of the parameters, whatever their derivatives. Under vmap, a draw that has a batched
parameter is made for each element of the batch; one that has none is a constant, the same for all of them. A trace does
not draw: the numbers would become constants of the graph, the same in every call of a compiled function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import SHAPED, Primitive, as_operand
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor
from wengert.ops.samples.draws import beta_draw, gamma_draw, t_draw, vonmises_draw, wald_draw
from wengert.ops.shape.reshaping import broadcast_to
from wengert.transforms.products import stop_gradient

Size = int | Sequence[int] | None


def refuse_frozen(*_: Any, **__: Any) -> NoReturn:
    """Raise the error for a draw in a traced function."""
    raise user_error(
        TrackedValueError,
        "A random draw in a function that is traced or compiled would be the same in every call",
        "Draw with wg.random.counter_rng(seed), whose draws are part of the program, or draw outside and pass the "
        "numbers as an argument: f(x, rng.standard_normal(n)).",
    )


def refuse_trace() -> None:
    """Raise an error while a function is traced: draws with plain parameters never meet a symbol."""
    if recording.current_trace() is not None:
        refuse_frozen()


def _draw_numbers(
    *args: Any, source: np.random.Generator, method: str, used: int, size: tuple[int, ...], checks: str | None
) -> Any:
    if checks is not None and 0 not in size:
        for extreme in (np.min, np.max):  # raises NumPy's errors for parameters out of range
            getattr(np.random.default_rng(0), checks)(*map(extreme, args[used:]))
    return getattr(source, method)(*args[:used], size=size)


_draw = Primitive(
    Definition(
        name="draw",
        impl=_draw_numbers,
        kind="nondifferentiable",
        inputs=("*parameters",),
        takes_params=True,
        batch=lambda n, size: {"size": (n, *size)},
        spec=refuse_frozen,
        reason="the derivative is that of what the parameters make of the numbers",
    )
).op
"""Numbers from a method of NumPy's generator: the first `used` arguments are its parameters, the others say for which
batch it is.

It is not in the table, where the same arguments give the same result.
"""


def size_tuple(size: Size) -> tuple[int, ...]:
    """A size as a tuple."""
    return (size,) if isinstance(size, int | np.integer) else tuple(size or ())


def can_broadcast(shape: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether parameters of this shape can be broadcast to this size."""
    return len(shape) <= len(size) and all(m in (1, n) for m, n in zip(shape[::-1], size[::-1], strict=False))


def drawn_size(shapes: Sequence[tuple[int, ...]], size: Size) -> tuple[int, ...]:
    """The size of a draw: what is asked for, or else the shape to which its parameters broadcast."""
    shape = np.broadcast_shapes(*shapes)
    if size is None:
        return shape
    wanted = size_tuple(size)
    if not can_broadcast(shape, wanted):
        raise user_error(ValueError, f"Parameters of shape {shape} cannot make draws of size {wanted}")
    return wanted


def drawn_dtype(parameters: Sequence[Any]) -> np.dtype:
    """The precision of a draw: that of its parameters that are arrays of floats, or else double precision."""
    floats = [p.dtype for p in parameters if isinstance(p, SHAPED) and p.dtype.kind == "f"]
    return np.result_type(*floats) if floats else np.dtype(float)


class Draw:
    """One draw: its parameters decide shape, precision and batch.

    `checks` names a method of NumPy that checks their range.
    """

    def __init__(self, source: np.random.Generator, parameters: Sequence[Any], size: Size, checks: str | None = None):
        refuse_trace()
        self.source, self.parameters, self.checks = source, [as_operand(p) for p in parameters], checks
        self.size = drawn_size([p.shape for p in self.parameters], size)
        self.dtype = drawn_dtype(parameters)

    def __call__(self, method: str, *used: Any, core: tuple[int, ...] = ()) -> Any:
        """Numbers from a method of NumPy's generator, given these parameters.

        `core` are axes behind those of the size.
        """
        numbers = self.counts(method, *used, core=core)
        return numbers.astype(self.dtype) if self.dtype != np.float64 else numbers

    def counts(self, method: str, *used: Any, core: tuple[int, ...] = ()) -> Any:
        """The same in NumPy's dtype."""
        size = self.size + core
        args = [broadcast_to(as_operand(stop_gradient(p)), size) for p in used]
        checks, self.checks = self.checks, None
        return _draw(
            *args, *self.parameters, source=self.source, method=method, used=len(used), size=size, checks=checks
        )

    def gamma(self, a: Any, core: tuple[int, ...] = ()) -> Any:
        """From the standard gamma distribution."""
        return attach_derivative(gamma_draw, self("standard_gamma", a, core=core), a)

    def beta(self, a: Any, b: Any, core: tuple[int, ...] = ()) -> Any:
        """From the beta distribution."""
        return attach_derivative(beta_draw, self("beta", a, b, core=core), a, b)

    def t(self, df: Any) -> Any:
        """From Student's t distribution."""
        return attach_derivative(t_draw, self("standard_t", df), df)

    def wald(self, shape: Any) -> Any:
        """From the inverse Gaussian distribution of mean 1."""
        return attach_derivative(wald_draw, self("wald", 1.0, shape), shape)

    def vonmises(self, kappa: Any) -> Any:
        """From the von Mises distribution around 0."""
        return attach_derivative(vonmises_draw, self("vonmises", 0.0, kappa), kappa)


def attach_derivative(draw: Any, numbers: Any, *parameters: Any) -> Any:
    """Numbers with their derivative with respect to the parameters with which they were drawn."""
    return draw(numbers, *parameters) if any(isinstance(p, Array) for p in parameters) else numbers


def is_differentiated(x: Any) -> bool:
    """Whether a derivative of x is wanted, in any mode."""
    return any(
        layer.requires_grad if isinstance(layer, Tensor) else not isinstance(layer, Batched | Symbol)
        for layer in iterate_payloads(x)
    )


def refuse_gradient(method: str, instead: str = "", **parameters: Any) -> None:
    """Raise an error in a trace, and for a parameter of a draw that is differentiated but has no derivative."""
    refuse_trace()
    for p in parameters.values():
        if any(isinstance(layer, Symbol) for layer in iterate_payloads(p)):
            refuse_frozen()
    refuse_lost_derivative(method, instead, **parameters)


def refuse_lost_derivative(method: str, instead: str = "", **parameters: Any) -> None:
    """Raise an error for a parameter of a draw that is differentiated but has no derivative."""
    for name, p in parameters.items():
        if is_differentiated(p):
            more = instead or "; the gradient of an expectation is that of the log density, weighted: see wg.stats"
            raise user_error(
                GradientError,
                f"What {method} draws has no derivative with respect to {name}",
                f"Pass wg.stop_gradient({name}) to draw with a constant{more}.",
            )
