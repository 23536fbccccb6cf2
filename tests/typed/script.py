"""An annotated program, in which type checkers find no error (tests/test_typing.py)."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import wengert as wg

Vector = NDArray[np.float64]


def loss(w: Vector, scale: float, power: int = 2) -> np.float64:
    return np.sum(scale * w**power)


def model(w: Vector, scale: float) -> Vector:
    return np.sin(w) * scale


@wg.compile
def compiled_model(w: Vector, scale: float) -> Vector:
    return np.sin(w) * scale


@wg.compile(static_argnames="power")
def compiled_loss(w: Vector, scale: float, power: int = 2) -> np.float64:
    return np.sum(scale * w**power)


def operators() -> None:
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    assert_type(x + 1.0, wg.Tensor)
    assert_type(2 * x, wg.Tensor)
    assert_type(x.sum(), wg.Tensor)
    assert_type(x.T, wg.Tensor)
    assert_type(x[0], wg.Tensor)
    assert_type(-x, wg.Tensor)
    assert_type(abs(x), wg.Tensor)
    assert_type(x < 1, wg.Tensor)


def names() -> None:
    wg.sin(1.0)
    wg.linalg.norm([1.0], axis=0)
    wg.compile(wg.grad(wg.exp))
    wg.abs(-1)


def main() -> None:
    operators()
    names()
    w = np.arange(3.0)
    wg.grad(loss)(w, 2.0, power=3)
    value, (dw, dscale) = wg.value_and_grad(loss, argnums=(0, 1))(w, 2.0)
    print(value, dw, dscale)
    wg.jacobian(model)(w, scale=2.0)
    print(wg.jacobian(model).explain(w, 2.0).mode)
    wg.hessian(loss)(w, 2.0)
    wg.vmap(model, in_axes=(0, None))(np.ones((4, 3)), 2.0)
    checkpointed: Vector = wg.checkpoint(model)(w, 2.0)
    compiled: Vector = wg.compile(model)(w, 2.0)
    print(checkpointed, compiled, compiled_model(w, 2.0), compiled_loss(w, 2.0, power=3))
    print(wg.grad(lambda x: x**2)(3.0))


if __name__ == "__main__":
    main()
