"""How first calls grow with the program: seconds per operation of programs that are written longer and longer.

Loops of Python are written out (`unroll=True`), and the cache on disk is off. Seconds are those of the processor, in
all threads, so that other work on the machine counts less.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.reports.figure import Figure

MOST_GROWTH = 1.35
"""The seconds per operation of the two longest programs over those of the one before, half as long: 1 is linear, and 2
is quadratic. By a third, measurements on a machine with other work differ. The one that is longest alone may hide that
shorter ones are written in another way: a limit ended that.
"""


class GrowingProgram(NamedTuple):
    """Programs of several sizes: `make` has the function to compile and its arguments."""

    make: Callable[[int], tuple[Callable, tuple[Any, ...]]]
    sizes: Sequence[int]


def nested_sums(axes: int) -> tuple[Callable, tuple[Any, ...]]:
    """Sums along one axis of length five after the other, with sines in between."""

    def f(x: Any) -> Any:
        for _ in range(axes):
            x = np.sin(x).sum(-1)
        return x

    return f, (np.linspace(0.1, 1.0, 5**axes).reshape((5,) * axes),)


def minors(order: int) -> tuple[Callable, tuple[Any, ...]]:
    """A determinant by expansion along the first row, again and again."""

    def f(a: Any) -> Any:
        if a.shape[0] == 1:
            return a[0, 0]
        total = 0.0
        for j in range(a.shape[0]):
            total = total + (-1.0) ** j * a[0, j] * f(np.concatenate([a[1:, :j], a[1:, j + 1 :]], 1))
        return total

    return f, (np.random.default_rng(0).standard_normal((order, order)),)


def horner(degree: int) -> tuple[Callable, tuple[Any, ...]]:
    """A polynomial by Horner's rule at a thousand points."""

    def f(c: Any, x: Any) -> Any:
        y = 0.0 * x
        for i in range(degree + 1):
            y = y * x + c[i]
        return (y**2).mean()

    return f, (np.linspace(-1.0, 1.0, degree + 1), np.linspace(-1.0, 1.0, 1000))


FUNCTIONS = (np.sin, np.tanh, lambda x: x * 0.9 + 0.1, lambda x: x / (1.0 + x * x), lambda x: np.exp(-x), np.arctan)


def long_chain(steps: int) -> tuple[Callable, tuple[Any, ...]]:
    """Functions of functions, each of the six in no regular order, with a sum now and then."""
    order = np.random.default_rng(1).integers(len(FUNCTIONS), size=steps)

    def f(x: Any) -> Any:
        for i, k in enumerate(order):
            x = FUNCTIONS[k](x)
            if i % 25 == 24:
                x = x - x.mean()
        return (x * x).sum()

    return f, (np.linspace(0.1, 1.0, 500),)


def small_products(count: int) -> tuple[Callable, tuple[Any, ...]]:
    """A product of many matrices with four rows."""

    def f(m: Any) -> Any:
        product = m[0]
        for i in range(1, count):
            product = np.tanh(product @ m[i]) if i % 7 else product @ m[i].T
        return product.sum()

    return f, (np.random.default_rng(2).standard_normal((count, 4, 4)) * 0.5,)


def nested_choices(depth: int) -> tuple[Callable, tuple[Any, ...]]:
    """A function with many cases."""

    def f(x: Any) -> Any:
        y = x
        for i in range(depth):
            y = np.where(x > i / depth, y * x + i, np.sin(y) - x)
        return y.sum()

    return f, (np.linspace(0.0, 1.0, 2000),)


def many_factors(count: int) -> tuple[Callable, tuple[Any, ...]]:
    """Tensors with five axes that `einsum` contracts, four at a time, in a chain."""

    def f(a: Any) -> Any:
        state = a[0]
        for i in range(1, count - 2, 3):
            state = np.einsum("ab,bc,cd,da->ad", state, a[i], a[i + 1], a[i + 2]) * 0.3
        return state.sum()

    return f, (np.random.default_rng(3).standard_normal((count, 6, 6)),)


def many_gathers(count: int) -> tuple[Callable, tuple[Any, ...]]:
    """Elements at many lists of indices."""
    places = np.random.default_rng(4).integers(300, size=(count, 200))

    def f(x: Any) -> Any:
        total = 0.0
        for i, place in enumerate(places):
            total = total + (x[place] * (i + 1.0) ** -0.5 - x[place[::-1]] ** 2).sum()
        return total

    return f, (np.linspace(0.0, 1.0, 300),)


