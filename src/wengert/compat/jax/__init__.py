"""Programs written for JAX run on Wengert.

`import wengert.compat.jax as jax`, and `import wengert.compat.jax.numpy as jnp`. Names, arguments and conventions are
JAX's; derivatives, loops and compiled code are Wengert's. Arrays are immutable, and in double precision.
"""

from typing import Any

from wengert.compat.differences import without
from wengert.compat.jax import batching, callbacks, compilation, differentiation, environment, rules
from wengert.compat.jax import flatten_util as flatten_util
from wengert.compat.jax import lax as lax
from wengert.compat.jax import numpy as numpy
from wengert.compat.jax import tree as tree
from wengert.compat.jax import tree_util as tree_util
from wengert.compat.jax.differences import ABSENT
from wengert.core.array import Array as Array
from wengert.core.namespaces import load_name

PARTS = (batching, callbacks, compilation, differentiation, environment, rules)

for _part in PARTS:
    globals().update({name: getattr(_part, name) for name in _part.PUBLIC})

LAZY = dict.fromkeys(("debug", "experimental", "nn", "ops", "random", "scipy", "typing"), "compat.jax.")

__version__ = "0.10.2"

__all__ = sorted(
    [
        "Array", "flatten_util", "lax", "numpy", "tree", "tree_util", *LAZY,
        *[name for part in PARTS for name in part.PUBLIC],
    ]
)  # fmt: skip

refuse = without(__name__, ABSENT)


def __getattr__(name: str) -> Any:
    return load_name(globals(), name) if name in LAZY else refuse(name)
