"""`compile`: a function that is traced once for each signature and runs as native code from then on; and `function`, from symbols."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from wengert.compiler.call import CompiledCall, operation_of
from wengert.compiler.entry import Argument, Result
from wengert.compiler.native import Native, native
from wengert.compiler.python_objects import supported
from wengert.compiler.report import Report
from wengert.core.array import Array
from wengert.core.errors import user_line
from wengert.core.primitive import SHAPED
from wengert.core.spec import Spec
from wengert.core.tree import LEAF, Structure, flatten, unflatten
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import Input, constant
from wengert.modes.symbolic import Symbol
from wengert.ops.shape import astype
from wengert.transforms.tracing import traced

Static = Sequence[int] | int


def compile(f: Callable | None = None, *, static_argnums: Static = (), static_argnames: Sequence[str] | str = ()) -> Any:
    """A function as native code: `compile(f)`, or as a decorator.

    It is traced once for each structure, shapes and dtypes of its arguments. Arguments named in `static_argnums` or `static_argnames` are
    constants, and a new value of them is traced anew; so are truth values, texts, and whatever is no number. Captured arrays are constants.
    The result can be differentiated, batched and compiled again.

    >>> square = compile(lambda x: x * x)
    >>> square(np.array([1.0, 2.0]))
    array([1., 4.])
    """
    if f is None:
        return partial(compile, static_argnums=static_argnums, static_argnames=static_argnames)
    if not callable(f):
        raise TypeError(f"compile takes a function, and was given a {type(f).__name__}, at {user_line()}.")
    if isinstance(f, Compiled) and not static_argnums and not static_argnames:
        return f
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Compiled(f, (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums), names)


def function(inputs: Sequence[Symbol], outputs: Any) -> Callable:
    """The compiled function from symbols to what was built of them: one symbol, or a tree of them.

    >>> from wengert.transforms.tracing import symbol
    >>> x = symbol("x")
    >>> function([x], x * x)(3.0)
    np.float64(9.0)
    """
    nodes = [x.node if isinstance(x, Symbol) else None for x in inputs]
    if not all(isinstance(node, Input) for node in nodes):
        raise TypeError(f"function takes symbols made by wg.symbol as inputs, at {user_line()}.")
    outs, result = flatten(outputs)
    graph = Graph(nodes, [y.node if isinstance(y, Symbol) else constant(y) for y in outs], None, result)  # type: ignore[arg-type]  # checked
    missing = [node for node in graph.nodes if isinstance(node, Input) and node not in nodes]
    if missing:
        names = ", ".join(node.name or "?" for node in missing)
        raise ValueError(f"The outputs depend on {names}, not among the inputs of the function, at {user_line()}. Add them.")
    return compile(Evaluated(graph))


class Evaluated:
    """A graph as a function, which converts what it is given to the dtypes of its inputs."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.__name__ = "function"

    def __call__(self, *args: Any) -> Any:
        converted = [
            a if isinstance(a, SHAPED) and a.dtype == node.dtype else astype(a, node.dtype)
            for a, node in zip(args, self.graph.inputs, strict=True)
        ]
        return self.graph.evaluate(*converted)


