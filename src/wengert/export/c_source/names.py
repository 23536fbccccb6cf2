"""The names of a function of C: no two are the same where both are known, and none is that of something else in C."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from wengert.export.c_names import WORDS
from wengert.export.c_source.functions import c_function
from wengert.export.c_source.terms import INTRINSICS
from wengert.export.interface import as_identifier

COUNTERS = (*"ijklmnpq", *[f"i{number}" for number in range(1, 33)])
"""The names of loop counters, from the outside in."""
OWN = frozenset(("arena", "isinf", "isnan", "memory", "t"))
"""Names that the file has for itself; a variable without a name of the user's is t with a number."""


@cache
def called_names() -> frozenset[str]:
    """The functions of C that expressions call, which variables must not hide, in both precisions."""
    entries = [c_function.of(primitive) for primitive in c_function]
    found = {*INTRINSICS.values(), *[e.floats for e in entries if e and e.floats]}
    return frozenset({*found, *[f"{name}f" for name in found]})


class Names:
    """The names that a function has taken. Those inside of loops are free again after them."""

    def __init__(self, reserved: Collection[str]):
        self.taken: set[str] = {*WORDS, *OWN, *called_names(), *reserved}
        self.in_block: set[str] = set()  # names that the lines of the present loops declare
        self.in_blocks: set[str] = set()  # those of all loops

    def take(self, base: str) -> str:
        """A name that the function does not use yet, not even inside of a loop."""
        return self.take_other(base, self.taken | self.in_blocks)

    def take_inside(self, base: str) -> str:
        """A name for a variable inside of a loop, which others may have after the loop."""
        name = self.take_other(base, self.taken)
        self.in_block.add(name)
        self.in_blocks.add(name)
        return name

    def take_other(self, base: str, others: Collection[str]) -> str:
        """A name that is none of others, with a number if need be."""
        text, number = as_identifier(base), 1
        candidate = text
        while candidate in others:
            candidate, number = f"{text}{number}" if text[-1:].isalpha() else f"{text}_{number}", number + 1
        self.taken.add(candidate)
        return candidate

    def take_counters(self) -> list[str]:
        """The names of loop counters, which nothing else has."""
        free = [name for name in COUNTERS if name not in self.taken]
        self.taken.update(free)
        return free

    def forget_block(self) -> None:
        """Make the names that only ended loops know available again."""
        self.taken -= self.in_block
        self.in_block.clear()
