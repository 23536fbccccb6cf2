"""Native loops and choices, against the evaluation of the same graphs."""

import numpy as np
import pytest
from tests.compiler.program.evaluated_graphs import assert_same, total

import wengert as wg

rng = np.random.default_rng(14)


def assert_native(f, *args):
    """Compiled, f has no fallbacks and gives what its graph evaluates to; returns the report."""
    compiled = wg.compile(f)
    assert_same(compiled(*args), wg.trace(f, *args).evaluate(*args))
    report = compiled.report(*args)
    assert not report.fallbacks, report
    return report


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


# Sizes, dtypes and aliases


def assert_evaluates(f, *args):
    """Compiled, f gives what its graph evaluates to, twice; its arguments stay as they were."""
    before = [np.array(a) for a in args]
    compiled = wg.compile(f)
    expected = wg.trace(f, *args).evaluate(*args)
    for _ in range(2):
        assert_same(compiled(*args), expected)
        for a, b in zip(args, before, strict=True):
            np.testing.assert_array_equal(a, b)
    return compiled.report(*args)


def both(f, *args):
    """The value, and the gradient with respect to the first argument."""
    assert_evaluates(f, *args)
    assert_evaluates(wg.grad(lambda x, *rest: total(f(x, *rest))), *args)


def test_many_steps():
    xs = rng.uniform(-1.0, 1.0, 1_000_000)
    f = lambda a, xs: wg.scan(lambda s, x: (s * a + x, s), 0.0, xs)
    last, rows = wg.compile(f)(0.5, xs)
    assert rows.shape == xs.shape
    s = 0.0
    for x, row in zip(xs[:1000], rows[:1000], strict=True):
        assert row == s
        s = s * 0.5 + x
    slope = wg.compile(wg.grad(lambda a, xs: f(a, xs)[0]))(0.5, xs)
    powers = 0.5 ** np.arange(200.0)
    assert last == pytest.approx((powers * xs[::-1][:200]).sum(), rel=1e-12)
    assert slope == pytest.approx((np.arange(1, 200) * powers[:-1] * xs[::-1][1:200]).sum(), rel=1e-12)


EMPTY = {
    "scan over nothing": lambda x: wg.scan(lambda s, q: (s * q, (s, q + 1.0)), x, np.zeros((0, 2))),
    "fori_loop without steps": lambda x: wg.fori_loop(3, 3, lambda i, s: s.at[i].set(np.sin(s[i])), x),
    "while that is false at once": lambda x: wg.while_loop(lambda s: s.sum() > 1e9, lambda s: s * 2.0, x),
    "states without elements": lambda x: wg.scan(lambda s, q: ((s[0] * 2.0, s[1] + q), s), (x[:, :0], x), x)[0][1],
    "slices without elements": lambda x: wg.scan(lambda s, q: (s * 2.0 + q.sum(), q), x, np.zeros((3, 0))),
    "one step": lambda x: wg.scan(lambda s, q: (s * q, s), x, np.full((1, 2), 3.0)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    both(EMPTY[name], np.array([[0.3, 0.7], [0.1, -0.4]]))


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128"])
def test_dtypes_of_states(dtype):
    x = (rng.uniform(0.0, 3.0, (4, 3)) * (1 + 1j if dtype.startswith("complex") else 1)).astype(dtype)

    def f(x):
        whole = wg.scan(lambda s, q: (np.where(s == q, s, q), (s, q)), x[0], x)
        return whole, wg.fori_loop(1, 4, lambda k, s: s.at[k].set(s[k - 1]), x)

    assert_evaluates(f, x)


ALIASES = {
    "two states that begin as one input": lambda x: wg.scan(lambda s, q: ((s[0] * q, s[1] + q), None), (x, x), x)[0],
    "a state that is also a sequence and captured": lambda x: wg.scan(lambda s, q: (s * q + x[0], s), x, x),
    "both updated in place": lambda x: wg.fori_loop(
        1, 3, lambda k, s: (s[0].at[k].set(s[1][k - 1]), s[1].at[k].set(s[0][k - 1])), (x, x)
    ),
    "states and inputs as results": lambda x: (x, wg.scan(lambda s, q: (s.at[0].set(q), s), x, x), x),
    "new states as outputs, twice": lambda x: wg.scan(lambda s, q: (s * q, (s * q, s * q, s)), x, x),
    "states that change places": lambda x: wg.scan(lambda s, q: ((s[1], s[0] * q), s[0]), (x, x * 2.0), x),
    "a state that becomes a slice": lambda x: wg.scan(lambda s, q: (q, s), x[0], x),
    "a state that becomes a constant": lambda x: wg.scan(lambda s, q: (np.ones(3), s * q), x[0], x),
    "loops in a row on one array": lambda x: wg.fori_loop(
        0, 3, lambda k, s: s.at[k].set(s[k] * 2.0), wg.fori_loop(0, 2, lambda k, s: s.at[k + 1].set(s[k]), x)
    ),
    "an array before and after": lambda x: (
        x * 2.0,
        wg.fori_loop(0, 3, lambda k, s: s.at[k].set(s[k] * 2.0), x * 2.0),
        (x * 2.0).sum(),
    ),
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases(name):
    both(ALIASES[name], rng.uniform(0.1, 1.0, (3, 3)))


def test_captured_tensors_that_change():
    """What a body captures is read at each call."""
    weight = wg.Tensor(np.array([0.5, 0.25]))
    f = wg.compile(lambda x: wg.scan(lambda s, q: (s * weight + q, s[0]), x, np.ones((4, 2))))
    g = wg.compile(wg.grad(lambda x: total(wg.fori_loop(0, 2, lambda k, s: s.at[k].set(s[k] * weight[k]), x))))
    for value in ([0.5, 0.25], [2.0, -1.0]):
        weight[...] = np.array(value)
        s, rows = np.ones(2), []
        for _ in range(4):
            rows.append(s[0])
            s = s * np.array(value) + 1.0
        assert_same(f(np.ones(2)), (s, np.array(rows)))
        np.testing.assert_allclose(g(np.ones(2)), np.cos(np.array(value)) * value, rtol=1e-14)


TRANSFORMS = {
    "vmap": lambda f: lambda a, x: wg.vmap(f, in_axes=(0, None))(np.array([0.7, 0.2]) * a, x),
    "vmap of grad": lambda f: lambda a, x: wg.vmap(wg.grad(f), in_axes=(0, None))(np.array([0.7, 0.2]) * a, x),
    "jvp": lambda f: lambda a, x: wg.jvp(f, (a, x), (1.0, np.cos(x))),
    "grad of grad": lambda f: wg.grad(wg.grad(f)),
    "hessian vector product": lambda f: lambda a, x: wg.hvp(lambda x: f(a, x), x, np.cos(x)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", [recurrence, swap, old_and_new, nested, in_branch, rows, until_large])
def test_transforms_of_updates(program, transform):
    x = GRID if program in (rows, nested) else LINE
    assert_evaluates(TRANSFORMS[transform](lambda a, x: total(program(a, x))), 0.7, x)


def test_update_of_a_known_number():
    """An array of one element may be part of the code; to be updated, it needs memory."""
    f = lambda v, i: np.sin(wg.tensor(np.array([2.0])).at[i].set(v)) + wg.tensor(np.array([3.0])).at[i].add(v)
    assert_same(wg.compile(f)(0.5, 0), np.sin(np.array([0.5])) + 3.5)
