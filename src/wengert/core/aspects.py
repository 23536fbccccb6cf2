"""Aspects: what a layer above the table adds to operations, found from the operation itself.

The table says what is mathematically true. A layer needs more of an operation: how it prints, its form in another
library, its native code. Each such thing is an aspect, a small table from operations to entries, filled in the layer
that uses it, in one file for each family of `ops/`. Nobody keeps lists of names.

    lowering: Aspect[Lowering] = Aspect("lowering", "the instructions for one element")

    @lowering(sin)
    def lower_sin(x): ...

    lowering.of(node.primitive)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from wengert.core.primitive import Primitive

Entry = TypeVar("Entry")
Operation = Callable | Primitive
"""An operation: the function that users call, or what the table has of it."""

ASPECTS: dict[str, Aspect] = {}
"""Every aspect by name, as far as the layers that define them were imported."""


class Aspect(Generic[Entry]):
    """One thing that a layer needs to know of operations.

    `default` answers for operations without an entry, by their kind, or gives None. An aspect that is meant for some
    operations only says in `rest` what becomes of the others, once for all of them, or for each kind that has no
    entries by itself.
    """

    def __init__(
        self,
        name: str,
        meaning: str,
        default: Callable[[Primitive], Entry | None] | None = None,
        rest: str | Mapping[str, str] = "",
    ):
        if name in ASPECTS:
            raise ValueError(f"there is an aspect {name!r} already; choose another name")
        self.name, self.meaning, self.default, self.rest = name, meaning, default, rest
        self.entries: dict[Primitive, Entry] = {}
        self.reasons: dict[Primitive, str] = {}
        ASPECTS[name] = self

    def __call__(self, *operations: Operation) -> Callable[[Entry], Entry]:
        """A decorator: what it decorates is the entry of these operations."""

        def enter(entry: Entry) -> Entry:
            self.enter(entry, *operations)
            return entry

        return enter

    def enter(self, entry: Entry, *operations: Operation) -> None:
        """Make something the entry of these operations."""
        for operation in operations:
            primitive = primitive_of(operation)
            if primitive in self.entries:
                raise ValueError(f"{primitive.name} has an entry for the aspect {self.name!r} already")
            self.entries[primitive] = entry

    def without(self, reason: str, *operations: Operation) -> None:
        """Say why these operations have no entry, not even the default of their kind."""
        for operation in operations:
            self.reasons[primitive_of(operation)] = reason

    def of(self, operation: Operation) -> Entry | None:
        """The entry of an operation, the default of its kind, or None."""
        primitive = operation if operation.__class__ is Primitive else primitive_of(operation)
        found = self.entries.get(primitive)
        if found is None and self.default is not None and primitive not in self.reasons:
            return self.default(primitive)
        return found

    def reason(self, operation: Operation) -> str | None:
        """Why an operation has no entry: its own reason, or that of its kind.

        None where there is an entry, or where nobody said why.
        """
        primitive = primitive_of(operation)
        if primitive in self:
            return None
        return (
            self.reasons.get(primitive)
            or (self.rest if isinstance(self.rest, str) else self.rest.get(primitive.kind))
            or None
        )

    def __contains__(self, operation: Operation) -> bool:
        return self.of(operation) is not None

    def __iter__(self) -> Iterator[Primitive]:
        """The operations that have an entry of their own."""
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"<aspect {self.name}: {self.meaning}; {len(self.entries)} entries>"


def primitive_of(operation: Any) -> Primitive:
    """What the table has of an operation, given as the function that users call or as itself."""
    found = operation if isinstance(operation, Primitive) else getattr(operation, "primitive", None)
    if not isinstance(found, Primitive):
        raise TypeError(f"{operation!r} is no operation of the table, but made of such. Name the operation itself.")
    return found
