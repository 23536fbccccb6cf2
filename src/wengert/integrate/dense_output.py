"""Solutions as functions of time, with derivatives: each call integrates again, as far as it needs to.

The interpolants of a solution are as many as its steps, whose number a graph does not know. So nothing is kept: the
same steps are taken once more, up to the last of the times that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import where
from wengert.ops.indexing.taking import take
from wengert.ops.samples.sorting import argsort
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import stop_gradient


class DenseOutput:
    """The solution as a function of time, as SciPy's `OdeSolution`.

    `solve` gives the states, in columns, at points that are in the order of the span. `plain` is SciPy's own function,
    for plain numbers, if nothing in the problem has a derivative.
    """

    def __init__(self, solve: Callable[[Any], Any], span: tuple, plain: Any = None):
        self.solve, self.plain = solve, plain
        self.t_min, self.t_max = span

    def __call__(self, t: Any) -> Any:
        """The states at a time, or in columns at several times in any order."""
        if self.plain is not None and not isinstance(t, Array):
            return self.plain(t)
        t = as_operand(t)
        t = t if t.dtype.kind == "f" else astype(t, float)
        if t.ndim > 1:
            raise user_error(ValueError, f"`sol` takes a number or a vector of times, not an array of shape {t.shape}")
        if not t.ndim:
            return self.solve(reshape(t, (1,)))[:, 0]
        start, end = stop_gradient((self.t_min, self.t_max))
        order = argsort(stop_gradient(t) * where(np.less(end, start), -1.0, 1.0))
        return take(self.solve(take(t, order)), argsort(order), axis=1)

    def __getattr__(self, name: str) -> Any:
        """What only SciPy's function has, such as its interpolants."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.plain, name)
