"""The states of a rolled loop: what its steps change, with the shapes and dtypes that they keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.bodies import weak_type
from wengert.core import tree
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.ir import PYTHON_NUMBERS, Node
from wengert.ops.shape.casting import astype
from wengert.source.tracing import Inner
from wengert.source.values import describe_difference, is_number, same, zeros


class Changed(Exception):  # a message from a step to the loop that is being rolled
    """A variable that changes its structure, shape or dtype in a step."""

    def __init__(self, name: str, before: Any, after: Any):
        self.name, self.before, self.after = name, before, after
        first, second = describe_difference(before, after)
        super().__init__(f"the variable {name!r} is {first} before a step, and {second} after it")


class Slot(NamedTuple):
    """One number or array of a state: its value before the loop, and what it is in each step.

    Anything else, which must not change, has no spec.
    """

    initial: Any
    spec: Spec | None
    weak: type | None = None

    def start(self) -> Any:
        """The value before the loop, with the dtype that it has in it."""
        assert self.spec is not None
        if self.initial.__class__ in PYTHON_NUMBERS:
            return np.asarray(self.initial, self.spec.dtype)
        x = as_operand(self.initial)
        return x if x.dtype == self.spec.dtype else astype(x, self.spec.dtype)

    def adapt(self, name: str, after: Any, is_blank: bool) -> Slot:
        """The slot after a step has given it a new value; a Python number may take the dtype of an array."""
        if self.spec is None:
            if not same(self.initial, after):
                raise Changed(name, self.initial, after)
            return self
        if not is_number(after):
            raise Changed(name, self.initial, after)
        spec, weak = Spec.of(after), weak_type(after)
        if is_blank and spec != self.spec:
            return Slot(zeros([spec])[0], spec)
        if self.weak is None:
            fits = spec == self.spec or (
                weak is not None
                and spec.shape == self.spec.shape
                and np.result_type(self.spec.dtype, weak(0)) == self.spec.dtype
            )
            if not fits:
                raise Changed(name, self.spec, after)
            return self
        if weak is not None:
            dtype = np.result_type(self.spec.dtype, spec.dtype)
            return self._replace(spec=Spec((), dtype), weak=PYTHON_TYPES[dtype.kind])
        if spec.shape != () or np.result_type(spec.dtype, self.weak(0)) != spec.dtype:
            raise Changed(name, self.initial, after)
        return self._replace(spec=spec, weak=None)


class Given(NamedTuple):
    """A state as a step is given it, and the nodes of its numbers; the step may change the value in place."""

    value: Any
    nodes: list[Node]


PYTHON_TYPES: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


class State(NamedTuple):
    """A variable or container that steps change: the index of its place, and the slots of its tree.

    A blank one has no value before the loop; each step gives it one before it is read.
    """

    place: int
    name: str
    structure: tree.Structure
    slots: tuple[Slot, ...]
    is_blank: bool = False

    @staticmethod
    def of(place: int, name: str, value: Any, is_blank: bool = False) -> State:
        """The state that begins with a value, or, if it is blank, with zeros of the same shapes."""
        leaves, structure = tree.flatten(value)
        slots = []
        for x in leaves:
            if not is_number(x):
                slots.append(Slot(x, None))
            elif is_blank:
                slots.append(Slot(zeros([Spec.of(x)])[0], Spec.of(x)))
            else:
                slots.append(Slot(x, Spec.of(x), weak_type(x)))
        return State(place, name, structure, tuple(slots), is_blank)

    def adapt(self, after: Any) -> State:
        """The state after a step has given it a new value."""
        leaves, structure = tree.flatten(after)
        if structure != self.structure:
            raise Changed(self.name, tree.unflatten(self.structure, [s.initial for s in self.slots]), after)
        slots = [s.adapt(self.name, x, self.is_blank) for s, x in zip(self.slots, leaves, strict=True)]
        return self._replace(slots=tuple(slots))

    @property
    def moving(self) -> list[Slot]:
        """The slots that are numbers."""
        return [slot for slot in self.slots if slot.spec is not None]

    def symbols(self, inner: Inner) -> Given:
        """The state as a step is given it."""
        name = self.name if self.structure is tree.LEAF else None
        symbols = [inner.input(slot.spec, slot.weak, name) for slot in self.moving]  # type: ignore[arg-type]  # moving
        return Given(self.fill(symbols), [x.node for x in symbols])

    def fill(self, values: Sequence[Any]) -> Any:
        """The tree with these numbers."""
        rest: Iterator[Any] = iter(values)
        return tree.unflatten(self.structure, [s.initial if s.spec is None else next(rest) for s in self.slots])

    def numbers(self, contents: Any) -> list[Any]:
        """The numbers of contents of the same structure."""
        leaves = tree.leaves(contents)
        return [x for x, slot in zip(leaves, self.slots, strict=True) if slot.spec is not None]
