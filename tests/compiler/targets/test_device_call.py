"""Calls of compiled functions with arrays on a device, here the emulator: signatures, copies, and errors."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.fresh_python import run_python
from tests.stand_in.library import ON_GPU

import wengert as wg
from wengert.core.devices import LIBRARIES

FLOATS = np.dtype(float)


@pytest.fixture
def backend(cuda):
    """The emulator as what compiles for the stand-in, or a GPU."""
    made = LIBRARIES["cuda"].backend()
    if hasattr(made, "compiled"):
        made.compiled.clear()
    return made


def test_arrays_of_a_device_give_arrays_of_the_device(backend):
    f = wg.compile(wg.value_and_grad(lambda x: np.sin(x).sum()))
    x = np.linspace(0.0, 1.0, 1000)
    for _ in range(3):  # the later ones by the entry
        value, gradient = f(backend.to_device(x, FLOATS))
        assert isinstance(value, backend.array_type)
        assert isinstance(gradient, backend.array_type)
        np.testing.assert_allclose(gradient.get(), np.cos(x), rtol=1e-15)
    if not ON_GPU:
        assert len(backend.compiled) == 1


def test_the_trace_is_that_of_numpy(backend):
    traces = []
    f = wg.compile(lambda x: traces.append(1) or x * 2)
    np.testing.assert_array_equal(f(np.ones(5)), 2 * np.ones(5))
    f(backend.to_device(np.ones(5), FLOATS))
    assert len(traces) == 1
    f(backend.to_device(np.ones(6), FLOATS))
    assert len(traces) == 2


def test_trees_numbers_and_static_arguments(backend):
    f = wg.compile(lambda tree, scale, power: {"out": tree["x"] ** power * scale + tree["y"][0]}, static_argnums=2)
    on = lambda x: backend.to_device(x, FLOATS)
    found = f({"x": on(np.arange(4.0)), "y": [on(np.ones(4))]}, 0.5, 3)
    np.testing.assert_array_equal(found["out"].get(), np.arange(4.0) ** 3 * 0.5 + 1)


def test_views_are_copied(backend):
    f = wg.compile(lambda x: x + 1)
    x = backend.to_device(np.arange(20.0), FLOATS)
    f(x[:10])
    np.testing.assert_array_equal(f(x[::2]).get(), np.arange(0, 20.0, 2) + 1)
    np.testing.assert_array_equal(f(x[1:11]).get(), np.arange(1.0, 11) + 1)


def test_with_a_device_arrays_of_numpy_are_copied_in_and_out(backend):
    f = wg.compile(lambda x: (x * 2, x.sum()), device="cuda")
    twice, total = f(np.arange(3.0))
    assert type(twice) is np.ndarray
    assert isinstance(total, np.float64)
    np.testing.assert_array_equal(twice, [0.0, 2.0, 4.0])


def test_mixed_arrays_are_an_error(backend):
    with pytest.raises(ValueError, match=r"arrays of NumPy and arrays on a device.*Move all"):
        wg.compile(lambda x, y: x + y)(backend.to_device(np.ones(3), FLOATS), np.ones(3))


@pytest.mark.skipif(ON_GPU, reason="it needs two GPUs")
def test_arrays_on_two_devices_are_an_error(backend):
    x, y = wg.ones(3, device="cuda:0").value, wg.ones(3, device="cuda:1").value
    with pytest.raises(ValueError, match="arrays on 2 devices"):
        wg.compile(lambda x, y: x + y)(x, y)


def test_captured_tensors_must_be_on_the_device(backend):
    w = wg.tensor(np.ones(3))
    with pytest.raises(ValueError, match=r"uses a tensor of shape \(3,\) on the CPU"):
        wg.compile(lambda x: x * w)(backend.to_device(np.ones(3), FLOATS))


def test_a_recorded_call_is_not_run_without_its_history(backend):
    """It goes on as an operation of the tape, and its parts are on two devices."""
    w = wg.tensor(np.ones(3), requires_grad=True)
    with pytest.raises(ValueError, match=r"forward pass.*arrays of NumPy and arrays on a device"):
        wg.compile(lambda x: (x * w).sum())(backend.to_device(np.arange(3.0), FLOATS))


def test_other_calls_go_on_as_before(backend):
    f = wg.compile(lambda x: x * x)
    assert isinstance(f(np.ones(3)), np.ndarray)
    np.testing.assert_array_equal(wg.grad(lambda x: f(x).sum())(np.ones(3)), 2 * np.ones(3))


def test_an_unknown_device_is_an_error():
    with pytest.raises(ValueError, match=r"no device 'tpu'.*'cpu', or on 'cuda'"):
        wg.compile(lambda x: x, device="tpu")(np.ones(3))


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs cupy.*pip install 'wengert\[cuda\]'"):
        wg.compile(lambda x: x, device="cuda")(np.ones(3))


def test_nothing_of_this_is_imported_for_the_processor():
    code = """
import sys, numpy as np, wengert as wg
wg.compile(lambda x: x * 2)(np.ones(3))
assert not [name for name in sys.modules if "compiler.targets" in name or name == "cupy"]
"""
    run_python(code)
