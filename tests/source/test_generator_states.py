"""What statements that are traced can change: the states of random number generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.source.memory import Memory, NumPyState, is_same_state


def state_after(draws: int) -> Any:
    generator = np.random.RandomState()
    generator.random_sample(draws)
    return generator.get_state()


def test_a_generator_that_is_imported_meanwhile_has_changed_if_it_was_used():
    place = NumPyState("random", None)
    assert place.is_same(None, None)
    assert place.is_same(None, state_after(0))
    for draws in (1, 2, 311, 312, 313, 624):
        assert not place.is_same(None, state_after(draws))


def test_states_are_compared_by_their_numbers():
    legacy, new = np.random.RandomState(3), np.random.default_rng(3).bit_generator
    assert is_same_state(legacy.get_state(), np.random.RandomState(3).get_state())
    assert is_same_state(new.state, np.random.default_rng(3).bit_generator.state)
    before, new_before = legacy.get_state(), new.state
    legacy.random_sample()
    new.random_raw()
    assert not is_same_state(before, legacy.get_state())
    assert not is_same_state(new_before, new.state)


def test_draws_from_the_global_generator_are_undone():
    memory = Memory()
    memory.add_generators()
    first = np.random.random_sample(3)  # the global generator
    assert len(memory.changes()) == 1
    memory.restore()
    assert not memory.changes()
    np.testing.assert_array_equal(np.random.random_sample(3), first)  # the global generator
