"""Training steps, eager and compiled, beside PyTorch, `torch.compile` and JAX with optax."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads.training import networks, sequences
from benchmarks.workloads.training.steps import workloads_of

TRAINING_WORKLOADS: dict[str, Workload] = {
    workload.name: workload for step in (*networks.STEPS, *sequences.STEPS) for workload in workloads_of(step)
}
