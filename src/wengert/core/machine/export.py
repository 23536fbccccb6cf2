"""Exported programs: the memory of their targets, and how their C is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class ExportFields:
    """What decides about exported programs."""

    max_stack_bytes_of_exported_program: int = 1 << 14
    """Bytes of the stack that intermediate results may take, of the 8 MB of a process or the 64 KB of WebAssembly."""
    max_stack_bytes_of_microcontroller: int = 1 << 10
    """The same on microcontrollers, some of which have 8 KB of memory."""
    columns_of_exported_product: int = 4
    """Columns of a product that are summed at once, in registers, rounded down to a power of two."""
    max_characters_of_c_expression: int = 72
    """Characters of an expression; the value of a longer one is a variable, so that the text can be read."""
    max_nested_choices_of_c_expression: int = 3
    """Choices, one inside of another, that an element is computed by: more cannot be read."""
