"""`compile`: a function that is traced once for each signature and runs as native code from then on.

And `function`, from symbols.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial, update_wrapper
from operator import attrgetter
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeVar, overload

import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.captures import Captures
from wengert.compiler.compiled_call import CompiledCall, operation_of
from wengert.compiler.constants import constant_key
from wengert.compiler.entry import Argument, Result, is_known, is_short
from wengert.compiler.native import Native, native
from wengert.compiler.python_objects import supported
from wengert.compiler.report import Report
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import layers
from wengert.core.primitive import SHAPED, as_constant
from wengert.core.spec import Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import LEAF, Structure, flatten, unflatten
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import Input, Node, Operation, constant
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.symbolic import Assignment, Symbol
from wengert.modes.taylor import Jet
from wengert.modes.tensor import Tensor, is_sole_owner
from wengert.ops.shape.casting import astype
from wengert.transforms.tracing import Traced, input_spec

Static = Sequence[int] | int
P = ParamSpec("P")
R = TypeVar("R")
DIFFERENTIATED = (Tensor, Dual, Jet, Batched)
"""Values to which a compiled function is one operation."""

LOCK = threading.RLock()
"""Held while a program is compiled, by one thread at a time. Functions are traced without it: they are the user's."""


def _hold() -> None:
    """Before a fork: let other threads finish with LLVM, which has a lock of its own that the child could never take
    again.
    """
    LOCK.acquire()
    llvm_lock.__enter__()


def _let_go() -> None:
    llvm_lock.__exit__()
    LOCK.release()


llvm_lock: Any = getattr(llvm.ffi.lib, "_lock", None)
if hasattr(os, "register_at_fork") and llvm_lock is not None:
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)


@overload
def compile(
    f: Callable[P, R],
    *,
    static_argnums: Static = (),
    static_argnames: Sequence[str] | str = (),
    check: bool = False,
) -> Compiled[P, R]: ...


