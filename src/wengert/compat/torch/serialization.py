"""`torch.save` and `torch.load`: tensors, and containers and plain values around them, in files without code.

A file is NumPy's archive (`.npz`): the tensors, and the containers as JSON.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from wengert.compat.torch.values import adopt
from wengert.core.errors import user_error

__all__ = ["load", "save"]

TREE = "tree.json"


def save(obj: Any, f: Any, *_: Any, **__: Any) -> None:
    """Write tensors, numbers and strings, in nested containers, to a file or an open one.

    >>> import io
    >>> import wengert.compat.torch as torch
    >>> file = io.BytesIO()
    >>> save({"epoch": 3, "weights": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> load(file)
    {'epoch': 3, 'weights': tensor([1., 1.])}
    """
    from wengert.nn.module import Module  # not with `import torch`
    from wengert.nn.packing import pack_state

    if isinstance(obj, Module):
        raise user_error(
            TypeError, f"torch.save of a module, {type(obj).__name__}", "Save module.state_dict(): a file has no code."
        )
    packed, arrays = pack_state(obj, "data")
    numbered = {f"{i}": array for i, array in enumerate(arrays.values())}
    tree = json.dumps({"packed": packed, "paths": list(arrays)}).encode()
    if isinstance(f, str) or hasattr(f, "__fspath__"):
        with open(f, "wb") as file:
            np.savez(file, **numbered, **{TREE: np.frombuffer(tree, np.uint8)})  # type: ignore[arg-type]  # arrays by name
    else:
        np.savez(f, **numbered, **{TREE: np.frombuffer(tree, np.uint8)})  # type: ignore[arg-type]  # arrays by name


def load(f: Any, map_location: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """What `save` wrote."""
    from wengert.nn.packing import unpack_state

    with np.load(f, allow_pickle=False) as file:
        if TREE not in file:
            raise user_error(
                RuntimeError,
                "This file was not written by torch.save of wengert.compat.torch",
                "Weights of PyTorch go both ways as safetensors: wg.nn.load.",
            )
        tree = json.loads(file[TREE].tobytes())
        arrays = {path: file[str(i)] for i, path in enumerate(tree["paths"])}
    return adopt(unpack_state(tree["packed"], arrays))
