"""Operations as JavaScript: the aspect `javascript`, filled in `explain/live/aspects/`.

A value of shape () is a number; any other is a flat list of its elements. Shapes are known when the code is written, so
indices are too. Linear and multilinear operations need no entry: what they do to elements is read off NumPy's own
implementation, which is run on indices, or on arrays with a single one in them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.aspects import Aspect
from wengert.core.kinds import is_arithmetic
from wengert.core.primitive import Primitive, plain_impl
from wengert.graph.ir import Constant, Node, Operation
from wengert.ops.reductions.axes import axes_of

Form = Callable[["CodeWriter", Operation, Sequence[str]], str]
"""The expression of an operation, from those of its operands, which are names or literals."""


class NoForm(Exception):
    """An operation that cannot be written as JavaScript here. The message says why."""


def default_form(primitive: Primitive) -> Form | None:
    """The form of a kind: linear and multilinear operations, and elementwise ones that are arithmetic."""
    if primitive.kind == "linear":
        return write_move if primitive.facts.moves else write_linear
    if primitive.kind == "multilinear":
        return write_bilinear
    return write_arithmetic if is_arithmetic(primitive) else None


javascript: Aspect[Form] = Aspect(
    "javascript",
    "its form in the page, where inputs can be changed",
    default_form,
    rest={
        "general": "the page keeps the numbers of the run",
        "nondifferentiable": "the page keeps the numbers of the run",
        "control": "its steps are recorded one by one",
    },
    filled_by=(
        "wengert.explain.live.aspects.elementwise",
        "wengert.explain.live.aspects.predicates",
        "wengert.explain.live.aspects.reductions",
        "wengert.explain.live.aspects.special",
    ),
)


class CodeWriter:
    """Writes the statements of a program; `tables` are lists of numbers that several statements may share."""

    def __init__(self) -> None:
        self.names: dict[Node, str] = {}
        self.statements: list[str] = []
        self.tables: dict[str, str] = {}

    def table(self, numbers: Any) -> str:
        """The name of a list of numbers."""
        return self.tables.setdefault(literal(numbers), f"t{len(self.tables)}")

    def name(self, node: Node) -> str:
        """The variable of a node, or its literal."""
        if node not in self.names:
            assert isinstance(node, Constant)
            value = np.asarray(node.value)
            if value.dtype.kind == "c":
                raise NoForm("complex numbers are not recomputed in the page")
            flat = value.ravel().astype(float).tolist()
            self.names[node] = self.table(flat) if node.shape else literal(flat[0])
        return self.names[node]

    def add(self, node: Operation) -> None:
        """Write the statement of an operation."""
        form = javascript.of(node.primitive)
        if form is None:
            raise NoForm(f"{node.primitive.name} has no JavaScript: {javascript.reason(node.primitive)}")
        if any(x.dtype is None or x.dtype.kind == "c" for x in (node, *node.args)):
            raise NoForm(f"{node.primitive.name} has complex numbers or several results")
        text = form(self, node, [self.name(a) for a in node.args])
        if node.dtype == np.float32:
            text = f"{text}.map(Math.fround)" if node.shape else f"Math.fround({text})"
        self.names[node] = f"v{len(self.statements)}"
        self.statements.append(f"const {self.names[node]} = {text};")


def literal(x: Any) -> str:
    """A number, or a nested list of numbers, as JavaScript."""
    if isinstance(x, list | tuple):
        return f"[{','.join(map(literal, x))}]"
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "(-Infinity)"
    if isinstance(x, float) and x.is_integer() and abs(x) < 1e15 and (x or math.copysign(1.0, x) > 0):
        x = int(x)
    return json.dumps(x) if x >= 0 and math.copysign(1.0, x) > 0 else f"({x!r})"


def element(template: str) -> Form:
    """The form of an elementwise operation: `"Math.atan2({0}, {1})"`, operands by number and parameters by name."""

    def form(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
        params = {name: literal(value) for name, value in node.params.items() if is_literal(value)}
        if any("{" + name + "}" in template for name in node.params.keys() - params.keys()):
            raise NoForm(f"{node.primitive.name} with such parameters is not recomputed in the page")
        return map_elements(writer, node, args, lambda elements: template.format(*elements, **params))

    return form


def is_literal(x: Any) -> bool:
    """Whether a parameter is a number, or a tuple of numbers."""
    return isinstance(x, int | float) or isinstance(x, tuple) and all(map(is_literal, x))


def map_elements(writer: CodeWriter, node: Operation, args: Sequence[str], write: Callable[[list[str]], str]) -> str:
    """One expression for each element of the result, with operands broadcast."""
    if not node.shape:
        return f"({write(list(args))})"
    elements = []
    for name, a in zip(args, node.args, strict=True):
        if a.shape == node.shape:
            elements.append(f"{name}[i]")
        elif not a.shape:
            elements.append(name)
        else:
            indices = np.broadcast_to(np.arange(a.size).reshape(a.shape), node.shape)
            elements.append(f"{name}[{writer.table(indices.ravel().tolist())}[i]]")
    return f"each({node.size}, (i) => {write(elements)})"


class ScriptTerm(str):
    """An expression in JavaScript that Python's arithmetic operators extend."""

    def _join(self, sign: str, other: Any, swapped: bool = False) -> ScriptTerm:
        pair = [self, other if isinstance(other, ScriptTerm) else literal(other)]
        left, right = reversed(pair) if swapped else pair
        return ScriptTerm(f"({left} {sign} {right})")

    def __add__(self, other: Any) -> ScriptTerm:
        return self._join("+", other)

    def __radd__(self, other: Any) -> ScriptTerm:
        return self._join("+", other, swapped=True)

    def __sub__(self, other: Any) -> ScriptTerm:
        return self._join("-", other)

    def __rsub__(self, other: Any) -> ScriptTerm:
        return self._join("-", other, swapped=True)

    def __mul__(self, other: Any) -> ScriptTerm:
        return self._join("*", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> ScriptTerm:
        return self._join("/", other)

    def __rtruediv__(self, other: Any) -> ScriptTerm:
        return self._join("/", other, swapped=True)

    def __pow__(self, other: Any) -> ScriptTerm:
        return self._join("**", other)

    def __neg__(self) -> ScriptTerm:
        return ScriptTerm(f"(-{self})")


def write_arithmetic(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """An operation whose implementation is arithmetic alone: that, run on expressions."""
    implementation = plain_impl(node.primitive)
    return map_elements(writer, node, args, lambda xs: implementation(*map(ScriptTerm, xs), **node.params))


# Linear operations


def join_operands(node: Operation, args: Sequence[str]) -> tuple[str, list[int]]:
    """The elements of all operands that are moved or added, as one list, and the indices of these operands.

    The others are indices, which must be known.
    """
    alike = node.primitive.inputs[0].startswith("*")
    live = [
        i
        for i, a in enumerate(node.args)
        if i not in node.primitive.constants and (alike or i == 0 or a.dtype.kind == "f")
    ]
    for i, a in enumerate(node.args):
        if i not in live and not isinstance(a, Constant):
            raise NoForm(f"{node.primitive.name} at indices that are computed is not recomputed in the page")
    parts = [args[i] if node.args[i].shape else f"[{args[i]}]" for i in live]
    return (parts[0] if len(parts) == 1 else f"[].concat({', '.join(parts)})"), live


def run_numpy(node: Operation, live: Sequence[int], values: Sequence[np.ndarray]) -> np.ndarray:
    """NumPy's result for these values of the live operands."""
    given = dict(zip(live, values, strict=True))
    full = [a.value if isinstance(a, Constant) and i not in given else given[i] for i, a in enumerate(node.args)]
    params = node.params | ({"reuse": False} if "reuse" in node.params else {})
    return np.asarray(node.primitive.impl(*full, **params)).ravel()


def as_result(node: Operation, text: str) -> str:
    """An expression of a list, as a number if the shape is ()."""
    return text if node.shape else f"{text}[0]"


def write_move(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """An operation that only moves elements: run on their numbers, it says where each comes from."""
    source, live = join_operands(node, args)
    sizes = np.cumsum([0, *[node.args[i].size for i in live]])
    numbers = [
        np.arange(start + 1, start + 1 + node.args[i].size, dtype=float).reshape(node.args[i].shape)
        for start, i in zip(sizes, live, strict=False)
    ]
    indices = (run_numpy(node, live, numbers) - 1).astype(int).tolist()
    if indices == list(range(sizes[-1])) and node.shape:
        return source
    if not node.shape:
        return f"{source}[{indices[0]}]" if indices[0] >= 0 else "0"
    return f"take({source}, {writer.table(indices)})"


def basis(shape: tuple[int, ...], i: int) -> np.ndarray:
    """Zeros, and a single one."""
    found = np.zeros(math.prod(shape))
    found[i] = 1.0
    return found.reshape(shape)


def write_linear(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """A linear operation: run on arrays with a single one in them, it says with which weights elements are added."""
    source, live = join_operands(node, args)
    rows: list[list[float]] = [[] for _ in range(node.size)]
    start = 0
    for k, i in enumerate(live):
        zeros = [np.zeros(node.args[j].shape) for j in live]
        for e in range(node.args[i].size):
            zeros[k] = basis(node.args[i].shape, e)
            out = run_numpy(node, live, zeros)
            for o in np.flatnonzero(out):
                rows[o] += [start + e, float(out[o])]
        start += node.args[i].size
    return as_result(node, f"weigh({source}, {writer.table(rows)})")


def write_bilinear(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """A product of two arrays: run on pairs of arrays with a single one, it says which elements are multiplied."""
    if len(node.args) != 2:
        raise NoForm(f"{node.primitive.name} of {len(node.args)} operands is not recomputed in the page")
    x, y = node.args
    if x.size * y.size > machine.current.max_products_of_live_sum:
        raise NoForm(f"the product of {x.spec} and {y.spec} is too large to be recomputed in the page")
    rows: list[list[float]] = [[] for _ in range(node.size)]
    for i in range(x.size):
        for j in range(y.size):
            out = run_numpy(node, (0, 1), (basis(x.shape, i), basis(y.shape, j)))
            for o in np.flatnonzero(out):
                rows[o] += [i, j, float(out[o])]
    lists = [name if a.shape else f"[{name}]" for name, a in zip(args, node.args, strict=True)]
    return as_result(node, f"contract({lists[0]}, {lists[1]}, {writer.table(rows)})")


def write_matrix_product(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """A matrix product of at most two axes each: which elements are multiplied is known."""
    x, y = [np.arange(a.size).reshape(a.shape) for a in node.args]
    if max(x.ndim, y.ndim) > 2 or node.size * x.shape[-1] > machine.current.max_products_of_live_sum:
        return write_bilinear(writer, node, args)
    left = x if x.ndim == 2 else x[None]
    right = y if y.ndim == 2 else y[:, None]
    rows = [
        [int(n) for pair in zip(row, column, strict=True) for n in (*pair, 1)] for row in left for column in right.T
    ]
    return as_result(node, f"contract({args[0]}, {args[1]}, {writer.table(rows)})")


# Operations along axes


def axis_groups(node: Operation) -> list[list[int]]:
    """For each element of a reduction, the indices of the elements that it is made of."""
    x = node.args[0]
    axes = axes_of(x, node.params.get("axis"))
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    rows = np.transpose(np.arange(x.size).reshape(x.shape), kept + axes)
    groups: list[list[int]] = rows.reshape(math.prod([x.shape[i] for i in kept]), -1).tolist()
    return groups


def fold(template: str) -> Form:
    """The form of a reduction: `"largest(list)"`, a function of the list of elements that are reduced to one."""

    def form(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
        refuse_bounds(node)
        params = {name: literal(value) for name, value in node.params.items() if is_literal(value)}
        body = template.format(**params)
        if not node.args[0].shape:
            return f"((list) => {body})([{args[0]}])"
        return as_result(node, f"reduce({args[0]}, {writer.table(axis_groups(node))}, (list) => {body})")

    return form


def refuse_bounds(node: Operation) -> None:
    """`initial` and `where` change which elements count."""
    if node.params.get("initial") is not None or node.params.get("where") is not None:
        raise NoForm(f"{node.primitive.name} with initial= or where= is not recomputed in the page")


def write_along(template: str) -> Form:
    """The form of an operation that maps lists to lists along axes."""

    def form(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
        source = args[0] if node.args[0].shape else f"[{args[0]}]"
        return as_result(node, f"along({source}, {writer.table(axis_groups(node))}, (list) => {template})")

    return form
