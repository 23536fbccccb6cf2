"""What graphs know of control flow: the graphs that a loop or choice holds, and how it is written."""

from wengert.control.aspects import held, improvement, loop_formulas, loop_source

__all__ = ["held", "improvement", "loop_formulas", "loop_source"]
