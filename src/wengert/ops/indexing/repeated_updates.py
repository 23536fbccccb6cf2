"""Updates of elements at indices that may repeat: every value that meets an element is applied to it, in order.

The values are sorted by the element that they meet, so that those of one element are neighbours: a *run*. Along a run,
each value is applied to what those before it made of the element (`running`). Its tangents are a chain of affine
functions along the run, and so are its cotangents, in the other direction (`chain`), so that derivatives of every order
take as long as the values, up to a factor. The largest and smallest values have a rule of their own, because ties share
equally, however many there are (`extreme_at`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.definition import needs
from wengert.core.facts import Facts
from wengert.core.kinds import case, general
from wengert.core.large_arrays import for_keys
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.arithmetic import divide, multiply
from wengert.ops.elementwise.choices import maximum, minimum, where
from wengert.ops.elementwise.exponential import _power
from wengert.ops.elementwise.predicates import equal, not_equal
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _add_at, _read, _set_at, gather
from wengert.ops.samples.sorting import argsort
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import zeros_like
from wengert.ops.shape.rearranging import concatenate, flip
from wengert.ops.shape.reshaping import broadcast_to

UPDATES: dict[str, Callable] = {
    "multiply": multiply,
    "divide": divide,
    "power": _power,
    "maximum": maximum,
    "minimum": minimum,
}
"""The operations that update elements, by name."""


def _runs(first: Any) -> Iterator[tuple[Any, Any | None]]:
    """The runs of an array, by where they begin: the long ones, each with its length, then all others in steps.

    A step is the elements at one distance from the beginning of their runs. `first` has the beginnings; a run ends with
    its row.
    """
    begins = np.array(first, bool, order="C")
    begins[..., :1] = True
    starts = np.flatnonzero(begins)
    lengths = np.diff(starts, append=begins.size)
    long = machine.current.min_elements_of_single_run
    for i in np.flatnonzero(lengths >= long).tolist():
        yield int(starts[i]), int(lengths[i])
    starts, lengths = starts[lengths < long], lengths[lengths < long]
    for distance in range(1, long):
        starts, lengths = starts[lengths > distance], lengths[lengths > distance]
        if not starts.size:
            return
        yield starts + distance, None


def _running_impl(start: Any, v: Any, first: Any, update: str) -> Any:
    ufunc = UPDATES_OF_NUMPY[update]
    out = np.array(start, order="C")
    flat, values = out.reshape(-1), np.asarray(v, order="C").reshape(-1)
    for at, length in _runs(first):
        if length is None:
            flat[at] = ufunc(flat[at - 1], values[at - 1])
        elif values.dtype == flat.dtype and is_exact(ufunc, flat.dtype):
            run = np.concatenate([flat[at : at + 1], values[at : at + length - 1]])
            flat[at : at + length] = ufunc.accumulate(run, dtype=flat.dtype)
        else:  # each step is converted to the dtype of the elements
            for i in range(at + 1, at + length):
                flat[i : i + 1] = ufunc(flat[i - 1 : i], values[i - 1 : i])
    return out


def _repeat_operands() -> dict[str, Any]:
    """In a batch, no parameter changes, and all operands have the axis of the batch."""
    return {}


UPDATES_OF_NUMPY: dict[str, np.ufunc] = {name: getattr(np, name) for name in UPDATES}


def is_exact(ufunc: np.ufunc, dtype: np.dtype) -> bool:
    """Whether steps of `accumulate` have the bits of those on arrays.

    Powers are rounded in another way there, and quotients of integers are no integers.
    """
    return ufunc is np.multiply or (ufunc is np.divide and dtype.kind in "fc")


def _chain_impl(start: Any, factor: Any, term: Any, first: Any) -> Any:
    out = np.array(start, np.result_type(start, factor, term), order="C")
    flat = out.reshape(-1)
    factors, terms = [np.asarray(x, out.dtype, order="C").reshape(-1) for x in (factor, term)]
    for at, length in _runs(first):
        if length is None:
            flat[at] = factors[at - 1] * flat[at - 1] + terms[at - 1]
            continue
        part = slice(at, at + length - 1)
        has_python_numbers = out.dtype.char in "dD"  # which are faster, and exactly these
        numbers = [
            x.tolist() if has_python_numbers else list(x) for x in (flat[at : at + 1], factors[part], terms[part])
        ]
        flat[at : at + length] = list(_fold_affine(*numbers))
    return out


def _fold_affine(start: list[Any], factors: list[Any], terms: list[Any]) -> Iterator[Any]:
    (s,) = start
    yield s
    for factor, term in zip(factors, terms, strict=True):
        s = factor * s + term
        yield s


# The rules of a chain. With the cotangents t of all elements, those of what follows an element in its run are a chain
# in the other direction: after[k] = factor[k+1] * after[k+1] + t[k+1], and 0 at the end of a run.


def _ends(first: Any) -> Any:
    """Where runs end: before the next one begins, and at the end of a row."""
    return concatenate([first[..., 1:], _one_in_each_row(first)], -1)


def _begins(first: Any) -> Any:
    """Where runs begin: where it is said, and at the start of a row."""
    return concatenate([_one_in_each_row(first), first[..., 1:]], -1)


def _one_in_each_row(first: Any) -> Any:
    return numpy_of(first).ones((*first.shape[:-1], min(first.shape[-1], 1)), bool)


def _after(t: Any, factor: Any, first: Any) -> Any:
    last = _ends(first)
    factor = where(last, 0.0, factor)  # of what is not in this run; it may be infinite
    return flip(chain(*[flip(x, -1) for x in (zeros_like(t), factor, t, last)]), -1)


def _pull_start(t: Any, factor: Any, first: Any) -> Any:
    return where(_begins(first), t + where(_ends(first), 0.0, factor * _after(t, factor, first)), 0.0)


chain: Callable = general(
    "chain",
    for_keys(_chain_impl, lambda start, *_: start.size),
    _pull_start,
    lambda t, factor, first, out: where(_ends(first), 0.0, _after(t, factor, first) * out),
    lambda t, factor, first: _after(t, factor, first),
    None,
    inputs=("start", "factor", "term", "first"),
    jvps=(
        lambda t, factor, first: chain(t, factor, zeros_like(t), first),
        lambda t, factor, first, out: chain(zeros_like(out), factor, t * out, first),
        lambda t, factor, first: chain(zeros_like(t), factor, t, first),
        None,
    ),
    batch=_repeat_operands,
    spec=lambda start, factor, term, first: Spec(start.shape, np.result_type(start.dtype, factor.dtype, term.dtype)),
    cases=(
        case((6,), (6,), (6,), np.array([1, 0, 0, 1, 1, 0], bool)),
        case((2, 3), (2, 3), (2, 3), np.array([[1, 0, 0], [1, 1, 0]], bool)),
        case((0,), (0,), (0,), np.zeros(0, bool)),
    ),
)
"""s with s[k] = start[k] at the beginning of a run, and else factor[k-1] s[k-1] + term[k-1], along the last axis."""


def _slope(i: int, update: str, out: Any, v: Any) -> Any:
    """The derivative of an update with respect to the element (i = 0) or the value (i = 1)."""
    operation = UPDATES[update]
    rule = primitive_of(operation).definition.rules[i]
    assert rule is not None
    known = {"x": out, "y": v}
    if "out" in needs(rule):
        known["out"] = operation(out, v)
    return broadcast_to(rule(1.0, *[known[name] for name in needs(rule)]), out.shape)


def _pull_value(t: Any, v: Any, first: Any, out: Any, update: str) -> Any:
    after = _after(t, _slope(0, update, out, v), first)
    return where(_ends(first), 0.0, _slope(1, update, out, v) * after)  # the last value of a run is not applied here


running: Callable = general(
    "running",
    _running_impl,
    lambda t, v, first, out, update: _pull_start(t, _slope(0, update, out, v), first),
    _pull_value,
    None,
    inputs=("start", "v", "first"),
    jvps=(
        lambda t, v, first, out, update: chain(t, _slope(0, update, out, v), zeros_like(t), first),
        lambda t, v, first, out, update: chain(
            zeros_like(out), _slope(0, update, out, v), _slope(1, update, out, v) * t, first
        ),
        None,
    ),
    batch=_repeat_operands,
    spec=lambda start, v, first, update: start,
    cases=(
        case((6,), (6,), np.array([1, 0, 0, 1, 1, 0], bool), update="multiply"),
        case(
            (2, 3),
            np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 4.0]]),
            np.array([[1, 0, 0], [1, 1, 0]], bool),
            update="divide",
        ),
        case(np.array([0.5, 2.0, 3.0]), np.array([2.0, 0.5, 1.0]), np.array([1, 0, 0], bool), update="power"),
        case((0,), (0,), np.zeros(0, bool), update="multiply"),
    ),
)
"""r with r[k] = start[k] at the beginning of a run, and else the update of r[k-1] by v[k-1], along the last axis."""


def update_in_order(x: Any, offsets: Any, v: Any, update: str) -> Any:
    """A vector x whose elements at `offsets` are updated by all values v that meet them, in order."""
    order = argsort(offsets, kind="stable")
    offsets, v = gather(offsets, order, key=PERMUTED), gather(v, order, key=PERMUTED)
    first = concatenate([numpy_of(offsets).ones(1, bool), not_equal(offsets[1:], offsets[:-1])])
    before = running(gather(x, offsets, key=REPEATED), v, first, update=update)
    return _set_at(x, UPDATES[update](before, v), offsets, key=REPEATED, reuse=False)


PERMUTED, REPEATED = Index((Hole.ARRAY,)), Index((Hole.ARRAY,), True)


def number_selected(shape: tuple[int, ...], indices: tuple[Any, ...], key: Index) -> Any:
    """The offsets of the elements that a key selects, in a flat array."""
    return _read(numpy_of(*indices).arange(np.prod(shape, dtype=int)).reshape(shape), indices, key)


# The largest, or smallest, of an element and of all values that meet it: those that are equal to it share equally.


def _extreme_impl(x: Any, v: Any, *indices: Any, key: Index, update: str) -> np.ndarray:
    out = np.array(x, order="C")
    offsets = np.arange(out.size).reshape(out.shape)[key.fill(indices)]
    values = np.broadcast_to(np.asarray(v).astype(out.dtype), offsets.shape)
    UPDATES_OF_NUMPY[update].at(out.reshape(-1), offsets.reshape(-1), values.reshape(-1))
    return out


def _share(x: Any, v: Any, out: Any, indices: tuple[Any, ...], key: Index) -> tuple[Any, Any, Any]:
    """Which elements and values are the extreme ones, and how many there are for each element."""
    of_x, of_v = equal(x, out), equal(astype(as_operand(v), out.dtype), _read(out, indices, key))
    return of_x, of_v, _add_at(astype(of_x, out.dtype), astype(of_v, out.dtype), *indices, key=key)


def _share_of_x(t: Any, x: Any, v: Any, out: Any, indices: tuple[Any, ...], key: Index) -> Any:
    of_x, _, count = _share(x, v, out, indices, key)
    return where(of_x, t / count, 0.0)


def _share_of_v(t: Any, x: Any, v: Any, out: Any, indices: tuple[Any, ...], key: Index) -> Any:
    """The part of the values in t, which has a number for each selected element."""
    _, of_v, count = _share(x, v, out, indices, key)
    return where(of_v, t / _read(count, indices, key), 0.0)


extreme_at: Callable = general(
    "extreme_at",
    _extreme_impl,
    _share_of_x,
    lambda t, x, v, out, indices, key: _share_of_v(_read(t, indices, key), x, v, out, indices, key),
    inputs=("x", "v", "*indices"),
    jvps=(
        _share_of_x,
        lambda t, x, v, out, indices, key: _add_at(
            zeros_like(out), _share_of_v(t, x, v, out, indices, key), *indices, key=key
        ),
    ),
    spec=lambda x, v, *indices, key, update: x,
    cases=(
        case((4, 2), (3, 2), np.array([0, 2, 2]), key=REPEATED, update="maximum"),
        case(np.array([1.0, 5.0, 2.0]), np.array(3.0), np.array([0, 2, 2]), key=REPEATED, update="minimum"),
        case((2, 3), (2, 2), np.array([0, 0]), key=Index((..., Hole.ARRAY), True), update="minimum"),
    ),
    facts=Facts(selects=True),
)
