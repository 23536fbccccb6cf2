"""`compile`: a function that is traced once for each signature and then runs as native code.

And `function`, which compiles expressions of symbols.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial, update_wrapper
from importlib import import_module
from operator import attrgetter
from types import FrameType
from typing import Any, Generic, Never, ParamSpec, TypeVar, overload
from weakref import WeakSet

from wengert.compiler.call.call_signature import Fixed, Signature, leaf_key, static_arguments, unhashable
from wengert.compiler.call.report import Report
from wengert.compiler.call.transformed_call import CompiledCall, operation_of
from wengert.compiler.machine.translation import EFFORTS, Effort
from wengert.compiler.nests.decisions import Policy
from wengert.core import machine
from wengert.core.array import Array
from wengert.core.devices import has_device_arrays
from wengert.core.errors import user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import iterate_payloads, strip_level
from wengert.core.primitive import as_constant
from wengert.core.spec import Spec
from wengert.core.tree import Structure, flatten, unflatten
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import Input, make_constant
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet
from wengert.modes.tensor import Tensor
from wengert.ops.shape.casting import astype
from wengert.transforms.transformed_function import function_name

Static = Sequence[int] | int
P = ParamSpec("P")
R = TypeVar("R")
DIFFERENTIATED = (Tensor, Dual, Jet, Batched)
"""Values for which a call of a compiled function is one operation."""


@overload
def compile(
    f: Callable[P, R],
    *,
    static_argnums: Static = (),
    static_argnames: Sequence[str] | str = (),
    check: bool = False,
    unroll: bool | int | None = None,
    effort: Effort | None = None,
    decide: Policy | None = None,
    device: str | None = None,
) -> Compiled[P, R]: ...


@overload
def compile(
    f: None = None,
    *,
    static_argnums: Static = (),
    static_argnames: Sequence[str] | str = (),
    check: bool = False,
    unroll: bool | int | None = None,
    effort: Effort | None = None,
    decide: Policy | None = None,
    device: str | None = None,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def compile(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: Static = (),
    static_argnames: Sequence[str] | str = (),
    check: bool = False,
    unroll: bool | int | None = None,
    effort: Effort | None = None,
    decide: Policy | None = None,
    device: str | None = None,
    **foreign: Never,
) -> Any:
    """Compile a function to native code: `compile(f)`, or as a decorator.

    The function is traced once for each structure, shapes and dtypes of its arguments. Arguments in `static_argnums` or
    `static_argnames` are constants: for each new value, the function is traced again. So are booleans, strings, and
    other arguments that are not numbers. The result can be differentiated, batched and compiled again.

    Arrays, globals and attributes that the function captures are constants with the values of the trace; with `check`,
    they are compared at each call, and an error says which one has changed. Tensors (`wg.tensor`) are read at each
    call, receive gradients, and may be assigned to (`w -= 0.1 * g`), which happens at the end of the call.

    Branches and loops on traced values become operations (`wg.source` shows how). A `for` of few steps is written out,
    a longer one becomes a loop if it can: `unroll` says up to how many steps it is written out, True always, False
    never.

    With the `effort` "fast", what counts is the time to compile, with "best" the speed of the code. The numbers are the
    same. With `decide`, loops run as it says: a function of a nest and the machine that returns decisions, such as
    `wengert.compiler.nests.policy.decide`. The numbers are the same for all that it may decide.

    Called with arrays of CuPy, it runs on their GPU, and gives arrays of CuPy, without waiting for them. With the
    `device` "cuda", arrays of NumPy are copied to the GPU, and results back.

    >>> square = compile(lambda x: x * x)
    >>> square(3.0)
    np.float64(9.0)
    """
    if foreign:
        refuse_keywords(foreign)
    if effort not in (None, *EFFORTS):
        raise user_error(
            ValueError,
            f"compile has the efforts {' and '.join(map(repr, EFFORTS))}, and was given {effort!r}",
            "Leave it out for code that is fast and compiled soon.",
        )
    if f is None:
        return partial(
            compile,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            check=check,
            unroll=unroll,
            effort=effort,
            decide=decide,
            device=device,
        )
    if not callable(f):
        raise user_error(TypeError, f"compile takes a function, and was given a {type(f).__name__}")
    is_plain = not (static_argnums or static_argnames or check or unroll is not None or decide)
    device = None if device == "cpu" else device
    if isinstance(f, Compiled) and is_plain and effort in (None, f.effort) and device in (None, f.device):
        return f
    if hasattr(f, "as_compiled") and is_plain and device is None:
        return f.as_compiled(effort)  # which knows its numerical part, such as the elements of a sparse matrix
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    return Compiled(f, numbers, names, check, unroll, effort, decide, device)


def function(inputs: Sequence[Symbol], outputs: Any) -> Callable:
    """The compiled function from symbols to an expression of them, or a tree of expressions.

    >>> from wengert.transforms.tracing import symbol
    >>> x = symbol("x")
    >>> function([x], x * x)(3.0)
    np.float64(9.0)
    """
    nodes = [x.node if isinstance(x, Symbol) else None for x in inputs]
    if not all(isinstance(node, Input) for node in nodes):
        raise user_error(TypeError, "function takes symbols made by wg.symbol as inputs")
    outs, result = flatten(outputs)
    graph = Graph(nodes, [y.node if isinstance(y, Symbol) else make_constant(y) for y in outs], None, result)  # type: ignore[arg-type]  # checked
    missing = [node for node in graph.nodes if isinstance(node, Input) and node not in nodes]
    if missing:
        names = ", ".join(node.name or "?" for node in missing)
        raise user_error(
            ValueError, f"The outputs depend on {names}, not among the inputs of the function", "Add them."
        )
    return compile(GraphFunction(graph))


class GraphFunction:
    """A graph as a function, which converts its arguments to the dtypes of the inputs."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.__name__ = "function"

    def __call__(self, *args: Any) -> Any:
        inputs = self.graph.inputs
        if len(args) != len(inputs):
            raise user_error(TypeError, f"This function takes {len(inputs)} arguments, and was given {len(args)}")
        return self.graph.evaluate(*[astype(a, node.dtype) for a, node in zip(args, inputs, strict=True)])


