"""The record itself: its fields are grouped by the rooms that read them, one file for each."""

from __future__ import annotations

from dataclasses import dataclass, fields

from wengert.core.machine.devices import DeviceFields
from wengert.core.machine.distributed import DistributedFields
from wengert.core.machine.explain import ExplainFields
from wengert.core.machine.export import ExportFields
from wengert.core.machine.kernels import KernelFields
from wengert.core.machine.memory import MemoryFields
from wengert.core.machine.operations import OperationFields
from wengert.core.machine.order import OrderFields
from wengert.core.machine.products import ProductFields
from wengert.core.machine.programs import ProgramFields
from wengert.core.machine.routines import RoutineFields
from wengert.core.machine.schedule import ScheduleFields
from wengert.core.machine.threads import ThreadFields
from wengert.core.machine.training import TrainingFields
from wengert.core.machine.warm import WarmFields


@dataclass(frozen=True, eq=False)
class Machine(
    DeviceFields,
    DistributedFields,
    ExplainFields,
    ExportFields,
    KernelFields,
    MemoryFields,
    OperationFields,
    OrderFields,
    ProductFields,
    ProgramFields,
    RoutineFields,
    ScheduleFields,
    ThreadFields,
    TrainingFields,
    WarmFields,
):
    """All numbers by which code decides; each field has its unit in its name, a reason, and how it was measured."""


ORDER_FIELDS = frozenset(field.name for field in fields(OrderFields))
"""The fields that change the order of additions, and so the last digits of results."""
