"""`jnp.vectorize`: a function of small arrays over all other axes, by `vmap`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

import numpy as np

from wengert.compat.jax.arrays import array
from wengert.compat.jax.batching import vmap
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.ops.shape.reshaping import expand_dims

PUBLIC = ["vectorize"]

ARGUMENT = re.compile(r"\(([^()]*)\)")


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Collection[int] = (), signature: str | None = None
) -> Callable[..., Any]:
    """A function that broadcasts, of one that takes numbers, or arrays with the axes of a signature "(n),(n)->()".

    >>> vectorize(lambda x, y: x @ y, signature="(n),(n)->()")(np.ones((4, 3)), np.ones(3))
    Array([3., 3., 3., 3.], dtype=float64)
    """
    if any(not isinstance(i, int) for i in excluded):
        raise user_error(NotImplementedError, "vectorize excludes arguments by position only here")
    inputs = None if signature is None else ARGUMENT.findall(signature.partition("->")[0])

    @wraps(pyfunc)
    def vectorized(*args: Any) -> Any:
        fixed = {i: a for i, a in enumerate(args) if i in excluded}
        rest = [array(a) for i, a in enumerate(args) if i not in fixed]
        core = [0] * len(rest) if inputs is None else [len(axes.split(",")) if axes.strip() else 0 for axes in inputs]
        if len(core) != len(rest):
            raise user_error(TypeError, f"The signature {signature!r} has {len(core)} arguments, the call {len(rest)}")

        def run(*given: Any) -> Any:
            others = iter(given)
            return pyfunc(*[fixed[i] if i in fixed else next(others) for i in range(len(args))])

        outer = [x.shape[: x.ndim - n] for x, n in zip(rest, core, strict=True)]
        shape = np.broadcast_shapes(*outer)
        function: Callable[..., Any] = run
        for axis in reversed(range(len(shape))):  # the last axis is batched first
            depth = len(shape) - axis
            has_axis = [len(o) >= depth and o[len(o) - depth] != 1 for o in outer]
            if any(has_axis):
                function = vmap(function, tuple([0 if has else None for has in has_axis]))
        squeezed = [
            x.reshape(*[n for n in o if n != 1], *x.shape[x.ndim - k :])
            for x, o, k in zip(rest, outer, core, strict=True)
        ]
        missing = tuple([i for i, n in enumerate(shape) if n == 1])
        return tree.map(lambda out: expand_dims(array(out), missing), function(*squeezed))

    return vectorized
