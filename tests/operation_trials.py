"""The arguments that operations are tested with, from their trials in the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.primitive import Primitive

SHAPES: dict[str, list[tuple[int, ...]]] = {
    "0-d": [(), (), ()],
    "vector": [(3,), (3,), (3,)],
    "broadcast": [(2, 1), (3,), (1, 1)],
    "with 0-d": [(2, 2), (), (2,)],
    "empty": [(0, 2), (2,), (1,)],
}


def interval(primitive: Primitive, i: int) -> tuple[float, float]:
    domain = primitive.trial.domain
    return domain[i] if isinstance(domain[0], tuple) else domain


def sample(primitive: Primitive, shapes: list[tuple[int, ...]], dtype: type = np.float64) -> list[np.ndarray]:
    """Points inside an elementwise operation's domain, away from ties."""
    rng = np.random.default_rng(3)
    args = []
    for i, name in enumerate(primitive.inputs):
        low, high = interval(primitive, i)
        x = rng.uniform(low, high, shapes[i])
        if np.dtype(dtype).kind == "c":
            x = x + 1j * rng.uniform(0.2, 0.7, shapes[i])
        args.append(rng.uniform(size=shapes[i]) < 0.5 if name == "condition" else x.astype(dtype))
    return args


def live_arguments(primitive: Primitive, args: list) -> list[int]:
    if primitive.definition.vjp or primitive.inputs[0].startswith("*"):
        return [i for i, a in enumerate(args) if np.asarray(a).dtype.kind in "fc"]
    return [
        i
        for i, rule in enumerate(primitive.definition.rules)
        if rule is not None and np.asarray(args[i]).dtype.kind in "fc"
    ]


def several(outs: Any) -> tuple:
    return tuple(outs) if isinstance(outs, tuple | list) else (outs,)


def op_of(primitive: Primitive, params: dict | None = None) -> Callable[..., Any]:
    params = dict(primitive.trial.params) if params is None else params
    return lambda *args: primitive.op(*args, **params)


def case_arguments(case: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=a) if isinstance(a, tuple) else a for a in case.args]
