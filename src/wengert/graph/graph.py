"""Graph: a program as data, in single assignment, typed by specs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import wengert.graph.aspects  # noqa: F401  # what printers know of operations
from wengert.core.array import Array
from wengert.core.primitive import SHAPED, lookup
from wengert.core.spec import Spec
from wengert.core.tree import Structure, flatten, unflatten
from wengert.graph import evaluation
from wengert.graph.ir import Constant, Input, Node, Operation, operation, ordered
from wengert.graph.mathematics import latex, mathematics
from wengert.graph.python import PythonSource, python
from wengert.graph.stats import Stats, stats
from wengert.graph.sympy import to_sympy
from wengert.graph.text import summary, text
from wengert.graph.validation import validate
from wengert.graph.variables import known_names

__all__ = ["Graph"]


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
        self.nodes = tuple(ordered(outputs))
        self._fingerprint: str | None = None

    @property
    def operations(self) -> list[Operation]:
        """In the order in which they are computed."""
        return [node for node in self.nodes if isinstance(node, Operation)]

    @property
    def constants(self) -> list[Constant]:
        return [node for node in self.nodes if isinstance(node, Constant)]

    def replaced(self, outputs: Sequence[Node]) -> Graph:
        """The same program, computed in another way."""
        return Graph(self.inputs, outputs, self.arguments, self.result)

    # Identity

    def rows(self) -> Iterator[tuple]:
        """The program as plain data, nodes as numbers: what makes two graphs equal."""
        places: dict[Node, int] = {}
        for given in self.inputs:
            places[given] = len(places)
            yield "input", given.spec, given.weak
        for node in self.nodes:
            if isinstance(node, Constant):
                places[node] = len(places)
                yield "constant", node.spec, node.weak, node.value
            elif isinstance(node, Operation):
                places[node] = len(places)
                yield "operation", node.primitive.name, tuple([places[a] for a in node.args]), node.params
        yield "outputs", tuple([places[node] for node in self.outputs])

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
        return isinstance(other, Graph) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple:
        known = known_names(self)
        names = [known.get(node) for node in (*self.inputs, *(n for n in self.nodes if not isinstance(n, Input)))]
        return _restored, (list(self.rows()), names, self.arguments, self.result)

    # Running it

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """The result for these arguments, by NumPy's implementation of each operation; values of any mode will do."""
        if self.arguments is None:
            outs = evaluation.evaluate(self, args)
        else:
            leaves, structure = flatten((args, kwargs))
            if structure != self.arguments:
                raise TypeError(f"This graph takes {self.arguments!r}, and was given {structure!r}.")
            outs = evaluation.evaluate(self, [x for x in leaves if is_traced(x)])
        if self.result is None:
            return outs[0] if len(outs) == 1 else tuple(outs)
        return unflatten(self.result, outs)

    def optimize(self, verbose: bool = False) -> Graph:
        """A graph that computes the same in less time or memory.

        With `verbose`, every stage that changes something is printed.
        """
        from wengert.graph.passes import optimize  # passes make graphs, so they import this module

        return optimize(self, verbose)

    # What it looks like, and what it costs

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return summary(self)

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
        return python(self, name)

    def mathematics(self) -> str:
        """The equations in plain text, one for each value that has a name or is used more than once.

        >>> from wengert.transforms.tracing import trace
        >>> trace(lambda x, y: np.log(x) + x * y, 2.0, 5.0).mathematics()
        'f = ln x + xy'
        """
        return mathematics(self)

    def latex(self) -> str:
        """The equations for LaTeX."""
        return latex(self)

    def to_sympy(self) -> Any:
        """The result as an expression of SymPy, or a tuple of them, for a small graph of single numbers."""
        return to_sympy(self)

    def stats(self) -> Stats:
        """Operations, bytes, flops and memory."""
        return stats(self)

    def validate(self) -> Graph:
        """This graph, if each value is made before it is used and has the spec that it should have.

        Else a ValueError.
        """
        return validate(self)


def is_traced(leaf: Any) -> bool:
    """Whether an argument is an input of a graph: arrays, values, specs and numbers are.

    Truth values, texts and the like are constants.

    So are integers that no array can hold.
    """
    return (
        isinstance(leaf, TRACED)
        and leaf.__class__ is not bool
        and not (leaf.__class__ is int and leaf.bit_length() > 63)
    )


TRACED = (*SHAPED, Spec, int, float, complex)


def _token(part: Any) -> str:
    """A text that is equal for equal parts of a row, and only for them."""
    if isinstance(part, np.ndarray | np.generic):
        return f"{part.dtype.str}{part.shape}{hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()}"
    if isinstance(part, Spec):
        return f"{part.dtype.str}{part.shape}"
    if isinstance(part, tuple):
        return f"({','.join(map(_token, part))})"
    if isinstance(part, dict):
        return f"{{{','.join(f'{key}={_token(value)}' for key, value in sorted(part.items()))}}}"
    if isinstance(part, Array):
        return f"captured {Spec.of(part)!r}"
    token = getattr(part, "token", None)
    return token() if token is not None else f"{type(part).__name__}:{part!r}"


def _restored(rows: list[tuple], names: list, arguments: Structure | None, result: Structure | None) -> Graph:
    made: list[Node] = []
    inputs: list[Input] = []
    for row in rows[:-1]:
        if row[0] == "input":
            inputs.append(Input(row[1], row[2]))
            made.append(inputs[-1])
        elif row[0] == "constant":
            made.append(Constant(row[3]))
        else:
            made.append(operation(lookup(row[1]), [made[i] for i in row[2]], **row[3]))
    for node, name in zip(made, names, strict=True):
        node.name = name
    return Graph(inputs, [made[i] for i in rows[-1][1]], arguments, result)
