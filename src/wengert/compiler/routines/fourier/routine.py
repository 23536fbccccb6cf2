"""The routines of Fourier transforms along one axis or several, of real and of complex arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.machine.target import cache_for_target
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier.batch import Batch
from wengert.compiler.routines.fourier.plan import has_small_factors
from wengert.compiler.routines.fourier.signals import Signals
from wengert.compiler.routines.fourier.task import Task, is_shared
from wengert.compiler.simd.types import Type
from wengert.graph.ir import Operation, is_a
from wengert.ops.signal.fourier import _ifft, _irfft, _rfft

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


@cache_for_target(256)
def cheapest(task: Task) -> Batch | Signals:
    """How to do a task."""
    one_by_one = Signals(task)
    if not has_small_factors(task.length) or task.outer * task.inner == 1:
        return one_by_one
    at_once = Batch(task)
    return at_once if at_once.cost < one_by_one.cost else one_by_one


def transforms(node: Operation) -> Transforms:
    """What there is to do for a node."""
    (x,) = node.args
    params = node.params
    is_real_source, is_real_target = is_a(node, _rfft), is_a(node, _irfft)
    is_inverse = is_real_target or is_a(node, _ifft)
    axes = (params["axis"],) if is_real_source or is_real_target else tuple(reversed(params["axis"]))
    tasks = []
    for axis in axes:
        n = params["n"] if is_real_target else x.shape[axis]
        task = Task(
            outer=math.prod(node.shape[:axis]),
            n=n,
            inner=math.prod(node.shape[axis + 1 :]),
            kind=KINDS[node.dtype],
            is_real_source=is_real_source,
            is_real_target=is_real_target,
            is_inverse=is_inverse,
            factor=norm_factor(n, params["norm"], is_inverse),
        )
        tasks.append(task)
    return Transforms(tuple(tasks), node.nbytes)


def can_transform(node: Operation) -> bool:
    """Whether the operand has elements, floats for half of a spectrum and complex numbers otherwise."""
    (x,) = node.args
    is_known = x.dtype in KINDS and node.dtype in KINDS and KINDS[x.dtype] == KINDS[node.dtype]
    has_kind = x.dtype.kind == ("f" if is_a(node, _rfft) else "c")
    return is_known and has_kind and bool(x.size and node.size) and bool(np.size(node.params["axis"]))


def write_transforms(call: RoutineCall) -> None:
    """Transform along one axis after the other; the last one writes the result."""
    code, found = call.code, transforms(call.node)
    assert call.workspace is not None
    source, memory, buffer = call.operands[0].pointer, call.workspace, None
    if len(found.tasks) > 1:
        buffer = memory
        memory = code.offset(memory, found.buffer, Type("i8"))
    ways = found.ways
    for i, way in enumerate(ways):
        is_late = (len(ways) - 1 - i) % 2 == 0
        target: Any = call.result if is_late else buffer
        way.write(call, source, target, memory, is_shared(way.cost))
        source = target


FOURIER = Routine(write_transforms, can_transform, workspace=lambda node: transforms(node).workspace)
