"""Counting of numbers in bins, in one dimension or several.

Counts have no derivative with respect to the numbers, but one with respect to the weights.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.infer import data_dependent_shape
from wengert.core.kinds import case, nondifferentiable
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.calculus.differences import diff
from wengert.ops.elementwise.choices import clip, where
from wengert.ops.elementwise.predicates import equal, greater_equal, less, less_equal, logical_and
from wengert.ops.indexing.index_arrays import known_numbers
from wengert.ops.indexing.subscripts import add_at, getitem
from wengert.ops.reductions.logical import all as all_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.samples.sorting import searchsorted
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import flip
from wengert.ops.shape.reshaping import reshape

__all__ = ["bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

COUNTS = "counts are piecewise constant: the derivative is zero wherever there is one"


def _edges_spec(x: Any, bins: Any, range: Any) -> Spec:
    if isinstance(bins, str):
        return data_dependent_shape(f"a histogram with bins={bins!r}")()
    return Spec.of(np.histogram_bin_edges(_order(np.zeros(1, x.dtype)), bins, range))


def _order(x: Any) -> Any:
    """Numbers for a histogram: NumPy takes booleans as integers, with a warning."""
    if x.dtype.kind == "c":
        raise user_error(TypeError, "A histogram is of real numbers, which have an order")
    return x.astype(np.uint8) if x.dtype.kind == "b" else x


_bin_edges = nondifferentiable(
    "histogram_bin_edges",
    lambda x, bins, range: np.histogram_bin_edges(_order(x), bins, range),
    takes_params=True,
    spec=_edges_spec,
    cases=(case((5,), bins=3, range=None), case((2, 3), bins=2, range=(0.0, 1.0))),
    reason="the edges are held while the numbers vary",
)
_histogram = nondifferentiable(
    "histogram",
    lambda x, y: np.histogram(_order(x), y)[0],
    2,
    spec=lambda x, y: Spec.of(np.histogram(_order(np.zeros(1, x.dtype)), np.zeros(y.shape, y.dtype))[0]),
    cases=(case((9,), np.array([-1.0, 0.0, 2.0])), case((2, 3), np.array([-1.0, 1.0]))),
    reason=COUNTS,
)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram, through which no gradient flows.

    >>> histogram_bin_edges([0.0, 3.0, 4.0], bins=2)
    array([0., 2., 4.])
    """
    if not isinstance(bins, int | np.integer | str):
        return as_operand(bins)
    return _bin_edges(as_operand(a), bins=bins, range=None if range is None else tuple(map(float, range)))


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> tuple:
    """The number of elements in each bin, and the edges of the bins.

    No gradient flows to the numbers; it does to `weights`.

    >>> histogram([1.0, 2.0, 2.5], bins=2)
    (array([1, 2]), array([1.  , 1.75, 2.5 ]))
    """
    a = as_operand(a)
    edges = histogram_bin_edges(a, bins, range)
    counts = _histogram(a, edges) if weights is None else _weighted_counts(a, edges, as_operand(weights))
    return (counts / astype(diff(edges), float) / sum_(counts) if density else counts), edges


