"""Draw the pictures of the documentation into docs/pictures: `python -m tools.site.pictures`.

Each is computed by Wengert when it is drawn. Lines and text take the colour of the reader's theme, light or dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg
from wengert import implicit
from wengert.core.primitive import TABLE

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
BENCHMARKS = Path(__file__).parents[2] / "docs" / "benchmarks.md"
INK = "#12345a"
"""Drawn in this colour, written as that of the theme."""
BLUE, ORANGE, GREEN, PURPLE = "#3b82d6", "#d97a1a", "#2a9d68", "#a45fc4"
"""Readable on white and on black, and told apart by people who see no red or no green."""
THEME = "<style>svg{color:#1b1f24}@media (prefers-color-scheme: dark){svg{color:#e8eaed}}</style>"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "wengert", "font.family": "sans-serif", "font.size": 10.5,
    "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11.5,
    "lines.linewidth": 1.8,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}  # fmt: skip

DRAWN: dict[str, Callable[[], str]] = {}
"""The functions that draw, by the name of their picture."""


def picture(draw: Callable[[], Any]) -> Callable[[], str]:
    """Enter a function that returns a figure of Matplotlib, or SVG."""

    def write() -> str:
        with plt.rc_context(STYLE):
            drawn = draw()
            return drawn if isinstance(drawn, str) else themed(drawn)

    DRAWN[draw.__name__] = write
    return write


def themed(figure: plt.Figure) -> str:
    """A figure as SVG in the colours of the reader's theme."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    svg = out.getvalue()[out.getvalue().index("<svg") :].replace(INK, "currentColor")
    return re.sub(r"(<svg[^>]*>)", rf"\1{THEME}", svg, count=1) + "\n"


def f(x1: Any, x2: Any) -> Any:
    """The example of the course."""
    return np.log(x1) + x1 * x2 - np.sin(x2)


def chain(x: Any) -> Any:
    """The example on all pairs of neighbours, summed."""
    return f(x[:-1], x[1:]).sum()


def axes(width: float = 6.4, height: float = 3.4, columns: int = 1) -> tuple[plt.Figure, Any]:
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


@picture
def tangent() -> plt.Figure:
    figure, ax = axes()
    x, slope = np.linspace(0.15, 3.6, 200), wg.grad(f)(2.0, 5.0)
    ax.plot(x, f(x, 5.0), color=BLUE, label="f(x1, 5)")
    ax.plot(x, f(2.0, 5.0) + slope * (x - 2.0), color=ORANGE, label=f"tangent, slope {slope:.1f}")
    for step, dash in ((-1.7, ":"), (-1.0, "--")):
        secant = (f(2.0 + step, 5.0) - f(2.0, 5.0)) / step
        ax.plot(x, f(2.0, 5.0) + secant * (x - 2.0), dash, color=INK, linewidth=1, label=f"secant, slope {secant:.2f}")
    ax.plot(2.0, f(2.0, 5.0), "o", color=INK)
    ax.set(xlabel="x1", ylabel="f", title="Near 2, the function is its tangent")
    ax.legend()
    return figure


@picture
def errors() -> str:
    return wg.compare(lambda x1: f(x1, 5.0), 2.0).svg() + "\n"


def logistic(x: Any, n: int) -> Any:
    for _ in range(n):
        x = 4.0 * x * (1.0 - x)
    return x


@picture
def swell() -> plt.Figure:
    figure, ax = axes()
    counts = range(1, 11)
    stats = [wg.trace(lambda x, n=n: wg.grad(logistic)(x, n), 0.3).stats() for n in counts]
    ax.semilogy(counts, [s.tree_size for s in stats], "o-", color=ORANGE, label="written out as one expression")
    ax.semilogy(
        counts, [s.operations for s in stats], "s-", color=BLUE, label="as a program, with names for shared values"
    )
    ax.set(xlabel="steps of the logistic map", ylabel="operations of the derivative", title="Expression swell")
    ax.legend()
    return figure


@picture
def graph() -> str:
    return wg.explain(f, 2.0, 5.0).svg() + "\n"


@picture
def cost() -> plt.Figure:
    figure, ax = axes()
    sizes = (2, 4, 8, 16, 32, 64)
    flops = lambda g, x: wg.trace(g, x).stats().flops
    points = [np.linspace(1.0, 2.0, n) for n in sizes]
    columns = lambda x: [wg.jvp(chain, (x,), (e,))[1] for e in np.eye(len(x))]
    ax.loglog(
        sizes,
        [flops(columns, x) / flops(chain, x) for x in points],
        "o-",
        color=ORANGE,
        label="forward mode, a pass for each input",
    )
    ax.loglog(
        sizes,
        [flops(wg.value_and_grad(chain), x) / flops(chain, x) for x in points],
        "s-",
        color=BLUE,
        label="reverse mode, one pass",
    )
    ax.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel="number of inputs", ylabel="operations / those of f", title="What a gradient costs")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.set_yticks([1, 10, 100], ["1", "10", "100"])
    ax.minorticks_off()
    ax.legend()
    return figure


