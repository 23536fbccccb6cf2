"""Native programs: compiled or read from disk, loaded into memory, and called."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.aspects import OWN
from wengert.compiler.entry import entry
from wengert.compiler.entry.build import Build, dump_build, load_build
from wengert.compiler.entry.ctypes_call import NO_TARGETS, Caller
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import NO_STATES, States
from wengert.compiler.entry.program_state import StateTable, StateUse, states_of
from wengert.compiler.entry.tuning import ChosenPolicy, draw_input, find_fastest, measure, nests_to_try
from wengert.compiler.entry.upcall import make_upcall
from wengert.compiler.forms.failures import FAILURES
from wengert.compiler.functions.vector_functions import translate_with_functions
from wengert.compiler.machine import python_objects, target
from wengert.compiler.machine.fingerprint import CacheEntry
from wengert.compiler.machine.python_calls import DECLARE_RUN, RELEASED
from wengert.compiler.machine.target import start_thread
from wengert.compiler.machine.translation import Effort, Level, Module, object_code
from wengert.compiler.nests.decisions import Policy
from wengert.compiler.nests.policy import deciding
from wengert.compiler.program.kept_memory import KEPT, allow_kept_memory
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program import FIRST_FAILURE, NO_MEMORY, Program
from wengert.compiler.program.program_plan import make_plan
from wengert.compiler.program.program_writer import write_program
from wengert.compiler.threads.pool import parallel_address, update_limits
from wengert.control.aspects import held  # noqa: F401  # which every program is searched with for held graphs
from wengert.core import allocator
from wengert.core.blas import blas
from wengert.core.errors import user_error
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of
from wengert.modes.guards import CHANGES
from wengert.modes.recording import ACTIVE

LOCK = threading.RLock()
"""Held while a program is compiled. Functions are traced without it, since their code belongs to users."""

_llvm_lock: Any = getattr(llvm.ffi.lib, "_lock", None)


def _hold_locks() -> None:
    """Before a fork, wait for threads that use LLVM: the child could never acquire its lock."""
    LOCK.acquire()
    _llvm_lock.__enter__()


def _release_locks() -> None:
    _llvm_lock.__exit__()
    LOCK.release()


if hasattr(os, "register_at_fork") and _llvm_lock is not None:
    os.register_at_fork(before=_hold_locks, after_in_parent=_release_locks, after_in_child=_release_locks)


class NativeProgram:
    """A program in memory. It is called with the leaves of the arguments, and returns those of the result.

    `entry` is the function that Python calls directly, with arguments of one signature. It is made when it is first
    asked for: many programs run once.
    """

    def __init__(
        self,
        build: Build,
        signature: EntrySignature | None,
        name: str,
        is_warm: bool,
        uses: Sequence[StateUse] = (),
        states: States = NO_STATES,
    ):
        if not allocator.is_configured:
            allocator.keep_freed_memory()
        allow_kept_memory()
        update_limits()
        program = with_common_dtypes(build.program)
        self.build, self.is_warm = build._replace(program=program), is_warm
        addresses = {"wengert.kept": ctypes.addressof(KEPT), **python_objects.python_addresses(build.code)}
        if program.uses_threads:
            addresses["wengert.parallel"] = parallel_address()
        if program.blas_functions:
            addresses |= {f"wengert.{name}": blas().address(name) for name in program.blas_functions}
        self.loaded = target.Loaded(build.code, addresses)
        constants = [np.ascontiguousarray(value) for value in program.constants]
        # upcalls do not refer to this object, which would be a cycle
        upcalls = [make_upcall(fallback, program, constants) for fallback in program.fallbacks]
        self.loaded.fill("wengert.constants", [array.ctypes.data for array in constants], constants)
        self.loaded.fill("wengert.upcalls", list(map(id, upcalls)), upcalls)
        self.error = partial(run_error, program.arena)
        self.caller = Caller(self.loaded, program.inputs, program.outputs, releases_gil(program))
        self.states = StateTable(uses, program) if uses and signature is not None else None
        self.signature, self.name, self.entry_states = signature, name, states
        self._entry: Callable | None = None

    @property
    def entry(self) -> Callable | None:
        """The native entry; None if there is none, or Python is about to end."""
        if self._entry is None and self.signature is not None and not sys.is_finalizing():
            with LOCK:
                if self._entry is None and python_objects.is_supported():
                    self._entry = self.load_entry(self.signature)
        return self._entry

    def load_entry(self, signature: EntrySignature) -> Callable:
        """The native entry, which is a module of its own: programs of one signature share its code."""
        states = self.entry_states
        text = DECLARE_RUN + entry.write_entry(signature, releases_gil(self.build.program), states)
        code = entry_code(text, Level.USUAL if states.records else Level.QUICK)  # without states it compares and calls
        addresses = {"wengert.active": ACTIVE.ctypes.data, "wengert.changes": CHANGES.ctypes.data}
        addresses |= {entry.RUN: self.loaded.address(entry.RUN), **python_objects.python_addresses([code])}
        loaded = target.Loaded(code, addresses)
        loaded.keep(self.loaded)
        if self.states is not None:
            loaded.fill("wengert.states", [self.states.records.ctypes.data], [self.states])
        return entry.callable_from(loaded, signature, self.name, self.error)

    def __call__(
        self, leaves: Sequence[Any], targets: Mapping[int, np.ndarray] = NO_TARGETS, assigned: int = 0
    ) -> list:
        """The results. Those that have a target are written there; the last ones, which are assigned, are arrays."""
        status, outs = self.caller(leaves, targets)
        if status:
            raise self.error(status)
        n = len(outs) - assigned
        return [out if out.ndim or i >= n else out[()] for i, out in enumerate(outs)]


def with_common_dtypes(program: Program) -> Program:
    """A program whose inputs and outputs have NumPy's own dtype objects: those that were unpickled are others."""
    specs = [[Spec(s.shape, np.dtype(s.dtype.str)) for s in specs] for specs in (program.inputs, program.outputs)]
    return program._replace(inputs=tuple(specs[0]), outputs=tuple(specs[1]))


