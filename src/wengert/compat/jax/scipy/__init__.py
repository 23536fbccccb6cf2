"""`jax.scipy`."""

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.scipy import integrate as integrate
from wengert.compat.jax.scipy import linalg as linalg
from wengert.compat.jax.scipy import optimize as optimize
from wengert.compat.jax.scipy import signal as signal
from wengert.compat.jax.scipy import sparse as sparse
from wengert.compat.jax.scipy import special as special
from wengert.compat.jax.scipy import stats as stats

__all__ = ["integrate", "linalg", "optimize", "signal", "sparse", "special", "stats"]

__getattr__ = without(__name__, ABSENT)
