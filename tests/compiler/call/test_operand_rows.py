"""Operands as rows: which axes are merged, and what is a row."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.compiler.call.block_program import block_of, count_blocks
from wengert.compiler.call.operand_rows import broadcast_strides, find_rows, merge_axes
from wengert.core import machine


@pytest.mark.parametrize(
    ("shapes", "extents"),
    [
        ([(4, 5, 6), (4, 5, 6)], (120,)),
        ([(4, 5, 6), (6,)], (20, 6)),
        ([(4, 5, 6), (5, 6)], (4, 30)),
        ([(4, 5, 6), (4, 1, 1)], (4, 30)),
        ([(4, 5, 6), (4, 1, 6)], (4, 5, 6)),
        ([(4, 1, 6), (1, 1, 6)], (4, 6)),
        ([(4, 1), (1, 6)], (4, 6)),
        ([(2, 3, 1, 1), (5, 6)], (6, 30)),
    ],
)
def test_axes_that_all_operands_have_in_common_are_merged(shapes, extents):
    arrays = [np.arange(np.prod(shape), dtype=float).reshape(shape) for shape in shapes]
    whole = np.broadcast_shapes(*shapes)
    found, strides = merge_axes(whole, [broadcast_strides(x, whole) for x in arrays])
    assert found == extents
    for x, steps in zip(arrays, strides, strict=True):
        merged = np.lib.stride_tricks.as_strided(x, extents, steps)
        np.testing.assert_array_equal(merged.reshape(-1), np.broadcast_to(x, whole).reshape(-1))


def test_rows_of_a_matrix_and_a_vector():
    x, b, c = np.ones((50, 100)), np.ones(100), np.ones((50, 1))
    rows = find_rows([x, b, 2.0])
    assert rows is not None
    assert rows.extents == (1, 50, 100)
    assert [(row.is_long, row.strides) for row in rows.operands] == [(True, (0, 800)), (True, (0, 0)), (False, (0, 0))]
    rows = find_rows([c, x])
    assert rows is not None
    assert [(row.is_long, row.strides) for row in rows.operands] == [(False, (0, 8)), (True, (0, 800))]


@pytest.mark.parametrize("operands", [[np.ones((50, 100)).T, np.ones(50)], [np.ones(500, complex), 1.0], ["x", 1.0]])
def test_operands_without_rows(operands):
    assert find_rows(operands) is None


@pytest.mark.parametrize(
    ("length", "block"),
    [(31, None), (32, 32), (300, 128), (1000, 512), (5000, 512), (10**6, machine.current.elements_of_block)],
)
def test_a_block_is_chosen_by_the_cost_of_a_row(length, block):
    assert block_of(length) == block
    assert block is None or count_blocks(length, block) * block >= length
