"""The constants that a function captures: `compile(f, check=True)` says which of them has changed since the trace.

They are found in two ways: the arrays that the trace has met, which the user may change in place; and the names that
the function's code reads, which may be bound to other objects.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.modes.trace import digest

MISSING = object()
DEPTH = 6
"""The nesting depth of containers in which changes are seen."""
ROOTS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")
"""Instructions that load the first name of a chain such as `self.model.scale`."""
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class Watched(NamedTuple):
    """A captured constant: its name, a function that reads it, and its state and text when it was traced."""

    name: str
    read: Callable[[], Any]
    state: Any
    text: str


class Captures:
    """The constants that a function captures, watched from the end of its trace."""

    def __init__(self, f: Callable):
        self.watched = [watch(name, read) for name, read in captured_names(f)]

    def add(self, arrays: Sequence[Any]) -> None:
        """Watch the arrays that a trace has met, too."""
        known = {id(read()): name for name, read, _, _ in self.watched}
        for array in arrays:
            name = known.get(id(array), f"an array of shape {array.shape}")
            self.watched.append(watch(name, partial(constantly, array)))

    def compare(self, function: str) -> None:
        """Raise an error if a constant has changed."""
        for name, read, state, text in self.watched:
            now = read()
            if state_of(now) != state:
                raise user_error(
                    RuntimeError,
                    f"{function} was compiled with {name} as a constant, which has changed since, from {text} to "
                    f"{value_text(now)}",
                    "Pass it as an argument, make it a tensor (wg.tensor), which is read at each call, or compile "
                    "again.",
                )


def watch(name: str, read: Callable[[], Any]) -> Watched:
    """A constant in its present state."""
    value = read()
    return Watched(name, read, state_of(value), value_text(value))


def constantly(x: Any) -> Any:
    """The value itself: `partial(constantly, x)` reads it."""
    return x


def value_text(x: Any) -> str:
    """A value in an error message."""
    if x is MISSING:
        return "nothing"
    if isinstance(x, np.ndarray) and x.size > 8:
        return f"an array of shape {x.shape}"
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def state_of(x: Any, depth: int = DEPTH) -> Any:
    """The state of a constant: numbers by value, containers by their elements, other objects by identity."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biufc":
        return "array", x.shape, x.dtype.str, digest(x)
    if isinstance(x, np.generic | int | float | complex | str | bytes) or x is None:
        return type(x), repr(x)
    if isinstance(x, MethodType):
        return "method", Identity(x.__self__), Identity(x.__func__)
    if isinstance(x, BuiltinMethodType) and not isinstance(x.__self__, ModuleType | type):
        return "method", Identity(x.__self__), x.__name__
    if isinstance(x, partial):
        return "partial", state_of(x.func, depth), state_of((x.args, x.keywords), depth)
    if isinstance(x, list | tuple | deque) and depth:
        return type(x), *[state_of(item, depth - 1) for item in x]
    if isinstance(x, set | frozenset) and depth:
        return type(x), *sorted(map(repr, x))
    if isinstance(x, dict) and depth:
        return type(x), *[(repr(key), state_of(item, depth - 1)) for key, item in x.items()]
    is_object = hasattr(x, "__dict__") and not isinstance(x, type | FunctionType) and is_user_module(type(x).__module__)
    if depth < DEPTH and depth and is_object:
        return Identity(x), state_of(vars(x), depth - 1)  # in a container, where no name leads to its attributes
    return Identity(x)


class Identity:
    """An object that is kept, and compared by identity."""

    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.x is self.x

    __hash__ = None  # type: ignore[assignment]  # compared, never looked up


def captured_names(f: Callable) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The outer names that a function and the user's functions it calls read, each with a function to read it again."""
    seen: set[int] = set()
    stack: list[Any] = [f]
    while stack:
        function = stack.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        plain = getattr(function, "__func__", function)
        if isinstance(function, partial):
            stack += [function.func, *function.args, *function.keywords.values()]
        elif isinstance(plain, FunctionType) and is_user_module(plain.__globals__.get("__name__", "")):
            found = list(read_names(plain, getattr(function, "__self__", MISSING)))
            yield from found
            stack += [value for _, read in found if is_followed(value := read())]
            defaults = (plain.__defaults__ or (), plain.__kwdefaults__ or {})
            yield f"a default of {plain.__name__}", partial(constantly, defaults)
            stack += [value for value in (*defaults[0], *defaults[1].values()) if is_followed(value)]
        elif isinstance(plain, FunctionType):  # of a library: a transform, say, with a user's function in its closure
            stack += [value for cell in plain.__closure__ or () if is_followed(value := cell_content(cell))]
        elif callable(getattr(function, "f", None)):  # a compiled function, or one with a rule
            stack.append(function.f)
        elif isinstance(call := vars(type(function)).get("__call__"), FunctionType):
            stack.append(MethodType(call, function))


def is_followed(value: Any) -> bool:
    """Whether the code of a value that a function reads is searched, too."""
    return callable(value) and not isinstance(value, type | np.ufunc | Array)


def is_user_module(module: str) -> bool:
    """Whether a module does not belong to a library."""
    package = module.partition(".")[0]
    return package == "__main__" or package not in sys.stdlib_module_names | {"wengert", "numpy", "scipy"}


def read_names(function: FunctionType, owner: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The names that a function's code reads: of its closure, global, and their attributes (`model.scale`).

    Of a method, also the attributes of its `owner`.
    """
    code = function.__code__
    roots: dict[str, Callable[[], Any]] = {}
    if owner is not MISSING and code.co_argcount:
        roots[code.co_varnames[0]] = partial(constantly, owner)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        roots[name] = partial(cell_content, cell)
    for path in name_chains(code):
        root = path[0]
        if root not in roots and root in function.__globals__ and root not in code.co_varnames:
            roots[root] = partial(function.__globals__.get, root, MISSING)
        if root in roots:
            yield ".".join(path), partial(follow, roots[root], path[1:])


def cell_content(cell: Any) -> Any:
    """The value in a cell of a closure."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def follow(read: Callable[[], Any], attributes: Sequence[str]) -> Any:
    """A stored attribute; computed ones are not watched."""
    value = read()
    for name in attributes:
        stored = vars(value) if hasattr(value, "__dict__") else {}
        if name in stored:
            value = stored[name]
        elif isinstance(value, Array | ModuleType) or isinstance(getattr(type(value), name, MISSING), property):
            return MISSING
        else:
            value = getattr(value, name, MISSING)
    return value


def name_chains(code: CodeType) -> Iterator[tuple[str, ...]]:
    """All chains of names in code and the code inside it, such as `("model", "scale")`."""
    found: dict[tuple[str, ...], None] = {}
    chain: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(ROOTS):
            names = instruction.argval  # of two, loaded by one instruction, the last is what attributes follow
            chain = (names[-1] if isinstance(names, tuple) else names,)
        elif instruction.opname in ATTRIBUTES and chain:
            chain = (*chain, instruction.argval)
        elif instruction.opname not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"):
            chain = ()
        if chain:
            found[chain] = None
    yield from found
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            own = {*inner.co_varnames, *inner.co_cellvars}
            yield from (path for path in name_chains(inner) if path[0] not in own)
