"""What is measured beside time per call: memory, import, scaling, compilation.

Each report is a function that returns figures.
"""

from __future__ import annotations

from benchmarks.reports.checkpoints import checkpoint_figures
from benchmarks.reports.control import control_compile_figures, control_memory_figures, loop_figures
from benchmarks.reports.derivatives import cost_figures, helmholtz_figures
from benchmarks.reports.exports import export_figures
from benchmarks.reports.figure import Figure
from benchmarks.reports.first_calls import compile_figures, warm_figures
from benchmarks.reports.growth import growth_figures
from benchmarks.reports.imports import import_figures
from benchmarks.reports.layers import layer_figures
from benchmarks.reports.linalg import linalg_figures
from benchmarks.reports.memory import memory_figures
from benchmarks.reports.scaling import scaling_figures
from benchmarks.reports.threads import thread_figures

REPORTS = {
    "memory": memory_figures,
    "import": import_figures,
    "scaling": scaling_figures,
    "derivatives": cost_figures,
    "helmholtz": helmholtz_figures,
    "linalg": linalg_figures,
    "checkpoint": checkpoint_figures,
    "compile-time": compile_figures,
    "warm": warm_figures,
    "first-calls-growth": growth_figures,
    "threads": thread_figures,
    "layers": layer_figures,
    "export": export_figures,
}
CONTROL_REPORTS = {
    "loops": loop_figures,
    "control-compile": control_compile_figures,
    "control-memory": control_memory_figures,
}
"""The reports on programs with loops."""
REPORTS |= CONTROL_REPORTS

__all__ = ["CONTROL_REPORTS", "REPORTS", "Figure"]
