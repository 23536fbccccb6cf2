"""Kernels of threads: elements, reductions in pieces, rows, products, and what may fail."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE, assert_as_compiled, on_gpu
from tests.compiler.targets.emulator import Emulated

import wengert as wg
from wengert.compiler.program.prepare import prepare_for_device
from wengert.graph.ir import is_a
from wengert.ops.contraction.products import matmul

rng = np.random.default_rng(0)
LONG, TALL, WIDE = rng.normal(size=100_003), rng.normal(size=(3000, 7)), rng.normal(size=(40, 1500))
ROWS = rng.normal(size=(300, 70))


@pytest.mark.parametrize("x", [LONG, TALL, WIDE, ROWS, LONG[:1], LONG[:5], TALL[:0]], ids=lambda x: str(x.shape))
@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod", "var"])
def test_reductions_of_everything(name, x):
    if x.size or name in ("sum", "prod"):
        assert_as_compiled(lambda x: getattr(np, name)(x * 0.9 + 0.1), x)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("x", [TALL, WIDE, ROWS], ids=lambda x: str(x.shape))
def test_reductions_along_axes(x, axis):
    f = lambda x: (x.sum(axis), np.sin(x).max(axis), x.var(axis), wg.logsumexp(x, axis=axis), (x > 1).any(axis))
    assert_as_compiled(f, x)


def test_a_reduction_of_an_axis_in_the_middle():
    assert_as_compiled(lambda x: (x.sum(1), x.max((0, 2)), x.mean((1, 2))), rng.normal(size=(9, 130, 11)))


def test_reductions_have_the_same_bits_in_every_run():
    f = on_gpu(lambda x: (np.sin(x).sum(), (x * x).mean()))
    assert [y.tobytes() for y in f(LONG)] == [y.tobytes() for y in f(LONG)]


@pytest.mark.parametrize("x", [ROWS, WIDE, TALL], ids=lambda x: str(x.shape))
def test_row_kernels(x):
    weights = np.arange(float(x.shape[1]))
    softmax = lambda x: (wg.nn.functional.softmax(x, 1) * weights).sum()
    normal = lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    assert_as_compiled(wg.value_and_grad(softmax), x)
    assert_as_compiled(wg.grad(lambda x: (normal(x) ** 3).sum()), x, tolerance=1e-10)


@pytest.mark.skipif(DEVICE is not None, reason="it looks at the plan of the emulator")
def test_rows_are_read_once():
    f = Emulated(lambda x: wg.logsumexp(x, axis=1))
    f(ROWS)
    assert [kernel.name for kernel in f.program.kernels] == ["kernel.0"]


def test_narrow_types_and_mixed_ones():
    x = ROWS.astype("f4")
    f = lambda x: (np.exp(x) * x, x.astype("f8") + 1, x > 0.5, (x * 3).astype("i4"))
    assert_as_compiled(f, x, tolerance=1e-6)


def test_more_elements_than_a_thread_takes_at_once_divide():
    for n in (1, 2, 3, 4, 255, 256, 257, 1023, 1024):
        assert_as_compiled(wg.grad(lambda x: (np.exp(-x * x) * x).sum()), LONG[:n])


@pytest.mark.skipif(DEVICE is not None, reason="the same on the emulator")
def test_an_index_out_of_bounds_is_an_error():
    with pytest.raises(IndexError, match="out of bounds"):
        on_gpu(lambda x, i: x[i])(LONG, np.array([5, 10**6]))


def test_tall_products_are_sums():
    x, y = rng.normal(size=(4, 5000, 3)), rng.normal(size=(4, 5000, 6))
    assert_as_compiled(lambda x, y: np.swapaxes(x, 1, 2) @ y, x, y)


def test_products_of_few_terms_are_sums():
    """They fuse with other operations, and one thread of a trajectory computes them."""
    x, y = rng.normal(size=(8, 8)), rng.normal(size=(8, 7))
    assert_as_compiled(lambda x, y: (np.tanh(x @ y), x @ y[:, 0], x @ x.T), x, y)
    for small in (y, y[:, 0]):
        graph = prepare_for_device(wg.trace(lambda x, y: np.tanh(x @ y), x, small))
        assert not any(is_a(node, matmul) for node in graph.operations)


def test_remainders_of_large_quotients_are_exact():
    x = np.array([1e300, -1e300, 1e308, 5e-324, 3.0, -0.0, np.inf, np.nan, 2.0**1000])
    y = np.array([0.37, 1e-308, 5e-324, np.inf, 0.0, -2.0, 7.0])
    with np.errstate(all="ignore"):
        expected = np.fmod(x[:, None], y)
    np.testing.assert_array_equal(on_gpu(np.fmod)(x[:, None], y), expected)
    many = 1e300 * rng.normal(size=1000)
    np.testing.assert_array_equal(on_gpu(lambda x: np.fmod(x, 0.37))(many), np.fmod(many, 0.37))


def test_small_matrices_are_written_out():
    a = rng.normal(size=(200, 3, 3))
    f = lambda a: (np.linalg.eigh(a + a.swapaxes(1, 2))[0], np.linalg.inv(a), np.linalg.det(a))
    assert_as_compiled(f, a, tolerance=1e-9)
