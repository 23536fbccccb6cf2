"""Implicit differentiation: the derivative of a solution, from the equation that it solves and not from the steps of
the solver.
"""

from wengert.implicit.linear import linear_solve
from wengert.implicit.roots import argmin, custom_root, fixed_point, root
from wengert.implicit.solvers import ConvergenceError

__all__ = ["ConvergenceError", "argmin", "custom_root", "fixed_point", "linear_solve", "root"]
