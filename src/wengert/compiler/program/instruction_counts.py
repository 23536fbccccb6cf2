"""The vector instructions of operations on elements, counted in the optimised LLVM text of each operation by itself.

So a mathematical function counts as what it consists of, not as one operation. Parts of it that are for rare arguments
only, which it calls if a lane needs them, do not count. Loops over the columns of small matrices are written out to be
counted, and a block that runs several times at the least counts as often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.forms.lowering import (
    Draw,
    Instructions,
    MatrixFunction,
    Reduction,
    lowering_of,
    native_code,
    write_element,
)
from wengert.compiler.functions.vector_functions import call as call_function
from wengert.compiler.functions.vector_functions import definitions
from wengert.compiler.machine.target import target_machine, vector_bytes, vector_lanes
from wengert.compiler.machine.translation import optimize
from wengert.compiler.simd.complex_lanes import constant, from_parts, parts_of
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.types import PTR, Type
from wengert.compiler.small_matrices.call import MatrixCall
from wengert.compiler.small_matrices.columns import unrolled_columns
from wengert.graph.ir import Constant, Node, Operation

MULTIPLY, ADD, DIVIDE, ROOT, SHUFFLE, OTHER = "multiply", "add", "divide", "sqrt", "shuffle", "other"
"""Classes of instructions; fused multiply-adds are multiplications. Those of divisions and roots end with a type."""
CLASSES = {"fmul": MULTIPLY, "fadd": ADD, "fsub": ADD, "fdiv": DIVIDE, "shufflevector": SHUFFLE}
INTRINSICS = {"fma": MULTIPLY, "fmuladd": MULTIPLY, "sqrt": ROOT}
FREE = frozenset(
    ("alloca", "bitcast", "br", "freeze", "getelementptr", "load", "phi", "ret", "sext", "store", "trunc", "zext")
)
"""Opcodes that are no arithmetic on vectors: memory is counted in bytes."""
NARROWEST = 4
"""The bytes of the narrowest elements that a kernel has in lanes."""

Count = dict[str, float]
"""Instructions by class, on vectors of the machine's width."""


def add_instructions(total: Count, instructions: Count, times: float) -> None:
    """Add instructions that run a number of times."""
    for name, count in instructions.items():
        total[name] = total.get(name, 0.0) + count * times


class OperationCode(NamedTuple):
    """The code of an operation: the types of its operands that are not constants, what writes it, and its result."""

    types: list[Type]
    write: Callable[..., Lanes | list[Lanes]]
    result: Type | None = None

    def text(self, lanes: int) -> str:
        """The text of a module with a function of a number of lanes."""
        return write_function([Type(t.kind, lanes) for t in self.types], self.write)


def element_instructions(node: Operation) -> Count:
    """The instructions for one element of an elementwise operation: a fraction, as vectors have several."""
    written = element_code(node)
    return {} if written is None else count_per_element(written)


def element_code(node: Operation) -> OperationCode | None:
    """The code of an elementwise operation; None if all operands are constants, or it has no code of its own."""
    found = native_code(node)
    if isinstance(found, Draw):
        return OperationCode([Type("i64")] * 4, lambda *x: found.body(*x, **node.params))
    if not isinstance(found, Instructions):
        return None
    arguments = [constant_value(a) for a in node.args]

    def write(*varying: Lanes) -> Lanes:
        rest, code, lanes = iter(varying), varying[0].code, varying[0].type.lanes
        operands = [
            next(rest) if value is None else constant(code, value, Type.from_dtype(a.dtype, lanes))
            for a, value in zip(node.args, arguments, strict=True)
        ]
        return write_element(node, operands)

    types = [Type.from_dtype(a.dtype) for a, value in zip(node.args, arguments, strict=True) if value is None]
    return OperationCode(types, write, Type.from_dtype(node.dtype)) if types else None


def exponential_instructions(type: Type) -> Count:
    """The instructions of the exponential of one number."""
    return count_per_element(OperationCode([type], lambda x: call_function("exp", x), type))


def constant_value(node: Node) -> Any:
    """The value of a constant that is one number; None for other operands."""
    return np.asarray(node.value).item() if isinstance(node, Constant) and node.size == 1 else None


def fold_instructions(node: Operation, is_fused: bool) -> Count:
    """The instructions that add one element to a reduction; with `is_fused` they add a product."""
    return count_per_element(fold_code(node, is_fused))


def fold_code(node: Operation, is_fused: bool) -> OperationCode:
    """The code that adds one element to a reduction, or a product."""
    type, rule = Type.from_dtype(node.dtype), lowering_of(node, Reduction)
    add = lambda total, x: rule.fold(total, rule.begin([x]))
    return OperationCode([type] * 3, fma) if is_fused else OperationCode([type] * 2, add)


