"""The arena of a program: blocks that are free."""

from __future__ import annotations

import numpy as np

from wengert.compiler.schedule.memory_plan import free_block, take_block

RNG = np.random.default_rng(4)


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
