"""The checkpoint schedule: what it keeps is bounded, what it goes back over is known, and it is what the loop does."""

import xml.etree.ElementTree as ET
from math import comb

import numpy as np
import pytest

import wengert as wg
from wengert.core.primitive import TABLE

LOOPS = [(10, 3), (30, 4), (6, 2), (12, 1), (8, 3), (2, 1), (1, 1), (5, 4), (5, 5), (5, 9)]


@pytest.mark.parametrize("n", [1, 2, 5, 10, 37, 100])
@pytest.mark.parametrize("snapshots", [1, 2, 3, 7])
def test_every_step_is_reversed_from_its_own_state(n, snapshots):
    schedule = wg.checkpoint_schedule(n, snapshots)
    assert [a.step for a in schedule.actions if a.kind == "back"] == list(range(n))[::-1]
    kept, state, runs = [], 0, 0
    for action in schedule.actions:
        if action.kind == "keep":
            kept.append(action.step)
            state = action.step
        elif action.kind == "run":
            if action.step != state:
                assert action.step == kept[-1]  # starts again from the newest snapshot
            state = action.step + 1
            runs += 1
        else:
            assert kept.pop() == action.step
            runs += 1  # from the state before it, for what its rules need
        assert action.held == len(kept)
    assert schedule.most_held <= snapshots + 1
    assert schedule.runs == runs


@pytest.fixture
def runs():
    """What a step of `counted_step` appends to, an operation because the loop traces its function once."""
    found = []

    def count(state, k):
        found.append(int(k))
        return np.sin(state)

    wg.primitive("counted_step", count, lambda t, x: t * np.cos(x), lambda t: 0.0 * t)
    yield found
    del TABLE["counted_step"]


@pytest.mark.parametrize(("n", "snapshots"), LOOPS)
def test_runs_are_those_of_the_loop(n, snapshots, runs):
    step = TABLE["counted_step"].op
    loop = lambda x: wg.checkpoint_loop(lambda state, k: step(state, 1.0 * k), x, n, snapshots=snapshots)
    wg.grad(loop)(1.0)
    assert len(runs) - 1 == wg.checkpoint_schedule(n, snapshots).runs  # the first finds the shape of the result


def test_states_in_memory():
    assert wg.checkpoint_schedule(10, 3).most_held == 4
    assert wg.checkpoint_schedule(5, 9).most_held == 5


@pytest.mark.parametrize("snapshots", [2, 3, 4])
def test_no_step_runs_more_often_than_the_binomial_bound(snapshots):
    for repeats in (1, 2, 3):
        n = comb(snapshots + repeats, snapshots)
        schedule = wg.checkpoint_schedule(n, snapshots)
        counts = [sum(a.kind == "run" and a.step == i for a in schedule.actions) for i in range(n)]
        assert max(counts) <= repeats + 1  # the forward pass is one run more


def test_it_is_an_animation():
    text = wg.checkpoint_schedule(12).svg()
    root = ET.fromstring(text)
    assert root.find(".//{*}animate") is not None
    assert len(root.findall(".//{*}circle")) == sum(a.kind == "keep" for a in wg.checkpoint_schedule(12).actions)
    assert "12 steps with 4 snapshots" in root.attrib["aria-label"]


def test_a_schedule_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="n >= 1"):
        wg.checkpoint_schedule(0)
