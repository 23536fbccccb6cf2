"""Decisions that are measured: the effort "best" tries others for the longest loops, and keeps the fastest."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.entry.tuning import find_fastest, nests_to_try, others_than
from wengert.compiler.nests.legality import given, refuse
from wengert.compiler.nests.policy import decide
from wengert.compiler.nests.text import show_nest
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_plan import make_plan
from wengert.core import machine

X = np.random.default_rng(36).normal(size=(400, 300))


def plan(f, *args):
    return make_plan(prepare(wg.compile(f).trace(*args)), (), "")


def stencil(x):
    return np.roll(x, 1, 1) + x * 2.0


def test_other_decisions_are_legal_and_different():
    for f in (stencil, lambda x: np.sum(np.exp(x), 0), wg.grad(lambda x: np.sum(x[np.arange(9) % 4] ** 2))):
        for nest in nests_to_try(plan(f, X)):
            usual = decide(nest, machine.current)
            others = list(others_than(nest, usual))
            assert frozenset(usual) not in map(frozenset, others)
            for decisions in others:
                for k, decision in enumerate(decisions):
                    assert decision in given(nest) or refuse(nest, decision, decisions[:k]) is None


def test_the_fastest_decisions_stay():
    (nest,) = nests_to_try(plan(stencil, X))
    name = show_nest(nest)
    fastest = list(others_than(nest, decide(nest, machine.current)))[1]
    seconds = lambda policy: 1.0 if policy.chosen.get(name) == fastest else 2.0
    policy, trials = find_fastest([nest], seconds)
    assert policy.chosen == {name: fastest}
    assert [trial.seconds for trial in trials][:3] == [2.0, 2.0, 1.0]
    assert len(trials) <= 1 + machine.current.trials_per_nest


def test_what_gains_too_little_is_left():
    (nest,) = nests_to_try(plan(stencil, X))
    policy, trials = find_fastest([nest], lambda policy: 0.99 if policy.chosen else 1.0)
    assert not policy.chosen
    assert len(trials) > 2
    with machine.using(seconds_of_trials=0):
        assert len(find_fastest([nest], lambda policy: 1.0)[1]) == 1


def test_programs_have_the_same_bits(monkeypatch, tmp_path):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path))
    with machine.using(milliseconds_per_trial=1, trials_per_nest=2):
        best = wg.compile(lambda x: np.sum(np.tanh(x) * x, 1), effort="best")
        np.testing.assert_array_equal(best(X), wg.compile(lambda x: np.sum(np.tanh(x) * x, 1))(X))
        report = best.report(X)
        assert len(report.trials) >= 2
        assert "us with lanes" in str(report.trials[0])
        again = wg.compile(lambda x: np.sum(np.tanh(x) * x, 1), effort="best").report(X)
        assert again.is_warm
        assert again.trials == report.trials


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wg.while_loop(lambda s: s[0, 0] < 9.0, lambda s: s * 1.1 + 1.0, x),
        lambda x: wg.fori_loop(0, 3, lambda i, y: wg.while_loop(lambda s: s[0, 0] < i, lambda s: s * 1.1 + 1.0, y), x),
    ],
    ids=["while", "while in a loop"],
)
def test_programs_whose_loops_depend_on_numbers_are_not_tried(f):
    assert not nests_to_try(plan(f, X))
    assert wg.compile(f, effort="best").report(X).trials == []


def test_short_loops_are_not_tried():
    assert not nests_to_try(plan(stencil, X[:9, :9].copy()))
