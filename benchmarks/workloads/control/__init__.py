"""Programs with loops, compiled: `wg.scan`, `wg.while_loop` and Python's `for` beside `lax.scan` and diffrax."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads.control import (
    adaptive,
    descent,
    heat,
    hmm,
    lorenz,
    neural_ode,
    newton,
    recurrence,
    recurrent,
)

CONTROL_WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        lorenz.workload,
        lorenz.in_python,
        *recurrent.workloads,
        hmm.workload,
        descent.workload,
        neural_ode.workload,
        newton.workload,
        heat.workload,
        recurrence.workload,
        *adaptive.workloads,
    )
}
