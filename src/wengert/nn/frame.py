"""What remains of a module when its parameters are taken out: the structure of the module as a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.tree import Branch

PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset)


class ParameterPath(NamedTuple):
    """Stands for a parameter, by its path."""

    path: str


class Part(NamedTuple):
    """Stands for a module, by its number in the frame."""

    number: int


class Record(NamedTuple):
    """The class of a module, and its attributes in order."""

    cls: type
    attributes: dict[str, Any]


class Frame:
    """The modules in a module, with a `ParameterPath` for each parameter: makes one like it from other parameters.

    Frames are equal if their attributes are: plain ones by value, tensors and other objects by identity. A module or a
    parameter that has two paths is one object in what the frame makes, too.
    """

    def __init__(self, cls: type, records: list[Record]):
        self.cls, self.records = cls, records

    @property
    def __name__(self) -> str:
        return self.cls.__name__

    def __call__(self, parts: dict[str, Any]) -> Any:
        modules: list[Any] = [object.__new__(record.cls) for record in self.records]
        for module, record in zip(modules, self.records, strict=True):
            attributes = module.__dict__
            for name, value in record.attributes.items():
                if value.__class__ is ParameterPath:
                    value = parts[value.path]
                elif value.__class__ is Part:
                    value = modules[value.number]
                attributes[name] = value
        return modules[0]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Frame)
            and len(other.records) == len(self.records)
            and all(is_same_record(a, b) for a, b in zip(self.records, other.records, strict=True))
        )

    def __hash__(self) -> int:
        return hash(tuple([record.cls for record in self.records]))


def is_same_record(a: Record, b: Record) -> bool:
    """Whether two modules are of one class, and have the same attributes."""
    if a.cls is not b.cls or a.attributes.keys() != b.attributes.keys():
        return False
    return all(is_same(value, b.attributes[name]) for name, value in a.attributes.items())


def is_same(a: Any, b: Any) -> bool:
    """Whether two attributes are the same object, or equal plain values."""
    return a is b or (isinstance(a, PLAIN) and a.__class__ is b.__class__ and a == b)


class Dismantling:
    """A module taken apart: `records` of it and of the modules in it, and its `parameters` by path, each once."""

    def __init__(self, module: Any):
        self.records: list[Record] = []
        self.parameters: dict[str, Any] = {}
        self.paths: dict[int, str] = {}  # of parameters
        self.parts: dict[int, Part] = {}  # of modules
        self.add_module(module, "")

    def add_module(self, module: Any, prefix: str) -> Part:
        """Add a module and those in it, in the order of `named_parameters`."""
        part = self.parts[id(module)] = Part(len(self.records))
        attributes = dict(module.__dict__)
        self.records.append(Record(module.__class__, attributes))
        names, inside = module._parameters, []
        for name, value in attributes.items():
            if name in names and value is not None:
                attributes[name] = self.add_parameter(value, prefix + name)
            elif isinstance(value, Branch):
                inside.append((name, value))
        for name, value in inside:
            attributes[name] = self.parts.get(id(value)) or self.add_module(value, f"{prefix}{name}.")
        return part

    def add_parameter(self, value: Any, path: str) -> ParameterPath:
        """Add a parameter; one that is an array has the path at which it was found first."""
        if isinstance(value, Array | np.ndarray):
            path = self.paths.setdefault(id(value), path)
        self.parameters[path] = value
        return ParameterPath(path)
