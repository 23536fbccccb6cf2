"""The routines of Fourier transforms along one axis or several, of real and of complex arrays."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier.batch import Batch
from wengert.compiler.routines.fourier.plan import is_smooth
from wengert.compiler.routines.fourier.signals import Signals
from wengert.compiler.routines.fourier.task import LARGE, LARGE_IN_LOOP, Task
from wengert.compiler.simd.lanes import Type
from wengert.graph.ir import Operation

KINDS = {np.dtype("f4"): "f32", np.dtype("c8"): "f32", np.dtype("f8"): "f64", np.dtype("c16"): "f64"}


def norm_factor(n: int, norm: str, is_inverse: bool) -> float:
    """What a transform of n numbers is multiplied by."""
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if is_inverse == (norm == "backward") else 1.0


class Transforms(NamedTuple):
    """The tasks of a node, one for each axis, the last one first as in NumPy."""

    tasks: tuple[Task, ...]
    nbytes: int  # of the result

    @property
    def ways(self) -> list[Batch | Signals]:
        """How each task is done, the cheapest way."""
        return [cheapest(task) for task in self.tasks]

    @property
    def workspace(self) -> int:
        """Bytes: what the tasks need, and the result of all but the last."""
        most = max(way.memory for way in self.ways) * self.tasks[0].number_bytes
        return most + (len(self.tasks) > 1) * self.buffer

    @property
    def buffer(self) -> int:
        """The bytes of an intermediate result."""
        return -(-self.nbytes // 64) * 64


@lru_cache(256)
def cheapest(task: Task) -> Batch | Signals:
    """How to do a task."""
    one_by_one = Signals(task)
    if not is_smooth(task.length) or task.outer * task.inner == 1:
        return one_by_one
    at_once = Batch(task)
    return at_once if at_once.cost < one_by_one.cost else one_by_one


def transforms(node: Operation) -> Transforms:
    """What there is to do for a node."""
    (x,) = node.args
    params = node.params
    is_inverse = node.primitive.name in ("ifft", "irfft")
    is_half = node.primitive.name in ("rfft", "irfft")
    axes = (params["axis"],) if is_half else tuple(reversed(params["axis"]))
    tasks = []
    for i, axis in enumerate(axes):
        n = params["n"] if node.primitive.name == "irfft" else x.shape[axis]
        task = Task(
            outer=math.prod(node.shape[:axis]),
            n=n,
            inner=math.prod(node.shape[axis + 1 :]),
            kind=KINDS[node.dtype],
            is_real_source=i == 0 and x.dtype.kind == "f",
            is_real_target=node.primitive.name == "irfft",
            is_half=is_half,
            is_inverse=is_inverse,
            factor=norm_factor(n, params["norm"], is_inverse),
        )
        tasks.append(task)
    return Transforms(tuple(tasks), node.nbytes)


def is_native(node: Operation) -> bool:
    """Whether the dtypes are floats of one precision; half spectra are of real signals, and real ones of complex."""
    (x,) = node.args
    is_known = x.dtype in KINDS and node.dtype in KINDS and KINDS[x.dtype] == KINDS[node.dtype]
    fits = {"rfft": "f", "irfft": "c"}.get(node.primitive.name, "fc")
    has_axes = bool(np.size(node.params["axis"]))
    return is_known and x.dtype.kind in fits and bool(x.size and node.size) and has_axes


def write_transforms(call: RoutineCall) -> None:
    """Transform along one axis after the other; the last one writes the result."""
    code, found = call.code, transforms(call.node)
    assert call.workspace is not None
    source, memory, buffer = call.operands[0].pointer, call.workspace, None
    if len(found.tasks) > 1:
        buffer = memory
        memory = code.offset(memory, found.buffer, Type("i8"))
    limit = LARGE_IN_LOOP if call.is_in_loop else LARGE
    ways = found.ways
    for i, way in enumerate(ways):
        is_late = (len(ways) - 1 - i) % 2 == 0
        target: Any = call.result if is_late else buffer
        way.write(call, source, target, memory, way.cost >= limit)
        source = target


FOURIER = Routine(write_transforms, is_native, workspace=lambda node: transforms(node).workspace)
