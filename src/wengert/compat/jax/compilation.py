"""`jax.jit` and what shows programs: `make_jaxpr`, `eval_shape`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.jax.arrays import strip_arrays, to_arrays
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.frozen import frozen
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.transforms.tracing import trace

PUBLIC = ["ShapeDtypeStruct", "disable_jit", "eval_shape", "jit", "make_jaxpr", "named_call", "typeof"]

DISABLED: ContextVar[bool] = ContextVar("jit_is_disabled", default=False)

Static = int | Sequence[int] | None


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: Static = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: Any = None,  # noqa: ARG001  # memory is not given away: results are the same
    donate_argnames: Any = None,  # noqa: ARG001  # the same
    keep_unused: bool = False,  # noqa: ARG001  # does not change results
    inline: bool = False,  # noqa: ARG001  # the same
    device: Any = None,  # noqa: ARG001  # there is one
    backend: Any = None,  # noqa: ARG001  # the same
) -> Callable[..., Any]:
    """A function as native code, by `wengert.compile`; also as a decorator with options.

    >>> square = jit(lambda x: x * x)
    >>> square(3.0)
    Array(9., dtype=float64)
    """
    if fun is None:
        return partial(jit, static_argnums=static_argnums, static_argnames=static_argnames)
    numbers = () if static_argnums is None else static_argnums
    names = () if static_argnames is None else static_argnames
    compiled = wg.compile(fun, static_argnums=numbers, static_argnames=names)

    @wraps(fun)
    def jitted(*args: Any, **kwargs: Any) -> Any:
        if DISABLED.get():
            return fun(*args, **kwargs)
        with frozen():
            plain = [strip_arrays(a) for a in args], {key: strip_arrays(a) for key, a in kwargs.items()}
            return to_arrays(compiled(*plain[0], **plain[1]))

    jitted.lower = lambda *args, **kwargs: Lowered(jitted, compiled, args, kwargs)  # type: ignore[attr-defined]  # functions may have attributes
    return jitted


class Lowered:
    """What `jit(f).lower(*args)` gives: the graph of a function, and the function itself, compiled."""

    def __init__(self, function: Callable[..., Any], compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.function = function
        with frozen():
            self.graph: Graph = compiled.trace(*strip_arrays(args), **strip_arrays(kwargs))

    def compile(self) -> Callable[..., Any]:
        """The function, compiled for such arguments at its first call."""
        return self.function

    def as_text(self) -> str:
        """Wengert's graph, printed."""
        return str(self.graph)


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """A block in which functions under `jit` run as they are."""
    token = DISABLED.set(disable)
    try:
        yield
    finally:
        DISABLED.reset(token)


class ShapeDtypeStruct(Spec):
    """The shape and dtype of an array.

    >>> ShapeDtypeStruct((2, 3), np.float32)
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ()

    def __new__(cls, shape: Sequence[int], dtype: Any) -> ShapeDtypeStruct:
        return tuple.__new__(cls, (tuple(shape), np.dtype(dtype)))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of the results, without computing them.

    >>> eval_shape(lambda x: x @ x.T, ShapeDtypeStruct((2, 3), float))
    ShapeDtypeStruct(shape=(2, 2), dtype=float64)
    """
    graph = make_jaxpr(fun)(*args, **kwargs)
    assert graph.result is not None  # a trace has one
    return tree.unflatten(graph.result, [ShapeDtypeStruct(y.shape, y.dtype) for y in graph.outputs])


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: Static = None, axis_env: Any = None, return_shape: bool = False
) -> Callable[..., Graph]:
    """The function that gives the graph of `fun`, Wengert's, for arguments like those that it is called with.

    >>> make_jaxpr(lambda x: x * x)(3.0).evaluate(3.0)
    9.0
    """
    if axis_env or return_shape:
        raise user_error(NotImplementedError, "make_jaxpr has neither axis_env nor return_shape here")
    numbers = () if static_argnums is None else (static_argnums,) if isinstance(static_argnums, int) else static_argnums

    @wraps(fun)
    def traced(*args: Any, **kwargs: Any) -> Graph:
        fixed = {i % len(args): args[i] for i in numbers}
        rest = [strip_arrays(a) for i, a in enumerate(args) if i not in fixed]

        def whole(*rest: Any, **kwargs: Any) -> Any:
            others = iter(rest)
            return fun(*[fixed[i] if i in fixed else next(others) for i in range(len(args))], **kwargs)

        with frozen():
            return trace(whole if fixed else fun, *rest, **strip_arrays(kwargs))

    return traced


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:  # noqa: ARG001  # for traces of JAX's
    """The function itself."""
    return fun


def typeof(x: Any) -> Spec:
    """The shape and dtype of a value."""
    return Spec.of(x)
