"""Calls of compiled functions with arrays on a GPU.

The signature of a call, and with it the trace, is that of NumPy's arrays of the same shapes and dtypes; each device has
a program of its own for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wengert.compiler.nests.thread_order import VECTOR_BYTES
from wengert.core.array import Array
from wengert.core.devices import ARRAY_CLASSES, LIBRARIES, find_device
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.core.tree import LEAF, flatten, unflatten
from wengert.graph.graph import Graph, is_traced
from wengert.modes.tensor import Tensor

if TYPE_CHECKING:
    from wengert.compiler.call.call_signature import Signature
    from wengert.compiler.call.compiled import Compiled


class Backend(Protocol):
    """Arrays and programs of one kind of device."""

    array_type: Any

    def number_of(self, array: Any) -> int:
        """The number of the device that an array is on."""

    def use(self, number: int | None) -> AbstractContextManager[Any]:
        """A context in which new arrays are on a device; None is the current one."""

    def address_of(self, array: Any) -> int:
        """Where an array is in the device's memory."""

    def current(self) -> int:
        """The number of the current device."""

    def to_device(self, x: Any, dtype: np.dtype) -> Any:
        """A contiguous array on the current device."""

    def to_host(self, array: Any) -> np.ndarray:
        """A copy as an array of NumPy."""

    def compile(self, graph: Graph, name: str, rolls: bool) -> Callable[[Sequence[Any]], list[Any]]:
        """The program of a graph on the current device."""


def find_backend(device: str | None) -> Backend | None:
    """The kind of device that a user named, or, without a name, the one whose library is in use."""
    if device is not None:
        library, _ = find_device(device)
    else:
        library = next((library for library in LIBRARIES.values() if library.is_imported), None)
    return None if library is None else library.backend()


class DeviceArguments:
    """The arguments of a call on a device: `own` are arrays of the device, each with a spec that stands for it."""

    def __init__(self, compiled: Compiled, backend: Backend, args: tuple, kwargs: dict[str, Any]):
        leaves, structure = flatten((args, kwargs))
        self.own = [x for x in leaves if isinstance(x, backend.array_type)]
        self.has_values = any(isinstance(x, Array) for x in leaves)
        self.are_for_device = bool(self.own or compiled.device)
        specs = [Spec(x.shape, x.dtype) for x in self.own]
        self.given = {id(spec): x for spec, x in zip(specs, self.own, strict=True)}
        self.leaves, following = leaves, iter(specs)
        marked = [next(following) if isinstance(x, backend.array_type) else x for x in leaves]
        self.args, self.kwargs = unflatten(structure, marked)