@picture
def checkpoints() -> plt.Figure:
    order: list[int] = []

    def noted(state: Any, k: Any) -> Any:
        order.append(int(k))
        return np.sin(state)

    step = wg.primitive("noted_step", noted, lambda t, x: t * np.cos(x), lambda t: 0.0 * t)
    wg.grad(lambda x: wg.checkpoint_loop(lambda state, k: step(state, 1.0 * k), x, 32))(1.0)
    del TABLE["noted_step"]  # the operation of this picture alone
    again = np.array(order[order.index(31) + 1 :])  # the first run computes the value
    last = np.array([step not in again[time + 1 :] for time, step in enumerate(again)])
    figure, ax = axes()
    for chosen, colour, label in ((~last, BLUE, "run again"), (last, ORANGE, "run for its adjoint")):
        ax.plot(np.flatnonzero(chosen), again[chosen], ".", color=colour, label=label)
    ax.legend(loc="upper right")
    ax.set(
        xlabel="time, in steps that are run",
        ylabel="step of the loop",
        title="Going back through 32 steps, with few states in memory",
    )
    return figure


@picture
def colouring() -> plt.Figure:
    figure, (left, right) = axes(6.4, 3.6, 2)
    pattern = np.asarray(wg.sparsity(lambda x: f(x[:-1], x[1:]), np.ones(11)).toarray(), dtype=bool)
    colours = np.asarray(wg.color(pattern, by="column").columns)
    paint = np.array([BLUE, ORANGE])
    rows, cols = np.nonzero(pattern)
    left.scatter(cols, rows, c=paint[colours[cols]], marker="s", s=70)
    right.scatter(colours[cols], rows, c=paint[colours[cols]], marker="s", s=70)
    for ax, title, width in ((left, "11 columns in two colours", 11), (right, "2 products", 2)):
        ax.set(title=title, xlim=(-0.7, width - 0.3), ylim=(9.7, -0.7), xticks=range(width), yticks=[], aspect="equal")
    return figure


@picture
def patterns() -> plt.Figure:
    figure, panels = axes(6.8, 2.6, 3)
    n = 36
    grid = lambda x: (np.diff(x.reshape(6, 6), axis=0) ** 4).sum() + (np.diff(x.reshape(6, 6), axis=1) ** 4).sum()
    shapes = {"tridiagonal": chain, "arrowhead": lambda x: (x[0] * x[1:]).sum() + (x**3).sum(), "grid of 6 x 6": grid}
    for ax, (name, function) in zip(panels, shapes.items(), strict=True):
        pattern = wg.sparsity(function, np.ones(n) + 1.0, kind="hessian")
        rows, cols = np.nonzero(pattern.toarray())
        ax.scatter(cols, rows, marker="s", s=5, color=BLUE)
        ax.set(
            title=f"{name}\n{wg.color(pattern, by='symmetric').number} products",
            xlim=(-1, n),
            ylim=(n, -1),
            xticks=[],
            yticks=[],
            aspect="equal",
        )
    return figure


def wave(x: Any) -> Any:
    return np.exp(np.sin(x)) * x


@picture
def orders() -> plt.Figure:
    figure, ax = axes()
    by_nesting, by_series, nested = [], [], wave
    for order in range(1, 8):
        nested = wg.grad(nested)
        by_nesting.append(wg.trace(nested, 1.0).stats().operations)
        by_series.append(wg.trace(wg.derivative(wave, order), 1.0).stats().operations)
    ax.semilogy(range(1, 8), by_nesting, "o-", color=ORANGE, label="nested gradients")
    ax.semilogy(range(1, 8), by_series, "s-", color=BLUE, label="Taylor mode")
    ax.set(xlabel="order of the derivative", ylabel="operations", title="High orders: nest, or propagate series")
    ax.legend()
    return figure


@picture
def taylor() -> plt.Figure:
    figure, ax = axes()
    x, coefficients = np.linspace(-2.5, 2.5, 200), [float(c) for c in wg.taylor(wave, 0.0, 9)]
    ax.plot(x, wave(x), color=INK, linewidth=2.4, label="exp(sin x) x")
    for order, colour in zip((1, 3, 5, 9), (PURPLE, GREEN, ORANGE, BLUE), strict=True):
        ax.plot(x, np.polyval(coefficients[order::-1], x), "--", color=colour, label=f"order {order}")
    ax.set(xlabel="x", ylim=(-3, 6), title="Taylor polynomials at 0")
    ax.legend()
    return figure


@picture
def derivative_graph() -> str:
    return wg.trace(wg.grad(lambda x: np.sin(x) * x), np.float64(1.0)).optimize().svg() + "\n"


