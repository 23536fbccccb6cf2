"""Exported gradients, called from C: beside the native part of compiled functions, and C that CasADi generates.

One loop of C calls each function, and reads the processor time of its thread: what else the machine does counts little.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from benchmarks.agreement import check
from benchmarks.reports.figure import Figure

CALLS, ROUNDS = 20_000, 15
NATIVE_TARGET, CASADI_TARGET = 1.1, 0.7
HORIZON, STEP = 20, 0.1


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's function."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def casadi_rosenbrock(ca: Any, x: Any) -> Any:
    return ca.sum1(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def vehicle_cost(u: Any) -> Any:
    """What it costs a vehicle to come back to its lane: accelerations and steering angles over a horizon.

    The kinematic bicycle, for all times at once: speed, heading and offset are sums of what changes them.
    """
    a, steering = u[0::2], u[1::2]
    v = 8.0 + STEP * np.cumsum(a)
    before = v - STEP * a
    heading = 0.1 + np.cumsum(STEP / 2.5 * before * np.tan(steering))
    known = np.concatenate([np.array([0.1]), heading[:-1]])
    offset = 1.0 + np.cumsum(STEP * before * np.sin(known))
    cost = 2.0 * offset**2 + 5.0 * heading**2 + 0.5 * (v - 10.0) ** 2 + 0.1 * a**2 + 20.0 * steering**2
    return cost.sum()


def casadi_vehicle_cost(ca: Any, u: Any) -> Any:
    v, heading, offset, total = 8.0, 0.1, 1.0, 0.0
    for k in range(HORIZON):
        a, steering = u[2 * k], u[2 * k + 1]
        offset = offset + STEP * v * ca.sin(heading)
        heading = heading + STEP / 2.5 * v * ca.tan(steering)
        v = v + STEP * a
        total = total + 2.0 * offset**2 + 5.0 * heading**2 + 0.5 * (v - 10.0) ** 2 + 0.1 * a**2 + 20.0 * steering**2
    return total


def pendulum_cost(u: Any) -> Any:
    """What it costs to balance a pendulum on a cart: forces over a horizon, and a loop over its steps."""
    return roll_out(np, u)


def roll_out(library: Any, u: Any) -> Any:
    """The same in the language of either system: each step needs the one before it."""
    p, v, angle, spin, total = 0.0, 0.0, 0.3, 0.0, 0.0
    for k in range(2 * HORIZON):
        s, c = library.sin(angle), library.cos(angle)
        mass = 1.0 + 0.1 * s * s
        push = (u[k] + 0.1 * s * (0.5 * spin * spin + 9.81 * c)) / mass
        turn = (-u[k] * c - 0.05 * spin * spin * c * s - 10.791 * s) / (0.5 * mass)
        p, v, angle, spin = p + 0.05 * v, v + 0.05 * push, angle + 0.05 * spin, spin + 0.05 * turn
        total = total + p * p + 10.0 * angle * angle + 0.1 * (v * v + spin * spin) + 0.01 * u[k] * u[k]
    return total


class Problem(NamedTuple):
    """A cost in Wengert and in CasADi, and where its gradient is computed."""

    cost: Callable[[Any], Any]
    casadi: Callable[[Any, Any], Any]
    x: np.ndarray


PROBLEMS = {
    "rosenbrock(10)": Problem(rosenbrock, casadi_rosenbrock, np.linspace(-0.5, 1.5, 10)),
    "vehicle control": Problem(vehicle_cost, casadi_vehicle_cost, np.linspace(-0.4, 0.4, 2 * HORIZON)),
    "pendulum control, a loop": Problem(pendulum_cost, roll_out, np.linspace(-1.0, 1.0, 2 * HORIZON)),
}

CLOCK = """
#define _POSIX_C_SOURCE 199309L
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

double time_exported(int (*f)(const double *, double *, double *, void *), const double *x, double *value,
                     double *slope, void *memory, long n)
{
    double start = now();
    for (long i = 0; i < n; i++) f(x, value, slope, memory);
    return (now() - start) / n;
}

double time_native(int (*f)(void **, void **), void *x, void *value, void *slope, void *memory, long n)
{
    void *inputs[1] = {x}, *outputs[2] = {value, slope};
    double start = now();
    for (long i = 0; i < n; i++) f(inputs, outputs);
    (void)memory;
    return (now() - start) / n;
}