@overload
def compile(
    f: None = None,
    *,
    static_argnums: Static = (),
    static_argnames: Sequence[str] | str = (),
    check: bool = False,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def compile(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: Static = (),
    static_argnames: Sequence[str] | str = (),
    check: bool = False,
) -> Any:
    """A function as native code: `compile(f)`, or as a decorator.

    It is traced once for each structure, shapes and dtypes of its arguments. Arguments named in `static_argnums` or
    `static_argnames` are constants, and a new value of them is traced anew; so are truth values, texts, and whatever is
    no number. The result can be differentiated, batched and compiled again.

    Arrays, globals and attributes that the function captures are constants, and keep the numbers that they had when it
    was traced; with `check`, they are compared at each call, and an error says which one has changed. Tensors
    (`wg.tensor`) are read at each call, receive gradients, and may be assigned to (`w -= 0.1 * g`): what is assigned is
    written into the tensor when the program has run.

    >>> square = compile(lambda x: x * x)
    >>> square(3.0)
    np.float64(9.0)
    """
    if f is None:
        return partial(compile, static_argnums=static_argnums, static_argnames=static_argnames, check=check)
    if not callable(f):
        raise user_error(TypeError, f"compile takes a function, and was given a {type(f).__name__}")
    is_plain = not (static_argnums or static_argnames or check)
    if isinstance(f, Compiled) and is_plain:
        return f
    if hasattr(f, "as_compiled") and is_plain:
        return f.as_compiled()  # it knows which part of it is numerical, such as the entries of a sparse matrix
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Compiled(f, (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums), names, check)


def function(inputs: Sequence[Symbol], outputs: Any) -> Callable:
    """The compiled function from symbols to what was built of them: one symbol, or a tree of them.

    >>> from wengert.transforms.tracing import symbol
    >>> x = symbol("x")
    >>> function([x], x * x)(3.0)
    np.float64(9.0)
    """
    nodes = [x.node if isinstance(x, Symbol) else None for x in inputs]
    if not all(isinstance(node, Input) for node in nodes):
        raise user_error(TypeError, "function takes symbols made by wg.symbol as inputs")
    outs, result = flatten(outputs)
    graph = Graph(nodes, [y.node if isinstance(y, Symbol) else constant(y) for y in outs], None, result)  # type: ignore[arg-type]  # checked
    missing = [node for node in graph.nodes if isinstance(node, Input) and node not in nodes]
    if missing:
        names = ", ".join(node.name or "?" for node in missing)
        raise user_error(
            ValueError, f"The outputs depend on {names}, not among the inputs of the function", "Add them."
        )
    return compile(Evaluated(graph))


class Evaluated:
    """A graph as a function, which converts what it is given to the dtypes of its inputs."""

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
    ):
        update_wrapper(self, f, updated=())
        self.f, self.static_argnums, self.static_argnames, self.check = f, static_argnums, static_argnames, check
        self.places, self.names = static_arguments(f, static_argnums, static_argnames)
        self.name = getattr(f, "__name__", type(f).__name__)
        self.known: dict[Any, Signature] = {}
        self.fast: Callable = missed

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs:
            result: R = self.fast(*args)
            if result is not NotImplemented:
                return result
        return self.general(args, kwargs)

    def general(self, args: tuple, kwargs: dict[str, Any]) -> R:
        """Any arguments: find the signature, or make it, and run it."""
        leaves, structure = self.opened(args, kwargs)
        tracked = [x for x in leaves if isinstance(x, Array)]
        if not all(isinstance(layer, DIFFERENTIATED) for x in tracked for layer in layers(x)):
            return self.f(*args, **kwargs)  # part of a larger trace, or of something that wants to see what it does
        signature = self.signature(leaves, structure)
        if signature.captures is not None:
            signature.captures.compare(self.name)
        if (tracked or signature.captured) and signature.has_rules:
            return self.f(*args, **kwargs)  # the graph does not know the user's own derivatives
        if signature.assignments and any(x.level for x in tracked):
            signature.refuse_assignments(leaves)
            return self.f(*args, **kwargs)  # what is assigned belongs to the levels below
        if tracked or signature.is_tracked:
            outs = CompiledCall(signature, leaves)(operation_of(self.name))
        else:
            targets = signature.targets()
            outs = signature.native(
                [*[x for x in leaves if is_traced(x)], *[x.value for x in signature.captured]], targets
            )
            if any(x.has_derivative for x in signature.captured):
                outs = [Tensor(y) for y in outs]  # else NumPy goes in, and NumPy comes out
            if signature.native.entry is not None and not self.check:
                self.fast = signature.native.entry
        if signature.assignments:
            outs = signature.write_back(outs)
        return unflatten(signature.result, outs)

    def opened(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list, Structure]:
        """The leaves of the arguments, of which static arguments are one each, and their structure."""
        if self.places or self.names:
            places = {i + len(args) if i < 0 else i for i in self.places}
            args = tuple([Fixed(a) if i in places else a for i, a in enumerate(args)])
            kwargs = {k: Fixed(v) if k in self.names else v for k, v in kwargs.items()}
        leaves, structure = flatten((args, kwargs))
        return [x if isinstance(x, Spec) else as_constant(x) for x in leaves], structure

    def signature(self, leaves: Sequence[Any], structure: Structure) -> Signature:
        """What is known of calls like this one."""
        key = structure, tuple([leaf_key(x) for x in leaves])
        try:
            found = self.known.get(key)
        except TypeError:
            raise unhashable(leaves) from None
        if found is None:
            found = Signature(self.f, self.name, leaves, structure, self.check)
            if found.is_lasting:
                found = self.known.setdefault(key, found)
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

    def __reduce__(self) -> str | tuple:
        """By name where the name stands for this object, as it does for a decorated function; else by the function.

        cloudpickle takes functions of `__main__` along, and of modules that it was told of, for processes that do not
        know them.
        """
        try:
            name: str = self.__dict__["__qualname__"]
            if attrgetter(name)(sys.modules[self.__module__]) is self and self.__module__ not in taken_along(
                sys._getframe(1)
            ):
                return name
        except (AttributeError, KeyError):
            pass
        return Compiled, (self.f, self.static_argnums, self.static_argnames, self.check)

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"


class Fixed:
    """A static argument among the leaves."""

    def __init__(self, value: Any):
        self.value = value


