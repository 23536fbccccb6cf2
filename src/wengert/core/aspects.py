"""Aspects: what a layer above the table adds to operations.

The table holds the mathematics of an operation. A layer needs more: how an operation prints, its form in another
library, its native code. Each of these is an aspect, a small table from operations to entries. The layer that uses an
aspect fills it, in one file for each family of `ops/`. No layer keeps lists of names.

    lowering: Aspect[Lowering] = Aspect("lowering", "the instructions for one element")

    @lowering(sin)
    def lower_sin(x): ...

    lowering.of(node.primitive)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Generic, TypeVar

from wengert.core.errors import user_error
from wengert.core.primitive import Primitive

Entry = TypeVar("Entry")
Operation = Callable[..., Any] | Primitive
"""An operation: the function that users call, or its primitive."""

ASPECTS: dict[str, Aspect[Any]] = {}
"""Every aspect of the layers that were imported, by name."""


class Aspect(Generic[Entry]):
    """One thing that a layer needs to know about operations.

    `default` gives the entry of an operation that has none, by its kind, or None. An aspect for some operations only
    says in `rest` what happens to the others: one string, or one for each kind without entries. `filled_by` are the
    modules that fill in the entries, imported when one is first asked for.
    """

    def __init__(
        self,
        name: str,
        meaning: str,
        default: Callable[[Primitive], Entry | None] | None = None,
        rest: str | Mapping[str, str] = "",
        filled_by: Sequence[str] = (),
    ):
        if name in ASPECTS:
            raise user_error(ValueError, f"There is already an aspect {name!r}", "Choose another name.")
        self.name, self.meaning, self.default, self.rest = name, meaning, default, rest
        self.filled_by = filled_by
        self.entries: dict[Primitive, Entry] = {}
        self.reasons: dict[Primitive, str] = {}
        ASPECTS[name] = self

    def __call__(self, *operations: Operation) -> Callable[[Entry], Entry]:
        """A decorator that makes what it decorates the entry of these operations."""

        def enter(entry: Entry) -> Entry:
            self.enter(entry, *operations)
            return entry

        return enter

    def enter(self, entry: Entry, *operations: Operation) -> None:
        """Make something the entry of these operations."""
        for operation in operations:
            primitive = primitive_of(operation)
            if primitive in self.entries:
                raise user_error(ValueError, f"{primitive.name} already has an entry for the aspect {self.name!r}")
            self.entries[primitive] = entry

    def fill(self) -> None:
        """Import the modules that fill in the entries, unless that is done."""
        modules, self.filled_by = self.filled_by, ()
        for module in modules:
            import_module(module)

    def without(self, reason: str, *operations: Operation) -> None:
        """Say why these operations have no entry, not even the default of their kind."""
        for operation in operations:
            self.reasons[primitive_of(operation)] = reason

    def of(self, operation: Operation) -> Entry | None:
        """The entry of an operation, the default of its kind, or None."""
        if self.filled_by:
            self.fill()
        primitive = operation if operation.__class__ is Primitive else primitive_of(operation)
        found = self.entries.get(primitive)
        if found is None and self.default is not None and primitive not in self.reasons:
            return self.default(primitive)
        return found

    def reason(self, operation: Operation) -> str | None:
        """Why an operation has no entry: its own reason, or that of its kind.

        None if there is an entry or no reason was given.
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
        """The operations that have their own entry."""
        self.fill()
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"<aspect {self.name}: {self.meaning}; {len(self.entries)} entries>"


def primitive_of(operation: Any) -> Primitive:
    """The primitive of an operation, given as the function that users call or as the primitive itself."""
    found = operation if isinstance(operation, Primitive) else getattr(operation, "primitive", None)
    if not isinstance(found, Primitive):
        raise user_error(
            TypeError, f"{operation!r} is not an operation of the table", "Name the operation that it calls."
        )
    return found
