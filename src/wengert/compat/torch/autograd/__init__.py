"""`torch.autograd`: gradients of tensors, and operations with hand-written derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import autograd as engine
from wengert.autograd import (
    GradcheckError,
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from wengert.compat.differences import without
from wengert.compat.torch.autograd import forward_ad, functional, graph
from wengert.compat.torch.autograd.function import Function, once_differentiable
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.values import TorchValue, hand_out, inward, plain
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.history import differentiate

__all__ = [
    "Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional",
    "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "no_grad",
    "once_differentiable", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)


def as_list(tensors: Any) -> list[Any]:
    """One tensor or several, as a list."""
    return [tensors] if isinstance(tensors, Array) else list(tensors)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of outputs with respect to each of the inputs, as a tuple.

    >>> import wengert.compat.torch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> grad(x * x, x)
    (tensor(6.),)
    """
    if is_grads_batched:
        raise user_error(NotImplementedError, "is_grads_batched=True", "Use torch.func.vmap over torch.func.vjp.")
    if not only_inputs:
        raise user_error(TypeError, "only_inputs=False was removed from PyTorch", "Use torch.autograd.backward.")
    given = plain(as_list(outputs)), plain(as_list(inputs)), plain(grad_outputs)
    found: tuple[Any, ...] = hand_out(engine.grad(*given, retain_graph, create_graph, allow_unused, materialize_grads))
    return found


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of tensors to the `grad` of the leaves behind them, or of `inputs`."""
    outputs = plain(as_list(tensors))
    vectors = [None] * len(outputs) if grad_tensors is None else plain(as_list(grad_tensors))
    differentiate(outputs, vectors, retain_graph, create_graph, None if inputs is None else as_list(inputs))


def Variable(data: Any, requires_grad: bool = False) -> Any:  # noqa: N802  # as in PyTorch
    """A tensor, as programs of old versions write it."""
    return data.requires_grad_() if requires_grad else data


class set_detect_anomaly:
    """Keep the user's lines of operations and look for NaN in backward passes: from now on, or in a `with` block."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.block = recording.switch(anomalies=mode, check_nan=mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        recording.leave(self.block)


def gradcheck(
    func: Any, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> bool:
    """Whether the gradients of a function agree with differences of its values."""
    given = (inputs,) if isinstance(inputs, TorchValue) else tuple(inputs)
    return bool(
        engine.gradcheck(inward(func), plain(given), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
    )


def gradgradcheck(
    func: Any,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether the second derivatives of a function agree with differences of its gradients."""
    given: Sequence[Any] = (inputs,) if isinstance(inputs, TorchValue) else tuple(inputs)
    return bool(
        engine.gradgradcheck(
            inward(func),
            plain(given),
            plain(grad_outputs),
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
        )
    )
