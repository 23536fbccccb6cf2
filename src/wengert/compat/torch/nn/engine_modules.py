"""Modules of `wg.nn` under PyTorch's conventions.

Such a module has its parameters, buffers and parts as this layer has them. Its `forward` runs that of the module of
`wg.nn` on Wengert's values: a counterpart of the module is made, with the same tensors.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np

from wengert.compat.torch.devices import check_device
from wengert.compat.torch.drawing import default_generator
from wengert.compat.torch.dtypes import get_default_dtype
from wengert.compat.torch.nn.module import Module
from wengert.compat.torch.nn.parameter import Parameter
from wengert.compat.torch.values import TorchValue, adopt, hand_in, plain
from wengert.compat.torch.writing import rebind
from wengert.modes import recording
from wengert.modes.tensor import Tensor as EngineTensor
from wengert.nn.description import arguments, constructor
from wengert.nn.module import Module as WengertModule
from wengert.random.counter_generator import CounterGenerator
from wengert.random.generator import default_rng

LAYERS: dict[type[WengertModule], type[Module]] = {}
"""The class of this layer for each class of `wg.nn`."""


class EngineModule(Module):
    """The base of modules that `wg.nn` has; `engine` is the class there."""

    engine: ClassVar[type[WengertModule]]

    def __init__(self, *args: Any, device: Any = None, dtype: Any = None, **kwargs: Any):
        check_device(device)
        self._settings = plain(args), plain(kwargs), dtype
        take_state(self, self._make())

    def _make(self) -> WengertModule:
        args, kwargs, dtype = self._settings
        known = inspect.signature(self.engine).parameters
        own = {
            "rng": default_rng(default_generator.numpy),
            "dtype": get_default_dtype() if dtype is None else np.dtype(dtype),
        }
        return self.engine(*args, **kwargs, **{name: value for name, value in own.items() if name in known})

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for name, value in self._make().__dict__.items():
            if isinstance(value, EngineTensor) and self.__dict__[name] is not None:
                self.__dict__[name].data = adopt(value)

    def extra_repr(self) -> str:
        """The arguments that are not the defaults."""
        return arguments(self, self.engine)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        counterpart = make_counterpart(self)
        given, named = plain(args), plain(kwargs)
        result = counterpart.forward(*given, **named)
        keep_buffers(self, counterpart)
        if given and result is given[0]:  # as of nn.Identity
            return args[0]
        out = adopt(result)
        return rebind(next(iter((*args, *kwargs.values()))), out) if getattr(self, "inplace", False) else out


def take_state(module: Module, made: WengertModule) -> None:
    """Give a module the attributes of one of `wg.nn`."""
    for name, value in made.__dict__.items():
        if name in made._parameters and value is not None:
            module.register_parameter(name, Parameter(value, value.requires_grad))
        elif name in made._buffers and value is not None:
            module.register_buffer(name, adopt(value), name not in made._transient)
        else:
            module.__dict__[name] = as_layer(value) if isinstance(value, WengertModule) else value


def as_layer(made: WengertModule) -> Module:
    """A module of `wg.nn` as one of this layer."""
    module: Any = object.__new__(LAYERS[type(made)])
    take_state(module, made)
    module.__dict__["_settings"] = (), settings_of(made), next((p.dtype for p in made.parameters()), None)
    return module


def settings_of(made: WengertModule) -> dict[str, Any]:
    """The arguments that a module of `wg.nn` was made with, as far as its attributes tell."""
    cls: Any = type(made)
    found = {}
    for name, default in constructor(cls).items():
        if name in made.__dict__:
            value = made.__dict__[name]
            found[name] = value is not None and value is not False if isinstance(default, bool) else value
    return found


class Visitor:
    """A module that only this layer can run, among modules of `wg.nn`: it gets and returns values of this layer."""

    def __init__(self, module: Module):
        self.module = module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return plain(self.module(*hand_in(args), **hand_in(kwargs)))


def make_counterpart(module: Any) -> Any:
    """The module of `wg.nn` with the tensors of a module."""
    counterpart = object.__new__(module.engine)
    counterpart.__dict__.update({name: as_engine(value) for name, value in module.__dict__.items()})
    return counterpart


def is_engine_module(module: Module) -> bool:
    """Whether a module does what its counterpart does: it has neither a `forward` nor hooks of its own."""
    has_own = type(module).forward not in (EngineModule.forward, WengertModule.forward) or "_hooks" in module.__dict__
    return hasattr(type(module), "engine") and not has_own


def as_engine(value: Any) -> Any:
    """An attribute of a module for its counterpart. Eager draws come from the generator that `manual_seed` sets."""
    if isinstance(value, Module):
        return make_counterpart(value) if is_engine_module(value) else Visitor(value)
    if isinstance(value, CounterGenerator) and recording.current_trace() is None:
        return default_rng(default_generator.numpy)
    return plain(value)


def keep_buffers(module: Module, counterpart: Any) -> None:
    """Assign the buffers that the counterpart of a module has changed."""
    if isinstance(counterpart, Visitor):
        return
    for name in module._buffers:
        old, new = module.__dict__[name], counterpart.__dict__[name]
        if isinstance(old, TorchValue) and new.value is not old.value:  # type: ignore[attr-defined]  # all are values
            old.data = adopt(new)  # type: ignore[attr-defined]  # a tensor
    for name, child in module.named_children():
        keep_buffers(child, counterpart.__dict__[name])  # type: ignore[arg-type]  # of this layer


def layer(engine: type[WengertModule], module: str) -> type[EngineModule]:
    """The class of this layer for a class of `wg.nn`."""
    doc = (engine.__doc__ or "").partition("\n\n")[0]
    made = type(engine.__name__, (EngineModule,), {"engine": engine, "__doc__": doc, "__module__": module})
    made.__signature__ = shown_signature(engine)  # type: ignore[attr-defined]  # for inspect and descriptions
    LAYERS[engine] = made
    return made


def shown_signature(engine: type[WengertModule]) -> inspect.Signature:
    """The signature of a class of `wg.nn`, without the generator."""
    signature = inspect.signature(engine)
    return signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "rng"])
