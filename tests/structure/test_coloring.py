"""Colourings: every entry can be told from the others, by few colours, on matrices that are drawn and on those that are
known.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from wengert.structure import coloring as colorings
from wengert.structure.coloring import Coloring, color
from wengert.structure.ordering import incidence_degree, largest_first, smallest_last
from wengert.structure.patterns import Pattern
from wengert.structure.symmetric import color_acyclic, color_star

UNSYMMETRIC = ("auto", "column", "row", "bidirectional")
SYMMETRIC = ("auto", "symmetric", "star", "acyclic")


def products(coloring: Coloring, matrix: np.ndarray) -> np.ndarray:
    """The compressed matrix, by dense products: from the right for columns, from the left for rows."""
    right = (coloring.columns == np.arange(coloring.column_colors)[:, None]).astype(float)
    left = (coloring.rows == np.arange(coloring.row_colors)[:, None]).astype(float)
    return np.concatenate([(right @ matrix.T).reshape(-1), (left @ matrix).reshape(-1)])


def recovered(pattern: Pattern, coloring: Coloring, matrix: np.ndarray) -> np.ndarray:
    return pattern.filled(np.asarray(coloring.recovery(pattern).entries(products(coloring, matrix)))).toarray()


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(1, 25), st.floats(0.0, 0.6), st.sampled_from(UNSYMMETRIC)
)
@settings(max_examples=60)
def test_entries_are_recovered(seed, m, n, density, by):
    rng = np.random.default_rng(seed)
    matrix = random_array((m, n), density=density, rng=rng, data_sampler=lambda size: rng.uniform(1, 2, size)).toarray()
    pattern = Pattern(matrix)
    coloring = color(pattern, by)
    assert coloring.verify(pattern)
    np.testing.assert_array_equal(recovered(pattern, coloring, matrix), matrix)


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.floats(0.0, 0.6), st.sampled_from(SYMMETRIC))
@settings(max_examples=60)
def test_entries_of_symmetric_matrices_are_recovered(seed, n, density, by):
    rng = np.random.default_rng(seed)
    half = random_array((n, n), density=density, rng=rng, data_sampler=lambda size: rng.uniform(1, 2, size)).toarray()
    matrix = half + half.T
    pattern = Pattern(matrix, symmetric=True)
    coloring = color(pattern, by)
    assert coloring.verify(pattern)
    np.testing.assert_allclose(recovered(pattern, coloring, matrix), matrix, rtol=1e-12, atol=1e-12)


def edges(pattern: Pattern) -> set[tuple[int, int]]:
    return {(i, j) for i, j in zip(pattern.rows.tolist(), pattern.cols.tolist(), strict=True) if i != j}


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.floats(0.1, 0.7))
@settings(max_examples=40)
def test_star_and_acyclic_are_what_they_are_called(seed, n, density):
    """By looking at all paths of four vertices, and at all pairs of colours: definitions, not the algorithm."""
    pattern = Pattern(np.random.default_rng(seed).uniform(size=(n, n)) < density, symmetric=True)
    near = edges(pattern)
    neighbours = [[j for i, j in sorted(near) if i == v] for v in range(n)]
    for order in (list(range(n)), list(range(n))[::-1]):
        colors = color_star(order, neighbours)
        assert all(colors[i] != colors[j] for i, j in near)
        for path in itertools.permutations(range(n), 4):
            if all(pair in near for pair in itertools.pairwise(path)):
                assert len({colors[v] for v in path}) > 2
        colors = color_acyclic(order, neighbours)
        assert all(colors[i] != colors[j] for i, j in near)
        for pair in itertools.combinations(sorted(set(colors)), 2):
            vertices = [v for v in range(n) if colors[v] in pair]
            inside = [(i, j) for i, j in near if i < j and i in vertices and j in vertices]
            assert len(inside) == len(vertices) - components(vertices, inside)


def components(vertices: list[int], inside: list[tuple[int, int]]) -> int:
    group = {v: v for v in vertices}
    for i, j in inside:
        old, new = group[i], group[j]
        group = {v: new if g == old else g for v, g in group.items()}
    return len(set(group.values()))


def band(n: int, width: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width


def arrowhead(n: int, k: int) -> np.ndarray:
    matrix = np.eye(n, dtype=bool)
    matrix[:k] = matrix[:, :k] = True
    return matrix


@pytest.mark.parametrize("width", [0, 1, 3])
def test_bands_need_as_many_colors_as_they_are_wide(width):
    for by in ("column", "row", "auto"):
        assert color(band(60, width), by).number == 2 * width + 1


@pytest.mark.parametrize(("n", "k"), [(200, 16), (800, 16), (3200, 8)])
def test_arrowheads(n, k):
    pattern = Pattern(arrowhead(n, k), symmetric=True)
    coloring = color(pattern)
    assert (coloring.kind, coloring.number) == ("star", k + 1)
    assert color(pattern, "column").number == n
    assert color(pattern, "bidirectional").number == 2 * k + 1
    assert color(Pattern(arrowhead(n, k))).number == 2 * k + 1


def test_symmetry_saves_colors():
    rng = np.random.default_rng(0)
    pattern = Pattern(rng.uniform(size=(200, 200)) < 0.02, symmetric=True)
    columns, stars, trees = (color(pattern, by).number for by in ("column", "star", "acyclic"))
    assert trees < stars < columns


def test_trees_that_are_deep_are_not_chosen():
    path = Pattern(band(100, 1), symmetric=True)
    assert (color(path, "acyclic").number, color(path, "star").number) == (2, 3)
    assert color(path).kind == "star"
    assert color(path, "acyclic").recovery(path).rounds == 50


def test_orders():
    wheel = [[1, 2, 3, 4], [0, 2], [0, 1], [0, 4], [0, 3]]
    assert largest_first([len(near) for near in wheel])[0] == 0
    assert sorted(smallest_last(wheel)) == sorted(incidence_degree(wheel)) == [0, 1, 2, 3, 4]
    assert smallest_last(wheel).index(0) < 3, "what has many neighbours comes before the last of them"
    order = incidence_degree(wheel)
    assert all(any(w in order[:i] for w in wheel[v]) for i, v in enumerate(order) if i), (
        "each has a neighbour before it"
    )


def test_colorings_that_do_not_fit_are_found():
    pattern = Pattern(band(6, 1))
    bad = Coloring("column", [0, 1, 0, 1, 0, 1], [-1] * 6)
    assert not bad.verify(pattern)
    with pytest.raises(ValueError, match="does not tell all entries"):
        bad.recovery(pattern)
    with pytest.raises(ValueError, match="6 rows and 6 columns was given for"):
        bad.recovery(Pattern(band(7, 1)))
    symmetric = Pattern(band(6, 1), symmetric=True)
    assert not Coloring("star", [0, 1, 0, 1, 0, 1], [-1] * 6).verify(symmetric), (
        "a path of four vertices has two colours"
    )
    assert Coloring("acyclic", [0, 1, 0, 1, 0, 1], [-1] * 6).verify(symmetric)
    cycle = Pattern(np.roll(np.eye(6), 1, axis=0), symmetric=True)
    assert not Coloring("acyclic", [0, 1, 0, 1, 0, 1], [-1] * 6).verify(cycle)
    assert not Coloring("star", [-1] * 6, [-1] * 6).verify(cycle)


def test_edges_of_the_idea():
    for shape in ((0, 0), (3, 0), (0, 3), (3, 4)):
        coloring = color(np.zeros(shape))
        assert coloring.number == 0
        assert coloring.verify(Pattern(np.zeros(shape)))
    assert color(np.ones((4, 7))).number == 4
    assert color(np.ones((4, 7)), "column").number == 7
    empty = Pattern(np.zeros((3, 3)), symmetric=True)
    assert color(empty).number == color(empty, "acyclic").number == 0
    with pytest.raises(ValueError, match="by='rows'"):
        color(np.eye(3), by="rows")


def test_saved_and_shown(tmp_path):
    coloring = color(arrowhead(30, 1))
    assert repr(coloring) == "<bidirectional colouring, 2 + 1 colours>"
    coloring.save(tmp_path / "colors.npz")
    assert Coloring.load(tmp_path / "colors.npz") == coloring
    assert coloring != color(arrowhead(30, 1), "column")
    pattern = Pattern(band(9, 1), symmetric=True)
    pattern.save(tmp_path / "pattern.npz")
    loaded = Pattern.load(tmp_path / "pattern.npz")
    assert loaded == pattern
    assert loaded.symmetric
    assert loaded != Pattern(band(9, 2))
    assert repr(pattern) == "<symmetric pattern 9 x 9, 25 nonzeros (30.86%)>"
    assert Pattern(csr_array(band(9, 1))) == pattern
    assert len({pattern, loaded}) == 1


def test_drawings_show_where_entries_are():
    assert Pattern(np.eye(4)).spy() == "⠑⢄"
    wide = Pattern(band(1000, 2)).spy(width=20).splitlines()
    assert len(wide) == 10
    assert {len(line) for line in wide} == {20}
    assert Pattern(np.zeros((0, 3))).spy() == ""
    svg = Pattern(np.eye(3)).svg(size=30)
    assert svg.count("M") == 3
    assert 'viewBox="0 0 30 30"' in svg
    assert "3 x 3, 3 nonzeros" in svg
    assert Pattern(band(1000, 0)).svg(size=100).count("M") == 100
    with pytest.raises(ValueError, match="square"):
        Pattern(np.zeros((2, 3)), symmetric=True)


def test_splits_that_cannot_win_are_not_tried(monkeypatch):
    grid = np.pad(np.arange(400).reshape(20, 20), 1, constant_values=-1)
    near = np.stack([grid[1:-1, 1:-1], grid[2:, 1:-1], grid[:-2, 1:-1], grid[1:-1, 2:], grid[1:-1, :-2]]).reshape(5, -1)
    rows = np.broadcast_to(np.arange(400), near.shape)[near >= 0]
    stencil = csr_array((np.ones(rows.size, bool), (rows, near[near >= 0])), shape=(400, 400))
    calls = []
    monkeypatch.setattr(
        colorings,
        "color_columns",
        lambda matrix, color=colorings.color_columns: (calls.append(matrix.shape), color(matrix))[1],
    )
    assert color(stencil).number <= 8
    assert calls == [(400, 400)]  # and its rows are coloured as its columns


def test_a_pattern_that_is_its_transpose_is_coloured_by_columns_alone(monkeypatch):
    """Colours for its rows would be those of its columns."""
    counted = []
    find = colorings.color_columns
    monkeypatch.setattr(colorings, "color_columns", lambda matrix: counted.append(matrix) or find(matrix))
    matrix = np.tri(12, k=1) - np.tri(12, k=-2)
    for pattern, count in ((matrix, 1), (np.roll(matrix, 1, 0), 2)):
        counted.clear()
        assert color(Pattern(pattern)).number == 3
        assert len(counted) == count
