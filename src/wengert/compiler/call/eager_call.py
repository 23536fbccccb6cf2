"""Large eager calls as programs of one operation, one for each signature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.entry.python_objects import is_supported
from wengert.compiler.forms.lowering import FLOATS
from wengert.compiler.machine.native import LOCK, NativeProgram, load_or_compile
from wengert.core.aspects import primitive_of
from wengert.core.native import native_call
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, make_operation
from wengert.ops.signal.convolution import _convolution, _convolution_filters, _convolution_signals

Parameters = tuple[tuple[str, Any], ...]

MOST_PROGRAMS = 256
"""The number of programs that are kept in memory."""


@lru_cache(MOST_PROGRAMS)
def program_of(primitive: Primitive, specs: tuple[Spec, ...], params: Parameters) -> NativeProgram | None:
    """The program of one operation; None if NumPy would run a part of it."""
    inputs = [Input(spec) for spec in specs]
    node = make_operation(primitive, inputs, **dict(params))
    arguments = [Argument("array", spec) for spec in specs] if is_supported() else None
    with LOCK:
        program = load_or_compile(Graph(inputs, [node]), arguments, node.spec, primitive.name)
    return None if program.build.program.fallbacks else program


def run_alone(primitive: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of an operation on arrays of floats; None where it has no native code."""
    first, *others = operands
    if first.dtype not in FLOATS or any(x.dtype != first.dtype for x in others):
        return None
    program = program_of(primitive, tuple(map(Spec.of, operands)), tuple(params.items()))
    if program is None:
        return None
    out = program.entry(*operands) if program.entry is not None else NotImplemented
    return program(operands)[0] if out is NotImplemented else out  # of other layouts


for operation in (_convolution, _convolution_signals, _convolution_filters):
    native_call.enter(partial(run_alone, primitive_of(operation)), operation)
