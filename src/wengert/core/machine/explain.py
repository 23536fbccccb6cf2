"""Explanations: which ways of differentiation are compared, and what a page computes.

How much a page, a table or a picture shows is no field: such numbers are beside what they lay out.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class ExplainFields:
    """What is computed to explain a derivative, and what would take too long."""

    max_seconds_of_compared_way: float = 5.0
    """Seconds that a way to differentiate may take; slower ones are left out, with a note."""
    max_operations_of_compiled_way: int = 2_000
    """Operations of a function that is compiled to be compared; the derivative of one of four times as many is not
    simplified before it is counted.
    """
    max_numbers_of_forward_way: int = 20_000_000
    """Numbers that forward mode may hold at a time: 160 MB."""
    max_operations_of_symbolic_way: int = 2_000
    """Operations of a formula that is differentiated by algebra: the derivative may be many times as long."""
    max_evaluations_of_reference: int = 100_000
    """Evaluations of operations on single numbers with sixty digits; more would take seconds."""
    max_operations_of_live_program: int = 4_000
    """Operations of a program that a page computes again: a browser does more too slowly to follow a mouse. Estimated.
    """
    max_elements_of_live_array: int = 512
    """Elements of an array of such a program, which are written one by one."""
    max_products_of_live_sum: int = 20_000
    """Pairs of elements for which it is tried whether a product has them, to write it for a page."""
    max_elements_of_live_inputs: int = 64
    """Elements of all inputs of a page that can be changed."""
    max_operations_of_live_page: int = 1_000
    """Operations of a function whose derivative a page computes again: the derivative has several times as many."""
    max_operations_of_sympy_formula: int = 20_000
    """Operations of a formula for SymPy, which writes out what is used twice; longer ones are refused."""
