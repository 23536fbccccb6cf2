"""What transforms return: functions that show what they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import update_wrapper
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec

P = ParamSpec("P")


class TransformedFunction(Generic[P]):
    """A function that a transform made of `f`, with the name, signature and docstring of `f`.

    >>> import wengert as wg
    >>> def f(x):
    ...     return x**3
    >>> wg.grad(f)
    <gradient of f with respect to argument 0>
    """

    def __init__(self, f: Callable[P, Any], what: str, argnums: int | Sequence[int] | None, run: Any = None):
        self.__name__ = what
        update_wrapper(self, f, updated=())
        self.f, self.run = f, run
        self.shown = what, f, argnums

    shown: tuple[str, Callable[..., Any], int | Sequence[int] | None]
    """What it is, of which function, and with respect to which arguments."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    else:
        __call__ = property(attrgetter("run"))  # not a method, which would be one more call in every gradient

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name if the name refers to this object, as it does for a decorated function."""
        try:
            name = vars(self)["__qualname__"]
            if attrgetter(name)(sys.modules[self.__module__]) is self:
                return name
        except (AttributeError, KeyError):
            pass
        return super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        what, f, argnums = self.shown
        return f"<{what} of {function_name(f)}{name_arguments(argnums)}>"


def function_name(f: Callable[..., Any]) -> str:
    """The name of a function in the representation of another: its own, without the functions around it.

    >>> function_name(sys.exit), function_name(lambda x: x)
    ('exit', '<lambda>')
    """
    if isinstance(f, TransformedFunction):
        return f"({repr(f)[1:-1]})"
    name: str = getattr(f, "__qualname__", type(f).__name__)
    return name.rpartition("<locals>.")[2]


def name_arguments(argnums: int | Sequence[int] | None) -> str:
    """`with respect to argument 0`; nothing if the transform does not choose arguments."""
    if argnums is None:
        return ""
    if isinstance(argnums, int):
        return f" with respect to argument {argnums}"
    return f" with respect to argument{'s' * (len(argnums) > 1)} {' and '.join(map(str, argnums))}"
