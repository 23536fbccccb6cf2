"""`Module`: a function with parameters, found by name; and a tree of them.

Tensors that are assigned to attributes are the state of a module. One that requires a gradient is a parameter, for
good: freezing it does not change that. Any other is a buffer. Attributes that are modules are its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from wengert.core.errors import user_error
from wengert.core.tree import Branch
from wengert.modes.tensor import Tensor, tensor
from wengert.nn.frame import Frame
from wengert.nn.training_mode import TrainingMode


def Parameter(data: Any, requires_grad: bool = True, dtype: Any = None) -> Tensor:  # noqa: N802  # PyTorch's name
    """A tensor that requires a gradient, for an attribute of a module: a copy of the data.

    >>> Parameter([1.0, 2.0])
    tensor([1., 2.], requires_grad=True)
    """
    return tensor(data, requires_grad=requires_grad, dtype=dtype)


class Module(Branch):
    """A function with parameters. Derive from it, assign parameters and other modules, and define `forward`.

    A module is also a tree with the parameters as leaves, so transforms take it as an argument:

    >>> import wengert as wg
    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope = Parameter(2.0)
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> model = Line()
    >>> model(3.0)
    tensor(6., grad_fn=<multiply>)
    >>> wg.grad(lambda model: model(3.0))(model).slope
    tensor(3.)
    """

    training = TrainingMode()
    _parameters: frozenset[str] = frozenset()
    _buffers: frozenset[str] = frozenset()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The value of the module; subclasses define it."""
        raise user_error(
            NotImplementedError, f"{type(self).__name__} has no forward", "Define a method forward(self, x)."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    # State.

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training":
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Tensor) and name not in self._parameters and name not in self._buffers:
            kind = "_parameters" if value.requires_grad else "_buffers"
            self.__dict__[kind] = getattr(self, kind) | {name}
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        for kind in ("_parameters", "_buffers"):
            self.__dict__[kind] = getattr(self, kind) - {name}

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that this one consists of directly, with their names."""
        for name, value in self.__dict__.items():
            if isinstance(value, Module):
                yield name, value

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all modules in it, each once, with their paths."""
        seen: set[int] = set()
        stack = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            children = [(f"{path}.{name}" if path else name, child) for name, child in module.named_children()]
            stack += reversed(children)

    def modules(self) -> Iterator[Module]:
        """This module and all modules in it, each once."""
        return (module for _, module in self.named_modules())

    def children(self) -> Iterator[Module]:
        """The modules that this one consists of directly."""
        return (module for _, module in self.named_children())

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """The parameters of this module and of those in it, each once, with their paths."""
        return self._named("_parameters", prefix)

    def parameters(self) -> Iterator[Tensor]:
        """The parameters of this module and of those in it, each once."""
        return (p for _, p in self.named_parameters())

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """The tensors that are not parameters, each once, with their paths."""
        return self._named("_buffers", prefix)

    def buffers(self) -> Iterator[Tensor]:
        """The tensors that are not parameters, each once."""
        return (b for _, b in self.named_buffers())

    def _named(self, kind: str, prefix: str) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix):
            names = getattr(module, kind)
            for name, value in module.__dict__.items():
                if name in names and value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    # Settings of all modules in this one.

    def train(self, mode: bool = True) -> Self:
        """Set the training mode, in which dropout and batch normalisation differ; returns this module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Leave the training mode; returns this module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (False) or thaw all parameters; returns this module."""
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def zero_grad(self) -> None:
        """Remove the gradients of all parameters."""
        for p in self.parameters():
            p.grad = None

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Call `function` with each module in this one, and with this one last; returns this module."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # Weights by name.

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of the numbers of parameters and buffers, by path."""
        return {name: t.numpy().copy() for name, t in self._named_state()}

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.named_parameters()
        yield from self.named_buffers()

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Assign the numbers of a `state_dict`. With `strict`, its names must be those of this module."""
        raise NotImplementedError  # to be written: see the brief

    # The module as a tree.

    def open_branch(self) -> tuple[Frame, dict[str, Any]]:
        frame = Frame(type(self))
        parts: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if name in self._parameters or isinstance(value, Module):
                parts[name] = value
            else:
                frame.constants[name] = value
        return frame, parts
