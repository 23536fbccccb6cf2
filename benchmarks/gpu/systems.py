"""How each system writes a program."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Function = Callable[..., Any]


class System(NamedTuple):
    """How a system writes a program: its functions of arrays, its transforms, and its compiler."""

    xp: Any
    grad: Function
    value_and_grad: Function
    vmap: Function
    jacobian: Function
    logsumexp: Function
    erf: Function
    compile: Function
    while_loop: Function


def wengert_system() -> System:
    import wengert as wg

    return System(
        np, wg.grad, wg.value_and_grad, wg.vmap, wg.jacobian, wg.logsumexp, wg.special.erf, wg.compile, wg.while_loop
    )


def jax_system() -> System:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    jax.config.update("jax_enable_x64", True)
    # products of matrices in single precision, as the others compute them
    jax.config.update("jax_default_matmul_precision", "highest")
    special = jax.scipy.special
    return System(
        jax.numpy, jax.grad, jax.value_and_grad, jax.vmap, jax.jacfwd, special.logsumexp, special.erf, jax.jit,
        jax.lax.while_loop,
    )  # fmt: skip