class Signature:
    """One structure, shapes and dtypes of arguments: the graph, its native program, and the trees to put results in."""

    def __init__(self, f: Callable, name: str, leaves: Sequence[Any], structure: Structure, check: bool = False):
        plain = [x.value if isinstance(x, Fixed) else input_spec(x) if isinstance(x, Array) else x for x in leaves]
        fixed = [isinstance(x, Fixed) for x in leaves]
        run = Traced(f, plain, structure, fixed)
        self.captures = Captures(f) if check else None
        if self.captures is not None:
            self.captures.add(run.arrays)
        self.has_rules, self.assignments = run.has_rules, run.assignments
        assert run.graph.result is not None
        self.name, self.result = name, run.graph.result
        self.graph, self.captured = lift(run.graph)
        positional, keywords = structure.children
        is_flat = all(child is LEAF for child in positional.children) and not keywords.children
        self.arguments = (
            [Argument.of(x) if is_traced(x) else None for x in plain] if is_flat and not any(fixed) else None
        )
        self.known: dict[Any, Compiled] = {}
        self._native: Native | None = None

    @property
    def is_lasting(self) -> bool:
        """Whether it may be used again: not if it has captured a value of a transform, which ends."""
        return all(isinstance(x, Tensor) and not x.level for x in self.captured)

    @property
    def is_tracked(self) -> bool:
        """Whether what it has captured is more than numbers at this moment: a tape wants to know of it, or a trace."""
        if not self.captured:
            return False
        has_history = recording.is_recording() and any(x.has_derivative for x in self.captured)
        return has_history or not self.is_lasting or recording.trace() is not None

    @property
    def native(self) -> Native:
        """Compiled when it is first run: a function that is only differentiated never is."""
        if self._native is None:
            with LOCK:
                if self._native is None:
                    self._native = native(self.graph, *self.entry_signature(), self.name, self.updates())
        return self._native

    def entry_signature(self) -> tuple[list[Argument] | None, Result | None]:
        """What the native entry takes and gives; None where only the general path will do."""
        result = as_result(self.result, iter([node.spec for node in self.graph.outputs]))
        arguments = [a for a in self.arguments or () if a is not None]
        has_state = self.captured or self.assignments
        if (
            self.arguments is None
            or len(arguments) < len(self.arguments)
            or has_state
            or result is None
            or not supported()
        ):
            return None, None
        return (arguments, result) if is_short(arguments, result) else (None, None)

    def refuse_assignments(self, leaves: Sequence[Any]) -> None:
        """Raise where a transform around a call would outlive itself in what the program assigns: in a batch, or with a
        derivative.
        """
        given = [x for x in leaves if is_traced(x)]
        live: set[Node] = {
            node
            for node, x in zip(self.graph.inputs, given, strict=False)
            if isinstance(x, Array) and x.level and x.has_derivative
        }
        batched = any(isinstance(layer, Batched) for x in given for layer in layers(x))
        if batched or any(depends(assignment.node, live) for assignment in self.assigned()):
            raise user_error(
                GradientError,
                f"{self.name} assigns to a tensor that it captures, inside "
                f"{('vmap' if batched else 'a transform that differentiates it')}",
                because="what the tensor should be afterwards is not defined. Return the new value as a result, or "
                "assign wg.stop_gradient(v).",
            )

    def assigned(self) -> list[Assignment]:
        """The assignments, in the nodes of the program."""
        last = len(self.graph.outputs) - len(self.assignments)
        return [a._replace(node=node) for a, node in zip(self.assignments, self.graph.outputs[last:], strict=True)]

    def updates(self) -> list[tuple[int, int]]:
        """Which inputs, captured ones, the last outputs replace when the program has run."""
        first, last = len(self.graph.inputs) - len(self.captured), len(self.graph.outputs) - len(self.assignments)
        inputs = {id(x): first + i for i, x in enumerate(self.captured)}
        return [(inputs[id(a.target)], last + i) for i, a in enumerate(self.assignments) if id(a.target) in inputs]

    def targets(self) -> dict[int, np.ndarray]:
        """The buffers of tensors that the program can write straight to, because nobody else has them."""
        first = len(self.graph.inputs) - len(self.captured)
        pairs = self.native.build.program.in_place if self.assignments else ()
        return {
            o: t.value for i, o in pairs if is_sole_owner(t := self.captured[i - first]) and t.value.flags.c_contiguous
        }

    def write_back(self, outs: Sequence[Any]) -> Sequence[Any]:
        """Assign to captured values what the program has computed for them, the last of its outputs.

        Returns the others.
        """
        n = len(outs) - len(self.assignments)
        for target, _, is_recorded in self.assignments:
            if is_recorded and recording.is_recording() and isinstance(target, Tensor):
                target._refuse_leaf()  # before anything is written
        for assignment, new in zip(self.assignments, outs[n:], strict=True):
            if new is assignment.target.value:  # written by the program itself
                assignment.target._changes = assignment.target._version + 1
                continue
            new = new if isinstance(new, Array) else Tensor(new)
            if assignment.is_recorded:
                assignment.target._rebind(new)
            else:
                with recording.switched(enabled=False):
                    assignment.target._rebind(new)
        return outs[:n]

    def derived(self, kind: str, details: tuple, make: Callable[[Graph], Callable]) -> Compiled:
        """A compiled function made from the graph, once."""
        key = kind, details
        if key not in self.known:
            f = make(self.graph)
            f.__name__ = f"{kind} of {self.name}"
            self.known.setdefault(key, Compiled(f))
        return self.known[key]