@lru_cache(64)
def entry_code(text: str, level: Level) -> bytes:
    """The machine code of a native entry, from disk if it was translated before."""
    kept = CacheEntry("entry", text, level.name)
    code = kept.load(target.read_code)
    if code is None:
        code = object_code(text, level)
        kept.store(code)
    return code


def run_error(arena: int, status: int) -> BaseException:
    """The error for the status of a failed run."""
    if status == NO_MEMORY:
        return user_error(MemoryError, f"No memory for the {arena} bytes of intermediate results")
    return FAILURES[status - FIRST_FAILURE].error()


def releases_gil(program: Program) -> bool:
    """Whether other threads of Python run during a call."""
    return program.is_large and not program.fallbacks


def load_or_compile(
    graph: Graph,
    entry_signature: EntrySignature | None,
    name: str,
    updates: Sequence[tuple[int, int]] = (),
    rolls: bool = True,
    uses: Sequence[StateUse] = (),
    is_taped: bool = False,
    callers: str = "",
    effort: Effort | None = None,
    decide: Policy | None = None,
) -> NativeProgram:
    """The program of a graph, from disk if it was compiled before; with an entry for Python if that has a signature.

    `updates` pairs inputs with the outputs that replace them after a run, `uses` says which tensors the entry reads and
    writes. With `rolls`, parts of the graph that repeat themselves become loops. `callers` is the text of further
    functions, which call the program on all cores. What another policy decides is not kept on disk.
    """
    states = states_of(uses, [node.spec for node in graph.outputs], is_taped)
    described = repr((tuple(updates), rolls, effort)) + callers
    kept = CacheEntry(graph.fingerprint, described) if decide is None and is_portable(graph) else None
    if kept is not None:
        read = lambda stored: NativeProgram(load_build(stored, graph), entry_signature, name, True, uses, states)
        if (found := kept.load(read)) is not None:
            return found
    with deciding(decide):
        build = compile_graph(graph, updates, rolls, callers, effort)
        if effort == "best" and decide is None:
            build = compile_fastest(graph, build, updates, rolls, callers)
    program = NativeProgram(build, entry_signature, name, False, uses, states)
    if kept is not None:  # when nothing that the program needs is read from disk any more, which would wait for it
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError, RecursionError):
            kept.store(dump_build(build, graph))
    return program


