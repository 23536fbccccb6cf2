"""What the layers of names for programs of other systems cost: the chain of 300 operations, through them and without.

Each runs the chain as programs of its peer do, beside the same in Wengert's own words.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure
from benchmarks.timing import best_of_rounds
from benchmarks.workloads.chain import chain

REPEATS = 100
TARGET = 1.10
"""How much longer a layer may take than Wengert alone."""

BLOCK = 0.001
"""Seconds of a turn: one call, and many turns, because a few percent are to be seen."""

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def autograd_pair(x: np.ndarray) -> Pair:
    """The value and the gradient of a function."""
    import wengert as wg

    layer, layer_numpy = import_module("wengert.compat.autograd"), import_module("wengert.compat.autograd.numpy")
    plain = wg.value_and_grad(lambda a: chain(a, wg.sin, REPEATS))
    through = layer.value_and_grad(lambda a: chain(a, layer_numpy.sin, REPEATS))
    return lambda: plain(x), lambda: through(x)


def jax_pair(x: np.ndarray) -> Pair:
    """The value and the gradient of a function, not compiled."""
    import wengert as wg

    layer, layer_numpy = import_module("wengert.compat.jax"), import_module("wengert.compat.jax.numpy")
    array = layer_numpy.asarray(x)
    plain = wg.value_and_grad(lambda a: chain(a, wg.sin, REPEATS))
    through = layer.value_and_grad(lambda a: chain(a, layer_numpy.sin, REPEATS))
    return lambda: plain(x), lambda: through(array)


def torch_pair(x: np.ndarray) -> Pair:
    """The gradient of a tensor."""
    import wengert as wg

    layer = import_module("wengert.compat.torch")

    def plain() -> Any:
        a = wg.tensor(x, requires_grad=True)
        chain(a, wg.sin, REPEATS).backward()
        return a.grad

    def through() -> Any:
        a = layer.tensor(x, requires_grad=True)
        chain(a, layer.sin, REPEATS).backward()
        return a.grad

    return plain, through


PAIRS: dict[str, Callable[[np.ndarray], Pair]] = {"autograd": autograd_pair, "jax": jax_pair, "torch": torch_pair}


def layer_figures(rounds: int = 400) -> list[Figure]:
    """Layers of names for other systems: time of the chain through each, over that of Wengert alone."""
    figures = []
    for name, make in PAIRS.items():
        if find_spec(f"wengert.compat.{name}") is None:
            continue
        plain, through = make(np.linspace(0.0, 1.0, 8))
        best = best_of_rounds({"plain": plain, "through": through}, rounds, block=BLOCK, rest=0.0)
        figures += [
            Figure(f"chain of {3 * REPEATS} operations, beside {name}'s layer", best["plain"], "s"),
            Figure(f"chain of {3 * REPEATS} operations, through {name}'s layer", best["through"], "s"),
            Figure(f"chain: {name}'s layer / Wengert", best["through"] / best["plain"], target=TARGET),
        ]
    return figures
