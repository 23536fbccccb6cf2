"""Windows of arrays: sums of their elements, and the elements at which another array is largest.

An array's last axes have `windows`: for each axis, and for each element of a window along it, the indices of that
element in all windows, a range if they are evenly spaced. Sums are linear, and so is the choice of elements once the
array that decides is given; each operation has its transpose beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.devices import DeviceArray
from wengert.core.facts import Facts
from wengert.core.kinds import case, general, linear
from wengert.core.levels import numpy_of
from wengert.core.native import natively
from wengert.core.spec import Spec
from wengert.ops.elementwise.choices import BITS, keep_where
from wengert.ops.signal.window_arguments import Lengths

__all__: list[str] = []

Indices = range | tuple[int, ...]
Windows = tuple[tuple[Indices, ...], ...]


def window_key(element: tuple[Indices, ...]) -> tuple[Any, ...]:
    """The key of one element of all windows: slices if its indices are evenly spaced."""
    if all(isinstance(indices, range) for indices in element):
        return (..., *[slice(r.start, r.stop, r.step) for r in element])  # type: ignore[union-attr]  # ranges
    return (..., *np.ix_(*element))


def axis_keys(windows: Windows) -> Iterator[list[tuple[Any, ...]]]:
    """For each axis, the keys of the elements of windows along it, of an array whose other axes are whole."""
    n = len(windows)
    for axis, elements in enumerate(windows):
        rest = (slice(None),) * (n - 1 - axis)
        yield [(..., slice(e.start, e.stop, e.step) if isinstance(e, range) else np.array(e), *rest) for e in elements]


@lru_cache(256)
def are_disjoint(windows: Windows) -> bool:
    """Whether no two windows share an element."""
    return all(len({i for e in elements for i in e}) == sum(map(len, elements)) for elements in windows)


def tile_size(windows: Windows, lengths: Lengths) -> Lengths | None:
    """The size of windows that lie side by side and cover an array of these lengths; None for others."""
    sizes = tuple(map(len, windows))
    tiles = tuple([tuple([range(e, n, size) for e in range(size)]) for size, n in zip(sizes, lengths, strict=True)])
    return sizes if windows == tiles and not any(n % size for size, n in zip(sizes, lengths, strict=True)) else None


def fold(x: Any, windows: Windows, ufunc: np.ufunc) -> Any:
    """The elements of windows combined, along one axis after the other."""
    for keys in axis_keys(windows):
        first, *others = [x[key] for key in keys]
        x = ufunc(first, others[0]) if others else first.copy()
        for part in others[1:]:
            ufunc(x, part, out=x)
    return x


def winners(x: np.ndarray, windows: Windows) -> np.ndarray:
    """The number of the first element of each window that is largest; of the last one that is NaN."""
    elements = list(product(*windows))
    best = x[window_key(elements[0])].copy()
    found = numpy_of(x).zeros(best.shape, np.min_scalar_type(len(elements) - 1))
    for i, element in enumerate(elements[1:], 1):
        part = x[window_key(element)]
        larger = (part > best) | (part != part)
        np.maximum(best, part, out=best)
        np.maximum(found, larger * found.dtype.type(i), out=found)
    return found


def masks(x: np.ndarray, windows: Windows) -> Iterator[np.ndarray]:
    """For each element of a window, in order, where it is the first largest one."""
    best = fold(x, windows, np.maximum)
    if isinstance(x, DeviceArray) or np.isnan(best).any():  # to ask a device would be to wait for it
        found = winners(x, windows)
        for i in range(math.prod(map(len, windows))):
            yield found == i
        return
    is_open = np.ones(best.shape, bool)
    for element in product(*windows):
        mask = x[window_key(element)] == best
        mask &= is_open
        is_open ^= mask
        yield mask


def _work(*operands: Any, windows: Windows, **params: Any) -> int:
    """The work of NumPy on all elements of all windows."""
    arrays = max([math.prod(x.shape[: -len(windows)]) for x in operands])
    count = arrays * math.prod([len(elements) * len(elements[0]) for elements in windows])
    return machine.current.operations_of_window_element * count


@natively(lambda: window_pick, _work)
def _pick(u: Any, x: Any, windows: Windows) -> Any:
    if u is x and x.dtype.kind == "f":
        return fold(x, windows, np.maximum)
    found = winners(np.broadcast_to(x, u.shape), windows)
    elements = product(*windows)
    out = u[window_key(next(elements))].copy()
    for i, element in enumerate(elements, 1):
        np.copyto(out, u[window_key(element)], where=found == i)
    return out


@natively(lambda: window_place, _work)
def _place(t: Any, x: Any, windows: Windows) -> Any:
    out = numpy_of(t).zeros(x.shape, t.dtype)
    add = accumulator(windows)
    for element, mask in zip(product(*windows), masks(x, windows), strict=True):
        add(
            out, element, keep_where(mask, t) if t.dtype in BITS and isinstance(t, np.ndarray) else np.where(mask, t, 0)
        )
    return out


def add_at_indices(out: Any, element: tuple[Indices, ...], t: Any) -> None:
    """Add numbers to one element of all windows, whose indices are not evenly spaced."""
    xp = numpy_of(out)
    xp.add.at(out, tuple([xp.asarray(k) if isinstance(k, np.ndarray) else k for k in window_key(element)]), t)


def accumulator(windows: Windows) -> Callable[[np.ndarray, tuple[Indices, ...], Any], None]:
    """What adds numbers to one element of all windows."""
    if not all(isinstance(indices, range) for elements in windows for indices in elements):
        return add_at_indices
    if are_disjoint(windows):
        return lambda out, element, t: out.__setitem__(window_key(element), t)

    def add(out: np.ndarray, element: tuple[Indices, ...], t: Any) -> None:
        view = out[window_key(element)]
        np.add(view, t, out=view)

    return add


@natively(lambda: window_sum, _work)
def _sum_windows(x: Any, windows: Windows) -> Any:
    return fold(x, windows, np.add)


@natively(lambda: window_spread, _work)
def _spread_sums(t: Any, windows: Windows, lengths: Lengths) -> Any:
    lead = t.ndim - len(lengths)
    for axis in reversed(range(lead, t.ndim)):
        elements = windows[axis - lead]
        out = numpy_of(t).zeros((*t.shape[:axis], lengths[axis - lead], *t.shape[axis + 1 :]), t.dtype)
        add = accumulator((elements,))
        for indices in elements:
            add(np.moveaxis(out, axis, -1), (indices,), np.moveaxis(t, axis, -1))
        t = out
    return t


def _reduced(x: Spec, windows: Windows) -> Spec:
    return Spec((*x.shape[: len(x.shape) - len(windows)], *[len(elements[0]) for elements in windows]), x.dtype)


def _keep_windows(windows: Windows) -> dict[str, Any]:
    """The `batch` of these operations: they are on the last axes."""
    return {}


TILES: Windows = ((range(0, 4, 2), range(1, 4, 2)), (range(0, 6, 3), range(1, 6, 3), range(2, 6, 3)))
OVERLAPPING: Windows = ((range(3), range(1, 4), range(2, 5)), (range(0, 5, 2), range(1, 6, 2)))
UNEVEN: Windows = (((0, 1, 3), (1, 2, 4)), (range(2), range(2, 4)))
IN_ORDER = Facts(exact=True)
"""Elements of a window, and windows that meet in one element, are compared and added one after the other everywhere."""

window_pick: Callable = general(
    "window_pick",
    _pick,
    lambda t, y, windows: window_place(t, y, windows=windows),
    None,
    jvps=(lambda t, y, windows: window_pick(t, y, windows=windows), None),
    batch=_keep_windows,
    spec=lambda x, y, windows: _reduced(x, windows),
    cases=(
        case((2, 4, 6), (2, 4, 6), windows=TILES),
        case((5, 7), (5, 7), windows=OVERLAPPING),
        case((2, 5, 4), (2, 5, 4), windows=UNEVEN),
    ),
    facts=IN_ORDER,
)
window_place: Callable = general(
    "window_place",
    _place,
    lambda t, y, windows: window_pick(t, y, windows=windows),
    None,
    jvps=(lambda t, y, windows: window_place(t, y, windows=windows), None),
    batch=_keep_windows,
    spec=lambda x, y, windows: Spec(y.shape, x.dtype),
    cases=(
        case((2, 2, 2), (2, 4, 6), windows=TILES),
        case((3, 3), (5, 7), windows=OVERLAPPING),
        case((2, 3, 2), (2, 5, 4), windows=UNEVEN),
    ),
    facts=IN_ORDER,
)
window_sum: Callable = linear(
    "window_sum",
    _sum_windows,
    lambda t, x_spec, windows: window_spread(t, windows=windows, lengths=x_spec.shape[-len(windows) :]),
    batch=_keep_windows,
    spec=_reduced,
    cases=(case((2, 4, 6), windows=TILES), case((5, 7), windows=OVERLAPPING), case((2, 5, 4), windows=UNEVEN)),
    facts=IN_ORDER,
)
window_spread: Callable = linear(
    "window_spread",
    _spread_sums,
    lambda t, windows: window_sum(t, windows=windows),
    batch=_keep_windows,
    spec=lambda x, windows, lengths: Spec((*x.shape[: len(x.shape) - len(lengths)], *lengths), x.dtype),
    cases=(
        case((2, 2, 2), windows=TILES, lengths=(4, 6)),
        case((3, 3), windows=OVERLAPPING, lengths=(5, 7)),
        case((2, 3, 2), windows=UNEVEN, lengths=(5, 4)),
    ),
    facts=IN_ORDER,
)


@lru_cache(256)
def sliding_windows(lengths: Lengths, size: Lengths, stride: Lengths, dilation: Lengths) -> Windows:
    """All windows of a size that fit into an array.

    >>> sliding_windows((5,), (2,), (2,), (1,))
    ((range(0, 3, 2), range(1, 4, 2)),)
    """
    windows = []
    for n, k, s, d in zip(lengths, size, stride, dilation, strict=True):
        last = (n - (k - 1) * d - 1) // s * s
        windows.append(tuple([range(e * d, e * d + last + 1, s) for e in range(k)]))
    return tuple(windows)


@lru_cache(256)
def adaptive_windows(lengths: Lengths, counts: Lengths) -> Windows:
    """So many windows along each axis, each from floor(i n / count) to ceil((i + 1) n / count).

    Shorter windows repeat their last element, which changes neither the largest element nor where it is first.

    >>> adaptive_windows((3, 4), (2, 2))
    (((0, 1), (1, 2)), (range(0, 4, 2), range(1, 4, 2)))
    """
    windows: list[tuple[Indices, ...]] = []
    for n, count in zip(lengths, counts, strict=True):
        if not n % count:
            windows.append(tuple([range(e, n, n // count) for e in range(n // count)]))
            continue
        starts = [i * n // count for i in range(count)]
        ends = [-(-(i + 1) * n // count) for i in range(count)]
        size = max(end - start for start, end in zip(starts, ends, strict=True))
        windows.append(
            tuple(
                [tuple([min(start + e, end - 1) for start, end in zip(starts, ends, strict=True)]) for e in range(size)]
            )
        )
    return tuple(windows)


def averaging_matrix(n: int, count: int) -> np.ndarray:
    """The matrix that maps n numbers to the averages of `count` adaptive windows.

    >>> averaging_matrix(3, 2)
    array([[0.5, 0.5, 0. ],
           [0. , 0.5, 0.5]])
    """
    matrix = np.zeros((count, n))
    for i in range(count):
        start, end = i * n // count, -(-(i + 1) * n // count)
        matrix[i, start:end] = 1.0 / (end - start)
    return matrix
