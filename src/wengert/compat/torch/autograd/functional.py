"""`torch.autograd.functional`: Jacobians, Hessians and products with them, of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.compat.torch.values import TorchValue, hand_out, inward, plain
from wengert.core.errors import user_error

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


class Given:
    """The inputs of one call, which are a tensor or a tuple, and the results in the same form."""

    def __init__(self, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool):
        if strict:
            raise user_error(NotImplementedError, "strict=True", "Check with torch.autograd.grad, which raises.")
        self.is_single = isinstance(inputs, TorchValue)
        self.inputs: tuple[Any, ...] = plain((inputs,) if self.is_single else tuple(inputs))
        self.function, self.create_graph = inward(func), create_graph

    def finish(self, result: Any) -> Any:
        """A result as PyTorch's; without history unless `create_graph`."""
        return hand_out(result if self.create_graph else wg.stop_gradient(result))

    def directions(self, v: Any, like: Any = None) -> Any:
        """The vectors of a product; without them, 1 for a function that returns one number."""
        if v is not None:
            return plain(tuple(v) if isinstance(v, list) else v)
        if isinstance(like, tuple | list) or like is not None and like.size != 1:
            raise user_error(RuntimeError, "The vector `v` may be left out only if the function returns one number")
        return wg.ones_like(like)

    def per_input(self, result: Any) -> Any:
        """A tuple with something for each input, or that for the only one."""
        return result[0] if self.is_single else tuple(result)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function: one block for each pair of output and input."""
    given = Given(func, inputs, create_graph, strict)
    transform = wg.jacfwd if strategy == "forward-mode" else wg.jacrev
    found = transform(given.function, tuple(range(len(given.inputs))))(*given.inputs)
    if is_blocks(found, len(given.inputs)):
        return given.finish(given.per_input(found))
    return given.finish(tuple(given.per_input(row) for row in found))


def is_blocks(found: Any, n: int) -> bool:
    """Whether a Jacobian has one block for each of n inputs, and not a row of them for each output."""
    return len(found) == n and not any(isinstance(part, tuple | list) for part in found)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that returns one number: one block for each pair of inputs."""
    given = Given(func, inputs, create_graph, strict)
    function = given.function
    found = wg.hessian(lambda *x: wg.reshape(function(*x), ()), tuple(range(len(given.inputs))))(*given.inputs)
    return given.finish(found[0][0] if given.is_single else tuple(map(tuple, found)))


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function, and the product of a vector and its Jacobian."""
    given = Given(func, inputs, create_graph, strict)
    value, pull = wg.vjp(given.function, *given.inputs)
    return given.finish(value), given.finish(given.per_input(pull(given.directions(v, value))))


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function, and the product of its Jacobian and a vector."""
    given = Given(func, inputs, create_graph, strict)
    direction = given.directions(v, given.inputs[0])
    value, tangent = wg.jvp(given.function, given.inputs, (direction,) if given.is_single else direction)
    return given.finish(value), given.finish(tangent)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function, and the product of its Hessian and a vector."""
    given = Given(func, inputs, create_graph, strict)
    direction = given.directions(v, given.inputs[0])
    gradient = wg.grad(given.function, tuple(range(len(given.inputs))))
    value = given.function(*given.inputs)
    _, product = wg.jvp(gradient, given.inputs, (direction,) if given.is_single else direction)
    return given.finish(value), given.finish(given.per_input(product))


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function, and the product of a vector and its Hessian, which is symmetric."""
    return hvp(func, inputs, v, create_graph, strict)
