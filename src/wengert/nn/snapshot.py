"""All that steps of training change in a model: its tensors, and the generators of its layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wengert.modes.tensor import Tensor
from wengert.nn.module import Module
from wengert.random.counter_generator import CounterGenerator
from wengert.random.generator import Generator


def take_snapshot(model: Module) -> dict[str, Any]:
    """Copies of all tensors of a model, those that its state dict leaves out too, and the states of its generators."""
    return {
        "tensors": {name: t.detach().numpy().copy() for name, t in named_tensors(model)},
        "generators": {name: state_of(generator) for name, generator in named_generators(model)},
    }


def restore_snapshot(model: Module, snapshot: Mapping[str, Any]) -> None:
    """Assign what `take_snapshot` has copied."""
    for name, t in named_tensors(model):
        t.data = Tensor(snapshot["tensors"][name].copy())
    for name, generator in named_generators(model):
        state = snapshot["generators"][name]
        if isinstance(generator, CounterGenerator):
            generator.state = state
        else:
            generator.bit_generator.state = state


def named_tensors(model: Module) -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of a model."""
    yield from model.named_parameters()
    yield from model.named_buffers()


def named_generators(model: Module) -> Iterator[tuple[str, Any]]:
    """The generators in the attributes of the modules, by path."""
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, np.random.Generator | Generator | CounterGenerator):
                yield f"{path}.{name}" if path else name, value


def state_of(generator: Any) -> Any:
    """The state of a generator, as a copy."""
    if isinstance(generator, CounterGenerator):
        return generator.state.detach().numpy().copy()
    return generator.bit_generator.state
