"""Mistakes that type checkers find: those in lines that end with `# error`, and no others (tests/test_typing.py)."""

import numpy as np
from numpy.typing import NDArray

import wengert as wg

Vector = NDArray[np.float64]


def loss(w: Vector, scale: float) -> np.float64:
    return np.sum(scale * w)


@wg.compile(check=True)
def compiled_loss(w: Vector, scale: float) -> np.float64:
    return np.sum(scale * w)


def unknown_name() -> None:
    wg.no_such_name(1.0)  # error
    wg.sum(1.0, axes=0)  # error


def wrong_type(w: Vector) -> None:
    wg.grad(loss)("w", 2.0)  # error
    wg.value_and_grad(loss)(w, "2.0")  # error
    wg.jacobian(loss)(w, scale="2.0")  # error
    wg.hessian(loss)("w", 2.0)  # error
    wg.vmap(loss)(w, "2.0")  # error
    wg.checkpoint(loss)("w", 2.0)  # error
    wg.compile(loss)("w", 2.0)  # error
    compiled_loss(w, "2.0")  # error


def missing_argument(w: Vector) -> None:
    wg.grad(loss)(w)  # error
    wg.value_and_grad(loss)(w)  # error
    wg.jacobian(loss)(w)  # error
    wg.hessian(loss)(w)  # error
    wg.vmap(loss)(w)  # error
    wg.checkpoint(loss)(w)  # error
    wg.compile(loss)(w)  # error
    compiled_loss(w)  # error


def wrong_result(w: Vector) -> None:
    first: str = wg.checkpoint(loss)(w, 2.0)  # error
    second: str = wg.compile(loss)(w, 2.0)  # error
    print(first, second)
