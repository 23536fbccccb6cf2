"""The loops of kernels: lanes along rows that are read at indices, and accumulators of sums over several axes."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.kernels.loop_plan import ACCUMULATORS
from wengert.compiler.machine.target import vector_lanes


@pytest.mark.parametrize("width", [3, 16, 64, 65, 77, 130])
@pytest.mark.parametrize("axis", [None, 1])
def test_sums_of_rows_at_indices(width, axis):
    rng = np.random.default_rng(0)
    table, rows = rng.standard_normal((50, width)).astype(np.float32), rng.integers(-50, 50, 300)
    found = wg.compile(lambda t, i: np.sum(t[i] ** 2, axis))(table, rows)
    np.testing.assert_allclose(found, np.sum(table[rows].astype(float) ** 2, axis), rtol=1e-5)


def test_rows_at_indices_have_whole_vectors_and_several_accumulators():
    """An index is that of a whole row, so that its bytes do not limit the lanes; sums of one chain would wait."""
    lanes = vector_lanes(4)
    table, rows = np.ones((50, 4 * lanes), np.float32), np.arange(40)
    text = wg.compile(lambda t, i: np.sum(t[i] ** 2)).report(table, rows).llvm
    assert text.count(f"fmul <{lanes} x float>") >= ACCUMULATORS
    assert f"<{lanes // 2} x float>, ptr" not in text
