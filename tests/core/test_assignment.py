"""Assignment of a value with a derivative to an element of a plain array raises an error that says what to do."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import wengert as wg


def filled(x, dtype=float):
    a = np.zeros((2, 2), dtype)
    a[0, 1] = x
    return a.sum()


@pytest.fixture(autouse=True)
def _untraced():
    """Without the trace function of a tool that measures coverage."""
    before = sys.gettrace()
    sys.settrace(None)
    yield
    assert sys.gettrace() is None
    sys.settrace(before)


@pytest.mark.parametrize("dtype", [float, np.float32, complex, int])
@pytest.mark.parametrize(
    "transform", [lambda f: lambda x: f(wg.tensor(x, requires_grad=True)), wg.grad, wg.jacfwd, wg.hessian]
)
def test_the_error_says_what_to_do(transform, dtype):
    with pytest.raises(
        wg.TrackedValueError, match=r"Assignment to an element of a plain ndarray.*wg\.zeros.*test_assignment\.py"
    ) as error:
        transform(lambda x: filled(x, dtype))(1.5)
    assert error.value.__cause__ is None
    assert "filled" in [entry.name for entry in error.traceback]


def test_garbage_that_is_collected_meanwhile_keeps_the_error():
    before, called = gc.get_threshold(), []
    gc.callbacks.append(lambda phase, info: called.append(phase))  # as a finalizer, a call at any time
    try:
        for threshold in range(1, 30):
            gc.set_threshold(threshold)
            with pytest.raises(wg.TrackedValueError, match="Assignment to an element of a plain ndarray"):
                filled(wg.tensor(1.5, requires_grad=True))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()
    assert called


def test_where_the_source_is_read():
    assert wg.compile(filled)(1.5) == wg.compile(wg.grad(filled))(1.5) * 1.5 == 1.5
    with pytest.raises(TypeError, match=r"would be rounded.*test_assignment\.py"):
        wg.compile(lambda x: filled(x, int))(1.5)


def test_under_vmap():
    with pytest.raises(wg.TrackedValueError, match=r"plain ndarray.*under vmap"):
        wg.vmap(filled)(np.ones(3))


def test_nothing_is_traced_afterwards():
    for _ in range(2):
        with pytest.raises(wg.TrackedValueError):
            filled(wg.tensor(1.5, requires_grad=True))
        assert sys.gettrace() is None
        assert sys._getframe().f_trace is None
    with pytest.raises(wg.TrackedValueError, match="float"):
        float(wg.tensor(1.5, requires_grad=True))
    with pytest.raises(IndexError):
        np.zeros(2)[5] = 1.0


def test_a_debugger_is_not_disturbed():
    def watch(frame, event, argument):
        return None

    sys.settrace(watch)
    try:
        with pytest.raises(ValueError, match="sequence") as error:
            filled(wg.tensor(1.5, requires_grad=True))
        assert sys.gettrace() is watch
    finally:
        sys.settrace(None)
    assert isinstance(error.value.__cause__, wg.TrackedValueError)


def test_what_has_no_derivative_is_assigned():
    assert filled(wg.tensor(1.5)) == 1.5
    assert wg.grad(lambda x: filled(np.floor(x)) * x)(1.5) == 1.0
