"""What a tape holds between the forward and the backward pass of the MLP step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure
from benchmarks.systems import SYSTEMS
from benchmarks.workloads import mlp


def memory_figures() -> list[Figure]:
    """Bytes that Wengert's tape and PyTorch's keep for the backward pass, each buffer counted once."""
    x, labels, params = mlp.data(mlp.workload.sizes["medium"])
    ours = wengert_bytes(x, labels, params)
    figures = [Figure("MLP step: bytes saved by Wengert", ours, "B")]
    if SYSTEMS["torch"].installed:
        theirs = torch_bytes(x, labels, params)
        figures += [
            Figure("MLP step: bytes saved by PyTorch", theirs, "B"),
            Figure("MLP step: saved bytes, Wengert / PyTorch", ours / theirs, target=1.3),
        ]
    return figures


def wengert_bytes(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> int:
    import wengert as wg

    return tape_bytes(mlp.wengert_loss(wg.tensor(x), labels, *(wg.tensor(p, requires_grad=True) for p in params)).node)


def tape_bytes(node: Any) -> int:
    """The bytes of all buffers that the history behind a node keeps alive, those among an operation's parameters
    included.
    """
    seen, stack, buffers = {node}, [node], {}
    while stack:
        current = stack.pop()
        for array in arrays((current.saved, current.params)):
            while isinstance(array.base, np.ndarray):
                array = array.base
            buffers[id(array)] = array.nbytes
        fresh = {parent for parent in current.parents if parent is not None} - seen
        seen |= fresh
        stack.extend(fresh)
    return sum(buffers.values())


def arrays(value: Any) -> Iterator[np.ndarray]:
    """The arrays in nested tuples, lists and dicts; Wengert's own values count as their payload."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        yield from arrays(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays(item)
    elif isinstance(payload := getattr(value, "value", None), np.ndarray):
        yield payload


def torch_bytes(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> int:
    import torch

    storages: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        # The loss must live until the sum is taken: an address that is free again may be given out again.
        loss = mlp.torch_loss(
            torch.tensor(x), torch.tensor(labels), *(torch.tensor(p, requires_grad=True) for p in params)
        )
    total = sum(storages.values())
    del loss
    return total
