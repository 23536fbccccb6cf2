"""What the page needs to recompute its numbers when an input is changed: the program, and where its results belong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.explain.explanation import Explanation, input_directions, output_seeds
from wengert.explain.live.program import LiveProgram, write_program
from wengert.explain.live.replay import Replay
from wengert.explain.page.timeline import Timeline, arrivals
from wengert.explain.recorder import Decision, plain_arrays
from wengert.explain.tables.formulas import SMALL
from wengert.graph.ir import Node, Operation
from wengert.graph.mathematics import Expression
from wengert.ops.reductions.sums import sum as total

MARKS = {"value": "⟦v{}⟧", "tangent": "⟦d{}⟧", "adjoint": "⟦a{}⟧"}
"""How a template says which number stands in its place: of which kind, and of which step."""


class LivePage(NamedTuple):
    """The program of a page, and its data."""

    program: LiveProgram
    data: dict[str, Any]


def live_page(explanation: Explanation, timeline: Timeline) -> LivePage:
    """The program whose results are, in this order: the counts in `data["sizes"]` say how many of each there are."""
    recording = explanation.recording
    if sum([node.size for node in recording.inputs]) > machine.current.max_elements_of_live_inputs:
        return recorded_only(f"the inputs have more than {machine.current.max_elements_of_live_inputs} elements")
    if len(explanation.steps) > machine.current.max_operations_of_live_page:
        return recorded_only(f"the program has more than {machine.current.max_operations_of_live_page:,} operations")
    if any(node.dtype.kind not in "fiub" for node in recording.inputs):
        return recorded_only("the inputs are complex numbers")
    try:
        results = outputs(explanation, timeline)
    except Exception as error:  # a user's rule that needs numbers may raise anything
        return recorded_only(f"a rule needs numbers: {type(error).__name__}")
    program = write_program(results.pop("inputs"), [out for outs in results.values() for out in outs])
    if program.reason:
        return recorded_only(program.reason)
    return LivePage(
        program,
        {
            "sizes": {name: len(outs) for name, outs in results.items()},
            "inputs": [number_list(recording.values[node]) for node in recording.inputs],
            "smooth": [node.dtype.kind == "f" for node in recording.inputs],
            "decisions": [decision_data(decision) for decision in recording.decisions],
        }
        | templates(explanation, timeline),
    )


def recorded_only(reason: str) -> LivePage:
    """A page whose inputs cannot be changed, and why."""
    return LivePage(LiveProgram(reason=reason), {"reason": reason})


def number_list(x: Any) -> list[float]:
    """The elements of a value."""
    return np.asarray(plain_arrays(x), float).ravel().tolist()


def decision_data(decision: Decision) -> dict[str, Any]:
    """Where the program decided on its path, and by which number."""
    source = decision.source
    return {
        "line": source.line if source is not None else None,
        "value": number_list(decision.value),
    }


def outputs(explanation: Explanation, timeline: Timeline) -> dict[str, Any]:
    """All numbers of the page as symbols, and the inputs that they depend on."""
    replay = Replay(explanation.recording)
    nodes = [step.node for step in timeline.formulas.steps]
    tangents = replay.tangents(input_directions(explanation.recording, explanation.seed, explanation.mode))
    seeds = output_seeds(explanation.recording, explanation.seed, explanation.mode)
    adjoints = replay.adjoints(seeds)
    rows = list(arrivals(adjoints, timeline)) if explanation.adjoints is not None else []
    totals: dict[Node, Any] = {}
    sums = []
    for row in rows:
        totals[row.node] = totals[row.node] + row.term if row.node in totals else row.term
        sums.append(totals[row.node])
    parts = [total(replay.values[out] * seed) for out, seed in zip(explanation.outputs, seeds, strict=True)]
    return {
        "inputs": replay.inputs,
        "values": [replay.values[node] for node in nodes],
        "tangents": [tangents.get(node) for node in nodes] if explanation.tangents is not None else [],
        "terms": [row.term for row in rows],
        "totals": sums,
        "locals": [local_symbol(replay, node, operand) for node, operand in timeline.edge_ends],
        "decisions": [replay.values[decision.node] for decision in explanation.recording.decisions],
        "gradient": [adjoints.values.get(node) for node in explanation.recording.inputs],
        "result": [sum(parts[1:], start=parts[0])],
    }


def local_symbol(replay: Replay, node: Operation, operand: int) -> Any:
    """The local derivative at an edge, if it is shown."""
    if node.primitive is OUTPUT or node.args[operand].dtype is None or node.args[operand].dtype.kind != "f":
        return None
    return replay.local_derivative(node, operand)


def templates(explanation: Explanation, timeline: Timeline) -> dict[str, list[str]]:
    """The formulas in numbers, with marks where numbers stand."""
    formulas, index = timeline.formulas, timeline.index

    def marking(kind: str, name: Any) -> Any:
        def write(node: Node) -> Expression:
            small = isinstance(node.spec, Spec) and node.size <= SMALL
            return Expression(MARKS[kind].format(index[node])) if small and node in index else name(node)

        return write

    value = marking("value", formulas.by_name)
    found = {
        "valueTemplates": [
            formulas.value_formula(step.node, value) if isinstance(step.node, Operation) else ""
            for step in formulas.steps
        ]
    }
    if explanation.tangents is not None:
        tangent = marking("tangent", formulas.tangent_by_name)
        found["tangentTemplates"] = [formulas.tangent_formula(step.node, value, tangent) for step in formulas.steps]
    if explanation.adjoints is not None:
        adjoint = marking("adjoint", formulas.adjoint_by_name)
        found["backTemplates"] = [
            formulas.term(row.source, value, adjoint) if row.source is not None else ""
            for row in arrivals(explanation.adjoints, timeline)
        ]
    return found
