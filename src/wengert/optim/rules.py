"""Update rules: the mathematics of each optimiser, for one parameter.

A rule is a pure function of a parameter, its gradient, its state and hyperparameters to the new parameter and the new
state. It consists of operations of the table, so it runs on arrays, tensors and symbols, and can be differentiated.
Hyperparameters are numbers or arrays without axes, in double precision: what is computed from them alone (bias
corrections) is rounded to the precision of the parameter last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.ops.elementwise.arithmetic import sqrt, square
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.predicates import sign
from wengert.ops.shape.casting import astype

State = Mapping[str, Any]
Result = tuple[Any, dict[str, Any]]

NUMBERS = {"step": 0.0, "mu_product": 1.0}
"""The parts of a state that are one number, with their initial values; all others are arrays like the parameter."""


class Rule:
    """An update rule, and the parts of the state that it needs for given hyperparameters."""

    def __init__(self, update: Callable[..., Result], parts: Callable[[Mapping[str, Any]], tuple[str, ...]]):
        self.update, self.parts = update, parts
        self.__name__, self.__doc__ = update.__name__, update.__doc__

    def __call__(self, p: Any, g: Any, state: State, *, maximize: bool = False, **hyperparameters: Any) -> Result:
        return self.update(p, -g if maximize else g, state, **hyperparameters)

    def __repr__(self) -> str:
        return f"<update rule {self.__name__}>"


def keeps(*parts: str, **optional: str) -> Callable[[Callable[..., Result]], Rule]:
    """A decorator for rules that keep these parts of a state, and the `optional` ones if a hyperparameter is set."""

    def wrap(update: Callable[..., Result]) -> Rule:
        return Rule(update, lambda h: (*parts, *[part for name, part in optional.items() if h[name]]))

    return wrap


def initial_part(name: str, hyperparameters: Mapping[str, Any], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """One part of the state of a parameter before the first step."""
    if name in NUMBERS:
        return np.array(NUMBERS[name])
    start = hyperparameters.get("initial_accumulator_value", 0.0) if name == "sum" else 0.0
    return np.full(shape, start, dtype)


def times(number: Any, x: Any) -> Any:
    """The product of a hyperparameter and an array, in the precision of the array."""
    return astype(number, x.dtype) * x


def plus(x: Any, number: Any) -> Any:
    """The sum of an array and a hyperparameter, in the precision of the array."""
    return x + astype(number, x.dtype)


def mix(x: Any, y: Any, weight: Any) -> Any:
    """`weight * x + (1 - weight) * y`: one term more of an exponential average."""
    return times(weight, x) + times(1.0 - weight, y)


@keeps(momentum="momentum_buffer", dampening="step")
def sgd(
    p: Any, g: Any, state: State, *, lr: Any, momentum: Any, dampening: Any, weight_decay: Any, nesterov: bool
) -> Result:
    """Gradient descent, with momentum. The first momentum is the gradient, without dampening."""
    g = g + times(weight_decay, p)
    new = {"step": state["step"] + 1.0} if "step" in state else {}
    if "momentum_buffer" in state:
        weight = where(state["step"] > 0, 1.0 - dampening, 1.0) if "step" in state else 1.0
        buffer = times(momentum, state["momentum_buffer"]) + times(weight, g)
        new["momentum_buffer"] = buffer
        g = g + times(momentum, buffer) if nesterov else buffer
    return p - times(lr, g), new


@keeps("step", "exp_avg", "exp_avg_sq", amsgrad="max_exp_avg_sq")
def adam(p: Any, g: Any, state: State, *, lr: Any, betas: Any, eps: Any, weight_decay: Any, amsgrad: bool) -> Result:
    """Adam (Kingma and Ba 2014): the mean of gradients over the root of the mean of their squares."""
    step = state["step"] + 1.0
    g = g + times(weight_decay, p)
    mean, variance = mix(state["exp_avg"], g, betas[0]), mix(state["exp_avg_sq"], square(g), betas[1])
    new = {"step": step, "exp_avg": mean, "exp_avg_sq": variance}
    if amsgrad:
        variance = new["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], variance)
    scale = plus(sqrt(variance) / astype(sqrt(1.0 - betas[1] ** step), p.dtype), eps)
    return p - times(lr / (1.0 - betas[0] ** step), mean / scale), new


@keeps("step", "exp_avg", "exp_avg_sq", amsgrad="max_exp_avg_sq")
def adamw(p: Any, g: Any, state: State, *, lr: Any, betas: Any, eps: Any, weight_decay: Any, amsgrad: bool) -> Result:
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter 2017)."""
    p = times(1.0 - lr * weight_decay, p)
    return adam(p, g, state, lr=lr, betas=betas, eps=eps, weight_decay=0.0, amsgrad=amsgrad)


@keeps("step", "exp_avg", "exp_inf")
def adamax(p: Any, g: Any, state: State, *, lr: Any, betas: Any, eps: Any, weight_decay: Any) -> Result:
    """Adam with the maximum norm (Kingma and Ba 2014)."""
    step = state["step"] + 1.0
    g = g + times(weight_decay, p)
    mean, norm = mix(state["exp_avg"], g, betas[0]), maximum(times(betas[1], state["exp_inf"]), plus(absolute(g), eps))
    p = p - times(lr / (1.0 - betas[0] ** step), mean / norm)
    return p, {"step": step, "exp_avg": mean, "exp_inf": norm}


