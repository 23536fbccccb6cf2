"""Python numbers that loops and choices capture, or are given: they take the dtype of arrays, as in eager code."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

PROGRAMS = {
    "cond": lambda x, a: wg.cond(x.sum() > 0, lambda x: x * a, lambda x: x - a, x),
    "operand of cond": lambda x, a: wg.cond(x.sum() > 0, lambda x, a: x * a, lambda x, a: x - a, x, a),
    "captured by one branch": lambda x, a: wg.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * a, x),
    "switch": lambda x, a: wg.switch(1, [lambda x: x, lambda x: x * a + a], x),
    "fori_loop": lambda x, a: wg.fori_loop(0, 3, lambda k, s: s * a + 1, x),
    "scan": lambda x, a: wg.scan(lambda s, y: (s * a, s * (2 * a) + y), x, np.ones(4, x.dtype))[1],
    "while_loop": lambda x, a: wg.while_loop(lambda s: s.sum().real < 50 * a, lambda s: s * a + 1, x),
    "loop in a branch": lambda x, a: wg.cond(
        x.sum() > 0, lambda x: wg.fori_loop(0, 2, lambda k, s: s * a, x), lambda x: x / (a + 1), x
    ),
}
WAYS = {
    "value": lambda f: f,
    "gradient": lambda f: lambda x, a: wg.grad(lambda x: np.sum(f(x, a)).real)(x),
    "jvp": lambda f: lambda x, a: wg.jvp(lambda x: f(x, a), (x,), (x,))[1],
    "vmap": lambda f: lambda x, a: wg.vmap(lambda x: f(x, a))(np.stack([x, 0.5 * x])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_python_number_takes_the_dtype_of_arrays(name, way):
    f = WAYS[way](PROGRAMS[name])
    compiled = wg.compile(f)
    for dtype in (np.float32, np.float64):
        for a in (1.5, 2):
            x = np.linspace(0.5, 1.5, 3, dtype=dtype)
            expected, found = f(x, a), compiled(x, a)
            assert found.dtype == expected.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", ["cond", "operand of cond", "fori_loop", "while_loop"])
def test_integers_stay_integers(name):
    x = np.array([1, 2, 3], np.int32)
    expected, found = PROGRAMS[name](x, 2), wg.compile(PROGRAMS[name])(x, 2)
    assert found.dtype == expected.dtype == np.int32
    np.testing.assert_array_equal(found, expected)
