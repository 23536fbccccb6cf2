"""Programs that have the bits of eager code: exact operations are native, eager code runs all others.

A graph is cut into stages. In each, first one native program runs exact operations (`exact_parts.py`), fused, and then
the operations whose bits depend on who computes them run as in eager code: sums, products, functions of small arrays.

    def run(i0, i1, i2):
        v0, v1 = part0(i0, i1)        # native: t * (1 - out * out), and more
        v2 = matmul(v0, i2.transpose(1, 0))
        v3 = sum(v0, axis=(0,), keepdims=False)
        ...

So nothing is computed in another order than by one operation after the other, and the operands of eager operations have
the layouts that they have there: those are found by running the graph once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.call.eager_stacks import is_native_stack, without_context
from wengert.compiler.call.exact_parts import adds_repeatedly, has_one_rounding, is_native_function
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.entry.native import LOCK, NativeProgram, load_or_compile
from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.graph import Graph, compute
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation
from wengert.modes.outlines import order_axes
from wengert.modes.symbolic import Symbol
from wengert.ops.shape.reshaping import broadcast_to, transpose

Strides = tuple[int, ...] | None
"""The strides of an array that is not C-contiguous."""


def compile_parts(graph: Graph, arrays: Sequence[np.ndarray]) -> Callable[..., Any] | None:
    """A function of arrays with the shapes, dtypes and strides of these that gives the outputs of a graph, as a tuple.

    It returns NotImplemented for other arrays. None if the graph writes to its operands.
    """
    if any(node.params.get("reuse") for node in graph.operations):
        return None
    parts = StagedGraph(graph, arrays)
    while small := parts.find_small():
        parts.native -= small
        parts.assign_stages()
    return PartedWriter(parts).write() if parts.compile() else None


def strides_of(x: Any) -> Strides:
    """The strides of an array that is not C-contiguous."""
    return None if x.__class__ is not np.ndarray or x.flags.c_contiguous else x.strides


def is_plain_view(node: Node) -> bool:
    """Whether a node only moves elements of one array, without a copy in most cases."""
    if not isinstance(node, Operation) or not node.primitive.facts.view or len(node.args) != 1:
        return False
    return node.spec.__class__ is Spec and node.args[0].spec.__class__ is Spec


class StagedGraph:
    """The operations of a graph that are native, and the stages in which they run.

    `strides` are those of the values that are not C-contiguous in eager code, `native` are the operations that may be
    native, `stages` the stage of each operation, and `values` those of operations on Python's numbers.
    """

    def __init__(self, graph: Graph, arrays: Sequence[np.ndarray]):
        self.graph = graph
        self.strides: dict[Node, Strides] = {}
        self.native: set[Node] = set()
        self.values: dict[Node, Any] = {}
        self.stages: dict[Node, int] = {}
        self.uses: dict[Node, list[Node]] = defaultdict(list)
        for node in graph.operations:
            for a in dict.fromkeys(node.args):
                self.uses[a].append(node)
        self.run_once(arrays)
        self.assign_stages()

    def run_once(self, arrays: Sequence[np.ndarray]) -> None:
        """Run the graph as eager code does, to see layouts; and find the operations that may be native."""
        values: dict[Node, Any] = dict(zip(self.graph.inputs, arrays, strict=True))
        self.strides |= {node: strides_of(x) for node, x in values.items()}
        left = self.graph.count_uses()
        with np.errstate(all="ignore"):
            for node in self.graph.nodes:
                if isinstance(node, Constant):
                    values[node] = node.value
                if not isinstance(node, Operation):
                    continue
                out = values[node] = compute(node, [values[a] for a in node.args])
                self.strides[node] = strides_of(out)
                if node.weak is not None:
                    self.values[node] = out
                elif not is_plain_view(node) and self.may_be_native(node, out):
                    self.native.add(node)
                for a in node.args:
                    left[a] -= 1
                    if not left[a]:
                        del values[a]

    def may_be_native(self, node: Operation, out: Any) -> bool:
        """Whether native code has the bits of eager code, and its layout."""
        if has_one_rounding(node):
            strides = self.strides[node]
            return strides is None or is_dense(out.shape, strides, out.itemsize)
        if is_native_stack(node):
            return self.strides[node] is None
        same = node.spec.__class__ is Spec and node.shape != () and is_native_function(node, node.size)
        return same and all(self.strides.get(x) is None for x in (node, *node.args))

    def root(self, node: Node) -> Node:
        """The value of which a node is a view."""
        while is_plain_view(node):
            node = node.args[0]  # type: ignore[attr-defined]  # an operation
        return node

    def assign_stages(self) -> None:
        """Give each operation a stage: a native one as late as those that read it allow.

        Sums of repeated additions are read in later stages: in one kernel, those of several would be interleaved.
        """
        stages: dict[Node, int] = {}
        for node in self.graph.operations:
            stage = 0
            for a in node.args:
                root = self.root(a)
                after = node in self.native and (self.is_eager(root) or self.is_ordered_sum(root))
                stage = max(stage, stages.get(a, 0) + after)
            stages[node] = stage
        outputs = set(map(self.root, self.graph.outputs))
        for node in reversed(self.graph.operations):
            if (node in self.native or is_plain_view(node)) and node not in outputs:
                users = [stages[user] - self.is_ordered_sum(node) for user in self.uses[node]]
                stages[node] = max(stages[node], min(users, default=0))
        self.stages = stages

    def find_read(self) -> set[Node]:
        """The values that Python reads: outputs, operands of eager operations, and what these are views of."""
        found: set[Node] = set()
        eager = [node for node in self.graph.operations if self.is_eager(node) and not is_plain_view(node)]
        todo = [*self.graph.outputs, *eager, *[a for node in eager for a in node.args]]
        for node in self.native:
            roots = [self.root(a) for a in node.args]  # type: ignore[attr-defined]  # an operation
            todo += [x for x in roots if x not in self.native or self.stages[x] != self.stages[node]]
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                if is_plain_view(node):
                    todo.append(node.args[0])  # type: ignore[attr-defined]  # an operation
        return found

    def is_eager(self, node: Node) -> bool:
        """Whether eager code runs an operation."""
        return isinstance(node, Operation) and node not in self.native and node not in self.values

    def is_ordered_sum(self, node: Node) -> bool:
        """Whether native code adds in the order of NumPy, which it does not if it adds something else in between."""
        return node in self.native and isinstance(node, Operation) and adds_repeatedly(node)

    def find_small(self) -> set[Node]:
        """The native operations of parts that are so small that eager code is as fast."""
        now = machine.current
        members = defaultdict(list)
        for node in self.native:
            members[self.stages[node]].append(node)
        small: set[Node] = set()
        for nodes in members.values():
            largest = max(node.size for node in nodes)
            if len(nodes) < now.min_operations_of_tape_part and largest < now.min_elements_of_single_part:
                small.update(nodes)
        return small

    def compile(self) -> bool:
        """Compile the parts; whether there are not too many different ones."""
        members: dict[int, list[Node]] = defaultdict(list)
        for node in self.graph.operations:
            if node in self.native:
                members[self.stages[node]].append(node)
        self.parts = {stage: NativePart(self, nodes) for stage, nodes in members.items()}
        different = Counter([part.graph.fingerprint for part in self.parts.values()])
        if len(different) > machine.current.max_parts_of_tape_program:
            return False
        known: dict[str, NativeProgram] = {}
        for part in self.parts.values():
            key = part.graph.fingerprint
            if key not in known:
                known[key] = part.compile()
            part.program = known[key]
        return all(p.build.program.is_native and p.entry is not None for p in known.values())


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether an array is a contiguous one whose axes are permuted."""
    single, order, _ = order_axes(shape, strides, itemsize)
    return single is None and order is not None


