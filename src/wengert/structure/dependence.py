"""Dependence: a mode in which a value knows, for each of its elements, which inputs it depends on.

A run on plain arrays finds what holds at one point, and cuts what is multiplied by zero there; a run on symbols finds
what holds everywhere. Both run the table, derivatives included: the pattern of a Hessian is that of the Jacobian of a
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.levels import find_own, new_level, payloads
from wengert.core.primitive import Primitive
from wengert.modes import recording
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor
from wengert.modes.trace import Trace
from wengert.ops.indexing.key import Hole
from wengert.ops.indexing.subscripts import gather
from wengert.structure.incidence import Sets, identity_sets, no_sets, stack_sets
from wengert.structure.propagation import OperationStep, propagate
from wengert.transforms.boundary import flatten_arrays
from wengert.transforms.tracing import input_of

GATHER = primitive_of(gather)


class Dependence(Array):
    """A value and, for each element, the set of inputs that it depends on.

    The sets are `extra`, a sparse matrix with a row for each element.
    """

    __slots__ = ()

    def __init__(self, value: Any, sets: Sets, level: int):
        self.value, self.extra, self.level = value, sets, level

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        """The operation on the values, and the sets of its results."""
        if (trace := recording.capturing_trace(level)) is not None:
            return trace.run(primitive, args, params)
        if params.get("reuse"):
            params = params | {"reuse": False}
        if primitive is GATHER and Hole.MASK in params["key"].key:
            key, indices = params["key"].without_masks(args[0].shape, args[1:])
            args, params = (args[0], *indices), {"key": key}
        mine = find_own(args, Dependence, level)
        values = payloads(args, mine)
        out = primitive.op(*values, **params)
        sets = [
            a.extra if m and primitive.definition.has_derivative(i) else None
            for i, (a, m) in enumerate(zip(args, mine, strict=True))
        ]
        if all(s is None for s in sets):
            fills = primitive.definition.filled_in and out.dtype.kind in "fc"
            return Dependence(out, no_sets(out.size, args[mine.index(True)].extra.shape[1]), level) if fills else out
        outs = out if isinstance(out, tuple) else (out,)
        if not is_symbolic(args):
            values, outs = [plain_numbers(v) for v in values], tuple([plain_numbers(y) for y in outs])
        found = propagate(OperationStep(primitive, values, sets, outs, params))
        results = [
            Dependence(y, s, level) if s.nnz and y.dtype.kind in "fc" else y for y, s in zip(outs, found, strict=True)
        ]
        return tuple(results) if isinstance(out, tuple) else results[0]

    def detach(self) -> Any:
        """The value alone."""
        return self.value

    def __repr__(self) -> str:
        return f"dependence({self.value!r}, {self.extra.nnz} entries)"


def is_symbolic(values: Sequence[Any]) -> bool:
    """Whether any value has a symbol as its innermost payload."""
    for x in values:
        while isinstance(x, Array):
            if isinstance(x, Symbol):
                return True
            x = x.value
    return False


def plain_numbers(x: Any) -> Any:
    """The plain array of a tensor of the user's."""
    return x.value if isinstance(x, Tensor) and not x.level else x


def find_dependences(
    call: Callable[[Sequence[Any]], Any], inputs: Sequence[Any], fixed: Sequence[Any], scope: str
) -> Sets:
    """On which elements of the inputs each element of the results depends, all of them flattened and joined.

    `call` takes a list: the inputs, then other arguments, whose numbers are unknown too where the scope is global.
    """
    below, level = new_level(), new_level()
    trace = Trace(below)

    def symbolic(x: Any) -> Any:
        return Symbol(input_of(x, None), below, trace)

    known = symbolic if scope == "global" else plain_numbers
    values, others = [known(x) for x in inputs], [known(x) for x in fixed]
    n = sum(x.size for x in inputs)
    diagonal, start = identity_sets(n), 0
    tracked = []
    for x, value in zip(inputs, values, strict=True):
        tracked.append(Dependence(value, diagonal[start : start + x.size], level))
        start += x.size
    from wengert.source.reading import read_function  # which is needed for symbols only

    reader = read_function if scope == "global" else None
    try:
        with np.errstate(all="ignore"), recording.override(reader=reader):
            results = flatten_arrays(call([*tracked, *others]))[0]
    finally:
        trace.close()
    families = [y.extra if isinstance(y, Dependence) and y.level == level else no_sets(y.size, n) for y in results]
    if not families:
        return no_sets(0, n)
    return stack_sets(families)
