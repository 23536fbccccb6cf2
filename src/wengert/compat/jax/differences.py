"""How `wengert.compat.jax` differs from JAX, and what it does not have."""

from wengert.compat.differences import Difference

PEER = "JAX"

DIFFERENCES: tuple[Difference, ...] = ()

ABSENT: dict[str, str] = {}
