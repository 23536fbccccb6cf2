"""Sorting, searching, counting, and accumulating along an axis."""

from __future__ import annotations

from wengert.compiler.aspects.elementwise import add, multiply
from wengert.compiler.forms.lowering import lowering
from wengert.compiler.forms.selected_values import PARTITION_AROUND, SELECT
from wengert.compiler.routines.counting import HISTOGRAM
from wengert.compiler.routines.partitions import BY_SIDES
from wengert.compiler.routines.scans import scan
from wengert.compiler.routines.searching import SEARCH
from wengert.compiler.routines.sorting import BY_DIGITS, BY_SELECTION
from wengert.ops.reductions import cumulative
from wengert.ops.samples import histograms, sorting

lowering.enter(BY_DIGITS, sorting._argsort)
lowering.enter(BY_SELECTION, SELECT)
lowering.enter(BY_SIDES, PARTITION_AROUND)
lowering.enter(SEARCH, sorting._searchsorted)
lowering.enter(HISTOGRAM, histograms._histogram)
lowering.enter(scan(add), cumulative._cumsum)
lowering.enter(scan(multiply), cumulative._cumprod)
