"""Graph: a program as data, in single assignment, typed by specs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.infer import is_elementwise
from wengert.core.levels import numpy_of
from wengert.core.primitive import SHAPED, lookup
from wengert.core.spec import Spec
from wengert.core.tree import Structure, flatten, unflatten
from wengert.graph.forms import PythonSource, Stats, find_form
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation, make_operation, topological_order

__all__ = ["Graph"]

READABLE = 200
"""The most operations of a graph that a notebook shows as mathematics, or as a picture."""


class Graph:
    """A program: inputs, outputs, and all that lies between them. Graphs do not change; passes make new ones.

    `arguments` and `result` are the trees that the program takes (positional, by keyword) and gives, where it was
    traced from a function.

    >>> import wengert as wg
    >>> graph = wg.trace(lambda x: wg.sin(x) * 2.0, np.ones(3))
    >>> [node.primitive.name for node in graph.operations]
    ['sin', 'multiply']
    """

    __slots__ = ("_fingerprint", "arguments", "inputs", "nodes", "outputs", "result")

    def __init__(
        self,
        inputs: Sequence[Input],
        outputs: Sequence[Node],
        arguments: Structure | None = None,
        result: Structure | None = None,
    ):
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.arguments, self.result = arguments, result
        self.nodes = tuple(topological_order(outputs))
        self._fingerprint: str | None = None

    @property
    def operations(self) -> list[Operation]:
        """In the order in which they are computed."""
        return [node for node in self.nodes if isinstance(node, Operation)]

    @property
    def constants(self) -> list[Constant]:
        """In the order of the nodes."""
        return [node for node in self.nodes if isinstance(node, Constant)]

    def with_outputs(self, outputs: Sequence[Node]) -> Graph:
        """The same program, computed in another way."""
        return Graph(self.inputs, outputs, self.arguments, self.result)

    def count_uses(self) -> dict[Node, int]:
        """How often each node is used, as an operand or as an output."""
        uses: dict[Node, int] = dict.fromkeys((*self.inputs, *self.nodes), 0)
        for used in (*[a for node in self.operations for a in node.args], *self.outputs):
            uses[used] += 1
        return uses

    def value_names(self) -> dict[Node, str]:
        """The user's own names of values.

        An instruction that made several nodes at once gave its name to the last of them.
        """
        names: dict[Node, str] = {given: given.name for given in self.inputs if given.name}
        operations = self.operations
        for i, node in enumerate(operations):
            here, there = node.source, operations[i + 1].source if i + 1 < len(operations) else None
            if node.name:
                names[node] = node.name
            elif here is not None and here.name:
                goes_on = there and here.code is there.code and here.instruction == there.instruction
                if not goes_on:
                    names[node] = here.name
        return names

    # Identity

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The program as plain data, nodes as numbers: what makes two graphs equal."""
        numbers: dict[Node, int] = {}
        for given in self.inputs:
            numbers[given] = len(numbers)
            yield "input", given.spec, given.weak
        for node in self.nodes:
            if isinstance(node, Constant):
                numbers[node] = len(numbers)
                yield "constant", node.spec, node.weak, node.value
            elif isinstance(node, Operation):
                numbers[node] = len(numbers)
                yield "operation", node.primitive.name, tuple([numbers[a] for a in node.args]), node.params
        yield "outputs", tuple([numbers[node] for node in self.outputs])

    @property
    def fingerprint(self) -> str:
        """A hash that is the same in every process and on every machine."""
        if self._fingerprint is None:
            tokens = [
                f"{row[1]}{row[2]}" if row[0] == "operation" and not row[3] else _token(row) for row in self.rows()
            ]
            self._fingerprint = hashlib.sha256("\n".join(tokens).encode()).hexdigest()
        return self._fingerprint

    def __eq__(self, other: object) -> bool:
        """The same operations on the same constants; users' operations of one name may be different ones."""
        return self is other or (
            isinstance(other, Graph)
            and self.fingerprint == other.fingerprint
            and all(map(_is_same, self.operations, other.operations))
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        known = self.value_names()
        names = [known.get(node) for node in (*self.inputs, *(n for n in self.nodes if not isinstance(n, Input)))]
        return _restore, (list(self.rows()), names, self.arguments, self.result)

    # Running it

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """The result for these arguments, by NumPy's implementation of each operation; values of any mode will do."""
        if self.arguments is None:
            outs = self.run(args)
        else:
            leaves, structure = flatten((args, kwargs))
            if structure != self.arguments:
                raise user_error(TypeError, f"This graph takes {self.arguments!r}, and was given {structure!r}")
            outs = self.run([x for x in leaves if is_traced(x)])
        if self.result is None:
            return outs[0] if len(outs) == 1 else tuple(outs)
        return unflatten(self.result, outs)

    def run(self, args: Sequence[Any]) -> list[Any]:
        """The outputs for these inputs, without the trees: plain arrays by NumPy, values of a mode by that mode.

        Constants are copied to the device of the inputs.
        """
        values = self._bind(args)
        uses = self.count_uses()
        xp = numpy_of(*args)
        with np.errstate(all="ignore"):
            for node in self.nodes:
                if isinstance(node, Operation):
                    values[node] = compute(node, [values[a] for a in node.args])
                    for a in node.args:
                        uses[a] -= 1
                        if not uses[a]:
                            del values[a]
                elif isinstance(node, Constant):
                    is_elsewhere = xp is not np and isinstance(node.value, np.ndarray)
                    values[node] = xp.asarray(node.value) if is_elsewhere else node.value
        return [values[node] for node in self.outputs]

    def _bind(self, args: Sequence[Any]) -> dict[Node, Any]:
        """The values of the inputs, if they have the specs that the graph was made for."""
        if len(args) != len(self.inputs):
            raise user_error(TypeError, f"This graph has {len(self.inputs)} inputs, and was given {len(args)}")
        values: dict[Node, Any] = {}
        for i, (given, value) in enumerate(zip(self.inputs, args, strict=True)):
            spec = Spec.of(value)
            if spec.shape != given.shape or (spec.dtype != given.dtype and given.weak is None):
                what = f"Input {given.name or i} of this graph is {given.spec!r}, and was given {spec!r}"
                raise user_error(TypeError, what)
            is_numpy = isinstance(value, np.ndarray | np.generic)
            values[given] = given.weak(value) if given.weak is not None and is_numpy else value
        return values

    def optimize(self, verbose: bool = False) -> Graph:
        """A graph that computes the same in less time or memory.

        With `verbose`, every stage that changes something is printed.
        """
        optimized: Graph = find_form("optimize")(self, verbose)
        return optimized

    # Forms and costs

    def __str__(self) -> str:
        return str(find_form("__str__")(self))

    def __repr__(self) -> str:
        return str(find_form("__repr__")(self))

    def python(self, name: str = "f") -> PythonSource:
        """The source of a Python function that computes the same, in the user's own names where they are known.

        >>> from wengert.transforms.tracing import trace
        >>> print(trace(lambda x, y: np.log(x) + x * y, 2.0, 5.0).python())
        import numpy as np
        <BLANKLINE>
        <BLANKLINE>
        def f(x, y):
            return np.log(x) + x * y
        <BLANKLINE>
        """
        source: PythonSource = find_form("python")(self, name)
        return source

    def mathematics(self) -> str:
        """The equations in plain text, one for each value that has a name or is used more than once.

        >>> from wengert.transforms.tracing import trace
        >>> trace(lambda x, y: np.log(x) + x * y, 2.0, 5.0).mathematics()
        'f = ln x + xy'
        """
        return str(find_form("mathematics")(self))

    def latex(self) -> str:
        """The equations for LaTeX."""
        return str(find_form("latex")(self))

    def svg(self) -> str:
        """The program as a picture: inputs, operations, and the shape and dtype of each value."""
        return str(find_form("svg")(self))

    def _repr_latex_(self) -> str | None:
        """For notebooks: the equations, unless there are too many to read."""
        return f"$\\displaystyle {self.latex()}$" if len(self.operations) <= READABLE else None

    def _repr_svg_(self) -> str | None:
        """For notebooks: the picture, unless it would be too large to read."""
        return self.svg() if len(self.operations) <= READABLE else None

    def to_sympy(self) -> Any:
        """The result as an expression of SymPy, or a tuple of them, for a small graph of single numbers."""
        return find_form("to_sympy")(self)

    def stats(self) -> Stats:
        """Operations, bytes, flops and memory."""
        stats: Stats = find_form("stats")(self)
        return stats

    def validate(self) -> Graph:
        """This graph, if each value is made before it is used and has the spec that it should have.

        Else a ValueError.
        """
        find_form("validate")(self)
        return self


def is_traced(leaf: Any) -> bool:
    """Whether an argument is an input of a graph: arrays, values, specs and numbers are.

    Booleans, strings and the like are constants, and so are integers that no array can hold.
    """
    return (
        isinstance(leaf, TRACED)
        and leaf.__class__ is not bool
        and not (leaf.__class__ is int and leaf.bit_length() > 63)
    )


TRACED = (*SHAPED, Spec, int, float, complex)


def compute(node: Operation, operands: list[Any]) -> Any:
    """The value of an operation, as eager code computes it."""
    if any(x.__class__ in PYTHON_NUMBERS for x in operands) and not is_elementwise(node.primitive):
        operands = [np.asarray(x)[()] if x.__class__ in PYTHON_NUMBERS else x for x in operands]
    out = node.primitive.op(*operands, **node.params)
    return node.weak(out) if node.weak and isinstance(out, np.generic) else out


def _token(part: Any) -> str:
    """A string that is equal for equal parts of a row, and only for them."""
    if isinstance(part, np.ndarray | np.generic):
        return f"{part.dtype.str}{part.shape}{hashlib.sha256(np.ascontiguousarray(part).data).hexdigest()}"
    if isinstance(part, Spec):
        return f"{part.dtype.str}{part.shape}"
    if isinstance(part, tuple):
        return f"({','.join(map(_token, part))})"
    if isinstance(part, dict):
        return f"{{{','.join(f'{key}={_token(value)}' for key, value in sorted(part.items()))}}}"
    if isinstance(part, Graph):
        return part.fingerprint
    if isinstance(part, Array):
        return f"captured {Spec.of(part)!r}"
    token = getattr(part, "token", None)
    return str(token()) if token is not None else f"{type(part).__name__}:{part!r}"


def _restore(
    rows: list[tuple[Any, ...]], names: list[str | None], arguments: Structure | None, result: Structure | None
) -> Graph:
    """The graph of these rows, when it is unpickled."""
    nodes: list[Node] = []
    inputs: list[Input] = []
    for row in rows[:-1]:
        if row[0] == "input":
            inputs.append(Input(row[1], row[2]))
            nodes.append(inputs[-1])
        elif row[0] == "constant":
            nodes.append(Constant(row[3]))
        else:
            nodes.append(make_operation(lookup(row[1]), [nodes[i] for i in row[2]], **row[3]))
    for node, name in zip(nodes, names, strict=True):
        node.name = name
    return Graph(inputs, [nodes[i] for i in rows[-1][1]], arguments, result)


def _is_same(x: Operation, y: Operation) -> bool:
    """Whether two operations with one fingerprint are one: the same function, and equal graphs if they hold any."""
    return x.primitive is y.primitive and _held_by(x) == _held_by(y)


def _held_by(node: Operation) -> list[Any]:
    """The parameters of an operation that are graphs, or tuples of them."""
    return [value for value in node.params.values() if _holds_graph(value)]


def _holds_graph(value: Any) -> bool:
    return isinstance(value, Graph) or (isinstance(value, tuple) and any(map(_holds_graph, value)))
