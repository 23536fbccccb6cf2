"""Operations that move numbers to other positions: flip, roll, diagonals, triangles, concatenation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import index
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.core.array import implements
from wengert.core.errors import user_error
from wengert.core.facts import MOVES, PART, VIEW
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.infer import example_of, keep_shape
from wengert.core.kinds import case, linear, shift_axes, shift_axis
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.shape.casting import _copy, cast
from wengert.ops.shape.reshaping import Axes, _broadcast_to, _reshape, along, ravel, swapaxes

__all__ = [
    "concat", "concatenate", "diag", "diagflat", "diagonal", "flip", "fliplr", "flipud", "repeat", "roll", "rot90",
    "tril", "triu",
]  # fmt: skip


def _on_diagonal(x: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> np.ndarray:
    whole = np.zeros(shape, x.dtype)
    diagonal = whole.diagonal(offset, axis1, axis2)
    diagonal.flags.writeable = True  # a view of an array of our own, which NumPy hands out read-only
    diagonal[...] = x
    return whole


def _spans(length: int, bounds: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return pairwise((0, *bounds, length))


def _pieces(x: Any, bounds: tuple[int, ...], axis: int) -> tuple:
    lead = (slice(None),) * axis
    return tuple(x[(*lead, slice(i, j))] for i, j in _spans(x.shape[axis], bounds))


def _fill_parts(pieces: Sequence[Any], whole: Spec, bounds: tuple[int, ...], axis: int) -> list:
    """The cotangents of all pieces, zeros for those without one."""
    lead, trail = whole.shape[:axis], whole.shape[axis + 1 :]
    spans = _spans(whole.shape[axis], bounds)
    xp = numpy_of(*pieces)
    return [
        xp.zeros((*lead, j - i, *trail), whole.dtype) if t is None else t
        for t, (i, j) in zip(pieces, spans, strict=True)
    ]


def _roll_elements(x: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> np.ndarray:
    """As NumPy's, which spends most of its time on its arguments where the array is small."""
    if len(axis) != 1:
        return np.roll(x, shift, axis)
    lead, n = (slice(None),) * axis[0], x.shape[axis[0]]
    start = shift[0] % n if n else 0
    out = np.empty_like(x)
    out[(*lead, slice(start, None))] = x[(*lead, slice(None, n - start))]
    if start:
        out[(*lead, slice(None, start))] = x[(*lead, slice(n - start, None))]
    return out


def _concatenated(*arrays: Spec, axis: int) -> Spec:
    """The spec of a concatenation; where shapes do not fit, NumPy's error."""
    examples = list(map(example_of, arrays))
    axis = normalize_axis_index(axis, examples[0].ndim)
    rest, *others = {(*x.shape[:axis], *x.shape[axis + 1 :]) for x in examples}
    if others:
        return Spec.of(np.concatenate(examples, axis))
    length = sum([x.shape[axis] for x in examples])
    return Spec((*rest[:axis], length, *rest[axis:]), np.result_type(*[x.dtype for x in arrays]))


