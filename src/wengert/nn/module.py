"""`Module`: a function with parameters, found by name; and a tree of them.

Tensors that are assigned to attributes are the state of a module. One that requires a gradient is a parameter, for
good: freezing it does not change that. Any other is a buffer. Attributes that are modules are its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from wengert.core.array import Array
from wengert.core.devices import LIBRARIES, move
from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.tree import Branch
from wengert.modes import recording
from wengert.modes.tensor import Tensor, tensor
from wengert.nn.description import describe_module
from wengert.nn.error_paths import note_path
from wengert.nn.frame import Dismantling, Frame
from wengert.nn.state import check_state
from wengert.nn.training_mode import TrainingMode


def Parameter(data: Any, requires_grad: bool = True, dtype: Any = None) -> Tensor:  # noqa: N802  # PyTorch's name
    """A tensor that requires a gradient, for an attribute of a module: a copy of the data.

    >>> Parameter([1.0, 2.0])
    tensor([1., 2.], requires_grad=True)
    """
    return tensor(data, requires_grad=requires_grad, dtype=dtype)


class Keys(NamedTuple):
    """What `load_state_dict(strict=False)` did not use: names without numbers, and numbers without a name."""

    missing_keys: list[str]
    unexpected_keys: list[str]


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
    tensor(6., grad_fn=<multiply node>)
    >>> wg.grad(lambda model: model(3.0))(model).slope
    tensor(3.)
    """

    training = TrainingMode()
    _parameters: frozenset[str] = frozenset()
    _buffers: frozenset[str] = frozenset()
    _transient: frozenset[str] = frozenset()

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002  # those of the subclass
        """The value of the module; subclasses define it."""
        raise user_error(
            NotImplementedError, f"{type(self).__name__} has no forward", "Define a method forward(self, x)."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if recording.active:
                return recording.as_read(self.forward)(*args, **kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            note_path(error, self)
            raise

    # State.

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training":
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Tensor):
            if name not in self._parameters and name not in self._buffers:
                kind = "_parameters" if value.requires_grad else "_buffers"
                self.__dict__[kind] = getattr(self, kind) | {name}
        elif name in self._parameters:
            if value is not None and not isinstance(value, Array):
                raise user_error(
                    TypeError,
                    f"{type(self).__name__}.{name} is a parameter and was assigned a {type(value).__name__}",
                    f"Assign wg.nn.Parameter(...), or new numbers: module.{name}.data = ...",
                )
        elif isinstance(value, list | tuple | dict):
            refuse_hidden(value, f"{type(self).__name__}.{name}")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        for kind in ("_parameters", "_buffers", "_transient"):
            self.__dict__[kind] = getattr(self, kind) - {name}

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Assign a buffer: a tensor, an array, or None for one that comes later.

        One that is not `persistent` is not part of the state dict.
        """
        self._buffers = self._buffers | {name}
        if not persistent:
            self._transient = self._transient | {name}
        setattr(self, name, tensor if tensor is None or isinstance(tensor, Tensor) else Tensor(np.array(tensor)))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that this one consists of directly, each once, with their names."""
        seen: set[int] = set()
        for name, value in self.__dict__.items():
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
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
        """The modules that this one consists of directly, each once."""
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

    def to(self, dtype: Any = None, *, device: Any = None) -> Self:
        """Move all parameters and buffers to a device, convert those of floating-point numbers to a precision.

        In place; returns this module. `to("cuda")` names a device, `to("float64")` a precision.

        >>> from wengert.nn import Linear
        >>> Linear(2, 3).to("float64").weight.dtype
        dtype('float64')
        """
        if isinstance(dtype, str) and dtype.partition(":")[0] in ("cpu", *LIBRARIES):
            dtype, device = None, dtype
        if device is not None:
            self._replace_numbers(lambda numbers: move(numbers, device))
        return self if dtype is None else self._convert(np.dtype(dtype))

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU, in place; returns this module."""
        return self.to(device="cpu")

    def _convert(self, dtype: np.dtype) -> Self:
        if dtype.kind not in "fc":
            raise user_error(TypeError, f"A module cannot have parameters of dtype {dtype}", "Use a floating dtype.")
        self._replace_numbers(
            lambda numbers: numbers.astype(dtype, copy=False) if numbers.dtype.kind == "f" else numbers
        )
        return self

    def _replace_numbers(self, replace: Callable[[Any], Any]) -> None:
        """Replace the numbers of all parameters and buffers, and of their gradients."""
        for t in (*self.parameters(), *self.buffers()):
            new = replace(t.value)
            if new is not t.value:
                is_live, gradient = t.requires_grad, t.grad
                t.requires_grad = False
                t.value, t.grad = new, None
                t.requires_grad = is_live
                t.grad = None if gradient is None else replace(gradient.value)

    # Weights by name.

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of the numbers of parameters and buffers, by path. Shared tensors have each of their paths."""
        return {path: t.detach().cpu().numpy().copy() for path, t in self._named_state()}

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        stack: list[tuple[str, Module]] = [("", self)]
        while stack:
            prefix, module = stack.pop()
            names = (module._parameters | module._buffers) - module._transient
            for name, value in module.__dict__.items():
                if name in names and value is not None:
                    yield f"{prefix}{name}", value
            children = [(f"{prefix}{name}.", c) for name, c in module.__dict__.items() if isinstance(c, Module)]
            stack += reversed(children)

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Keys:
        """Assign the numbers of a `state_dict`, of Wengert or PyTorch; nothing changes if they do not fit.

        With `strict`, the names must be those of this module. Without, the result says which were not used; the shapes
        must fit all the same.
        """
        known = dict(self._named_state())
        missing, unexpected, arrays = check_state(type(self).__name__, known, state, strict)
        for path, numbers in arrays.items():
            known[path].data = Tensor(numpy_of(known[path]).asarray(numbers))
        return Keys(missing, unexpected)

    # The module as a tree.

    def open_branch(self) -> tuple[Frame, dict[str, Any]]:
        taken = Dismantling(self)
        return Frame(type(self), taken.records), taken.parameters

    def __repr__(self) -> str:
        return describe_module(self)


def refuse_hidden(container: Any, name: str) -> None:
    """Raise an error for modules and parameters in a plain container, where they would not be found."""
    for value in container.values() if isinstance(container, dict) else container:
        if isinstance(value, Module) or (isinstance(value, Tensor) and value.requires_grad and value.is_leaf):
            what, kind = ("modules", "ModuleDict" if isinstance(container, dict) else "ModuleList")
            if isinstance(value, Tensor):
                what, kind = "parameters", "ParameterList"
            raise user_error(
                TypeError,
                f"{name} is a {type(container).__name__} of {what}, in which they would not be found",
                f"Use wg.nn.{kind}.",
            )
