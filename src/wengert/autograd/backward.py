"""Differentiate values: `backward` adds to the `grad` of leaves, `grad` returns the gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.modes.backward import conform
from wengert.modes.forward import zeros_like
from wengert.modes.history import current_values, differentiate
from wengert.modes.tape import TapeNode
from wengert.modes.tensor import Tensor, adopt_array, to_gradient

Tensors = Tensor | Iterable[Tensor]


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the derivatives of all `tensors`, summed, to the `grad` of the leaves behind them, or of `inputs`.

    `grad_tensors` has one vector of the vector-Jacobian product for each; a tensor of one element needs none.

    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> backward([x * x, 3.0 * x])
    >>> x.grad
    tensor(7.)
    """
    outputs = tensor_list(tensors)
    differentiate(
        outputs,
        output_vectors(grad_tensors, outputs),
        retain_graph,
        create_graph,
        None if inputs is None else tensor_list(inputs),
    )


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to each of `inputs`, leaves or intermediate values.

    The `grad` of tensors does not change. An input that the outputs do not depend on is an error, unless `allow_unused`
    (its gradient is None) or `materialize_grads` (zeros).

    >>> x = Tensor(np.float64(3.0)).requires_grad_()
    >>> (dx,) = grad(x * x, x, create_graph=True)
    >>> grad(dx, x)
    (tensor(2.),)
    """
    if materialize_grads and allow_unused is False:
        raise user_error(
            ValueError,
            "grad got materialize_grads=True and allow_unused=False",
            "Leave allow_unused out, or pass True.",
        )
    results, wanted = tensor_list(outputs), current_values(tensor_list(inputs))
    found: dict[TapeNode, Any] = {}
    differentiate(results, output_vectors(grad_outputs, results), retain_graph, create_graph, wanted, found.__setitem__)
    gradients: list[Tensor | None] = []
    for i, x in enumerate(wanted):
        assert x.node is not None
        t = found.get(x.node)
        if t is not None:
            gradients.append(to_gradient(conform(t, x.shape, x.dtype)))
        elif materialize_grads:
            gradients.append(adopt_array(zeros_like(x)))
        elif allow_unused:
            gradients.append(None)
        else:
            raise user_error(
                GradientError,
                f"inputs[{i}], of shape {x.shape}, was not used to compute the outputs",
                "Pass allow_unused=True to get None for it, or materialize_grads=True for zeros.",
            )
    return tuple(gradients)


def tensor_list(tensors: Any) -> list[Tensor]:
    """One tensor or several, as a list."""
    return list(tensors) if isinstance(tensors, Iterable) and not isinstance(tensors, Array | np.ndarray) else [tensors]


def output_vectors(gradients: Any, outputs: list[Tensor]) -> list[Any]:
    """One vector for each output; those that were left out are None."""
    if gradients is None:
        return [None] * len(outputs)
    several = isinstance(gradients, tuple | list) and (len(outputs) != 1 or len(gradients) == 1)
    given = list(gradients) if several else [gradients]
    if len(given) != len(outputs):
        raise user_error(
            GradientError,
            f"{len(given)} gradients were given for {len(outputs)} outputs",
            "Give one, or None, for each.",
        )
    return given
