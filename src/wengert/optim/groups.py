"""Groups of parameters with hyperparameters of their own.

To users, hyperparameters are numbers: `group["lr"] = 0.1`. Inside, the numbers of a group are elements of one tensor,
which programs read at each call: a change needs no new program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.tensor import Tensor


class ParameterGroup(MutableMapping[str, Any]):
    """Parameters (`group["params"]`) and their hyperparameters, by name.

    In a traced function, hyperparameters that are numbers are values of the program.
    """

    def __init__(self, params: list[Tensor], hyperparameters: Mapping[str, Any]):
        self.params = params
        self.plain: dict[str, Any] = {}  # booleans and everything else that is not a number
        self.index: dict[str, int | tuple[int, ...]] = {}  # of each number, or tuple of numbers, in `numbers`
        numbers: list[float] = []
        for name, value in hyperparameters.items():
            given = value if isinstance(value, tuple | list) else (value,)
            if not all(is_number(x) for x in given):
                self.plain[name] = value
                continue
            indices = tuple(range(len(numbers), len(numbers) + len(given)))
            self.index[name] = indices if given is value else indices[0]
            numbers += map(float, given)
        self.numbers = Tensor(np.array(numbers))
        self.names = tuple(hyperparameters)

    def element(self, name: str) -> Any:
        """A hyperparameter as a rule takes it: numbers are elements of the tensor."""
        index = self.index.get(name)
        if index is None:
            return self.plain[name]
        return self.numbers[index] if isinstance(index, int) else tuple([self.numbers[i] for i in index])

    def __getitem__(self, name: str) -> Any:
        if name == "params":
            return self.params
        value = self.element(name)
        if name not in self.index or recording.current_trace() is not None:
            return value
        return tuple(map(float, value)) if isinstance(value, tuple) else float(value)

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "params":
            self.params = list(value)
        elif name not in self.index:
            self.plain[name] = value
        else:
            self._assign(name, value)

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


def is_number(value: Any) -> bool:
    """Whether a hyperparameter is a number, and not a setting."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"
