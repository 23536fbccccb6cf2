"""The target machine: its vectors, and machine code in memory.

`WENGERT_TARGET` names a level of x86-64 processors to compile for (x86-64-v2, x86-64-v3, x86-64-v4), instead of the
present processor (native).
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import llvmlite.binding as llvm

from wengert.core import machine
from wengert.core.errors import user_error
from wengert.core.machine import Machine

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = threading.Lock()
"""Held while code is loaded: symbols are those of the process."""

LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""The levels of x86-64 processors, and the features that each adds to the previous one."""


STACK_ALIGNMENT = 16
"""What the address of the stack is a multiple of where a function begins, in bytes."""


class Target(NamedTuple):
    """A processor by LLVM's name, its features besides, and the width of its vectors in bytes.

    Where it `is_freestanding`, there is nothing but the program: no Python, no BLAS, no threads, and no memory but what
    the caller gives and some of the stack, little where it `is_small`, unless it `may_allocate`. `lacks` are LLVM's
    intrinsics that it has no instructions for: they are written out.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    is_freestanding: bool = False
    may_allocate: bool = True
    lacks: frozenset[str] = frozenset()
    pointer_bytes: int = 8
    is_small: bool = False

    @property
    def stack_bytes(self) -> int:
        """The bytes of the stack that intermediate results may take."""
        now = machine.current
        if self.is_small:
            return now.max_stack_bytes_of_microcontroller
        return now.max_stack_bytes_of_exported_program if self.is_freestanding else now.max_stack_bytes_of_arena


_COMPILED_FOR: ContextVar[Target | None] = ContextVar("compiled_for", default=None)


@contextmanager
def compiling_for(target: Target) -> Iterator[None]:
    """Programs that are written in the `with` block are for another target."""
    token = _COMPILED_FOR.set(target)
    try:
        yield
    finally:
        _COMPILED_FOR.reset(token)


def machine_target() -> Target:
    """What programs are written for: this machine, unless they are for another one."""
    return _COMPILED_FOR.get() or host_target()


def cache_for_target(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep the last results of a function, for each target and machine record."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @lru_cache(most)
        def known(_: tuple[Target, Machine], *args: Any) -> R:
            return function(*args)  # type: ignore[call-arg]  # no keywords

        @wraps(function)
        def call(*args: Any) -> R:
            return known((machine_target(), machine.current), *args)

        return call  # type: ignore[return-value]  # without keywords

    return decorate


@cache
def host_target() -> Target:
    """This machine, or the level that WENGERT_TARGET names when code is first compiled."""
    chosen = os.environ.get("WENGERT_TARGET", "").strip() or "native"
    host, triple = llvm.get_host_cpu_features(), llvm.get_process_triple()
    if chosen == "native":
        return Target(
            triple,
            llvm.get_host_cpu_name(),
            host.flatten(),
            64 if host.get("avx512f") else 32 if host.get("avx2") else 16,
        )
    if chosen not in LEVELS:
        raise user_error(
            ValueError,
            f"WENGERT_TARGET is {chosen!r}, which is none of {', '.join([*LEVELS, 'native'])}",
            "Set it to one of these, or unset it.",
        )
    if chosen not in runnable_levels():
        missing = [name for name in needed_features(chosen) if not host.get(name)]
        raise user_error(
            ValueError,
            f"WENGERT_TARGET is {chosen}, and this processor ({triple}) lacks {', '.join(missing)}",
            "Choose a lower level, or unset it.",
        )
    return Target(
        triple, chosen, *{"x86-64-v2": ("", 16), "x86-64-v3": ("", 32), "x86-64-v4": ("-prefer-256-bit", 64)}[chosen]
    )


def needed_features(level: str) -> list[str]:
    """The features of a level, including those of lower levels."""
    names = list(LEVELS)
    return [feature for name in names[: names.index(level) + 1] for feature in LEVELS[name]]


def runnable_levels() -> list[str]:
    """The levels that this machine supports, the lowest first."""
    host = llvm.get_host_cpu_features()
    return [level for level in LEVELS if all(host.get(name) for name in needed_features(level))]


def vector_bytes() -> int:
    """The width of the vectors that code is compiled for."""
    return machine.current.vector_bytes or machine_target().vector_bytes


def vector_registers() -> int:
    """The number of registers for vectors: AVX-512 has twice as many as processors before it."""
    return 32 if vector_bytes() == 64 else 16


def vector_lanes(nbytes: int) -> int:
    """The number of elements of so many bytes in a vector; one where there are no vectors."""
    return max(vector_bytes() // nbytes, 1)


def has_wide_vectors() -> bool:
    """Whether the processor has fused multiply-adds, and vectors so wide that native code is as fast as BLAS.

    The processor decides, not `vector_bytes` of the machine record: BLAS adds in another order, and products without
    fused multiply-adds are rounded twice.
    """
    return machine_target().vector_bytes >= machine.current.min_processor_vector_bytes


def sum_lanes(nbytes: int) -> int:
    """The number of elements of so many bytes that are added up side by side, a power of two.

    It is the same for all vectors that a processor may have, so that the order of additions is.
    """
    lanes = max(machine.current.sum_bytes // nbytes, 1)
    return 1 << (lanes.bit_length() - 1)


def aligned_stack() -> str:
    """The attribute of functions that may have more vectors than there are registers.

    Without it LLVM does not align the stack for what it spills, and most vectors of 64 bytes are in two cache lines.
    """
    return f"alignstack({vector_bytes()})" if vector_bytes() > STACK_ALIGNMENT else ""


def target_machine(level: int = 1) -> llvm.TargetMachine:
    """LLVM's compiler for this machine, with a level of optimisation."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    made_for = host_target()
    return llvm.Target.from_triple(made_for.triple).create_target_machine(
        cpu=made_for.cpu, features=made_for.features, opt=level, jit=True
    )


