"""Tapes whose backward pass has a program, recognised in less time than it takes to outline them.

For each outline that has a program, a function is written that walks a tape from its seeds, compares it with the
outline, step by step without a loop, and collects what the program reads:

    def match(seeds):
        (n0, v0), = seeds.items()
        if n0.primitive is not k0 or n0.shape != k1 or n0.dtype is not k2 or n0.hooks is not None: return None
        n1, = n0.parents
        ...
        return (v0, v1), (n2,), (n0, n1)

It asks nothing of arrays: the program compares their dtypes, shapes and layouts. A tape that it
does not recognise may still have the outline, and is then outlined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine, native
from wengert.core.constant_key import BY_EQUALITY, constant_key
from wengert.core.spec import Spec
from wengert.modes.outlines import ArrayHolder, OutlinedTape
from wengert.modes.tape import TapeNode
from wengert.ops.indexing.key import Index

Match = tuple[tuple[Any, ...], tuple[TapeNode, ...], tuple[TapeNode, ...]]
"""What a program reads, the leaves whose cotangents are its results, and the operations."""


class KnownTape(NamedTuple):
    """A tape that has a program: the function that recognises it, the program, and the number of nodes."""

    match: Callable[[dict[TapeNode, Any]], Match | None]
    entry: Callable[..., Any]
    length: int


KNOWN: dict[Any, tuple[KnownTape, ...]] = {}
"""Known tapes by their last operation; the one that came last is the first."""
machine.on_change(KNOWN.clear)


def run_known(
    alike: tuple[KnownTape, ...], seeds: dict[TapeNode, Any], has_large: bool, retain: bool
) -> list[tuple[TapeNode, np.ndarray]] | None:
    """The cotangents of the leaves of a tape, from its program; None if it is none of these known ones.

    A tape without large arrays must be long, as in `may_pay`.
    """
    if not native.IS_ON:
        return None
    for known in alike:
        found = known.match(seeds) if has_large or known.length >= machine.current.min_nodes_of_long_tape else None
        if found is None:
            continue
        inputs, leaves, operations = found
        results = known.entry(*inputs)
        if results is NotImplemented:  # arrays of other layouts
            continue
        if known is not alike[0]:
            KNOWN[next(iter(seeds)).primitive] = (known, *[other for other in alike if other is not known])
        if not retain:
            for node in operations:
                node.saved, node.parents = None, ()
        return list(zip(leaves, results, strict=True))
    return None


def add_known(tape: OutlinedTape, entry: Callable[..., Any], leaves: Sequence[int]) -> None:
    """Recognise tapes like this one, whose program has an entry that gives the cotangents of these leaves."""
    if sum(map(len, KNOWN.values())) >= machine.current.max_tapes_counted:
        KNOWN.clear()
    last = next(iter(tape.seeds)).primitive
    others = [known for known in KNOWN.get(last, ()) if known.entry is not entry]
    KNOWN[last] = (
        KnownTape(MatchWriter(tape).write(leaves), entry, len(tape.order)),
        *others[: machine.current.max_tapes_alike - 1],
    )


class MatchWriter:
    """Writes the function that compares tapes with an outlined one.

    `lines` are its steps, and `constants` what they refer to. `nodes` has the variables of nodes, `arrays` those of the
    arrays that they saved, by the number of the input, and `inputs` what the program reads of them.
    """

    def __init__(self, tape: OutlinedTape):
        self.tape = tape
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {f.__name__: f for f in (constant_key, np.asarray)}
        self.shared: dict[Any, str] = {}  # the names of constants that occur often
        self.nodes: dict[TapeNode, str] = {}
        self.arrays: dict[int, str] = {}
        self.inputs: dict[int, str] = {}
        self.variables = map("v{}".format, count())

    def write(self, leaves: Sequence[int]) -> Callable[[dict[TapeNode, Any]], Match | None]:
        """The function; the leaves of its matches are those with these numbers."""
        order, seeds = self.tape.order, self.tape.seeds
        pairs = [(self.name_node(node), next(self.variables)) for node in seeds]
        self.lines.append(f"{''.join([f'({node}, {t}), ' for node, t in pairs])}= seeds.items()")
        for (_, name), t in zip(pairs, seeds.values(), strict=True):
            self.match_value(name, t)
        for newer, node in zip((None, *order), order, strict=False):
            self.match_node(node, newer)
        inputs = [self.inputs[i] for i in range(len(self.tape.inputs))]
        operations = [self.nodes[node] for node in order if node.primitive is not None]
        results = ", ".join(map(write_tuple, (inputs, [self.nodes[order[i]] for i in leaves], operations)))
        body = "\n        ".join([*self.lines, f"return {results}"])
        exec(compile(MATCH.format(body=body), __file__, "exec"), self.constants)
        match: Callable[[dict[TapeNode, Any]], Match | None] = self.constants.pop("match")
        return match

    def name_node(self, node: TapeNode) -> str:
        """The variable of a node that occurs for the first time."""
        return self.nodes.setdefault(node, f"n{len(self.nodes)}")

    def name_constant(self, value: Any) -> str:
        """The name of a constant."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def share_constant(self, value: Any) -> str:
        """The same for constants that are equal only if they are the same."""
        key = value.__class__, value
        if key not in self.shared:
            self.shared[key] = self.name_constant(value)
        return self.shared[key]

    def refuse_if(self, *conditions: str) -> None:
        """Another tape, if one of these holds."""
        self.lines.append(f"if {' or '.join(conditions)}: return None")

    def unpack(self, expression: str, names: Sequence[str]) -> None:
        """Assign the parts of a sequence of this length."""
        self.lines.append(f"{write_tuple(names)} = {expression}")

    def match_node(self, node: TapeNode, newer: TapeNode | None) -> None:
        """Compare a node, which is older than another one, and everything that it refers to."""
        name = self.nodes[node]
        self.refuse_if(
            f"{name}.primitive is not {self.share_constant(node.primitive)}",
            f"{name}.shape != {self.share_constant(node.shape)}",
            f"{name}.dtype != {self.name_constant(node.dtype)}"
            if isinstance(node.dtype, tuple)
            else f"{name}.dtype is not {self.share_constant(node.dtype)}",
            f"{name}.hooks is not None",
            *([] if newer is None else [f"{name}.sequence >= {self.nodes[newer]}.sequence"]),
        )
        if node.primitive is None:
            return
        self.match_parents(f"{name}.parents", node.parents)
        self.match_values(f"{name}.saved", node.saved or ())
        self.match_parameters(f"{name}.params", node.params)

    def match_parents(self, expression: str, parents: Sequence[TapeNode | None]) -> None:
        """Compare the wires of a node."""
        names = []
        again = []
        for parent in parents:
            if parent is not None and parent not in self.nodes:
                names.append(self.name_node(parent))
            else:
                names.append(next(self.variables))
                again.append(f"{names[-1]} is not {'None' if parent is None else self.nodes[parent]}")
        self.unpack(expression, names)
        if again:
            self.refuse_if(*again)

    def match_values(self, expression: str, values: Sequence[Any]) -> None:
        """Compare a sequence of saved values."""
        names = [next(self.variables) for _ in values]
        self.unpack(expression, names)
        for name, x in zip(names, values, strict=True):
            self.match_value(name, x)

    def match_value(self, name: str, x: Any) -> None:
        """Compare a saved value, or add it to what the program reads."""
        number = self.tape.known.get(id(x))
        if number is not None:
            self.match_input(name, x, number)
        elif x is None:
            self.refuse_if(f"{name} is not None")
        elif x.__class__ is tuple:
            self.match_values(name, x)
        elif x.__class__ is Spec:
            self.refuse_if(f"{name} != {self.share_constant(x)}")
        else:
            self.match_constant(name, x)

    def match_input(self, name: str, x: Any, number: int) -> None:
        """Add an array to what the program reads, or compare it with the one that was added."""
        if number in self.arrays:
            self.refuse_if(f"{name} is not {self.arrays[number]}")
            return
        self.arrays[number] = self.inputs[number] = name
        if not x.shape:  # a number of NumPy is as good as an array of one
            self.refuse_if(f"{name}.__class__ not in {self.share_constant(frozenset((np.ndarray, x.dtype.type)))}")
            self.inputs[number] = f"asarray({name})"

    def match_parameters(self, expression: str, params: dict[str, Any]) -> None:
        """Compare the parameters of a node."""
        if not params:
            self.refuse_if(expression)
            return
        given = next(self.variables)
        self.lines.append(f"{given} = {expression}")
        self.refuse_if(f"len({given}) != {len(params)}")
        for key, x in params.items():
            name = next(self.variables)
            self.lines.append(f"{name} = {given}[{key!r}]")
            if isinstance(x, Index):
                self.refuse_if(f"{name}.as_tuple() != {self.name_constant(x.as_tuple())}")
            elif isinstance(x, ArrayHolder):
                self.refuse_if(f"{name}.outline != {self.name_constant(x.outline)}")
                self.match_values(f"{name}.arrays", x.arrays)
            else:
                self.match_constant(name, x)

    def match_constant(self, name: str, x: Any) -> None:
        """Compare what is not an array."""
        if x.__class__ in BY_EQUALITY or (x.__class__ is float and x and x == x):  # neither a zero nor a NaN
            self.refuse_if(
                f"{name}.__class__ is not {self.share_constant(x.__class__)}", f"{name} != {self.share_constant(x)}"
            )
        else:
            self.refuse_if(f"constant_key({name}) != {self.name_constant(constant_key(x))}")


MATCH = """\
def match(seeds):
    try:
        {body}
    except (AttributeError, KeyError, TypeError, ValueError):  # something else is saved, or another number of parts
        return None
"""


def write_tuple(names: Sequence[str]) -> str:
    """The text of a tuple."""
    return f"({''.join([f'{name}, ' for name in names])})"
