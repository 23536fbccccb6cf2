"""Models of biology: an epidemic, the states of a chain, a tree of species, and synchronised oscillators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.workloads.faces import Face
from benchmarks.workloads.fresh.fresh import fresh

STEPS, STATES, SYMBOLS, BASES = 200, 24, 16, 4


def epidemic_data(regions: int) -> tuple:
    """Rates of infection, recovery and travel; the state of each region, travellers between them, cases observed."""
    rng = np.random.default_rng(0)
    start = np.stack([0.99 + 0.0 * rng.uniform(size=regions), 0.01 * rng.uniform(size=regions), np.zeros(regions)])
    travel = rng.uniform(size=(regions, regions))
    travel /= travel.sum(1, keepdims=True)
    cases = rng.uniform(0.0, 0.3, (STEPS, regions))
    return [np.full(regions, 0.4), np.array(0.1), np.array(0.2)], start, travel, cases


def epidemic_loss(params: Any, start: Any, travel: Any, cases: Any, face: Face) -> Any:
    """Squared differences from the cases, of a model with three compartments, by Heun's method."""
    m = face.numpy
    infection, recovery, mixing = params

    def rates(s: Any) -> Any:
        pressure = infection * ((1.0 - mixing) * s[1] + mixing * (travel @ s[1])) * s[0]
        healed = recovery * s[1]
        return m.stack([-pressure, pressure - healed, healed])

    def step(s: Any, seen: Any) -> tuple:
        first = rates(s)
        s = s + 0.25 * (first + rates(s + 0.5 * first))
        return s, m.sum((s[1] - seen) ** 2)

    return m.sum(face.scan(step, start, cases)[1])


def chain_data(length: int) -> tuple:
    """Logarithms of a start, of transitions and of emissions; what was observed."""
    rng = np.random.default_rng(0)
    params = [rng.normal(size=STATES), rng.normal(size=(STATES, STATES)), rng.normal(size=(STATES, SYMBOLS))]
    return params, rng.integers(0, SYMBOLS, length)


def chain_loss(params: Any, observed: Any, face: Face) -> Any:
    """The negative log-likelihood of a hidden Markov model, by the forward algorithm."""
    start, transition, emission = params
    log_start = start - face.logsumexp(start, 0)
    log_transition = transition - face.logsumexp(transition, 1)[:, None]
    log_emission = emission - face.logsumexp(emission, 1)[:, None]
    seen = log_emission.T[observed]

    def step(state: Any, row: Any) -> tuple:
        state = face.logsumexp(state[:, None] + log_transition, 0) + row
        return state, None

    last, _ = face.scan(step, log_start + seen[0], seen[1:])
    return -face.logsumexp(last, 0)


def tree_data(sites: int) -> tuple:
    """Logarithms of the lengths of branches, and the bases of eight species at each site."""
    rng = np.random.default_rng(0)
    return rng.normal(-2.0, 0.3, 14), np.eye(BASES)[rng.integers(0, BASES, (8, sites))]


def tree_loss(branches: Any, leaves: Any, face: Face) -> Any:
    """The negative log-likelihood of a balanced tree, by pruning, where all substitutions are as likely."""
    m = face.numpy
    change = 0.25 - 0.25 * m.exp(-4.0 / 3.0 * m.exp(branches))
    nodes, edge = [leaves[k] for k in range(8)], 0
    while len(nodes) > 1:
        passed = []
        for node in nodes:
            p = change[edge]
            passed.append(p * m.sum(node, axis=1)[:, None] + (1.0 - 4.0 * p) * node)
            edge += 1
        nodes = [passed[k] * passed[k + 1] for k in range(0, len(passed), 2)]
    return -m.sum(m.log(0.25 * m.sum(nodes[0], axis=1)))


def oscillator_data(n: int) -> tuple:
    """Frequencies and a strength of coupling; phases at the start; which pairs are coupled."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=n), np.array(0.8)], rng.uniform(0.0, 2.0 * math.pi, n), rng.uniform(size=(n, n))


def oscillator_loss(params: Any, phases: Any, coupled: Any, face: Face) -> Any:
    """How far 30 steps of Kuramoto's oscillators are from running together."""
    m = face.numpy
    frequencies, strength = params

    def step(phase: Any, _: Any) -> tuple:
        pull = m.mean(coupled * m.sin(phase[None, :] - phase[:, None]), axis=1)
        return phase + 0.05 * (frequencies + strength * pull), None

    last, _ = face.scan(step, phases, length=30)
    return 1.0 - m.mean(m.cos(last)) ** 2 - m.mean(m.sin(last)) ** 2


workloads = [
    fresh("epidemic", "an epidemic in regions, 200 steps", epidemic_data, epidemic_loss, small=20, large=400),
    fresh("hidden-chain", "a hidden Markov model of 24 states", chain_data, chain_loss, small=100, large=2_000),
    fresh("species-tree", "the likelihood of a tree of 8 species", tree_data, tree_loss, small=200, large=50_000),
    fresh("oscillators", "30 steps of coupled oscillators", oscillator_data, oscillator_loss, small=30, large=500),
]
