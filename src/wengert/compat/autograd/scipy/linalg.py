"""Linear algebra of SciPy: `autograd.scipy.linalg`. Functions that Wengert does not have are SciPy's, for numbers."""

from scipy import linalg as scipy_linalg

from wengert import linalg
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = [name for name in scipy_linalg.__all__ if callable(getattr(scipy_linalg, name))]

for name in __all__:
    function = getattr(scipy_linalg, name)
    differentiable = not isinstance(function, type) and hasattr(linalg, name)
    globals()[name] = on_values(function, getattr(linalg, name)) if differentiable else function

MIRRORS = "scipy.linalg"
"""The module whose names are here."""

__getattr__ = without(__name__, ABSENT)