def _weighted_counts(a: Any, edges: Any, weights: Any) -> Any:
    if weights.shape != a.shape:
        raise user_error(
            ValueError, f"weights should have the shape {a.shape} of the numbers, and have {weights.shape}"
        )
    a, weights, n = reshape(a, (-1,)), reshape(weights, (-1,)), edges.shape[0] - 1
    inside = logical_and(greater_equal(a, edges[0]), less_equal(a, edges[-1]))
    position = clip(searchsorted(edges, a, "right") - 1, 0, n - 1)  # the last bin has its right edge
    return add_at(numpy_of(weights).zeros(n, weights.dtype), position, where(inside, weights, weights.dtype.type(0)))


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """The number of occurrences of each integer from 0 on, or the sum of their weights.

    It is differentiable with respect to the weights.

    >>> bincount([0, 2, 2], weights=[0.5, 1.0, 2.0])
    array([0.5, 0. , 3. ])
    """
    x = as_operand(x)
    if not isinstance(x, Array) and not isinstance(weights, Array):
        return np.bincount(x, weights, minlength)
    if x.ndim != 1 or (x.dtype.kind not in "iub" and x.size):
        raise user_error(TypeError, f"bincount needs a vector of integers, and got {x.dtype} of shape {x.shape}")
    if minlength < 0:
        raise user_error(ValueError, f"'minlength' must not be negative, and is {minlength}")
    numbers = known_numbers(x, "The length of what bincount gives")
    if (numbers < 0).any():
        raise user_error(ValueError, "bincount counts numbers from 0 on, and one is negative")
    zeros = np.zeros(
        max(int(numbers.max()) + 1 if numbers.size else 0, minlength), np.intp if weights is None else float
    )
    x = astype(x, np.intp, copy=False)
    if weights is None:
        return add_at(zeros, x, np.intp(1))
    weights = as_operand(weights)
    if weights.shape != x.shape:
        raise user_error(
            ValueError, f"bincount needs a weight for each of {x.size} numbers, and got shape {weights.shape}"
        )
    return add_at(zeros, x, astype(weights, float, copy=False))


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin that each x lies in, between edges that rise or fall.

    `right` says that a bin has its right edge.

    >>> digitize([0.5, 1.5, 2.5], [0.0, 1.0, 2.0])
    array([1, 2, 3])
    """
    x, bins = as_operand(x), as_operand(bins)
    if x.dtype.kind == "c":
        raise user_error(TypeError, "digitize is for real numbers, which have an order")
    if bins.ndim != 1:
        raise user_error(ValueError, f"The edges of digitize are a vector, and not of shape {bins.shape}")
    side = "left" if right else "right"
    steps = diff(bins)
    if bool(all_(greater_equal(steps, 0))):
        return searchsorted(bins, x, side)
    if not bool(all_(greater_equal(0, steps))):
        raise user_error(ValueError, "The edges of digitize must rise or fall monotonically")
    return bins.size - searchsorted(flip(bins), x, side)


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple:
    """The number of points in each box of a grid, and the edges of the boxes, an array for each axis.

    The points are the rows of a matrix, or a sequence has their coordinates. No gradient flows to the points; it does
    to `weights`.

    >>> histogramdd(np.eye(2), bins=2)[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    columns = _coordinates(sample)
    number = len(columns)
    bins = [bins] * number if isinstance(bins, int | np.integer) else list(bins)
    ranges = [None] * number if range is None else list(range)
    if len(bins) != number or len(ranges) != number:
        raise user_error(ValueError, f"histogramdd of {number} coordinates needs as many bins and ranges")
    edges = tuple([_edges(*given) for given in zip(columns, bins, ranges, strict=True)])
    shape = tuple([e.size - 1 for e in edges])
    box: Any = 0
    inside: Any = True
    for x, edge, n in zip(columns, edges, shape, strict=True):
        i = searchsorted(edge, x, "right") - 1 - equal(x, edge[-1])  # the last bin has its right edge
        within = logical_and(greater_equal(i, 0), less(i, n))
        inside = logical_and(inside, within)
        box = box * n + where(within, i, 0)
    xp = numpy_of(*columns)
    weights = xp.ones(columns[0].shape) if weights is None else astype(as_operand(weights), float, copy=False)
    if weights.shape != columns[0].shape:
        raise user_error(
            ValueError, f"weights should have the shape {columns[0].shape} of the points, and have {weights.shape}"
        )
    counts = reshape(add_at(xp.zeros(prod(shape)), box, where(inside, weights, 0.0)), shape)
    if density:
        counts = counts / sum_(counts)
        for axis, edge in enumerate(edges):
            counts = counts / reshape(diff(edge), (-1,) + (1,) * (number - 1 - axis))
    return counts, edges


def _coordinates(sample: Any) -> list:
    if isinstance(sample, list | tuple):
        return [as_operand(x) for x in sample]
    sample = as_operand(sample)
    if sample.ndim == 1:
        return [sample]
    if sample.ndim != 2:
        raise user_error(ValueError, f"histogramdd needs points as the rows of a matrix, and got shape {sample.shape}")
    return [getitem(sample, (slice(None), i)) for i in np.arange(sample.shape[1]).tolist()]


def _edges(x: Any, bins: Any, range: Any) -> Any:
    if isinstance(bins, int | np.integer):
        return histogram_bin_edges(x, int(bins), range)
    edges = as_operand(bins)
    if edges.ndim != 1 or not bool(all_(greater_equal(diff(edges), 0))):
        raise user_error(ValueError, "The edges of a histogram are a vector of rising numbers")
    return edges


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple:
    """The number of points (x, y) in each box of a grid, and its edges along x and y.

    Gradients are as in `histogramdd`.

    >>> histogram2d([0.0, 1.0], [0.0, 1.0], bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    x, y = as_operand(x), as_operand(y)
    if x.shape != y.shape:
        raise user_error(ValueError, f"x and y must have the same length, and have shapes {x.shape} and {y.shape}")
    if not isinstance(bins, int | np.integer) and len(bins) not in (1, 2):
        bins = [as_operand(bins)] * 2
    counts, edges = histogramdd(stack([x, y], axis=1), bins, range, density, weights)
    return counts, *edges
