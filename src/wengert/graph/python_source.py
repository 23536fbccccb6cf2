"""A graph as Python source: a function in the user's own names, which returns the same numbers when it runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import OUTPUT, Primitive
from wengert.graph.forms import ENTRIES, PythonSource, form
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.local_names import Scope, choose_lines, identifier, last_uses
from wengert.graph.notation import ATOM, POWER, PRODUCT, SIGN, Infix, notation, write_key, write_literal, write_number
from wengert.ops.elementwise.arithmetic import divide, multiply, negative, square
from wengert.ops.elementwise.exponential import _power
from wengert.ops.elementwise.predicates import invert

LIMIT = 8
"""The most operations on a line."""

SMALL = 12
"""The most elements of an array that is written out."""

NUMBERS = {np.dtype(t): t for t in (bool, np.int64, np.float64, np.complex128)}
RESERVED = ("np", "wg", "lookup", "Index", "Hole", "complex", "int", "range", "zip")
Text = tuple[str, int]
"""A piece of source, and how tightly its outermost operation binds."""


python_call: Aspect[Callable[[SourceWriter, Operation], str]] = Aspect(
    "python call",
    "its Python code, if NumPy takes its parameters in another form",
    rest="it is called by its name",
    filled_by=ENTRIES,
)
python_block: Aspect[Callable[[SourceWriter, Operation, str], list[str]]] = Aspect(
    "python block",
    "its Python code, if that is several lines",
    rest="it is an expression",
    filled_by=ENTRIES,
)


@form("python")
def write_python(graph: Graph, name: str = "f") -> PythonSource:
    """The source of a function of the graph's inputs."""
    return SourceWriter(graph, name).write()


def is_numpy(primitive: Primitive) -> bool:
    """Whether NumPy's function of the same name is its implementation."""
    return getattr(primitive.impl, "ufunc", primitive.impl) is getattr(np, primitive.name, None)


def called_names(graph: Graph) -> set[str]:
    """The names of operations that a graph calls, or one that it holds, by the names of the table."""
    found = {p.name for p in {node.primitive for node in graph.operations} if p not in python_call and not is_numpy(p)}
    return found.union(*[called_names(held.graph) for node in graph.operations for held in graphs_of(node)])


def is_output(node: Node) -> TypeGuard[Operation]:
    """Whether a node is one of the outputs of an operation."""
    return isinstance(node, Operation) and node.primitive is OUTPUT


