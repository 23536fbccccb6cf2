"""Native windows and their gradients: the bits of NumPy's, ties and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.threads import pool as threads
from wengert.core import native
from wengert.ops.signal.windows import sliding_windows, window_pick, window_place, window_spread, window_sum

RNG = np.random.default_rng(0)
SLIDING = {
    "signals": ((3, 40), (3,), (1,), (1,)),
    "images": ((2, 3, 9, 21), (3, 3), (2, 2), (1, 1)),
    "gaps inside of windows": ((2, 11, 30), (2, 3), (1, 3), (2, 4)),
    "gaps between windows": ((2, 9, 25), (2, 2), (3, 3), (1, 1)),
    "volumes": ((2, 5, 6, 7), (2, 3, 2), (1, 1, 1), (1, 1, 1)),
    "one window": ((4, 3, 3), (3, 3), (2, 2), (1, 1)),
}


def problem(name, dtype="f4"):
    """An array with ties and NaN, windows, and a cotangent."""
    shape, *rest = SLIDING[name]
    windows = sliding_windows(shape[-len(rest[0]) :], *rest)
    x = np.round(RNG.normal(size=shape), 1).astype(dtype)
    x.flat[:: 17 if name != "one window" else 50] = np.nan
    return x, windows, RNG.normal(size=window_sum(x, windows=windows).shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", SLIDING)
def test_places_have_the_bits_of_numpy(name, dtype):
    x, windows, t = problem(name, dtype)
    f = lambda t, x: window_place(t, x, windows=windows)
    compiled = wg.compile(f)
    assert not compiled.report(t, x).fallbacks
    assert compiled(t, x).tobytes() == f(t, x).tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", SLIDING)
def test_spreads_have_the_bits_of_numpy(name, dtype):
    x, windows, t = problem(name, dtype)
    t.flat[::5] = -0.0
    f = lambda t: window_spread(t, windows=windows, lengths=x.shape[-len(windows) :])
    compiled = wg.compile(f)
    assert not compiled.report(t).fallbacks
    assert compiled(t).tobytes() == f(t).tobytes()


@pytest.mark.parametrize("name", SLIDING)
def test_spreads_are_the_transpose_of_sums(name):
    """For small integers, whose sums are exact."""
    x, windows, t = problem(name, "f8")
    x, t = RNG.integers(-9, 9, x.shape).astype("f8"), RNG.integers(-9, 9, t.shape).astype("f8")
    spread = wg.compile(lambda t: window_spread(t, windows=windows, lengths=x.shape[-len(windows) :]))
    assert (spread(t) * x).sum() == (t * window_sum(x, windows=windows)).sum()


@pytest.mark.parametrize("operation", [window_sum, lambda x, windows: window_pick(x, x, windows=windows)])
def test_large_windows_have_the_bits_of_numpy(operation):
    x = RNG.normal(size=(2, 17, 23)).astype("f4")
    windows = sliding_windows((17, 23), (7, 8), (2, 3), (1, 1))
    f = lambda x: operation(x, windows=windows)
    compiled = wg.compile(f)
    assert not compiled.report(x).fallbacks
    assert compiled(x).tobytes() == f(x).tobytes()


def test_the_gradient_is_that_of_the_chosen_elements():
    x = RNG.normal(size=(2, 3, 9, 12))
    f = lambda x: (wg.nn.functional.max_pool2d(x, 3, 2, 1) ** 3).sum()
    compiled = wg.compile(wg.grad(f))
    assert not compiled.report(x).fallbacks
    step = RNG.normal(size=x.shape)
    slope = (f(x + 1e-6 * step) - f(x - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose((compiled(x) * step).sum(), slope, rtol=1e-6)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    x = RNG.normal(size=(16, 8, 33, 33)).astype("f4")
    windows = sliding_windows((33, 33), (3, 3), (2, 2), (1, 1))
    t = RNG.normal(size=(16, 8, 16, 16)).astype("f4")
    f = lambda t, x: (window_place(t, x, windows=windows), window_spread(t, windows=windows, lengths=(33, 33)))
    expected = [a.tobytes() for a in f(t, x)]
    for count in ("1", "2", "5"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        compiled = wg.compile(f)
        assert all([a.tobytes() for a in compiled(t, x)] == expected for _ in range(3))
    threads.LIMITS.threads = 1


@pytest.mark.parametrize("is_tile", [True, False])
def test_large_eager_calls_have_the_bits_of_numpy(is_tile, monkeypatch):
    x = np.round(RNG.normal(size=(16, 16, 34, 34)), 1).astype("f4")
    windows = sliding_windows((34, 34), (2, 2) if is_tile else (3, 3), (2, 2), (1, 1))
    t = RNG.normal(size=window_sum(x, windows=windows).shape).astype("f4")
    run_all = lambda: [
        window_pick(x, x, windows=windows),
        window_pick(x, x + 1.0, windows=windows),
        window_place(t, x, windows=windows),
        window_sum(x, windows=windows),
        window_spread(t, windows=windows, lengths=(34, 34)),
    ]
    calls = []
    plain = native.run_natively
    monkeypatch.setattr(native, "run_natively", lambda p, *rest: calls.append(p.name) or plain(p, *rest))
    found = run_all()
    assert calls == ["window_pick", "window_pick", "window_place", "window_sum", "window_spread"]
    monkeypatch.setattr(native, "IS_ON", False)
    for a, b in zip(found, run_all(), strict=True):
        assert a.tobytes() == b.tobytes()


def test_views_that_are_stored_are_written_by_a_loop():
    """A program of views has no operations, and yet is not unrolled."""
    x = np.arange(8 * 50.0).reshape(8, 50)
    f = lambda x: np.broadcast_to(x[:, :, None], (8, 50, 2)).reshape(8, 100)
    compiled = wg.compile(f)
    assert compiled.report(x).llvm.count("store") < 200
    assert compiled(x).tobytes() == f(x).tobytes()
