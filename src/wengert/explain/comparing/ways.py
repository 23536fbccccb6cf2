"""Ways to compute the gradient of a real function whose result is one number.

By hand, by differences, by algebra, and automatically.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.errors import GradientError, user_error
from wengert.core.spec import Spec
from wengert.core.tree import flatten, leaf_names, unflatten
from wengert.explain.comparing.reference import shift_element
from wengert.explain.recorder import plain_arguments, plain_arrays, record_run
from wengert.graph.costs import tree_size
from wengert.graph.graph import Graph
from wengert.graph.sympy import ASSUMPTIONS, to_sympy
from wengert.transforms.gradients import grad
from wengert.transforms.jacobians import jacfwd
from wengert.transforms.numeric import refuse_not_analytic, step_at, tiny_step


@dataclass
class Way:
    """One way to compute the gradient, and its result.

    `operations` counts those of its formula or program, `evaluations` the calls of the function.
    """

    family: str
    name: str
    gradient: np.ndarray | None = None
    error: float | None = None
    seconds: float | None = None
    evaluations: int | None = None
    operations: int | None = None
    note: str = ""


class ComparedFunction:
    """A function at a point. `call` takes only the floating-point arguments, `at` all their elements as one array."""

    def __init__(self, f: Callable, args: tuple):
        args = plain_arguments(args)
        self.f, self.args = f, args
        self.leaves, self.structure = flatten(args)
        self.live = [
            i
            for i, leaf in enumerate(self.leaves)
            if isinstance(leaf, float | np.floating | np.ndarray) and is_real(leaf)
        ]
        if not self.live or any(np.asarray(leaf).dtype.kind == "c" for leaf in self.leaves):
            raise user_error(
                TypeError, "compare takes a function of real floating-point numbers", "Pass 2.0 instead of 2."
            )
        self.points = [np.asarray(self.leaves[i])[()] for i in self.live]
        self.x = np.concatenate([np.ravel(x) for x in self.points])
        is_plain = len(self.live) == len(args) and all(
            leaf is arg for leaf, arg in zip(self.leaves, args, strict=False)
        )
        self.call: Callable = f if is_plain else self.call_with
        self.argnums = tuple(range(len(self.live)))
        names = leaf_names(f, flatten((args, {}))[1])
        self.names = [names[i] or f"x{i}" for i in self.live]
        self.recording = record_run(self.call, *self.points)
        value = plain_arrays(self.recording.values[self.recording.outputs[0]])
        if len(self.recording.outputs) != 1 or value.shape or value.dtype.kind != "f":
            given = ", ".join(repr(node.spec) for node in self.recording.outputs)
            raise user_error(
                GradientError, f"compare takes a function that returns one real number; this one returned {given}"
            )
        self.value = value[()]

    def call_with(self, *points: Any) -> Any:
        leaves = list(self.leaves)
        for i, x in zip(self.live, points, strict=True):
            leaves[i] = x
        return self.f(*unflatten(self.structure, leaves))

    def at(self, v: np.ndarray) -> Any:
        """The value for all elements in one array, real or complex."""
        points, start = [], 0
        for x in self.points:
            size = np.size(x)
            part = v[start : start + size].reshape(np.shape(x))
            points.append((part if v.dtype.kind == "c" else part.astype(np.asarray(x).dtype))[()])
            start += size
        return plain_arrays(self.call(*points))[()]

    def flat(self, gradient: Any) -> np.ndarray:
        """A gradient, a tree, as one array."""
        found = np.concatenate([np.ravel(np.asarray(plain_arrays(part), np.float64)) for part in flatten(gradient)[0]])
        if found.shape != self.x.shape:
            raise ValueError(f"the gradient has {found.size} elements instead of {self.x.size}")
        return found


def is_real(leaf: Any) -> bool:
    """Whether a value has real floating-point numbers."""
    return np.asarray(leaf).dtype.kind == "f"


def time_call(function: Callable[[], Any], budget: float = 0.02) -> float:
    """Seconds of one call: the shortest of as many as fit in a short time."""
    best, end = float("inf"), time.perf_counter() + budget
    while True:
        start = time.perf_counter()
        function()
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def attempt(way: Way, problem: ComparedFunction, function: Callable[[], Any], calls: int = 1) -> Way:
    """Fill in gradient and time, or a note why there are none. The way needs this many calls of the function."""
    try:
        with np.errstate(all="ignore"):
            most = machine.current.max_seconds_of_compared_way
            if calls > 10 and (expected := calls * time_call(lambda: problem.at(problem.x), 0.0)) > most:
                way.note = f"left out: {calls} evaluations would take {expected:.0f} s"
                return way
            way.gradient = problem.flat(function())
            way.seconds = time_call(function)
    except Exception as error:
        way.gradient, way.note = None, f"left out: {first_sentence(error)}"
    return way


def first_sentence(error: Exception) -> str:
    """The kind of an error and the beginning of its message."""
    text = str(error).splitlines()[0] if str(error) else ""
    return textwrap.shorten(f"{type(error).__name__}: {text.split('. ')[0]}", 100, placeholder=" ...")


def manual_way(problem: ComparedFunction, formula: Callable) -> Way:
    """The gradient by hand."""
    way = attempt(Way("manual", "formula"), problem, lambda: formula(*problem.args))
    way.operations = count_operations(lambda: record_run(formula, *problem.args).graph)
    return way


def numerical_ways(problem: ComparedFunction) -> Iterator[Way]:
    """Differences, with steps that balance truncation and rounding errors."""
    x, at, n = problem.x, problem.at, problem.x.size
    size = len(problem.recording.graph.operations)
    steps = {power: [step_at(x, (i,), None, power) for i in range(n)] for power in (1 / 2, 1 / 3)}
    one, two = steps[1 / 2], steps[1 / 3]
    analytic: list[bool] = []  # found out at the first call, which is not timed

    def one_sided(sign: float) -> np.ndarray:
        here = at(x)
        return np.array([(at(shift_element(x, i, sign * h)) - here) / (sign * h) for i, h in enumerate(one)])

    def central() -> np.ndarray:
        return np.array(
            [(at(shift_element(x, i, h)) - at(shift_element(x, i, -h))) / (2 * h) for i, h in enumerate(two)]
        )

    def complex_step() -> np.ndarray:
        h = tiny_step(x)
        if not analytic:
            refuse_not_analytic(at, [x], 0, None)
            analytic.append(True)
        return np.array([np.imag(at(shift_element(x + 0j, i, 1j * h))) / h for i in range(n)])

    shown = lambda h: f"h = {h[0]:.1e}" if len(set(h)) == 1 else f"h from {min(h):.1e} to {max(h):.1e}"
    for name, function, count, note in (
        ("forward difference", lambda: one_sided(1.0), n + 1, shown(one)),
        ("backward difference", lambda: one_sided(-1.0), n + 1, shown(one)),
        ("central difference", central, 2 * n, shown(two)),
        ("complex step", complex_step, n, f"h = {tiny_step(x):.0e}"),
    ):
        way = attempt(Way("numerical", name, evaluations=count, operations=count * size), problem, function, count)
        way.note = way.note or note
        yield way


def symbolic_way(problem: ComparedFunction) -> Way:
    """The formula, differentiated by SymPy and turned into a function."""
    way = Way("symbolic", "SymPy")
    graph = problem.recording.graph
    if any(np.shape(x) for x in problem.points):
        way.note = "left out: it takes single numbers as arguments, not arrays"
        return way
    if (size := tree_size(graph)) > machine.current.max_operations_of_symbolic_way:
        way.note = f"left out: written out, the formula has {size if size < 10**9 else 'too many'} operations"
        return way
    try:
        import sympy

        start = time.perf_counter()
        expression = to_sympy(graph)
        names = graph.value_names()
        symbols = [sympy.Symbol(names.get(node, f"x{i}"), **ASSUMPTIONS["f"]) for i, node in enumerate(graph.inputs)]
        derivatives = [sympy.diff(expression, symbol) for symbol in symbols]
        function = sympy.lambdify(symbols, derivatives, "numpy", dummify=True)
    except Exception as error:
        way.note = f"left out: {first_sentence(error)}"
        return way
    way.note = f"derived in {(time.perf_counter() - start) * 1e3:.0f} ms"
    way.operations = int(sum(sympy.count_ops(d) for d in derivatives))
    points = [float(x) for x in problem.points]
    return attempt(way, problem, lambda: function(*points))


def automatic_ways(problem: ComparedFunction) -> Iterator[Way]:
    """Forward mode, reverse mode, and reverse mode compiled."""
    forward, reverse = jacfwd(problem.call, argnums=problem.argnums), grad(problem.call, argnums=problem.argnums)
    n, points = problem.x.size, problem.points
    way = Way("automatic", "forward mode", evaluations=n)
    if n * sum(output_sizes(problem.recording.graph)) > machine.current.max_numbers_of_forward_way:
        way.note = f"left out: one pass for each of {n} elements"
    else:
        attempt(way, problem, lambda: forward(*points))
        way.operations = count_operations(lambda: record_run(forward, *points).graph)
    yield way
    way = attempt(Way("automatic", "reverse mode", evaluations=1), problem, lambda: reverse(*points))
    way.operations = count_operations(lambda: record_run(reverse, *points).graph)
    yield way
    yield compiled_way(problem, reverse)


def output_sizes(graph: Graph) -> list[int]:
    """How many elements the outputs of each operation have."""
    return [
        node.size if isinstance(node.spec, Spec) else sum(spec.size for spec in node.spec) for node in graph.operations
    ]


def compiled_way(problem: ComparedFunction, reverse: Callable) -> Way:
    """Reverse mode as native code."""
    from wengert.compiler.call.compiled import compile  # imports LLVM

    way = Way("automatic", "reverse mode, compiled", evaluations=1)
    if (count := len(problem.recording.graph.operations)) > machine.current.max_operations_of_compiled_way:
        way.note = f"left out: to compile {count} operations takes a while"
        return way
    native = compile(reverse)
    points = problem.points
    start = time.perf_counter()
    try:
        native(*points)
    except Exception as error:
        way.note = f"left out: {first_sentence(error)}"
        return way
    way.note = f"compiled in {(time.perf_counter() - start) * 1e3:.0f} ms"
    way.operations = count_operations(lambda: native.trace(*points))
    return attempt(way, problem, lambda: native(*points))


def count_operations(graph: Callable[[], Graph]) -> int | None:
    """The number of operations of a program, after optimization; None if it cannot be recorded."""
    try:
        return len(optimize_short(graph()).operations)
    except Exception:
        return None


def optimize_short(graph: Graph) -> Graph:
    """An optimized graph, unless it is too long for that."""
    return graph if len(graph.operations) > 4 * machine.current.max_operations_of_compiled_way else graph.optimize()


def derivative_sizes(problem: ComparedFunction) -> tuple[int | None, int | None]:
    """The number of operations of the derivative by reverse mode, as a graph and written out as a tree."""
    try:
        graph = optimize_short(record_run(grad(problem.call, argnums=problem.argnums), *problem.points).graph)
    except Exception:
        return None, None
    return len(graph.operations), tree_size(graph)


def point_text(problem: ComparedFunction) -> str:
    """`x1 = 2, w: f64[3]`."""
    shown = [
        f"{name} = {x:.6g}" if not np.shape(x) else f"{name}: {Spec.of(x)!r}"
        for name, x in zip(problem.names, problem.points, strict=True)
    ]
    return ", ".join(shown)
