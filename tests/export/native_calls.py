"""Exported modules in the memory of this process, for targets whose code this machine runs."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

import wengert as wg
from wengert.compiler.machine.target import Loaded, Target
from wengert.export.native_module import NativeModule

GUARD = 0x5A
"""What is in memory around the arena."""


def run_for(target: Target, f: Any, *args: Any) -> list[np.ndarray]:
    """The results of a function that was exported for a target, with an arena of exactly its size."""
    graph = wg.trace(f, *args)
    module = NativeModule(graph, "exported", target)
    loaded = Loaded(module.object_code, {})
    inputs = [np.ascontiguousarray(x, node.dtype) for x, node in zip(wg.tree.leaves(args), graph.inputs, strict=True)]
    outputs = [np.empty(node.shape, node.dtype) for node in graph.outputs]
    memory = np.full(module.arena + 128, GUARD, np.uint8)
    arena = memory[64 : 64 + module.arena]
    pointers = [x.ctypes.data for x in (*inputs, *outputs, arena)]
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(pointers))(loaded.address("exported"))
    assert call(*pointers) == 0
    assert (memory[:64] == GUARD).all()
    assert (memory[64 + module.arena :] == GUARD).all()
    return outputs