def compile_graph(
    graph: Graph,
    updates: Sequence[tuple[int, int]] = (),
    rolls: bool = True,
    callers: str = "",
    effort: Effort | None = None,
) -> Build:
    """graph -> passes -> schedule -> memory plan -> LLVM text -> machine code.

    The garbage collector is off meanwhile: of the millions of objects of a long program few are in cycles, and to look
    through them again and again takes a quarter of the time. The interpreter lets no signal in between `finally` and
    the call that switches it on.
    """
    is_on = gc.isenabled()
    try:
        gc.disable()
        return compile_at_once(graph, updates, rolls, callers, effort)
    finally:
        if is_on:
            gc.enable()


def compile_at_once(
    graph: Graph, updates: Sequence[tuple[int, int]], rolls: bool, callers: str, effort: Effort | None
) -> Build:
    """The same, with the garbage collector as it is."""
    start = time.perf_counter()
    optimised = prepare(graph, rolls)
    program = write_program(optimised, updates, effort)
    if callers:
        program = program._replace(uses_threads=True)
    pool = start_thread(parallel_address) if program.uses_threads else None  # translated when it is first needed
    first, *others = program.modules
    if releases_gil(program):
        first = first._replace(text=entry.declare_once(first.text + RELEASED))
    modules = [first, *others, *([Module(DECLARE_RUN + callers, Level.QUICK)] if callers else [])]
    code = translate_with_functions(modules, program.vector_functions, effort == "fast")
    if pool is not None:
        pool.join()
    counts = len(graph.operations), len(optimised.operations)
    shown = zlib.compress("\n\n".join([module.text for module in modules]).encode(), 1)
    return Build(program._replace(modules=()), tuple(code), shown, counts, time.perf_counter() - start)


def compile_fastest(graph: Graph, build: Build, updates: Sequence[tuple[int, int]], rolls: bool, callers: str) -> Build:
    """The fastest program of several, whose loops run as others than the usual ones decide."""
    nests = nests_to_try(make_plan(prepare(graph, rolls), tuple(updates), "")) if build.program.is_native else []
    if not nests:
        return build
    rng, builds = np.random.default_rng(0), {frozenset[str](): build}
    values = [draw_input(spec, rng) for spec in build.program.inputs]

    def seconds(policy: ChosenPolicy) -> float:
        key = frozenset(map(str, policy.chosen.items()))
        if key not in builds:
            with deciding(policy):
                builds[key] = compile_graph(graph, updates, rolls, callers, "best")
        program = NativeProgram(builds[key], None, "trial", False)
        return measure(lambda: program.caller(values)[0])

    policy, trials = find_fastest(nests, seconds)
    return builds[frozenset(map(str, policy.chosen.items()))]._replace(trials=tuple(trials))


def is_portable(graph: Graph) -> bool:
    """Whether all operations belong to this package, so that names mean the same in another process."""
    primitives = {node.primitive for node in graph.operations} - OWN - {OUTPUT}
    is_known = not primitives or primitives <= own_operations()
    return is_known and all(is_portable(part.graph) for node in graph.operations for part in graphs_of(node))


@cache
def own_operations() -> frozenset[Primitive]:
    """The operations that modules of this package define, found one by one: few are not among `OWN`."""
    modules = [module for name, module in sys.modules.items() if name.startswith("wengert.")]
    values = [x for module in modules for x in vars(module).values() if isinstance(x, FunctionType | Primitive)]
    found = [x if isinstance(x, Primitive) else getattr(x, "primitive", None) for x in values]
    return frozenset([p for p in found if isinstance(p, Primitive)])
