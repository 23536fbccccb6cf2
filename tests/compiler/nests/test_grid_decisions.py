"""Decisions about the threads of a GPU: what the rules refuse, and that no legal list of them changes a bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.emulator import Emulated

import wengert as wg
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.grid_legality import RULES, refuse_threads
from wengert.compiler.nests.grid_order import given_threads
from wengert.compiler.nests.grid_policy import choose_rows, decide_threads
from wengert.compiler.targets import grid_plan

rng = np.random.default_rng(0)
TABLE, PLACES = rng.normal(size=(40, 8)), rng.integers(0, 40, 300)
PROGRAMS = {
    "elements": (lambda x: np.exp(x) * 2.0, rng.normal(size=(7, 64))),
    "transposed": (lambda x: np.sin(x.T) + x.T, rng.normal(size=(40, 70))),
    "shared along an axis": (lambda x: x[:, :, None] * x[0, :5], rng.normal(size=(90, 5))),
    "sums": (lambda x: np.sum(x * x, axis=0), rng.normal(size=(300, 40))),
    "sums of rows": (lambda x: np.sum(np.tanh(x), axis=1), rng.normal(size=(30, 500))),
    "additions to rows": (lambda x: wg.grad(lambda t: np.sum(np.tanh(t[PLACES]) * t[PLACES]))(x), TABLE),
}


def draw_decisions(seed, seen):
    """A policy that draws legal decisions, each with an even chance."""
    numbers = np.random.default_rng(seed)

    def decide(nest, machine):
        found = list(choose_rows(nest, machine, ()))
        found += given_threads(nest, found)
        tried = [
            Decision(kind, axis, amount)
            for kind in RULES
            for axis in nest.inner_axes
            for amount in {"tile": (nest.domain[axis],), "lanes": (2, 4), "steps": (1, 2, 4)}.get(kind, (0,))
            if kind != "rows"
        ]
        for k in numbers.permutation(len(tried)):
            if numbers.integers(2) and refuse_threads(nest, tried[k], found) is None:
                found.append(tried[k])
        seen.extend([d.kind for d in found])
        return found

    return decide


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_legal_decision_changes_a_bit(name, monkeypatch):
    f, x = PROGRAMS[name]
    expected, seen = Emulated(f)(x), []
    for seed in range(6):
        monkeypatch.setattr(grid_plan, "decide_threads", draw_decisions(seed, seen))
        np.testing.assert_array_equal(Emulated(f)(x).view(np.int64), expected.view(np.int64))
    assert len(set(seen)) > 1  # several kinds were tried


def nest_of(f, *args, monkeypatch):
    """The first nest of a program, and its decisions."""
    found = []

    def decide(nest, machine):
        decisions = decide_threads(nest, machine)
        found.append((nest, decisions))
        return decisions

    monkeypatch.setattr(grid_plan, "decide_threads", decide)
    Emulated(f)(*args)
    return found[0]


def test_the_threads_of_sums_are_given(monkeypatch):
    nest, decisions = nest_of(*PROGRAMS["sums of rows"], monkeypatch=monkeypatch)
    group = find(decisions, "group")
    assert group in given_threads(nest, ())
    assert group is not None
    assert group.amount > 1
    others = [d for d in decisions if d != group]
    assert refuse_threads(nest, group._replace(amount=2), others) == "its additions have threads of their own"
    assert refuse_threads(nest, Decision("lanes", 0, 2), others) == "its additions have threads of their own"
    assert refuse_threads(nest, Decision("steps", 0, 2), given_threads(nest, ())) is None


def test_lanes_need_neighbours(monkeypatch):
    nest, decisions = nest_of(*PROGRAMS["transposed"], monkeypatch=monkeypatch)
    assert find(decisions, "lanes") is None
    assert refuse_threads(nest, Decision("lanes", 0, 2), ()) == "its elements are no neighbours"
    nest, decisions = nest_of(*PROGRAMS["elements"], monkeypatch=monkeypatch)
    assert find(decisions, "lanes") == Decision("lanes", 0, 2)
    assert refuse_threads(nest, Decision("tile", 0, 448), decisions) is not None
