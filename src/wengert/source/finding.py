"""The syntax tree of a function: found in the lines of its file, and compiled again to compare it with its code.

A line may have several lambdas, and a file may have changed since it was imported: only what is compiled to the same
instructions is the source of a function.
"""

from __future__ import annotations

import ast
import bisect
import dis
import itertools
import types
from collections.abc import Iterator
from typing import Any

from wengert.source.lines import source_blocks
from wengert.source.syntax import arguments, at


def find_node(f: types.FunctionType) -> ast.FunctionDef | None:
    """The syntax tree of a function, with the line numbers of its file; None if there is no source."""
    if any("(" in name for name in f.__code__.co_names):
        return None  # a formula, whose text is not Python
    try:
        found = (parse_function(f, "".join(lines), first) for lines, first in source_blocks(f))
        return next((node for node in found if node is not None), None)
    except (OSError, TypeError):
        return None


def parse_function(f: types.FunctionType, text: str, first: int) -> ast.FunctionDef | None:
    """The syntax tree of a function from its lines, the first of this number; None if they are not its own."""
    if f.__code__.co_name == "<lambda>":
        return find_lambda(f, text, first)
    try:
        node = parse_definition(text, first)
    except (SyntaxError, IndexError):
        return None
    if not isinstance(node, ast.FunctionDef) or node.name != f.__code__.co_name:
        return None
    node.decorator_list = []
    mangle(node, f.__code__.co_qualname)
    return node if is_compiled_otherwise(f) or has_code(node, f) else None


def parse_definition(text: str, first: int) -> ast.stmt:
    """The first statement of some lines, which may be indented; strings of several lines stay as they are."""
    if text[:1].isspace():
        (block,) = ast.parse("\n" * (first - 2) + "if True:\n" + text).body
        assert isinstance(block, ast.If)
        return block.body[0]
    return ast.parse("\n" * (first - 1) + text).body[0]


def find_lambda(f: types.FunctionType, text: str, first: int) -> ast.FunctionDef | None:
    """The syntax tree of a lambda, as a function: one on its line that is compiled to its code; None if there is none.

    Lambdas with the same code are the same function, so it does not matter which one is found.
    """
    module = parse_part(text, "\n" * (first - 1))
    for node in ast.walk(module) if module is not None else ():
        if isinstance(node, ast.Lambda) and node.lineno == f.__code__.co_firstlineno:
            body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
            found = ast.copy_location(ast.FunctionDef("function", node.args, body, []), node)
            mangle(found, f.__code__.co_qualname)
            if has_code(at(ast.Return(node), node), f):
                return found
    return None


def has_code(node: ast.stmt, f: types.FunctionType) -> bool:
    """Whether a definition, or a statement with a lambda, is compiled to the code of a function."""
    free = f.__code__.co_freevars
    outer = at(ast.FunctionDef("__outer__", arguments(*free), [node], []), node)
    try:
        compiled = compile(ast.Module([outer], []), "", "exec", dont_inherit=True, flags=future_flags(f))
    except (SyntaxError, ValueError):
        return False
    (whole,) = [part for part in compiled.co_consts if isinstance(part, types.CodeType)]
    return any(isinstance(part, types.CodeType) and is_same_code(part, f.__code__) for part in whole.co_consts)


def is_same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two codes, and those inside them, do the same with the same names and constants."""
    return all(getattr(a, name) == getattr(b, name) for name in SIGNATURE) and is_same_constant(
        instructions(a), instructions(b)
    )


SIGNATURE = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_freevars")
"""What a code says of its parameters."""


def instructions(code: types.CodeType) -> tuple[Any, ...]:
    """What a code does: its parameters, and operations with names and constants instead of numbers.

    How a method is called depends on the imports of the module, which are not known where a part of it is compiled.
    """
    listed = [part for part in dis.get_instructions(code) if part.opname not in LAYOUT]
    jumps = {*dis.hasjrel, *dis.hasjabs}
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names + tuple([
        (
            "LOAD_ATTR" if part.opname == "LOAD_METHOD" else part.opname,
            bisect.bisect_left(listed, part.argval, key=lambda p: p.offset) if part.opcode in jumps else part.argval,
        )
        for part in listed
    ])  # fmt: skip


LAYOUT = ("CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL")
"""Instructions that compute nothing."""


def is_same_constant(a: Any, b: Any) -> bool:
    """Whether two constants are the same: of one type, with the same bits, codes by what they do."""
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return is_same_code(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(is_same_constant, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def is_compiled_otherwise(f: types.FunctionType) -> bool:
    """Whether the module of a function was imported by a tool that compiles more than the text, as pytest does."""
    loader = f.__globals__.get("__loader__")
    kind = loader if isinstance(loader, type) else type(loader)
    return loader is not None and kind.__module__ not in PYTHON_LOADERS


PYTHON_LOADERS = ("_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap", "zipimport")
"""The modules of the loaders that compile a file as it is."""


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
    """Write private names of a class as the compiler does: `self.__x` is `self._C__x`, in functions of methods too."""
    parts = qualname.split(".")
    classes = [part for part, following in itertools.pairwise(parts) if "<locals>" not in (part, following)]
    if not classes or not classes[-1].strip("_"):
        return
    prefix = "_" + classes[-1].lstrip("_")
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and is_private(part.attr):
            part.attr = prefix + part.attr
        elif isinstance(part, ast.Name) and is_private(part.id):
            part.id = prefix + part.id
        elif isinstance(part, ast.arg) and is_private(part.arg):
            part.arg = prefix + part.arg


def is_private(name: str) -> bool:
    """Whether the compiler mangles a name inside a class."""
    return name.startswith("__") and not name.endswith("__")


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
