"""How long `import wengert` takes once NumPy is there, in fresh interpreters that find both as bytecode, as an
installation leaves them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.reports.figure import Figure

PROGRAM = """
from time import perf_counter
start = perf_counter()
import numpy
middle = perf_counter()
import wengert
print(middle - start, perf_counter() - middle)
"""


def import_figures(runs: int = 15) -> list[Figure]:
    """The shortest import of NumPy, and of Wengert after it."""
    numpy, wengert = (min(column) for column in zip(*import_times(runs), strict=True))
    return [
        Figure("import numpy", numpy, "s"),
        Figure("import wengert, after NumPy", wengert, "s"),
        Figure("import: Wengert after NumPy / NumPy", wengert / numpy, target=1.0),
    ]


def import_times(runs: int) -> list[tuple[float, float]]:
    """Seconds for NumPy and for Wengert after it, once per interpreter.

    A run before the first writes the bytecode of both.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        _, *times = [_import_once(environment) for _ in range(runs + 1)]
    return times


def _import_once(environment: dict[str, str]) -> tuple[float, float]:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    numpy, wengert = map(float, run.stdout.split())
    return numpy, wengert
