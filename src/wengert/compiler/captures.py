"""What a function captures, watched: `compile(f, check=True)` says which constant of its trace has changed since.

A trace has the numbers that plain arrays, globals and attributes had when it was made. They are found in two ways: the
arrays that the trace has met, which the user may have changed in place; and the names that the function's code reads,
which may stand for something else.
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
from wengert.modes.symbolic import digest

MISSING = object()
DEPTH = 6
"""How far into containers changes are seen."""
BEGINNINGS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")
"""Instructions with which a chain of names such as `self.model.scale` begins."""
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class Watched(NamedTuple):
    """Something that a trace has as a constant: what to call it, how to read it, and what it was."""

    name: str
    read: Callable[[], Any]
    state: Any
    shown: str


class Captures:
    """All that a function captures, as it is when it has been traced: what it fills in itself is there by then."""

    def __init__(self, f: Callable):
        self.watched = [watch(name, read) for name, read in captured_names(f)]

    def add(self, arrays: Sequence[Any]) -> None:
        """Watch arrays that a trace has met, too."""
        known = {id(read()): name for name, read, _, _ in self.watched}
        for array in arrays:
            name = known.get(id(array), f"an array of shape {array.shape}")
            self.watched.append(watch(name, partial(constantly, array)))

    def compare(self, function: str) -> None:
        """Raise an error if anything is no longer what it was."""
        for name, read, state, shown in self.watched:
            now = read()
            if fingerprint(now) != state:
                raise user_error(
                    RuntimeError,
                    f"{function} was compiled with {name} as a constant, which has changed since, from {shown} to "
                    f"{value_text(now)}",
                    "Pass it as an argument, make it a tensor (wg.tensor), which is read at each call, or compile "
                    "anew.",
                )


def watch(name: str, read: Callable[[], Any]) -> Watched:
    value = read()
    return Watched(name, read, fingerprint(value), value_text(value))


def constantly(x: Any) -> Any:
    return x


def value_text(x: Any) -> str:
    """A value in an error message."""
    if x is MISSING:
        return "nothing"
    if isinstance(x, np.ndarray) and x.size > 8:
        return f"an array of shape {x.shape}"
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def fingerprint(x: Any, depth: int = DEPTH) -> Any:
    """What makes two constants the same to a trace: numbers by value, containers by what they hold, all else by
    identity.
    """
    if isinstance(x, np.ndarray) and x.dtype.kind in "biufc":
        return "array", x.shape, x.dtype.str, digest(x)
    if isinstance(x, np.generic | int | float | complex | str | bytes) or x is None:
        return type(x), repr(x)
    if isinstance(x, MethodType):
        return "method", Same(x.__self__), Same(x.__func__)
    if isinstance(x, BuiltinMethodType) and not isinstance(x.__self__, ModuleType | type):
        return "method", Same(x.__self__), x.__name__
    if isinstance(x, partial):
        return "partial", fingerprint(x.func, depth), fingerprint((x.args, x.keywords), depth)
    if isinstance(x, list | tuple | deque) and depth:
        return type(x), *[fingerprint(item, depth - 1) for item in x]
    if isinstance(x, set | frozenset) and depth:
        return type(x), *sorted(map(repr, x))
    if isinstance(x, dict) and depth:
        return type(x), *[(repr(key), fingerprint(item, depth - 1)) for key, item in x.items()]
    is_object = hasattr(x, "__dict__") and not isinstance(x, type | FunctionType) and is_user_module(type(x).__module__)
    if depth < DEPTH and depth and is_object:
        return Same(x), fingerprint(vars(x), depth - 1)  # in a container: no name leads to its attributes
    return Same(x)


class Same:
    """Equal where it holds the very same object, which it keeps."""

    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.x is self.x

    __hash__ = None  # type: ignore[assignment]  # compared, never looked up


def captured_names(f: Callable) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The names that a function, and the user's functions that it calls, read from outside, each with a way to read it
    again.
    """
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
        elif isinstance(
            plain, FunctionType
        ):  # of a library: a transform, say, which has closed over a function of the user's
            stack += [value for cell in plain.__closure__ or () if is_followed(value := cell_content(cell))]
        elif callable(getattr(function, "f", None)):  # a compiled function, or one with a rule
            stack.append(function.f)
        elif isinstance(call := vars(type(function)).get("__call__"), FunctionType):
            stack.append(MethodType(call, function))


def is_followed(value: Any) -> bool:
    """Whether the code of what a function uses is looked at too."""
    return callable(value) and not isinstance(value, type | np.ufunc | Array)


def is_user_module(module: str) -> bool:
    """Whether a module is none of a library."""
    package = module.partition(".")[0]
    return package == "__main__" or package not in sys.stdlib_module_names | {"wengert", "numpy", "scipy"}


def read_names(function: FunctionType, owner: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The names that a function's own code reads: closed over, global, and attributes of these (`model.scale`) or of a
    method's `owner`.
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
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def follow(read: Callable[[], Any], attributes: Sequence[str]) -> Any:
    """An attribute as it is stored; what is computed when it is asked for is not watched."""
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
    """All chains of names in a piece of code and those inside it, as `("model", "scale")`."""
    found: dict[tuple[str, ...], None] = {}
    chain: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(BEGINNINGS):
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
