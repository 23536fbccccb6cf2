"""All that steps of training change in a model: its tensors, and the generators of its layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wengert.modes.tensor import Tensor
from wengert.nn.module import Module
from wengert.random.generator import Generator


def take_snapshot(model: Module) -> dict[str, Any]:
    """Copies of all tensors of a model, those that its state dict leaves out too, and the states of its generators."""
    return {
        "tensors": {name: t.detach().numpy().copy() for name, t in named_tensors(model)},
        "generators": {name: bits.state for name, bits in named_bits(model)},
    }


def restore_snapshot(model: Module, snapshot: Mapping[str, Any]) -> None:
    """Assign what `take_snapshot` has copied."""
    for name, t in named_tensors(model):
        t.data = Tensor(snapshot["tensors"][name].copy())
    for name, bits in named_bits(model):
        bits.state = snapshot["generators"][name]


def named_tensors(model: Module) -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of a model."""
    yield from model.named_parameters()
    yield from model.named_buffers()


def named_bits(model: Module) -> Iterator[tuple[str, np.random.BitGenerator]]:
    """NumPy's sources of random bits in the attributes of the modules, by path."""
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, np.random.Generator | Generator):
                yield f"{path}.{name}" if path else name, value.bit_generator
