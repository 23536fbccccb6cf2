"""Values are where the parts of a program look for them: constants, rows, small matrices and buffers of one row."""

import numpy as np
import pytest
from tests.compiler.drawn_matrix_programs import compare_with_eager, draw_program

import wengert as wg
from wengert.core import machine


def compare(loss, *arguments):
    both = wg.value_and_grad(loss, argnums=tuple(range(len(arguments))))
    compiled = wg.compile(both)(*arguments)
    for x, y in zip(wg.tree.leaves(both(*arguments)), wg.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("rows", "steps"), [(5, 10), (1, 50)])
def test_routines_read_constants_of_one_element(rows, steps):
    x, w = np.linspace(-1.0, 1.0, rows)[:, None], np.array([[0.7]])

    def by_loop(x, w):
        return wg.fori_loop(0, steps, lambda _, s: wg.tanh(s @ w + 0.1), x).sum()

    def by_scan(x, w):
        return (wg.scan(lambda s, _: (wg.tanh(s @ w), s @ w), x, None, length=steps)[1] ** 2).sum()

    def written_out(x, w):
        for _ in range(steps):
            x = wg.tanh(x @ w + 0.1)
        return x.sum()

    for loss in (by_loop, by_scan, written_out):
        compare(loss, x, w)
        compare(lambda x, loss=loss: loss(x, w), x)  # the weight is a constant of the program


def test_views_of_small_matrices_in_memory():
    """Loops over rows (n, d) store a row of what a loop over n matrices computes: all of it is in memory then."""
    rng = np.random.default_rng(0)
    n, labels, indices = 30, rng.integers(0, 3, size=30), rng.integers(0, 30, size=60)
    a, v, u = rng.normal(size=(n, 3, 3)), rng.normal(size=n), rng.normal(size=3)

    def shifted_eigenvalues(a, v):
        scores = wg.linalg.eigvalsh(a + a.swapaxes(-1, -2)).at[:, 0].add(v)
        return -wg.log_softmax(scores, axis=-1)[np.arange(n), labels].mean()

    def gathered_solutions(a, u):
        y = wg.linalg.solve(a @ a.swapaxes(-1, -2) + np.eye(3), u[:, None])[..., 0]
        y = wg.zeros_like(y).at[indices].add(wg.tanh(y[indices]))
        return (y**2).mean()

    compare(shifted_eigenvalues, a, v)
    compare(gathered_solutions, a, u)


def test_sums_of_products_read_buffers_of_one_row():
    """A row kernel keeps values in a buffer for one row, from which a sum of products reads whole vectors."""
    rng = np.random.default_rng(0)
    x, m, w = [rng.normal(size=shape).astype("f4") for shape in ((260, 64), (64, 24), (2, 1))]

    def loss(x, m, w):
        b = (x @ m / 8).reshape(-1, 2, 12)
        return (((b @ b.swapaxes(-1, -2) / 12 + np.eye(2, dtype="f4")) @ w) ** 2).mean()

    compare(loss, x, m, w)
    x, m, w = [rng.normal(size=shape).astype("f4") for shape in ((64, 16), (16, 144), (12, 1))]

    def of_order_12(x, m, w):
        b = (x @ m / 8).reshape(-1, 12, 12)
        return ((b @ b.swapaxes(-1, -2) @ w) ** 2).mean()

    compare(of_order_12, x, m, w)
    with machine.using(vector_bytes=16):
        v = rng.normal(size=(2, 8, 3))
        compare(
            lambda v: wg.tanh(np.einsum("abc,abd->acd", *[wg.logsumexp(v, axis=(1,), keepdims=True) + v] * 2)).sum(), v
        )


def test_drawn_programs_on_small_matrices():
    for seed in range(6):
        compare_with_eager(draw_program(seed))


def test_diagonals_across_stacks_of_small_matrices():
    """A loop along such a diagonal needs another element of each matrix."""
    a = np.random.default_rng(0).normal(size=(4, 4, 4))
    compare(lambda a: (np.diagonal(wg.linalg.eigvalsh(a + a.swapaxes(-1, -2))) ** 2).sum(), a)
    compare(lambda a: (np.diagonal(wg.linalg.inv(a + 9 * np.eye(4)), 0, 0, 2) ** 2).sum(), a)
