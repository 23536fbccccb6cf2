"""Compiled programs on disk, whose constants are those of the graph that they are asked for with."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.entry import build, native
from wengert.compiler.machine import cache

WEIGHTS = np.random.default_rng(3).normal(size=10_000)
X = np.linspace(-1.0, 1.0, 10_000)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_stored", {})
    return tmp_path


def weighted(x):
    return np.sum(WEIGHTS * x), x[0] + np.arange(3.0)


def looped(x):
    return wg.scan(lambda state, y: (state + np.sum(y * WEIGHTS[:50]), state), 0.0, x.reshape(-1, 50))


@pytest.mark.parametrize("f", [weighted, looped])
def test_a_program_that_is_loaded_has_the_arrays_of_its_graph(f):
    compiled = wg.compile(f)
    first = compiled(X)
    assert not compiled.report(X).is_warm
    again = wg.compile(f)
    second = again(X)
    assert again.report(X).is_warm
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)


def test_arrays_of_the_graph_are_not_on_disk(folder):
    weights = np.random.default_rng(4).normal(size=10_000)  # passes may remember what they made of another graph
    wg.compile(lambda x: np.sum(weights * x))(X)
    cache.finish_storing()
    assert all(weights.tobytes() not in path.read_bytes() for path in folder.iterdir())


def test_other_constants_are(folder):
    """Those that passes have made are not in the graph of another trace."""
    graph = wg.trace(weighted, X)
    weights, *_ = build.constant_arrays(graph)
    folded = np.array([1.0, 2.0])
    given = build.with_constants(native.compile_graph(graph), [folded, weights])
    first, second = build.load_build(build.dump_build(given, graph), graph).program.constants
    assert second is weights
    assert first is not folded
    np.testing.assert_array_equal(first, folded)
