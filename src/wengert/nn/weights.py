"""Weights in files of the safetensors format, which PyTorch reads and writes too. There is no code in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.nn.module import Module

PARTIAL = ".partial"
"""The end of the name of a file that is being written."""


def save(path: str | os.PathLike[str], state: Module | Mapping[str, Any], metadata: Mapping[str, str] | None = None):
    """Write the weights of a module, or arrays by name, to a file that `safetensors.torch.load_file` reads as well.

    `metadata` are strings by name. An interrupted call leaves an earlier file as it was.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/line.safetensors"
    >>> save(path, {"slope": np.array(2.0)}, metadata={"epoch": "7"})
    >>> load(path), load_metadata(path)
    ({'slope': array(2.)}, {'epoch': '7'})
    """
    named = state.state_dict() if isinstance(state, Module) else state
    if not isinstance(named, Mapping):
        raise user_error(TypeError, f"save was given a {type(state).__name__}", "Pass a module, or a dict of arrays.")
    arrays = {name: plain_array(name, value) for name, value in named.items()}
    strings = dict(metadata or {})
    for key, value in strings.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise user_error(TypeError, f"The metadata {key!r} is not a string", "Use json.dumps for other values.")
    partial = os.fspath(path) + PARTIAL
    safetensors("numpy").save_file(arrays, partial, metadata=strings or None)
    os.replace(partial, path)


def load(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a file by name; `model.load_state_dict(wg.nn.load(path))` assigns them.

    Numbers of type bfloat16, which NumPy does not have, become float32.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/line.safetensors"
    >>> save(path, {"slope": np.array(2.0)})
    >>> load(path)
    {'slope': array(2.)}
    """
    with open_weights(path) as file:
        types = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118  # it is no dict
        unknown = [name for name, dtype in types.items() if dtype.startswith(("F8", "F4"))]
        if unknown:
            raise user_error(
                TypeError, f"{unknown[0]!r} is of type {types[unknown[0]]}, which NumPy lacks", "Store it as float32."
            )
        found = {name: file.get_tensor(name) for name, dtype in types.items() if dtype != "BF16"}
    if len(found) < len(types):
        found |= widen_bfloat16(path)
    return {name: found[name] for name in types}


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The strings that were stored with the weights of a file.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/line.safetensors"
    >>> save(path, {"slope": np.array(2.0)}, {"trained on": "digits"})
    >>> load_metadata(path)
    {'trained on': 'digits'}
    """
    with open_weights(path) as file:
        return dict(sorted((file.metadata() or {}).items()))


def open_weights(path: str | os.PathLike[str]) -> Any:
    """A file of weights, opened for reading."""
    module = safetensors()
    try:
        return module.safe_open(os.fspath(path), "np")
    except module.SafetensorError as error:
        raise user_error(
            ValueError,
            f"{os.fspath(path)!r} is not a file of the safetensors format ({error})",
            "A file of torch.save is a pickle: in PyTorch, write one by safetensors.torch.save_file.",
        ) from None


def widen_bfloat16(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of type bfloat16, whose bits are the upper half of those of float32."""
    with open(path, "rb") as file:
        entries = safetensors().deserialize(file.read())
    found = {}
    for name, entry in entries:
        if entry["dtype"] == "BF16":
            bits = np.frombuffer(entry["data"], "<u2").astype(np.uint32) << 16
            found[name] = bits.view(np.float32).reshape(entry["shape"])
    return found


def plain_array(name: str, value: Any) -> np.ndarray:
    """An array as it is stored: contiguous, without history."""
    if isinstance(value, Array):
        value = value.detach().numpy()
    if not isinstance(value, np.ndarray | np.generic | float | int):
        raise user_error(TypeError, f"{name!r} is a {type(value).__name__}", "Arrays of numbers are saved.")
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise user_error(
            TypeError,
            f"{name!r} is of dtype {array.dtype}, which the format does not have",
            "Save real and imaginary parts of complex numbers, and others as float64.",
        )
    return array


def safetensors(submodule: str = "") -> Any:
    """The package safetensors, or a part of it."""
    try:
        return import_module(f"safetensors.{submodule}" if submodule else "safetensors")
    except ImportError as error:
        raise user_error(
            ModuleNotFoundError,
            "Weights in files need the package safetensors",
            'Install it: python -m pip install "wengert[nn]", or python -m pip install safetensors.',
        ) from error
