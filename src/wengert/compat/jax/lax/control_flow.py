"""Loops and choices of `jax.lax`: those of Wengert, with arrays of this layer as their states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import wengert as wg
from wengert.compat.jax.arrays import as_arrays, sort_like, to_arrays
from wengert.compat.jax.differentiation import refuse_options
from wengert.core.errors import user_error
from wengert.modes import recording

PUBLIC = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,  # noqa: ARG001  # a setting of JAX's compiler
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` over the slices of `xs`; returns the last carry, and all y stacked.

    >>> import numpy as np
    >>> scan(lambda total, x: (total + x, total * x), 0.0, np.arange(4.0))
    (Array(6., dtype=float64), Array([0., 0., 2., 9.], dtype=float64))
    """
    step = recording.as_read(f)

    def sorted_step(carry: Any, x: Any) -> Any:
        new, y = step(carry, x)
        return sort_like(new, carry), y

    return to_arrays(wg.scan(sorted_step, as_arrays(init), as_arrays(xs), length, reverse))


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Run `val = body_fun(val)` as long as `cond_fun(val)` is true.

    >>> while_loop(lambda x: x < 100.0, lambda x: x * 2.0, 3.0)
    Array(192., dtype=float64)
    """
    body = recording.as_read(body_fun)
    goes_on = recording.as_read(cond_fun)
    return to_arrays(wg.while_loop(goes_on, lambda state: sort_like(body(state), state), as_arrays(init_val)))


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: Any = None,  # noqa: ARG001  # a setting of JAX's compiler
) -> Any:
    """Run `val = body_fun(i, val)` for i from `lower` up to, but not including, `upper`.

    >>> fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int64)
    """
    body = recording.as_read(body_fun)
    return to_arrays(wg.fori_loop(lower, upper, lambda i, state: sort_like(body(i, state), state), as_arrays(init_val)))


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = None,
    linear: Any = None,
) -> Any:
    """`true_fun(*operands)` if `pred` is true, else `false_fun(*operands)`."""
    refuse_options(linear=linear)
    if not callable(true_fun) or not callable(false_fun):
        raise user_error(TypeError, "lax.cond takes two functions after the predicate, then their operands")
    given = operands or (() if operand is None and takes_nothing(true_fun) else (operand,))
    return to_arrays(wg.cond(pred, *sort_alike([true_fun, false_fun]), *as_arrays(given)))


def sort_alike(branches: Sequence[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """Functions whose results have the keys of their dictionaries in the same order."""
    first: list[Any] = []

    def sort_results(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(*operands: Any) -> Any:
            out = recording.as_read(f)(*operands)
            first.append(out)
            return sort_like(out, first[0])

        return run

    return [sort_results(f) for f in branches]


def takes_nothing(f: Callable[..., Any]) -> bool:
    """Whether a function is called without arguments; older programs pass `operand=None`."""
    code = getattr(f, "__code__", None)
    return code is None or code.co_argcount == len(f.__defaults__ or ())


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = None, linear: Any = None
) -> Any:
    """`branches[index](*operands)`; an index out of range is that of the first or last branch."""
    refuse_options(linear=linear)
    given = operands or (() if operand is None else (operand,))
    return to_arrays(wg.switch(index, sort_alike(branches), *as_arrays(given)))


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:  # noqa: ARG001  # a matter of speed
    """The results of `f` on each slice of `xs`, stacked."""
    return to_arrays(wg.map(recording.as_read(f), as_arrays(xs)))


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """The partial results of an associative function along an axis."""
    return to_arrays(wg.associative_scan(recording.as_read(fn), as_arrays(elems), reverse, axis))
