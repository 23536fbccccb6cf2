"""Cases that run in PyTorch and in Wengert: layers and functions that both have by the same names.

Numbers of weights, inputs and cotangents come from a generator that the name of the case seeds, so both sides get the
same ones, and only PyTorch's results are stored (`python -m tools.torch_values`). A file `cases_*.py` has a dictionary
`CASES` of objects with the methods `torch_values`, which may be given a module with PyTorch's names, and
`wengert_values`; they return arrays by name.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.core.tree import flatten

Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Integers:
    """An input of integers below `high`."""

    shape: tuple[int, ...]
    high: int

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, self.high, self.shape)


@dataclass(frozen=True)
class Given:
    """An input with these numbers."""

    numbers: Any

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.numbers)


def draw(rng: np.random.Generator, spec: Any) -> np.ndarray:
    """An input: floats for a shape."""
    return rng.uniform(-2.0, 2.0, spec) if isinstance(spec, tuple) else spec.draw(rng)


def generator(name: str) -> np.random.Generator:
    """The generator of a case."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def new_state(name: str, state: Mapping[str, Any]) -> Values:
    """Numbers for the parameters and buffers of a module, by their names and shapes."""
    new = {}
    for path in sorted(state):
        old = np.asarray(state[path])
        if old.dtype.kind == "f":
            new[path] = generator(f"{name} {path}").uniform(
                0.2 if path.endswith("running_var") else -1.0, 1.0, old.shape
            )
        else:
            new[path] = old
    return new


@dataclass(frozen=True)
class LayerCase:
    """A layer, `layer(*args, **kwargs)`, called on `inputs`: results, gradients, and buffers after the call.

    `layer` is a name, or a function that makes a model from a namespace with layers.
    """

    name: str
    layer: str | Callable[[Any], Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ()
    call: Mapping[str, Any] = field(default_factory=dict)
    training: bool = True
    has_dtype: bool = True
    tolerance: float = 1e-10

    def arguments(self, dtype: Any) -> dict[str, Any]:
        return {**self.kwargs, **({"dtype": dtype} if self.has_dtype else {})}

    def torch_values(self, torch: Any = None) -> Values:
        torch = torch or import_module("torch")
        if isinstance(self.layer, str):
            layer = getattr(torch.nn, self.layer)(*self.args, **self.arguments(torch.float64))
        else:
            layer = self.layer(torch.nn).double()
        layer.train(self.training)
        state = new_state(self.name, {k: v.numpy() for k, v in layer.state_dict().items()})
        layer.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        rng = generator(self.name)
        inputs = [torch.tensor(draw(rng, spec)) for spec in self.inputs]
        inputs = [x.requires_grad_() if torch.is_floating_point(x) else x for x in inputs]
        call = {name: torch.tensor(v) if isinstance(v, np.ndarray) else v for name, v in self.call.items()}
        outs = [y for y in flatten(layer(*inputs, **call))[0] if y is not None]
        pull(outs, rng, torch.tensor)
        buffers = dict(layer.named_buffers())
        return collect(outs, inputs, dict(layer.named_parameters()), buffers)

    def wengert_layer(self) -> Any:
        """The layer here, with the numbers of the case."""
        if isinstance(self.layer, str):
            layer = getattr(wg.nn, self.layer)(*self.args, **self.arguments("float64"))
        else:
            layer = self.layer(wg.nn).to("float64")
        layer.train(self.training)
        layer.load_state_dict(new_state(self.name, layer.state_dict()))
        return layer

    def wengert_inputs(self) -> tuple[np.random.Generator, list[Any]]:
        """The generator after it has drawn the inputs, and these."""
        rng = generator(self.name)
        inputs = [draw(rng, spec) for spec in self.inputs]
        return rng, [wg.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]

    def wengert_values(self) -> Values:
        layer = self.wengert_layer()
        rng, inputs = self.wengert_inputs()
        outs = [y for y in flatten(layer(*inputs, **self.call))[0] if y is not None]
        pull(outs, rng, wg.tensor)
        return collect(outs, inputs, dict(layer.named_parameters()), dict(layer.named_buffers()))


@dataclass(frozen=True)
class FunctionCase:
    """A function of `nn.functional` on `inputs`: results and gradients."""

    name: str
    function: str
    inputs: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-10

    def torch_values(self, torch: Any = None) -> Values:
        torch = torch or import_module("torch")
        kwargs = {name: torch.tensor(v) if isinstance(v, np.ndarray) else v for name, v in self.kwargs.items()}
        return self.values(getattr(torch.nn.functional, self.function), torch.tensor, kwargs)

    def wengert_values(self) -> Values:
        return self.values(getattr(wg.nn.functional, self.function), wg.tensor, self.kwargs)

    def values(self, function: Callable[..., Any], make: Callable[..., Any], kwargs: Mapping[str, Any]) -> Values:
        rng = generator(self.name)
        inputs = [make(x, requires_grad=x.dtype.kind == "f") for x in [draw(rng, spec) for spec in self.inputs]]
        outs = flatten(function(*inputs, **kwargs))[0]
        pull(outs, rng, make)
        return collect(outs, inputs, {}, {})


def pull(outs: list[Any], rng: np.random.Generator, make: Callable[..., Any]) -> None:
    """A backward pass from all results, with random cotangents."""
    total = sum((y * make(rng.uniform(-1.0, 1.0, tuple(y.shape)))).sum() for y in outs if y.requires_grad)
    if not isinstance(total, int):
        total.backward()


def collect(outs: list[Any], inputs: list[Any], parameters: Mapping[str, Any], buffers: Mapping[str, Any]) -> Values:
    """Results, gradients and buffers as arrays by name."""
    found = {f"out{i}": y.detach() for i, y in enumerate(outs)}
    found |= {f"input{i}.grad": x.grad for i, x in enumerate(inputs) if x.grad is not None}
    found |= {f"{name}.grad": p.grad for name, p in parameters.items() if p.grad is not None}
    found |= dict(buffers)
    return {name: np.asarray(value.cpu().numpy()) for name, value in found.items()}


def by_name(*cases: Any) -> dict[str, Any]:
    """Cases by their names, which must differ."""
    found = {case.name: case for case in cases}
    assert len(found) == len(cases), "two cases have one name"
    return found


def stored_values(path: Path) -> dict[str, Values]:
    """The stored values of each case of a file."""
    found: dict[str, Values] = {}
    with np.load(path) as arrays:
        for key in arrays:
            name, _, what = key.rpartition("/")
            found.setdefault(name, {})[what] = arrays[key]
    return found


def compare(found: Values, expected: Values, tolerance: float) -> None:
    """Assert that values are equal, up to rounding."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].shape == value.shape, name
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance, err_msg=name)
