"""Check derivatives of a function, of every mode and order, against numerical ones and against each other.

>>> print(grads(lambda x: np.sin(x) * x, [np.array([0.5, 1.0])], order=1))
2 derivatives agree
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from wengert.control.linear_tape import LinearTape
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import is_own, new_level
from wengert.modes.forward import Dual
from wengert.modes.tensor import Tensor
from wengert.ops.elementwise.complex_numbers import real
from wengert.transforms.numeric import richardson

__all__ = ["CheckError", "grads"]

RTOL = {8: 1e-6, 4: 2e-2, 2: 2e-1}
"""By the size in bytes of the least precise real dtype; between modes, a hundredth of it."""


class CheckError(GradientError):
    """Derivatives do not agree."""


class Row(NamedTuple):
    """One derivative: the last one along a random direction of one argument, the others along directions of all."""

    argument: str
    modes: tuple[str, ...]
    analytical: float
    numerical: float
    against: str
    agrees: bool

    @property
    def order(self) -> int:
        return len(self.modes)

    def __str__(self) -> str:
        return (
            f"  {self.argument}, order {self.order}, {' over '.join(self.modes)}: {self.analytical:.12g}, "
            f"but {self.against} {self.numerical:.12g}"
        )


class Report(list[Row]):
    """The derivatives that were compared."""

    def __str__(self) -> str:
        wrong = [row for row in self if not row.agrees]
        if not wrong:
            return f"{len(self)} derivatives agree"
        return "\n".join([f"{len(wrong)} of {len(self)} derivatives do not agree:", *map(str, wrong)])


def grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("forward", "reverse"),
    rtol: float | None = None,
    atol: float | None = None,
) -> Report:
    """Check the derivatives of `f(*args)` up to this order, by each mode over each mode.

    Raise a `CheckError` that says which are wrong.

    The results of `f` are summed with random weights, and differentiated along random directions. A derivative of order
    k is compared with the numerical derivative of the one of order k - 1, and with those of the same order in other
    modes. Arguments are trees; integers in them are constants.

    >>> len(grads(lambda x: x**3, [2.0], order=1))
    2
    """
    unknown = set(modes) - SLOPES.keys()
    if unknown or not modes:
        raise user_error(
            ValueError,
            f"check.grads knows the modes {', '.join(SLOPES)}, not {', '.join(map(repr, unknown)) or 'none'}",
        )
    problem = Problem(f, args, rtol, atol)
    report = Report()
    for k in range(1, order + 1):
        for i in range(len(problem.live)):
            report += problem.compare(i, [*product(modes, repeat=k)])
    if not all(row.agrees for row in report):
        raise CheckError(str(report))
    return report


class Problem:
    """A scalar function of the floating-point arrays among the arguments, and a direction for each array."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any], rtol: float | None, atol: float | None):
        random = np.random.default_rng(0)
        leaves, self.structure = tree.flatten(tuple(args))
        self.f, self.leaves = f, [as_plain(a) for a in leaves]
        self.live = [i for i, a in enumerate(self.leaves) if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
        if not self.live:
            raise user_error(TypeError, "check.grads needs at least one argument of floating-point numbers")
        self.names = [name for i, a in enumerate(args) for name in leaf_labels(i, a)]
        self.points = [self.leaves[i] for i in self.live]
        self.directions = [random_like(x, random) for x in self.points]
        outs = [as_plain(y) for y in tree.leaves(f(*tree.unflatten(self.structure, self.leaves)))]
        self.weights = [
            random_like(y, random) if isinstance(y, np.ndarray) and y.dtype.kind in "fc" else None for y in outs
        ]
        size = min(np.finfo(a.dtype).bits // 8 for a in (*self.points, *(w for w in self.weights if w is not None)))
        self.rtol = rtol if rtol is not None else RTOL.get(size, RTOL[8])
        self.atol = atol if atol is not None else self.rtol

    def number(self, *points: Any) -> Any:
        """The value of the function, as one number."""
        leaves = list(self.leaves)
        for i, x in zip(self.live, points, strict=True):
            leaves[i] = x
        total: Any = 0.0
        for y, w in zip(tree.leaves(self.f(*tree.unflatten(self.structure, leaves))), self.weights, strict=True):
            if w is not None:
                total = total + real((y * w).sum())
        return total

    def derivative(self, modes: Sequence[str]) -> Callable[..., Any]:
        """The derivative along all directions, once for each of these modes, the last one innermost."""
        g = self.number
        for mode in reversed(modes):
            g = lambda *points, g=g, mode=mode: SLOPES[mode](g, points, self.directions)
        return g

    def compare(self, i: int, combinations: Sequence[tuple[str, ...]]) -> list[Row]:
        """The last derivative along argument `i` alone, in each combination of modes."""
        only = [d if j == i else np.zeros_like(d) for j, d in enumerate(self.directions)]
        argument = self.names[self.live[i]]
        rows: list[Row] = []
        for modes in combinations:
            g = self.derivative(modes[1:])
            analytical = float(number_of(SLOPES[modes[0]](g, self.points, only)))
            numerical = self.numerical(g, i)
            agrees = bool(np.isclose(analytical, numerical, rtol=self.rtol, atol=self.atol))
            rows.append(Row(argument, modes, analytical, numerical, "numerically", agrees))
        first = rows[0]
        for row in rows[1:]:
            if not np.isclose(row.analytical, first.analytical, rtol=self.rtol / 100, atol=self.atol / 100):
                rows.append(row._replace(numerical=first.analytical, against=" over ".join(first.modes), agrees=False))
        return rows

    def numerical(self, g: Callable[..., Any], i: int) -> float:
        x, d = self.points[i], self.directions[i]
        at = lambda s: float(number_of(g(*self.points[:i], x + s.astype(x.real.dtype) * d, *self.points[i + 1 :])))
        return float(richardson(at, np.zeros((), x.real.dtype)))


def forward_slope(g: Callable[..., Any], points: Sequence[Any], directions: Sequence[np.ndarray]) -> Any:
    """The derivative of g along the directions, in forward mode."""
    level = new_level()
    y = g(*[Dual(x, d, level) for x, d in zip(points, directions, strict=True)])
    return y.tangent if is_own(y, Dual, level) else 0.0


def reverse_slope(g: Callable[..., Any], points: Sequence[Any], directions: Sequence[np.ndarray]) -> Any:
    """The derivative of g along the directions, in reverse mode."""
    with LinearTape(points) as tape:
        y = g(*tape.inputs)
        pulled = tape.transpose([y], [np.ones((), getattr(y, "dtype", np.float64))])
    total: Any = 0.0
    for c, d in zip(pulled, directions, strict=True):
        if c is not None:
            total = total + real((c * d).sum())
    return total


SLOPES: dict[str, Callable[..., Any]] = {"forward": forward_slope, "reverse": reverse_slope}


def as_plain(a: Any) -> Any:
    """A number, array or tensor as a plain array; anything else as it is."""
    if isinstance(a, Tensor) and not a.level:
        return np.asarray(a.value)
    return a if isinstance(a, Array) or not isinstance(a, np.ndarray | np.generic | float | complex) else np.asarray(a)


def number_of(y: Any) -> Any:
    """The number in a result, to which captured tensors may have given a history."""
    return y.value if isinstance(y, Tensor) and not y.level else y


def random_like(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Random numbers between 0.5 and 1.5, of the shape and dtype of x."""
    v = random.uniform(0.5, 1.5, x.shape)
    return np.asarray(v + 1j * random.uniform(0.5, 1.5, x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)


def leaf_labels(i: int, argument: Any) -> list[str]:
    """The name of each leaf of argument i in a report."""
    structure = tree.structure(argument)
    return [f"argument {i}"] if structure is tree.LEAF else [f"argument {i}, leaf {j}" for j in range(structure.size)]
