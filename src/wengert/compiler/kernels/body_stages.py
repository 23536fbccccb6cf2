"""The code of the stages of a body (`nests/body_stages.py`): what they keep is on the stack."""

from __future__ import annotations

from wengert.compiler.kernels.element import Elements
from wengert.compiler.nests.body_stages import Stage, is_constant
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.simd.lane_operations import load_element, store_element
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type

BYTE = Type("i8")


class BodyStages:
    """Writes the stages of a body for blocks of `vectors`.

    Elements of a vector are `slot` lanes after the beginning of the block. `constants` are computed before all loops.
    """

    def __init__(self, stages: list[Stage], vectors: int, plan: LoopPlan, elements: Elements):
        self.stages, self.vectors, self.elements, self.code = stages, vectors, elements, elements.code
        kept = [e for stage in stages for e in stage.kept]
        read = dict.fromkeys([e for stage in stages for e in stage.read if is_constant(e)])
        self.width = max(node.dtype.itemsize for node, _ in kept)
        length = vectors * plan.lanes * self.width
        self.offsets = {e: k * length for k, e in enumerate(kept)}
        self.types: dict[Element, Type] = {}
        self.memory = self.code.array(BYTE, len(kept) * length)
        self.constants = {e: self.code.variable(value.type, value) for e in read for value in [elements.at(*e)]}
        self.types |= {e: elements.known[e].type for e in read}
        elements.forget()

    @property
    def before_body(self) -> list[Stage]:
        """All stages but the last one."""
        return self.stages[:-1]

    def write(self, stage: Stage, slot: Lanes) -> None:
        """Compute what a stage keeps."""
        vector = self.read(stage, slot)
        for e in stage.kept:
            value = self.elements.at(*e)
            self.types[e] = value.type
            store_element(value, self.code.offset(vector, self.offsets[e], BYTE), value.type.align)

    def read(self, stage: Stage, slot: Lanes) -> Lanes:
        """Read what a stage needs of earlier ones; returns the address of the first element that is kept."""
        vector = self.code.offset(self.memory, slot * self.width, BYTE)
        for e in stage.read:
            type = self.types[e]
            if e in self.constants:
                self.elements.known[e] = self.code.load(self.constants[e], type)
                continue
            kept = self.code.offset(vector, self.offsets[e], BYTE)
            self.elements.known[e] = load_element(self.code, kept, type, type.align, is_overwritten=True)
        return vector
