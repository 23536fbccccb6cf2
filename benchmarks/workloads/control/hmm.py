"""The forward algorithm of a hidden Markov model, in logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert

STATES, SYMBOLS = 20, 8


def data(steps: int) -> tuple:
    """Scores of transitions and of symbols, and the symbols that were seen."""
    rng = np.random.default_rng(0)
    scores = [rng.standard_normal((STATES, STATES)), rng.standard_normal((STATES, SYMBOLS))]
    return scores, rng.integers(0, SYMBOLS, steps)


def loss(params: Any, seen: Any, face: Face) -> Any:
    """The negative logarithm of the likelihood."""
    m = face.numpy
    transitions, symbols = [x - face.logsumexp(x, axis=1, keepdims=True) for x in params]

    def step(a: Any, emitted: Any) -> tuple:
        return face.logsumexp(a[:, None] + transitions, axis=0) + emitted, None

    emissions = symbols.T[seen]
    a, _ = face.scan(step, emissions[0] - m.log(STATES), emissions[1:])
    return -face.logsumexp(a, axis=0)


workload = Workload(
    "hmm",
    "the forward algorithm of a hidden Markov model, 200 steps, 20 states, `logsumexp`: value and gradients",
    data=data,
    sizes={"medium": 200},
    targets={"medium": {"jax": 0.5}},
    compile_targets={"medium": {"jax": 0.5}},
    subject="wengert compiled",
    reference="wengert",
    family="loops",
)
write_for_wengert(workload, loss)
write_for_jax(workload, loss)
