"""Groups of parameters with hyperparameters of their own.

To users, hyperparameters are numbers: `group["lr"] = 0.1`. Inside, the numbers of a group are elements of one tensor,
which programs read at each call: a change needs no new program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.guards import note_change
from wengert.modes.tensor import Tensor
from wengert.optim.rules import Rule


class Settings(NamedTuple):
    """What a program is made for: the hyperparameters that are not numbers, and the parts of a state."""

    plain: dict[str, Any]
    parts: tuple[str, ...]


def elements(numbers: Any, index: int | tuple[int, ...]) -> Any:
    """A number, or a tuple of numbers, of an array of numbers."""
    return numbers[index] if isinstance(index, int) else tuple([numbers[i] for i in index])


class Numbers(Tensor):
    """The hyperparameters of a group that are numbers; they stay on the CPU."""

    __slots__ = ()
    is_passed_on = True


class ParameterGroup(MutableMapping[str, Any]):
    """Parameters (`group["params"]`) and their hyperparameters, by name; `rule` is that of the optimiser, if any.

    In a traced function, hyperparameters that are numbers are values of the program.
    """

    def __init__(self, params: list[Tensor], hyperparameters: Mapping[str, Any], rule: Rule | None = None):
        self.params, self.rule = params, rule
        self.plain: dict[str, Any] = {}  # booleans and everything else that is not a number
        self.index: dict[str, int | tuple[int, ...]] = {}
        numbers: list[float] = []
        for name, value in hyperparameters.items():
            given = value if isinstance(value, tuple | list) else (value,)
            if not all(is_numeric(x) for x in given):
                self.plain[name] = value
                continue
            indices = tuple(range(len(numbers), len(numbers) + len(given)))
            self.index[name] = indices if given is value else indices[0]
            numbers += map(float, given)
        self.numbers = Numbers(np.array(numbers))
        self.names = tuple(hyperparameters)
        self.own_settings = self.find_settings()

    def values_now(self) -> dict[str, Any]:
        """The hyperparameters at this moment, as numbers also in a trace."""
        numbers = self.numbers.value.tolist()
        return {
            name: elements(numbers, self.index[name]) if name in self.index else self.plain[name] for name in self.names
        }

    def hyperparameters(self) -> dict[str, Any]:
        """What the rule is given: numbers as elements of the tensor, which a trace reads, and settings."""
        return {**self.settings.plain, **{name: elements(self.numbers, i) for name, i in self.index.items()}}

    def find_settings(self) -> Settings:
        """The settings at this moment."""
        plain = {name: self.plain[name] for name in self.names if name in self.plain}
        return Settings(plain, self.rule.parts(self.values_now()) if self.rule is not None else ())

    @property
    def settings(self) -> Settings:
        """What a program is made for; a trace relies on it."""
        trace = recording.current_trace()
        return self.own_settings if trace is None else trace.read(self, settings_of)

    def __getitem__(self, name: str) -> Any:
        if name == "params":
            return self.params
        if name not in self.index:
            return self.plain[name]
        value = elements(self.numbers, self.index[name])
        if recording.current_trace() is not None:
            return value
        return tuple(map(float, value)) if isinstance(value, tuple) else float(value)

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "params":
            raise user_error(
                KeyError,
                "The parameters of a group cannot be replaced",
                "Add a group with optimizer.add_param_group, or make a new optimiser.",
            )
        if recording.current_trace() is not None and name not in self.index:
            raise user_error(TypeError, f"{name!r} of a group of parameters was set inside a compiled function")
        if name in self.index:
            self._assign(name, value)
        else:
            self.plain[name] = value
        if recording.current_trace() is None and (settings := self.find_settings()) != self.own_settings:
            self.own_settings = settings
            note_change()

    def _assign(self, name: str, value: Any) -> None:
        index = self.index[name]
        indices, values = ((index,), (value,)) if isinstance(index, int) else (index, tuple(value))
        if len(values) != len(indices):
            raise user_error(ValueError, f"{name} consists of {len(indices)} numbers, and was given {len(values)}")
        with recording.override(enabled=False):
            for i, x in zip(indices, values, strict=True):
                self.numbers[i] = x

    def __delitem__(self, name: str) -> None:
        if name == "params" or name in self.names:
            raise user_error(KeyError, f"The hyperparameter {name!r} of a group of parameters cannot be removed")
        del self.plain[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(("params", *self.names, *self.plain)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self[name]!r}" for name in self if name != "params")
        count = sum(p.size for p in self.params)
        return f"{len(self.params)} parameters, {count} numbers: {shown}"


def settings_of(group: ParameterGroup) -> Settings:
    """The settings of a group, as a trace reads them."""
    return group.own_settings


def is_numeric(value: Any) -> bool:
    """Whether a hyperparameter is a number, and not a setting."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"