class SourceWriter:
    """Writes the source of a function, line by line; `texts` are the expressions of nodes so far.

    `parts` are the variables of the outputs of an operation that is written as several lines. Lines of a loop or branch
    have a writer of their own, whose `outer` one is that of the lines around them.
    """

    def __init__(self, graph: Graph, function: str, outer: SourceWriter | None = None):
        self.graph, self.function, self.is_inner = graph, function, outer is not None
        self.texts: dict[Node, Text] = {}
        self.parts: dict[Node, dict[int, str]] = {}
        self.reserved: set[str] = {*RESERVED, *called_names(graph)} if outer is None else outer.reserved
        self.scope: Scope = Scope(self.reserved) if outer is None else outer.scope.inner()
        self.constants: dict[str, Any] = {} if outer is None else outer.constants
        self.looked_up: dict[str, None] = {} if outer is None else outer.looked_up

    def write(self) -> PythonSource:
        """The source of the function."""
        graph = self.graph
        parameters = [self.scope.take(identifier(given.name or "x", self.reserved)) for given in graph.inputs]
        for given, text in zip(graph.inputs, parameters, strict=True):
            self.texts[given] = text, ATOM
        body = self.write_lines()
        results = [self.texts[node][0] for node in graph.outputs]
        body.append(
            f"return {results[0]}" if len(results) == 1 else f"return ({', '.join(results)}{',' * (not results)})"
        )
        return self._assemble(parameters, body)

    def write_lines(self) -> list[str]:
        """The lines that assign to variables, in order; a variable that is no longer needed is used again."""
        graph = self.graph
        for constant in graph.constants:
            self.texts[constant] = self.constant(constant)
        names = graph.value_names()
        blocks = {node for node in graph.operations if node.primitive in python_block}
        named = {node for node in names if not (is_output(node) and node.args[0] in blocks)}
        if self.is_inner:  # what only becomes a state or a result is assigned to that at once
            uses = graph.count_uses()
            named -= {y for y in graph.outputs if uses[y] == 1}
        lines = choose_lines(graph, named | blocks, LIMIT, is_output)
        numbers = {line: i for i, line in enumerate(lines)}
        last = last_uses(graph, lines)
        expiring: dict[int, list[Node]] = {}
        for node in (*graph.inputs, *lines):
            expiring.setdefault(last.get(node, len(lines)), []).append(node)
        body: list[str] = []
        for node in graph.operations:
            if node not in numbers:
                self.texts[node] = self.expression(node)
                continue
            block = python_block.of(node.primitive)
            text = "" if block else self.expression(node)[0]
            base = identifier(names[node], self.reserved) if node in names else "t"
            released = [self.texts[a][0] for a in expiring.get(numbers[node], ()) if a is not node]
            if block:  # of several lines, the first must not overwrite what the others read
                target = self.scope.take(base) if node.dtype is not None else ""
                body += block(self, node, target)
            for variable in released:
                if variable in self.scope.family:  # else it belongs to the lines around these
                    self.scope.release(variable)
            if not block:
                target = self.scope.take(base)
                body.append(f"{target} = {text}")
            self.texts[node] = target, ATOM
        return body

    def _assemble(self, parameters: list[str], body: list[str]) -> PythonSource:
        taken = [*parameters, *(["*", *self.constants] if self.constants else [])]
        head = "\n".join([*[f"{name} = lookup({name!r}).op" for name in self.looked_up], ""] if self.looked_up else [])
        code = f"def {self.function}({', '.join(taken)}):\n" + "".join(f"    {line}\n" for line in body)
        needed = {
            "import numpy as np": "np." in code or "np." in head,
            "import wengert as wg": "wg." in code,
            "from wengert.core.primitive import lookup": bool(head),
            "from wengert.ops.indexing.key import Hole, Index": "Index(" in code,
        }
        imports = "".join([f"{line}\n" for line, wanted in needed.items() if wanted])
        parts = [imports, head, code]
        source = PythonSource("\n".join([p for p in parts[:2] if p]) + ("\n\n" if imports else "") + code)
        source.name, source.constants = self.function, self.constants
        return source

    def constant(self, node: Constant) -> Text:
        """A constant as a number or small array, else as a parameter."""
        value = node.value
        if node.weak is not None:
            return _with_precedence(write_number(value))
        text = None
        if not node.is_captured and node.dtype.kind in "biufc" and node.dtype.char not in "gG":
            text = _write_array(np.asarray(value)) if node.ndim else write_number(np.asarray(value))
        if text is None:
            text = self.scope.take(identifier(node.name or "c", self.reserved))
            self.constants[text] = value
        return text, ATOM

    def expression(self, node: Operation) -> Text:
        """The source of an operation."""
        if node.primitive is OUTPUT:
            if node.args[0] in self.parts:
                return self.parts[node.args[0]][node.params["index"]], ATOM
            return f"{self.enclose(node.args[0])}[{node.params['index']}]", ATOM
        infix = notation.of(node.primitive)
        if isinstance(infix, Infix) and infix.python is not None and not _rounds_differently(node):
            return self.infix(node, infix.python, infix.precedence)
        if is_a(node, negative, invert) and not _rounds_differently(node):
            text, precedence = self.texts[node.args[0]]
            return ("-" if is_a(node, negative) else "~") + (text if precedence >= SIGN else f"({text})"), SIGN
        if is_a(node, square):
            return self.square(node)
        written = python_call.of(node.primitive)
        return (written(self, node), ATOM) if written else (self.call(node), ATOM)

    def infix(self, node: Operation, symbol: str, precedence: int) -> Text:
        """An operator between its operands."""
        left, right = [self.operand(a, node) for a in node.args]
        loose = precedence == POWER  # `**` binds to the right; comparisons must not chain
        if left[1] > precedence or left[1] == precedence and not loose and symbol not in COMPARISONS:
            first = left[0]
        else:
            first = f"({left[0]})"
        second = right[0] if right[1] > precedence or loose and right[1] >= SIGN else f"({right[0]})"
        return f"{first} {symbol} {second}", precedence

    def operand(self, a: Node, user: Operation) -> Text:
        """An operand; a NumPy scalar as a plain number where its dtype is that of an operand that is not one."""
        scalar = isinstance(a, Constant) and a.weak is None and a.shape == () and a.dtype in NUMBERS
        if scalar and any(b.weak is None and not isinstance(b, Constant) and b.dtype == a.dtype for b in user.args):
            return _with_precedence(write_number(np.asarray(a.value).item()))  # type: ignore[attr-defined]  # a constant has a value
        return self.texts[a]

    def square(self, node: Operation) -> Text:
        """A square, so that it rounds as NumPy's."""
        text, precedence = self.texts[node.args[0]]
        if node.shape and node.dtype.kind in "fc":
            return f"{text if precedence > POWER else f'({text})'} ** 2", POWER
        if text.isidentifier():  # ** of a single number rounds differently
            return f"{text} * {text}", PRODUCT
        return f"np.square({text})", ATOM

    def call(self, node: Operation) -> str:
        """A call of NumPy's function where that is the implementation, else of the operation in the table."""
        primitive = node.primitive
        arguments = [self.texts[a][0] for a in node.args]
        arguments += [f"{name}={write_literal(value)}" for name, value in node.params.items()]
        name = primitive.name
        if is_numpy(primitive):
            return f"np.{name}({', '.join(arguments)})"
        self.looked_up[name] = None
        return f"{name}({', '.join(arguments)})"

    def enclose(self, a: Node) -> str:
        """An operand, in parentheses if an attribute or index could not follow it."""
        text, precedence = self.texts[a]
        return text if precedence == ATOM and not re.match(r"[\d.]", text) else f"({text})"

    def array(self, a: Node) -> str:
        """The source of a value as an array, which Python's numbers are not."""
        return f"np.asarray({self.texts[a][0]})" if a.weak else self.enclose(a)

    def key(self, node: Operation, first: int) -> str:
        """The key of an indexing operation, whose arrays begin with operand `first`."""
        return write_key(node.params["key"], [self.texts[a][0] for a in node.args[first:]])


COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


def _with_precedence(text: str) -> Text:
    return text, SIGN if text.startswith("-") else ATOM


def _rounds_differently(node: Operation) -> bool:
    """Whether Python's operator may return something else than NumPy's function.

    It rounds differently in powers and complex products of single numbers, and for exponents with a special case in
    `**`. Of Python's own numbers it returns a Python number, which is right only where the result is weak too.
    """
    if node.weak is None and all(a.weak for a in node.args):
        return True
    if is_a(node, multiply, divide):
        return node.weak is None and node.shape == () and node.dtype.kind == "c"
    if not is_a(node, _power) or node.weak is not None:
        return False
    exponent = node.args[1]
    known = (
        isinstance(exponent, Constant)
        and np.size(exponent.value) == 1
        and np.asarray(exponent.value).item() in (-1, 0, 0.5, 1, 2)
    )
    return node.shape == () or known


def _write_array(array: np.ndarray) -> str | None:
    """An array written out: by its one number if all are equal, element by element if they are few."""
    typed = "" if array.dtype == np.float64 else f", {write_literal(array.dtype)}"
    if array.size and len({array[i].tobytes() for i in np.ndindex(array.shape[: min(array.ndim, 1)])}) == 1:
        first = array[(0,) * array.ndim]
        if array.tobytes() == first.tobytes() * array.size and (array.size > 3 or array.ndim > 1):
            fill = {0: "zeros", 1: "ones"}.get(first.item()) if not np.signbit(first.real) else None
            if fill:
                return f"np.{fill}({array.shape}{typed})"
            return f"np.full({array.shape}, {write_number(first.item())}{typed})"
    if not array.size:
        return f"np.zeros({array.shape}{typed})"
    if array.size > SMALL:
        return None
    return f"np.array({_write_nested(array)}{typed if array.dtype not in NUMBERS else ''})"


def _write_nested(array: np.ndarray) -> str:
    return f"[{', '.join(map(_write_nested, array))}]" if array.ndim else write_number(array.item())


def reduction_call(name: str) -> Callable[[SourceWriter, Operation], str]:
    """The call of a reduction, which leaves out what NumPy does by default."""

    def write(writer: SourceWriter, node: Operation) -> str:
        x, params = node.args[0], dict(node.params)
        axis = params.pop("axis")
        axes = axis if isinstance(axis, tuple) else (axis,)
        words = [writer.texts[x][0]]
        if not (isinstance(axis, tuple) and len(axes) == x.ndim):
            words.append(f"axis={axes[0]}" if len(axes) == 1 else f"axis={axis}")
        words += [
            f"{word}={write_literal(value)}"
            for word, value in params.items()
            if value not in (False, None) or value.__class__ in (int, float)
        ]
        return f"{name}({', '.join(words)})"

    return write


def template(pattern: str) -> Callable[[SourceWriter, Operation], str]:
    """A call with operands in order (`{0}`), all of them (`{all}`) and parameters by name (`{axis}`)."""

    def write(writer: SourceWriter, node: Operation) -> str:
        operands = [writer.texts[a][0] for a in node.args]
        return pattern.format(
            *operands, all=", ".join(operands), **{word: write_literal(value) for word, value in node.params.items()}
        )

    return write
