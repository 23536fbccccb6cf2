"""`jax.scipy.sparse`."""

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.scipy.sparse import linalg as linalg

__all__ = ["linalg"]

__getattr__ = without(__name__, ABSENT)