def static_arguments(
    f: Callable, numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[frozenset[int], frozenset[str]]:
    """The places and names of static arguments, each by both if the signature of the function tells."""
    if not numbers and not names:
        return frozenset(), frozenset()
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return frozenset(numbers), frozenset(names)
    kinds = {p.kind for p in parameters}
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        beyond = [i for i in numbers if not -len(placed) <= i < len(placed)]
        if beyond:
            raise user_error(
                ValueError, f"There is no argument {beyond[0]} to make static in a function of {len(placed)}"
            )
        numbers = tuple([i % len(placed) for i in numbers])
    unknown = [name for name in names if name not in {p.name for p in parameters}]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise user_error(ValueError, f"There is no argument {unknown[0]!r} to make static")
    both = [(i, p.name) for i, p in enumerate(placed) if i in numbers or p.name in names]
    return frozenset([*numbers, *[i for i, _ in both]]), frozenset([*names, *[name for _, name in both]])


def taken_along(pickler: FrameType) -> Collection[str]:
    """The modules of which a pickler takes functions along instead of their names: none, unless it is cloudpickle, or a
    copy of it.
    """
    known = pickler.f_globals
    return (
        ("__main__", *known.get("_PICKLE_BY_VALUE_MODULES", ())) if "cloudpickle" in known.get("__name__", "") else ()
    )


def missed(*args: Any) -> Any:
    """Before there is a native entry."""
    return NotImplemented


def leaf_key(x: Any) -> Any:
    """What makes two arguments the same to a compiled function."""
    if isinstance(x, SHAPED):
        refuse_subclass(x)
        return "array", x.shape, x.dtype
    if isinstance(x, Spec):
        return "array", *input_spec(x)
    if isinstance(x, Fixed):
        return "static", constant_key(x.value)
    return x.__class__ if is_traced(x) else constant_key(x)


def unhashable(leaves: Sequence[Any]) -> TypeError:
    """The error for a constant among the arguments that cannot be told from others."""
    for x in leaves:
        value = x.value if isinstance(x, Fixed) else x
        try:
            hash(leaf_key(x))
        except TypeError:
            break
    what = "A static argument" if isinstance(x, Fixed) else "An argument that is neither an array nor a number"
    return user_error(
        TypeError,
        f"{what} is a constant of a compiled function and must be hashable; this is a {type(value).__name__}",
        "Pass a number, a text or a tuple, or arrays in lists, dicts or dataclasses.",
    )


def depends(node: Node, inputs: set[Node]) -> bool:
    """Whether a derivative flows from any of these inputs to a node."""
    seen, stack = {node}, [node]
    while stack:
        node = stack.pop()
        if node in inputs:
            return True
        if isinstance(node, Operation) and node.primitive.kind != "nondifferentiable":
            stack += [a for a in node.args if a not in seen]
            seen.update(node.args)
    return False


def lift(graph: Graph) -> tuple[Graph, list]:
    """A graph with captured values as further inputs, and these values."""
    captured = [node for node in graph.constants if node.is_captured]
    if not captured:
        return graph, []
    new: dict[Any, Any] = {node: Input(input_spec(node.spec), name="captured") for node in captured}
    for node in graph.operations:
        if any(a in new for a in node.args):
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    inputs = (*graph.inputs, *[new[node] for node in captured])
    outputs = [new.get(node, node) for node in graph.outputs]
    return Graph(inputs, outputs, graph.arguments, graph.result), [node.value for node in captured]


def as_result(structure: Structure, specs: Iterator[Spec]) -> Result | None:
    """A structure of nested tuples as the native entry knows it."""
    if structure is LEAF:
        spec = next(specs)
        return spec if is_known(spec.dtype) else None
    if structure.make is not tuple:
        return None
    parts = [as_result(child, specs) for child in structure.children]
    return None if None in parts else tuple(parts)  # type: ignore[arg-type]  # None is not among them
