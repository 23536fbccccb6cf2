"""From a function to the function that its source becomes: `read_function`, and `source` for users."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from wengert.source import runtime
from wengert.source.rewriting import RUNTIME, Rewriter

KNOWN: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Rewritten functions, by the function."""


def read_function(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user's with its statements on traced values as operations; any other function as it is."""
    if isinstance(f, types.MethodType):
        return types.MethodType(read_function(f.__func__), f.__self__)
    if not isinstance(f, types.FunctionType) or not is_users(f):
        return f
    if f not in KNOWN:
        KNOWN[f] = rewrite(f) or f
    found: Callable[..., Any] = KNOWN[f]
    return found


def is_users(f: types.FunctionType) -> bool:
    """Whether a function is the user's own: not of this package, of the standard library, or of an installed one."""
    module = (f.__module__ or "").partition(".")[0]
    return (
        module not in sys.stdlib_module_names - {"__main__"}
        and "site-packages" not in f.__code__.co_filename
        and module != "wengert"
    )


def rewrite(f: types.FunctionType) -> Callable[..., Any] | None:
    """The rewritten function; None if there is no source to read."""
    try:
        lines, first = inspect.getsourcelines(f)
        module = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    node = module.body[0]
    if not isinstance(node, ast.FunctionDef) or f.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
        return None
    node.decorator_list = []
    ast.increment_lineno(node, first - 1)
    new = Rewriter().function(node)
    free = f.__code__.co_freevars
    outer = ast.FunctionDef(
        "__outer__",
        ast.arguments([], [ast.arg(n) for n in (RUNTIME, *free)], None, [], [], None, []),
        [new, ast.Return(ast.Name(new.name, ast.Load()))],
        [],
    )
    tree = ast.fix_missing_locations(ast.Module([outer], []))
    namespace: dict[str, Any] = {}
    exec(compile(tree, f.__code__.co_filename, "exec"), f.__globals__, namespace)
    template = namespace["__outer__"](runtime, *[None] * len(free))
    cells = dict(zip(free, f.__closure__ or (), strict=True))
    own = dict(zip(template.__code__.co_freevars, template.__closure__ or (), strict=True))
    closure = tuple([cells.get(name, own[name]) for name in template.__code__.co_freevars])
    made = types.FunctionType(template.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
    made.__kwdefaults__ = f.__kwdefaults__
    return functools.update_wrapper(made, f)


def source(f: Callable[..., Any]) -> str:
    """What the source of a function becomes where it is traced."""
    lines, _ = inspect.getsourcelines(f)
    node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list = []
    return ast.unparse(ast.fix_missing_locations(Rewriter().function(node)))
