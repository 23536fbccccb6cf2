"""Programs as C computes them: which operations it has forms for, what they are expanded to, and their loops.

The schedule is that of native programs, without what serves their speed alone: no program or row is unrolled, and
products of matrices are sums of products, whose operands may be views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compiler.aspects.softmax import share_exponentials
from wengert.compiler.forms.classify import Form, form_of, is_native_control
from wengert.compiler.forms.expand import expand
from wengert.compiler.forms.inline import inline_calls
from wengert.compiler.forms.lowering import expansion
from wengert.compiler.program.prepare import TIDY
from wengert.compiler.schedule.schedule import Schedule
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.control.residuals import has_unknown_length
from wengert.control.rolling import roll
from wengert.core import machine
from wengert.core.aspects import Aspect
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.export.c_source.functions import ENTRIES, c_function
from wengert.export.c_source.routines import c_routine
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.passes import REWRITES, run_until_stable
from wengert.graph.passes.views import RESHAPES

SUPPORTED = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "?")))
"""The dtypes of programs in C."""


c_expansion: Aspect[Callable[..., Any]] = Aspect(
    "c_expansion",
    "the simpler operations that it consists of in C, where they are others than in native code",
    rest="its expansion in native code serves C as well, or it has none",
    filled_by=ENTRIES,
)


def rule_of(primitive: Primitive) -> Callable[..., Any] | None:
    """The expansion of an operation in C. What has a routine stays, unless it has a rule for C."""
    return c_expansion.of(primitive) or (None if primitive in c_routine else expansion.of(primitive))


def prepare(graph: Graph) -> Graph:
    """The graph as it is scheduled for C: optimised, with repetitions as loops, and expanded."""
    optimised = run_until_stable(roll(inline_calls(graph)), REWRITES)
    expanded = expand(share_exponentials(optimised), rule_of)
    return run_until_stable(expanded, TIDY)


# Forms


def c_form(node: Node) -> Form:
    """What a node becomes in C: reductions are loops whatever their length, and nothing is unrolled."""
    if not isinstance(node, Operation):
        return Form.GIVEN
    if node.primitive is OUTPUT:
        return Form.OUTPUT
    specs = [*node.specs, *[spec for a in node.args for spec in a.specs]]
    if any(spec.dtype not in SUPPORTED for spec in specs) or any(map(has_unknown_length, specs)):
        return Form.FALLBACK
    if node.primitive in (LOOP, SWITCH):
        return Form.LOOP if is_native_control(node) else Form.FALLBACK
    routine, function = c_routine.of(node.primitive), c_function.of(node.primitive)
    if routine is not None:
        return Form.ROUTINE if routine.is_for(node) else Form.FALLBACK
    if function is not None and function.name_for(node) is not None:
        return Form.ELEMENT
    form = form_of(node, ()) if node.primitive not in c_function.reasons else Form.FALLBACK
    if form is Form.UNROLLED:
        return Form.REDUCE
    return form if form in WRITTEN else Form.FALLBACK


WRITTEN = (Form.ELEMENT, Form.VIEW, Form.CHOICE, Form.GATHER, Form.REDUCE, Form.SCATTER)
"""The forms of native programs that C has as well."""


def find_unwritable(graph: Graph) -> Iterator[Node]:
    """What has no form in C, of a graph that is prepared, and of the graphs that it holds: operations and inputs."""
    for node in (*graph.inputs, *graph.constants):
        if node.dtype not in SUPPORTED:
            yield node
    for node in graph.operations:
        form = c_form(node)
        if form is Form.FALLBACK:
            yield node
        elif form is Form.LOOP:
            for body in held_graphs(node):
                yield from find_unwritable(prepare(body))


def held_graphs(node: Operation) -> list[Graph]:
    """The bodies of a loop, or the branches of a choice."""
    if node.primitive is SWITCH:
        return list(node.params["branches"])
    condition = node.params["condition"]
    return [node.params["body"], *([] if condition is None else [condition])]


class LoopSchedule(Schedule):
    """The schedule of a program in C."""

    def choose_loops(self) -> None:
        self.forms = {node: c_form(node) for node in self.graph.nodes}
        self.depths: dict[Node, int] = {}  # how many choices are nested in the computation of an element

    def decide_stage(self, node: Node) -> None:
        super().decide_stage(node)
        inner = [self.depths[a] for a in node.args if a not in self.stored] if isinstance(node, Operation) else []
        self.depths[node] = max(inner, default=0) + (self.forms[node] is Form.CHOICE)
        if self.depths[node] > machine.current.max_nested_choices_of_c_expression:
            self.store(node)

    def store_operand(self, consumer: Operation, node: Node) -> None:  # noqa: ARG002  # routines read plain arrays
        if self.forms[node] is Form.VIEW and node not in self.aliases and is_a(node, *RESHAPES):
            self.store(node.args[0])
            self.aliases[node] = node.args[0]
        else:
            self.store(node)

    def store_output(self, node: Node) -> None:
        self.store(node)


def is_single_number(node: Node) -> bool:
    """Whether a constant is one number, which is written where it is used."""
    return isinstance(node, Constant) and node.size == 1 and node.spec.__class__ is Spec
