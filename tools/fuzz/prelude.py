"""The names that a random program uses beside `np` and `wg`: `from tools.fuzz.prelude import *` begins every printed
one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import wengert as wg
from wengert.core import machine
from wengert.core.primitive import TABLE
from wengert.ops.indexing.updates import At as at  # also for plain arrays

__all__ = ["at", "case", "changed", "fit", "laid_out", "machine", "np", "op", "total", "wg", "within"]


def op(name: str) -> Any:
    """An operation of the table, with the parameters that its tests use."""
    primitive = TABLE[name]
    return lambda *args: primitive.op(*args, **primitive.trial.params)


def fit(v: Any, shape: tuple[int, ...]) -> Any:
    """The elements of v, repeated or cut to fill a shape."""
    return np.resize(np.ravel(v), shape)


def within(v: Any, low: float, high: float) -> Any:
    """The elements of v, brought smoothly into an interval.

    Complex ones into a disc above it, away from branch cuts.
    """
    middle, half = (low + high) / 2, (high - low) / 2
    if v.dtype.kind == "c":
        half = min(half, 0.2)
        return middle + 0.45j + half * v / np.sqrt(1.0 + np.real(v) ** 2 + np.imag(v) ** 2)
    return middle + half * np.tanh(v)


def case(name: str, index: int, *operands: Any) -> Any:
    """An operation of the table on the arguments of one of its cases: shapes are filled from operands, arrays moved a
    little by them.
    """
    arguments, params = TABLE[name].trial.cases[index]
    moved = [
        a
        if v is None
        else fit(v, a)
        if isinstance(a, tuple)
        else a.astype(v.dtype) + 0.05 * np.tanh(np.real(fit(v, a.shape)))
        for a, v in zip(arguments, operands, strict=True)
    ]
    outs = TABLE[name].op(*moved, **params)
    return outs if isinstance(outs, tuple | list) else (outs,)


def total(v: Any) -> Any:
    """One real number from an array, which changes with the order of its elements."""
    weights = np.cos(1.0 + np.arange(np.size(v))).reshape(np.shape(v))
    out = np.sum(np.real(v) * weights)
    return out + np.sum(np.imag(v) * np.sin(weights)) if v.dtype.kind == "c" else out


def laid_out(values: Any, layout: str) -> Any:
    """The same numbers in another arrangement in memory."""
    array = np.array(values)
    if layout == "fortran":
        return np.array(array, order="F")
    if layout == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout == "reversed" and array.ndim:
        return array[::-1].copy()[::-1]
    if layout == "read-only":
        array.flags.writeable = False
    if layout == "scalar" and not array.ndim:
        return array[()]
    return array


def changed(tensors: Any, values: Any) -> None:
    """Write other numbers into captured tensors."""
    with wg.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor[...] = value


@contextmanager
def quiet() -> Iterator[None]:
    """Overflow and the like, and derivatives that depend on a choice of vectors, are no news.

    Any other warning is an error.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (RuntimeWarning, wg.linalg.GaugeWarning):
            warnings.simplefilter("ignore", category)
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        yield
