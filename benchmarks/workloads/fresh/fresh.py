"""What the programs that no mechanism was made for have in common."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.workload import Workload
from benchmarks.workloads.faces import write_for_all


def fresh(name: str, statement: str, data: Callable[[int], tuple], loss: Callable, small: int, large: int) -> Workload:
    """A workload of a loss and its gradients, for Wengert, JAX and PyTorch."""
    workload = Workload(
        name,
        f"{statement}: value and gradients",
        data=data,
        sizes={"small": small, "large": large},
        subject="wengert compiled",
        reference="wengert",
        tolerance=1e-7,
    )
    write_for_all(workload, loss)
    return workload
