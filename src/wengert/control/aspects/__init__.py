"""What graphs know of control flow: the graphs that a loop or choice holds, and how it is written."""

from wengert.control.aspects import held, python_source

__all__ = ["held", "python_source"]
