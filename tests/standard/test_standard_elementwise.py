"""Elementwise functions and operators of the Array API standard: dtypes by promotion, shapes by broadcasting, values as
in NumPy.
"""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from tests.standard.calls import DTYPES, accepts, agree, check, run, same_numbers, sample
from tests.standard.elementwise import BINARY, COMPARISONS, IN_PLACE, OPERATORS, PAIRS, SCALARS, UNARY, domain, written

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_the_two_lists_are_complete():
    assert len(UNARY) == 38
    assert len(BINARY) == 28


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)], ids=str)
def test_unary(name, shape):
    """In every dtype that the standard allows."""
    allowed = [dtype for dtype in DTYPES if accepts(name, sample(dtype))]
    assert allowed
    for dtype in allowed:
        check(name, np.resize(domain(name, dtype), shape))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    """In every pair of dtypes that promote with each other and that the standard allows, with broadcasting."""
    for first, second in PAIRS:
        x1, x2 = domain(name, first), domain(name, second, seed=1)
        if accepts(name, x1, x2):
            check(name, x1, x2)
            check(name, x1[:, :1], x2[0])
            check(name, x1[0, 0], x2)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", SCALARS)
def test_binary_with_a_python_scalar(name, kind):
    """A Python scalar takes the dtype of the array, on either side."""
    for dtype in DTYPES:
        x, scalar = domain(name, dtype), SCALARS[kind]
        if accepts(name, x, scalar):
            check(name, x, scalar)
        if accepts(name, scalar, x):
            check(name, scalar, x)


@pytest.mark.parametrize("name", [*OPERATORS, *COMPARISONS])
def test_operators(name):
    """Between arrays; with a Python scalar on the right, and on the left (reflected)."""
    written_operator = written((OPERATORS | COMPARISONS)[name])
    for first, second in PAIRS:
        x1, x2 = domain(name, first), domain(name, second, seed=1)
        if accepts(name, x1, x2):
            agree(written_operator(wg.asarray(x1), wg.asarray(x2)), run(strict, name, x1, x2))
    for dtype in DTYPES:
        x = domain(name, dtype)
        for scalar in SCALARS.values():
            if accepts(name, x, scalar):
                agree(written_operator(wg.asarray(x), scalar), run(strict, name, x, scalar))
            if accepts(name, scalar, x):
                agree(written_operator(scalar, wg.asarray(x)), run(strict, name, scalar, x))


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_in_place(name):
    """An array keeps its dtype and shape; another name of it shows the change or not, as the implementation likes."""
    for first, second in PAIRS:
        x1, x2 = domain(name, first), domain(name, second, seed=1)
        if not accepts(name, x1, x2) or run(strict, name, x1, x2).dtype != getattr(strict, first):
            continue
        expected = run(strict, name, x1, x2)
        agree(IN_PLACE[name](wg.asarray(x1, copy=True), wg.asarray(x2)), expected)
        agree(IN_PLACE[name](wg.asarray(x1, copy=True), wg.asarray(x2[0])), run(strict, name, x1, x2[0]))
        agree(IN_PLACE[name](wg.asarray(x1[0, 0]), wg.asarray(x2[0, 0])), run(strict, name, x1[0, 0], x2[0, 0]))
        for scalar in SCALARS.values():
            if accepts(name, x1, scalar) and run(strict, name, x1, scalar).dtype == getattr(strict, first):
                agree(IN_PLACE[name](wg.asarray(x1, copy=True), scalar), run(strict, name, x1, scalar))


@pytest.mark.parametrize("name", ["add", "multiply", "bitwise_and"])
def test_an_operator_in_place_cannot_change_the_shape(name):
    with pytest.raises(ValueError, match="."):
        IN_PLACE[name](wg.ones(3, dtype=wg.int64), wg.ones((2, 3), dtype=wg.int64))


@pytest.mark.parametrize(
    ("symbol", "name"), [("+", "positive"), ("-", "negative"), ("~", "bitwise_invert"), ("abs", "abs")]
)
def test_unary_operators(symbol, name):
    for dtype in DTYPES:
        x = sample(dtype)
        if accepts(name, x):
            agree(eval(f"{symbol}(x)", {"x": wg.asarray(x)}), run(strict, name, x))


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
def test_matmul_operator(dtype):
    x1, x2 = sample(dtype), sample(dtype, (3, 3), seed=1)
    expected = run(strict, "matmul", x1, x2)
    agree(wg.asarray(x1) @ wg.asarray(x2), expected)
    y = wg.asarray(x1, copy=True)
    y @= wg.asarray(x2)
    agree(y, expected)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool" and not dtype.startswith("complex")])
def test_clip(dtype):
    """By Python scalars and by arrays of the same dtype, on both sides or on one."""
    x = sample(dtype, (3, 4))
    low, high = (2, 4) if x.dtype.kind in "iu" else (-0.25, 0.5)
    check("clip", x, low, high)
    check("clip", x, min=low)
    check("clip", x, max=high)
    check("clip", x)
    check("clip", x, np.full((3, 1), low, dtype), np.full(4, high, dtype))
    check("clip", x[0, 0], low, None)


@pytest.mark.parametrize("name", ["add", "less", "hypot", "logical_or", "nextafter"])
def test_shapes_that_do_not_broadcast_are_an_error(name):
    dtype = "bool" if name == "logical_or" else "float64"
    with pytest.raises(ValueError, match="."):
        run(wg, name, sample(dtype, (2, 3)), sample(dtype, (2, 4)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_and_copysign_are_exact(dtype):
    x1 = np.array(
        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype
    )
    for x2 in (x1, x1[::-1].copy(), np.asarray(np.inf, dtype), np.asarray(-0.0, dtype)):
        for name in ("nextafter", "copysign"):
            same_numbers(run(wg, name, x1, x2), getattr(np, name)(x1, x2), exact=True)
