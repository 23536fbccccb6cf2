import numpy as np
import pytest
from tests.graph.passes.programs import names

import wengert as wg
from wengert.graph.passes.updates import add_at_indices

X, LONG = np.linspace(-1.0, 1.0, 6), np.linspace(-1.0, 1.0, 512)


CASES = {
    "an element at a computed index": (lambda x, i: x[i] * x.sum(), (X, 2), ["add_at"]),
    "two elements": (lambda x, i: x[i] * x[i + 1] * x.sum(), (X, 2), ["add_at", "add_at"]),
    "repeated indices": (lambda x, i: (x[i] * x[0]).sum() * x.sum(), (X, np.array([1, 3, 3])), ["add_at"]),
    "a fixed part of a small array": (lambda x, i: x[1] * (x * x).sum(), (X, 2), []),
}


@pytest.mark.parametrize("name", CASES)
def test_sums_at_indices(name):
    f, args, expected = CASES[name]
    graph = wg.trace(wg.grad(f), *args)
    after = add_at_indices(graph).validate()
    assert [n for n in names(after) if n == "add_at"] == expected
    np.testing.assert_allclose(after.evaluate(*args), graph.evaluate(*args), rtol=1e-15)


def test_fixed_part_of_a_large_input():
    """An input is in memory, so a small part is added there; a computed value is added to as it is computed."""

    def part(t, v, scale):
        t = t * scale if scale is not None else t
        return t + wg.grad(lambda x: x[3] * v)(np.zeros(512))

    in_memory = wg.trace(lambda t, v: part(t, v, None), LONG, 2.0)
    assert names(add_at_indices(in_memory)) == ["multiply", "add_at"]
    computed = wg.trace(lambda t, v: part(t, v, 2.0), LONG, 2.0)
    assert "add_at" not in names(add_at_indices(computed))


def test_parts_of_what_is_added_to_a_whole_array_are_no_steps():
    """The sum after them computes every element, and an input would be copied before a part is added to it."""

    def parts(t, v, w):
        return t + wg.grad(lambda x: x[3] * v)(np.zeros(512)) + wg.grad(lambda x: x[:2].sum() * v)(np.zeros(512)) + w

    graph = wg.trace(parts, LONG, 2.0, LONG)
    assert "add_at" not in names(add_at_indices(graph))
    kept = wg.trace(lambda t, v, w: (parts(t, v, w), t + wg.grad(lambda x: x[5] * v)(np.zeros(512))), LONG, 2.0, LONG)
    assert names(add_at_indices(kept)).count("add_at") == 1


def test_parts_of_what_is_added_to_at_an_index_are_added_in_memory():
    """Both are steps of few elements, on the memory of the input if it is the state of a loop."""

    def parts(t, v, i):
        return t + wg.grad(lambda x: x[3] * v)(np.zeros(512)) + wg.grad(lambda x: x[i] * v)(np.zeros(512))

    graph = wg.trace(parts, LONG, 2.0, 7)
    assert names(add_at_indices(graph)).count("add_at") == 2


def test_scatter_with_other_uses_stays():
    def f(t, v, i):
        part = wg.grad(lambda x: x[i] * v)(np.zeros(6))
        return t + part, part

    graph = wg.trace(f, X, 2.0, 3)
    assert add_at_indices(graph) is graph