@picture
def implicit_curve() -> plt.Figure:
    figure, ax = axes()
    curve = lambda x2: implicit.root(lambda x1, x2: f(x1, x2) - f(2.0, 5.0), 1.5, x2)
    x2 = np.linspace(3.0, 7.5, 40)
    slope = float(wg.grad(curve)(5.0))
    ax.plot(x2, [curve(x) for x in x2], color=BLUE, label="f(x1, x2) = f(2, 5)")
    ax.plot(x2, 2.0 + slope * (x2 - 5.0), "--", color=ORANGE, label=f"tangent, slope {slope:.3f}")
    ax.plot(5.0, 2.0, "o", color=INK)
    ax.set(xlabel="x2", ylabel="x1", title="A function without a formula")
    ax.legend()
    return figure


@picture
def loop_steps() -> plt.Figure:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 0.05:
            x = (x + a / x) / 2
        return x

    figure, (left, right) = axes(6.8, 3.0, 2)
    a = np.linspace(0.2, 6.0, 400)
    left.plot(a, np.sqrt(a), color=INK, linewidth=1, linestyle=":")
    left.plot(a, [root(x) for x in a], color=BLUE)
    left.set(title="value", xlabel="a")
    right.plot(a, 0.5 / np.sqrt(a), color=INK, linewidth=1, linestyle=":", label="exact")
    right.plot(a, [wg.grad(root)(x) for x in a], ".", markersize=2, color=ORANGE, label="of the loop")
    right.set(title="derivative", xlabel="a")
    right.legend()
    return figure


@picture
def kinks() -> plt.Figure:
    figure, panels = axes(6.8, 2.4, 3)
    x = np.linspace(-1.5, 1.5, 101)
    shapes = {"abs(x)": np.abs, "relu(x)": wg.relu, "maximum(x, -x/2)": lambda x: np.maximum(x, -x / 2)}
    for ax, (name, function) in zip(panels, shapes.items(), strict=True):
        slope = float(wg.grad(function)(0.0))
        ax.plot(x, function(x), color=BLUE)
        ax.plot(x[35:66], slope * x[35:66], color=ORANGE)
        ax.set(title=f"{name}\nslope at 0: {slope:g}", xticks=[], yticks=[], ylim=(-0.5, 1.6))
    return figure


@picture
def chaos() -> plt.Figure:
    figure, ax = axes()
    counts = range(1, 61)
    ax.semilogy(
        counts, [abs(wg.grad(logistic)(0.3, n)) for n in counts], ".", color=BLUE, label="|derivative| after n steps"
    )
    ax.semilogy(counts, [2.0**n for n in counts], color=ORANGE, linewidth=1, label="2 to the power n")
    ax.set(xlabel="steps n of the logistic map", title="An exact derivative that says nothing")
    ax.legend()
    return figure


@picture
def first_fit() -> plt.Figure:
    t, y = decay_data()
    found = wg.optimize.curve_fit(lambda t, a, k: a * np.exp(-k * t), t, y, [1.0, 1.0])
    a, k = found.params
    figure, ax = axes(6.4, 3.0)
    ax.plot(t, y, "o", color=INK, label="measured")
    ax.plot(t, a * np.exp(-k * t), color=BLUE, label=f"{a:.2f} exp(-{k:.2f} t)")
    ax.set(xlabel="t", title="A fit")
    ax.legend()
    return figure


def decay_data() -> tuple[np.ndarray, np.ndarray]:
    """Measurements of the pages on fits: 2 exp(-0.5 t), and noise."""
    t = np.linspace(0.0, 5.0, 20)
    return t, 2.0 * np.exp(-0.5 * t) + 0.05 * np.random.default_rng(0).normal(size=20)


@picture
def benchmark_ratios() -> plt.Figure:
    """The ratios of the tables in docs/benchmarks.md."""
    rows = re.findall(r"^\| ([\w-]+) \| ([\d ]+) \|(.*)\|$", BENCHMARKS.read_text(), re.MULTILINE)
    eager = [
        (f"{n}, {s.strip()}", float(m[1]))
        for n, s, r in rows
        if "compiled" not in n and (m := re.search(r"\| [\d.]+ \S+ \(([\d.]+)\)", r))
    ]
    figure, ax = axes(6.8, 6.4)
    names, ratios = zip(*[row for row in eager if row[1] > 0][:29], strict=True)
    ax.barh(names, np.log2(ratios), color=[BLUE if r <= 1 else ORANGE for r in ratios])
    ax.invert_yaxis()
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.set_xticks([-2, -1, 0, 1], ["1/4", "1/2", "1", "2"])
    ax.set(title="Eager code: Wengert's time / PyTorch's (left is faster)")
    ax.tick_params(axis="y", labelsize=8)
    return figure


if __name__ == "__main__":
    for name, draw in DRAWN.items():
        (FOLDER / f"{name}.svg").write_text(draw())