_flip: Callable = linear(
    "flip",
    np.flip,
    lambda t, axis: _flip(t, axis=axis),
    batch=shift_axes,
    cases=(case((3,), axis=(0,)), case((2, 3, 4), axis=(0, 2)), case((), axis=()), case((2, 0), axis=(0,))),
    facts=VIEW,
)
_roll: Callable = linear(
    "roll",
    _roll_elements,
    lambda t, shift, axis: _roll(t, shift=tuple(-s for s in shift), axis=axis),
    batch=shift_axes,
    spec=keep_shape(_roll_elements),
    cases=(
        case((5,), shift=(2,), axis=(0,)),
        case((2, 3, 4), shift=(1, -5, 2), axis=(0, 2, 2)),
        case((0,), shift=(1,), axis=(0,)),
    ),
    facts=MOVES,
)
_diagonal = linear(
    "diagonal",
    lambda x, offset, axis1, axis2: x.diagonal(offset, axis1, axis2),
    lambda t, x_spec, offset, axis1, axis2: _embed_diagonal(
        t, shape=x_spec.shape, offset=offset, axis1=axis1, axis2=axis2
    ),
    batch=lambda axis1, axis2: {"axis1": axis1 + 1, "axis2": axis2 + 1},
    cases=(
        case((3, 4), offset=0, axis1=0, axis2=1),
        case((2, 3, 4), offset=-1, axis1=2, axis2=0),
        case((2, 2), offset=5, axis1=0, axis2=1),
    ),
    facts=PART,
)
_embed_diagonal: Callable = linear(
    "embed_diagonal",
    _on_diagonal,
    lambda t, offset, axis1, axis2: _diagonal(t, offset=offset, axis1=axis1, axis2=axis2),
    batch=lambda shape, axis1, axis2, n: {"shape": (n, *shape), "axis1": axis1 + 1, "axis2": axis2 + 1},
    spec=lambda x, shape, **_: Spec(shape, x.dtype),
    cases=(
        case((3,), shape=(3, 4), offset=1, axis1=0, axis2=1),
        case((3, 2), shape=(2, 3, 4), offset=0, axis1=2, axis2=0),
    ),
    facts=MOVES,
)
_TRIANGLES = (case((3, 4), k=0), case((2, 3, 3), k=-1), case((3,), k=1), case((0, 2), k=0))
TRIANGLE = MOVES._replace(selects=True)
_of_matrices: Callable = lambda rank: {} if rank > 1 else None  # NumPy repeats a single row
_tril: Callable = linear(
    "tril", np.tril, lambda t, k: _tril(t, k=k), conforms=True, batch=_of_matrices, cases=_TRIANGLES, facts=TRIANGLE
)
_triu: Callable = linear(
    "triu", np.triu, lambda t, k: _triu(t, k=k), conforms=True, batch=_of_matrices, cases=_TRIANGLES, facts=TRIANGLE
)
_concatenate = linear(
    "concatenate",
    lambda *arrays, axis: np.concatenate(arrays, axis),
    inputs=("*arrays",),
    vjp=lambda t, arrays_spec, axis: _split(
        t, bounds=tuple(accumulate(spec.shape[axis] for spec in arrays_spec[:-1])), axis=axis
    ),
    batch=shift_axis,
    spec=_concatenated,
    cases=(case((2, 3), (1, 3), axis=0), case((2, 1), (2, 0), (2, 3), axis=1), case((2,), axis=0)),
    facts=MOVES,
)
_split: Callable = linear(
    "split",
    _pieces,
    lambda t, x_spec, bounds, axis: _concatenate(*_fill_parts(t, x_spec, bounds, axis), axis=axis),
    outputs=0,  # as many as there are pieces
    batch=shift_axis,
    cases=(case((5,), bounds=(2, 2), axis=0), case((2, 3, 2), bounds=(1,), axis=1), case((0,), bounds=(0,), axis=0)),
    facts=PART,
)


@implements(np.concatenate)
def concatenate(
    arrays: Any, /, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind", **foreign: Never
) -> Any:
    """Arrays joined along an existing axis.

    >>> concatenate([[1.0, 2.0], [3.0]])
    array([1., 2., 3.])
    """
    if foreign:
        refuse_keywords(foreign)
    parts = [as_operand(a) for a in arrays]
    if not parts:
        raise user_error(ValueError, "Need at least one array to concatenate")
    if dtype is not None:
        parts = [cast(a, dtype, casting) for a in parts]
    if axis is None:
        parts, axis = [ravel(a) for a in parts], 0
    elif not parts[0].ndim:
        raise user_error(ValueError, "Arrays of shape () cannot be concatenated", "Use stack.")
    return _concatenate(*parts, axis=normalize_axis_index(axis, parts[0].ndim))


@implements(np.repeat)
def repeat(a: Any, /, repeats: Any, axis: int | None = None, **foreign: Never) -> Any:
    """Each element repeated: `repeats` is one number, or one for each element along the axis.

    >>> repeat([1, 2, 3], [0, 1, 2]).tolist()
    [2, 3, 3]
    """
    if foreign:
        refuse_keywords(foreign)
    a, axis = along(a, axis)
    lead, length, trail = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    if np.size(repeats) != 1:
        return a[(*(slice(None),) * axis, np.repeat(np.arange(length), repeats))]
    times = index(np.asarray(repeats).item())
    copies = _broadcast_to(_reshape(a, shape=(*lead, length, 1, *trail)), shape=(*lead, length, times, *trail))
    return _reshape(copies, shape=(*lead, length * times, *trail))


