"""Colourings on disk: compiled derivatives find them there, each for its own pattern."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine import cache
from wengert.structure import kept_colorings
from wengert.structure.coloring import color
from wengert.structure.kept_colorings import hash_pattern, load_or_color
from wengert.structure.patterns import Pattern

BAND = Pattern(np.tri(30, k=2) - np.tri(30, k=-3))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_pattern_is_coloured_once(monkeypatch):
    expected = {by: color(BAND, by) for by in ("column", "row", "star")}
    for by, coloring in expected.items():
        assert load_or_color(BAND, by) == coloring
    monkeypatch.setattr(kept_colorings, "color", lambda *_: pytest.fail("it was coloured again"))
    for by, coloring in expected.items():
        found = load_or_color(BAND, by)
        assert found == coloring
        assert found.verify(BAND)


def test_only_equal_patterns_share_a_colouring():
    matrix = np.tri(6, k=1) - np.tri(6, k=-2)
    patterns = [
        *[Pattern(matrix), Pattern(matrix, symmetric=True), Pattern(matrix[:5]), Pattern(matrix[:, :5])],
        *[Pattern(matrix * (np.arange(6) != 3)), Pattern(np.roll(matrix, 1, 0)), Pattern(np.zeros((6, 6)))],
    ]
    assert len({hash_pattern(pattern) for pattern in patterns}) == len(patterns)
    assert hash_pattern(Pattern(matrix * 7.0)) == hash_pattern(patterns[0])


def test_what_cannot_be_read_is_coloured_again(folder):
    expected = load_or_color(BAND, "column")
    cache.finish_storing()
    for path in folder.iterdir():
        cache.store(path.stem, b"no colouring")
    assert load_or_color(BAND, "column") == expected


def test_a_compiled_derivative_uses_it(monkeypatch):
    f = lambda x: (x[1:] - x[:-1]) ** 3
    x = np.linspace(0.0, 1.0, 40) ** 2
    expected = wg.sparse_jacobian(f)(x).toarray()
    np.testing.assert_allclose(wg.compile(wg.sparse_jacobian(f))(x).toarray(), expected, rtol=1e-14)
    monkeypatch.setattr(kept_colorings, "color", lambda *_: pytest.fail("it was coloured again"))
    np.testing.assert_allclose(wg.compile(wg.sparse_jacobian(f))(x).toarray(), expected, rtol=1e-14)
