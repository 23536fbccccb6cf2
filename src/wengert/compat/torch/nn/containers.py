"""Containers: modules and parameters in lists and dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import wengert.nn.containers as engine
from wengert.compat.torch.nn.module import Module
from wengert.compat.torch.nn.parameter import Parameter
from wengert.compat.torch.values import TorchValue

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class ModuleList(Module, engine.ModuleList):
    """A list of modules, whose parameters are found."""

    engine = engine.ModuleList

    def __init__(self, modules: Iterable[Module] | None = None):
        engine.ModuleList.__init__(self, modules or ())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        self.extend(modules)
        return self

    def __add__(self, modules: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *modules])

    def pop(self, index: int = -1) -> Any:
        """Remove a module, and return it."""
        module = self[index]
        del self[index]
        return module


class Sequential(Module, engine.Sequential):
    """Modules, one after the other.

    >>> import wengert.compat.torch as torch
    >>> Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=3, out_features=4)
      (1): ReLU()
    )
    """

    forward = engine.Sequential.forward

    def __init__(self, *modules: Any):
        engine.Sequential.__init__(self, *modules)

    def __getitem__(self, index: int | slice) -> Any:
        items = list(self)
        return type(self)(*items[index]) if isinstance(index, slice) else items[index]


class ModuleDict(Module, engine.ModuleDict):
    """Modules by name, whose parameters are found; they are attributes, too."""

    engine = engine.ModuleDict

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None):
        engine.ModuleDict.__init__(self, modules or {})

    def pop(self, key: str) -> Any:
        """Remove a module, and return it."""
        module = self[key]
        del self[key]
        return module


class ParameterList(Module):
    """A list of parameters, which are found.

    >>> import wengert.compat.torch as torch
    >>> len(ParameterList([torch.ones(2), torch.zeros(3)]))
    2
    """

    def __init__(self, values: Iterable[Any] = ()):
        self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a parameter; a tensor becomes one."""
        setattr(self, str(len(self)), as_parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several parameters."""
        for value in values:
            self.append(value)
        return self

    def __len__(self) -> int:
        return sum(name.isdecimal() for name in self.__dict__)

    def __iter__(self) -> Iterator[Any]:
        return iter([value for name, value in self.__dict__.items() if name.isdecimal()])

    def __getitem__(self, index: int | slice) -> Any:
        items = list(self)[index]
        return ParameterList(items) if isinstance(index, slice) else items

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(range(len(self))[index]), as_parameter(value))


class ParameterDict(engine.NamedParts[Any], Module):
    """Parameters by name, which are found.

    >>> import wengert.compat.torch as torch
    >>> list(ParameterDict({"a": torch.ones(2)}))
    ['a']
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()):
        self.update(parameters)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, as_parameter(value))

    def items(self) -> list[tuple[str, Any]]:
        """The names and the parameters."""
        return [(name, value) for name, value in self.__dict__.items() if name in self._parameters]


def as_parameter(value: Any) -> Any:
    """A tensor as a parameter; anything else as it is."""
    return value if isinstance(value, Parameter) or not isinstance(value, TorchValue) else Parameter(value)
