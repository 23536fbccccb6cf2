"""Steps of recurrent layers, and the cells that run one of them.

A step has two affine parts: one of the input, which is computed for all steps at once, and one of the hidden state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.modes.tensor import Tensor
from wengert.nn.functional.affine import linear
from wengert.nn.inputs import refuse_length, to_precision
from wengert.nn.linear import draw_uniform
from wengert.nn.module import Module
from wengert.ops.elementwise.choices import relu
from wengert.ops.elementwise.exponential import sigmoid
from wengert.ops.elementwise.trigonometric import tanh
from wengert.ops.shape.joining import unstack
from wengert.ops.shape.reshaping import reshape
from wengert.random.generator import default_rng

States = tuple[Any, ...]


class Step(NamedTuple):
    """One step: from the affine parts of the input and of the hidden state, and the states, to the new states.

    The weights have the rows of all `gates`, one after the other. If the parts are only ever added, so are their
    biases.
    """

    run: Callable[[Any, Any, States], States]
    gates: int
    states: int = 1
    adds_parts: bool = True


def split_gates(x: Any, gates: int) -> list[Any]:
    """The parts of the last axis that belong to each gate."""
    return list(unstack(reshape(x, (*x.shape[:-1], gates, x.shape[-1] // gates)), axis=-2))


def run_tanh(x: Any, h: Any, _states: States) -> States:
    """Without gates, with tanh."""
    return (tanh(x + h),)


def run_relu(x: Any, h: Any, _states: States) -> States:
    """Without gates, with relu."""
    return (relu(x + h),)


def run_lstm(x: Any, h: Any, states: States) -> States:
    """Gates: input, forget, cell, output (Hochreiter and Schmidhuber 1997; Gers and others 2000)."""
    i, f, g, o = split_gates(x + h, 4)
    c = sigmoid(f) * states[1] + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def run_gru(x: Any, h: Any, states: States) -> States:
    """Gates: reset, update, new (Cho and others 2014), with the reset gate behind the product."""
    (x_r, x_z, x_n), (h_r, h_z, h_n) = split_gates(x, 3), split_gates(h, 3)
    z = sigmoid(x_z + h_z)
    n = tanh(x_n + sigmoid(x_r + h_r) * h_n)
    return (n + z * (states[0] - n),)


STEPS = {
    "tanh": Step(run_tanh, 1),
    "relu": Step(run_relu, 1),
    "lstm": Step(run_lstm, 4, states=2),
    "gru": Step(run_gru, 3, adds_parts=False),
}


def nonlinear_step(nonlinearity: str) -> str:
    """The name of the step of a layer without gates."""
    if nonlinearity not in ("tanh", "relu"):
        raise user_error(ValueError, f"nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
    return nonlinearity


def as_states(hx: Any, count: int, shape: Sequence[int], like: Tensor, layer: str) -> States:
    """The initial states: zeros if none are given, else of this shape."""
    if hx is None:
        return (numpy_of(like).zeros(tuple(shape), like.dtype),) * count
    given = (hx,) if count == 1 else tuple(hx)
    if len(given) != count:
        raise user_error(ValueError, f"{layer} was given {len(given)} initial states", "Pass a pair (h_0, c_0).")
    states = tuple([to_precision(h, like, layer) for h in given])
    for h in states:
        if h.shape != tuple(shape):
            raise user_error(
                ValueError,
                f"{layer} was given an initial state of shape {h.shape}",
                f"With this input, it has the shape {tuple(shape)}.",
            )
    return states


class Cell(Module):
    """One step of a recurrent layer as a module; what the cells share."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool, step: str, rng: Any, dtype: Any):
        self.input_size, self.hidden_size, self.bias, self.step = input_size, hidden_size, bias, step
        rng, bound = default_rng(rng), 1.0 / math.sqrt(max(hidden_size, 1))
        rows = STEPS[step].gates * hidden_size
        self.weight_ih = draw_uniform(rng, bound, (rows, input_size), dtype)
        self.weight_hh = draw_uniform(rng, bound, (rows, hidden_size), dtype)
        self.bias_ih = draw_uniform(rng, bound, (rows,), dtype) if bias else None
        self.bias_hh = draw_uniform(rng, bound, (rows,), dtype) if bias else None

    def forward(self, input: Any, hx: Any = None) -> Any:
        name, step = type(self).__name__, STEPS[self.step]
        x = to_precision(input, self.weight_ih, name)
        refuse_length(x, -1, self.input_size, name, "input_size")
        states = as_states(hx, step.states, (*x.shape[:-1], self.hidden_size), self.weight_ih, name)
        new = step.run(linear(x, self.weight_ih, self.bias_ih), linear(states[0], self.weight_hh, self.bias_hh), states)
        return new if step.states > 1 else new[0]


class RNNCell(Cell):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu, for inputs (N, input_size) or one of them.

    >>> RNNCell(3, 4, rng=0)(np.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        super().__init__(input_size, hidden_size, bias, nonlinear_step(nonlinearity), rng, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(Cell):
    """One step of an LSTM: states (h, c) in and out, for inputs (N, input_size) or one of them.

    >>> h, c = LSTMCell(3, 4, rng=0)(np.ones((2, 3)))
    >>> h.shape
    (2, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, rng: Any = None, dtype: Any = np.float32
    ):
        super().__init__(input_size, hidden_size, bias, "lstm", rng, dtype)


class GRUCell(Cell):
    """One step of a gated recurrent unit, for inputs (N, input_size) or one of them.

    >>> GRUCell(3, 4, rng=0)(np.ones(3)).shape
    (4,)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, rng: Any = None, dtype: Any = np.float32
    ):
        super().__init__(input_size, hidden_size, bias, "gru", rng, dtype)
