"""Transposed matrices that are computed from constants: constants are stored transposed, and every bit stays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.forms.transposed_constants import transpose_constants
from wengert.compiler.program.prepare import prepare
from wengert.graph.graph import Graph

SEEDS = np.arange(1.0, 13.0).reshape(4, 3)
SEEDS[0, 1], SEEDS[2, 2] = -0.0, np.nan


def names(graph: Graph) -> list[str]:
    return [node.primitive.name for node in graph.operations]


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (SEEDS * x).T,
        lambda x: np.transpose(np.where(SEEDS > 4.0, SEEDS * x, -SEEDS)),
        lambda x: ((2.0 * SEEDS)[1:, ::2] * x[1:]).T,
        lambda x: np.pad(SEEDS * x, ((1, 0), (0, 2))).T,
        lambda x: np.transpose(SEEDS.reshape(2, 2, 3) * x, (2, 0, 1)),
        lambda x: np.transpose(SEEDS * x * np.ones((2, 1, 1)), (0, 2, 1)),
    ],
    ids=["product", "choice", "slices", "zeros around", "three axes", "broadcast"],
)
def test_results_keep_their_bits(f):
    x = np.array([0.5, -2.0, 3.0])
    compiled = wg.compile(f)(x)
    assert compiled.tobytes() == np.ascontiguousarray(f(x)).tobytes()


def test_a_hessian_has_no_transpose_and_its_constants_are_read_by_rows():
    x = np.linspace(-1.0, 2.0, 40)
    before = wg.trace(wg.hessian(rosenbrock), x)
    assert "transpose" in names(before.optimize())
    after = prepare(before)
    assert "transpose" not in names(after)
    assert np.array_equal(wg.compile(wg.hessian(rosenbrock))(x), before.evaluate(x))


def test_symmetric_constants_are_not_copied():
    graph = wg.trace(lambda x: (np.eye(3) * x).T, np.ones(3))
    (seeds,) = graph.constants
    after = transpose_constants(graph).validate()
    assert after.constants == [seeds]
    assert names(after) == ["reshape", "multiply"]


def test_slices_are_permuted():
    graph = wg.trace(lambda x: ((SEEDS * x)[1:, ::2]).T, np.ones(3)).optimize()
    after = transpose_constants(graph).validate()
    (key,) = [node.params["key"] for node in after.operations if node.primitive.name == "getitem"]
    assert key.key == (slice(0, 3, 2), slice(1, 4, 1))


def test_other_matrices_stay_as_they_are():
    given = wg.trace(lambda x: (SEEDS * x).T, np.ones((4, 3)))
    assert transpose_constants(given) is given
    of_lines = wg.trace(lambda x: (x[:, None] * x).T, np.ones(3))
    assert transpose_constants(of_lines) is of_lines
    data = np.arange(1 << 18, dtype=float).reshape(2, -1)
    large = wg.trace(lambda x: (data * x[:, None]).T, np.ones(2))
    assert transpose_constants(large) is large
    by_rows = wg.trace(lambda x: np.transpose(SEEDS.reshape(2, 2, 3) * x, (1, 0, 2)), np.ones(3))
    assert transpose_constants(by_rows) is by_rows


def test_expensive_matrices_are_computed_once():
    def f(x):
        y = np.exp(SEEDS * x)
        return y.T, np.sum(y * x)

    shared = wg.trace(f, np.ones(3))
    assert transpose_constants(shared) is shared
    alone = wg.trace(lambda x: f(x)[0], np.ones(3))
    assert transpose_constants(alone) is not alone
    cheap = wg.trace(lambda x: ((SEEDS * x).T, np.sum(SEEDS * x)), np.ones(3))
    assert "transpose" not in names(transpose_constants(cheap))
