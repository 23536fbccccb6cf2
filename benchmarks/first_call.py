"""The first call of a compiled function, in an interpreter of its own: `python -m benchmarks.first_call lstm 12 jax`.

The program imports the system, builds the problem and prepares the function before the clock starts, and prints the
seconds of the first call and of the second. What a system compiles, it compiles during the first.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.systems import named
from benchmarks.workloads import EVERY_WORKLOAD

ROOT = Path(__file__).parents[1]
BEFORE = "rosenbrock-compiled", 10
"""What is compiled before the clock starts, where the start of a system's own compiler shall not count."""


class Job(NamedTuple):
    """A workload, the number that is its size, and a system."""

    workload: str
    size: int
    system: str


class Seconds(NamedTuple):
    first: float
    second: float


def in_fresh_process(job: Job, cache: str, started: bool) -> Seconds:
    """The seconds of the first two calls, with this folder as Wengert's cache.

    `started`: after something else was compiled.
    """
    write_bytecode()
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    command = [sys.executable, "-m", "benchmarks.first_call", *map(str, job), *(["started"] if started else [])]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "WENGERT_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Seconds(*map(float, run.stdout.split()))


@cache
def write_bytecode() -> None:
    """Write the bytecode of Wengert, as an installation does: a checkout may have none, or an old one."""
    package = find_spec("wengert")
    assert package is not None
    assert package.origin is not None
    compileall.compile_dir(Path(package.origin).parent, quiet=1)


def timed(job: Job, started: bool) -> Seconds:
    system = named(job.system)
    system.prepare()
    if started:
        name, size = BEFORE
        EVERY_WORKLOAD[name].implementations[system.compiler or system.name](*EVERY_WORKLOAD[name].data(size))()
    workload = EVERY_WORKLOAD[job.workload]
    run = workload.implementations[job.system](*workload.data(job.size))
    start = perf_counter()
    run()
    middle = perf_counter()
    run()
    return Seconds(middle - start, perf_counter() - middle)


if __name__ == "__main__":
    workload, size, system, *started = sys.argv[1:]
    print(*timed(Job(workload, int(size), system), bool(started)))
