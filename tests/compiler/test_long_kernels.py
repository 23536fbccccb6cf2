"""Long programs: the text of one function has a limit, and so has the work of the memory plan."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.entry import native
from wengert.compiler.kernels import kernel
from wengert.compiler.schedule.memory_plan import free_block, take_block
from wengert.core import machine

RNG = np.random.default_rng(4)


@pytest.fixture
def lengths(monkeypatch):
    """The number of lines of each kernel that is written."""
    found = []
    write = kernel.KernelWriter.function

    def function(self, *args):
        found.append(len(self.code.lines))
        return write(self, *args)

    monkeypatch.setattr(kernel.KernelWriter, "function", function)
    return found


def many_values(x):
    """Values and sums of one loop that do not depend on each other."""
    parts = [np.sqrt(x + k) * x[::-1] for k in range(48)]
    return [*parts, *[p.sum(axis=0) for p in parts]]


def test_a_loop_has_a_limited_number_of_values(lengths):
    x = RNG.uniform(0.5, 1.5, (40, 9))
    expected, longest, found = many_values(x), [], set()
    for most in (4, 16, 10**6):
        lengths.clear()
        with machine.using(max_values_of_loop=most):
            results = wg.compile(many_values)(x)
        longest.append(max(lengths))
        found.add(b"".join(result.tobytes() for result in results))
        for result, values in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, values, rtol=1e-13)
    assert 3 * longest[0] < 1.5 * longest[1] < longest[2]
    assert len(found) == 1


def test_free_blocks_are_merged_with_their_neighbours():
    """Against a map of single units."""
    free, used, end = [], {}, 0
    for _ in range(2000):
        if used and RNG.random() < 0.5:
            offset = list(used)[RNG.integers(len(used))]
            free_block(free, offset, used.pop(offset))
        else:
            size = int(RNG.integers(1, 9))
            offset = take_block(free, end, size)
            used[offset] = size
            end = max(end, offset + size)
        taken = np.zeros(end, bool)
        for offset, size in used.items():
            assert not taken[offset : offset + size].any()
            taken[offset : offset + size] = True
        edges = np.flatnonzero(np.diff(np.concatenate([[True], taken, [True]])))
        assert free == [(a, b - a) for a, b in edges.reshape(-1, 2).tolist()]


@pytest.mark.parametrize("is_on", [True, False])
def test_the_garbage_collector_is_as_before_after_a_compilation(is_on, monkeypatch):
    during = []
    prepare = native.prepare

    def watch(*args):
        during.append(gc.isenabled())
        if len(args[0].operations) > 2:
            raise KeyboardInterrupt
        return prepare(*args)

    monkeypatch.setattr(native, "prepare", watch)
    (gc.enable if is_on else gc.disable)()
    try:
        wg.compile(lambda x: x * (2.5 + is_on))(3.0)
        assert gc.isenabled() is is_on
        with pytest.raises(KeyboardInterrupt):
            wg.compile(lambda x: x * 2.5 + np.sin(x) * 0.75)(3.0)
        assert gc.isenabled() is is_on
    finally:
        gc.enable()
    assert during == [False, False]


def test_a_stack_of_rows_is_not_written_for_each_row(lengths):
    """Rows of 36 elements are unrolled, but not where each element would choose between the operands of a stack."""

    def chain(a):
        state = a[0]
        for i in range(1, 191, 3):
            state = np.einsum("ab,bc,cd,da->ad", state, a[i], a[i + 1], a[i + 2]) * 0.3
        return state.sum()

    a = RNG.normal(size=(193, 6, 6))
    value, slope = wg.compile(wg.value_and_grad(chain), unroll=True)(a)
    expected = wg.value_and_grad(chain)(a)
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-12 * np.abs(expected[1]).max())
    assert max(lengths) < 2000
