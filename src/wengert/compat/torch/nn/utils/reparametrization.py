"""Weights that are computed from others before each call: `weight_norm` and `spectral_norm`."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.drawing import default_generator
from wengert.compat.torch.nn.module import Module
from wengert.compat.torch.nn.parameter import Parameter
from wengert.compat.torch.values import adopt, plain
from wengert.modes import recording


def replace_parameter(module: Module, name: str) -> Any:
    """Take a parameter out of a module, and return it."""
    weight = module.__dict__[name]
    delattr(module, name)
    return weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight be g v / |v|, with norms over all axes but `dim`, of parameters `<name>_g` and `<name>_v`."""
    weight = replace_parameter(module, name)
    axes = tuple(i for i in range(weight.ndim) if dim is None or i != dim % weight.ndim)

    def norm(v: Any) -> Any:
        return wg.sqrt((v * v).sum(axis=axes, keepdims=True))

    module.register_parameter(f"{name}_g", Parameter(norm(plain(weight).detach())))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))

    def compute(module: Module, _: Any) -> None:
        g, v = plain(module.__dict__[f"{name}_g"]), plain(module.__dict__[f"{name}_v"])
        module.__dict__[name] = adopt(g * v / norm(v))

    module.register_forward_pre_hook(compute)
    compute(module, ())
    return module


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its largest singular value, by power iterations in training; it is `<name>_orig`."""
    weight = replace_parameter(module, name)
    axis = dim if dim is not None else int(type(module).__name__.startswith("ConvTranspose"))

    def as_matrix(w: Any) -> Any:
        moved = wg.moveaxis(w, axis, 0)
        return moved.reshape((moved.shape[0], -1))

    def unit(x: np.ndarray) -> np.ndarray:
        return x / max(float(np.linalg.norm(x)), eps)

    module.register_parameter(f"{name}_orig", Parameter(weight.detach()))
    matrix = as_matrix(plain(weight).detach())
    for part, size in zip("uv", matrix.shape, strict=True):
        start = unit(default_generator.numpy.standard_normal(size)).astype(weight.dtype)
        module.register_buffer(f"{name}_{part}", adopt(start))

    def compute(module: Module, _: Any) -> None:
        w = plain(module.__dict__[f"{name}_orig"])
        u, v = (np.asarray(module.__dict__[f"{name}_{part}"]) for part in "uv")
        if module.training:
            numbers = np.asarray(as_matrix(w.detach()))
            for _step in range(n_power_iterations):
                v = unit(numbers.T @ u)
                u = unit(numbers @ v)
            with recording.override(enabled=False):
                for part, new in (("u", u), ("v", v)):
                    module.__dict__[f"{name}_{part}"].data = adopt(new)
        module.__dict__[name] = adopt(w / (u @ (as_matrix(w) @ v)))

    module.register_forward_pre_hook(compute)
    return module
