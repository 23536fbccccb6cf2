"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from wengert.core.errors import user_error
from wengert.nn.module import Module, Parameter

Part = TypeVar("Part")


class ModuleList(Module):
    """A list of modules, whose parameters are found; their names are 0, 1 and so on.

    >>> from wengert.nn import Linear
    >>> layers = ModuleList([Linear(2, 2), Linear(2, 1)])
    >>> len(layers), [name for name, _ in layers.named_parameters()]
    (2, ['0.weight', '0.bias', '1.weight', '1.bias'])
    """

    def __init__(self, modules: Iterable[Module] = ()):
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end; returns this list."""
        setattr(self, str(len(self)), as_module(module, type(self).__name__))
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end; returns this list."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before another one."""
        items = list(self)
        items.insert(index, as_module(module, type(self).__name__))
        self._replace(items)

    def _replace(self, items: list[Module]) -> None:
        for name in [str(i) for i in range(len(self))]:
            del self.__dict__[name]
        self.extend(items)

    def __len__(self) -> int:
        return sum(name.isdecimal() for name in self.__dict__)

    def __iter__(self) -> Iterator[Module]:
        return iter([value for name, value in self.__dict__.items() if name.isdecimal()])

    def __getitem__(self, index: int | slice) -> Any:
        items = list(self)
        return type(self)(items[index]) if isinstance(index, slice) else items[index]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(range(len(self))[index]), as_module(module, type(self).__name__))

    def __delitem__(self, index: int | slice) -> None:
        items = list(self)
        del items[index]
        self._replace(items)


class Sequential(ModuleList):
    """Modules, one after the other; or, with names, a dictionary of them.

    >>> from wengert.nn import Linear, ReLU
    >>> Sequential(Linear(3, 4), ReLU(), Linear(4, 1))
    Sequential(
      (0): Linear(in_features=3, out_features=4)  # 16 parameters
      (1): ReLU()
      (2): Linear(in_features=4, out_features=1)  # 5 parameters
    )  # 21 parameters
    """

    def __init__(self, *modules: Any):
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                setattr(self, name, as_module(module, "Sequential"))
        else:
            self.extend(modules)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __len__(self) -> int:
        return sum(isinstance(value, Module) for value in self.__dict__.values())

    def __iter__(self) -> Iterator[Module]:
        return iter([value for value in self.__dict__.values() if isinstance(value, Module)])

    def __getitem__(self, index: int | slice) -> Any:
        items = list(self)
        return Sequential(*items[index]) if isinstance(index, slice) else items[index]

    def __setitem__(self, index: int, module: Module) -> None:
        names = [name for name, value in self.__dict__.items() if isinstance(value, Module)]
        setattr(self, names[index], as_module(module, "Sequential"))


class NamedParts(Generic[Part]):
    """What modules with parts by name have in common; `items` lists the parts, which are attributes."""

    def items(self) -> list[tuple[str, Part]]:
        """The names and the parts."""
        raise NotImplementedError  # each class knows its parts

    def update(self, parts: Mapping[str, Part] | Iterable[tuple[str, Part]]) -> None:
        """Add parts, or replace those of the same name."""
        for name, part in dict(parts).items():
            self[name] = part

    def __setitem__(self, name: str, part: Part) -> None:
        kind = type(self).__name__
        if hasattr(type(self), name) or "." in name:
            raise user_error(ValueError, f"A part of a {kind} cannot have the name {name!r}", "Use another one.")
        setattr(self, name, part)

    def __getitem__(self, name: str) -> Part:
        return dict(self.items())[name]

    def __delitem__(self, name: str) -> None:
        delattr(self, name)

    def __contains__(self, name: str) -> bool:
        return name in dict(self.items())

    def __len__(self) -> int:
        return len(self.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, _ in self.items()]

    def values(self) -> list[Part]:
        """The parts."""
        return [part for _, part in self.items()]


class ModuleDict(NamedParts[Module], Module):
    """Modules by name, whose parameters are found.

    >>> from wengert.nn import Linear
    >>> heads = ModuleDict({"a": Linear(2, 1), "b": Linear(2, 3)})
    >>> list(heads), heads["b"].out_features
    (['a', 'b'], 3)
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()):
        self.update(modules)

    def __setitem__(self, name: str, module: Module) -> None:
        super().__setitem__(name, as_module(module, "ModuleDict"))

    def items(self) -> list[tuple[str, Module]]:
        """The names and the modules."""
        return [(name, value) for name, value in self.__dict__.items() if isinstance(value, Module)]


class ParameterList(Module):
    """A list of parameters, which are found; their names are 0, 1 and so on.

    >>> weights = ParameterList([[1.0, 2.0], [3.0]])
    >>> weights[1]
    tensor([3.], requires_grad=True)
    """

    def __init__(self, parameters: Iterable[Any] = ()):
        for parameter in parameters:
            self.append(parameter)

    def append(self, parameter: Any) -> ParameterList:
        """Add a parameter, or data to make one of, at the end; returns this list."""
        is_made = getattr(parameter, "requires_grad", False)
        setattr(self, str(len(self)), parameter if is_made else Parameter(parameter))
        return self

    def __len__(self) -> int:
        return sum(name.isdecimal() for name in self.__dict__)

    def __iter__(self) -> Iterator[Any]:
        return iter([value for name, value in self.__dict__.items() if name.isdecimal()])

    def __getitem__(self, index: int) -> Any:
        return list(self)[index]


class Residual(Module):
    """x + module(x), or x + the value of several modules, one after the other.

    >>> from wengert.nn import Identity
    >>> Residual(Identity())(3.0)
    6.0
    """

    def __init__(self, *modules: Module):
        self.module = modules[0] if len(modules) == 1 else Sequential(*modules)

    def forward(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        out = self.module(input, *args, **kwargs)
        if getattr(out, "shape", ()) != getattr(input, "shape", ()):
            raise user_error(
                ValueError,
                f"Residual: an input of shape {getattr(input, 'shape', ())} became {getattr(out, 'shape', ())}",
                "The shapes must be equal.",
            )
        return input + out


def as_module(value: Any, container: str) -> Any:
    """A part of a container, which must be a module."""
    if not isinstance(value, Module):
        raise user_error(
            TypeError,
            f"{container} takes modules, and was given a {type(value).__name__}",
            "A function has a module: nn.ReLU() for wg.relu." if callable(value) else "",
        )
    return value
