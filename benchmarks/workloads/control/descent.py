"""The gradient through 100 steps of gradient descent, with respect to its step sizes and the penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert

SAMPLES, FEATURES = 50, 10


def data(steps: int) -> tuple:
    """Logarithms of step sizes and of the penalty; samples to fit and to test on; the number of steps as a length."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, SAMPLES, FEATURES))
    labels = np.sign(x @ rng.standard_normal(FEATURES) + 0.5 * rng.standard_normal((2, SAMPLES)))
    return [np.full(FEATURES, np.log(0.5)), np.array(np.log(0.01))], x, labels, np.zeros(steps)


def loss(params: Any, x: Any, labels: Any, steps: Any, face: Face) -> Any:
    """The logistic loss on the samples to test on, of the weights that the descent ends with."""
    m = face.numpy
    rates, penalty = m.exp(params[0]), m.exp(params[1])
    logistic = lambda w, k: m.mean(m.log1p(m.exp(-labels[k] * (x[k] @ w))))
    slope = face.grad(lambda w: logistic(w, 0) + penalty * m.sum(w * w))
    w, _ = face.scan(lambda w, _: (w - rates * slope(w), None), m.zeros(FEATURES), length=len(steps))
    return logistic(w, 1)


workload = Workload(
    "descent",
    "the gradient through 100 steps of gradient descent on a logistic regression, 50 samples of 10 features",
    data=data,
    sizes={"medium": 100},
    targets={"medium": {"jax": 0.5}},
    compile_targets={"medium": {"jax": 1.0}},
    subject="wengert compiled",
    reference="wengert",
    family="loops",
)
write_for_wengert(workload, loss)
write_for_jax(workload, loss)
