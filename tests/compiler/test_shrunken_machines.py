"""Programs that random machine records have broken: the same bits for all records with one order, close to eager code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine

RNG = np.random.default_rng(35)
ROWS = RNG.integers(0, 3, 40)
WIDTHS = [{"vector_bytes": width} for width in (8, 16, 32, 64)]


def normal(*shape: int, dtype: str = "d") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


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
