"""The comparisons: one program in every mode, each against a mode that shares little with it, and against differences
of values.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tools.fuzz import prelude
from tools.fuzz.differences import slope
from tools.fuzz.programs import POINTS, Program
from wengert.core.errors import TrackedValueError

TOLERANCE = {"double": 1e-9, "single": 3e-4}
"""For values, relative to the largest number of an array or to 1; ten times as much for each order of derivative."""
EPSILON = {"double": 1e-16, "single": 6e-8}
NUDGE = {"double": 1e-9, "single": 1e-4}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)
AMPLIFICATION = 1e4
"""Rounding errors of a program are taken to be those of inputs that are off by so many units in the last place."""


class Difference(NamedTuple):
    check: str
    message: str
    by: Callable | None = None
    """The group of checks in which it was found."""


def to_numpy(y: Any) -> list[np.ndarray]:
    """The leaves of a result as arrays."""
    if isinstance(y, tuple | list):
        return [a for item in y for a in to_numpy(item)]
    return [y.detach().numpy() if isinstance(y, wg.Tensor) else np.asarray(y)]


def inner(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The real inner product of two lists of arrays, in double precision."""
    wide = lambda x: x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return sum(
        np.sum(np.real(wide(x)) * np.real(y)) + np.sum(np.imag(wide(x)) * np.imag(y)) for x, y in zip(a, b, strict=True)
    )


