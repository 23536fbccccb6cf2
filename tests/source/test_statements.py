"""Each kind of statement on traced values: the traced program has the value and the derivatives of the eager one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.source.statements import EXAMPLES, OF_ROWS, PROGRAMS, filled, lorenz

import wengert as wg

name = lambda value: getattr(value, "__name__", "")


def plain(f):
    """The program without compilation: a traced bound has a dtype, a number has not."""
    return f


def close(found, wanted):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=name)
def test_values_and_gradients_of_traces(f, x):
    close(wg.trace(f, x).evaluate(x), f(x))
    close(wg.trace(wg.grad(f), x).evaluate(x), wg.grad(f)(x))


@pytest.mark.parametrize(("f", "x"), EXAMPLES, ids=name)
def test_native_code_and_its_derivatives(f, x):
    compiled, gradient = wg.compile(f), wg.grad(f)(x)
    close(compiled(x), f(x))
    close(wg.compile(wg.grad(f))(x), gradient)
    close(wg.grad(compiled)(x), gradient)


@pytest.mark.parametrize(("f", "x"), EXAMPLES, ids=name)
def test_forward_and_second_order(f, x):
    t = np.ones_like(x)
    close(wg.trace(lambda x: wg.jvp(f, (x,), (t,))[1], x).evaluate(x), np.sum(wg.grad(f)(x)))
    second = lambda x: wg.grad(lambda y: np.sum(wg.grad(f)(y)))(x)
    close(wg.trace(second, x).evaluate(x), second(x))


@pytest.mark.parametrize(("f", "x"), EXAMPLES, ids=name)
def test_batches_of_compiled_functions(f, x):
    factors = [1.0, 0.9] if f in OF_ROWS else [1.0, 3.0, -2.0]
    batch = np.stack([x * k for k in factors])
    close(wg.vmap(wg.compile(f))(batch), [f(row) for row in batch])


def test_a_long_loop_is_one_operation_whatever_its_length():
    graph = wg.trace(lorenz, 0.3)
    assert [node.primitive.name for node in graph.operations].count("loop") == 1
    assert len(graph.operations) < 20


def test_a_plain_array_that_is_filled_with_traced_values():
    def fill(x):
        h = np.zeros(30)
        h[0] = x
        for k in range(1, 30):
            h[k] = np.cos(h[k - 1])
        h += x
        return h.sum()

    def stacked(x):
        rows = [x]
        for _ in range(29):
            rows.append(np.cos(rows[-1]))
        return wg.stack(rows).sum() + 30 * x

    close(wg.compile(fill)(0.4), stacked(0.4))
    close(wg.compile(wg.grad(fill))(0.4), wg.grad(stacked)(0.4))
    assert filled(np.ones(40)) == wg.trace(filled, np.ones(40)).evaluate(np.ones(40))
