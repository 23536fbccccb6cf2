"""`jax.typing`: names for annotations."""

import numpy as np

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.core.array import Array

__all__ = ["ArrayLike", "DTypeLike"]

__getattr__ = without(__name__, ABSENT)

ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
DTypeLike = np.dtype | type | str
