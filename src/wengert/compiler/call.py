"""Compiled functions under transforms: a call is one operation, whose derivative, batch and tangent are compiled functions again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.array import Array
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.core.tree import flatten
from wengert.graph.graph import is_traced
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.reverse import Tensor
from wengert.modes.taylor import Jet
from wengert.transforms.call import Call, is_smooth, layers, operation
from wengert.transforms.products import jvp, vjp
from wengert.transforms.vmap import vmap

if TYPE_CHECKING:
    from wengert.compiler.compiled import Compiled, Signature


@cache
def operation_of(name: str) -> Primitive:
    return operation(name)


class CompiledCall(Call):
    """One call of a compiled function with values of some mode among its arguments, or captured ones."""

    def __init__(self, compiled: Compiled, signature: Signature, leaves: Sequence[Any]):
        self.name, self.compiled, self.signature = compiled.name, compiled, signature
        given = [x if isinstance(x, Array | np.ndarray) else np.asarray(x) for x in leaves if is_traced(x)]
        self.arrays = [*given, *signature.captured]
        self.has_values = True
        self.is_tracked = recording.recording() and any(x.node is not None for a in self.arrays for x in layers(a) if isinstance(x, Tensor))
        self.structure_out = flatten([0] * len(signature.graph.outputs))[1]
        self.specs = [node.spec for node in signature.graph.outputs]

    def run(self, x: Sequence[Any]) -> tuple:
        return tuple(self.signature.native(x))

    def flat(self, *x: Any) -> tuple:
        """The function on its inputs alone, as operations one by one."""
        from wengert.graph.evaluation import evaluate

        return tuple(evaluate(self.signature.graph, x))

    def straight(self, x: Sequence[Any]) -> tuple:
        return self.flat(*x)

    def derived(self, kind: str, *details: Any, make: Callable[[], Callable]) -> Compiled:
        """A compiled function made from this one, once."""
        from wengert.compiler.compiled import Compiled

        key = kind, id(self.signature), *details
        known = self.compiled.derived
        if key not in known:
            f = make()
            f.__name__ = f"{kind} of {self.name}"
            known[key] = Compiled(f)
        return known[key]

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        given = tuple([c is not None for c in t])
        chosen = tuple([i for i, alive in enumerate(live) if alive])

        def make() -> Callable:
            def pulled(x: Any, t: Any) -> tuple:
                def smooth(*parts: Any) -> tuple:
                    whole = list(x)
                    for i, part in zip(chosen, parts, strict=True):
                        whole[i] = part
                    return tuple([y for y, g in zip(self.flat(*whole), given, strict=True) if g])

                return vjp(smooth, *[x[i] for i in chosen])[1](tuple(t))

            return pulled

        pulled = self.derived("vjp", given, chosen, make=make)
        found = iter(pulled(tuple(x), tuple([conjugated(c) for c in t if c is not None])))
        return [conjugated(next(found)) if alive else None for alive in live]

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        smooth = tuple([i for i, v in enumerate(x) if is_smooth(v)])

        def make() -> Callable:
            def pushed(x: Any, t: Any) -> tuple:
                def partly(*parts: Any) -> tuple:
                    whole = list(x)
                    for i, part in zip(smooth, parts, strict=True):
                        whole[i] = part
                    return self.flat(*whole)

                return jvp(partly, [x[i] for i in smooth], list(t))

            return pushed

        return self.derived("jvp", smooth, make=make)(tuple(x), tuple([t[i] for i in smooth]))

    def jet(self, primitive: Primitive, top: Jet, x: Sequence[Any]) -> tuple:
        """Coefficient by coefficient: series are not compiled."""
        return self.flat(*x)

    def batched(self, primitive: Primitive, top: Batched, x: Sequence[Any]) -> tuple:
        mine = tuple([isinstance(a, Batched) and a.level == top.level for a in x])
        axes = tuple([0 if m else None for m in mine])
        whole = self.derived("vmap", mine, make=lambda: vmap(self.flat, in_axes=axes))
        return tuple([Batched(y, top.level) for y in whole(*[a.value if m else a for a, m in zip(x, mine, strict=True)])])


def conjugated(t: Any) -> Any:
    """Cotangents inside the engine are transposes, those of the public `vjp` adjoints."""
    return np.conj(t) if t is not None and Spec.of(t).dtype.kind == "c" else t
