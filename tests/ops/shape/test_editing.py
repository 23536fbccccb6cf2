"""Entries put in, taken out and exchanged, blocks, and functions of lines: as NumPy has them, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_as_numpy, assert_same, calls, check_modes

import wengert as wg

RNG = np.random.default_rng(21)
X, Y, Z = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5)), RNG.normal(size=6)
N = np.array([[2, 0, 1, 1, 0], [0, 1, 2, 2, 1], [1, 1, 0, 0, 2], [2, 2, 2, 1, 0]])
SOME = np.array([True, False, True, False])

VALUES: dict[str, list[tuple[Any, ...]]] = {
    "append": [(X, Y), (X, Y, {"axis": 1}), (X, 1), (Z, X)],
    "insert": [
        (Z, 2, 9.0), (Z, [1, 3], Z[:2]), (Z, [1, 1, 0], [7.0, 8.0, 9.0]), (X, 1, Y[0], {"axis": 0}),
        (X, 1, Y[:, 0], {"axis": 1}),
        (X, [1], Y[:, :1], {"axis": 1}), (X, [0, 2], Y[:, :2], {"axis": 1}), (X, 3, 1.0),
        (X, slice(1, 3), 0.5, {"axis": 1}),
        (X, -1, 1.0, {"axis": 1}), (np.arange(4), 1, 2.7), (Z, 2, Z[:3]), (Z, [], 1.0), (X, 1, Y, {"axis": 0}),
        (X, SOME, 4.0, {"axis": 0}),
    ],
    "delete": [
        (Z, 2), (Z, [0, -1]), (X, 1, {"axis": 1}), (X, slice(None, None, 2), {"axis": 0}), (X, [3, 7]),
        (X, SOME, {"axis": 0}), (Z, []),
    ],
    "resize": [(X, (3, 9)), (Z, 4), (Z, (0, 2)), (Z[:0], (2,)), (np.array(3.0), (2, 2))],
    "trim_zeros": [
        (np.array([0.0, 0, 1, 0, 2, 0]),), (np.array([0.0, 1, 0]), "f"), (np.array([0.0, 1, 0]), "b"), (np.zeros(3),),
        (np.array([[0, 0, 0], [0, 2, 3], [0, 0, 1]]),), (np.array([[0, 0, 0], [0, 2, 3]]), {"axis": 1}),
    ],
    "block": [([X, Y],), ([[X, Y], [Y, X]],), ([Z, 1.0, Z],), ([[X], [X[0]]],), (X,), ([[X[None]], [Y[None]]],)],
    "choose": [
        (N, (X, Y, 2.0)), (N - 4, (X, Y), None, "wrap"), (N * 3, (X, Y), None, "clip"), (N[0], np.stack([X, Y, X])),
        (np.array(1), (X, Z[:5])),
    ],
    "rollaxis": [(X[None], 2), (X[None], 0, 2), (X[None], 1, 3), (X[None], -1, -2)],
    "apply_over_axes": [(np.sum, X[None], (0, 2)), (np.cumsum, X, [1])],
}  # fmt: skip


@calls(VALUES)
def test_values(name, args, kwargs):
    assert_as_numpy(name, args, kwargs)


def test_trim_zeros_of_a_list_is_a_list():
    assert wg.trim_zeros([0, 1, 2, 0]) == [1, 2]


def of_line(x):
    return np.stack([x.sum(), (x * x).sum(), x[0]])


def filled(a, v):
    a = a + 0.0
    np.fill_diagonal(a, v)
    return a


def in_place(method, *args):
    def f(a):
        a = a + 0.0
        getattr(a, method)(*args)
        return a

    return f


def through_flat(a, v):
    a = a * 1.0
    a.flat[[1, 4]] = v
    return a


SMOOTH = {
    "append": (lambda x, y: np.append(x, y, 0), [X, Y]),
    "insert": (lambda x, v: np.insert(x, [1, 1, 3], v, 1), [X, Y[:, :3]]),
    "insert one": (lambda x, v: np.insert(x, 2, v, 0), [X, Y[0]]),
    "insert, broadcast": (lambda x, v: np.insert(x, [0, 2], v, 1), [X, np.array(0.4)]),
    "delete": (lambda x: np.delete(x, [0, 2], 1), [X]),
    "resize": (lambda x: np.resize(x, (3, 9)), [X]),
    "block": (lambda x, y: np.block([[x, y], [y, x * x]]), [X, Y]),
    "block of numbers": (lambda x, y: np.block([x, y[0], 1.0]), [Z, Y]),
    "choose": (lambda x, y: np.choose(N, (x, y, x * y)), [X, Y]),
    "fill_diagonal": (filled, [X, Z[:4]]),
    "rollaxis": (lambda x: np.rollaxis(x, 1), [X]),
    "apply_along_axis": (lambda x: np.apply_along_axis(of_line, 0, x), [X]),
    "apply_along_axis to a number": (lambda x: np.apply_along_axis(np.linalg.norm, 1, x), [X]),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.prod, x, [0, 1]), [X]),
    "sort in place": (in_place("sort", 0), [X]),
    "partition in place": (in_place("partition", (1, 2, 3)), [X]),  # NumPy leaves the order of others open
    "fill": (lambda a: in_place("fill", 2.0)(a) + a, [X]),
    "put": (in_place("put", [1, 3], [2.0, 3.0]), [X]),
    "flat": (through_flat, [X, Z[:2]]),
    "compress": (lambda x: x.compress([True, False, True], 1), [X]),
}


@pytest.mark.parametrize(("f", "args"), SMOOTH.values(), ids=SMOOTH)
def test_derivatives(f, args):
    check_modes(f, args)


def test_trimmed_zeros_have_no_gradient():
    check_modes(lambda x: np.trim_zeros(np.append(x, 0.0)), [Z], traced=False, batched=False)


def test_fill_diagonal_writes_where_numpy_does():
    for shape, wrap in (((3, 3), False), ((5, 2), False), ((5, 2), True), ((2, 5), True), ((3, 3, 3), False)):
        plain, value = np.zeros(shape), wg.zeros(shape)
        np.fill_diagonal(plain, [1.0, 2.0], wrap)
        np.fill_diagonal(value, [1.0, 2.0], wrap)
        assert_same(value, plain)


def test_flat():
    x = wg.tensor(X)
    assert len(x.flat) == X.size
    assert [v.item() for v in x.flat] == X.ravel().tolist()
    assert_same(x.flat[2:7:2], X.flat[2:7:2])
    x.flat[3] = 9.0
    assert x[0, 3].item() == 9.0
    x.flat[5:5] = 1.0
    assert x.tobytes() == np.asarray(x).tobytes()
    assert_same(wg.tensor(N[0]).choose((X[0], X[1], X[2])), N[0].choose((X[0], X[1], X[2])))


def test_errors_say_where():
    x, r = wg.tensor(X), wg.tensor(X, requires_grad=True)
    for call, error, message in (
        (lambda: np.insert(np.arange(3), 1, r[0, 0]), TypeError, "lose its gradient"),
        (lambda: np.resize(x, (2, -1)), ValueError, "non-negative"),
        (lambda: np.trim_zeros(x, "fx"), ValueError, "`trim`"),
        (lambda: np.block([[x, x], x]), ValueError, "equally deep"),
        (lambda: wg.block([(x, x)]), TypeError, "tuple"),
        (lambda: np.block([[x], []]), ValueError, "empty"),
        (lambda: np.choose(N + 1, (x, x, x)), ValueError, "3 choices"),
        (lambda: np.choose(x, (x, x)), TypeError, "needs integers"),
        (lambda: np.choose(N, (x, x, x), mode="other"), ValueError, "mode"),
        (lambda: np.fill_diagonal(x[0], 1.0), ValueError, "two axes"),
        (lambda: np.fill_diagonal(wg.zeros((2, 3, 2)), 1.0), ValueError, "equally long"),
        (lambda: np.rollaxis(x, 0, 5), np.exceptions.AxisError, "`start`"),
        (lambda: np.apply_along_axis(of_line, 0, x[:, :0]), ValueError, "iteration dimensions"),
        (lambda: np.apply_over_axes(lambda a, axis: a[0, 0], x, [0, 1]), ValueError, "apply_over_axes"),
    ):
        with pytest.raises(error, match=message + r".*test_editing\.py:\d+"):
            call()
