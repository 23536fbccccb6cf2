"""Checks that a function does what NumPy's does: its values for many arguments, and its derivatives in every mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.oracle import check_derivatives

import wengert as wg


def numbers(tree: Any) -> list[np.ndarray]:
    parts = tree if isinstance(tree, tuple | list) else (tree,)
    return [x.detach().numpy() if isinstance(x, wg.Tensor) else np.asarray(x) for x in parts]


def assert_same(found: Any, expected: Any) -> None:
    """Equal numbers, shapes and dtypes."""
    for a, b in zip(numbers(found), numbers(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        tolerance = 2e-6 if b.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def as_tensors(tree: Any) -> Any:
    if isinstance(tree, tuple | list):
        return type(tree)(map(as_tensors, tree))
    return wg.tensor(tree) if isinstance(tree, np.ndarray) else tree


def calls(table: dict[str, list]) -> Any:
    """One test for each call of a table of names and arguments; the last may be a dict, of arguments by name."""
    params = []
    for name, tries in table.items():
        for i, args in enumerate(tries):
            given = (args[:-1], args[-1]) if isinstance(args[-1], dict) else (args, {})
            params.append(pytest.param(name, *given, id=f"{name}-{i}"))
    return pytest.mark.parametrize(("name", "args", "kwargs"), params)


def assert_as_numpy(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """The same on arrays, and through NumPy on tensors, one argument at a time and all together."""
    expected = getattr(np, name)(*args, **kwargs)
    assert_same(getattr(wg, name)(*args, **kwargs), expected)
    arrays = [i for i, a in enumerate(args) if as_tensors(a) is not a and holds_array(a)]
    for chosen in [arrays, *[[i] for i in arrays if len(arrays) > 1]]:
        assert_same(
            getattr(np, name)(*[as_tensors(a) if i in chosen else a for i, a in enumerate(args)], **kwargs), expected
        )


def assert_call(name: str, *args: Any, **kwargs: Any) -> None:
    """The same, with the arguments of the call."""
    assert_as_numpy(name, args, kwargs)


def holds_array(tree: Any) -> bool:
    return any(map(holds_array, tree)) if isinstance(tree, tuple | list) else isinstance(tree, np.ndarray)


def check_modes(f: Callable, args: Sequence[np.ndarray], traced: bool = True, batched: bool = True) -> None:
    """Values as on arrays; reverse mode against differences, forward against reverse, Taylor against forward mode.

    In batches, and compiled, it is what it is one by one.
    """
    expected = f(*args)
    assert_same(f(*[wg.tensor(a, requires_grad=True) for a in args]), expected)
    check_derivatives(f, args, range(len(args)), rtol=1e-6)
    rng = np.random.default_rng(2)
    tangents = [rng.normal(size=a.shape).astype(a.dtype) for a in args]
    _, pushed = wg.jvp(f, tuple(args), tuple(tangents))
    outs, pull = wg.vjp(f, *args)
    weights = [rng.normal(size=np.shape(o)).astype(np.asarray(o).dtype) for o in numbers(outs)]
    pulled = pull(
        tuple(weights) if isinstance(outs, tuple) else list(weights) if isinstance(outs, list) else weights[0]
    )
    forward = sum(np.sum(w * t) for w, t in zip(weights, numbers(pushed), strict=True))
    reverse = sum(np.sum(np.conj(p) * t) for p, t in zip(numbers(pulled), tangents, strict=True))
    np.testing.assert_allclose(np.real(forward), np.real(reverse), rtol=1e-9, atol=1e-9)
    _, (first, second) = wg.jet(f, args, [[t, np.zeros_like(t)] for t in tangents])
    _, bend = wg.jvp(lambda *x: wg.jvp(f, x, tuple(tangents))[1], tuple(args), tuple(tangents))
    for coefficient, derivative, factorial in ((first, pushed, 1), (second, bend, 2)):
        for a, b in zip(numbers(coefficient), numbers(derivative), strict=True):
            np.testing.assert_allclose(factorial * a, b, rtol=1e-9, atol=1e-9)
    if batched:
        several = [np.stack([a, 0.97 * a]) for a in args]
        one_by_one = [numbers(f(*rows)) for rows in zip(*several, strict=True)]
        assert_same(wg.vmap(f)(*several), [np.stack(rows) for rows in zip(*one_by_one, strict=True)])
    if traced:
        assert_same(wg.compile(f)(*args), expected)
