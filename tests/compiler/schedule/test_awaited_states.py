"""The order of results in a body: what later steps wait for longest comes first."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.compiler.program.program_plan import make_plan
from wengert.compiler.schedule.awaited_states import awaiting_chains, chains_from


def pendulum(total, place, angle, spin):
    """A step of four states: the spin waits for the angle, which waits for the spin, and nothing for the total."""
    new_spin = spin - 0.1 * np.sin(angle) * spin / (1.0 + spin * spin)
    return total + np.exp(new_spin) * place, place + 0.1 * spin, angle + 0.1 * spin, new_spin


GRAPH = wg.trace(pendulum, 0.0, 0.0, 0.1, 0.2)
STATES = tuple((k, k) for k in range(4))


def test_chains_add_up_costs():
    graph = wg.trace(lambda x, y: (x * y + x, y + 1.0), 1.0, 2.0)
    x, y = graph.inputs
    assert chains_from(graph, x)[graph.outputs[0]] == 2
    assert graph.outputs[1] not in chains_from(graph, x)
    assert chains_from(graph, y)[graph.outputs[1]] == 1


def test_the_longest_chain_over_several_steps_counts():
    lengths = awaiting_chains(GRAPH, STATES)
    total, place, angle, spin = [lengths[y] for y in GRAPH.outputs]
    assert angle > spin > place > total > 0


def test_a_state_that_stays_as_it_is():
    graph = wg.trace(lambda x, y: (x, y * x), 1.0, 2.0)
    lengths = awaiting_chains(graph, ((0, 0), (1, 1)))
    assert lengths[graph.outputs[0]] >= lengths[graph.outputs[1]] > 0


def test_kernels_compute_what_is_awaited_first():
    plan = make_plan(GRAPH, STATES, "body.0.")
    (kernel,) = plan.schedule.steps
    assert kernel.maps == [GRAPH.outputs[k] for k in (2, 3, 1, 0)]
    (whole,) = make_plan(GRAPH, (), "").schedule.steps
    assert whole.maps == list(GRAPH.outputs)
