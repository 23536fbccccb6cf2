"""Native loops and choices, against the evaluation of the same graphs."""

import numpy as np
import pytest

import wengert as wg
from wengert.core import tree

rng = np.random.default_rng(14)


def assert_same(found, expected):
    """The same leaves: shapes and dtypes, and numbers up to the order of sums."""
    found, expected = tree.flatten(found)[0], tree.flatten(expected)[0]
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def assert_native(f, *args):
    """Compiled, f has no fallbacks and gives what its graph evaluates to; returns the report."""
    compiled = wg.compile(f)
    assert_same(compiled(*args), wg.trace(f, *args).evaluate(*args))
    report = compiled.report(*args)
    assert not report.fallbacks, report
    return report


def total(result):
    """One number of all results."""
    return sum(np.sum(np.sin(leaf)) for leaf in tree.flatten(result)[0])


def recurrence(a, x):
    return wg.fori_loop(1, x.shape[0], lambda k, x: x.at[k].set(np.sin(x[k - 1]) * a + x[k]), x)


def rows(a, x):
    return wg.fori_loop(1, x.shape[0], lambda k, x: x.at[k].set(a * np.cos(x[k - 1])), x)


def reversed_rows(a, x):
    return wg.fori_loop(1, x.shape[0], lambda k, x: x.at[k].set(a * x[k, ::-1] + x[k - 1]), x)


def columns(a, x):
    return wg.fori_loop(1, x.shape[1], lambda k, x: x.at[:, k].set(a * x[:, k - 1]), x)


def additions(a, x):
    return wg.fori_loop(0, 5, lambda k, x: x.at[k].add(a * x[-1] + x[k + 1]), x)


def fixed_part(a, x):
    def body(k, x):
        x = x.at[0].set(np.sin(x[1] + a))
        return x.at[1].add(x[0] * k)

    return wg.fori_loop(0, 4, body, x)


def swap(a, x):
    def body(k, x):
        left, right = x[k], x[k + 1]
        return x.at[k].set(right * a).at[k + 1].set(left)

    return wg.fori_loop(0, x.shape[0] - 1, body, x)


def old_and_new(a, x):
    def body(x, k):
        new = x.at[k].set(a * x[k + 1])
        return new, (x[k], new[k] + x[0], new[0])

    return wg.scan(body, x, np.arange(x.shape[0] - 1))


def whole_old_array(a, x):
    def body(x, k):
        new = x.at[k].set(a * x[k + 1])
        return new, (x, new)

    return wg.scan(body, x, np.arange(x.shape[0] - 1))


def two_versions(a, x):
    """Two updates of one array: only one of them can be in place."""

    def body(k, states):
        x, y = states
        return x.at[k].set(a), x.at[k].set(y[k] * 2.0)

    return wg.fori_loop(0, x.shape[0], body, (x, x))


def until_large(a, x):
    def body(state):
        k, x = state
        return k + 1, x.at[k].set(x[k - 1] * 1.5 + a)

    return wg.while_loop(lambda s: (s[0] < x.shape[0]) & (s[1][s[0] - 1] < 10.0), body, (1, x))[1]


def nested(a, x):
    def outer(i, x):
        return wg.fori_loop(1, x.shape[1], lambda j, x: x.at[i, j].set(np.sin(x[i, j - 1]) + a * x[i - 1, j]), x)

    return wg.fori_loop(1, x.shape[0], outer, x)


def in_branch(a, x):
    def body(k, x):
        return wg.cond(x[k] > 0.5, lambda x: x.at[k].set(x[k - 1] * a), lambda x: x, x)

    return wg.fori_loop(1, x.shape[0], body, x)


def gathered_rows(a, x):
    order = np.array([[0, 2], [1, 1], [3, 0]])
    return wg.scan(lambda x, i: (x.at[i].add(a * x[i]), x[i].sum()), x, order)


LINE, GRID = rng.uniform(0.1, 1.0, 9), rng.uniform(0.1, 1.0, (5, 8))
PROGRAMS = [
    (recurrence, LINE), (additions, LINE), (fixed_part, LINE), (swap, LINE), (old_and_new, LINE),
    (whole_old_array, LINE), (two_versions, LINE), (until_large, LINE), (in_branch, LINE), (gathered_rows, LINE),
    (rows, GRID), (reversed_rows, GRID), (columns, GRID), (nested, GRID), (gathered_rows, GRID),
    (fixed_part, rng.uniform(0.1, 1.0, 700)), (swap, rng.uniform(0.1, 1.0, 700)),
]  # fmt: skip
"""Programs that update arrays; the last ones with arrays of which parts at fixed indices are small."""


@pytest.mark.parametrize(("program", "x"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_updates(program, x):
    """States that are updated at an index: value and gradient."""
    assert_native(program, 0.7, x)
    assert_native(wg.value_and_grad(lambda a, x: total(program(a, x)), (0, 1)), 0.7, x)


@pytest.mark.parametrize(("program", "x"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_updates_against_finite_differences(program, x):
    """The compiled gradient of programs that update arrays."""
    f = wg.compile(lambda a, x: total(program(a, x)))
    slope = wg.compile(wg.grad(lambda a, x: total(program(a, x))))(0.7, x)
    assert slope == pytest.approx((f(0.7 + 1e-6, x) - f(0.7 - 1e-6, x)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("program", "x"),
    [p for p in PROGRAMS if p[0] not in (additions, fixed_part, old_and_new, whole_old_array, two_versions)],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_updates_are_in_place(program, x):
    """Forward and backward: no step copies the array."""
    for f in (program, wg.grad(lambda a, x: total(program(a, x)), (0, 1))):
        steps = [line for line in assert_native(f, 0.7, x).steps if "loop of" in line]
        assert steps
        assert all("in place" in line for line in steps), steps


def test_states_that_stay_are_not_copied():
    """A state that the body returns as it is, and one that it exchanges with another."""
    f = lambda x, y: wg.fori_loop(0, 5, lambda k, s: (s[0], s[2], s[1], s[3] + s[0][k]), (x, x, y, 0.0))
    report = assert_native(f, LINE, LINE[::-1].copy())
    body = report.llvm.split("define internal i32 @body.0(")[1].split("\n}")[0]
    assert body.count("call void @llvm.memcpy") == 2  # the states that change places