class NativePart:
    """The native program of one stage.

    `inputs` are the values that it reads, and `outputs` those that others read, in the memory order of eager code.
    """

    program: NativeProgram

    def __init__(self, parts: StagedGraph, nodes: Sequence[Node]):
        inside = set(nodes)
        self.inputs: list[Node] = []
        new: dict[Node, Node] = {}
        given: list[Input] = []

        def node_of(node: Node) -> Node:
            """The node of the part that stands for a node."""
            if node in new:
                return new[node]
            if node in parts.values:
                new[node] = Constant(parts.values[node])
            elif isinstance(node, Constant):
                new[node] = node
            elif is_plain_view(node):
                assert isinstance(node, Operation)
                new[node] = node.with_args([node_of(node.args[0])])
            else:
                assert node not in inside, "operations are in order"
                new[node] = self.add_input(node, parts.strides.get(node), given)
            return new[node]

        for node in nodes:
            assert isinstance(node, Operation)
            new[node] = without_context(node.with_args([node_of(a) for a in node.args]))
        wanted = parts.find_read()
        self.outputs = [node for node in nodes if node in wanted]
        laid = [as_stored(new[node], parts.strides[node]) for node in self.outputs]
        self.graph = Graph(given, laid)

    def add_input(self, node: Node, strides: Strides, given: list[Input]) -> Node:
        """A new input for a value with these strides."""
        self.inputs.append(node)
        if strides is None:
            given.append(Input(node.spec))
            return given[-1]
        single, order, axes = order_axes(node.shape, strides, node.dtype.itemsize)
        shape = node.shape
        if single is not None:  # one element along broadcast axes
            shape = tuple([n if step else 1 for n, step in zip(shape, strides, strict=True)])
        stored = Input(Spec(shape if order is None else tuple([shape[k] for k in order]), node.dtype))
        given.append(stored)
        value = Symbol(stored) if order is None else transpose(Symbol(stored), axes)
        return value.node if single is None else broadcast_to(value, node.shape).node

    def compile(self) -> NativeProgram:
        """The program of the part."""
        arguments = [Argument("array", node.spec) for node in self.graph.inputs]
        results = tuple([node.spec for node in self.graph.outputs])
        with LOCK:
            return load_or_compile(self.graph, EntrySignature(arguments, results), "backward")


