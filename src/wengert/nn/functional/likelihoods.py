"""Losses that are negative log likelihoods of counts and of normal numbers."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.errors import user_error
from wengert.nn.functional.reductions import as_floats, known_numbers, reduce_loss, same_shapes
from wengert.ops.elementwise.arithmetic import square
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.exponential import exp, log
from wengert.ops.shape.reshaping import expand_dims
from wengert.transforms.products import stop_gradient

__all__ = ["gaussian_nll_loss", "poisson_nll_loss"]


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """The negative log likelihood of counts, of which the input is the rate, or its logarithm with `log_input`.

    `full` adds Stirling's approximation of log(target!), for targets above 1.

    >>> poisson_nll_loss([0.0], [2.0], reduction="none")
    array([1.])
    """
    input, target = same_shapes("poisson_nll_loss", input, target)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        large = target > 1
        n = where(large, target, 1.0)
        loss = loss + where(large, n * log(n) - n + 0.5 * log(2.0 * math.pi * n), 0.0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """The negative log likelihood of normal numbers, by their means and variances, which count as eps if smaller.

    `full` adds the constant log(2 pi) / 2.

    >>> gaussian_nll_loss([1.0], [3.0], [2.0], reduction="none")
    array([1.34657359])
    """
    input, target = as_floats(input), as_floats(target)
    var = as_floats(var, input)
    if var.ndim == input.ndim - 1:
        var = expand_dims(var, -1)
    numbers = known_numbers(var)
    if numbers is not None and (numbers < 0).any():
        raise user_error(ValueError, "gaussian_nll_loss was given a negative variance")
    var = var + stop_gradient(maximum(var, eps) - var)
    loss = 0.5 * (log(var) + square(input - target) / var)
    return reduce_loss(loss + 0.5 * math.log(2.0 * math.pi) if full else loss, reduction)
