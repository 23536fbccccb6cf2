"""What derivatives cost beside the function itself: gradients, tangents, products with a Hessian, and a gradient as the
inputs grow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure
from benchmarks.timing import best_of_rounds
from benchmarks.workloads import helmholtz, mlp

SIZE = 100_000
COMPONENTS = (1, 8, 15, 22, 29, 36, 43, 50)


def elementwise(x: Any) -> Any:
    return (np.tanh(np.sin(x) * x + np.exp(-(x**2))) * np.log(1.0 + x**2)).sum()


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def polynomial(x: Any) -> Any:
    """Nothing but products and sums, the worst case: each product has two factors to differentiate."""
    y = x
    for k in range(1, 8):
        y = y * x + float(k)
    return y.mean()


def functions(size: int) -> dict[str, tuple[Callable, np.ndarray]]:
    """Functions of one array, and where to evaluate them."""
    x = np.random.default_rng(0).standard_normal(size)
    inputs, labels, (first, *rest) = mlp.data(128)
    return {
        "elementwise": (elementwise, x),
        "rosenbrock": (rosenbrock, x),
        "mlp, first layer": (lambda weights: mlp.wengert_loss(inputs, labels, weights, *rest), first),
        "polynomial": (polynomial, x),
    }


def cost_figures(size: int = SIZE, rounds: int = 7) -> list[Figure]:
    """What derivatives of functions of 100 000 variables cost, over the function itself, or a gradient."""
    import wengert as wg

    figures = []
    for name, (f, x) in functions(size).items():
        v = np.random.default_rng(1).standard_normal(x.shape).astype(x.dtype)
        gradient = wg.grad(f)
        runs = {
            "f": lambda f=f, x=x: f(x),
            "grad": lambda g=gradient, x=x: g(x),
            "jvp": lambda f=f, x=x, v=v: wg.jvp(f, (x,), (v,)),
            "hvp": lambda f=f, x=x, v=v: wg.hvp(f, x, v),
        }
        times = best_of_rounds(runs, rounds)
        figures += [
            Figure(f"{name}: grad / f", times["grad"] / times["f"], target=4.0),
            Figure(f"{name}: jvp / f", times["jvp"] / times["f"], target=3.0),
            Figure(f"{name}: hvp / grad", times["hvp"] / times["grad"], target=3.0),
        ]
    return figures


def helmholtz_ratios(components: tuple[int, ...] = COMPONENTS, rounds: int = 7) -> dict[str, list[float]]:
    """The time of a gradient over that of the function, by number of components, for reverse, forward and numerical
    derivatives.
    """
    import wengert as wg

    ratios: dict[str, list[float]] = {"reverse": [], "forward": [], "forward, as one batch": [], "numerical": []}
    for n in components:
        x, b, a = helmholtz.data(n)
        f = lambda x, b=b, a=a: helmholtz.helmholtz(x, b, a)
        ways: dict[str, Callable] = {
            "reverse": wg.grad(f),
            "forward": wg.jacfwd(f, chunk_size=1),
            "forward, as one batch": wg.jacfwd(f),
            "numerical": lambda x, f=f: wg.numeric.central(f, x),
        }
        expected = ways["reverse"](x)
        for way in ways.values():
            np.testing.assert_allclose(way(x), expected, rtol=1e-5)
        runs = {"f": lambda f=f, x=x: f(x)} | {name: lambda way=way, x=x: way(x) for name, way in ways.items()}
        times = best_of_rounds(runs, rounds, rest=0.0)
        for name in ways:
            ratios[name].append(times[name] / times["f"])
    return ratios


def helmholtz_figures() -> list[Figure]:
    """The Helmholtz free energy: gradient over function for 1 to 50 components.

    Flat in reverse mode, growing otherwise.
    """
    ratios = helmholtz_ratios()
    figures = []
    for name, values in ratios.items():
        figures += [
            Figure(f"{name}: grad / f at n = {n}", ratio)
            for n, ratio in zip(COMPONENTS, values, strict=True)
            if n in (1, 8, 50)
        ]
    flat = max(ratios["reverse"][1:]) / min(ratios["reverse"][1:])
    return [*figures, Figure("reverse: largest / smallest ratio from n = 8 on", flat, target=1.5)]


def draw_helmholtz(path: Path) -> None:
    """The plot of these ratios."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6.4, 4.0), layout="constrained")
    axes = canvas.subplots()
    for (name, values), marker in zip(helmholtz_ratios().items(), "osv^", strict=True):
        axes.plot(COMPONENTS, values, marker=marker, label=name)
    axes.set(xlabel="number of components n", ylabel="time of the gradient / time of f", yscale="log")
    axes.set_title("Gradient of the Helmholtz free energy", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    canvas.savefig(path)
