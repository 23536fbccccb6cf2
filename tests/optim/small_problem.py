"""A small problem, and hyperparameters of each optimiser."""

from __future__ import annotations

import numpy as np

import wengert as wg

METHODS = {
    "SGD": {"momentum": 0.9, "dampening": 0.1},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Adagrad": {"lr_decay": 0.1},
    "Adadelta": {"lr": 0.5},
    "Lion": {},
}


def start(dtype: type = np.float64) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"w": rng.standard_normal((3, 2)).astype(dtype), "b": rng.standard_normal(3).astype(dtype)}


def loss(p):
    return ((p["w"] ** 2).sum() - 1.0) ** 2 + np.cos(p["b"]).sum() + (p["w"][:, 0] * p["b"]).sum()


def tensors(dtype: type = np.float64) -> dict[str, wg.Tensor]:
    return {name: wg.tensor(x, requires_grad=True) for name, x in start(dtype).items()}


def numbers(params) -> list[bytes]:
    return [np.asarray(x.detach() if isinstance(x, wg.Tensor) else x).tobytes() for x in params.values()]


def train(params, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss(params).backward()
        optimizer.step()
