"""What a growing program has so far: values at every point, from which the next statement chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tools.fuzz import prelude
from tools.fuzz.programs import POINTS, Program, Statement

LARGE = 1e3
"""A result with larger numbers is not kept, at sizes up to some hundred elements."""


class Sizes(NamedTuple):
    """How large a program grows."""

    elements: int = 64
    """Of any value."""
    number: float = LARGE
    """A result with larger numbers is not kept."""
    indices: tuple[int, ...] = (6, 40, 40)
    """Limits of the numbers of indices, of which each statement takes one."""
    extents: tuple[int, ...] = (4, 9, 20)
    """Limits of the sizes of matrices."""
    signal: int = 200
    """The longest signal."""
    points: int = POINTS
    """At how many points a statement is tried."""


SMALL = Sizes()


class Scope:
    """The values that a program has so far, at every point, from which the next statement chooses."""

    def __init__(self, program: Program, rng: np.random.Generator, sizes: Sizes = SMALL):
        self.program, self.rng, self.sizes = program, rng, sizes
        names = {name: getattr(prelude, name) for name in prelude.__all__}
        self.points: list[dict[str, Any]] = [dict(names) for _ in range(sizes.points)]
        self.names: list[str] = []
        self.unused: list[str] = []

    @property
    def target(self) -> str:
        return f"v{len(self.program.statements)}"

    def __getitem__(self, name: str) -> Any:
        return self.points[0][name]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one_of(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def number(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, kinds: str = "fc", condition: Callable[[Any], bool] = lambda v: True) -> str:
        """A value of some dtype, one of the latest if possible."""
        names = [n for n in self.names if self[n].dtype.kind in kinds and condition(self[n])]
        if not names:
            raise NoStatement(kinds)
        return self.one_of(names[-4:] if self.chance(0.6) else names)

    def constant(self, a: np.ndarray) -> str:
        """The name of a new plain array that the program captures."""
        name = next(name for k in count() if (name := f"k{k}") not in self.program.constants)
        self.program.constants[name] = a
        for point in self.points:
            point[name] = a
        return name

    def enter(self, name: str, values: Sequence[Any]) -> None:
        for point, value in zip(self.points, values, strict=True):
            point[name] = value
        self.names.append(name)
        self.unused.append(name)

    def add(self, family: str, text: str) -> bool:
        """Run a statement at every point; it stays if it runs and its result is of a moderate size."""
        target = self.target
        code = compile(text, "<statement>", "exec")
        try:
            with prelude.quiet():
                trials = [dict(point) for point in self.points]
                for trial in trials:
                    exec(code, trial)
            values = [trial[target] for trial in trials]
            if not all(is_moderate(v, self.sizes) for v in values) or len({(v.shape, v.dtype) for v in values}) > 1:
                raise NoStatement(text)
        except Exception:
            self.forget_constants()
            return False
        self.program.statements.append(Statement(family, target, text))
        self.forget_constants()
        self.unused = [n for n in self.unused if n not in words(text)]
        self.enter(target, values)
        return True

    def forget_constants(self) -> None:
        """Drop the arrays that no statement uses."""
        used = {word for s in self.program.statements for word in words(s.text)}
        self.program.constants = {name: a for name, a in self.program.constants.items() if name in used}


class NoStatement(Exception):
    """There is nothing for such a statement to work on."""


def words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


def is_moderate(v: Any, sizes: Sizes) -> bool:
    a = v.detach().numpy() if isinstance(v, wg.Tensor) else v
    if not isinstance(a, np.ndarray | np.generic) or a.size > sizes.elements:
        return False
    return a.dtype.kind in "biufc" and bool(np.all(np.isfinite(a))) and bool(np.all(np.abs(a) < sizes.number))