def written_out_loop(steps: int) -> tuple[Callable, tuple[Any, ...]]:
    """The steps of a classical Runge-Kutta method for a pendulum, each with another step size."""

    def slope(y: Any) -> Any:
        return np.stack([y[1], -np.sin(y[0])])

    def f(y: Any) -> Any:
        for i in range(steps):
            h = 0.01 + 0.001 * i * i
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            d = slope(y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return y.sum()

    return f, (np.array([1.0, 0.0]),)


def deep_network(layers: int) -> tuple[Callable, tuple[Any, ...]]:
    """A perceptron with many layers, each of another width."""
    widths = [16 + i % 5 for i in range(layers + 1)]
    rng = np.random.default_rng(5)
    weights = [rng.standard_normal(shape) * 0.2 for shape in zip(widths, widths[1:], strict=False)]

    def f(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.tanh(x @ w)
        return (x**2).mean()

    return f, (weights, rng.standard_normal((64, 16)))


def small_system(unknowns: int) -> tuple[Callable, tuple[Any, ...]]:
    """The residuals of equations that are written one by one."""

    def f(x: Any) -> Any:
        equations = []
        for i in range(unknowns):
            y = x[i] ** 2 - np.sin(x[(i + 1) % unknowns]) * x[i * i % unknowns] - 0.1 * i
            equations.append(y + np.exp(-x[(i + 3) % unknowns]))
        return np.stack(equations)

    return f, (np.linspace(0.1, 1.0, unknowns),)


PROGRAMS = {
    "nested short sums": GrowingProgram(nested_sums, (3, 4, 5, 6, 7)),
    "determinant by minors": GrowingProgram(minors, (3, 4, 5, 6)),
    "polynomial": GrowingProgram(horner, (25, 50, 100, 200, 400)),
    "long chain": GrowingProgram(long_chain, (50, 100, 200, 400, 800)),
    "small products": GrowingProgram(small_products, (25, 50, 100, 200, 400)),
    "nested choices": GrowingProgram(nested_choices, (25, 50, 100, 200, 400)),
    "einsum of several factors": GrowingProgram(many_factors, (25, 49, 97, 193, 385)),
    "gathers": GrowingProgram(many_gathers, (10, 20, 40, 80, 160)),
    "loop that is written out": GrowingProgram(written_out_loop, (5, 10, 20, 40, 80)),
    "deep network": GrowingProgram(deep_network, (10, 20, 40, 80, 160)),
    "jacobian of a small system": GrowingProgram(small_system, (8, 16, 32, 64)),
}


@contextmanager
def nothing_on_disk() -> Iterator[None]:
    """Compile everything anew."""
    before = os.environ.get("WENGERT_CACHE_DIR")
    os.environ["WENGERT_CACHE_DIR"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["WENGERT_CACHE_DIR"]
        else:
            os.environ["WENGERT_CACHE_DIR"] = before


def first_call(name: str, size: int) -> tuple[int, float]:
    """The operations of a traced program with its derivative, and the seconds of the processor for the first call."""
    import wengert as wg

    f, arguments = PROGRAMS[name].make(size)
    is_vector = np.ndim(f(*arguments)) > 0
    compiled = wg.compile(wg.jacobian(f) if is_vector else wg.value_and_grad(f), unroll=True)
    start = process_time()
    compiled(*arguments)
    seconds = process_time() - start
    return len(compiled.trace(*arguments).operations), seconds


def growth_figures(names: Sequence[str] = tuple(PROGRAMS), rounds: int = 2) -> list[Figure]:
    """First calls of programs that are written longer and longer: seconds of the processor for each operation."""
    figures = []
    with nothing_on_disk():
        for name in names:
            sizes = PROGRAMS[name].sizes
            first_call(name, sizes[0])  # what is compiled once in a process
            best: dict[int, tuple[int, float]] = {}
            for _ in range(rounds):
                for size in sizes:
                    best[size] = min(
                        best.get(size, (1 << 62, float("inf"))), first_call(name, size), key=lambda x: x[1]
                    )
            for size, (operations, seconds) in best.items():
                title = f"{name} ({size}), {operations} operations: {seconds:.2f} s, each operation"
                figures.append(Figure(title, seconds / operations, "s"))
            costs = [seconds / operations for operations, seconds in (best[size] for size in sizes[-3:])]
            growth = max(after / before for before, after in pairwise(costs))
            figures.append(
                Figure(f"{name}: most growth of the last two over the ones before", growth, target=MOST_GROWTH)
            )
    return figures
