"""The tests that could depend on the machine, run as on other machines.

    python tools/portability.py             for each level of x86-64 processors that this machine can run
    python tools/portability.py native      as it is, in this environment
    python tools/portability.py --minimum   print the lowest versions that pyproject.toml allows, as constraints for pip

A level chooses what code is compiled for (WENGERT_TARGET), and turns the kernels of NumPy and OpenBLAS down to it.
`make portability` runs them all, and the tests once more in an environment with the lowest versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
ROOMS = ("compiler", "control", "core", "nn", "ops", "optim", "random")
TESTS = [*[f"tests/{room}" for room in ROOMS], "tests/test_table.py"]

V2 = {"SSSE3", "SSE41", "POPCNT", "SSE42", "X86_V2"}
V3 = V2 | {"AVX", "F16C", "FMA3", "AVX2", "X86_V3"}
V4 = V3 | {"AVX512F", "AVX512CD", "AVX512_SKX", "X86_V4"}
LEVELS = {"x86-64-v2": (V2, "Nehalem"), "x86-64-v3": (V3, "Haswell"), "x86-64-v4": (V4, "SkylakeX")}
"""What NumPy may use at each level, by its names for it in all versions, and a processor of that level as OpenBLAS
calls it.
"""


def environment(level: str) -> dict[str, str]:
    """The variables that make this machine one of a level."""
    if level == "native":
        return {"WENGERT_TARGET": level}
    allowed, core = LEVELS[level]
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore[index]  # a dictionary in this mode
    return {
        "WENGERT_TARGET": level,
        "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in found if name not in allowed),
        "OPENBLAS_CORETYPE": core,
    }


def minimum_versions() -> list[str]:
    """The dependencies of the package, each at the lowest version that is allowed."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [re.sub(r"\s*>=\s*", "==", dependency) for dependency in declared]


def main(words: list[str]) -> int:
    if words == ["--minimum"]:
        print("\n".join(minimum_versions()))
        return 0
    from wengert.compiler.machine.target import runnable_levels

    failed = []
    for level in words or runnable_levels():
        variables = environment(level)
        print(f"== {level}: " + ", ".join(f"{name}={value!r}" for name, value in variables.items()), flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n", "auto", *TESTS], cwd=ROOT, env=os.environ | variables
        )
        failed += [level] if done.returncode else []
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
