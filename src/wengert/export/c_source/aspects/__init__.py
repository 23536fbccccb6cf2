"""How operations are computed in C, by families: functions, routines, and what they consist of."""

from __future__ import annotations

from wengert.export.c_source.aspects import elementwise, indexing, matrices, reductions, rows

__all__ = ["elementwise", "indexing", "matrices", "reductions", "rows"]
