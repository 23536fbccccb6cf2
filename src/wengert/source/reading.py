"""From a function to the function that its source becomes: `read_function`, and `source` for users."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from wengert.source import runtime
from wengert.source.calls import REPLACEMENTS
from wengert.source.lines import source_blocks
from wengert.source.memory import is_users_module
from wengert.source.rewriting import GENERATED, Rewriter, is_readable
from wengert.source.syntax import RUNTIME, arguments, at, load

FUNCTION = "__function__"
LIBRARIES = ("numpy", "scipy", "wengert", "math")


class Reading(NamedTuple):
    """What the source of a function becomes: a syntax tree, and the code of the new function."""

    tree: ast.FunctionDef
    code: types.CodeType


READINGS: dict[types.CodeType, Reading | None] = {}
"""By the code of the function; None if it stays as it is."""


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
    if f.__code__ not in READINGS:
        reading = READINGS[f.__code__] = read_code(f)
        if reading is not None:
            READINGS.update(dict.fromkeys(inner_codes(reading.code)))  # they have been read with it
    reading = READINGS[f.__code__]
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
    mangle(node, f.__qualname__)
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


def inner_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The codes of the functions inside of a function."""
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from inner_codes(part)


def future_flags(f: types.FunctionType) -> int:
    """The flags of `from __future__` imports that a function was compiled with."""
    import __future__

    return f.__code__.co_flags & __future__.annotations.compiler_flag


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


def find_node(f: types.FunctionType) -> ast.FunctionDef | None:
    """The syntax tree of a function, with the line numbers of its file; None if there is no source."""
    if any("(" in name for name in f.__code__.co_names):
        return None  # a formula, whose text is not Python
    try:
        found = (parse_function(f, textwrap.dedent("".join(lines)), first) for lines, first in source_blocks(f))
        return next((node for node in found if node is not None), None)
    except (OSError, TypeError):
        return None


def parse_function(f: types.FunctionType, text: str, first: int) -> ast.FunctionDef | None:
    """The syntax tree of a function from its lines, the first of this number; None if they are not its own."""
    before = "\n" * (first - 1)  # so that the numbers of lines are right
    if f.__code__.co_name == "<lambda>":
        return find_lambda(f, text, before)
    try:
        node = ast.parse(before + text).body[0]
    except (SyntaxError, IndexError):
        return None
    if not isinstance(node, ast.FunctionDef) or node.name != f.__code__.co_name:
        return None
    node.decorator_list = []
    return node


def find_lambda(f: types.FunctionType, text: str, before: str) -> ast.FunctionDef | None:
    """The syntax tree of a lambda, as a function; None if it cannot be told from others on its line."""
    module = parse_part(text, before)
    if module is None:
        return None
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Lambda)
        and [a.arg for a in node.args.args] == list(f.__code__.co_varnames[: f.__code__.co_argcount])
        and same_code(node, f)
    ]
    if len({ast.dump(node) for node in found}) != 1:
        return None
    node = found[0]
    body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
    return ast.copy_location(ast.FunctionDef("function", node.args, body, []), node)


def same_code(node: ast.Lambda, f: types.FunctionType) -> bool:
    """Whether a lambda in the source is the function, as its names and constants say."""
    expression = ast.Expression(ast.copy_location(ast.Lambda(node.args, node.body), node))
    compiled = compile(expression, "<lambda>", "eval", dont_inherit=True)
    (code,) = [part for part in compiled.co_consts if isinstance(part, types.CodeType)]
    mine = {*code.co_names, *code.co_freevars}
    theirs = {*f.__code__.co_names, *f.__code__.co_freevars}
    constants = lambda c: {repr(x) for x in c.co_consts if not isinstance(x, types.CodeType)}
    return mine == theirs and constants(code) == constants(f.__code__)


def parse_part(text: str, before: str) -> ast.Module | None:
    """The syntax tree of lines that may be part of a statement, after empty ones."""
    stripped = text.strip()
    for candidate in (stripped, f"({stripped})", f"({stripped.rstrip(',')})", stripped.rstrip(":") + ": pass"):
        try:
            return ast.parse(before + candidate)
        except SyntaxError:
            continue
    start = stripped.find("lambda")
    for end in range(len(stripped), start, -1):
        try:
            return ast.parse(f"{before}({stripped[start:end]})")
        except SyntaxError:
            continue
    return None


def mangle(node: ast.FunctionDef, qualname: str) -> None:
    """Write private names of a class as the compiler does: `self.__x` is `self._C__x`."""
    parts = qualname.split(".")
    if len(parts) < 2 or parts[-2] == "<locals>":
        return
    prefix = "_" + parts[-2].lstrip("_")
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and is_private(part.attr):
            part.attr = prefix + part.attr
        elif isinstance(part, ast.Name) and is_private(part.id):
            part.id = prefix + part.id


def is_private(name: str) -> bool:
    """Whether the compiler mangles a name inside a class."""
    return name.startswith("__") and not name.endswith("__")


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
    return None if any(found is known for known in REPLACEMENTS) else found
