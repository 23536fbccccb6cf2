"""From a function to the function that its source becomes: `read_function`, and `source` for users."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from wengert.source import runtime
from wengert.source.calls import REPLACEMENTS
from wengert.source.finding import find_node, future_flags, inner_codes
from wengert.source.frozen import watch_call
from wengert.source.memory import is_users_module
from wengert.source.rewriting import GENERATED, Rewriter, is_readable
from wengert.source.syntax import RUNTIME, arguments, at, load

FUNCTION = "__function__"
LIBRARIES = ("numpy", "scipy", "wengert", "math")


class Reading(NamedTuple):
    """What the source of a function becomes: a syntax tree, and the code of the new function."""

    tree: ast.FunctionDef
    code: types.CodeType


READINGS: dict[tuple[types.CodeType, str], Reading | None] = {}
"""By the code of the function and its file; None if it stays as it is. Codes of two files may be equal."""


def read_function(f: Any) -> Any:
    """A function of the user's with its statements on traced values as operations; anything else as it is."""
    if isinstance(f, types.FunctionType):
        return read_plain(f) if is_users_module(f.__module__, f.__code__.co_filename) else f
    if isinstance(f, types.MethodType):
        inner = read_function(f.__func__)
        return f if inner is f.__func__ else types.MethodType(inner, f.__self__)
    if isinstance(f, functools.partial):
        inner = read_function(f.func)
        return f if inner is f.func else functools.partial(inner, *f.args, **f.keywords)
    if isinstance(f, type | types.BuiltinFunctionType):
        return f
    call = class_function(type(f), "__call__")
    if isinstance(call, types.FunctionType) and is_users_module(call.__module__, call.__code__.co_filename):
        return types.MethodType(read_plain(call), f)
    return f


def class_function(kind: type, name: str) -> Any:
    """The function that a class, or one that it inherits from, defines by this name."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def read_plain(f: types.FunctionType) -> Callable[..., Any]:
    """The new function of a function of the user's."""
    if RUNTIME in f.__code__.co_freevars:
        return f  # it is one
    key = f.__code__, f.__code__.co_filename
    if key not in READINGS:
        reading = READINGS[key] = read_code(f)
        if reading is not None:
            inner = inner_codes(reading.code)  # they have been read with it
            READINGS.update(dict.fromkeys([(code, code.co_filename) for code in inner]))
    reading = READINGS[key]
    if reading is None:
        return f
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells[RUNTIME] = RUNTIME_CELL
    closure = tuple([cells[name] for name in reading.code.co_freevars])
    made = types.FunctionType(reading.code, f.__globals__, f.__name__, f.__defaults__, closure)
    made.__kwdefaults__ = f.__kwdefaults__
    return functools.update_wrapper(made, f)


RUNTIME_CELL = types.CellType(runtime)


def read_code(f: types.FunctionType) -> Reading | None:
    """Read the source of a function; None if there is none, or nothing in it to change."""
    kinds = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    node = None if f.__code__.co_flags & kinds else find_node(f)
    if node is None or not is_readable(node):
        return None
    rewriter = Rewriter(lambda expression: library_function(expression, f))
    new = rewriter.function(node)
    if not rewriter.has_changed:
        return None
    free = f.__code__.co_freevars
    inner = ast.FunctionDef(FUNCTION, new.args, new.body, [])  # by its own name, it would be a variable of `__outer__`
    ast.copy_location(inner, new)
    outer = ast.FunctionDef("__outer__", arguments(RUNTIME, *free), [inner, ast.Return(load(FUNCTION))], [])
    tree = ast.Module([at(outer, new)], [])
    compiled = compile(tree, f.__code__.co_filename, "exec", dont_inherit=True, flags=future_flags(f))
    (whole,) = [part for part in compiled.co_consts if isinstance(part, types.CodeType)]
    (code,) = [part for part in whole.co_consts if isinstance(part, types.CodeType) and part.co_name == FUNCTION]
    return Reading(new, rename(code, f.__name__, f.__qualname__))


def rename(code: types.CodeType, name: str, qualname: str) -> types.CodeType:
    """Code in which branches and steps have the name of the function that they are parts of, as in tracebacks."""
    constants = []
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            own = part.co_name
            is_part = own.startswith(GENERATED) or own == "<lambda>"
            part = rename(part, name, qualname) if is_part else rename(part, own, f"{qualname}.<locals>.{own}")
        constants.append(part)
    return code.replace(co_consts=tuple(constants), co_name=name, co_qualname=qualname)


def hide_frames(error: Exception) -> None:
    """Take the frames of this package that are between those of the user's out of the traceback of an error."""
    hidden = str(Path(__file__).parent) + os.sep
    found = error.__traceback__
    while found is not None:
        while found.tb_next is not None and found.tb_next.tb_frame.f_code.co_filename.startswith(hidden):
            found.tb_next = found.tb_next.tb_next
        found = found.tb_next


def library_function(function: ast.expr, f: types.FunctionType) -> Any:
    """The function of NumPy or this package that a call is of, by its name; None if it must be read."""
    names: list[str] = []
    while isinstance(function, ast.Attribute):
        names.insert(0, function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or function.id in f.__code__.co_varnames + f.__code__.co_freevars:
        return None
    found = f.__globals__.get(function.id)
    module = found.__name__ if isinstance(found, types.ModuleType) else getattr(found, "__module__", None) or ""
    if module.partition(".")[0] not in LIBRARIES:
        return None
    for name in names:
        found = getattr(found, name, None)
    return None if any(found is known for known in REPLACEMENTS) or watch_call(found) is not None else found
