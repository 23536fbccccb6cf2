"""PyTorch's tensors, functions and modules, on Wengert: `import wengert.compat.torch as torch`.

It runs the PyTorch code of tutorials and small research programs on the CPU. Tensors are Wengert's values of all modes
with PyTorch's methods; `torch.func` and `torch.autograd` are Wengert's transforms.

>>> import wengert.compat.torch as torch
>>> x = torch.ones(2, 3, requires_grad=True)
>>> x.sum(dim=1).prod().backward()
>>> x.grad
tensor([[3., 3., 3.],
        [3., 3., 3.]])
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from wengert.compat.differences import without
from wengert.compat.torch import autograd as autograd
from wengert.compat.torch import cuda as cuda
from wengert.compat.torch import fft as fft
from wengert.compat.torch import func as func
from wengert.compat.torch import linalg as linalg
from wengert.compat.torch import methods as _methods  # noqa: F401  # attaches the methods of tensors
from wengert.compat.torch import special as special
from wengert.compat.torch.differences import ABSENT
from wengert.core.namespaces import gather_names

FAMILIES = (
    "compat.torch.autograd: enable_grad inference_mode is_grad_enabled no_grad set_grad_enabled",
    "compat.torch.creation",
    "compat.torch.devices",
    "compat.torch.drawing",
    "compat.torch.dtypes",
    "compat.torch.elementwise",
    "compat.torch.func: vmap",
    "compat.torch.indexing",
    "compat.torch.linalg: cholesky cholesky_inverse cholesky_solve det logdet matrix_exp matrix_power qr slogdet",
    "compat.torch.ordering",
    "compat.torch.products",
    "compat.torch.reductions",
    "compat.torch.serialization",
    "compat.torch.settings",
    "compat.torch.shaping",
    "compat.torch.sharing",
    "core.dtypes: e inf nan newaxis pi",
)
"""The modules whose public names are here."""

NAMESPACES = ("autograd", "cuda", "fft", "func", "linalg", "special")
LATER = ("distributions", "nn", "optim", "utils")
"""Modules that are loaded on first use."""

__version__ = "2.13.0"
"""The version of PyTorch whose names these are."""

inverse, pinverse, svd = linalg.inv, linalg.pinv, linalg.svd_transposed

__all__ = sorted([*NAMESPACES, "inverse", "pinverse", "svd", *gather_names(globals(), FAMILIES)])

_refuse = without(__name__, ABSENT)


def __getattr__(name: str) -> Any:
    if name in LATER and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    return _refuse(name)
