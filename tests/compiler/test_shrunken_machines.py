"""Programs that random machine records have broken: the same bits for all records, and close to eager code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine
from wengert.nn.functional import scaled_dot_product_attention as attention

RNG = np.random.default_rng(35)
ROWS = RNG.integers(0, 3, 40)
HALVES = RNG.normal(size=(6,)) / 2
WIDTHS = [{"vector_bytes": width} for width in (8, 16, 32, 64)]


def normal(*shape: int, dtype: str = "d") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def interpolate(x: Any) -> Any:
    return np.interp(0.7, np.cumsum(np.abs(x) + 0.1), x)


PIECES = {"sum_pieces": 4, "scatter_pieces_from_operations": 1, "scatter_terms_per_target": 1}
PROGRAMS: dict[str, tuple[Callable, tuple[np.ndarray, ...], list[dict[str, int]]]] = {
    "sums have fewer lanes than vectors": (
        lambda x, y: x @ y,
        (normal(7, 13), normal(13)),
        [record | {"sum_bytes": 16} for record in WIDTHS],
    ),
    "sums have one lane": (
        lambda x, y: x @ y,
        (normal(7, 13), normal(13)),
        [record | {"sum_bytes": 8} for record in WIDTHS],
    ),
    "an addition to one element": (
        wg.value_and_grad(interpolate),
        (HALVES,),
        [{"scatter_pieces_from_operations": 1, "scatter_terms_per_target": 1, "threads": n} for n in (1, 2)],
    ),
    "additions in pieces that end inside of some vectors": (
        lambda x, i: wg.zeros(3).at[i].add(np.sin(x)),
        (normal(46), np.arange(46) % 3),
        [record | PIECES | {"threads": n} for record in WIDTHS for n in (1, 3)],
    ),
    "single blocks as repetitions": (
        lambda x: np.stack([x * 2, x * 3]).sum(axis=0) + np.stack([x, x * 4])[0],
        (HALVES,),
        [{"min_operations_of_rolled_graph": 1, "min_blocks_of_repetition": 1, "min_operations_saved_by_repetition": 1}],
    ),
    "causal attention in vectors of one lane": (
        lambda x, mask: attention(x, x, x, mask, is_causal=True),
        (normal(64, 3), normal(64, 64) > 0),
        WIDTHS,
    ),
    "a sum of rows that are shorter than some vectors": (
        lambda x: np.sum(x[ROWS] * x[ROWS[::-1]]),
        (normal(3, 6, 2, dtype="f"),),
        WIDTHS,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_the_record(name: str):
    f, args, records = PROGRAMS[name]
    found = [results(f, args, record) for record in records]
    for some, record in zip(found, records, strict=True):
        for a, b in zip(some, as_list(f(*args)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=str(record))
        assert [a.tobytes() for a in some] == [a.tobytes() for a in found[0]], record


def results(f: Callable, args: tuple[np.ndarray, ...], record: dict[str, int]) -> list[np.ndarray]:
    with machine.using(**record):
        return as_list(wg.compile(f)(*args))


def as_list(results: Any) -> list[np.ndarray]:
    return [np.asarray(a) for a in (results if isinstance(results, tuple | list) else (results,))]


def test_a_short_program_that_reads_a_large_array_is_not_written_out():
    """A gather from a reshaped input stores that view: with its elements written out, it took a minute to compile."""
    x, weights = normal(20_000, 3), np.cos(np.arange(24.0).reshape(3, 8))
    g = wg.compile(lambda x: np.sum(np.pad(np.resize(np.ravel(x), (2, 3)), ((1, 0), (2, 3))) * weights))
    assert len(g.report(x).llvm) < 100_000
    np.testing.assert_allclose(g(x), np.sum(np.pad(x[:2], ((1, 0), (2, 3))) * weights))


def test_a_choice_of_numbers_as_bits():
    x = np.array(2.0)
    with machine.using(min_elements_of_bitwise_choice=1):
        assert wg.where(np.array(True), 0.0, x) == 0.0
        assert wg.where(np.array(False), 0.0, x) == 2.0
        assert wg.where(np.array(True), x, 0.0) == 2.0
