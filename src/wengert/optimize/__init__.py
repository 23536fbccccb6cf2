"""Optimisation with SciPy's methods and Wengert's derivatives.

The derivatives are exact, sparse where the function is, and compiled; variables may be trees of arrays.
"""

from wengert.implicit.roots import root
from wengert.optimize.fitting import Fit, curve_fit
from wengert.optimize.least_squares import least_squares
from wengert.optimize.minimize import minimize

__all__ = ["Fit", "curve_fit", "least_squares", "minimize", "root"]
