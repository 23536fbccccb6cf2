"""SciPy, differentiable: `autograd.scipy`."""

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.scipy import integrate, linalg, signal, special, stats
from wengert.compat.differences import without

__all__ = ["integrate", "linalg", "signal", "special", "stats"]

__getattr__ = without(__name__, ABSENT)