double time_casadi(int (*f)(const double **, double **, long long *, double *, int), const double *x, double *value,
                   double *slope, void *memory, long n)
{
    const double *arguments[16] = {x};
    double *results[16] = {value, slope};
    double start = now();
    for (long i = 0; i < n; i++) {
        arguments[0] = x, results[0] = value, results[1] = slope;
        f(arguments, results, memory, memory, 0);
    }
    return (now() - start) / n;
}
"""


class Run:
    """A function of C, called in a loop by one of the clock's functions; `owner` keeps its code."""

    def __init__(self, timer: Any, address: int, x: np.ndarray, owner: Any):
        self.timer, self.owner = timer, owner
        self.value, self.slope, self.memory = np.zeros(()), np.zeros_like(x), np.zeros(1 << 16, np.uint8)
        arrays = (x, self.value, self.slope, self.memory)
        self.arguments = [ctypes.c_void_p(a) for a in (address, *[array.ctypes.data for array in arrays])]

    def seconds(self, calls: int) -> float:
        """The processor time of a call."""
        return float(self.timer(*self.arguments, ctypes.c_long(calls)))


def compile_shared(folder: Path, source: str, *flags: str) -> ctypes.CDLL:
    """A shared library of a file in a folder."""
    made = folder / f"{source}{''.join(flags)}.so"
    linked = ["-Wl,--whole-archive", source, "-Wl,--no-whole-archive"] if source.endswith(".a") else [source]
    subprocess.run(["gcc", "-shared", "-fPIC", *flags, *linked, "-o", made.name, "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(made))


def address_in(library: ctypes.CDLL, name: str) -> int:
    """The address of a function of a library."""
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def prepare_runs(problem: Problem, folder: Path, clock: ctypes.CDLL, with_casadi: bool) -> tuple[dict[str, Run], int]:
    """How each system computes value and gradient, checked; and the bytes of the exported object."""
    f, x = wg.value_and_grad(problem.cost), problem.x
    compiled = wg.compile(f)
    compiled(x)
    native = compiled.signature(*compiled.flatten_arguments((x,), {})).native
    made = wg.export(f, x, path=folder, name=problem.cost.__name__, format="object")
    exported = compile_shared(folder, made.file.name)
    runs = {
        "exported": Run(clock.time_exported, address_in(exported, made.name), x, exported),
        "native": Run(clock.time_native, native.loaded.address("wengert.run"), x, native),
    }
    if with_casadi:
        import casadi

        name = f"casadi_{made.name}"
        symbol = casadi.SX.sym("x", x.size)
        cost = problem.casadi(casadi, symbol)
        generator = casadi.CodeGenerator(f"{name}.c")
        generator.add(casadi.Function(name, [symbol], [cost, casadi.gradient(cost, symbol)]))
        generator.generate(f"{folder}/")
        for flags in (("-O3",), ("-O3", "-march=native")):
            library = compile_shared(folder, f"{name}.c", *flags)
            runs[f"CasADi {' '.join(flags)}"] = Run(clock.time_casadi, address_in(library, name), x, library)
    value, slope = f(x)
    for name, run in runs.items():
        run.seconds(1)
        check(name, [run.value, run.slope], [np.asarray(value), slope])
    return runs, made.size


def export_figures(calls: int = CALLS, rounds: int = ROUNDS) -> list[Figure]:
    """Exported gradients called from C, beside the native part of compiled functions and CasADi's C."""
    if shutil.which("gcc") is None:
        return []
    with_casadi = find_spec("casadi") is not None
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clock.c").write_text(CLOCK)
        clock = compile_shared(folder, "clock.c", "-O2")
        for function in ("time_exported", "time_native", "time_casadi"):
            getattr(clock, function).restype = ctypes.c_double
        for title, problem in PROBLEMS.items():
            runs, size = prepare_runs(problem, folder, clock, with_casadi)
            best = dict.fromkeys(runs, float("inf"))
            for _ in range(rounds):
                for key, run in runs.items():
                    best[key] = min(best[key], run.seconds(calls))
            figures += problem_figures(title, best, size)
    return figures


def problem_figures(title: str, best: dict[str, float], size: int) -> list[Figure]:
    """The figures of one problem, from the times of all systems."""
    exported = best["exported"]
    figures = [
        Figure(f"{title}: size of the object", size, "B"),
        Figure(f"{title}: exported", exported, "s"),
        Figure(f"{title}: exported / native part of compiled", exported / best["native"], "", NATIVE_TARGET),
    ]
    peers = {key: seconds for key, seconds in best.items() if key.startswith("CasADi")}
    figures += [Figure(f"{title}: {key}", seconds, "s") for key, seconds in peers.items()]
    if peers:
        ratio = exported / min(peers.values())
        figures.append(Figure(f"{title}: exported / CasADi, the faster one", ratio, "", CASADI_TARGET))
    return figures
