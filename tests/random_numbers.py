"""The numbers that a test draws from the generator of its file depend on the test alone, not on those that ran before.

Many files have `RNG = np.random.default_rng(7)`, from which all their tests draw. Each item starts a stream of its own
on these generators, a function of their seed and of the item's name: the same numbers in a sample, in all tests, on a
worker of several, or alone.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType
from zlib import crc32

import numpy as np


@cache
def generators_of(name: str) -> tuple[np.random.Generator, ...]:
    """The generators of a module, and of the modules in `tests` from which it takes functions."""
    found, seen, left = dict[int, np.random.Generator](), {name}, [name]
    while left:
        for value in [*vars(sys.modules[left.pop()]).values()]:
            if isinstance(value, np.random.Generator):
                found[id(value)] = value
                continue
            owner = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(owner, str) and owner.startswith("tests.") and owner in sys.modules and owner not in seen:
                seen.add(owner)
                left.append(owner)
    return tuple(found.values())


def start_streams(module: str, name: str) -> None:
    """Let the generators of a module continue with numbers that are a function of their seeds and of a name."""
    for generator in generators_of(module):
        bits = generator.bit_generator
        seed = np.random.SeedSequence(bits.seed_seq.entropy, spawn_key=(crc32(name.encode()),))  # type: ignore[attr-defined]
        bits.state = type(bits)(seed).state
