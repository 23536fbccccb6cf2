"""Signatures of calls of a compiled function: what is traced once, and used for every call that is alike.

Also the state that a program has beside its arguments: tensors that it captures, and assigns to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from wengert.compiler.call.captures import Captures
from wengert.compiler.entry.entry_signature import Constant, EntrySignature, Nothing
from wengert.compiler.entry.entry_values import Argument, is_native_dtype
from wengert.compiler.entry.native import LOCK, NO_TARGETS, NativeProgram, load_or_compile
from wengert.compiler.entry.program_state import StateUse
from wengert.compiler.machine.translation import Effort
from wengert.compiler.nests.decisions import Policy
from wengert.core import machine
from wengert.core.array import Array
from wengert.core.constant_key import constant_key
from wengert.core.devices import ARRAY_CLASSES, DeviceArray
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import bottom_array, iterate_payloads
from wengert.core.primitive import SHAPED
from wengert.core.spec import Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import LEAF, Structure, unflatten
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import Input, Node, Operation
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.in_place import is_sole_owner
from wengert.modes.tape_value import has_node
from wengert.modes.taped_trace import MISSING, gradient_state
from wengert.modes.tensor import Tensor
from wengert.modes.trace import Assignment, Gradient
from wengert.source import reading  # noqa: F401  # which every trace needs, and imports when it starts
from wengert.source.loops import unrolling
from wengert.transforms.tracing import Traced, input_spec


class Fixed:
    """A static argument, one of the leaves."""

    def __init__(self, value: Any):
        self.value = value


class Signature:
    """One structure, shapes and dtypes of arguments: the graph of the function, and its native program.

    `wrap` makes a compiled function of one that is derived from the graph, `unroll` says which loops are written out,
    `effort` what counts in the translation, `decide` how loops run.
    """

    def __init__(
        self,
        f: Callable,
        name: str,
        leaves: Sequence[Any],
        structure: Structure,
        check: bool,
        wrap: Callable[[Callable], Callable],
        unroll: bool | int | None = None,
        effort: Effort | None = None,
        decide: Policy | None = None,
    ):
        plain = [x.value if isinstance(x, Fixed) else input_spec(x) if isinstance(x, Array) else x for x in leaves]
        fixed = [isinstance(x, Fixed) for x in leaves]
        with unrolling(unroll):
            run = Traced(f, plain, structure, fixed)
        self.captures = Captures(f) if check else None
        if self.captures is not None:
            self.captures.add(run.arrays)
        self.has_rules, self.assignments, self.unrolled = run.has_rules, run.assignments, run.unrolled
        assert run.graph.result is not None
        self.name, self.result, self.wrap, self.rolls = name, run.graph.result, wrap, unroll is not True
        self.effort, self.decide = effort, decide
        self.graph, captured = lift_captured(run.graph)
        self.captured: list[Any] = [*run.gradients, *captured]
        self.first_captured = len(self.graph.inputs) - len(self.captured)
        self.first_assigned = len(self.graph.outputs) - len(self.assignments)
        self.is_taped, self.removed, self.guards = run.is_taped, run.removed, run.guards
        described = [
            Argument.of(x) if is_traced(x) and not is_fixed else Constant.of(x)
            for x, is_fixed in zip(plain, fixed, strict=True)
        ]
        self.arguments = described_tree(structure, iter(described), Constant(None))
        self.known: dict[Any, Callable] = {}
        self._native: NativeProgram | None = None
        self.has_run = False
        self.on_devices: dict[int, Any] = {}  # the programs for GPUs, by their numbers

    @property
    def is_lasting(self) -> bool:
        """Whether it may be used again: not if it has captured a value of a transform."""
        return all(isinstance(x, Tensor | Gradient) and not x.level for x in self.captured)

    @property
    def holds(self) -> bool:
        """Whether all that the trace has read of objects is as it was."""
        return all(guard.holds for guard in self.guards)

    def can_run(self, leaves: Sequence[Any], tracked: Sequence[Array]) -> bool:
        """Whether the program does what the function would do with these arguments, of which some are `tracked`."""
        if self.is_taped:
            return self.can_run_tape(tracked)
        if self.guards and recording.current_trace() is not None:
            return False  # the trace around must read what this one has read
        if self.has_rules and (tracked or self.captured):
            return False  # the graph does not have the custom derivatives of users
        if self.assignments and any(x.level for x in tracked):
            self.refuse_assignments(leaves)
            return False  # assigned values belong to lower levels
        return True

    def can_run_tape(self, tracked: Sequence[Array]) -> bool:
        """The same for a function that uses the tape: if operations are recorded as usual, and none on arguments."""
        if any(x.level for x in tracked):
            raise user_error(
                GradientError,
                f"{self.name}, which calls backward, is inside a transform",
                because="there are no leaves whose grad it could fill. Transform a function that returns the loss.",
            )
        settings = recording.current()
        is_usual = settings.enabled and not (settings.inference or settings.check_nan or settings.packing)
        return is_usual and settings.trace is None and not any(x.has_derivative for x in tracked)

    @property
    def is_tracked(self) -> bool:
        """Whether the captured values are recorded or traced at this moment."""
        if not self.captured or self.is_taped:
            return False
        has_history = recording.is_recording() and any(x.has_derivative for x in self.captured)
        return has_history or not self.is_lasting or recording.current_trace() is not None

    @property
    def native(self) -> NativeProgram:
        """The native program, compiled when it is first run: a function that is only differentiated never is."""
        if self._native is None:
            with LOCK:
                if self._native is None:
                    self._native = load_or_compile(
                        self.graph,
                        self.entry_signature(),
                        self.name,
                        self.updates(),
                        self.rolls,
                        self.uses(),
                        self.is_taped,
                        effort=self.effort,
                        decide=self.decide,
                    )
        return self._native

    def is_on_device(self, leaves: Sequence[Any]) -> bool:
        """Whether numbers of a call, with these arguments, are on a GPU."""
        if not ARRAY_CLASSES:
            return False
        return any(bottom_array(x).__class__ in ARRAY_CLASSES for x in (*leaves, *[x.value for x in self.captured]))

    def run(self, values: Sequence[Any], targets: Mapping[int, np.ndarray] = NO_TARGETS, assigned: int = 0) -> list:
        """The results of the program for arguments and captured values, on the device that they are on."""
        if self.is_on_device(values):
            found: list = import_module("wengert.compiler.targets.device_call").run_signature(self, values)
            return found
        return self.native(values, targets, assigned)

    @property
    def gives_tensors(self) -> bool:
        """Whether results are tensors: captured ones require gradients. Otherwise they are those of NumPy."""
        return self.is_taped or any(x.has_derivative for x in self.captured)

    @property
    def entry(self) -> Callable | None:
        """The native entry, if it can do what this call did."""
        if self.native.states is not None:
            if self.gives_tensors and not self.is_taped:
                return None  # its results have histories
            self.native.states.update()
        return self.call_entry

    @cached_property
    def call_entry(self) -> Callable | None:
        """The native entry, with the result put together by Python if the entry does not make it."""
        entry, structure = self.native.entry, self.result
        if entry is None or self.entry_result is not None:
            return entry

        def call(*args: Any, **kwargs: Any) -> Any:
            outs = entry(*args, **kwargs) if kwargs else entry(*args)
            return outs if outs is NotImplemented else unflatten(structure, outs)

        return call

    def result_specs(self) -> list[Spec]:
        """The specs of the leaves of the result."""
        return [node.spec for node in self.graph.outputs[: self.first_assigned]]

    @cached_property
    def entry_result(self) -> Any:
        """The result as the native entry makes it; None if it makes a tuple of its leaves instead."""
        specs = [spec if is_native_dtype(spec.dtype) else None for spec in self.result_specs()]
        return described_tree(self.result, iter(specs), Nothing())

    def entry_signature(self) -> EntrySignature | None:
        """The arguments and the result of the native entry; None if there is none."""
        has_room = len(self.uses()) <= machine.current.max_states_of_native_entry
        if self.arguments is None or not self.is_lasting or not has_room:
            return None
        if not all(is_native_dtype(node.dtype) for node in (*self.graph.inputs, *self.graph.outputs)):
            return None
        result = tuple(self.result_specs()) if self.entry_result is None else self.entry_result
        arguments, keywords = self.arguments
        signature = EntrySignature(arguments, result, keywords)
        return signature if signature.fits else None

    def refuse_assignments(self, leaves: Sequence[Any]) -> None:
        """Raise an error if a transform around the call would batch or differentiate an assigned value."""
        given = [x for x in leaves if is_traced(x)]
        live: set[Node] = {
            node
            for node, x in zip(self.graph.inputs, given, strict=False)
            if isinstance(x, Array) and x.level and x.has_derivative
        }
        batched = any(isinstance(layer, Batched) for x in given for layer in iterate_payloads(x))
        if batched or any(depends(assignment.node, live) for assignment in self.lifted_assignments()):
            raise user_error(
                GradientError,
                f"{self.name} assigns to a tensor that it captures, inside "
                f"{('vmap' if batched else 'a transform that differentiates it')}",
                "Return the new value as a result, or assign wg.stop_gradient(v).",
                because="the value of the tensor afterwards is not defined.",
            )

    def lifted_assignments(self) -> list[Assignment]:
        """The assignments, with the nodes of the lifted graph."""
        nodes = self.graph.outputs[self.first_assigned :]
        return [a._replace(node=node) for a, node in zip(self.assignments, nodes, strict=True)]

    def updates(self) -> list[tuple[int, int]]:
        """The captured inputs that the last outputs replace after a run."""
        inputs = {id(x): i for i, x in enumerate(self.captured, self.first_captured)}
        assigned = enumerate(self.assignments, self.first_assigned)
        return [(inputs[id(a.target)], o) for o, a in assigned if id(a.target) in inputs]

    def uses(self) -> list[StateUse]:
        """How the native entry uses captured tensors: as inputs and outputs, or only to check what they are."""
        outputs = {id(a.target): o for o, a in enumerate(self.assignments, self.first_assigned)}
        uses = [StateUse(x, i, outputs.pop(id(x), -1)) for i, x in enumerate(self.captured, self.first_captured)]
        uses += [StateUse(a.target, output=outputs[id(a.target)]) for a in self.assignments if id(a.target) in outputs]
        uses += [StateUse(gradient, is_absent=True) for gradient in self.removed]
        known = {id(use.target) for use in uses}
        for holder, state, value in self.guards:
            if state is gradient_state and value == MISSING:
                uses.append(StateUse(holder, is_absent=True))
            elif state is has_node and id(holder) not in known:
                uses.append(StateUse(holder))
        if (self.guards or self.is_taped) and not uses:
            uses.append(StateUse(Tensor(None)))  # so that the entry looks for changes
        return uses

    def targets(self) -> dict[int, np.ndarray]:
        """The buffers of tensors that the program can write to directly, because nobody else has them."""
        pairs = self.native.build.program.in_place if self.assignments else ()
        written = [(o, self.captured[i - self.first_captured]) for i, o in pairs]
        return {o: t.value for o, t in written if is_sole_owner(t) and t.value.flags.c_contiguous}

    def refuse_leaves(self) -> None:
        """Raise an error if an assignment to a leaf would be recorded."""
        if recording.is_recording():
            for target, _, is_recorded in self.assignments:
                if is_recorded and isinstance(target, Tensor):
                    target._refuse_leaf()

    def write_back(self, outs: Sequence[Any]) -> Sequence[Any]:
        """Assign the last outputs of the program to captured values, and return the others."""
        if not (self.assignments or self.removed):
            return outs
        self.refuse_leaves()  # before anything is written
        for gradient in self.removed:
            gradient.tensor._grad = None
        unrecorded: list[tuple[Tensor, Any]] = []
        for (target, _, is_recorded), new in zip(self.assignments, outs[self.first_assigned :], strict=True):
            if isinstance(target, Gradient):
                target.assign(new)
            elif new is target.value:  # the program has written it
                target._changes = target._version + 1
            elif is_recorded:
                target._rebind(new if isinstance(new, Array) else Tensor(new))
            else:
                unrecorded.append((target, new if isinstance(new, Array) else Tensor(new)))  # type: ignore[arg-type]  # a tensor
        if unrecorded:
            with recording.override(enabled=False):
                for tensor, value in unrecorded:
                    tensor._rebind(value)
        return outs[: self.first_assigned]

    def derive(self, kind: str, details: tuple, make: Callable[[Graph], Callable]) -> Callable:
        """A compiled function made from the graph, once for each kind and details."""
        key = kind, details
        if key not in self.known:
            f = make(self.graph)
            f.__name__ = f"{kind} of {self.name}"
            self.known.setdefault(key, self.wrap(f))
        return self.known[key]


def static_arguments(
    f: Callable, numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[frozenset[int], frozenset[str]]:
    """The positions and names of static arguments, each by both if the function has a signature."""
    if not numbers and not names:
        return frozenset(), frozenset()
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return frozenset(numbers), frozenset(names)
    kinds = {p.kind for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        beyond = [i for i in numbers if not -len(positional) <= i < len(positional)]
        if beyond:
            raise user_error(
                ValueError, f"There is no argument {beyond[0]} to make static in a function of {len(positional)}"
            )
        numbers = tuple([i % len(positional) for i in numbers])
    unknown = [name for name in names if name not in {p.name for p in parameters}]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise user_error(ValueError, f"There is no argument {unknown[0]!r} to make static")
    both = [(i, p.name) for i, p in enumerate(positional) if i in numbers or p.name in names]
    return frozenset([*numbers, *[i for i, _ in both]]), frozenset([*names, *[name for _, name in both]])


def leaf_key(x: Any) -> Any:
    """A key that is equal for arguments that have the same trace."""
    if isinstance(x, SHAPED):
        refuse_subclass(x)
        return "array", x.shape, x.dtype
    if isinstance(x, Spec):
        return "array", *input_spec(x)
    if isinstance(x, Fixed):
        return "static", constant_key(x.value)
    return x.__class__ if is_traced(x) else constant_key(x)


def unhashable(leaves: Sequence[Any]) -> TypeError:
    """The error for a constant among the arguments that is not hashable."""
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
        "Pass a number, a string or a tuple, or arrays in lists, dicts or dataclasses.",
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


def lift_captured(graph: Graph) -> tuple[Graph, list]:
    """A graph with captured values as further inputs, and these values: tensors, and copies of arrays on a GPU."""
    captured = [node for node in graph.constants if node.is_captured]
    if not captured:
        return graph, []
    new: dict[Any, Any] = {node: Input(input_spec(node.spec), name="captured") for node in captured}
    for node in graph.operations:
        if any(a in new for a in node.args):
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    inputs = (*graph.inputs, *[new[node] for node in captured])
    outputs = [new.get(node, node) for node in graph.outputs]
    values = [Tensor(x.copy()) if isinstance(x, DeviceArray) else x for x in [node.value for node in captured]]
    return Graph(inputs, outputs, graph.arguments, graph.result), values


def described_tree(structure: Structure, leaves: Iterator[Any], nothing: Any) -> Any:
    """The tree of arguments or of results of a native entry, with descriptions of the leaves, and of None.

    None if a leaf has no description, or if there are containers other than tuples, lists and dicts of plain keys.
    """
    if structure is LEAF:
        return next(leaves)
    if structure.make is type(None):
        return nothing
    parts = [described_tree(child, leaves, nothing) for child in structure.children]
    if any(part is None for part in parts):
        return None
    if structure.make is dict and all(type(key) in (str, int) for key in structure.keys):
        return dict(zip(structure.keys, parts, strict=True))
    return structure.make(parts) if structure.make in (tuple, list) else None
