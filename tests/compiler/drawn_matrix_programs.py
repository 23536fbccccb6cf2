"""Random programs on stacks of small matrices and short rows: functions of matrices, scatters, loops and softmax.

Values pass between unrolled rows, small matrices, row kernels, routines and loops here, each of which keeps its results
elsewhere. `PYTHONPATH=. python -m tests.compiler.drawn_matrix_programs FIRST COUNT` searches for programs that fail.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

LENGTHS = (1, 2, 5, 8, 20, 30, 63, 64, 65, 100, 260)
ORDERS = (1, 2, 3, 4, 5, 8)


class MatrixProgram(NamedTuple):
    """A function of a stack of matrices, a number for each of them, a matrix and a vector; and its arguments."""

    loss: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]


def draw_program(seed: int) -> MatrixProgram:
    """The program that belongs to a seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice(LENGTHS)), int(rng.choice(ORDERS))
    dtype = rng.choice(["f4", "f8"])
    arguments = tuple([rng.normal(size=shape).astype(dtype) for shape in ((n, d, d), (n,), (d, d), (d,))])
    labels, indices, i = rng.integers(0, d, size=n), rng.integers(0, n, size=2 * n), int(rng.integers(d))
    choices, ending = rng.integers(0, 18, size=int(rng.integers(2, 7))).tolist(), int(rng.integers(3))
    rows = np.arange(n)

    def positive(y: Any) -> Any:
        return y @ y.swapaxes(-1, -2) / d + np.eye(d, dtype=dtype)

    def loss(a: Any, v: Any, w: Any, u: Any) -> Any:
        on_matrices: list[Callable[[Any], Any]] = [
            lambda y: wg.linalg.eigvalsh(positive(y) + np.diag(np.arange(d)).astype(dtype)),
            lambda y: wg.linalg.inv(positive(y)),
            lambda y: wg.linalg.cholesky(positive(y)),
            lambda y: wg.linalg.solve(positive(y), u[:, None])[..., 0],
            lambda y: wg.tanh(wg.linalg.det(positive(y)))[:, None] * u,
            lambda y: y @ w,
            lambda y: y @ u,
            lambda y: wg.tanh(y @ y.swapaxes(-1, -2) @ w),
            lambda y: y.at[:, i].add(u),
            lambda y: y.at[:, :, i].set(0.5),
            lambda y: y.swapaxes(-1, -2) + y,
            lambda y: y.reshape(n, d * d)[:, :d],
            lambda y: wg.softmax(y, axis=-1),
            lambda y: wg.fori_loop(0, 5, lambda _, s: wg.tanh(s @ w + u), y),
            lambda y: np.diagonal(wg.linalg.inv(positive(y)), 0, -2, -1),
            lambda y: np.stack([y, y @ w], axis=1).reshape(n, 2 * d, d).swapaxes(-1, -2)[:, :, :d],
            lambda y: wg.tanh(y.reshape(n, -1) @ y.reshape(n, -1).T)[:, :1] * y[:, 0],
            lambda y: wg.scan(lambda s, z: (wg.tanh(s @ w + z), s @ u), y[0], y)[1],
        ]
        on_rows: list[Callable[[Any], Any]] = [
            lambda y: y.at[:, i].add(v),
            lambda y: y.at[rows, labels].add(1.0),
            lambda y: wg.zeros_like(y).at[indices].add(wg.tanh(y[indices])),
            lambda y: y[:, :, None] * u,
            lambda y: wg.tanh(y.T @ y)[None] * y[:, :, None],
            lambda y: wg.log_softmax(y, axis=-1),
            lambda y: y @ w,
            lambda y: wg.fori_loop(0, 7, lambda _, s: wg.tanh(s @ w + u), y),
            lambda y: wg.sort(y, axis=-1),
            lambda y: wg.cumsum(y, axis=-1),
            lambda y: y - y.mean(0),
            lambda y: wg.where(y > 0, y, v[:, None]),
            lambda y: wg.concatenate([y[:, i:], y[:, :i]], axis=1),
            lambda y: y.reshape(-1)[::-1].reshape(n, d),
            lambda y: np.stack([y, wg.tanh(y)], axis=1).sum(1),
            lambda y: (y[:, :, None] @ y[:, None, :]).sum(-1, keepdims=True) * w,
            lambda y: y - y.sum(-1, keepdims=True) / d,
            lambda y: wg.scan(lambda s, z: (wg.tanh(s * z + u), s * z), u, y)[1],
        ]
        y = a
        for choice in choices:
            y = (on_matrices if y.ndim == 3 else on_rows)[choice](y)
        if ending == 0:
            return wg.logsumexp(y)
        if ending == 1 and y.ndim == 2:
            return -wg.log_softmax(y, axis=-1)[rows, labels].mean()
        return wg.tanh(y).mean()

    return MatrixProgram(loss, arguments)


def compare_with_eager(program: MatrixProgram) -> None:
    """Check that the value and all gradients are those of eager code."""
    both = wg.value_and_grad(program.loss, argnums=(0, 1, 2, 3))
    compiled = wg.compile(both)(*program.arguments)
    for x, y in zip(wg.tree.leaves(both(*program.arguments)), wg.tree.leaves(compiled), strict=True):
        exact = y.dtype == np.float64
        np.testing.assert_allclose(x, y, rtol=1e-5 if exact else 2e-2, atol=1e-7 if exact else 1e-3)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for seed in range(first, first + count):
        try:
            compare_with_eager(draw_program(seed))
        except Exception as error:
            print(f"{seed}: {type(error).__name__}: {str(error)[:200]}", flush=True)
