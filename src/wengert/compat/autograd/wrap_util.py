"""Operators on functions of one argument, made for functions of several: `autograd.wrap_util`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps as keep_name
from typing import Any

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.util import subvals
from wengert.compat.differences import without
from wengert.core.errors import user_error

__all__ = ["get_doc", "get_name", "unary_to_nary", "wraps"]

__getattr__ = without(__name__, ABSENT)


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """An operator `operator(fun, x)` as one that takes `argnum` and returns a function of all arguments of `fun`.

    `argnum` may be several numbers; x is then the tuple of these arguments.

    >>> doubled = unary_to_nary(lambda fun, x: fun(2 * x))
    >>> doubled(lambda x, y: (x, y), argnum=1)("a", "b")
    ('a', 'bb')
    """

    @keep_name(operator)
    def nary_operator(fun: Callable[..., Any], argnum: int | Sequence[int] = 0, *options: Any, **named: Any) -> Any:
        if not isinstance(argnum, int | tuple | list):
            raise user_error(TypeError, f"argnum is an int or several in a tuple or list, not {argnum!r}")

        @wraps(fun, f"{get_name(operator)}_of_{{fun}}_wrt_argnum_{argnum}")
        def nary_function(*args: Any, **kwargs: Any) -> Any:
            if isinstance(argnum, int):
                x = args[argnum]
                if len(args) == 1 and not kwargs:
                    return operator(fun, x, *options, **named)
                unary = lambda x: fun(*subvals(args, [(argnum, x)]), **kwargs)
            else:
                x = tuple([args[i] for i in argnum])
                unary = lambda x: fun(*subvals(args, zip(argnum, x, strict=True)), **kwargs)
            return operator(unary, x, *options, **named)

        return nary_function

    return nary_operator


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **parts: Any) -> Callable[[Any], Any]:
    """A decorator that gives a function the name and docstring of another, in a pattern."""

    def rename(f: Any) -> Any:
        f.__name__ = namestr.format(fun=get_name(fun), **parts)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **parts)
        return f

    return rename


def get_name(f: Any) -> str:
    """The name of a function."""
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str:
    """The docstring of a function."""
    return getattr(f, "__doc__", None) or ""
