"""What there is to do along one axis, and how parts of it are run: by one thread, or by several."""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine


class Task(NamedTuple):
    """Transforms of signals along the middle one of three axes, of which the first and the last may be 1.

    A signal has n numbers. If source or target are real, the other one is half of a spectrum: the `n // 2 + 1`
    frequencies that tell the others.
    """

    outer: int
    n: int
    inner: int
    kind: str
    is_real_source: bool
    is_real_target: bool
    is_inverse: bool
    factor: float

    @property
    def read(self) -> int:
        """The numbers of a signal in memory."""
        return self.n // 2 + 1 if self.is_real_target else self.n

    @property
    def written(self) -> int:
        """The numbers of a result in memory."""
        return self.n // 2 + 1 if self.is_real_source else self.n

    @property
    def number_bytes(self) -> int:
        """The size of a complex number."""
        return int(self.kind[1:]) // 4

    @property
    def is_halved(self) -> bool:
        """Whether pairs of real numbers are transformed as complex ones."""
        return (self.is_real_source or self.is_real_target) and self.n % 2 == 0

    @property
    def length(self) -> int:
        """The number of complex numbers that are transformed."""
        return self.n // 2 if self.is_halved else self.n

    @property
    def name(self) -> str:
        """The start of the names of its functions."""
        form = "".join([letter for letter, is_so in zip("rti", self[4:7], strict=True) if is_so])
        number = self.factor.hex().replace("+", "")
        return f"wengert.fourier.{form or 'c'}.{self.kind}.{self.outer}x{self.n}x{self.inner}.{number}"

    def offset(self, base: Lanes, index: Lanes | int, is_real: bool) -> Lanes:
        """The address of a number."""
        return base.code.offset(base, index if is_real else index * 2, Type(self.kind))


class Pass(NamedTuple):
    """A function on a part of a range: of source, target, `memory` numbers for itself, begin and end."""

    name: str
    extent: int
    memory: int
    cost: float  # of the whole range

    @property
    def work(self) -> int:
        """The number of scalar operations."""
        return int(machine.current.operations_of_transform_instruction * self.cost)

    @property
    def grain(self) -> int:
        """Parts are multiples of this."""
        now = machine.current
        return -(-self.extent // min(max(self.work // now.min_operations_per_thread, 1), now.parts_of_transforms))

    @property
    def all_memory(self) -> int:
        """The numbers that all parts need."""
        return -(-self.extent // self.grain) * self.memory


def is_shared(cost: float) -> bool:
    """Whether a task of a cost is done on all cores."""
    return cost >= machine.current.min_instructions_of_shared_transforms


STEP_PARAMETERS = ("ptr noalias %source", "ptr noalias %target", "ptr noalias %scratch", "i64 %begin", "i64 %end")


def step_arguments(code: Code) -> list[Lanes]:
    """The parameters of the function of a step."""
    pointers = [Lanes(code, x, PTR) for x in ("%source", "%target", "%scratch")]
    return [*pointers, Lanes(code, "%begin", I64), Lanes(code, "%end", I64)]


def run_step(call: RoutineCall, step: Pass, kind: str, pointers: list[Lanes], is_large: bool) -> None:
    """Run a step, on all cores if it is large: each part then has its own memory."""
    code = call.code
    if not is_large:
        call.run(step.name, *pointers, code.constant(0, I64), code.constant(step.extent, I64))
        return
    name = f"{step.name}.part"

    def write(part: Code) -> None:
        (source, target, memory), begin, end = read_part(part, 3)
        number = part.add(f"sdiv {begin.typed}, {step.grain}", I64)
        own = part.offset(memory, number * (2 * step.memory), Type(kind))
        part.do(f"call void @{step.name}({', '.join(a.typed for a in (source, target, own, begin, end))})")

    call.define_part(name, write, FEW_PASSES)
    call.run_on_all_cores(name, pointers, step.extent, step.grain, step.work)