class Run:
    """One program under examination: its function, its arguments, and the differences found so far."""

    def __init__(self, program: Program, counts: Counter[str]):
        self.program, self.counts = program, counts
        self.precision = "single" if program.is_single else "double"
        self.rng = np.random.default_rng([*program.seed, 7])
        self.whole, self.tensors = program.load()
        self.live, self.arity = tuple(program.live), len(program.at(0))
        self.f: Callable = self.scalar if program.is_vector else self.whole
        self.dtype = to_numpy(prelude.total(to_numpy(program.load()[0](*program.at(0)))[0]))[0].dtype
        self.directions = [self.direction(i) for i in self.live]
        self.differences: list[Difference] = []

    def scalar(self, *args: Any) -> Any:
        return prelude.total(self.whole(*args))

    def direction(self, i: int) -> Any:
        x = self.program.inputs[i].values[0]
        v = self.rng.uniform(-1.0, 1.0, x.shape)
        return (v + 1j * self.rng.uniform(-1.0, 1.0, x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)

    def primals(self, args: Sequence[Any]) -> list[Any]:
        return [args[i] for i in self.live]

    def along(self, f: Callable, args: Sequence[Any]) -> Callable:
        """f as a function of its live arguments only."""
        return lambda *primals: f(*[primals[self.live.index(i)] if i in self.live else a for i, a in enumerate(args)])

    # The ways to a derivative, each a function of all arguments.

    def grad(self, *args: Any) -> Any:
        return wg.grad(self.f, self.live)(*args)

    def value_and_grad(self, *args: Any) -> Any:
        return wg.value_and_grad(self.f, self.live)(*args)

    def pushed(self, *args: Any) -> Any:
        return wg.jvp(self.along(self.f, args), self.primals(args), self.directions)[1]

    def pulled(self, *args: Any) -> Any:
        value, pull = wg.vjp(self.along(self.f, args), *self.primals(args))
        return pull(np.ones((), value.dtype))

    def slope(self, *args: Any) -> Any:
        return inner(self.grad(*args), self.directions).astype(self.dtype)

    def forward_over_reverse(self, *args: Any) -> Any:
        return wg.jvp(self.along(self.grad, args), self.primals(args), self.directions)[1]

    def reverse_over_reverse(self, *args: Any) -> Any:
        return wg.grad(self.slope, self.live)(*args)

    def reverse_over_forward(self, *args: Any) -> Any:
        return wg.grad(self.pushed, self.live)(*args)

    def curvature(self, *args: Any) -> Any:
        return inner(self.forward_over_reverse(*args), self.directions).astype(self.dtype)

    def taylor(self, *args: Any) -> Any:
        g = self.along(self.f, args)
        value, first, second = wg.taylor(lambda primals: g(*primals), self.primals(args), 2, self.directions)
        return value, first, 2.0 * second

    def on_the_tape(self, f: Callable, args: Sequence[Any]) -> list[Any]:
        """Value, gradients of the arguments, and those of the captured tensors, by `backward`."""
        leaves = [wg.tensor(a, requires_grad=True) if i in self.live else a for i, a in enumerate(args)]
        for tensor in self.tensors:
            tensor.grad = None
        value = f(*leaves)
        if isinstance(value, wg.Tensor) and value.requires_grad:
            value.backward()
        wanted = [*[leaves[i] for i in self.live], *[t for t in self.tensors if t.requires_grad]]
        return [value, *[np.zeros(x.shape, x.dtype) if x.grad is None else x.grad for x in wanted]]

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error is the one that a trace or a batch owes to a program whose numbers Python reads."""
        return self.program.is_eager_only and (
            isinstance(error, TrackedValueError) or "Under vmap a shape" in str(error)
        )

    def check(
        self, name: str, way: Callable, reference: Callable, args: Sequence[Any], order: int = 0, traced: bool = False
    ) -> None:
        """Compare what two ways give for the same arguments."""
        expected = to_numpy(reference(*args))
        try:
            found = to_numpy(way(*args))
        except Exception as error:
            if not (traced and self.is_refusal(error)):
                self.differences.append(Difference(name, traceback.format_exc(limit=-6)))
            return
        self.counts["comparisons"] += 1
        self.compare(name, found, expected, reference, args, order)

    def compare(
        self, name: str, found: list, expected: list, reference: Callable, args: Sequence[Any], order: int
    ) -> None:
        if [(a.shape, a.dtype) for a in found] != [(a.shape, a.dtype) for a in expected]:
            show = lambda arrays: ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
            self.differences.append(Difference(name, f"found {show(found)}, expected {show(expected)}"))
            return
        tolerance = TOLERANCE[self.precision] * 10.0**order
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            if is_close(a, b, tolerance):
                continue
            bound = self.conditioning(reference, args, k)
            if is_close(a, b, tolerance, bound):
                self.counts["ill-conditioned"] += 1
                continue
            self.differences.append(
                Difference(name, f"result {k}: found {a!r}, expected {b!r}, off by {np.max(np.abs(a - b)):.2g}")
            )
            return

    def conditioning(self, reference: Callable, args: Sequence[Any], k: int) -> float:
        """How far rounding may move result k, from how far a nudge of the arguments moves it."""
        nudge = NUDGE[self.precision]
        at_first = to_numpy(reference(*args))[k]
        moves = [0.0]
        for _ in range(3):
            nudged = lambda a: a * (1 + nudge * self.rng.uniform(-1, 1))
            moved = [
                nudged(a) if i % self.arity in self.live else a for i, a in enumerate(args)
            ]  # of one call, or of several
            moved = [np.asarray(m, a.dtype) for m, a in zip(moved, args, strict=True)]
            move = np.abs(to_numpy(reference(*moved))[k] - at_first)
            moves.append(float(np.max(move[np.isfinite(move)], initial=0.0)))
        if max(moves) > 0.1 * np.max(np.abs(at_first), initial=0.0):
            return np.inf  # chaos: a nudge changes it beyond recognition
        return AMPLIFICATION * max(moves) / nudge * EPSILON[self.precision]

    def check_differences(self, name: str, phi: Callable[[float], float], found: Any, order: int) -> None:
        """Compare a slope with differences of values, unless the line bends or jumps too near."""
        found = float(np.real(to_numpy(found)[0]))
        expected, error = slope(phi)
        scale = max(1.0, abs(expected))
        if not error < 1e-4 * scale:
            self.counts["too near a kink"] += 1
            return
        self.counts["comparisons"] += 1
        self.counts["differences"] += 1
        if not abs(found - expected) <= 20 * error + max(1e-6, TOLERANCE[self.precision] * 10.0**order) * scale:
            self.differences.append(Difference(name, f"found {found!r}, expected {expected!r} +- {error:.2g}"))


def is_close(a: np.ndarray, b: np.ndarray, tolerance: float, bound: float = 0.0) -> bool:
    """Equal up to a tolerance relative to the largest number; infinities and NaN at the same indices."""
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    finite = np.isfinite(b)
    if not np.array_equal(np.where(finite, 0, a), np.where(finite, 0, b), equal_nan=True):
        return False
    scale = max(1.0, float(np.max(np.abs(b[finite]), initial=0.0)))
    return bool(np.all(np.abs(a[finite] - b[finite]) <= tolerance * scale + bound))


def check_eager(run: Run) -> None:
    """Modes that need no trace: tape, reverse, forward, Taylor, second order in three mixes; and differences."""
    args = run.program.at(0)
    run.check(
        "tape", lambda *a: run.on_the_tape(run.f, a)[: 1 + len(run.live)], lambda *a: (run.f(*a), run.grad(*a)), args, 1
    )
    run.check("forward", run.pushed, run.slope, args, 1)
    run.check("vjp", run.pulled, run.grad, args, 1)
    run.check("reverse over reverse", run.reverse_over_reverse, run.forward_over_reverse, args, 2)
    run.check("reverse over forward", run.reverse_over_forward, run.forward_over_reverse, args, 2)
    run.check("taylor", run.taylor, lambda *a: (run.f(*a), run.slope(*a), run.curvature(*a)), args, 2)


def check_by_differences(run: Run) -> None:
    """First and second order against values alone, in double precision."""
    if run.program.is_holding:
        return
    double = Run(run.program.doubled(), run.counts) if run.program.is_single else run
    args = double.program.at(0)
    for i, x in enumerate(double.live):
        v = double.directions[i]
        line = lambda tau, x=x, v=v: double.f(*[a + tau * v if j == x else a for j, a in enumerate(args)])
        found = inner([run.grad(*run.program.at(0))[i]], [v])
        run.check_differences("differences", lambda tau, line=line: float(to_numpy(line(tau))[0]), found, 1)
    moved = lambda tau: [
        a + tau * double.directions[double.live.index(i)] if i in double.live else a for i, a in enumerate(args)
    ]
    phi = lambda tau: float(to_numpy(double.slope(*moved(tau)))[0])
    run.check_differences("differences of gradients", phi, double.curvature(*args), 2)


def stacked(run: Run) -> list[np.ndarray]:
    """The arguments at all points as one batch."""
    return [np.stack([i.values[p] for p in range(POINTS)]) for i in run.program.inputs]


def one_by_one(f: Callable) -> Callable:
    """What `vmap` computes, call by call."""

    def rows(*batch: Any) -> list[np.ndarray]:
        results = [to_numpy(f(*[b[k] for b in batch])) for k in range(POINTS)]
        return [np.stack(column) for column in zip(*results, strict=True)]

    return rows


def check_batched(run: Run) -> None:
    batch = stacked(run)
    run.check("vmap", wg.vmap(run.f), one_by_one(run.f), batch, 0, traced=True)
    run.check("vmap of grad", wg.vmap(run.grad), one_by_one(run.grad), batch, 1, traced=True)


class Compiled(NamedTuple):
    name: str
    way: Callable
    reference: Callable
    order: int
    is_batched: bool = False


def compiled_ways(run: Run) -> list[Compiled]:
    """The value and the gradient compiled, and two of the other ways."""
    f = wg.compile(run.f)
    always = [
        Compiled("compiled", f, run.f, 0),
        Compiled("compiled gradient", wg.compile(run.value_and_grad), run.value_and_grad, 1),
    ]
    others = [
        Compiled("gradient of compiled", wg.grad(f, run.live), run.grad, 1),
        Compiled(
            "forward of compiled", lambda *a: wg.jvp(run.along(f, a), run.primals(a), run.directions)[1], run.pushed, 1
        ),
        Compiled("compiled forward", wg.compile(run.pushed), run.pushed, 1),
        Compiled("compiled vmap of grad", wg.compile(wg.vmap(run.grad)), one_by_one(run.grad), 1, True),
        Compiled("compiled vmap", wg.compile(wg.vmap(run.f)), one_by_one(run.f), 0, True),
        Compiled("vmap of grad of compiled", wg.vmap(wg.grad(f, run.live)), one_by_one(run.grad), 1, True),
        Compiled("compiled hvp", wg.compile(run.forward_over_reverse), run.forward_over_reverse, 2),
        Compiled("compiled reverse over reverse", wg.compile(run.reverse_over_reverse), run.forward_over_reverse, 2),
        Compiled("compiled gradient of compiled", wg.compile(wg.grad(f, run.live)), run.grad, 1),
        Compiled("compiled vjp", wg.compile(run.pulled), run.grad, 1),
        Compiled("compiled taylor", wg.compile(run.taylor), run.taylor, 2),
        Compiled("compiled checkpoint", wg.compile(wg.grad(wg.checkpoint(run.f), run.live)), run.grad, 1),
        Compiled("backward of compiled", lambda *a: run.on_the_tape(f, a), lambda *a: run.on_the_tape(run.f, a), 1),
    ]
    if run.program.is_vector and all(i.values[0].dtype.kind != "c" for i in run.program.inputs):
        forward, reverse = wg.jacfwd(run.whole, run.live), wg.jacrev(run.whole, run.live)
        wide = lambda jacobian: lambda *a: [block.astype(np.float64) for block in jacobian(*a)]
        others += [
            Compiled("jacrev", wide(reverse), wide(forward), 1),
            Compiled("compiled jacrev", wg.compile(reverse), reverse, 1),
            Compiled("compiled jacfwd", wg.compile(forward), forward, 1),
            Compiled("jacrev of compiled", wg.jacrev(wg.compile(run.whole), run.live), reverse, 1),
        ] * 2
    picked = run.rng.choice(len(others), 2, replace=False)
    return always + [others[i] for i in picked]


def check_compiled(run: Run) -> None:
    """Compiled functions at two points, at numbers where formulas break, and again after what they captured has
    changed.
    """
    ways = compiled_ways(run)
    check_ways(run, ways, "", run.program.at(0))
    check_ways(run, ways, " at other numbers", run.program.at(1))
    special = with_a_special_number(run)
    if all(is_defined(way.reference, special, run.program.is_complex) for way in ways[:2]):
        check_ways(run, ways[:2], " at a special number", special)
    if run.tensors:
        prelude.changed(run.tensors, [c.values[1] for c in run.program.captured])
        check_ways(run, ways, " after a change of what it captures", run.program.at(0))


def check_ways(run: Run, ways: Sequence[Compiled], stage: str, args: Sequence[Any]) -> None:
    for name, way, reference, order, is_batched in ways:
        if not run.differences:
            run.check(name + stage, way, reference, stacked(run) if is_batched else args, order, traced=True)


def with_a_special_number(run: Run) -> list[np.ndarray]:
    """The arguments with one element that is zero, infinite or no number."""
    args = [np.array(a) for a in run.program.at(0)]
    for i in run.rng.permutation(run.live)[:1]:
        if args[i].size:
            args[i].flat[run.rng.integers(args[i].size)] = run.rng.choice(SPECIAL)
    return args


def is_defined(f: Callable, args: Sequence[Any], is_complex: bool) -> bool:
    """Whether NumPy has one result for such arguments.

    Its linear algebra refuses some, and infinity is no integer. What is not finite in a product of complex matrices or
    a Fourier transform is infinite or NaN by how it is computed, and what follows from it is anything.
    """
    try:
        result = f(*args)
    except (ValueError, OverflowError, IndexError, TrackedValueError):
        return False
    return not is_complex or all(np.isfinite(a).all() for a in to_numpy(result))


def training_step(run: Run) -> Callable:
    """A step that moves what the program captures along its gradients."""

    def step(*args: Any) -> Any:
        value, gradients = wg.value_and_grad(run.f, run.live)(*args)
        with wg.no_grad():
            for k, t in enumerate(run.tensors):
                t -= 0.01 * np.real(prelude.fit(gradients[k % len(gradients)], t.shape)).astype(t.dtype)
        return value

    return step


def check_state(run: Run) -> None:
    """Programs that assign to what they capture, and training steps: the same calls in sequence, eager and compiled."""
    check_sequence(run, "state", run.program, lambda some: some.f)
    check_sequence(run, "training", replace(run.program, updates=([], [])), training_step)


def check_sequence(run: Run, name: str, program: Program, step_of: Callable[[Run], Callable]) -> None:
    """Compare results, and what is captured, after each of several calls."""
    other, points = Run(program, run.counts), (0, 1, 0)
    compiled = wg.compile(step_of(other))

    def reference(*args: Any) -> Any:
        """All calls so far, eagerly and from the beginning."""
        eager = Run(program, Counter())
        step = step_of(eager)
        for first in range(0, len(args), run.arity):
            result = step(*args[first : first + run.arity])
        return result, eager.tensors

    args: list = []
    for call, point in enumerate(points):
        args += program.at(point)
        run.check(
            f"{name}, call {call}",
            lambda *args: (compiled(*args[-run.arity :]), other.tensors),
            reference,
            args,
            1,
            traced=True,
        )
        if run.differences:
            return


CHECKS = (check_eager, check_by_differences, check_batched, check_compiled)


def examine(program: Program, counts: Counter[str], checks: Sequence[Callable[[Run], None]] = ()) -> list[Difference]:
    """All differences of a program; those of the first kind of check that finds any."""
    checks = checks or ((check_state,) if any(program.updates) else CHECKS)
    with prelude.quiet():
        for check in checks:
            try:
                run = Run(program, counts)
                check(run)
            except Exception:
                return [Difference(check.__name__, traceback.format_exc(limit=-6), check)]
            if run.differences:
                return [difference._replace(by=check) for difference in run.differences]
    return []
