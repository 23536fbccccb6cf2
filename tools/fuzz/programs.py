"""A random program: a Python function as text, its inputs at several points, and what it captures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import wengert as wg
from tools.fuzz import prelude

POINTS = 3
"""Sets of inputs of the same shapes: the first call, the second call, and one more for a batch."""
MOST_PRINTED = 20_000
"""Elements of all arrays of the largest program that is printed with them."""


@dataclass
class Input:
    """An argument of a program: its numbers at each point, and their arrangement in memory."""

    name: str
    values: list[np.ndarray]
    layout: str = "plain"

    @property
    def is_live(self) -> bool:
        return self.values[0].dtype.kind in "fc"

    def at(self, point: int) -> Any:
        return prelude.laid_out(self.values[point], self.layout)


@dataclass
class Captured:
    """A tensor that a program reads without being given it: its numbers before and after it is changed."""

    name: str
    values: list[np.ndarray]
    requires_grad: bool

    def tensor(self) -> wg.Tensor:
        return wg.tensor(self.values[0].copy(), requires_grad=self.requires_grad)


@dataclass
class Statement:
    """Some lines that define `target`, and the family that they come from."""

    family: str
    target: str
    text: str


@dataclass
class Program:
    seed: tuple[int, ...]
    inputs: list[Input] = field(default_factory=list)
    captured: list[Captured] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    updates: tuple[list[str], list[str]] = ([], [])
    """Lines that assign to captured tensors, before and after the statements."""
    result: str = "0.0"
    records: tuple[dict[str, int], ...] = ()
    """Fields of the machine record, for each of the machines on which it is compiled."""
    effort: Literal["fast"] | None = None
    has_passes: bool = True
    """How it is translated for them."""
    option: str = ""
    """That of the command that makes it."""

    @property
    def families(self) -> set[str]:
        return {statement.family for statement in self.statements}

    @property
    def is_eager_only(self) -> bool:
        """Whether Python reads numbers, so that traces and batches refuse with a clear error."""
        return "integers" in self.families

    @property
    def is_single(self) -> bool:
        """Whether anything in it is of single precision."""
        return "float32" in self.source or any(a.dtype == np.float32 for a in self.arrays)

    @property
    def is_complex(self) -> bool:
        """Whether anything in it is complex."""
        return any(word in self.source for word in ("complex", "fft")) or any(a.dtype.kind == "c" for a in self.arrays)

    @property
    def arrays(self) -> list[np.ndarray]:
        """Its inputs at one point, its constants, and what it captures."""
        return [*(i.values[0] for i in self.inputs), *self.constants.values(), *(c.values[0] for c in self.captured)]

    @property
    def is_holding(self) -> bool:
        """Whether it hides part of its dependence from derivatives, so that differences of values do not agree."""
        return "stop" in self.families

    @property
    def is_vector(self) -> bool:
        return self.result.startswith("np.stack")

    @property
    def live(self) -> list[int]:
        return [i for i, argument in enumerate(self.inputs) if argument.is_live]

    @property
    def size(self) -> int:
        """The elements of the arrays that it takes and captures."""
        return sum(i.values[0].size for i in self.inputs) + sum(a.size for a in self.constants.values())

    @property
    def source(self) -> str:
        lines = [line for statement in self.statements for line in statement.text.splitlines()]
        before, after = self.updates
        assigned = [f"global {', '.join(c.name for c in self.captured)}"] if before or after else []
        body = "".join(f"    {line}\n" for line in [*assigned, *before, *lines, *after, f"return {self.result}"])
        return f"def f({', '.join(i.name for i in self.inputs)}):\n{body}"

    def load(self) -> tuple[Callable, list[wg.Tensor]]:
        """The function, and tensors of its own that it captures."""
        tensors = [c.tensor() for c in self.captured]
        names = {name: getattr(prelude, name) for name in prelude.__all__} | self.constants
        names |= {c.name: t for c, t in zip(self.captured, tensors, strict=True)}
        exec(compile(self.source, f"<program {self.seed}>", "exec"), names)
        return names["f"], tensors

    def at(self, point: int) -> list[Any]:
        """The arguments at one point, laid out anew."""
        return [i.at(point) for i in self.inputs]

    def doubled(self) -> Program:
        """The same program in double precision, for differences of values."""
        wide = lambda a: a.astype(np.float64 if a.dtype == np.float32 else a.dtype)
        return Program(
            self.seed,
            [Input(i.name, [wide(a) for a in i.values], i.layout) for i in self.inputs],
            [Captured(c.name, [wide(a) for a in c.values], c.requires_grad) for c in self.captured],
            {name: wide(a) for name, a in self.constants.items()},
            [Statement(s.family, s.target, s.text.replace("float32", "float64")) for s in self.statements],
            self.updates,
            self.result,
            self.records,
            self.effort,
            self.has_passes,
            self.option,
        )

    def script(self, check: str) -> str:
        """The program as a file that can be run by itself, beside the check that failed; large ones without arrays."""
        command = f"# python -m tools.fuzz{self.option} --seed {self.seed[0]} --only {self.seed[1]}   ({check})"
        if self.size > MOST_PRINTED:
            shapes = [f"{i.name}: {i.values[0].dtype}{list(i.values[0].shape)}, {i.layout}" for i in self.inputs]
            shapes += [f"{name}: {a.dtype}{list(a.shape)}" for name, a in self.constants.items()]
            return "\n".join([command, *[f"# {line}" for line in shapes], self.source])
        lines = ["from tools.fuzz.oracles import *", "from tools.fuzz.prelude import *", ""]
        lines += [f"{name} = {literal(a)}" for name, a in self.constants.items()]
        lines += [
            f"{c.name} = wg.tensor({literal(c.values[0])}, requires_grad={c.requires_grad})" for c in self.captured
        ]
        lines += ["", "", self.source, ""]
        for point in range(1 if self.records else POINTS):
            arguments = [f"laid_out({literal(i.values[point])}, {i.layout!r})" for i in self.inputs]
            lines.append(f"point{point} = [{', '.join(arguments)}]")
        if self.captured:
            others = ", ".join(literal(c.values[1]) for c in self.captured)
            lines.append(f"# later: changed([{', '.join(c.name for c in self.captured)}], [{others}])")
        if self.records:
            fields = [", ".join(f"{name}={value}" for name, value in record.items()) for record in self.records]
            lines += ["", f"g = wg.value_and_grad(f, {tuple(self.live)})", "print(g(*point0))"]
            for some in fields:
                lines += [f"with machine.using({some}):", f"    print(wg.compile(g, effort={self.effort!r})(*point0))"]
        return "\n".join([command, *lines]) + "\n"


def literal(a: np.ndarray) -> str:
    """An array as an expression."""
    text = f"np.array({a.tolist()!r}, {a.dtype.str!r})"
    return text.replace("nan", "np.nan").replace("inf", "np.inf") if a.size else f"np.zeros({a.shape}, {a.dtype.str!r})"