def decay_weights(p: Any, g: Any, lr: Any, weight_decay: Any, decoupled: bool) -> tuple[Any, Any]:
    """Weight decay of the parameter itself, or as a part of the gradient."""
    return (times(1.0 - lr * weight_decay, p), g) if decoupled else (p, g + times(weight_decay, p))


@keeps("step", "mu_product", "exp_avg", "exp_avg_sq")
def nadam(
    p: Any,
    g: Any,
    state: State,
    *,
    lr: Any,
    betas: Any,
    eps: Any,
    weight_decay: Any,
    momentum_decay: Any,
    decoupled_weight_decay: bool,
) -> Result:
    """Adam with Nesterov's momentum (Dozat 2016)."""
    step = state["step"] + 1.0
    p, g = decay_weights(p, g, lr, weight_decay, decoupled_weight_decay)
    mu, next_mu = (betas[0] * (1.0 - 0.5 * 0.96 ** (t * momentum_decay)) for t in (step, step + 1.0))
    product = state["mu_product"] * mu
    mean, variance = mix(state["exp_avg"], g, betas[0]), mix(state["exp_avg_sq"], square(g), betas[1])
    scale = plus(sqrt(variance / astype(1.0 - betas[1] ** step, p.dtype)), eps)
    p = p - times(lr * (1.0 - mu) / (1.0 - product), g / scale)
    p = p - times(lr * next_mu / (1.0 - product * next_mu), mean / scale)
    return p, {"step": step, "mu_product": product, "exp_avg": mean, "exp_avg_sq": variance}


@keeps("step", "exp_avg", "exp_avg_sq")
def radam(
    p: Any,
    g: Any,
    state: State,
    *,
    lr: Any,
    betas: Any,
    eps: Any,
    weight_decay: Any,
    decoupled_weight_decay: bool,
) -> Result:
    """Adam with a rectified variance (Liu et al. 2019): momentum alone while the variance has too few terms."""
    step = state["step"] + 1.0
    p, g = decay_weights(p, g, lr, weight_decay, decoupled_weight_decay)
    mean, variance = mix(state["exp_avg"], g, betas[0]), mix(state["exp_avg_sq"], square(g), betas[1])
    remaining = betas[1] ** step
    most = 2.0 / (1.0 - betas[1]) - 1.0
    length = most - 2.0 * step * remaining / (1.0 - remaining)
    is_long = length > 5.0
    usable = where(is_long, length, 5.0)
    ratio = (usable - 4.0) * (usable - 2.0) * most / ((most - 4.0) * (most - 2.0) * usable)
    rectified = times(sqrt(ratio * (1.0 - remaining)), mean / plus(sqrt(variance), eps))
    p = p - times(lr / (1.0 - betas[0] ** step), where(is_long, rectified, mean))
    return p, {"step": step, "exp_avg": mean, "exp_avg_sq": variance}


@keeps("square_avg", momentum="momentum_buffer", centered="grad_avg")
def rmsprop(
    p: Any,
    g: Any,
    state: State,
    *,
    lr: Any,
    alpha: Any,
    eps: Any,
    weight_decay: Any,
    momentum: Any,
    centered: bool,
) -> Result:
    """The gradient over the root of the mean of its squares (Tieleman and Hinton 2012), or of its variance."""
    g = g + times(weight_decay, p)
    variance = mix(state["square_avg"], square(g), alpha)
    new = {"square_avg": variance}
    if centered:
        mean = new["grad_avg"] = mix(state["grad_avg"], g, alpha)
        variance = variance - square(mean)
    direction = g / plus(sqrt(variance), eps)
    if "momentum_buffer" in state:
        direction = new["momentum_buffer"] = times(momentum, state["momentum_buffer"]) + direction
    return p - times(lr, direction), new


@keeps("step", "sum")
def adagrad(
    p: Any,
    g: Any,
    state: State,
    *,
    lr: Any,
    lr_decay: Any,
    weight_decay: Any,
    initial_accumulator_value: Any,  # noqa: ARG001  # the state has it
    eps: Any,
) -> Result:
    """The gradient over the root of the sum of its squares (Duchi et al. 2011)."""
    g = g + times(weight_decay, p)
    total = state["sum"] + square(g)
    p = p - times(lr / (1.0 + state["step"] * lr_decay), g / plus(sqrt(total), eps))
    return p, {"step": state["step"] + 1.0, "sum": total}


@keeps("square_avg", "acc_delta")
def adadelta(p: Any, g: Any, state: State, *, lr: Any, rho: Any, eps: Any, weight_decay: Any) -> Result:
    """Steps as long as earlier ones, relative to the gradient (Zeiler 2012)."""
    g = g + times(weight_decay, p)
    variance = mix(state["square_avg"], square(g), rho)
    delta = sqrt(plus(state["acc_delta"], eps)) / sqrt(plus(variance, eps)) * g
    return p - times(lr, delta), {"square_avg": variance, "acc_delta": mix(state["acc_delta"], square(delta), rho)}


@keeps("exp_avg")
def lion(p: Any, g: Any, state: State, *, lr: Any, betas: Any, weight_decay: Any) -> Result:
    """The sign of the momentum (Chen et al. 2023): all elements move by the same length."""
    direction = sign(mix(state["exp_avg"], g, betas[0]))
    p = times(1.0 - lr * weight_decay, p) - times(lr, direction)
    return p, {"exp_avg": mix(state["exp_avg"], g, betas[1])}
