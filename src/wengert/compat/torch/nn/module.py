"""`Module` as PyTorch has it: parameters, buffers and modules by name, hooks, and state dicts of tensors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from wengert.compat.torch.devices import check_device
from wengert.compat.torch.nn.module_hooks import Hook, ModuleHooks
from wengert.compat.torch.nn.parameter import Buffer, Parameter
from wengert.compat.torch.values import TorchValue, adopt, plain
from wengert.core.errors import user_error
from wengert.modes.tape import Handle
from wengert.nn.description import arguments
from wengert.nn.module import Keys
from wengert.nn.module import Module as WengertModule

__all__ = ["Module"]


class Module(WengertModule):
    """A function with parameters. Derive from it, assign parameters and other modules, and define `forward`.

    >>> import wengert.compat.torch as torch
    >>> class Line(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = Parameter(torch.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> Line()(torch.tensor(3.0)).item()
    6.0
    """

    def __init__(self) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        hooks = self.__dict__.get("_hooks")
        if hooks is None:
            return super().__call__(*args, **kwargs)
        return hooks.run(self, super().__call__, args, kwargs)

    # State. A tensor is a parameter if it is a `Parameter`, and a buffer if it was registered as one.

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value)
        elif name in self._parameters and value is not None:
            refuse_assignment(self, name, value, "parameter", "torch.nn.Parameter")
        elif name in self._buffers and value is not None and not isinstance(value, TorchValue):
            refuse_assignment(self, name, value, "buffer", "torch.Tensor")
        elif name == "training":
            super().__setattr__(name, value)
        else:
            self.__dict__[name] = value

    def register_parameter(self, name: str, param: Any) -> None:
        """Assign a parameter, or None for one that comes later or never."""
        if param is not None and not isinstance(param, Parameter):
            refuse_assignment(self, name, param, "parameter", "torch.nn.Parameter")
        self.__dict__["_parameters"] = self._parameters | {name}
        self.__dict__[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Assign a tensor that is not trained; one that is not `persistent` is not part of the state dict."""
        if tensor is not None and not isinstance(tensor, TorchValue):
            refuse_assignment(self, name, tensor, "buffer", "torch.Tensor")
        self.__dict__["_buffers"] = self._buffers | {name}
        if not persistent:
            self.__dict__["_transient"] = self._transient | {name}
        self.__dict__[name] = tensor

    def add_module(self, name: str, module: Module | None) -> None:
        """Assign a module by name."""
        setattr(self, name, module)

    register_module = add_module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The parameters of this module and, with `recurse`, of those in it, with their paths."""
        return self._find("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of this module and, with `recurse`, of those in it."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The buffers of this module and, with `recurse`, of those in it, with their paths."""
        return self._find("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of this module and, with `recurse`, of those in it."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _find(self, kind: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            names = getattr(module, kind)
            for name, value in module.__dict__.items():
                if name in names and value is not None and not (once and id(value) in seen):
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def get_submodule(self, target: str) -> Any:
        """The module at a path such as "layers.0.norm"."""
        found: Any = self
        for name in target.split(".") if target else []:
            found = found.__dict__.get(name)
            if not isinstance(found, Module):
                raise user_error(AttributeError, f"{type(self).__name__} has no module {target!r}")
        return found

    def get_parameter(self, target: str) -> Any:
        """The parameter at a path such as "layers.0.weight"."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._parameters:
            raise user_error(AttributeError, f"{type(self).__name__} has no parameter {target!r}")
        return module.__dict__[name]

    def get_buffer(self, target: str) -> Any:
        """The buffer at a path such as "norm.running_mean"."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise user_error(AttributeError, f"{type(self).__name__} has no buffer {target!r}")
        return module.__dict__[name]

    # Settings.

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or set them to zero."""
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else adopt(np.zeros(p.shape, p.dtype))

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point parameters and buffers, in place; a device must be the CPU."""
        dtype = None
        for given in (*args, *kwargs.values()):
            if isinstance(given, TorchValue):
                dtype = given.dtype  # type: ignore[attr-defined]  # all are values
            elif isinstance(given, np.dtype):
                dtype = given
            elif not isinstance(given, bool):
                check_device(given)
        return self if dtype is None else super().to(dtype)

    def float(self) -> Self:
        """Convert parameters and buffers to float32, in place."""
        return super().to(np.float32)

    def double(self) -> Self:
        """Convert parameters and buffers to float64, in place."""
        return super().to(np.float64)

    def half(self) -> Self:
        """Convert parameters and buffers to float16, in place."""
        return super().to(np.float16)

    def cpu(self) -> Self:
        """This module: all modules are on the CPU."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """Raises: there is no such device."""
        return self.to("cuda" if device is None else device)

    # State dicts.

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:
        """Parameters and buffers by path; later changes of the module do not change them."""
        found: OrderedDict[str, Any] = OrderedDict()
        for path, t in self._named_state():
            found[prefix + path] = t if keep_vars else t.detach()
        return found

    def _named_state(self) -> Iterator[tuple[str, Any]]:
        stack: list[tuple[str, Any]] = [("", self)]
        while stack:
            prefix, module = stack.pop()
            for kind in (module._parameters, module._buffers - module._transient):
                for name, value in module.__dict__.items():
                    if name in kind and value is not None:
                        yield f"{prefix}{name}", value
            children = [(f"{prefix}{name}.", c) for name, c in module.__dict__.items() if isinstance(c, WengertModule)]
            stack += reversed(children)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Keys:
        """Assign the numbers of a state dict; nothing changes if they do not fit."""
        if assign:
            raise user_error(NotImplementedError, "load_state_dict(assign=True) is not supported", "Leave it out.")
        try:
            return super().load_state_dict({path: plain(t) for path, t in state_dict.items()}, strict)
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    # Hooks.

    @property
    def hooks(self) -> ModuleHooks:
        """The hooks of this module."""
        return self.__dict__.setdefault("_hooks", ModuleHooks())

    def register_forward_pre_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments."""
        return self.hooks.add("before", Hook(hook, with_kwargs), prepend)

    def register_forward_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output."""
        return self.hooks.add("after", Hook(hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` with the gradients; what it returns replaces `grad_input`."""
        return self.hooks.add("gradients", Hook(hook), prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` before the gradients are computed; what it returns replaces it."""
        return self.hooks.add("output_gradients", Hook(hook), prepend)

    # Text.

    def extra_repr(self) -> str:
        """The settings of a module as text; by default, the arguments that are not the defaults."""
        return arguments(self)

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = []
        for name, child in self.named_children():
            first, *rest = repr(child).splitlines()
            lines += [f"  ({name}): {first}", *[f"  {line}" for line in rest]]
        extra = self.extra_repr()
        if not lines:
            return f"{self._get_name()}({extra})"
        return "\n".join([f"{self._get_name()}({extra}", *lines, ")"])


def refuse_assignment(module: Module, name: str, value: Any, what: str, wanted: str) -> None:
    """Raise for an attribute of the wrong kind."""
    raise user_error(
        TypeError,
        f"{type(module).__name__}.{name} is a {what} and was assigned a {type(value).__name__}",
        f"Assign a {wanted} or None.",
    )
