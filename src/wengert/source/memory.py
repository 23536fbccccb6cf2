"""What a function can change: variables, lists, dictionaries and objects that it can reach, as they were before."""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.levels import copy_value
from wengert.source.rows import Rows
from wengert.source.syntax import RUNTIME
from wengert.source.values import Undefined

MOST = 20_000
"""So many places are looked at; objects that are reached later are not protected."""
LARGE = 1_000_000
"""A larger array is not compared."""


class Place:
    """Something that can change: `read` gives its contents, `write` puts them back."""

    def __init__(self, name: str, target: Any):
        self.name, self.target = name, target

    def read(self) -> Any:
        """The contents."""
        raise NotImplementedError  # each kind defines it

    def write(self, contents: Any) -> None:
        """Put contents back."""
        raise NotImplementedError  # each kind defines it

    def is_same(self, a: Any, b: Any) -> bool:
        """Whether contents are those of before: the same objects."""
        return a is b


class Variable(Place):
    """A variable of a function, by its cell."""

    def read(self) -> Any:
        try:
            return self.target.cell_contents
        except ValueError:
            return Undefined(self.name, "it has not been assigned.")

    def write(self, contents: Any) -> None:
        if isinstance(contents, Undefined) and contents.why == "it has not been assigned.":
            self.unbind()
        else:
            self.target.cell_contents = contents

    def unbind(self) -> None:
        """Take its value away."""
        try:
            del self.target.cell_contents
        except ValueError:
            return

    def is_same(self, a: Any, b: Any) -> bool:
        return a is b or (isinstance(a, Undefined) and isinstance(b, Undefined))


class ListContents(Place):
    """The elements of a list."""

    def read(self) -> Any:
        return list.copy(self.target)

    def write(self, contents: Any) -> None:
        list.__setitem__(self.target, slice(None), contents)

    def is_same(self, a: Any, b: Any) -> bool:
        return len(a) == len(b) and all(map(lambda x, y: x is y, a, b))


class DictContents(Place):
    """The entries of a dictionary, or the attributes of an object."""

    def read(self) -> Any:
        return dict(self.target)

    def write(self, contents: Any) -> None:
        self.target.clear()
        self.target.update(contents)

    def is_same(self, a: Any, b: Any) -> bool:
        return list(a) == list(b) and all(map(lambda x, y: x is y, a.values(), b.values()))


class SetContents(DictContents):
    """The elements of a set."""

    def read(self) -> Any:
        return set(self.target)

    def is_same(self, a: Any, b: Any) -> bool:
        return bool(a == b)


class ArrayValue(Place):
    """A traced value, which `x[i] = v` changes."""

    def read(self) -> Any:
        return copy_value(self.target)

    def write(self, contents: Any) -> None:
        Array._become(self.target, contents)

    def is_same(self, a: Any, b: Any) -> bool:
        return a.level == b.level and a.value is b.value and a.extra is b.extra


class PlainNumbers(Place):
    """The numbers of a plain array."""

    def read(self) -> Any:
        return self.target.copy()

    def write(self, contents: Any) -> None:
        if self.target.flags.writeable:
            self.target[...] = contents

    def is_same(self, a: Any, b: Any) -> bool:
        return a.tobytes() == b.tobytes()


class GeneratorState(Place):
    """The state of a random number generator: functions that read and write it."""

    def read(self) -> Any:
        return self.target[0]()

    def write(self, contents: Any) -> None:
        self.target[1](contents)

    def is_same(self, a: Any, b: Any) -> bool:
        return is_same_state(a, b)


class NumPyState(Place):
    """The state of NumPy's global generator; None as long as it is not imported, which takes as long as a trace."""

    def read(self) -> Any:
        return np.random.get_state() if is_imported() else None

    def write(self, contents: Any) -> None:
        if contents is not None:
            np.random.set_state(contents)

    def is_same(self, a: Any, b: Any) -> bool:
        if a is None and b is not None:  # imported meanwhile: nothing was drawn if it is where a new one begins
            new = np.random.RandomState().get_state()
            return b[1][0] == new[1][0] and b[2] == new[2]  # type: ignore[index]  # the state is a tuple
        return is_same_state(a, b)


