"""Recurrent layers over sequences: `RNN`, `LSTM`, `GRU`.

A layer in one direction is one operation: the products of the inputs of all steps at once, and a loop over the steps.
It runs as native code, also on a tape, where it is one node. It is compiled once for each shape of the input: sequences
that are padded to a few lengths need few programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from wengert.control.iteration import is_in_trace, scan
from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor
from wengert.nn.dropout import Dropout
from wengert.nn.inputs import refuse_length, to_precision
from wengert.nn.linear import draw_uniform
from wengert.nn.module import Module
from wengert.nn.recurrent_cells import STEPS, States, as_states, nonlinear_step
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import expand_dims, reshape, squeeze, swapaxes
from wengert.random.generator import default_rng

Weights = tuple[Any, Any, Any, Any]
"""Of one layer in one direction: weight_ih, weight_hh, bias_ih, bias_hh; the biases may be None."""


def run_steps(kind: str, reverse: bool, x: Any, states: States, weights: Weights) -> tuple[Any, States]:
    """All hidden states (T, N, H) of a layer in one direction, and its last states, for inputs (T, N, I)."""
    step = STEPS[kind]
    w_ih, w_hh, b_ih, b_hh = weights
    length, n, size = x.shape
    if b_hh is not None and step.adds_parts:
        b_ih, b_hh = add(b_ih, b_hh), None
    inputs = matmul(reshape(x, (length * n, size)), swapaxes(w_ih, 0, 1))
    inputs = reshape(inputs if b_ih is None else add(inputs, b_ih), (length, n, w_ih.shape[0]))
    w = swapaxes(w_hh, 0, 1)

    def run(states: States, part: Any) -> tuple[States, Any]:
        hidden = matmul(states[0], w)
        new = step.run(part, hidden if b_hh is None else add(hidden, b_hh), states)
        return new, new[0]

    final, outputs = scan(run, states, inputs, reverse=reverse)
    return outputs, final


@cache
def native_steps(kind: str, reverse: bool) -> Callable[..., Any]:
    """`run_steps` as native code."""
    from wengert.compiler.call.compiled import compile  # which loads LLVM

    run = partial(run_steps, kind, reverse)
    run.__name__ = kind  # type: ignore[attr-defined]  # the name of the operation on the tape
    return compile(run)


class Recurrent(Module):
    """What recurrent layers share: weights by PyTorch's names, layers, directions, and the layout of sequences."""

    kind: str
    weight_ih_l0: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        self.check_settings(proj_size)
        rng, bound = default_rng(rng), 1.0 / math.sqrt(hidden_size)
        rows = STEPS[self.kind].gates * hidden_size
        for layer, end in self.each_direction():
            size = hidden_size * (1 + bidirectional) if layer else input_size
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, size), "weight_hh": (rows, hidden_size)}
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            for name, shape in shapes.items():
                setattr(self, f"{name}_l{layer}{end}", draw_uniform(rng, bound, shape, dtype))
        self.between = Dropout(dropout, rng=rng) if dropout and num_layers > 1 else None

    def check_settings(self, proj_size: int) -> None:
        """Raise an error for arguments that make no layer."""
        name = type(self).__name__
        if proj_size:
            raise user_error(ValueError, f"{name} has no projections (proj_size={proj_size})", "Add a Linear layer.")
        if self.hidden_size < 1 or self.num_layers < 1:
            raise user_error(
                ValueError,
                f"{name} has hidden_size={self.hidden_size} and num_layers={self.num_layers}",
                "Both must be at least 1.",
            )

    def each_direction(self) -> Iterator[tuple[int, str]]:
        """The number of the layer and the ending of the names of its weights, for each layer and direction."""
        for layer in range(self.num_layers):
            yield layer, ""
            if self.bidirectional:
                yield layer, "_reverse"

    def weights_of(self, layer: int, end: str) -> Weights:
        """The weights of one layer in one direction."""
        w_ih, w_hh, b_ih, b_hh = [
            getattr(self, f"{name}_l{layer}{end}", None) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
        return w_ih, w_hh, b_ih, b_hh

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The hidden states of the last layer for all steps, and the last states of all layers.

        The input is (T, N, input_size), with `batch_first` (N, T, input_size), or one sequence (T, input_size).
        """
        name, like = type(self).__name__, self.weight_ih_l0
        x = to_precision(input, like, name)
        if x.ndim not in (2, 3):
            raise user_error(
                ValueError,
                f"{name} was given an input of shape {x.shape}",
                "It is (N, T, input_size)." if self.batch_first else "It is (T, N, input_size) or (T, input_size).",
            )
        refuse_length(x, -1, self.input_size, name, "input_size")
        is_batch = x.ndim == 3
        x = (swapaxes(x, 0, 1) if self.batch_first else x) if is_batch else expand_dims(x, 1)
        if not x.shape[0]:
            raise user_error(ValueError, f"{name} was given a sequence without steps, of shape {input.shape}")
        count = STEPS[self.kind].states
        batch = (x.shape[1],) if is_batch else ()
        shape = (self.num_layers * (1 + self.bidirectional), *batch, self.hidden_size)
        start = as_states(hx, count, shape, like, name)
        outputs, final = self.run_layers(x, start if is_batch else tuple([expand_dims(h, 1) for h in start]))
        if not is_batch:
            outputs, final = squeeze(outputs, 1), tuple([squeeze(h, 1) for h in final])
        elif self.batch_first:
            outputs = swapaxes(outputs, 0, 1)
        return outputs, final if count > 1 else final[0]

    def run_layers(self, x: Any, start: States) -> tuple[Any, States]:
        """All layers on an input (T, N, I), from initial states for each layer and direction."""
        finals: list[States] = []
        outputs: list[Any] = []
        for i, (layer, end) in enumerate(self.each_direction()):
            if layer and len(outputs) == 1 + self.bidirectional:
                x, outputs = join_directions(outputs), []
                x = x if self.between is None else self.between(x)
            reverse = bool(end)
            states, weights = tuple([h[i] for h in start]), self.weights_of(layer, end)
            if is_in_trace([x, *states]):
                out, final = run_steps(self.kind, reverse, x, states, weights)
            else:
                out, final = native_steps(self.kind, reverse)(x, states, weights)
            outputs.append(out)
            finals.append(final)
        return join_directions(outputs), tuple([stack(list(parts)) for parts in zip(*finals, strict=True)])


def join_directions(outputs: list[Any]) -> Any:
    """The hidden states of both directions one after the other."""
    return outputs[0] if len(outputs) == 1 else concatenate(outputs, axis=-1)


class RNN(Recurrent):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), or with relu, over sequences.

    >>> out, h = RNN(3, 4, num_layers=2, rng=0)(np.ones((7, 2, 3)))
    >>> out.shape, h.shape
    ((7, 2, 4), (2, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        self.nonlinearity = self.kind = nonlinear_step(nonlinearity)
        settings = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(*settings, rng=rng, dtype=dtype)


class LSTM(Recurrent):
    """Long short-term memory over sequences; the last states are a pair (h_n, c_n).

    >>> out, (h, c) = LSTM(3, 4, bidirectional=True, rng=0)(np.ones((7, 2, 3)))
    >>> out.shape, c.shape
    ((7, 2, 8), (2, 2, 4))
    """

    kind = "lstm"


class GRU(Recurrent):
    """Gated recurrent units over sequences.

    >>> out, h = GRU(3, 4, batch_first=True, rng=0)(np.ones((2, 7, 3)))
    >>> out.shape, h.shape
    ((2, 7, 4), (1, 2, 4))
    """

    kind = "gru"