OBJECT_FILES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa")
"""What object files begin with: of ELF, of Mach-O, and of Windows on x86-64 and ARM."""


def read_code(stored: bytes) -> bytes:
    """Machine code from the disk, as it is; an error if it is something else, with which LLVM would crash."""
    if not stored.startswith(OBJECT_FILES):
        raise ValueError("not an object file")
    return stored


class Loaded:
    """Machine code in memory, for as long as this object lives."""

    def __init__(self, code: bytes | Sequence[bytes], symbols: dict[str, int]):
        with _LOCK:
            for name, address in symbols.items():
                llvm.add_symbol(name, address)
            self._engine = empty_engine()
            for part in [code] if isinstance(code, bytes) else code:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(part))
            self._engine.finalize_object()
        self._kept: list[Any] = []

    def address(self, name: str) -> int:
        """The address of a function."""
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        return address

    def data(self, name: str) -> int:
        """The address of a global variable."""
        return self._engine.get_global_value_address(name)

    def fill(self, name: str, addresses: Sequence[int], owners: Sequence[Any]) -> None:
        """Write addresses into a global array, and keep their owners alive."""
        table = self.data(name)
        for i, address in enumerate(addresses):
            ctypes.c_void_p.from_address(table + 8 * i).value = address
        self.keep(*owners)

    def keep(self, *owners: Any) -> None:
        """Keep objects alive as long as the code."""
        self._kept.extend(owners)


def empty_engine() -> llvm.ExecutionEngine:
    """LLVM's loader, with nothing to translate.

    It is made with a module, and would set up its whole compiler for it, which takes longer than to load a program. And
    it needs to know the format of code, but not the features of the processor.
    """
    llvm.initialize_native_target()
    module = llvm.parse_assembly("")
    translator = llvm.Target.from_triple(host_target().triple).create_target_machine(opt=0, jit=True)
    engine = llvm.create_mcjit_compiler(module, translator)
    engine.remove_module(module)
    return engine


def start_thread(function: Callable[..., Any], *arguments: Any) -> threading.Thread | None:
    """A thread that runs a function; None if no thread can be started, as during shutdown."""
    thread = threading.Thread(target=function, args=arguments)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
