"""Tapes that have a program are recognised without an outline, and no other tape is taken for one of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.call.taped_programs import PROGRAMS, M, X, eager_gradient

import wengert as wg
from wengert.compiler.call import backward_programs
from wengert.core import machine, native
from wengert.modes import known_tapes, outlines


@pytest.fixture
def outlined(at_once, monkeypatch):
    """Backward passes are compiled at once; the list has a number for each tape that was outlined."""
    made = []
    make = outlines.OutlinedTape
    monkeypatch.setattr(native, "met_large", True)
    monkeypatch.setattr(backward_programs, "PROGRAMS", {})
    monkeypatch.setattr(outlines, "OutlinedTape", lambda *given: made.append(1) or make(*given))
    known_tapes.KNOWN.clear()
    return made


def node_by_node(monkeypatch, function, x):
    with monkeypatch.context() as patch:
        patch.setattr(native, "IS_ON", False)
        return eager_gradient(function, x)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "views"])  # which has no program
def test_a_tape_that_comes_again_is_recognised(name, outlined, monkeypatch):
    function, x = PROGRAMS[name]
    eager_gradient(function, x)
    assert len(outlined) == 1
    other = (1.25 * x).astype(x.dtype)
    found = eager_gradient(function, other)
    assert len(outlined) == 1
    known_tapes.KNOWN.clear()
    np.testing.assert_array_equal(found, eager_gradient(function, other))  # of the program, from an outline
    assert len(outlined) == 2
    expected = node_by_node(monkeypatch, function, other)
    eps = np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=64 * eps * np.abs(expected).max())


def in_order(x, first):
    """The same sum of two terms, which are recorded in one order or the other."""
    if first:
        a = np.sin(x)
        b = np.sin(x)
    else:
        b = np.sin(x)
        a = np.sin(x)
    return np.sum(a / b)


def scaled(k):
    return lambda x: np.sum(np.sin(x) * k)


SQUARE = M[:128]
OTHERS = {
    "a constant": (scaled(2.0), scaled(3.0), X),
    "the sign of zero": (scaled(0.0), scaled(-0.0), X),
    "a NaN": (scaled(2.0), scaled(np.nan), X),
    "an infinity": (scaled(np.inf), scaled(-np.inf), X),
    "the class of a constant": (scaled(2), scaled(2.0), X),
    "a number of NumPy": (scaled(2.0), scaled(np.float64(2.0)), X),
    "a parameter": (
        lambda x: np.sum(np.sum(np.sin(x), axis=0) ** 2),
        lambda x: np.sum(np.sum(np.sin(x), axis=1) ** 2),
        SQUARE,
    ),
    "a key": (lambda x: np.sum(np.sin(x)[:64]), lambda x: np.sum(np.sin(x)[64:]), SQUARE),
    "an operation": (lambda x: np.sum(np.sin(x)), lambda x: np.sum(np.cos(x)), X),
    "a wire": (lambda x: np.sum(np.sin(x) * np.sin(x)), lambda x: (lambda y: np.sum(y * y))(np.sin(x)), X),
    "an array": (lambda x: np.sum(np.sin(x) * x), lambda x: np.sum(np.sin(x) * wg.stop_gradient(x)), X),
    "a shape": (lambda x: np.sum(np.sin(x)), lambda x: np.sum(np.sin(np.concatenate([x, x]))), X),
    "a dtype": (lambda x: np.sum(np.sin(x)), lambda x: np.sum(np.sin(x.astype("f4"))), X),
    "a layout": (lambda x: np.sum(np.sin(x + 0.0)), lambda x: np.sum(np.sin(x.T + 0.0)), SQUARE),
    "the number of operands": (
        lambda x: np.sum(np.sin(np.concatenate([x, x]))),
        lambda x: np.sum(np.sin(np.concatenate([x, x, x]))),
        X,
    ),
    "the order": (lambda x: in_order(x, True), lambda x: in_order(x, False), X),
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_tapes_that_differ_in_one_thing_are_not_recognised(what, outlined, monkeypatch):
    first, second, x = OTHERS[what]
    for _ in range(2):
        eager_gradient(first, x)
    assert len(outlined) == 1
    found = eager_gradient(second, x)
    assert len(outlined) == 2
    expected = node_by_node(monkeypatch, second, x)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if what == "a dtype" else 1e-13)
    for function in (first, second):
        eager_gradient(function, x)
    assert len(outlined) == 2  # both are known


def test_leaves_that_were_two_and_are_one(outlined):
    """The cotangents of a leaf are added up, also if a known tape has the same operations on two leaves."""

    def gradients(x, y):
        np.sum(np.sin(x) * np.cos(y)).backward()
        return [w.grad.numpy() for w in (x, y)]

    leaves = lambda count: [wg.tensor(X, requires_grad=True) for _ in range(count)]
    for _ in range(2):
        np.testing.assert_allclose(gradients(*leaves(2))[1], -(np.sin(X) ** 2), rtol=1e-13)
    assert len(outlined) == 1
    (w,) = leaves(1)
    np.testing.assert_allclose(gradients(w, w)[0], np.cos(2 * X), rtol=1e-12, atol=1e-14)
    assert len(outlined) == 2


def test_hooks_of_leaves_and_between_operations_run(outlined):
    seen = []
    for hooked in (None, None, "leaf", "between"):
        w = wg.tensor(X, requires_grad=True)
        y = np.sin(w)
        if hooked == "leaf":
            w.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.shape))
        elif hooked == "between":
            y.register_hook(lambda t: seen.append(t.shape))
        np.sum(y).backward()
        np.testing.assert_allclose(w.grad.numpy(), np.cos(X), rtol=1e-14)
    assert seen == [X.shape] * 2


def test_a_known_tape_is_released(outlined):
    for _ in range(2):
        w = wg.tensor(X, requires_grad=True)
        y = np.sum(np.sin(w))
        y.backward(retain_graph=True)
        y.backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * np.cos(X), rtol=1e-14)
        with pytest.raises(wg.GradientError, match="released"):
            y.backward()
    assert len(outlined) == 1


def test_seeds_may_be_several_arrays_or_numbers(outlined):
    """A gradient starts from a number of NumPy, `backward` from an array of one; two results may start a pass."""
    function = lambda x: np.sum(np.sin(x))
    for _ in range(2):
        wg.grad(function)(X)
        eager_gradient(function, X)
    assert len(outlined) == 1
    for _ in range(2):
        w = wg.tensor(X, requires_grad=True)
        y = np.sin(w)
        wg.autograd.backward([np.sum(y), np.sum(y * y)])
        np.testing.assert_allclose(w.grad.numpy(), np.cos(X) * (1 + 2 * np.sin(X)), rtol=1e-13)
    assert len(outlined) == 2


def test_unaligned_and_foreign_arrays_are_outlined(outlined):
    memory = np.zeros(8 * X.size + 1, np.uint8)[1:].view(np.float64)
    memory[:] = X
    memory.flags.writeable = False
    function = lambda weights: lambda x: np.sum(np.sin(x) * weights)
    for weights in (X, X, memory):
        np.testing.assert_allclose(eager_gradient(function(weights), X), np.cos(X) * X, rtol=1e-14)


def test_the_number_of_known_tapes_is_limited(outlined):
    functions = [lambda x, k=k: np.sum(np.sin(x) * k) for k in (2.0, 3.0, 4.0)]
    with machine.using(max_tapes_alike=2):
        for function in (*functions, functions[2], functions[1]):
            eager_gradient(function, X)
        assert [len(alike) for alike in known_tapes.KNOWN.values()] == [2]
        assert len(outlined) == 3
        eager_gradient(functions[0], X)
        assert len(outlined) == 4
    with machine.using(max_tapes_counted=2):
        for function in (*functions[:2], lambda x: np.mean(np.sin(x))):
            eager_gradient(function, X)
        assert sum(map(len, known_tapes.KNOWN.values())) == 1


def test_known_tapes_keep_no_arrays(outlined):
    function = lambda x: np.sum(np.sin(x) * x)
    for _ in range(2):
        w = wg.tensor(X, requires_grad=True)
        function(w).backward()
    ((known,),) = known_tapes.KNOWN.values()
    assert not any(isinstance(value, np.ndarray) for value in known.match.__globals__.values())
