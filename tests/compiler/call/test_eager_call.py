"""Large eager calls run natively, small ones and those without native code by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.call import eager_call
from wengert.core import native
from wengert.ops.signal.convolution import _convolution

RNG = np.random.default_rng(0)
LARGE, FILTERS = (8, 8, 32, 32), (16, 8, 3, 3)


@pytest.fixture
def programs(monkeypatch):
    """The operations of the programs that eager code asks for."""
    asked = []
    plain = eager_call.program_of

    def ask(primitive, *rest):
        asked.append(primitive.name)
        return plain(primitive, *rest)

    monkeypatch.setattr(eager_call, "program_of", ask)
    return asked


def arrays(dtype="f4", signals=LARGE):
    return RNG.normal(size=signals).astype(dtype), RNG.normal(size=FILTERS).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_convolutions_and_their_gradients_are_those_of_numpy(dtype, programs, monkeypatch):
    x, w = arrays(dtype)
    f = lambda x, w: (wg.signal.convolution(x, w, padding=1) ** 2).sum()
    found = [wg.signal.convolution(x, w, padding=1), *wg.grad(f, (0, 1))(x, w)]
    assert set(programs) == {"convolution", "convolution_signals", "convolution_filters"}
    monkeypatch.setattr(native, "IS_ON", False)
    expected = [wg.signal.convolution(x, w, padding=1), *wg.grad(f, (0, 1))(x, w)]
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=(1e-5 if dtype == "f4" else 1e-13) * abs(b).max())


def test_eager_and_compiled_code_have_the_same_bits():
    x, w = arrays()
    f = lambda x, w: wg.signal.convolution(x, w, padding=1)
    assert f(x, w).tobytes() == wg.compile(f)(x, w).tobytes()


def test_layouts_and_read_only_arrays(programs):
    x, w = arrays()
    expected = wg.signal.convolution(x, w)
    turned = np.asfortranarray(x)
    turned.flags.writeable = False
    assert wg.signal.convolution(turned, w[::-1][::-1]).tobytes() == expected.tobytes()
    assert programs == ["convolution"] * 2


def test_small_calls_and_other_dtypes_do_not_ask_for_programs(programs):
    x, w = arrays(signals=(1, 8, 5, 5))
    wg.signal.convolution(x, w)
    x, w = arrays()
    wg.signal.convolution(x.astype(complex), w.astype(complex))
    wg.signal.convolution(x, w.astype("f8"))
    assert not programs


def test_numpy_runs_what_has_no_native_code(programs):
    """A transposed convolution with many phases."""
    x, w = RNG.normal(size=(4, 16, 16, 16)), RNG.normal(size=(16, 8, 7, 7))
    out = wg.signal.convolution_transpose(x, w, stride=7)
    assert programs == ["convolution_signals"]
    np.testing.assert_allclose(out[0, :, :7, :7], np.einsum("c,cfij->fij", x[0, :, 0, 0], w), atol=1e-12)


def test_operations_without_an_entry_have_no_native_call():
    assert native.run_natively(wg.nextafter.primitive, [np.ones(3), np.ones(3)], {}) is None
    assert native.native_call.of(_convolution) is not None