class Compiled(Generic[P, R]):
    """A function that runs as native code."""

    def __init__(
        self,
        f: Callable[P, R],
        static_argnums: tuple[int, ...] = (),
        static_argnames: tuple[str, ...] = (),
        check: bool = False,
        unroll: bool | int | None = None,
        effort: Effort | None = None,
        decide: Policy | None = None,
        device: str | None = None,
    ):
        update_wrapper(self, f, updated=())
        self.f, self.static_argnums, self.static_argnames, self.check = f, static_argnums, static_argnames, check
        self.unroll, self.effort, self.decide, self.device = unroll, effort, decide, device
        self.static_positions, self.static_names = static_arguments(f, static_argnums, static_argnames)
        self.name = getattr(f, "__name__", type(f).__name__)
        self.known: dict[Any, list[Signature]] = {}  # for each key those of other states, the last one first
        self.fast: Callable = no_entry
        self.entries: tuple[Callable, ...] = ()  # the native entries of the last calls

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self.fast(*args) if not kwargs else self.fast(*args, **kwargs)
        if result is not NotImplemented:
            return result
        last = self.fast
        for entry in self.entries:
            if entry is not last and (result := entry(*args, **kwargs)) is not NotImplemented:
                self.fast = entry
                return result
        return self.general(args, kwargs)

    def general(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call with any arguments: find or make their signature, and run it."""
        if self.device is not None or has_device_arrays():
            found = import_module("wengert.compiler.targets.device_call").call_on_device(self, args, kwargs)
            if found is not NotImplemented:
                return found
        leaves, structure = self.flatten_arguments(args, kwargs)
        tracked = [x for x in leaves if isinstance(x, Array)]
        if not all(isinstance(layer, DIFFERENTIATED) for x in tracked for layer in iterate_payloads(x)):
            return recording.as_read(self.f)(
                *args, **kwargs
            )  # part of a larger trace, or of a mode that observes operations
        signature = self.signature(leaves, structure)
        if signature.captures is not None:
            signature.captures.compare(self.name)
        if not signature.can_run(leaves, tracked):
            return recording.as_read(self.f)(*args, **kwargs)
        if signature.is_taped:
            leaves, tracked = [strip_level(x, 0) for x in leaves], []
        if tracked or signature.is_tracked:
            outs = CompiledCall(signature, leaves)(operation_of(self.name))
            return unflatten(signature.result, signature.write_back(outs))
        is_on_device = signature.is_on_device(leaves)
        targets = {} if is_on_device else signature.targets()  # while nothing else refers to them
        outs = signature.run(
            [*[x for x in leaves if is_traced(x)], *[x.value for x in signature.captured]],
            targets,
            len(signature.assignments),
        )
        outs = signature.write_back(outs)
        if signature.gives_tensors:
            outs = [Tensor(y) for y in outs]
        if signature.has_run and not (self.check or is_on_device) and (entry := signature.entry) is not None:
            self.install(entry)
        signature.has_run = True  # an entry is worth its time from the second call on
        return unflatten(signature.result, outs)

    def install(self, entry: Callable) -> None:
        """Let further calls begin with an entry, which takes arguments of one signature."""
        INSTALLED.add(self)
        self.fast = entry
        most = machine.current.max_tried_native_entries
        self.entries = (entry, *[other for other in self.entries if other is not entry])[:most]

    def flatten_arguments(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list, Structure]:
        """The leaves of the arguments and their structure; a static argument is one leaf."""
        if self.static_positions or self.static_names:
            positions = {i + len(args) if i < 0 else i for i in self.static_positions}
            args = tuple([Fixed(a) if i in positions else a for i, a in enumerate(args)])
            kwargs = {k: Fixed(v) if k in self.static_names else v for k, v in kwargs.items()}
        leaves, structure = flatten((args, kwargs))
        return [x if isinstance(x, Spec) else as_constant(x) for x in leaves], structure

    def signature(self, leaves: Sequence[Any], structure: Structure) -> Signature:
        """The signature of calls with arguments like these."""
        key = machine.current, structure, tuple([leaf_key(x) for x in leaves])
        try:
            variants = self.known.get(key, ())
        except TypeError:
            raise unhashable(leaves) from None
        for found in variants:
            if found.holds:
                return found
        wrap = partial(Compiled, effort=self.effort, decide=self.decide, device=self.device)
        found = Signature(self.f, self.name, leaves, structure, self.check, wrap, self.unroll, self.effort, self.decide)
        if found.is_lasting:
            self.known[key] = [found, *[other for other in self.known.get(key, ()) if not other.holds]]
        return found

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph of the function, traced with arguments like these."""
        return self.signature(*self.flatten_arguments(args, kwargs)).graph

    def report(self, *args: Any, **kwargs: Any) -> Report:
        """The report on the program for arguments like these: kernels, fallbacks, memory, time, LLVM text."""
        if self.device is not None or has_device_arrays():
            found: Report = import_module("wengert.compiler.targets.device_call").report(self, args, kwargs)
            if found is not NotImplemented:
                return found
        signature = self.signature(*self.flatten_arguments(args, kwargs))
        native = signature.native
        return Report(
            self.name,
            native.build,
            native.is_warm,
            signature.graph,
            signature.updates(),
            signature.rolls,
            signature.unrolled,
            self.decide,
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else partial(self, instance)

    def __reduce__(self) -> str | tuple:
        """By name if the name refers to this object, as it does for a decorated function; else by the function.

        cloudpickle pickles functions of `__main__`, and of modules registered with it, by value.
        """
        try:
            name: str = self.__dict__["__qualname__"]
            by_value = modules_by_value(sys._getframe(1))
            if attrgetter(name)(sys.modules[self.__module__]) is self and self.__module__ not in by_value:
                return name
        except (AttributeError, KeyError):
            pass
        return Compiled, (
            self.f,
            self.static_argnums,
            self.static_argnames,
            self.check,
            self.unroll,
            self.effort,
            self.decide,
            self.device,
        )

    def __repr__(self) -> str:
        return f"<compiled {function_name(self.f).strip('()')}>"


INSTALLED: WeakSet[Compiled] = WeakSet()
"""The functions that have native entries."""


@machine.on_change
def forget_entries() -> None:
    """Let the next calls look for programs again: those that the entries run were made for another machine record."""
    for compiled in list(INSTALLED):
        compiled.fast, compiled.entries = no_entry, ()
    INSTALLED.clear()


def modules_by_value(pickler: FrameType) -> Collection[str]:
    """The modules whose functions a pickler pickles by value: none, unless it is cloudpickle, or a copy of it."""
    known = pickler.f_globals
    is_cloudpickle = "cloudpickle" in known.get("__name__", "")
    return ("__main__", *known.get("_PICKLE_BY_VALUE_MODULES", ())) if is_cloudpickle else ()


def no_entry(*_: Any, **__: Any) -> Any:
    """Takes no arguments, until there is a native entry."""
    return NotImplemented
