"""Regressions on many rows of 20 features: logistic and negative-binomial, and Hamiltonian Monte Carlo on the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads.faces import Face, jax_face, torch_face, wengert_face, write_for_all

FEATURES = 20
SAMPLES, LEAPS, RATE = 10, 10, 0.3
SIZES = {"small": 10_000, "large": 100_000}


def logistic_data(n: int) -> tuple:
    """The weights, the features, the classes."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((n, FEATURES)), 0.5 * rng.standard_normal(FEATURES)
    return 0.1 * rng.standard_normal(FEATURES), x, (x @ w + rng.logistic(size=n) > 0).astype(np.float64)


def logistic_loss(w: Any, x: Any, y: Any, face: Face) -> Any:
    """The negative logarithm of the posterior, under a normal prior."""
    m = face.numpy
    z = x @ w
    return m.sum(face.softplus(z) - y * z) + 0.5 * m.sum(w**2)


def negative_binomial_data(n: int) -> tuple:
    """The weights and the logarithm of the dispersion, the features, the counts."""
    rng = np.random.default_rng(0)
    x, w = 0.3 * rng.standard_normal((n, FEATURES)), rng.standard_normal(FEATURES)
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(x @ w))).astype(np.float64)
    return [0.5 * w, np.array(0.4)], x, counts


def negative_binomial_loss(params: Any, x: Any, counts: Any, face: Face) -> Any:
    """The negative logarithm of the likelihood, where the logarithms of means are linear in the features."""
    m = face.numpy
    w, log_r = params
    r, log_mean = m.exp(log_r), x @ w
    log_total = m.log(r + m.exp(log_mean))
    choices = face.gammaln(counts + r) - face.gammaln(r) - face.gammaln(counts + 1.0)
    return -m.sum(choices + r * (log_r - log_total) + counts * (log_mean - log_total))


def monte_carlo_data(n: int) -> tuple:
    """The weights, the features, the classes; momenta, and logarithms of uniform numbers, for each sample."""
    rng = np.random.default_rng(1)
    w, x, y = logistic_data(n)
    return w, x, y, rng.standard_normal((SAMPLES, FEATURES)), np.log(rng.uniform(size=SAMPLES))


def monte_carlo(w: Any, x: Any, y: Any, momenta: Any, thresholds: Any, face: Face) -> Any:
    """Samples of the posterior: leapfrog steps along the gradient, and a step of Metropolis."""
    m = face.numpy
    potential = lambda w: logistic_loss(w, x, y, face)
    force = face.grad(potential)
    rate = RATE / len(y) ** 0.5

    def leap(state: tuple, _: Any) -> tuple:
        w, p = state
        p = p - 0.5 * rate * force(w)
        w = w + rate * p
        return (w, p - 0.5 * rate * force(w)), None

    def sample(w: Any, inputs: tuple) -> tuple:
        p, threshold = inputs
        (there, q), _ = face.scan(leap, (w, p), length=LEAPS)
        gain = potential(w) + 0.5 * m.sum(p**2) - potential(there) - 0.5 * m.sum(q**2)
        w = m.where(gain > threshold, there, w)
        return w, w

    return face.scan(sample, w, (momenta, thresholds))[1]


logistic = Workload(
    "logistic",
    "logistic regression on 10 000 and 100 000 rows of 20 features: value and gradient",
    data=logistic_data,
    sizes=SIZES,
    subject="wengert compiled",
    reference="wengert",
    family="statistics",
    traffic=lambda n: 8 * n * (FEATURES + 1),
)
negative_binomial = Workload(
    "negative-binomial",
    "negative-binomial regression on 10 000 and 100 000 rows of 20 features: value and gradients",
    data=negative_binomial_data,
    sizes=SIZES,
    subject="wengert compiled",
    reference="wengert",
    family="statistics",
    traffic=lambda n: 8 * n * (FEATURES + 1),
)
hmc = Workload(
    "hmc",
    f"{SAMPLES} samples of {LEAPS} leapfrog steps on a logistic regression with 1 000 and 10 000 rows of 20 features",
    data=monte_carlo_data,
    sizes={"small": 1_000, "large": 10_000},
    subject="wengert compiled",
    reference="wengert",
    tolerance=1e-8,
    family="statistics",
)
write_for_all(logistic, logistic_loss)
write_for_all(negative_binomial, negative_binomial_loss)


@hmc.implementation("wengert")
def eager(*problem: np.ndarray) -> Run:
    face = wengert_face()
    return lambda: (monte_carlo(*problem, face),)


@hmc.implementation("wengert compiled")
def wengert(*problem: np.ndarray) -> Run:
    import wengert as wg

    return _samples(wg.compile, problem, wengert_face())


@hmc.implementation("jax")
def jax(*problem: np.ndarray) -> Run:
    import jax

    run = _samples(jax.jit, tuple(map(jax.numpy.asarray, problem)), jax_face())
    return lambda: jax.block_until_ready(run())


@hmc.implementation("torch")
def torch(*problem: np.ndarray) -> Run:
    import torch

    return _samples(lambda f: f, tuple(map(torch.tensor, problem)), torch_face())


def _samples(wrap: Callable, problem: tuple, face: Face) -> Run:
    function = wrap(lambda *a: monte_carlo(*a, face))
    return lambda: (function(*problem),)
