"""The update of all parameters as one native program, which writes into their buffers.

Optimisers with the same rule, settings and shapes of parameters share programs. Hyperparameters that are numbers are
arguments, so a new learning rate needs no new program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.core.spec import Spec
from wengert.modes.tensor import Tensor
from wengert.optim.groups import ParameterGroup, Settings
from wengert.optim.rules import NUMBERS, Rule

MOST_ARRAYS = 250
"""A native program takes at most so many arrays; more parameters have several."""


class Member(NamedTuple):
    """A parameter that has a gradient, with its state and its group."""

    p: Tensor
    state: dict[str, Tensor]
    group: ParameterGroup

    @property
    def tensors(self) -> list[Tensor]:
        """What is updated: the parameter, and the parts of its state."""
        return [self.p, *[self.state[name] for name in self.group.settings.parts]]


def update_all(rule: Rule, members: Sequence[Member], grads: Sequence[Any]) -> None:
    """Apply a rule to parameters, and assign the new values and states."""
    for (p, state, group), g in zip(members, grads, strict=True):
        new, new_state = group.settings.apply(rule, group.numbers, p, g, state)
        p[...] = new
        for name, value in new_state.items():
            state[name][...] = value


class Plan:
    """The programs that update some parameters, and the tensors that they take."""

    def __init__(self, rule: Rule, members: Sequence[Member]):
        self.parts = [Part(rule, part) for part in split(members)]

    def __call__(self, grads: Sequence[np.ndarray]) -> None:
        first = 0
        for part in self.parts:
            part.program(
                part.tensors, [*[group.numbers.value for group in part.groups], *grads[first : first + part.count]]
            )
            first += part.count


class Part:
    """One program of a plan."""

    def __init__(self, rule: Rule, members: Sequence[Member]):
        self.count, self.tensors = len(members), [t for member in members for t in member.tensors]
        self.groups = list({id(member.group): member.group for member in members}.values())
        settings = [group.settings for group in self.groups]
        places = [next(i for i, group in enumerate(self.groups) if group is member.group) for member in members]
        specs = tuple([Spec(member.p.shape, member.p.dtype) for member in members])
        self.program = update_program(rule, tuple(settings), tuple(zip(places, specs, strict=True)))


def split(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Parameters in parts that are small enough for one program."""
    part: list[Member] = []
    count = 0
    for member in members:
        needed = len(member.tensors) + 2
        if part and count + needed > MOST_ARRAYS:
            yield part
            part, count = [], 0
        part.append(member)
        count += needed
    if part:
        yield part


@lru_cache(256)
def update_program(
    rule: Rule, settings: tuple[Settings, ...], members: tuple[tuple[int, Spec], ...]
) -> Callable[[Sequence[Tensor], Sequence[np.ndarray]], None]:
    """The program for parameters with these settings, by the index of their group, and specs."""

    def update(*arrays: Any) -> tuple[Any, ...]:
        given = iter(arrays)
        olds = [(next(given), {name: next(given) for name in settings[i].parts}) for i, _ in members]
        numbers = [next(given) for _ in settings]
        results: list[Any] = []
        for (i, _), (p, state), g in zip(members, olds, given, strict=True):
            new, new_state = settings[i].apply(rule, numbers[i], p, g, state)
            results += [new, *[new_state[name] for name in settings[i].parts]]
        return tuple(results)

    from wengert.compiler.updating import UpdatingProgram  # LLVM is loaded when something is compiled

    updated = [
        np.empty(*((), float) if name in NUMBERS else (spec.shape, spec.dtype))
        for i, spec in members
        for name in ("parameter", *settings[i].parts)
    ]
    numbers = [np.empty(kind.count) for kind in settings]
    return UpdatingProgram(update, updated, [*numbers, *[np.empty(*spec) for _, spec in members]], rule.__name__)
