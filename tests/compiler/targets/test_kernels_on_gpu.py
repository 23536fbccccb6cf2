"""Kernels of threads: elements, reductions in pieces, rows, scatters, products, and what may fail."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE, on_gpu
from tests.compiler.targets.emulator import Emulated

import wengert as wg
from wengert.compiler.forms.prepare import prepare_for_device
from wengert.compiler.targets.grid_scatter import Sort
from wengert.core.tree import flatten
from wengert.graph.ir import is_a
from wengert.ops.contraction.products import matmul

rng = np.random.default_rng(0)
LONG, TALL, WIDE = rng.normal(size=100_003), rng.normal(size=(3000, 7)), rng.normal(size=(40, 1500))
ROWS = rng.normal(size=(300, 70))


def assert_as_compiled(f, *args, tolerance: float = 1e-12) -> None:
    found, expected = flatten(on_gpu(f)(*args))[0], flatten(wg.compile(f)(*args))[0]
    for y, z in zip(found, expected, strict=True):
        assert (np.shape(y), y.dtype) == (np.shape(z), z.dtype)
        scale = max(np.max(np.abs(z), initial=0.0), 1.0)
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance * scale)


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


@pytest.mark.parametrize(("count", "repeats"), [(1000, 1), (50, 1), (50, 40)], ids=["sparse", "few rows", "many rows"])
def test_gradients_of_an_embedding(count, repeats):
    indices = np.tile(rng.integers(0, count, 400), repeats)
    f = wg.grad(lambda table: (np.tanh(table[indices]) * np.arange(16.0)).sum())
    assert_as_compiled(f, rng.normal(size=(count, 16)), tolerance=1e-11)


@pytest.mark.skipif(DEVICE is not None, reason="it looks at the plan of the emulator")
@pytest.mark.parametrize(("count", "bits"), [(20, 16), (2**15 - 1, 16), (2**15, 32)])
def test_numbers_of_targets_have_few_bits(count, bits):
    indices = np.concatenate([rng.integers(0, count, 70_000), [count - 1, 0, -1]])
    f = Emulated(lambda w: wg.zeros(count).at[indices].add(w))
    weights = rng.normal(size=indices.size)
    np.testing.assert_allclose(f(weights), np.bincount(indices % count, weights, count), rtol=1e-12, atol=1e-12)
    assert [step.bits for step in f.program.steps if isinstance(step, Sort)] == [bits]


@pytest.mark.skipif(DEVICE is not None, reason="it looks at the plan of the emulator")
def test_each_target_is_looked_for_once():
    indices = rng.integers(5, 40, 400)  # the first and the last targets have no rows
    f = Emulated(wg.grad(lambda table: (np.tanh(table[indices]) * np.arange(16.0)).sum()))
    table = rng.normal(size=(50, 16))
    expected = np.zeros((50, 16))
    np.add.at(expected, indices, ((1 - np.tanh(table) ** 2) * np.arange(16.0))[indices])
    np.testing.assert_allclose(f(table), expected, rtol=1e-12)
    blocks = {kernel.name.split(".")[2]: kernel.blocks for kernel in f.program.kernels}
    assert blocks["runs"] == 1  # one thread for each target, and not for each element


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_additions_to_few_elements(dtype):
    indices = rng.integers(0, 7, 2000)
    weights, tolerance = (rng.normal(size=2000) * 9).astype(dtype), 1e-5 if dtype == "f4" else 1e-11
    assert_as_compiled(lambda w: wg.zeros(7, dtype).at[indices].add(w), weights, tolerance=tolerance)


def test_the_last_of_several_assignments_wins():
    indices = rng.integers(0, 50, 400)
    assert_as_compiled(lambda w: wg.zeros(50).at[indices].set(w), rng.normal(size=400), tolerance=0)


def test_assignments_to_slices():
    assert_as_compiled(lambda w: w.at[3:9].set(w[10:16] * 2).at[::7].add(1.0), rng.normal(size=4000), tolerance=0)


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
