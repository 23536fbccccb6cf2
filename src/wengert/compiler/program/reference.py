"""A program run by the reference interpreter: kernels as nests, all other steps by NumPy, in the order of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler.nests.evaluate import evaluate
from wengert.compiler.nests.nest import Nest
from wengert.compiler.program.program_plan import Plan
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.graph.graph import compute
from wengert.graph.ir import Constant, Node, Operation


def run_by_reference(plan: Plan, inputs: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of a plan for these inputs."""
    memory: dict[Node, Any] = dict(zip(plan.schedule.graph.inputs, map(np.asarray, inputs), strict=True))

    def value(node: Node) -> Any:
        """A value that a step reads: in memory, or a view of one."""
        if node not in memory:
            if isinstance(node, Constant):
                return node.value
            assert isinstance(node, Operation)
            return compute(node, list(map(value, node.args)))
        return memory[node]

    for step in plan.schedule.steps:
        if isinstance(step, Kernel):
            for part in step.parts if isinstance(step, RowKernel) else [step]:
                memory |= evaluate(Nest(part, plan.schedule), memory)
        else:
            memory[step] = compute(step, list(map(value, step.args)))
            memory |= {out: memory[step][out.params["index"]] for out in plan.schedule.outputs_of(step)}
    return [np.asarray(value(out)) for out in plan.schedule.graph.outputs]
