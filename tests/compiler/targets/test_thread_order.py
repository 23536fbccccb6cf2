"""The order of threads: which axis neighbours follow, and which elements a thread has."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import on_gpu
from tests.compiler.targets.emulator import Emulated

import wengert as wg
from wengert.compiler.forms.affine import flat_index, loop_position
from wengert.compiler.nests.thread_order import Access, OrderSearch, ThreadOrder
from wengert.compiler.targets.grid_kernel import GridKernelWriter
from wengert.compiler.targets.grid_plan import GridPlan
from wengert.core import machine

rng = np.random.default_rng(0)
POINTS, PARTS, SIZE = 2500, 25, 10


def search(domain, reduced, *reads):
    """The search for a kernel that reads arrays with these axes of its domain."""
    position = loop_position(domain)
    accesses = [Access(flat_index([position[i] for i in axes], [domain[i] for i in axes]), 8) for axes in reads]
    return OrderSearch(domain, range(len(domain)), reduced, accesses, 8, 0)


def test_neighbours_in_memory_are_neighbouring_threads():
    assert search((100, 200), (), (0, 1)).find_order() == ThreadOrder(1)
    assert search((100, 200), (), (1, 0)).find_order() == ThreadOrder(0)


def test_the_turns_of_a_warp():
    assert search((64, 64), (), (0, 1)).turns(ThreadOrder(1)) == 2  # 32 neighbours of 8 bytes
    assert search((64, 64), (), (0, 1)).turns(ThreadOrder(0)) == 32
    assert search((64, 64), (), (0,)).turns(ThreadOrder(1)) == 1


def test_what_all_threads_read_is_read_once_for_a_tile():
    of_elements = search((10_000, 25, 10), (), *[(0,)] * 10, (1, 2))
    assert of_elements.find_tiles(of_elements.find_order()) == ThreadOrder(0, 2)


def test_few_elements_have_a_thread_each():
    of_elements = search((10, 25, 10), (), *[(0,)] * 10, (1, 2))
    assert of_elements.find_tiles(of_elements.find_order()).tile_axis is None


def find_plans(f, *args) -> list[GridPlan]:
    """The plans of the kernels of a function."""
    plans, original = {}, GridKernelWriter.write

    def write(writer):
        plans[writer.name] = writer.grid
        return original(writer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GridKernelWriter, "write", write)
        Emulated(f)(*args)
    return list(plans.values())


def rotate(factors, x, means):
    return np.einsum("kij,nkj->nki", factors, x[:, None, :] - means)


ARGUMENTS = (
    rng.normal(size=(PARTS, SIZE, SIZE)),
    rng.normal(size=(POINTS, SIZE)),
    rng.normal(size=(PARTS, SIZE)),
)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_elements_in_tiles(dtype):
    args = [a.astype(dtype) for a in ARGUMENTS]
    expected = rotate(*args)
    scale = np.abs(expected).max() * (2e-6 if dtype == "f4" else 1e-14)
    np.testing.assert_allclose(on_gpu(rotate)(*args), expected, rtol=0, atol=scale)
    assert [plan.tile for plan in find_plans(rotate, *args)] == [SIZE]


def test_sums_in_tiles():
    f = wg.grad(lambda *args: (rotate(*args) ** 3).sum(), (0, 1, 2))
    with machine.using(worthwhile_share_of_turns=1.0):
        for found, expected in zip(on_gpu(f)(*ARGUMENTS), wg.compile(f)(*ARGUMENTS), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        assert any(plan.tile == SIZE and plan.reduced > 1 for plan in find_plans(f, *ARGUMENTS))


def test_broadcast_operands_are_read_as_vectors():
    x, bias = rng.normal(size=(64, 128)).astype("f4"), rng.normal(size=128).astype("f4")
    f = lambda x, bias: np.maximum(x + bias, np.float32(0))
    (plan,) = find_plans(f, x, bias)
    assert (plan.lanes, plan.vector_axis) == (4, 1)
    np.testing.assert_array_equal(on_gpu(f)(x, bias), f(x, bias))


@pytest.mark.parametrize("shape", [(64, 126), (63, 3, 4)])
def test_addresses_that_are_not_aligned_are_read_one_by_one(shape):
    x = rng.normal(size=shape).astype("f4")
    f = lambda x: x[:, 1:] * 2 + x[:, :-1]
    np.testing.assert_array_equal(on_gpu(f)(x), f(x))
