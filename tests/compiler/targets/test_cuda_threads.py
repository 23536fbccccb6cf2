"""Calls of one program from several threads on one stream, with a stand-in for CuPy and the driver."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from wengert.compiler.targets import cuda
from wengert.core.spec import Spec


class Table(np.ndarray):
    """A table of pointers on a device."""

    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data))

    def set(self, values):
        self[...] = values


class Launched(cuda.Graph):
    """Kernels that note the table that they read."""

    def __init__(self, kernels, state, seen):
        self.kernels, self.state, self.seen = kernels, state, seen

    def update(self):
        self.state.table[...] = self.kernels.table[:]

    def __call__(self, stream):
        self.seen.append(self.state.table.tolist())


@pytest.fixture
def stand_in(monkeypatch):
    made = SimpleNamespace(
        empty=lambda count, dtype: np.zeros(count, dtype).view(Table),
        ndarray=lambda shape, dtype, at: at,
        cuda=SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0), alloc=lambda size: 0),
    )
    monkeypatch.setattr(cuda, "cupy", made)
    return made


@pytest.mark.parametrize("entries", [2, cuda.PARAMETER_BYTES])
@pytest.mark.usefixtures("stand_in")
def test_a_call_reads_its_own_table_after_another_call_has_begun(entries):
    seen: list[list[int]] = []
    kernels = cuda.CudaKernels(SimpleNamespace(entries=entries, steps=[], kernels=[]), None, False)
    kernels.prepare = lambda group, state, writes_table: Launched(kernels, state, seen)
    first, second = [1] * entries, [2] * entries
    for group, table in ((0, first), (1, first), (0, second), (1, first), (2, first), (1, second)):
        kernels.launch(group, table)
    assert seen == [first, first, second, first, first, second]


@pytest.mark.usefixtures("stand_in")
def test_two_threads_never_have_the_same_memory():
    device = cuda.CudaDevice(None, False)
    allocate = device.allocator([Spec((4,), np.dtype("f8"))])
    found = allocate()
    others = []

    class Interrupted(dict):
        """Another thread runs while this one reads where memory is free."""

        def get(self, *args):
            known = super().get(*args)
            if not others:
                others.append(threading.Thread(target=lambda: found.extend(allocate())))
                others[0].start()
                others[0].join(0.2)  # it waits, where only one may be here
            return known

    device.blocks = Interrupted(device.blocks)
    found += allocate()
    others[0].join()
    assert len(set(found)) == len(found) == 3