def call_on_device(compiled: Compiled, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call with arrays on a device, or for a device that the user named; NotImplemented for others.

    A call that is recorded is one of them: its parts are called with plain arrays later.
    """
    backend = find_backend(compiled.device)
    if backend is None:
        return NotImplemented
    found = DeviceArguments(compiled, backend, args, kwargs)
    if found.has_values or not found.are_for_device:
        return NotImplemented
    own = found.own
    with backend.use(choose_device(compiled.name, compiled.device, backend, found.leaves)):
        flat, tree = compiled.flatten_arguments(found.args, found.kwargs)
        signature = compiled.signature(flat, tree)
        if signature.is_tracked or not signature.can_run(flat, []):
            return NotImplemented
        program = program_of(signature, backend, backend.current())
        values = [found.given.get(id(x), x) for x in flat if is_traced(x)]
        values += [captured_value(x, signature, backend) for x in signature.captured]
        outs = signature.write_back(program(on_device(values, signature, backend)))
        if not own:
            outs = [backend.to_host(y) for y in outs]
            outs = [y if y.ndim else y[()] for y in outs]
    is_plain = own and not (signature.captured or signature.assignments or kwargs or signature.captures)
    if is_plain and all(map(lambda a, b: a is b, args, own)) and len(args) == len(own):
        compiled.install(Entry(program, signature, backend, own))
    if signature.gives_tensors:
        outs = [Tensor(y) for y in outs]
    return unflatten(signature.result, outs)


def run_signature(signature: Signature, values: Sequence[Any]) -> list[Any]:
    """The results of a program for arguments and captured values, some of which are on a device."""
    backend = next(ARRAY_CLASSES[x.__class__] for x in values if x.__class__ in ARRAY_CLASSES).backend()
    holders = [None] * signature.first_captured + signature.captured
    placed = [x for x, holder in zip(values, holders, strict=True) if not getattr(holder, "is_passed_on", False)]
    with backend.use(choose_device(signature.name, None, backend, placed)):
        found: list[Any] = program_of(signature, backend, backend.current())(on_device(values, signature, backend))
        return found


def on_device(values: Sequence[Any], signature: Signature, backend: Backend) -> list[Any]:
    """The inputs of a program on the current device."""
    return [backend.to_device(x, node.dtype) for x, node in zip(values, signature.graph.inputs, strict=True)]


def choose_device(name: str, device: str | None, backend: Backend, leaves: Sequence[Any]) -> int | None:
    """The number of the device that all arrays of a call are on, or that the user named."""
    own = [x for x in leaves if isinstance(x, backend.array_type)]
    numbers = {backend.number_of(x) for x in own}
    if len(numbers) > 1:
        raise user_error(
            ValueError,
            f"{name} was called with arrays on {len(numbers)} devices: {', '.join(map(str, sorted(numbers)))}",
            "Copy them to one of them.",
        )
    others = [x for x in leaves if isinstance(x, np.ndarray) and not isinstance(x, backend.array_type) and x.ndim]
    if own and others:
        raise user_error(
            ValueError,
            f"{name} was called with arrays of NumPy and arrays on a device",
            "Move all of them to the device, or call it with arrays of NumPy and compile(f, device='cuda').",
        )
    named = (device or "").partition(":")[2]
    return numbers.pop() if numbers else int(named) if named else None


def captured_value(x: Any, signature: Signature, backend: Backend) -> Any:
    """The numbers of a captured tensor, which must be on the device."""
    value = x.value
    if not (isinstance(value, backend.array_type) or x.is_passed_on) and np.ndim(value):
        raise user_error(
            ValueError,
            f"{signature.name}, called with arrays on a device, uses a tensor of shape {np.shape(value)} on the CPU",
            "Make the tensor of an array on the device.",
        )
    return value


def program_of(signature: Signature, backend: Backend, number: int) -> Any:
    """The program of a signature on a device."""
    found = signature.on_devices.get(number)
    if found is None:
        found = signature.on_devices[number] = backend.compile(signature.graph, signature.name, signature.rolls)
    return found


def report(compiled: Compiled, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The report on the program for arguments like these on a device; NotImplemented for others."""
    backend = find_backend(compiled.device)
    if backend is None:
        return NotImplemented
    found = DeviceArguments(compiled, backend, args, kwargs)
    if not found.are_for_device:
        return NotImplemented
    with backend.use(choose_device(compiled.name, compiled.device, backend, found.leaves)):
        signature = compiled.signature(*compiled.flatten_arguments(found.args, found.kwargs))
        return program_of(signature, backend, backend.current()).report()


class Entry:
    """A call with arrays of known shapes and dtypes on one device; NotImplemented for others."""

    def __init__(self, program: Any, signature: Signature, backend: Backend, arrays: Sequence[Any]):
        self.run, self.result, self.type = program, signature.result, arrays[0].__class__
        self.specs = [(x.shape, x.dtype) for x in arrays]
        self.count, self.number, self.number_of = len(arrays), backend.number_of(arrays[0]), backend.number_of
        self.current, self.address_of = backend.current, backend.address_of
        self.signature = signature if signature.guards else None
        self.is_leaf = self.result is LEAF
        self.is_tuple = self.result.make is tuple and all(child is LEAF for child in self.result.children)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != self.count or (self.signature is not None and not self.signature.holds):
            return NotImplemented
        for x, (shape, dtype) in zip(args, self.specs, strict=True):
            if x.__class__ is not self.type or x.shape != shape or x.dtype != dtype or not x.flags.c_contiguous:
                return NotImplemented
            if self.number_of(x) != self.number or self.address_of(x) % VECTOR_BYTES:
                return NotImplemented
        if self.current() != self.number:
            return NotImplemented
        outs = self.run(args)
        if self.is_leaf:
            return outs[0]
        return tuple(outs) if self.is_tuple else unflatten(self.result, outs)
