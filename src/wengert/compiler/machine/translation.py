"""The translation of LLVM text to machine code, on all cores.

LLVM may work in several threads if each has a module, a context and a target machine of its own. llvmlite nevertheless
holds one lock during each of its functions, so those that take long are called without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from itertools import compress
from operator import not_
from typing import Any, Literal, NamedTuple, get_args

import llvmlite.binding as llvm

from wengert.compiler.machine.target import start_thread, target_machine
from wengert.core import machine, parallel

Effort = Literal["fast", "best"]
"""What counts where it is said: a short time to compile, or the speed of code."""
EFFORTS = get_args(Effort)

FEW_PASSES = '"few-passes"'
"""The attribute of functions that have few passes, unless their module has all.

It is for kernels with small matrices, whose numbers do not fit into registers anyway, for routines whose loops wait for
memory, and for Fourier transforms and bodies with stages, whose text is as it should be: nothing that left their loops
would make them faster.
"""


class Level(IntEnum):
    """How LLVM translates a module.

    `QUICK` has few passes and the fast selection of instructions, in time proportional to its length: for what mostly
    calls functions, between which nothing stays in registers, or has many small kernels. `PLAIN` has no passes at all:
    for text that is written by hand. `WHOLE` is LLVM's pipeline for its highest level.
    """

    PLAIN = -1
    QUICK = 0
    USUAL = 1
    WHOLE = 2


class Module(NamedTuple):
    """LLVM text, and how it is translated."""

    text: str
    level: Level = Level.USUAL


def object_code(text: str, level: Level = Level.USUAL) -> bytes:
    """The machine code of a module."""
    (code,) = object_codes([Module(text, level)])
    return code


def object_codes(modules: Sequence[Module]) -> list[bytes]:
    """The machine code of modules. Threads take them, the longest first; several threads, if several are long.

    The caller only waits for them: Ctrl-C, which reaches the main thread alone, would otherwise keep it from freeing
    what LLVM has just returned, and from releasing llvmlite's lock.
    """
    free_lock()
    codes = [b""] * len(modules)
    waiting = sorted(range(len(modules)), key=lambda i: len(modules[i].text))
    errors: list[BaseException] = []

    def translate_next() -> None:
        try:
            while not errors:
                i = waiting.pop()
                codes[i] = translate(*modules[i])
        except IndexError:
            pass  # nothing is left
        except BaseException as error:  # to be raised by the caller
            errors.append(error)

    long = sum(len(module.text) > machine.current.min_characters_of_translation_thread for module in modules)
    count = max(min(parallel.num_threads(), long), 1)
    try:
        threads = list(filter(None, [start_thread(translate_next) for _ in range(count)]))
        if not threads:
            translate_next()
        for thread in threads:
            thread.join()
    except BaseException as error:
        errors.append(error)  # so that they end
        raise
    if errors:
        raise errors[0]
    return codes


def free_lock() -> None:
    """Release what this thread holds of llvmlite's lock.

    That is nothing, unless Ctrl-C came between the lock's `acquire` and the body that would release it: threads that
    translate would wait for it forever.
    """
    lock = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
    while lock is not None and lock._is_owned():
        lock.release()


def translate(text: str, level: Level) -> bytes:
    """The machine code of a module, made by this thread.

    The module is freed before its context, also after an error: the garbage collector would free them in any order.
    """
    with llvm.parse_assembly(text, llvm.create_context()) as module:
        module.verify()
        idle = _idle_translators[level]
        translator = idle.pop() if idle else target_machine(CODE_LEVELS[level])
        if level is not Level.PLAIN:
            run = {Level.QUICK: optimize_quickly, Level.USUAL: optimize, Level.WHOLE: optimize_wholly}[level]
            run(module, translator)
        code = emit_object(module, translator)
        idle.append(translator)
    return code


CODE_LEVELS = {Level.PLAIN: 0, Level.QUICK: 0, Level.USUAL: 1, Level.WHOLE: 3}
"""LLVM's levels of code generation."""
_idle_translators: dict[Level, list[llvm.TargetMachine]] = {level: [] for level in Level}
"""LLVM's compilers for the target, of which a thread takes one for itself."""


def optimize(module: llvm.ModuleRef, translator: llvm.TargetMachine) -> None:
    """Inline functions, and optimise each; loops are neither vectorised nor unrolled: the text has vectors.

    The functions have the passes of LLVM's first level. The whole pipeline of the second takes twice the time, and
    makes no code faster that is written for vectors. Functions that are marked as cold, which are rarely called, are
    translated as they are.
    """
    builder = pass_builder(translator)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_ipsccp_pass()  # arguments that are the same in all calls become constants
    passes.add_dead_arg_elimination_pass()
    passes.add_post_order_function_attributes_pass()
    run_passes(passes, [module], builder)
    functions = [f for f in module.functions if not f.is_declaration]
    for function in functions:
        if is_marked(function, "cold"):
            function.add_function_attribute("optnone")
    marked = [is_marked(function, FEW_PASSES) for function in functions]
    run_passes(builder.getFunctionPassManager(), compress(functions, map(not_, marked)), builder)
    if any(marked):
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        run_passes(passes, compress(functions, marked), builder)


def is_marked(function: llvm.ValueRef, attribute: str) -> bool:
    """Whether a function has an attribute."""
    return any(attribute.encode() in group for group in function.attributes)


def optimize_quickly(module: llvm.ModuleRef, translator: llvm.TargetMachine) -> None:
    """Run few passes, whose time is proportional to the length of the code."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()  # most entries need few of the functions that they may call
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    run_passes(passes, [module], pass_builder(translator))


def optimize_wholly(module: llvm.ModuleRef, translator: llvm.TargetMachine) -> None:
    """Run LLVM's pipeline for its highest level, which unrolls loops; the vectors that it would find are slower."""
    builder = pass_builder(translator, 3, unrolls=True)
    run_passes(builder.getModulePassManager(), [module], builder)


def pass_builder(translator: llvm.TargetMachine, level: int = 1, unrolls: bool = False) -> llvm.PassBuilder:
    """What makes LLVM's passes for a target, at a level of its own."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    tuning.loop_unrolling = unrolls
    return llvm.create_pass_builder(translator, tuning)


def run_passes(passes: Any, parts: Iterable[Any], builder: llvm.PassBuilder) -> None:
    """Run passes on a module or on functions, and free them.

    llvmlite forgets to free them: the empty method of one base class hides that of the other.
    """
    kind = "Module" if isinstance(passes, llvm.ModulePassManager) else "Function"
    try:
        run = without_lock(f"LLVMPY_RunNew{kind}PassManager")
        for part in parts:
            run(passes, part, builder)
    finally:
        if type(passes)._dispose is llvm.ffi.ObjectRef._dispose:
            llvm.newpassmanagers.NewPassManager._dispose(passes)


def emit_object(module: llvm.ModuleRef, translator: llvm.TargetMachine) -> bytes:
    """The machine code of an optimised module."""
    with llvm.ffi.OutputString() as error:
        memory = without_lock("LLVMPY_TargetMachineEmitToMemory")(translator, module, 1, error)
        if not memory:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(llvm.ffi.lib.LLVMPY_GetBufferStart(memory), llvm.ffi.lib.LLVMPY_GetBufferSize(memory))
    finally:
        llvm.ffi.lib.LLVMPY_DisposeMemoryBuffer(memory)


def without_lock(name: str) -> Callable[..., Any]:
    """A function of llvmlite's library, without the lock that llvmlite holds during a call, if that is known."""
    function = getattr(llvm.ffi.lib, name)
    return getattr(function, "_cfn", function)
