"""What remains of a module when its parameters are taken out, as the structure of a tree."""

from __future__ import annotations

from typing import Any


class Frame:
    """The class and the other attributes of a module, from which one like it is made with other parameters.

    Frames are equal if their attributes are: plain ones by value, tensors and other objects by identity.
    """

    def __init__(self, cls: type):
        self.cls, self.constants = cls, dict[str, Any]()

    @property
    def __name__(self) -> str:
        return self.cls.__name__

    def __call__(self, parts: dict[str, Any]) -> Any:
        module = object.__new__(self.cls)
        module.__dict__.update(self.constants)
        module.__dict__.update(parts)
        return module

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Frame)
            and other.cls is self.cls
            and other.constants.keys() == self.constants.keys()
            and all(is_same(value, other.constants[name]) for name, value in self.constants.items())
        )

    def __hash__(self) -> int:
        return hash((self.cls, *self.constants))


def is_same(a: Any, b: Any) -> bool:
    """Whether two attributes are the same object, or equal plain values."""
    if a is b:
        return True
    plain = (bool, int, float, complex, str, bytes, tuple, frozenset)
    return isinstance(a, plain) and type(a) is type(b) and a == b