class Compiled:
    """A function that runs as native code."""

    def __init__(self, f: Callable, static_argnums: tuple[int, ...] = (), static_argnames: tuple[str, ...] = ()):
        update_wrapper(self, f, updated=())
        self.f, self.static_argnums, self.static_argnames = f, static_argnums, static_argnames
        self.name = getattr(f, "__name__", type(f).__name__)
        self.known: dict[Any, Signature] = {}
        self.derived: dict[Any, Compiled] = {}
        self.fast: Callable = missed
        self.lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            result = self.fast(*args)
            if result is not NotImplemented:
                return result
        return self.general(args, kwargs)

    def general(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Any arguments: find the signature, or make it, and run it."""
        leaves, structure, constants = self.opened(args, kwargs)
        tracked = [x for x in leaves if isinstance(x, Array)]
        if any(isinstance(x, Symbol) for x in map(bottom, tracked)):
            return self.f(*args, **kwargs)  # part of a larger trace
        signature = self.signature(leaves, structure, constants)
        if tracked or signature.captured:
            call = CompiledCall(self, signature, leaves)
            return unflatten(signature.result, call(operation_of(self.name)))
        outs = signature.native([x for x in leaves if is_traced(x)])
        if signature.native.entry is not None:
            self.fast = signature.native.entry
        return unflatten(signature.result, outs)

    def opened(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list, Structure, tuple]:
        """The leaves of the arguments, their structure, and the arguments that are constants."""
        if not self.static_argnums and not self.static_argnames:
            return *flatten((args, kwargs)), ()
        places = {i % len(args) for i in self.static_argnums if -len(args) <= i < len(args)}
        static = [(i, a) for i, a in enumerate(args) if i in places] + [(k, v) for k, v in kwargs.items() if k in self.static_argnames]
        for key, value in static:
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"The static argument {key!r} is a {type(value).__name__}, which cannot be hashed, at {user_line()}. "
                    f"Pass a number, a text or a tuple, or do not make it static."
                ) from None
        rest = tuple([Fixed(a) if i in places else a for i, a in enumerate(args)])
        named = {k: Fixed(v) if k in self.static_argnames else v for k, v in kwargs.items()}
        return *flatten((rest, named)), tuple(static)

    def signature(self, leaves: Sequence[Any], structure: Structure, constants: tuple) -> Signature:
        """What is known of calls like this one."""
        key = structure, tuple([leaf_key(x) for x in leaves]), constants
        found = self.known.get(key)
        if found is None:
            with self.lock:
                found = self.known.get(key)
                if found is None:
                    found = self.known[key] = Signature(self, leaves, structure)
        return found

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph of the function for arguments like these, as it was traced."""
        return self.signature(*self.opened(args, kwargs)).graph

    def report(self, *args: Any, **kwargs: Any) -> Report:
        """What the function became for arguments like these: kernels, fallbacks, memory, time, LLVM's text."""
        signature = self.signature(*self.opened(args, kwargs))
        return Report(self.name, signature.native.build, signature.native.is_warm)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else partial(self, instance)

    def __reduce__(self) -> tuple:
        return Compiled, (self.f, self.static_argnums, self.static_argnames)

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"


class Fixed:
    """A static argument among the leaves."""

    def __init__(self, value: Any):
        self.value = value


class Signature:
    """One structure, shapes and dtypes of arguments: the graph, its native program, and the trees to put results in."""

    def __init__(self, compiled: Compiled, leaves: Sequence[Any], structure: Structure):
        plain = [x.value if isinstance(x, Fixed) else Spec.of(x) if isinstance(x, Array) else x for x in leaves]
        self.structure = structure
        fixed = [isinstance(x, Fixed) for x in leaves]
        self.is_input = [is_traced(x) and not still for x, still in zip(plain, fixed, strict=True)]
        graph = traced(compiled.f, plain, structure, fixed)
        self.graph, self.captured = lifted(graph)
        assert graph.result is not None
        self.result = graph.result
        self.name = compiled.name
        self.leaves = plain
        self._native: Native | None = None
        self.lock = compiled.lock

    @property
    def native(self) -> Native:
        """Compiled when it is first run: a function that is only differentiated never is."""
        if self._native is None:
            with self.lock:
                if self._native is None:
                    arguments, result = self.entry_signature()
                    self._native = native(self.graph, arguments, result, self.name)
        return self._native

    def entry_signature(self) -> tuple[list[Argument] | None, Result | None]:
        """What the native entry takes and gives; None where only the general path will do."""
        positional, keywords = self.structure.children
        arguments = [Argument.of(x) for x in self.leaves]
        result = as_result(self.result, iter([node.spec for node in self.graph.outputs]))
        simple = all(child is LEAF for child in positional.children) and not keywords.children and all(self.is_input)
        if not simple or self.captured or None in arguments or result is None or not supported():
            return None, None
        return arguments, result  # type: ignore[return-value]  # None is not among them


def missed(*args: Any) -> Any:
    """Before there is a native entry."""
    return NotImplemented


def bottom(x: Any) -> Any:
    """The value of the lowest level inside another."""
    while isinstance(x, Array) and isinstance(x.value, Array):
        x = x.value
    return x


def leaf_key(x: Any) -> Any:
    """What makes two arguments the same to a compiled function."""
    if isinstance(x, SHAPED):
        return "array", x.shape, x.dtype
    if isinstance(x, Fixed):
        return "static"
    return x.__class__ if is_traced(x) else (x.__class__, x)


def lifted(graph: Graph) -> tuple[Graph, list]:
    """Captured values as further inputs."""
    captured = [node for node in graph.constants if node.is_captured]
    if not captured:
        return graph, []
    new: dict[Any, Any] = {node: Input(node.spec, name="captured") for node in captured}
    for node in graph.operations:
        if any(a in new for a in node.args):
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    inputs = (*graph.inputs, *[new[node] for node in captured])
    outputs = [new.get(node, node) for node in graph.outputs]
    return Graph(inputs, outputs, graph.arguments, graph.result), [node.value for node in captured]


def as_result(structure: Structure, specs: Any) -> Result | None:
    """A structure of nested tuples as the native entry knows it."""
    if structure is LEAF:
        spec = next(specs)
        return (
            spec if Argument.of(np.empty(spec.shape, spec.dtype) if spec.size < 1 << 16 else np.empty(0, spec.dtype)) is not None else None
        )
    if structure.make is not tuple:
        return None
    parts = [as_result(child, specs) for child in structure.children]
    return None if None in parts else tuple(parts)  # type: ignore[arg-type]
