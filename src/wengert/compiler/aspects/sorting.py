"""Sorting, searching, counting, and accumulating along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiler.aspects.elementwise import add, multiply
from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.forms.selected_values import SELECT
from wengert.compiler.forms.sorted_values import SORT
from wengert.compiler.routines.scans import scan
from wengert.compiler.routines.searching import SEARCH
from wengert.compiler.routines.selection import BY_SELECTION
from wengert.compiler.routines.sorting import BY_DIGITS
from wengert.graph.ir import Constant, is_a
from wengert.ops.elementwise.choices import clip
from wengert.ops.elementwise.predicates import equal, greater_equal, less_equal, logical_and
from wengert.ops.indexing.subscripts import add_at
from wengert.ops.reductions import cumulative
from wengert.ops.samples import histograms, sorting
from wengert.ops.samples.sorting import searchsorted
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import reshape

lowering.enter(BY_DIGITS, sorting._argsort, SORT)
lowering.enter(BY_SELECTION, sorting._argpartition, SELECT)
lowering.enter(SEARCH, sorting._searchsorted)
lowering.enter(scan(add), cumulative._cumsum)
lowering.enter(scan(multiply), cumulative._cumprod)


@expansion(histograms._histogram)
def expand_histogram(x: Any, y: Any) -> Any:
    """Ones that are added at the numbers of bins, if the edges are known to rise: otherwise NumPy raises the error."""
    edges = y.node
    is_rising = is_a(edges, histograms._bin_edges) or (
        isinstance(edges, Constant) and not edges.is_captured and bool(np.all(np.diff(edges.value) >= 0))
    )
    if not is_rising or not x.size or x.dtype.kind in "bc" or y.shape[0] < 2:
        return None
    x, n = reshape(x, (-1,)), y.shape[0] - 1
    inside = logical_and(greater_equal(x, y[0]), less_equal(x, y[-1]))
    bins = clip(searchsorted(y, x, "right") - 1 - equal(x, y[-1]), 0, n - 1)  # the last bin has its right edge
    return add_at(np.zeros(n, np.intp), bins, astype(inside, np.intp))
