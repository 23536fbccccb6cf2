"""Sets of indices through the whole table: whatever has a derivative that is not zero is in them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampling import by_operation
from tests.test_table import (
    ELEMENTWISE,
    OTHERS,
    SHAPES,
    case_arguments,
    cases_of,
    live_arguments,
    op_of,
    sample,
    several,
)

import wengert as wg
from wengert.core.errors import TrackedValueError
from wengert.ops.signal.convolution import convolution
from wengert.structure.dependence import find_dependences
from wengert.structure.patterns import sparsity

SCOPES = pytest.mark.parametrize("scope", ["global", "local"])
STEP = 1e-6


def flattened(outs) -> np.ndarray:
    return np.concatenate([np.zeros(0), *[np.asarray(out).reshape(-1) for out in several(outs)]])


def differences(f, args, live) -> np.ndarray:
    """The Jacobian by differences of values: an oracle that knows nothing of sets."""
    columns = []
    for i in live:
        for index in np.ndindex(args[i].shape):
            ends = []
            for step in (STEP, -STEP):
                moved = np.array(args[i])
                moved[index] += step
                ends.append(flattened(f(*args[:i], moved, *args[i + 1 :])))
            columns.append((ends[0] - ends[1]) / (2 * STEP))
    return np.array(columns).T if columns else np.zeros((flattened(f(*args)).size, 0))


def sets_of(f, args, live, scope) -> np.ndarray:
    def call(leaves):
        moved = dict(zip(live, leaves, strict=True))
        return f(*[moved.get(i, a) for i, a in enumerate(args)])

    return find_dependences(call, [args[i] for i in live], [], scope).toarray()


def gradient_of(op, args, live):
    """The gradients of a weighted sum of all that an operation returns."""
    rng = np.random.default_rng(7)
    weights = [rng.uniform(0.5, 1.5, np.shape(out)) for out in several(op(*args))]

    def total(*x):
        return sum((w * abs_squared(out)).sum() for w, out in zip(weights, several(op(*x)), strict=True))

    return wg.grad(total, tuple(live))


def abs_squared(out):
    return out.real**2 + out.imag**2 if out.dtype.kind == "c" else out**2


def assert_covers(sets, jacobian, tolerance=1e-6):
    assert sets.shape == jacobian.shape
    missed = ~sets & (np.abs(jacobian) > tolerance)
    assert not missed.any(), f"missed at {np.argwhere(missed).tolist()}"


def smooth(primitive, args):
    """Arguments for which differences make sense: matrices that stay symmetric and definite where an operation reads
    one half only.
    """
    args = [np.asarray(a) for a in args]
    if primitive.name in ("cholesky", "eigh") and args[0].ndim >= 2:
        args[0] = args[0] + np.swapaxes(args[0], -1, -2) + 9 * np.eye(args[0].shape[-1])
    return args


@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
@SCOPES
def test_elementwise(primitive, scope):
    args = sample(primitive, SHAPES["broadcast"])
    live = live_arguments(primitive, args)
    sets = sets_of(op_of(primitive), args, live, scope)
    assert_covers(sets, differences(op_of(primitive), args, live))
    assert (sets.sum(axis=1) <= len(live)).all(), "each result depends on one element of each operand"


@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
@SCOPES
def test_elementwise_second_order(primitive, scope):
    args = sample(primitive, SHAPES["broadcast"])
    live = live_arguments(primitive, args)
    gradient = gradient_of(op_of(primitive), args, live)
    assert_covers(sets_of(gradient, args, live, scope), differences(gradient, args, live), 1e-4)


@by_operation(("primitive", "case"), cases_of(OTHERS))
@SCOPES
def test_cases(primitive, case, scope):
    args = smooth(primitive, case_arguments(case))
    live = live_arguments(primitive, args)
    op = op_of(primitive, case.params)
    assert_covers(sets_of(op, args, live, scope), differences(op, args, live))


@by_operation(("primitive", "case"), cases_of(OTHERS))
def test_cases_second_order(primitive, case):
    args = smooth(primitive, case_arguments(case))
    live = live_arguments(primitive, args)
    if not live or any(out.size == 0 for out in several(op_of(primitive, case.params)(*args))):
        return
    gradient = gradient_of(op_of(primitive, case.params), args, live)
    has_mask = any(a.dtype == bool for a in args)
    found = sets_of(
        gradient, args, live, "local" if has_mask else "global"
    )  # shapes that depend on a mask cannot be traced
    assert_covers(found, differences(gradient, args, live), 1e-3)


def test_the_test_can_fail():
    with pytest.raises(AssertionError, match="missed"):
        assert_covers(np.zeros((2, 2), bool), np.eye(2))


X = np.array([3.0, 1.0, 2.0, 0.0])
LINEAR = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 4.0]])


@pytest.mark.parametrize(
    ("f", "everywhere", "here"),
    [
        (lambda x: x[1:] * x[:-1], ["1100", "0110", "0011"], ["1100", "0110", "0001"]),
        (
            lambda x: np.where(x > 1.5, x, 2.0 * x[::-1]),
            ["1001", "0110", "0110", "1001"],
            ["1000", "0010", "0010", "1000"],
        ),
        (lambda x: LINEAR @ x, ["1010", "0001"], ["1010", "0001"]),
        (lambda x: x @ LINEAR.T, ["1010", "0001"], ["1010", "0001"]),
        (lambda x: np.einsum("ij,j->i", LINEAR, x), ["1010", "0001"], ["1010", "0001"]),
        (lambda x: np.einsum("i,->i", x, np.zeros(())), ["0000"] * 4, ["0000"] * 4),
        (np.sort, ["1111"] * 4, ["0001", "0100", "0010", "1000"]),
        (
            lambda x: np.sort(x.reshape(2, 2), axis=1),
            ["1100", "1100", "0011", "0011"],
            ["0100", "1000", "0001", "0010"],
        ),
        (np.max, ["1111"], ["1000"]),
        (np.cumsum, ["1000", "1100", "1110", "1111"], ["1000", "1100", "1110", "1111"]),
        (lambda x: x.reshape(2, 2).sum(axis=0), ["1010", "0101"], ["1010", "0101"]),
        (
            lambda x: np.array([0.0, 1.0, 0.0, 1.0]) * np.exp(x),
            ["0000", "0100", "0000", "0001"],
            ["0000", "0100", "0000", "0001"],
        ),
        (lambda x: x[np.array([True, False, True, False])], ["1000", "0010"], ["1000", "0010"]),
        (lambda x: x[np.argsort(x)[:1]], ["1111"], ["0001"]),
        (lambda x: np.stack([x[0], x[3]]) ** 2, ["1000", "0001"], ["1000", "0000"]),
        (lambda x: np.floor(x) + wg.stop_gradient(x), ["0000"] * 4, ["0000"] * 4),
        (lambda x: np.concatenate([x[:1], np.ones(1), x[3:]]), ["1000", "0000", "0001"], ["1000", "0000", "0001"]),
        (lambda x: np.convolve(x, [1.0, 1.0], "valid"), ["1100", "0110", "0011"], ["1100", "0110", "0011"]),
        (
            lambda x: np.fft.fft(x.reshape(2, 2)).real,
            ["1100", "1100", "0011", "0011"],
            ["1100", "1100", "0011", "0011"],
        ),
        (
            lambda x: wg.special.softmax(x.reshape(2, 2), 0),
            ["1010", "0101", "1010", "0101"],
            ["1010", "0101", "1010", "0101"],
        ),
    ],
)
def test_patterns_are_as_small_as_they_can_be(f, everywhere, here):
    for scope, expected in (("global", everywhere), ("local", here)):
        found = sparsity(f, X, scope=scope).toarray()
        assert ["".join("01"[int(b)] for b in row) for row in found] == expected, scope


def test_assignment_in_place():
    def f(x):
        y = np.zeros_like(x)
        y[1:] = x[:-1]
        y[0] += x[3]
        y[2] *= x[0]
        return y

    assert np.argwhere(sparsity(f, X).toarray()).tolist() == [[0, 3], [1, 0], [2, 0], [2, 1], [3, 2]]


def test_convolutions_see_their_windows():
    x, w = np.ones((1, 1, 6)), np.ones((1, 1, 3))
    distance = np.abs(np.subtract.outer(range(6), range(6)))
    assert np.array_equal(sparsity(lambda x: convolution(x, w, padding=1), x).toarray(), distance < 2)
    grouped = sparsity(lambda x: convolution(x, np.ones((2, 1, 1)), groups=2), np.ones((1, 2, 3)))
    assert np.array_equal(grouped.toarray(), np.eye(6, dtype=bool))
    squares = lambda x: np.sum(convolution(x, w) ** 2)
    assert np.array_equal(sparsity(squares, x, kind="hessian").toarray(), distance < 3)


def test_one_matrix_for_a_stack_of_them():
    """The shape of y is that of a stack of vectors as well, but `solve` takes it for a matrix that meets each matrix of
    x.
    """
    x = np.random.default_rng(0).normal(size=(3, 3, 3)) + 3 * np.eye(3)
    y = np.random.default_rng(1).normal(size=(3, 3))
    f = lambda y: np.linalg.solve(x, y)
    assert_covers(sparsity(f, y).toarray(), differences(f, [y], [0]))
    assert sparsity(lambda x: np.linalg.inv(x), x).nnz == 3 * 81


def test_control_flow_on_numbers_has_the_patterns_of_all_branches():
    def f(x):
        return x * 2.0 if x[0] > 0 else x[::-1] * 1.0

    eye = np.eye(4, dtype=bool)
    assert np.array_equal(sparsity(f, X).toarray(), eye | eye[::-1])
    with pytest.raises(TrackedValueError, match="different things") as caught:
        sparsity(lambda x: x if x[0] > 0 else x[1:], X)
    assert "scope='local'" in caught.value.__notes__[0]


def test_control_flow_without_source_needs_a_point():
    f = eval("lambda x: x * 2.0 if x[0] > 0 else x[::-1] * 1.0")
    with pytest.raises(TrackedValueError, match="truth of a traced value") as caught:
        sparsity(f, X)
    assert "scope='local'" in caught.value.__notes__[0]
    assert np.array_equal(sparsity(f, X, scope="local").toarray(), np.eye(4, dtype=bool))
    assert np.array_equal(sparsity(f, -X, scope="local").toarray(), np.eye(4, dtype=bool)[::-1])


def test_control_flow_that_is_read_depends_on_what_any_branch_does():
    def f(x):
        return x * 2.0 if x[0] > 0 else x[::-1] * 1.0

    either = np.eye(4, dtype=bool) | np.eye(4, dtype=bool)[::-1]
    assert np.array_equal(sparsity(f, X).toarray(), either)
    assert np.array_equal(sparsity(f, X, scope="local").toarray(), np.eye(4, dtype=bool))


def test_other_arguments_are_not_known_everywhere():
    f = lambda x, scale, shift=0: x * scale + shift
    assert sparsity(f, X, 0.0).nnz == 4
    assert sparsity(f, X, np.zeros(4), shift=1.0).nnz == 4
    assert sparsity(f, X, 0.0, scope="local").nnz == 0
    assert sparsity(f, X, wg.tensor(0.0)).nnz == 4


def test_integers_are_constants():
    powers = lambda x, n: np.stack([x**k for k in range(n)]).sum(axis=0)[:n]
    assert sparsity(powers, X, 3).shape == (3, 4)


def test_several_arguments_and_results():
    f = lambda a, b: (a * b[0], b[1:])
    pattern = sparsity(f, np.ones(2), np.ones(3), argnums=(0, 1))
    assert pattern.toarray().astype(int).tolist() == [
        [1, 0, 1, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]


def test_functions_with_rules_of_their_own():
    @wg.custom_vjp
    def doubled(x):
        return x * 2.0

    doubled.defvjp(lambda x: (x * 2.0, None), lambda saved, t: (t * 2.0,))
    assert sparsity(lambda x: doubled(x[:2]), X).toarray().tolist() == [[True, True, False, False]] * 2
    straight = wg.checkpoint(lambda x: x * 2.0)
    assert sparsity(straight, X).nnz == 4
    assert sparsity(wg.compile(lambda x: x * 2.0), X).nnz == 4
