"""Draws from a seed, as functions of their parameters, and parameters for draws of integers."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.random import default_rng

DISCRETE = {
    "poisson": (3.5,),
    "binomial": (10, 0.3),
    "negative_binomial": (4.0, 0.3),
    "geometric": (0.3,),
    "hypergeometric": (5, 6, 4),
    "logseries": (0.4,),
    "zipf": (2.5,),
}


def seeded(name: str, size=None, seed: int = 5):
    """The method as a function of its parameters alone."""
    return lambda *parameters, **kwargs: getattr(default_rng(seed), name)(*parameters, size=size, **kwargs)


def tensors(parameters):
    return [wg.tensor(np.asarray(p, float), requires_grad=True) for p in parameters]
