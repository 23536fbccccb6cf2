"""Implicit differentiation: derivatives of a solution from the equation that it solves, not from the solver's steps."""

from wengert.implicit.linear import linear_solve
from wengert.implicit.roots import argmin, custom_root, fixed_point, root
from wengert.implicit.solvers import ConvergenceError

__all__ = ["ConvergenceError", "argmin", "custom_root", "fixed_point", "linear_solve", "root"]
