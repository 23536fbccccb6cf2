"""Sorting, searching and accumulating along an axis."""

from __future__ import annotations

from wengert.compiler.forms.lowering import lowering
from wengert.compiler.routines.sorting import ARGSORT
from wengert.ops.samples import sorting

lowering.enter(ARGSORT, sorting._argsort)
