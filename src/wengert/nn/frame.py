"""What remains of a module when its parameters are taken out: the structure of the module as a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array

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
    parameter in two places is the same in both places of what the frame makes.
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


def take_apart(modules: dict[str, Any]) -> tuple[Frame, dict[str, Any]]:
    """The frame of modules, by their paths, of which the first has all others in it; and its parameters by path."""
    numbers = {id(module): number for number, module in enumerate(modules.values())}
    paths: dict[int, str] = {}
    parameters: dict[str, Any] = {}
    records = []
    for path, module in modules.items():
        attributes = dict(module.__dict__)
        for name, value in attributes.items():
            if name in module._parameters and value is not None:
                found = f"{path}.{name}" if path else name
                if isinstance(value, Array | np.ndarray):
                    found = paths.setdefault(id(value), found)
                parameters[found] = value
                attributes[name] = ParameterPath(found)
            elif id(value) in numbers:
                attributes[name] = Part(numbers[id(value)])
        records.append(Record(type(module), attributes))
    return Frame(records[0].cls, records), parameters
