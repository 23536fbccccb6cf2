"""The machines that exported code runs on in the tests: this one, those that QEMU imitates, and Node."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from wengert.compiler.machine.target import runnable_levels
from wengert.export.exporter import Export


class Machine(NamedTuple):
    """How the example beside an export is compiled and run; `reason` says why it is skipped, if it is."""

    compile: tuple[str, ...]
    run: tuple[str, ...]
    needs: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        missing = [tool for tool in (self.compile[0], *self.run[:1], *self.needs) if shutil.which(tool) is None]
        return f"{', '.join(missing)} not installed" if missing else ""


STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
ARM = Machine(("arm-linux-gnueabihf-gcc", "-static"), ("qemu-arm",), ("arm-linux-gnueabihf-objcopy",))
MACHINES = {
    "native": Machine(("gcc",), ()),
    **{level: Machine(("gcc",), ()) for level in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")},
    "aarch64-linux": Machine(("aarch64-linux-gnu-gcc", "-static"), ("qemu-aarch64",)),
    "riscv64-linux": Machine(("riscv64-linux-gnu-gcc", "-static"), ("qemu-riscv64",)),
    "armv7-linux": ARM,
    "cortex-m0": ARM,
    "cortex-m4": ARM,
    "cortex-m7": ARM,
    "cortex-m33": ARM,
    "wasm32": Machine(("wasm-ld",), ("node",)),
}


def skip_unless_runnable(target: str) -> None:
    """Skip a test whose machine is not there, with the reason."""
    if target.startswith("x86-64") and (
        platform.machine() not in ("x86_64", "AMD64") or target not in ("x86-64", *runnable_levels())
    ):
        pytest.skip(f"this processor does not run {target}")
    if MACHINES[target].reason:
        pytest.skip(MACHINES[target].reason)


def run_example(made: Export) -> dict[str, list[float]]:
    """The results that the example prints, by the names of the results."""
    machine, folder = MACHINES[made.target], made.file.parent
    if made.target == "wasm32":
        exports = [f"--export={made.name}", "--export=__heap_base"]
        call("wasm-ld", "--no-entry", *exports, made.file.name, "-o", f"{made.name}.wasm", folder=folder)
        program = [f"{made.name}_example.mjs"]
    else:
        if made.target.startswith("cortex"):  # code of Cortex-M in a program of Linux: linkers refuse the mixture
            call("arm-linux-gnueabihf-objcopy", "--remove-section", ".ARM.attributes", made.file.name, folder=folder)
        source = f"{made.name}_example.c"
        call(*machine.compile, *STRICT, source, made.file.name, "-o", "example", folder=folder)
        program = ["./example"]
    printed = call(*machine.run, *program, folder=folder)
    results: dict[str, list[float]] = {}
    for line in printed.splitlines():
        name, value = line.split(" = ")
        results.setdefault(name.partition("[")[0], []).append(float(value))
    return results


def call(*command: str, folder: Path) -> str:
    """Run a command, which must succeed, and return what it prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:2000]}"
    return done.stdout
