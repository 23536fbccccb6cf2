"""The program as data. Importing a printer registers its form with `Graph`; `aspects` fill in what printers know."""

from wengert.graph import aspects, costs, mathematics, python_source, sympy, text, validation

__all__ = ["aspects", "costs", "mathematics", "python_source", "sympy", "text", "validation"]