def count_per_element(written: OperationCode) -> Count:
    """The instructions of an operation for one element."""
    types = [*written.types, *([written.result] if written.result else [])]
    lanes = vector_lanes(max(*[t.part.bits // 8 for t in types], NARROWEST))
    found: Count = {}
    add_instructions(found, count_text(written.text(lanes)), 1 / lanes)
    return found


def matrix_code(nodes: Sequence[Operation]) -> OperationCode:
    """The code of functions of small matrices, which share the factorizations of their operands.

    The arguments are the elements of all operands, each once.
    """
    read = {a: None for node in nodes for a in node.args[: lowering_of(node, MatrixFunction).operands]}
    kind = "f64" if any(lowering_of(node, MatrixFunction).in_double for node in nodes) else None

    def write(*elements: Lanes) -> list[Lanes]:
        rest, known, matrices = iter(elements), dict[Any, Any](), dict[Node, list[list[Lanes]]]()
        for a in read:
            matrices[a] = [[next(rest) for _ in range(a.shape[-1])] for _ in range(a.shape[-2])]
        results = []
        for node in nodes:
            found = lowering_of(node, MatrixFunction)
            operands = [matrices[a] for a in node.args[: found.operands]]
            call = MatrixCall(operands, known, lambda x, _: x, lambda condition, failure: None)
            with unrolled_columns():
                results += [x for row in found.body(call, **node.params) for x in row]
        return results

    sizes = {a: a.shape[-2] * a.shape[-1] for a in read}
    return OperationCode([Type(kind or Type.from_dtype(a.dtype).kind) for a in read for _ in range(sizes[a])], write)


def write_function(types: Sequence[Type], write: Callable[..., Lanes | list[Lanes]]) -> str:
    """The text of a module with a function that stores what `write` computes of its arguments."""
    code = Code()
    parameters, arguments = [], []
    for i, type in enumerate(types):
        names = [f"%x{i}.{k}" for k in range(2 if type.is_complex else 1)]
        parameters += [f"{type.part.text} {name}" for name in names]
        arguments.append(from_parts([Lanes(code, name, type.part) for name in names], type))
    results = write(*arguments)
    for k, part in enumerate(results if isinstance(results, list) else parts_of(results)):
        parameters.append(f"ptr %out{k}")
        code.store(part, Lanes(code, f"%out{k}", PTR))
    texts, declarations = definitions(code.calls)
    body = "\n".join([*code.hoisted, *code.lines, "  ret void", "}"])
    return "\n".join(
        [
            *(declarations | code.declarations).values(),
            *texts,
            f"define void @element({', '.join(parameters)}) {{\nentry:\n{body}",
        ]
    )


@lru_cache(1024)
def count_text(text: str) -> Count:
    """The instructions of the function of a module after LLVM's passes."""
    module = llvm.parse_assembly(text, llvm.create_context())
    optimize(module, target_machine())
    total: Count = {}
    for block in module.get_function("element").blocks:
        instructions = list(block.instructions)
        if not is_rare(instructions):
            for instruction in instructions:
                add_instructions(total, classify(instruction), fewest_runs(block.name))
    return total


def fewest_runs(block: str) -> int:
    """How often a block runs at the least, by its name (`Code.label`).

    >>> fewest_runs("sweep.runs3.17"), fewest_runs("body4")
    (3, 1)
    """
    found = re.search(r"\.runs(\d+)\.", block)
    return int(found[1]) if found else 1


def is_rare(instructions: Sequence[llvm.ValueRef]) -> bool:
    """Whether a block is for rare arguments: it calls a function."""
    return not all(callee(i).startswith("llvm.") for i in instructions if i.opcode == "call")


def callee(instruction: llvm.ValueRef) -> str:
    """The name of the function that a call calls."""
    return list(instruction.operands)[-1].name


def classify(instruction: llvm.ValueRef) -> Count:
    """The class of an instruction, and how many of the machine's vectors it takes; none if it is not on vectors."""
    operands = list(instruction.operands)
    texts = [str(instruction.type), *[str(o.type) for o in operands[:1]]]
    shapes = [(int(m[1]), m[2]) for text in texts if (m := re.fullmatch(r"<(\d+) x (\w+)>", text.strip()))]
    if instruction.opcode in FREE or not shapes:
        return {}
    vectors = max(1, max(lanes * bits_of(element) for lanes, element in shapes) // (8 * vector_bytes()))
    name = CLASSES.get(instruction.opcode, OTHER)
    if instruction.opcode == "call":
        name = INTRINSICS.get(callee(instruction).split(".")[1], OTHER)
    if name in (DIVIDE, ROOT):
        name = f"{name} {shapes[0][1]}"
    return {name: vectors}


def bits_of(element: str) -> int:
    """The bits of a type by LLVM's name."""
    return {"double": 64, "float": 32}.get(element) or (int(element[1:]) if element[0] == "i" else 64)
