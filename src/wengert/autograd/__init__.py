"""The PyTorch-style interface: Function, grad, backward, no_grad and relatives, hooks, detect_anomaly, gradcheck."""

from wengert.autograd import hooks  # noqa: F401  # attaches the hooks of nodes
from wengert.autograd.backward import backward, grad
from wengert.autograd.function import Function, once_differentiable
from wengert.autograd.function_context import Context
from wengert.autograd.grad_mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    saved_tensors_hooks,
    set_grad_enabled,
)
from wengert.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from wengert.core.namespaces import name_functions

__all__ = [
    "Context",
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "saved_tensors_hooks",
    "set_grad_enabled",
]

__getattr__, __dir__ = name_functions(globals())
