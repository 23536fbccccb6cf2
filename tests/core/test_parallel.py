from __future__ import annotations

import multiprocessing
import warnings

import numpy as np
import pytest

from wengert.core import parallel
from wengert.core.parallel import LARGE


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setenv("WENGERT_NUM_THREADS", "2")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("layout", [lambda x: x, np.asfortranarray, lambda x: x[::2], lambda x: x.T])
def test_same_numbers_to_the_last_bit(two_threads, dtype, layout):
    x = layout(np.random.default_rng(0).normal(size=(2 * LARGE // 16 + 3, 17)).astype(dtype))
    np.testing.assert_array_equal(parallel.parallel(np.sin)(x), np.sin(x))
    assert parallel.parallel(np.sin)(x).dtype == np.sin(x).dtype


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
def test_two_operands(two_threads, ufunc):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, LARGE + 5))
    operands = [
        y,
        2.0,
        np.float32(2),
        np.broadcast_to(3.0, x.shape),
        y.astype(np.float32),
        y[:1],
        np.ones((2, 1)),
        np.arange(x.size),
        y[::-1],
    ]
    for other in operands:
        for pair in ((x, other), (other, x)):
            result, expected = parallel.parallel(ufunc)(*pair), ufunc(*pair)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)


def test_integers_are_promoted(two_threads):
    x = np.arange(LARGE + 1)
    np.testing.assert_array_equal(parallel.parallel(np.sin)(x), np.sin(x))


def test_warnings_and_error_states_are_those_of_the_caller(two_threads):
    x = np.full(LARGE, -1.0)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel.parallel(np.log)(x)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        parallel.parallel(np.log)(x)


def _child(queue):
    x = np.ones(LARGE)
    queue.put(float(parallel.parallel(np.exp)(x)[-1]))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_survives_a_fork(two_threads):
    parallel.parallel(np.exp)(np.ones(LARGE))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == np.exp(1.0)
    process.join()
