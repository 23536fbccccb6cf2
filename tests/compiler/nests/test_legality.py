"""What may be decided about loops: each rule refuses what would give other numbers, and says why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.nests.decisions import KINDS, Decision
from wengert.compiler.nests.legality import RULES, given, legal, refuse
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.policy import decide
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_plan import make_plan, nests_of
from wengert.core import machine
from wengert.core.machine.record import Machine

RNG = np.random.default_rng(36)
X = RNG.normal(size=(40, 30))
ROWS = RNG.integers(0, 40, 50)
OTHERS = RNG.integers(0, 40, 50)


def nests(f: Callable, x: np.ndarray = X) -> list[Nest]:
    return list(nests_of(make_plan(prepare(wg.compile(f).trace(x)), (), "")))


def kinds(nest: Nest, *others: Decision) -> set[tuple[str, int]]:
    return {(d.kind, d.axis) for d in legal(nest, others)}


def test_every_kind_has_a_rule():
    assert tuple(RULES) == KINDS


def test_elements_have_lanes_and_threads_along_every_axis():
    (nest,) = nests(lambda x: x + x[:, :1])
    assert kinds(nest) == {("lanes", 0), ("lanes", 1), ("outer", 0), ("outer", 1), ("threads", 0)}
    assert ("threads", 1) in kinds(nest, Decision("outer", 1))
    assert ("threads", 0) not in kinds(nest, Decision("outer", 1))


def test_two_scatters_into_one_array_do_not_share_the_loop_over_edges():
    """Two edges may have one target: threads have ranges of the result, and lanes are added one after the other."""
    gradient = wg.grad(lambda h: np.sum(h[ROWS] ** 3) + np.sum(h[OTHERS] ** 2))
    (nest,) = [nest for nest in nests(gradient) if nest.kernel.scatters]
    assert len(nest.kernel.scatters) == 2
    assert kinds(nest) == {("lanes", 0), ("lanes", 1), ("rows", 1), ("ranges", 0)}
    assert refuse(nest, Decision("threads", 0, 1), []) == "several of its iterations may write one element"
    assert refuse(nest, Decision("outer", 1), []) == "what is written to one element would change its order"


def test_columns_of_a_scatter_are_shared():
    (nest,) = [nest for nest in nests(lambda x: wg.zeros((40, 3)).at[:, ROWS[:30] % 3].add(x)) if nest.kernel.scatters]
    assert ("threads", 0) in kinds(nest)
    assert ("threads", 0) not in kinds(nest, Decision("ranges", 0, 1))


def test_lanes_of_sums_are_those_of_their_order():
    (rows,) = nests(lambda x: np.sum(np.exp(x), axis=1))
    assert given(rows) == [Decision("lanes", 1, rows.order.lanes)]
    assert refuse(rows, Decision("lanes", 0, 2), []) == "its additions have lanes of their own"
    (columns,) = nests(lambda x: np.sum(np.exp(x), axis=0))
    assert given(columns) == []
    assert "reduced" in str(refuse(columns, Decision("lanes", 0, 2), []))
    assert ("block", 1) in kinds(columns, Decision("lanes", 1, 4))


def test_parts_of_threads_end_between_vectors():
    (nest,) = nests(lambda x: x * 2.0 + 1.0)
    lanes = Decision("lanes", 0, 8)
    assert refuse(nest, Decision("threads", 0, 16), [lanes]) is None
    assert refuse(nest, Decision("threads", 0, 12), [lanes]) == "a part would end inside a vector, or a tile"


def test_tiles_have_sums_of_their_own():
    """A part that begins within a tile would have its last one beyond the array."""
    (nest,) = nests(lambda x: np.sum(np.exp(x), axis=1))
    tile = Decision("tile", 0, 3)
    assert refuse(nest, tile, []) is None
    assert refuse(nest, Decision("threads", 0, 4), [tile]) == "a part would end inside a vector, or a tile"
    assert refuse(nest, Decision("threads", 0, 6), [tile]) is None
    assert refuse(nest, Decision("tile", 1, 3), []) == "it is reduced, or has the lanes"
    assert refuse(nest, Decision("tile", 0, 41), []) == "it has 40 elements"
    (elements,) = nests(lambda x: np.exp(x) + 1.0)
    assert refuse(elements, tile, []) == "nothing is folded in its loops"


@pytest.mark.parametrize("count", [2, 3, 4, 7, 40])
@pytest.mark.parametrize("shape", [(40, 30), (41, 7), (40, 2)])
def test_tiles_change_no_bit(shape: tuple[int, int], count: int):
    """Folds along lanes, across them, with what is stored beside them, and of products; the last tile is moved back."""
    x = RNG.normal(size=shape)

    def sums(x: np.ndarray) -> tuple:
        products = x[:, :, None] * x[:, None, :2]
        return np.sum(x * x[:, :1], axis=1), np.sum(products, axis=0), np.max(np.exp(x), axis=1)

    def tiled(nest: Nest, _: Machine) -> list[Decision]:
        tiles = [Decision("tile", axis, min(count, nest.domain[axis])) for axis in nest.inner_axes]
        return [tile for tile in tiles if refuse(nest, tile, given(nest)) is None][:1]

    f = wg.compile(sums, decide=tiled)
    assert any("tile" in nest for nest in f.report(x).nests)
    for found, expected in zip(f(x), wg.compile(sums, decide=lambda nest, _: [])(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_vectors_overlap_only_where_nothing_is_counted_or_shared():
    (nest,) = nests(lambda x: np.roll(x, 1, 1) + x)
    lanes, overlap = Decision("lanes", 1, 4), Decision("overlap", 1)
    assert refuse(nest, overlap, [lanes]) is None
    assert refuse(nest, Decision("segments", 1, 1), [lanes, overlap]) == "its bodies are decided"
    shared = [Decision("outer", 1), Decision("threads", 1, 4)]
    assert refuse(nest, overlap, shared) == "it has no lanes"
    (folded,) = nests(lambda x: np.sum(np.roll(x, 1, 1) * x, axis=0))
    assert "added twice" in str(refuse(folded, overlap, [lanes]))


def test_decisions_stay_possible_beside_later_ones():
    """Lanes make their loop the innermost one: it cannot be shared by threads any more."""
    (nest,) = nests(lambda x: x + x[:, :1])
    refusal = refuse(nest, Decision("lanes", 0, 4), [Decision("threads", 0, 4)])
    assert refusal == "threads 4 along i0 would not be possible: its loop is not the outermost one"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tanh(np.exp(x)) * np.log1p(x * x),
        lambda x: np.sum(np.roll(x, 1, 0) * np.roll(x, -3, 1)),
        lambda x: np.pad(x, 2) * 2.0,
        lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True),
        wg.grad(lambda h: np.sum(h[ROWS] ** 3) + np.mean(h[OTHERS] ** 2)),
    ],
    ids=["functions", "sum of a stencil", "pad", "softmax", "scatters"],
)
@pytest.mark.parametrize("record", [{}, {"min_operations_per_thread": 1, "cycles_of_loop": 0.0}], ids=str)
def test_the_policy_decides_what_is_legal(f: Callable, record: dict[str, int]):
    with machine.using(**record):
        for nest in nests(f):
            found = given(nest)
            for decision in decide(nest, machine.current):
                if decision not in given(nest):
                    assert refuse(nest, decision, found) is None, decision
                    found.append(decision)
