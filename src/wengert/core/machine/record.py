"""The record itself: its fields are grouped by the rooms that read them, one file for each."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

from wengert.core.machine.costs import LoopCostFields
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


@dataclass(init=False, repr=False, eq=False)
class Machine(
    DeviceFields,
    DistributedFields,
    ExplainFields,
    ExportFields,
    KernelFields,
    LoopCostFields,
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
    """All numbers by which code decides; each field has its unit in its name, a reason, and how it was measured.

    It is frozen. The methods that `dataclass` would write for each file, with a line for each field, take some ten
    milliseconds to compile, at every import: so they are written here.
    """

    def __init__(self, **changed: Any):
        if unknown := changed.keys() - DEFAULTS.keys():
            raise TypeError(f"the machine record has no field {', '.join(sorted(unknown))}")
        vars(self).update(DEFAULTS | changed)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}: use `machine.using({name}=...)`")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        return f"Machine({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Machine)}
"""The fields of this computer."""

ORDER_FIELDS = frozenset(field.name for field in fields(OrderFields))
"""The fields that change the order of additions, and so the last digits of results."""
