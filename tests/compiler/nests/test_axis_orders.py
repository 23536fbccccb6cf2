"""Layouts: axes of values in the order in which loops read them, with the numbers of eager code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.nests.layouts import choose_layouts, free_values
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_plan import Plan, make_plan, nests_of
from wengert.core import machine
from wengert.core.tree import flatten
from wengert.graph.ir import Constant

RNG = np.random.default_rng(36)
N, EDGES = 120, 300
HEADS, TAILS = RNG.integers(0, N, EDGES), RNG.integers(0, N, EDGES)
WEIGHTS = RNG.normal(size=(N, 20))
POINT = RNG.normal(size=20)


def springs(p):
    """Differences along edges of values at nodes, which depend on a few parameters."""
    q = np.tanh(WEIGHTS @ p)
    return np.sin(q[HEADS] - q[TAILS])


def plan(f: Callable, *args: np.ndarray) -> Plan:
    return make_plan(prepare(wg.compile(f).trace(*args)), (), "")


def test_tangents_are_behind_computed_indices():
    """The columns of a Jacobian at one node are neighbours, which are read as vectors for each edge."""
    schedule = plan(wg.jacobian(springs), POINT).schedule
    assert (1, 0) in [order for node, order in schedule.axis_orders.items() if node.shape == (20, N)]
    compiled = wg.compile(wg.jacobian(springs))
    assert any("axes 1, 0 in memory" in text for text in compiled.report(POINT).nests)
    np.testing.assert_allclose(compiled(POINT), wg.jacobian(springs)(POINT), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.exp(x)[:, HEADS % 40] * 2.0 + np.exp(x)[:, TAILS % 40],
        lambda x: np.sum((x * x)[:, HEADS % 40] * np.cos(x)[:, TAILS % 40], axis=1),
        lambda x: (np.sin(x).T + 1.0).ravel()[::3] + np.cumsum(np.sin(x))[:1],
        lambda x: np.stack([np.tanh(x)[:, TAILS % 40], np.tanh(x)[:, HEADS % 40]]).max(0),
        lambda x: wg.zeros((90, EDGES)).at[:30].set(np.exp(x[:30])[:, HEADS % 40]),
    ],
    ids=["columns", "sums of columns", "transposed", "stack", "part"],
)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_values_are_those_of_eager_code(f: Callable, dtype: str):
    x = RNG.normal(size=(50, 40)).astype(dtype)
    rtol, atol = (1e-12, 1e-12) if dtype == "f8" else (1e-4, 1e-2)
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=rtol, atol=atol)
    loss = lambda x: np.sum(f(x) ** 2)
    np.testing.assert_allclose(wg.compile(wg.grad(loss))(x), wg.grad(loss)(x), rtol=rtol, atol=atol)


SEEDS = np.arange(1.0, 13.0).reshape(4, 3)
SEEDS[0, 1], SEEDS[2, 2] = -0.0, np.nan


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (SEEDS * x).T,
        lambda x: np.transpose(np.where(SEEDS > 4.0, SEEDS * x, -SEEDS)),
        lambda x: ((2.0 * SEEDS)[1:, ::2] * x[1:]).T,
        lambda x: np.pad(SEEDS * x, ((1, 0), (0, 2))).T,
        lambda x: np.transpose(SEEDS.reshape(2, 2, 3) * x, (2, 0, 1)),
        lambda x: np.transpose(SEEDS * x * np.ones((2, 1, 1)), (0, 2, 1)),
        lambda x: np.exp(SEEDS * x).T / np.exp(SEEDS * x).T.sum(0),
    ],
    ids=["product", "choice", "slices", "zeros around", "three axes", "broadcast", "rows"],
)
def test_constants_are_stored_as_they_are_read(f: Callable):
    x = np.array([0.5, -2.0, 3.0])
    with machine.using(max_operations_of_unrolled_program=0):
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-14)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_a_hessian_is_read_and_written_by_rows():
    """Its columns are computed from seeds, which are constants: they are stored by columns."""
    x = np.linspace(-1.0, 2.0, 40)
    compiled = wg.compile(wg.hessian(rosenbrock))
    np.testing.assert_allclose(compiled(x), wg.hessian(rosenbrock)(x), rtol=1e-13)
    nests = list(nests_of(plan(wg.hessian(rosenbrock), x)))
    (matrix,) = [nest for nest in nests if len(nest.domain) == 2]
    assert matrix.strided[matrix.vector_axis] == 0
    assert all(isinstance(node, Constant) for node in matrix.schedule.axis_orders)


def test_data_of_the_user_are_not_copied():
    data = np.arange(1 << 18, dtype=float).reshape(2, -1)
    assert not plan(lambda x: (data * x[:, None]).T, np.ones(2)).schedule.axis_orders


def test_results_and_what_others_read_keep_their_order():
    """Products, sums along rows, NumPy and the caller of a program know the order of axes."""
    x = RNG.normal(size=(50, 40))
    for f in (
        lambda x: np.exp(x)[:, HEADS % 40] @ np.ones(EDGES) + np.exp(x) @ np.ones(40),
        lambda x: (np.exp(x)[:, HEADS % 40], np.exp(x)),
        lambda x: np.sinc(np.exp(x)).sum() + np.exp(x)[:, HEADS % 40].sum(),
    ):
        schedule = plan(f, x).schedule
        assert not [node for node in schedule.axis_orders if node not in free_values(schedule)]
        assert not any(out in schedule.axis_orders for out in schedule.graph.outputs)
        for a, b in zip(flatten(wg.compile(f)(x))[0], flatten(f(x))[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_rows_that_are_read_as_rows_stay():
    x = RNG.normal(size=(50, 40))
    assert not choose_layouts(plan(lambda x: np.exp(x)[HEADS % 50] * 2.0, x).schedule)
