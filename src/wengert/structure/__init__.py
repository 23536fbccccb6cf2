"""Structure of derivatives: which elements are zero, and which matrices are only ever multiplied.

The modules are loaded when they are first used, because they need SciPy. `jacobian` finds them through a hook.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from wengert.transforms.jacobians import register_hook


@register_hook("compression")
def compress_jacobian(f: Callable, argnums: int | tuple[int, ...]) -> Any:
    """The way to the Jacobian of `f` through its sparsity pattern."""
    return import_module("wengert.structure.choice").CompressedDerivative(f, argnums)
