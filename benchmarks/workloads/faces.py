"""One loss for several systems: Wengert, JAX and PyTorch share most names, and a face has the others."""

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
    softplus: Callable
    logsumexp: Callable
    gammaln: Callable
    solve_triangular: Callable
    sort: Callable


def wengert_face() -> Face:
    """Wengert, which takes part in NumPy's functions."""
    import wengert as wg

    return Face(
        np,
        wg.scan,
        wg.grad,
        wg.sigmoid,
        wg.softplus,
        wg.logsumexp,
        wg.special.gammaln,
        lambda a, b: wg.linalg.solve_triangular(a, b, lower=True),
        np.sort,
    )


def jax_face() -> Face:
    """JAX, with `lax.scan`."""
    import jax
    import jax.scipy

    return Face(
        jax.numpy,
        jax.lax.scan,
        jax.grad,
        jax.nn.sigmoid,
        jax.nn.softplus,
        jax.nn.logsumexp,
        jax.scipy.special.gammaln,
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        jax.numpy.sort,
    )


def torch_face() -> Face:
    """PyTorch, where a loop is one of Python."""
    import torch

    return Face(
        torch,
        _loop,
        _torch_grad,
        torch.sigmoid,
        torch.nn.functional.softplus,
        torch.logsumexp,
        torch.special.gammaln,
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        lambda a: torch.sort(a).values,
    )


def _loop(step: Callable, state: Any, xs: Any = None, length: int | None = None) -> tuple:
    """`scan` for a system without loops of its own."""
    import torch

    inputs = [None] * (length or 0) if xs is None else list(zip(*xs, strict=True)) if isinstance(xs, tuple) else xs
    outputs = []
    for x in inputs:
        state, out = step(state, x)
        outputs.append(out)
    return state, None if outputs[0] is None else torch.stack(outputs)


def _torch_grad(f: Callable) -> Callable:
    """The gradient as PyTorch's users take it."""
    import torch

    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x), x)[0]

    return gradient


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


def write_for_torch(workload: Workload, loss: Callable, is_compiled: bool = True) -> None:
    """Declare the loss and its gradient for PyTorch, and for `torch.compile` where that works."""

    def prepare(params: Any, problem: tuple, wrap: Callable) -> Run:
        import torch

        face = torch_face()
        leaves = [torch.tensor(p, requires_grad=True) for p in (params if isinstance(params, list) else [params])]
        tree = leaves if isinstance(params, list) else leaves[0]
        rest = [torch.tensor(a) for a in problem]
        forward = wrap(lambda *a: loss(*a, face))

        def run() -> tuple:
            value = forward(tree, *rest)
            return value, *torch.autograd.grad(value, leaves)

        return run

    @workload.implementation("torch")
    def eager(params: Any, *problem: Any) -> Run:
        return prepare(params, problem, lambda f: f)

    if is_compiled:

        @workload.implementation("torch compiled")
        def compiled(params: Any, *problem: Any) -> Run:
            import torch

            return prepare(params, problem, torch.compile)


def write_for_all(workload: Workload, loss: Callable, is_compiled_by_torch: bool = True) -> None:
    """Declare one loss for Wengert, JAX and PyTorch."""
    write_for_wengert(workload, loss)
    write_for_jax(workload, loss)
    write_for_torch(workload, loss, is_compiled_by_torch)


def first_and_leaves(value_and_grad: Callable, params: Any, problem: tuple) -> Run:
    """A run that returns the value, and the gradients one after the other."""

    def run() -> tuple:
        value, gradient = value_and_grad(params, *problem)
        return value, *(gradient if isinstance(gradient, list | tuple) else [gradient])

    return run
