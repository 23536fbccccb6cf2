"""The targets of exported programs, by name: a processor, an operating system, and the width of its vectors.

Targets without an operating system, and those with few registers or little memory, compute one element at a time.
"""

from __future__ import annotations

import platform
import re
import sys
from typing import NamedTuple

import llvmlite.binding as llvm

from wengert.compiler.machine.target import Target, host_target, runnable_levels
from wengert.core.errors import user_error

ROUNDINGS = ("floor", "ceil", "trunc", "roundeven")
BOTH = ("f64", "f32")


def without(*names: str, kinds: tuple[str, ...] = BOTH) -> frozenset[str]:
    """LLVM's intrinsics of these names, for some kinds of numbers."""
    return frozenset([f"{name}.{kind}" for name in names for kind in kinds])


class Processor(NamedTuple):
    """A processor for which programs are exported.

    `features` are LLVM's, `vector_bytes` is the width of its vectors, 4 if it has none, and `lacks` are the intrinsics
    that it has no instructions for. One that `is_small` has little memory.
    """

    cpu: str
    features: str = ""
    vector_bytes: int = 4
    lacks: frozenset[str] = frozenset()
    pointer_bytes: int = 8
    is_small: bool = False


X86 = {
    "x86-64": Processor("x86-64", "", 16, without("fma", *ROUNDINGS)),
    "x86-64-v2": Processor("x86-64-v2", "", 16, without("fma")),
    "x86-64-v3": Processor("x86-64-v3", "", 32),
    "x86-64-v4": Processor("x86-64-v4", "-prefer-256-bit", 64),
}
AARCH64 = Processor("generic", "+neon", 16)
CORTEX_M0 = Processor("cortex-m0", "", 4, without("fma", "sqrt", *ROUNDINGS), 4, True)
CORTEX_M4 = Processor("cortex-m4", "", 4, without(*ROUNDINGS) | without("fma", "sqrt", kinds=("f64",)), 4, True)
CORTEX_M7 = Processor("cortex-m7", "", 4, frozenset(), 4, True)
CORTEX_M33 = Processor("cortex-m33", "", 4, without("fma", "sqrt", *ROUNDINGS, kinds=("f64",)), 4, True)
WASM = Processor("generic", "+simd128,+bulk-memory,+bulk-memory-opt", 16, without("fma"), 4)

LINUX, MACOS, WINDOWS = "unknown-linux-gnu", "apple-macosx11.0", "pc-windows-msvc"

TARGETS: dict[str, tuple[str, Processor]] = {
    **{f"{level}-linux": (f"x86_64-{LINUX}", processor) for level, processor in X86.items()},
    **{f"{level}-macos": (f"x86_64-{MACOS}", processor) for level, processor in X86.items()},
    **{f"{level}-windows": (f"x86_64-{WINDOWS}", processor) for level, processor in X86.items()},
    "aarch64-linux": (f"aarch64-{LINUX}", AARCH64),
    "aarch64-macos": (f"arm64-{MACOS}", AARCH64._replace(cpu="apple-m1")),
    "armv7-linux": (
        "armv7-unknown-linux-gnueabihf",
        Processor("cortex-a7", "+vfp4,-neon,-d32", 4, without(*ROUNDINGS), 4),  # NEON has no subnormal numbers
    ),
    "cortex-m0": ("thumbv6m-none-eabi", CORTEX_M0),
    "cortex-m4": ("thumbv7em-none-eabihf", CORTEX_M4),
    "cortex-m7": ("thumbv7em-none-eabihf", CORTEX_M7),
    "cortex-m33": ("thumbv8m.main-none-eabihf", CORTEX_M33),
    "riscv64-linux": (f"riscv64-{LINUX}", Processor("generic-rv64", "+m,+a,+f,+d,+c")),
    "wasm32": ("wasm32-unknown-unknown", WASM),
}
"""The triple of LLVM and the processor of each target."""

SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


def target_names() -> list[str]:
    """What `target=` may be: `native` is the present machine, a level of x86-64 its operating system's."""
    return ["native", *(X86 if is_x86() else ()), *TARGETS]


def is_x86() -> bool:
    """Whether the present machine has an x86-64 processor."""
    return platform.machine().lower() in ("x86_64", "amd64")


def find_target(name: str | None, may_allocate: bool = False) -> Target:
    """The target of a name; None is the present machine.

    >>> find_target("cortex-m4").triple
    'thumbv7em-none-eabihf'
    """
    if name is None or name == "native":
        return native_target()._replace(may_allocate=may_allocate)
    if name in X86 and is_x86():
        name = f"{name}-{SYSTEMS.get(sys.platform, 'linux')}"
    if name not in TARGETS:
        raise user_error(
            ValueError,
            f"There is no target {name!r}{nearest(str(name))}",
            f"The targets are {', '.join(target_names())}.",
        )
    triple, found = TARGETS[name]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise user_error(
            ValueError,
            f"This LLVM ({'.'.join(map(str, llvm.llvm_version_info))}) does not know the target {name} ({triple})",
            "Install a build of llvmlite that has it.",
        ) from error
    return Target(triple, is_freestanding=True, may_allocate=may_allocate, **found._asdict())


def native_target() -> Target:
    """The present machine, without what a process of Python has."""
    host = host_target()
    lacks: frozenset[str] = frozenset()
    if is_x86() and host.vector_bytes < X86["x86-64-v3"].vector_bytes:
        lacks = X86["x86-64-v2" if "x86-64-v2" in runnable_levels() else "x86-64"].lacks
    return host._replace(is_freestanding=True, lacks=lacks)


def nearest(name: str) -> str:
    """A question about what was meant, if that is close."""
    from difflib import get_close_matches

    words = re.split(r"[^a-z0-9]+", name.lower())
    found = get_close_matches(name.lower(), target_names(), 1, 0.6) or [
        known for known in target_names() if words[0] and known.startswith(words[0])
    ]
    return f"; did you mean {found[0]!r}?" if found else ""
