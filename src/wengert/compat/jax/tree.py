"""`jax.tree`: the functions of `jax.tree_util` by short names."""

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.tree_util import tree_all as all
from wengert.compat.jax.tree_util import tree_flatten as flatten
from wengert.compat.jax.tree_util import tree_flatten_with_path as flatten_with_path
from wengert.compat.jax.tree_util import tree_leaves as leaves
from wengert.compat.jax.tree_util import tree_leaves_with_path as leaves_with_path
from wengert.compat.jax.tree_util import tree_map as map
from wengert.compat.jax.tree_util import tree_map_with_path as map_with_path
from wengert.compat.jax.tree_util import tree_reduce as reduce
from wengert.compat.jax.tree_util import tree_structure as structure
from wengert.compat.jax.tree_util import tree_transpose as transpose
from wengert.compat.jax.tree_util import tree_unflatten as unflatten

__all__ = [
    "all", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path", "reduce", "structure",
    "transpose", "unflatten",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)
