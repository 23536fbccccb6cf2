"""Wengert and JAX have the same names for loops, so that a loss with loops is written once for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workload import Run, Workload


class Face(NamedTuple):
    """What a loss is written with: an array module, loops, and functions that NumPy lacks."""

    numpy: Any
    scan: Callable
    grad: Callable
    sigmoid: Callable
    logsumexp: Callable


def wengert_face() -> Face:
    """Wengert, which takes part in NumPy's functions."""
    import wengert as wg

    return Face(np, wg.scan, wg.grad, wg.sigmoid, wg.logsumexp)


def jax_face() -> Face:
    """JAX, with `lax.scan`."""
    import jax

    return Face(jax.numpy, jax.lax.scan, jax.grad, jax.nn.sigmoid, jax.nn.logsumexp)


def write_for_wengert(workload: Workload, loss: Callable) -> None:
    """Declare the loss and its gradient for Wengert: compiled, and, as the reference, step by step on the tape.

    `loss(params, *problem, face)` gives one number; its gradient is taken with respect to the tree `params`.
    """

    @workload.implementation("wengert compiled")
    def compiled(params: Any, *problem: Any) -> Run:
        import wengert as wg

        face = wengert_face()
        return first_and_leaves(wg.compile(wg.value_and_grad(lambda *a: loss(*a, face))), params, problem)

    @workload.implementation("wengert")
    def eager(params: Any, *problem: Any) -> Run:
        import wengert as wg

        face = wengert_face()
        return first_and_leaves(wg.value_and_grad(lambda *a: loss(*a, face)), params, problem)


def write_for_jax(workload: Workload, loss: Callable) -> None:
    """Declare the loss and its gradient for JAX."""

    @workload.implementation("jax")
    def compiled(params: Any, *problem: Any) -> Run:
        import jax

        face = jax_face()
        value_and_grad = jax.jit(jax.value_and_grad(lambda *a: loss(*a, face)))
        on_device = jax.tree.map(jax.numpy.asarray, (params, *problem))
        return first_and_leaves(lambda *a: jax.block_until_ready(value_and_grad(*a)), on_device[0], on_device[1:])


def first_and_leaves(value_and_grad: Callable, params: Any, problem: tuple) -> Run:
    """A run that returns the value, and the gradients one after the other."""

    def run() -> tuple:
        value, gradient = value_and_grad(params, *problem)
        return value, *(gradient if isinstance(gradient, list | tuple) else [gradient])

    return run