@implements(np.flip)
def flip(m: Any, /, axis: Axes | None = None, **foreign: Never) -> Any:
    """An array with its elements in reverse order along axes, all if none is given.

    >>> flip([1, 2, 3])
    array([3, 2, 1])
    """
    if foreign:
        refuse_keywords(foreign)
    m = as_operand(m)
    return _flip(m, axis=tuple(range(m.ndim)) if axis is None else normalize_axis_tuple(axis, m.ndim))


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    """An array with its elements in reverse order along the second axis.

    >>> fliplr([[1, 2], [3, 4]]).tolist()
    [[2, 1], [4, 3]]
    """
    m = as_operand(m)
    if m.ndim < 2:
        raise user_error(ValueError, "Input must be >= 2-d")
    return _flip(m, axis=(1,))


@implements(np.flipud)
def flipud(m: Any) -> Any:
    """An array with its elements in reverse order along the first axis.

    >>> flipud([[1, 2], [3, 4]]).tolist()
    [[3, 4], [1, 2]]
    """
    m = as_operand(m)
    if m.ndim < 1:
        raise user_error(ValueError, "Input must be >= 1-d")
    return _flip(m, axis=(0,))


@implements(np.roll)
def roll(a: Any, /, shift: Axes, axis: Axes | None = None, **foreign: Never) -> Any:
    """An array with its elements moved along axes; those that leave at the end come in at the front.

    >>> roll([1, 2, 3], 1)
    array([3, 1, 2])
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    if axis is None:
        return _reshape(roll(ravel(a), shift, 0), shape=a.shape)
    if shift.__class__ is int and axis.__class__ is int:
        return _roll(a, shift=(shift,), axis=(normalize_axis_index(axis, a.ndim),))
    shifts, axes = np.broadcast_arrays(shift, normalize_axis_tuple(axis, a.ndim, allow_duplicate=True))
    if shifts.ndim > 1:
        raise user_error(ValueError, "'shift' and 'axis' should be scalars or 1D sequences")
    return _roll(a, shift=tuple(map(index, shifts)), axis=tuple(map(index, axes)))


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """An array rotated by k quarter turns in the plane of two axes.

    >>> rot90([[1, 2], [3, 4]]).tolist()
    [[2, 4], [1, 3]]
    """
    m = as_operand(m)
    if len(axes) != 2:
        raise user_error(ValueError, "len(axes) must be 2")
    i, j = normalize_axis_tuple(axes, m.ndim, "axes")
    match k % 4:
        case 0:
            return _copy(m)
        case 1:
            return swapaxes(_flip(m, axis=(j,)), i, j)
        case 2:
            return _flip(m, axis=(i, j))
        case _:
            return _flip(swapaxes(m, i, j), axis=(j,))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of matrices in two axes.

    >>> diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    a = as_operand(a)
    if a.ndim < 2:
        raise user_error(ValueError, "diag requires an array of at least two dimensions")
    axis1, axis2 = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    return _diagonal(a, offset=index(offset), axis1=axis1, axis2=axis2)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """The matrix with a vector on its k-th diagonal, or the k-th diagonal of a matrix.

    >>> diag([1, 2], 1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    v = as_operand(v)
    if v.ndim == 1:
        n = v.shape[0] + abs(k)
        return _embed_diagonal(v, shape=(n, n), offset=index(k), axis1=0, axis2=1)
    if v.ndim != 2:
        raise user_error(ValueError, "Input must be 1- or 2-d")
    return diagonal(v, k)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the elements of an array on its k-th diagonal.

    >>> diagflat([[1, 2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ravel(v), k)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of a diagonal of each matrix, by default in the first two axes."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@implements(np.tril)
def tril(m: Any, /, k: int = 0) -> Any:
    """Matrices with zeros above the k-th diagonal.

    >>> tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return _tril(as_operand(m), k=index(k))


@implements(np.triu)
def triu(m: Any, /, k: int = 0) -> Any:
    """Matrices with zeros below the k-th diagonal.

    >>> triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return _triu(as_operand(m), k=index(k))


# Other names

concat = concatenate