def as_stored(node: Node, strides: Strides) -> Node:
    """A result with its axes in the order in which they lie in memory."""
    if strides is None:
        return node
    _, order, _ = order_axes(node.shape, strides, node.dtype.itemsize)
    return transpose(Symbol(node), order).node


class PartedWriter:
    """Writes the function that runs the parts, and eager code between them."""

    def __init__(self, parts: StagedGraph):
        self.parts = parts
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {"asarray": np.asarray, "ascontiguousarray": np.ascontiguousarray}
        self.names: dict[Node, str] = {}
        self.read_by_parts: set[Node] = set()

    def write(self) -> Callable[..., Any]:
        """The function."""
        graph, parts = self.parts.graph, self.parts
        given = [f"i{k}" for k in range(len(graph.inputs))]
        self.names |= dict(zip(graph.inputs, given, strict=True))
        wanted = parts.find_read()
        by_stage: dict[int, list[Operation]] = defaultdict(list)
        for node in graph.operations:
            if node in wanted and node not in parts.native and node not in parts.values:
                by_stage[parts.stages[node]].append(node)
        last = self.find_last_uses(by_stage)
        for stage in range(max([*parts.parts, *by_stage], default=-1) + 1):
            if stage in parts.parts:
                self.write_part(stage)
                self.forget(last.get((stage, None), ()))
            for node in by_stage[stage]:
                self.write_eager(node)
                self.forget(last.get((stage, node), ()))
        checks = [self.check(node) for node in graph.inputs if node not in self.read_by_parts and node in wanted]
        results = "".join([f"{self.value(y)}, " for y in graph.outputs])
        body = [*[f"if {test}: return NotImplemented" for test in checks], *self.lines, f"return ({results})"]
        text = f"def run({', '.join(given)}):\n    " + "\n    ".join(body)
        exec(compile(text, __file__, "exec"), self.constants)
        run: Callable[..., Any] = self.constants.pop("run")
        return np.errstate(all="ignore")(run)

    def find_last_uses(self, by_stage: dict[int, list[Operation]]) -> dict[tuple[int, Any], list[Node]]:
        """The values that are not needed any more after a part, or after an eager operation, of a stage."""
        last: dict[Node, tuple[int, Any]] = {}
        for stage in sorted({*self.parts.parts, *by_stage}):
            if stage in self.parts.parts:
                last |= dict.fromkeys(self.parts.parts[stage].inputs, (stage, None))
            for node in by_stage[stage]:
                last |= dict.fromkeys(node.args, (stage, node))
        found: dict[tuple[int, Any], list[Node]] = defaultdict(list)
        kept = {*self.parts.graph.outputs, *self.parts.graph.inputs}
        for value, place in last.items():
            if isinstance(value, Operation) and value not in kept and value not in self.parts.values:
                found[place].append(value)
        return found

    def forget(self, nodes: Iterable[Node]) -> None:
        """Let go of values."""
        names = [self.names[node] for node in nodes if node in self.names]
        if names:
            self.lines.append(f"del {', '.join(names)}")

    def name_constant(self, value: Any) -> str:
        """The name of a constant."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def check(self, node: Node) -> str:
        """Whether an input that no part reads is another one than the program was made for."""
        name, strides = self.names[node], self.parts.strides[node]
        layout = f"not {name}.flags.c_contiguous" if strides is None else f"{name}.strides != {strides}"
        dtype = self.name_constant(node.dtype)
        return f"{name}.shape != {node.shape} or {name}.dtype != {dtype} or {layout}"

    def value(self, node: Node) -> str:
        """The text of a value."""
        if node in self.names:
            return self.names[node]
        if isinstance(node, Constant) or node in self.parts.values:
            value = node.value if isinstance(node, Constant) else self.parts.values[node]
            self.names[node] = self.name_constant(value)
            return self.names[node]
        raise KeyError(node)

    def write_part(self, stage: int) -> None:
        """Call a part."""
        part = self.parts.parts[stage]
        run, names = self.name_constant(part.program.entry), []
        for node in part.inputs:
            names.append(self.stored(node))
            if names[-1] == self.names[node]:
                self.read_by_parts.add(node)
        outputs = [self.names.setdefault(node, f"v{len(self.names)}") for node in part.outputs]
        self.lines.append(f"r = {run}({', '.join(names)})")
        self.lines.append("if r is NotImplemented: return NotImplemented")
        self.lines.append(f"{''.join([f'{name}, ' for name in outputs])}= r")
        for node, name in zip(part.outputs, outputs, strict=True):
            strides = self.parts.strides[node]
            if strides is not None:
                _, _, axes = order_axes(node.shape, strides, node.dtype.itemsize)
                self.lines.append(f"{name} = {name}.transpose({axes})")

    def stored(self, node: Node) -> str:
        """The text of a value as a contiguous array."""
        name, strides = self.value(node), self.parts.strides.get(node)
        if not node.shape:
            return f"asarray({name})"
        if strides is None:
            return name
        single, order, _ = order_axes(node.shape, strides, node.dtype.itemsize)
        part = name if single is None else f"{name}[{self.name_constant(single)}]"
        return f"ascontiguousarray({part})" if order is None else f"{part}.transpose({order})"

    def write_eager(self, node: Operation) -> None:
        """Run an operation as eager code does."""
        takes_numbers = node.primitive.kind in ("elementwise", "nondifferentiable")
        operands = []
        for a in node.args:
            value = self.value(a)
            if value in self.constants and self.constants[value].__class__ in PYTHON_NUMBERS and not takes_numbers:
                value = self.name_constant(np.asarray(self.constants[value])[()])
            operands.append(value)
        name = self.names[node] = f"v{len(self.names)}"
        if node.primitive is OUTPUT:
            self.lines.append(f"{name} = {operands[0]}[{node.params['index']}]")
            return
        held = node.primitive.definition.in_mode is not None
        run = self.name_constant(node.primitive.op if held else node.primitive.impl)
        given = [*operands, *[f"{key}={self.name_constant(value)}" for key, value in node.params.items()]]
        self.lines.append(f"{name} = {run}({', '.join(given)})")
