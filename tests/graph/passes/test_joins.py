import numpy as np
import pytest
from tests.graph.passes.programs import names

import wengert as wg
from wengert.core import machine
from wengert.graph.passes import optimize
from wengert.graph.passes.joins import join_pieces

X = np.linspace(-1.0, 1.0, 12)
PAIRS, TABLE = X.reshape(2, 2, 3), X.reshape(4, 3)

CASES = {
    "two elements of an axis": (lambda x: np.sum(x[:, 0] * x[:, 1]), PAIRS, ["stack"]),
    "three elements of the last axis": (lambda x: np.sum(x[:, 0] * x[:, 1] * x[:, 2]), TABLE, ["stack"]),
    "halves": (lambda x: np.sum(x[:6] * x[6:]), X, ["concatenate"]),
    "unequal parts": (lambda x: np.sum(x[:2]) ** 2 * np.sum(x[2:7]) ** 2 * np.sum(x[7:]) ** 2, X, ["concatenate"]),
    "a row and the others": (lambda x: np.sum(x[0] * x[1:]), TABLE, ["concatenate"]),
    "neighbours, but not all": (lambda x: np.sum(x[1] * x[2]), TABLE, ["stack", "scatter"]),
    "no neighbours": (lambda x: np.sum(x[0] * x[2]), TABLE, ["scatter", "scatter"]),
    "parts that overlap": (lambda x: np.sum(x[1:] * x[:-1]), X, ["scatter", "scatter"]),
    "steps": (lambda x: np.sum(x[::2] * x[1::2]), X, ["scatter", "scatter"]),
    "parts and the whole": (lambda x: np.sum(x * x) * np.sum(x[:6] * x[6:]), X, ["concatenate"]),
}


@pytest.mark.parametrize("name", CASES)
def test_sums_of_pieces(name):
    f, x, expected = CASES[name]
    graph = wg.trace(wg.grad(f), x)
    after = optimize(graph).validate()
    assert [n for n in names(after) if n in ("stack", "concatenate", "scatter")] == expected
    np.testing.assert_array_equal(after.evaluate(x), graph.evaluate(x))


def test_many_pieces_are_joined_in_groups():
    """The operands of one operation are limited, so that the time of the pass is proportional to the program."""
    x = np.linspace(1.0, 2.0, 2 * machine.current.max_joined_pieces)
    graph = wg.trace(wg.grad(lambda x: sum([x[i] ** 2 for i in range(len(x))])), x)
    after = join_pieces(graph).validate()
    assert max(len(node.args) for node in after.operations) == machine.current.max_joined_pieces
    np.testing.assert_array_equal(after.evaluate(x), graph.evaluate(x))


def test_pieces_of_fewer_axes_than_the_sum():
    """The cotangent of a row of a matrix with one row is added without a reshape, if it broadcasts."""

    def f(x):
        v = wg.zeros(3)
        for k in range(3):
            v[k] = np.ravel(x)[k] ** 2 + (v[k - 1] if k else 0.0)
        return np.sum(np.sin(v) * np.arange(3.0)) + np.sum(x * 2.0)

    x = X[None, 3:6]
    expected = wg.trace(wg.grad(f), x).evaluate(x)
    np.testing.assert_allclose(optimize(wg.trace(wg.grad(f), x)).validate().evaluate(x), expected, rtol=1e-15)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(x), expected, rtol=1e-14)
