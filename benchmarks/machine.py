"""What was measured on: the processor, the system, the versions. No names of hosts or users."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

from benchmarks.systems import COMPILED_SYSTEMS, SYSTEMS, cores


def processor() -> str:
    """The model of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    return {"processor": processor(), "cores": cores(), "system": platform.system(), "architecture": platform.machine()}


def versions() -> dict[str, str]:
    systems = (*SYSTEMS.values(), *COMPILED_SYSTEMS.values())
    found = {system.provider: system.version for system in systems if system.installed}
    return {"python": platform.python_version(), **found}
