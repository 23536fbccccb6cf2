"""Chains of instructions that wait for each other: no step takes less time than its longest chain.

A chain counts the arithmetic on floats, by class, and values that pass through memory. The longest path through a
program is found by rough latencies. With the latencies of a machine, its counts give a time. Where code branches, the
shorter path counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import llvmlite.binding as llvm

from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.lowering import Draw, MatrixFunction, Reduction, lowering_of, native_code
from wengert.compiler.machine.target import target_machine
from wengert.compiler.machine.translation import optimize
from wengert.compiler.program.instruction_counts import (
    ADD,
    CLASSES,
    DIVIDE,
    INTRINSICS,
    MULTIPLY,
    ROOT,
    Count,
    callee,
    constant_value,
    element_code,
    fold_code,
    is_rare,
    matrix_code,
)
from wengert.compiler.program.prepare import prepare_body
from wengert.compiler.schedule.schedule import Schedule
from wengert.control.loop import LOOP
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.held import NEXT, STATE, Held, graphs_of
from wengert.graph.ir import Node, Operation

MEMORY = "memory"
"""A value that is stored, and read again."""
ROUGH = {ADD: 3, MULTIPLY: 4, DIVIDE: 13, ROOT: 20, MEMORY: 7}
"""Latencies by which the longest chain is chosen, in cycles."""
Chain = Count
"""The instructions of a chain, by class."""


def rough_length(chain: Chain) -> float:
    """The cycles of a chain on some processor."""
    return sum([ROUGH[name.split()[0]] * count for name, count in chain.items()])


def longest_chain(chains: Sequence[Chain | None]) -> Chain | None:
    """The longest of some chains, None if there is none."""
    return max([chain for chain in chains if chain is not None], key=rough_length, default=None)


def join_chains(first: Chain, second: Chain, times: int = 1) -> Chain:
    """A chain, and another one after it, a number of times."""
    return {name: first.get(name, 0) + times * second.get(name, 0) for name in {**first, **second}}


# Operations


def operation_chain(node: Operation, form: Form, operand: int) -> Chain:
    """The chain of one operation, from one of its operands to its result."""
    if form in (Form.ELEMENT, Form.DRAW):
        written = element_code(node)
        if written is None or isinstance(native_code(node), Draw):
            return {}
        varying = [k for k, a in enumerate(node.args) if constant_value(a) is None]
        return chain_of_text(written.text(1), (varying.index(operand),)) if operand in varying else {}
    if form is Form.MATRIX:
        return matrix_chain(node, operand)
    if form is Form.GATHER:
        return {MEMORY: 1}
    if isinstance(native_code(node), Reduction):
        terms = node.args[0].size // max(node.size, 1)
        fold = chain_of_text(fold_code(node, False).text(1), (0,))
        return join_chains({}, fold, math.ceil(math.log2(max(terms, 1))))
    return {}


def matrix_chain(node: Operation, operand: int) -> Chain:
    """The chain of a function of small matrices, from any element of an operand."""
    read = node.args[: lowering_of(node, MatrixFunction).operands]
    if operand >= len(read):
        return {}
    order = list(dict.fromkeys(read))
    sizes = [a.shape[-2] * a.shape[-1] for a in order]
    k = order.index(node.args[operand])
    first = sum(sizes[:k])
    return chain_of_text(matrix_code([node]).text(1), tuple(range(first, first + sizes[k])))


@lru_cache(1024)
def chain_of_text(text: str, arguments: tuple[int, ...]) -> Chain:
    """The longest chain of the function of a module from some arguments to what it stores, after LLVM's passes.

    Parts for rare arguments do not count.
    """
    module = llvm.parse_assembly(text, llvm.create_context())
    optimize(module, target_machine())
    known: dict[str, Chain] = {f"%x{i}.{k}": {} for i in arguments for k in range(2)}
    stored: list[Chain | None] = []
    for block in module.get_function("element").blocks:
        instructions = list(block.instructions)
        if is_rare(instructions):
            continue
        for instruction in instructions:
            before = [known.get(name_of(operand)) for operand in instruction.operands]
            if instruction.opcode == "store":
                stored.append(before[0])
            elif instruction.opcode == "phi":  # the shorter path
                before = [min([c for c in before if c is not None], key=rough_length, default=None)]
            chain = longest_chain(before)
            if chain is not None:
                known[name_of(instruction)] = join_chains(chain, own_chain(instruction))
    return longest_chain(stored) or {}


def name_of(value: llvm.ValueRef) -> str:
    """What the text of other instructions calls a value: the last word of an argument."""
    head, separator, _ = str(value).partition(" = ")
    return head.strip() if separator else str(value).split()[-1]


def own_chain(instruction: llvm.ValueRef) -> Chain:
    """Arithmetic on floats: other instructions may be parts of those before or after them."""
    name = CLASSES.get(instruction.opcode)
    if instruction.opcode == "call":
        name = INTRINSICS.get(callee(instruction).split(".")[1])
    if name is None or name not in ROUGH:
        return {}
    type = str(instruction.type).strip()
    return {f"{name} {type}" if name in (DIVIDE, ROOT) else name: 1}


# Graphs and loops


def paths_through(graph: Graph, forms: Mapping[Node, Form], sources: Mapping[Node, Chain]) -> dict[Node, Chain]:
    """The longest chains to all nodes that depend on some of them, which have chains already."""
    found = dict(sources)
    outputs: dict[Node, list[Chain | None]] = {}
    for node in graph.nodes:
        if node in sources or not isinstance(node, Operation):
            continue
        if node.primitive is OUTPUT and node.args[0] in outputs:
            chain = outputs[node.args[0]][node.params["index"]]
        else:
            chain = longest_chain([extend_chain(node, forms[node], k, found) for k in range(len(node.args))])
            if chain is not None and node.primitive is LOOP:
                outputs[node] = loop_paths(node, found)
        if chain is not None:
            found[node] = chain
    return found


def extend_chain(node: Operation, form: Form, k: int, found: Mapping[Node, Chain]) -> Chain | None:
    """The chain to an operand, and that of the operation after it."""
    before = found.get(node.args[k])
    return None if before is None else join_chains(before, operation_chain(node, form, k))


def loop_paths(node: Operation, found: Mapping[Node, Chain], length: int | None = None) -> list[Chain | None]:
    """The longest chains to the results of a loop, from those to its operands."""
    held = next(part for part in graphs_of(node) if part.title == "step")
    steps = held.runs if isinstance(held.runs, int) else length
    starts = [operand for role, operand in held.inputs if role == STATE]
    if not steps:
        return [longest_chain([found.get(a) for a in starts])] * len(node.spec)
    once = step_paths(held)
    before = repeat_steps([row[: len(starts)] for row in once], steps - 1)
    through = join_steps(before, once)
    first = [[found.get(a) for a in starts]]
    (ends,) = join_steps(first, through)
    return [*ends, *[None] * (len(node.spec) - len(ends))]


def step_paths(held: Held) -> list[list[Chain | None]]:
    """The longest chains from each state before a step to each of its results; new states are the first of these."""
    schedule = Schedule(prepare_body(held.graph), is_body=True)
    graph = schedule.graph
    first: Chain = {} if schedule.is_inline else {MEMORY: 1}
    rows = []
    for (role, _), node in zip(held.inputs, graph.inputs, strict=True):
        if role == STATE:
            found = paths_through(graph, schedule.forms, {node: {}})
            rows.append([with_memory(found.get(out), first) for out in graph.outputs])
    assert all(role == NEXT for role in held.outputs[: len(rows)])
    return rows


def with_memory(chain: Chain | None, first: Chain) -> Chain | None:
    """A chain that begins with a read, unless it has one."""
    return chain if chain is None or MEMORY in chain else join_chains(first, chain)


Matrix = list[list[Chain | None]]


def join_steps(x: Matrix, y: Matrix) -> Matrix:
    """The longest chains of two steps: a product in which + is the longer one, and * one after the other."""
    columns = list(zip(*y, strict=True))
    return [[longest_chain(list(map(join_if_any, row, column))) for column in columns] for row in x]


def join_if_any(first: Chain | None, second: Chain | None) -> Chain | None:
    """A chain, and another one after it; None if one of them is."""
    return None if first is None or second is None else join_chains(first, second)


def repeat_steps(x: Matrix, n: int) -> Matrix:
    """The longest chains of n steps."""
    result: Matrix = [[{} if i == k else None for k in range(len(x))] for i in range(len(x))]
    while n:
        if n & 1:
            result = join_steps(result, x)
        x, n = join_steps(x, x), n >> 1
    return result
