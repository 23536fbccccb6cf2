"""The machine: its vectors, and LLVM's text turned into code that can be called."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache

import llvmlite.binding as llvm

_LOCK = threading.Lock()
"""Held while LLVM works: it may be asked by several threads."""


@cache
def features() -> str:
    return llvm.get_host_cpu_features().flatten()


@cache
def cpu() -> str:
    return llvm.get_host_cpu_name()


@cache
def vector_bytes() -> int:
    """The width of this machine's widest vectors."""
    known = llvm.get_host_cpu_features()
    return 64 if known.get("avx512f") else 32 if known.get("avx2") else 16


def machine(level: int = 2) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu(), features=features(), opt=level, jit=True)


def object_code(text: str, is_long: bool = False) -> bytes:
    """A module of LLVM's text as machine code, optimised without loop vectorisation: vectors are written out.

    A long program is translated quickly rather than well: the time grows with its length and not faster. Most of it are calls of vector
    functions, between which nothing stays in registers anyway, or many small kernels, of which none takes long.
    """
    with _LOCK:
        target = machine(0 if is_long else 2)
        module = llvm.parse_assembly(text)
        module.verify()
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
        builder = llvm.create_pass_builder(target, tuning)
        passes = quick_passes() if is_long else builder.getModulePassManager()
        try:
            passes.run(module, builder)
        finally:
            free(passes)
        return target.emit_object(module)


def quick_passes() -> llvm.ModulePassManager:
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    return passes


def free(passes: llvm.ModulePassManager) -> None:
    """llvmlite forgets to: the empty method of one base class hides that of the other."""
    if type(passes)._dispose is llvm.ffi.ObjectRef._dispose:
        llvm.newpassmanagers.NewPassManager._dispose(passes)


class Loaded:
    """Machine code in memory, for as long as this object lives."""

    def __init__(self, code: bytes | Sequence[bytes], symbols: dict[str, int]):
        with _LOCK:
            for name, address in symbols.items():
                llvm.add_symbol(name, address)
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
            for part in [code] if isinstance(code, bytes) else code:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(part))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        return address

    def data(self, name: str) -> int:
        """The address of a global variable."""
        return self._engine.get_global_value_address(name)