class Memory:
    """All places that some functions and objects can reach, and their contents."""

    def __init__(self, *roots: Any):
        self.places: list[Place] = []
        self.seen: set[int] = set()
        self.has_iterators = False
        for root in roots:
            self.add(root, "")
        self.before = [place.read() for place in self.places]

    def changes(self) -> dict[int, Any]:
        """The new contents of the places that have changed, by index."""
        now = [place.read() for place in self.places]
        pairs = enumerate(zip(self.places, self.before, now, strict=True))
        return {k: new for k, (place, old, new) in pairs if not place.is_same(old, new)}

    def restore(self) -> None:
        """Make everything as it was."""
        for k in self.changes():
            self.places[k].write(self.before[k])

    def add_generators(self) -> None:
        """Add the random number generators of NumPy and Python."""
        for place in (NumPyState("random", None), GeneratorState("random", (random.getstate, random.setstate))):
            self.places.append(place)
            self.before.append(place.read())

    def add(self, x: Any, name: str) -> None:
        """Add what can be reached from an object."""
        if (
            isinstance(x, (int, float, complex, str, type, types.ModuleType, Undefined))
            or x is None
            or id(x) in self.seen
        ):
            return
        self.seen.add(id(x))
        if len(self.places) > MOST:
            return
        for part, part_name in self.open(x, name):
            self.add(part, part_name)

    def open(self, x: Any, name: str) -> Iterator[tuple[Any, str]]:
        """Note the places of one object; gives what it refers to."""
        if isinstance(x, list):
            self.places.append(ListContents(name, x))
            yield from ((y, f"{name}[{i}]") for i, y in enumerate(list.copy(x)))
        elif isinstance(x, tuple):
            yield from ((y, f"{name}[{i}]") for i, y in enumerate(x))
        elif isinstance(x, dict | set):
            self.places.append(DictContents(name, x) if isinstance(x, dict) else SetContents(name, x))
            yield from ((y, f"{name}[{key!r}]") for key, y in list(x.items())) if isinstance(x, dict) else ()
        elif isinstance(x, Array):
            if x.level:
                self.places.append(ArrayValue(name, x))
        elif isinstance(x, np.ndarray):
            if x.size <= LARGE:
                self.places.append(PlainNumbers(name, x))
        elif is_imported() and isinstance(x, np.random.Generator):
            bits: Any = x.bit_generator
            self.places.append(GeneratorState(name, (lambda: bits.state, lambda state: setattr(bits, "state", state))))
        else:
            yield from self.open_object(x, name)

    def open_object(self, x: Any, name: str) -> Iterator[tuple[Any, str]]:
        """The same for functions and objects of classes."""
        if isinstance(x, types.FunctionType):
            yield from self.open_function(x)
        elif isinstance(x, types.MethodType):
            yield from ((x.__self__, "self"), (x.__func__, name))
        elif isinstance(x, functools.partial):
            yield from ((x.func, name), (x.args, name), (x.keywords, name))
        elif hasattr(type(x), "__next__"):
            self.has_iterators = True
        elif hasattr(x, "__dict__") and is_users_module(type(x).__module__, ""):
            attributes = vars(x)
            if isinstance(attributes, dict):
                self.places.append(DictContents(name, attributes))
                yield from ((y, f"{name}.{key}") for key, y in list(attributes.items()))

    def open_function(self, f: types.FunctionType) -> Iterator[tuple[Any, str]]:
        """The variables of the functions around, and the global ones that may be containers."""
        if not is_users_module(f.__module__, f.__code__.co_filename):
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            if name != RUNTIME and id(cell) not in self.seen:
                self.seen.add(id(cell))
                place = Variable(name, cell)
                self.places.append(place)
                yield place.read(), name
        yield f.__defaults__, f.__name__
        yield f.__kwdefaults__, f.__name__
        for name in global_names(f.__code__):
            found = f.__globals__.get(name)
            if not isinstance(found, np.ndarray):
                yield found, name


def is_imported() -> bool:
    """Whether NumPy's generators are imported, which NumPy does at their first use."""
    return "numpy.random" in sys.modules


def is_same_state(a: Any, b: Any) -> bool:
    """Whether two states of a generator are equal: numbers, strings and arrays, in tuples and dicts."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same_state(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and any(isinstance(x, np.ndarray) for x in a):
        return len(a) == len(b) and all(map(is_same_state, a, b))
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


@functools.lru_cache(4096)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names that a function and those inside it look up in the module."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in global_names(part)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


PACKAGE = str(Path(__file__).parents[1])


def is_users_module(module: str | None, filename: str) -> bool:
    """Whether code is the user's own: not of this package, of the standard library, or of an installed one."""
    root = (module or "").partition(".")[0]
    if "site-packages" in filename or filename.startswith(PACKAGE):  # a decorator may have the user's module
        return False
    if root == "__main__":
        return True
    if root in sys.stdlib_module_names or root == "wengert":
        return False
    found = sys.modules.get(module or "")
    return "site-packages" not in str(getattr(found, "__file__", ""))


__all__ = ["ArrayValue", "ListContents", "Memory", "Place", "Rows", "Variable", "is_users_module"]
