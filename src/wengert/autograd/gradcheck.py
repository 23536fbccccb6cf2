"""Compare derivatives with finite differences: `gradcheck` at first order, `gradgradcheck` at second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.backward import grad, tensor_list
from wengert.autograd.grad_mode import enable_grad
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor, tensor


class Tolerances(NamedTuple):
    """The step and the tolerances that suit a dtype."""

    eps: float
    atol: float
    rtol: float


DOUBLE, SINGLE, HALF = Tolerances(1e-6, 1e-4, 1e-3), Tolerances(5e-3, 1e-2, 1e-2), Tolerances(5e-2, 1e-1, 1e-1)
REPORTED = 5
"""How many wrong derivatives an error lists, the worst first."""


class GradcheckError(RuntimeError):
    """A derivative does not agree with finite differences."""


class Entry(NamedTuple):
    """One real number in an array: an element, or the real or imaginary part of one."""

    at: tuple[int, ...]
    direction: complex

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.at))}]" + ("" if self.direction == 1 else " (imaginary part)")


class Mismatch(NamedTuple):
    """One derivative that differs from the central difference."""

    output: int
    y_entry: Entry
    input: int
    x_entry: Entry
    numerical: float
    analytical: float
    left: float
    right: float
    kink: bool

    def __str__(self) -> str:
        line = (
            f"  d output {self.output} {self.y_entry} / d input {self.input} {self.x_entry}: "
            f"numerical {self.numerical:.9g}, analytical {self.analytical:.9g}"
        )
        if self.kink:
            line += f"; the one-sided differences are {self.left:.6g} and {self.right:.6g}: the point looks like a kink"
        return line


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
) -> bool:
    """Check the derivatives of `fn(*inputs)` with respect to inputs that require a gradient, by central differences.

    All elements are checked. By default the step and the tolerances suit the least precise dtype involved: 1e-6, 1e-4
    and 1e-3 for float64. The step is relative for elements larger than 1. Complex elements are checked along their real
    and imaginary directions. Backward runs twice, and the results must agree to `nondet_tol`. Outputs may be in
    containers; those without history, including plain arrays and numbers, must be constant.

    >>> gradcheck(lambda x: x * x, Tensor(np.array([1.0, 2.0])).requires_grad_())
    True
    """
    try:
        check = Check(fn, inputs, eps, atol, rtol)
        check.run(nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
) -> bool:
    """Check second derivatives: `gradcheck` of the vector-Jacobian product.

    It is checked with respect to the inputs and the vector `grad_outputs`, which is random by default.

    >>> gradgradcheck(lambda x: x * x * x, Tensor(np.array([1.0, 2.0])).requires_grad_())
    True
    """
    points = copy_leaves(tensor_list(inputs))
    live = live_among(points)
    with enable_grad():
        outputs = floating_outputs(fn(*points))
    if not any(map(requires_grad, outputs)):  # the first derivative seems to be zero
        return gradcheck(fn, inputs, eps, atol, rtol, raise_exception, nondet_tol)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        grad_outputs = [random_cotangent(y, random) for y in outputs]
    vectors = [
        tensor(v.detach() if isinstance(v, Tensor) else v, requires_grad=True) for v in tree.leaves(grad_outputs)
    ]

    def products(*args: Any) -> tuple[Any, ...]:
        xs, vs = args[: len(points)], args[len(points) :]
        ys = floating_outputs(fn(*xs))
        used = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
        return grad(
            [y for y, _ in used], [xs[i] for i in live], [v for _, v in used], create_graph=True, materialize_grads=True
        )

    return gradcheck(products, (*points, *vectors), eps, atol, rtol, raise_exception, nondet_tol)


def requires_grad(x: Any) -> bool:
    """Whether x is a tensor that requires a gradient."""
    return isinstance(x, Tensor) and x.requires_grad


def live_among(inputs: Sequence[Any]) -> list[int]:
    """The indices of the inputs that require a gradient."""
    live = [i for i, x in enumerate(inputs) if requires_grad(x)]
    if not live:
        raise user_error(ValueError, "gradcheck needs at least one input with requires_grad=True")
    return live


def copy_leaves(inputs: Sequence[Any]) -> list[Any]:
    """Copies of the inputs that are leaves, so that the originals do not change."""
    return [tensor(x.detach(), requires_grad=x.requires_grad) if isinstance(x, Tensor) else x for x in inputs]


def floating_outputs(returned: Any) -> list[Tensor]:
    """The floating-point outputs; plain arrays and numbers among them are constants."""
    outputs = []
    for y in tree.leaves(returned):
        if isinstance(y, np.ndarray | np.generic | Number):
            y = Tensor(np.array(y))
        if isinstance(y, Tensor) and y.dtype.kind in "fc":
            outputs.append(y)
    if not outputs:
        raise user_error(
            ValueError, "gradcheck needs at least one output of floating-point or complex numbers, and got none"
        )
    return outputs


def random_cotangent(y: Tensor, random: np.random.Generator) -> np.ndarray:
    """Normally distributed numbers, of the shape and dtype of y."""
    v = np.asarray(random.standard_normal(y.shape))
    return (v + 1j * random.standard_normal(y.shape) if y.dtype.kind == "c" else v).astype(y.dtype)


def entries(x: Any) -> Iterator[Entry]:
    """All real numbers in an array."""
    for index in np.ndindex(*x.shape):
        yield Entry(index, 1)
        if x.dtype.kind == "c":
            yield Entry(index, 1j)


def components(x: np.ndarray) -> np.ndarray:
    """The numbers of an array as one real vector, in the order of `entries`."""
    x = np.ascontiguousarray(x).reshape(-1)
    return (x.view(x.real.dtype) if x.dtype.kind == "c" else x).astype(np.float64)


class Check:
    """The Jacobian of a function at a point, analytical and numerical, and where they differ."""

    def __init__(self, fn: Callable[..., Any], inputs: Any, eps: float | None, atol: float | None, rtol: float | None):
        self.fn, self.inputs = fn, tensor_list(inputs)
        self.live = live_among(self.inputs)
        self.outputs = self.evaluate(copy_leaves(self.inputs))
        dtypes = [self.inputs[i].dtype for i in self.live] + [y.dtype for y in self.outputs]
        default = max(tolerances_of(dtype) for dtype in dtypes)
        self.eps = default.eps if eps is None else eps
        self.atol = default.atol if atol is None else atol
        self.rtol = default.rtol if rtol is None else rtol

    def evaluate(self, points: list[Any]) -> list[Tensor]:
        with enable_grad():
            return floating_outputs(self.fn(*points))

    def values(self, points: list[Any]) -> list[np.ndarray]:
        return [components(np.asarray(y.value)) for y in self.evaluate(points)]

    def run(self, nondet_tol: float) -> None:
        for k, (y, again) in enumerate(zip(self.outputs, self.values(copy_leaves(self.inputs)), strict=True)):
            if not np.allclose(components(np.asarray(y.value)), again, rtol=0.0, atol=nondet_tol, equal_nan=True):
                raise GradcheckError(
                    f"The function is not deterministic: output {k} differs between two runs at the same point."
                )
        analytical = self.analytical()
        for first, second in zip(analytical, self.analytical(), strict=True):
            for i, one, two in zip(self.live, first, second, strict=True):
                if not np.allclose(one, two, rtol=0.0, atol=nondet_tol, equal_nan=True):
                    raise GradcheckError(
                        f"Backward is not deterministic: two runs differ by {np.abs(one - two).max():.3g} for input "
                        f"{i}."
                    )
        wrong = [
            mismatch for n in range(len(self.live)) for mismatch in self.compare(n, [rows[n] for rows in analytical])
        ]
        if wrong:
            raise GradcheckError(self.report(wrong))

    def analytical(self) -> list[list[np.ndarray]]:
        """The Jacobian of each output with respect to each live input, one row for each entry of the output."""
        points = copy_leaves(self.inputs)
        wanted = [points[i] for i in self.live]
        jacobians = []
        for y in self.evaluate(points):
            rows: list[list[np.ndarray]] = [[] for _ in wanted]
            for entry in entries(y) if y.requires_grad else ():
                v = np.zeros(y.shape, y.dtype)
                v[entry.at] = entry.direction
                gradients = grad(y, wanted, v, retain_graph=True, materialize_grads=True)
                for row, g in zip(rows, gradients, strict=True):
                    row.append(components(np.asarray(g.value)))  # type: ignore[union-attr]  # zeros were asked for, not None
            count = len(list(entries(y)))
            jacobians.append(
                [
                    np.array(r) if r else np.zeros((count, len(list(entries(x)))))
                    for r, x in zip(rows, wanted, strict=True)
                ]
            )
        return jacobians

    def compare(self, n: int, analytical: list[np.ndarray]) -> Iterator[Mismatch]:
        """The derivatives with respect to live input `n` that differ from central differences."""
        i = self.live[n]
        for column, x_entry in enumerate(entries(self.inputs[i])):
            (below, minus), (here, plus) = self.step_along(i, x_entry, -1), self.step_along(i, x_entry, 1)
            for k, (y_minus, y_plus) in enumerate(zip(minus, plus, strict=True)):
                numerical = (y_plus - y_minus) / (here - below)
                a = analytical[k][:, column]
                for row in np.flatnonzero(~np.isclose(a, numerical, rtol=self.rtol, atol=self.atol)):
                    y = components(np.asarray(self.outputs[k].value))[row]
                    middle = coordinate(self.inputs[i].value, x_entry)
                    left, right = (y - y_minus[row]) / (middle - below), (y_plus[row] - y) / (here - middle)
                    kink = not np.isclose(left, right, rtol=self.rtol, atol=self.atol)
                    y_entry = list(entries(self.outputs[k]))[row]
                    yield Mismatch(
                        k,
                        y_entry,
                        i,
                        x_entry,
                        float(numerical[row]),
                        float(a[row]),
                        float(left),
                        float(right),
                        bool(kink),
                    )

    def step_along(self, i: int, entry: Entry, sign: int) -> tuple[float, list[np.ndarray]]:
        """The rounded coordinate one step along an entry of input `i`, and the outputs there."""
        points = copy_leaves(self.inputs)
        value = np.array(points[i].value)
        step = sign * self.eps * max(1.0, abs(coordinate(value, entry)))
        value[entry.at] += entry.direction * step if value.dtype.kind == "c" else step
        points[i] = tensor(value, requires_grad=True)
        return coordinate(value, entry), self.values(points)

    def report(self, wrong: list[Mismatch]) -> str:
        worst = sorted(
            wrong,
            key=lambda m: -abs(m.numerical - m.analytical) if np.isfinite(m.numerical - m.analytical) else -np.inf,
        )
        lines = [
            f"The derivative differs from central differences in {len(wrong)} elements:",
            *map(str, worst[:REPORTED]),
        ]
        if len(wrong) > REPORTED:
            lines.append(f"  and {len(wrong) - REPORTED} more")
        coarse = [i for i in self.live if tolerances_of(self.inputs[i].dtype) != DOUBLE]
        if coarse:
            lines.append(
                f"Inputs {coarse} are less precise than float64, where differences are rough: check them in float64."
            )
        for a, b in self.overlaps():
            lines.append(f"Inputs {a} and {b} share memory; they were checked as two independent values.")
        return "\n".join(lines)

    def overlaps(self) -> Iterator[tuple[int, int]]:
        arrays = [(i, x.value if isinstance(x, Tensor) else x) for i, x in enumerate(self.inputs)]
        arrays = [(i, x) for i, x in arrays if isinstance(x, np.ndarray)]
        for n, (a, x) in enumerate(arrays):
            yield from ((a, b) for b, y in arrays[n + 1 :] if np.may_share_memory(x, y))


def tolerances_of(dtype: np.dtype) -> Tolerances:
    """The step and the tolerances for a dtype."""
    eps = np.finfo(dtype).eps
    return DOUBLE if eps < 1e-12 else SINGLE if eps < 1e-5 else HALF


def coordinate(x: Any, entry: Entry) -> float:
    """The real number of an entry of x."""
    z = x[entry.at]
    return float(z.real if entry.direction == 1 else z.imag)
