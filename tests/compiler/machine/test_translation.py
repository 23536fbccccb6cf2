"""Translation of several modules at once, functions that have few passes, and vectors on the stack."""

import _thread
import ctypes
import re
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest

import wengert as wg
from wengert.compiler.functions import vector_functions
from wengert.compiler.machine import translation
from wengert.compiler.machine.target import STACK_ALIGNMENT, Loaded, target_machine, vector_bytes
from wengert.compiler.machine.translation import FEW_PASSES, Level, Module, object_code, object_codes, optimize
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_writer import write_program
from wengert.compiler.simd.types import Type
from wengert.core import machine, parallel

ADD = """
define i64 @add.{number}(i64 %x) nounwind {attributes} {{
entry:
  %variable = alloca i64
  store i64 %x, ptr %variable
  %value = load i64, ptr %variable
  %sum = add i64 %value, {number}
  ret i64 %sum
}}
"""


def add(number: int, attributes: str = "") -> str:
    return ADD.format(number=number, attributes=attributes)


@pytest.mark.parametrize("threads", ["1", "2", "7"])
@pytest.mark.parametrize("attributes", ["", FEW_PASSES])
def test_modules_are_translated_on_all_cores_in_their_order(monkeypatch, threads, attributes):
    monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
    modules = [Module(add(i, attributes) * (i < 20), [*Level][i % len(Level)]) for i in range(21)]
    with machine.using(min_characters_of_translation_thread=10):
        codes = object_codes(modules)
    assert codes == [object_code(*module) for module in modules]
    loaded = Loaded(codes, {})
    for i in range(20):
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address(f"add.{i}"))
        assert function(1000) == 1000 + i


REPEATED = """
define i64 @{name}(i64 %x) noinline nounwind {attributes} {{
entry:
  %first = udiv i64 1000000, %x
  %again = udiv i64 1000000, %x
  %sum = add i64 %first, %again
  ret i64 %sum
}}
"""


def test_cold_functions_are_translated_as_they_are_unless_speed_is_all_that_counts():
    """A program that never calls one need not wait for it to be optimised. Its numbers are the same."""
    text = REPEATED.format(name="hot", attributes="") + REPEATED.format(name="cold", attributes="cold")
    divisions = {}
    for level in (Level.USUAL, Level.WHOLE):
        module = llvm.parse_assembly(text, llvm.create_context())
        optimise = {Level.USUAL: translation.optimize, Level.WHOLE: translation.optimize_wholly}[level]
        optimise(module, target_machine())
        divisions[level] = [str(function).count("udiv") for function in module.functions]
        loaded = Loaded(object_code(text, level), {})
        for name in ("hot", "cold"):
            assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address(name))(7) == 2 * (1000000 // 7)
    knows_cold = llvm.llvm_version_info >= (21,)
    assert divisions == {Level.USUAL: [1, 2 if knows_cold else 1], Level.WHOLE: [1, 1]}


def test_what_llvm_rejects_is_an_error_whichever_thread_met_it(monkeypatch):
    monkeypatch.setenv("WENGERT_NUM_THREADS", "2")
    with machine.using(min_characters_of_translation_thread=10), pytest.raises(RuntimeError, match="parsing error"):
        object_codes([Module(add(i) if i else "define") for i in range(6)])


def long_program(x):
    """Kernels that do not fuse, with other bodies each: sums of functions of all that was summed before."""
    for i in range(1, 25):
        x = x - wg.mean(x[i:] * (x[:-i] + i) ** (i % 5)) * (x[:1] - x[i])
    return x


def test_the_kernels_of_a_long_program_are_divided_among_modules(monkeypatch):
    x = np.linspace(-1.0, 1.0, 100)
    graph = prepare(wg.compile(long_program).trace(x), rolls=False)
    monkeypatch.setattr(parallel, "num_threads", lambda: 3)
    several = write_program(graph).modules
    monkeypatch.setattr(parallel, "num_threads", lambda: 1)
    one = write_program(graph).modules
    assert len(several) > len(one)
    names = lambda modules: {line for m in modules for line in m.text.split("\n") if line.startswith("define")}
    assert names(several) == names(one)
    monkeypatch.undo()
    np.testing.assert_allclose(wg.compile(long_program)(x), long_program(wg.tensor(x)).numpy(), rtol=1e-12)


def test_vector_functions_are_translated_once_for_all_programs_and_processes(monkeypatch, tmp_path):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path))
    translated = []
    monkeypatch.setattr(
        vector_functions,
        "object_codes",
        lambda modules: translated.append([m.text.count("@wengert.cos") > 0 for m in modules]) or object_codes(modules),
    )
    x, key = np.linspace(-1.0, 1.0, 9), ("cos", Type("f64", 2))
    for is_new_process in (True, False, True):
        if is_new_process:
            monkeypatch.setattr(vector_functions, "_CODES", {})
        codes = vector_functions.translate_with_functions([], [key], is_quick=False)
        assert len(codes) == 1
    assert translated == [[True], [], []]
    for effort in (None, "fast"):
        np.testing.assert_allclose(wg.compile(np.cos, effort=effort)(x), np.cos(x), rtol=1e-15)


def test_a_module_is_freed_where_its_translation_is_interrupted(monkeypatch):
    """Else the garbage collector frees it after its context, and the process crashes."""
    modules = []

    def interrupt(module, translator):
        modules.append(module)
        raise KeyboardInterrupt

    monkeypatch.setattr(translation, "emit_object", interrupt)
    with pytest.raises(KeyboardInterrupt):
        object_code(add(1))
    assert modules[0].closed


@pytest.mark.skipif(vector_bytes() <= STACK_ALIGNMENT, reason="the stack is aligned for these vectors anyway")
@pytest.mark.parametrize("order", [6, 8])
def test_vectors_that_do_not_fit_into_registers_are_at_aligned_addresses(order):
    x = np.eye(order) + np.zeros((1000, order, order))
    f = wg.compile(wg.value_and_grad(lambda x: np.linalg.inv(x).sum()))
    translator = target_machine()
    with llvm.parse_assembly(write_program(prepare(f.trace(x))).modules[0].text, llvm.create_context()) as module:
        optimize(module, translator)
        assembly = translator.emit_assembly(module)
    vector = {32: "ymm", 64: "zmm"}[vector_bytes()]
    on_stack = re.compile(rf"\t(v?mov\w+)\t(?:%{vector}\d+, -?\d*\(%rsp\)|-?\d*\(%rsp\), %{vector}\d+)")
    moves = on_stack.findall(assembly)
    assert len(moves) > 50
    assert not [move for move in moves if move.startswith("vmovu")]


def test_a_lock_that_an_interrupt_left_held_does_not_stop_the_next_compilation():
    """Ctrl-C between `acquire` and the body of llvmlite's `with`: its thread holds the lock, and others would wait."""
    lock = llvm.ffi.lib._lock._lock
    lock.acquire()
    try:
        with machine.using(threads=2, min_characters_of_translation_thread=1):
            done = threading.Thread(target=object_codes, args=([Module("")],), daemon=True)
            object_codes([Module(""), Module("")])
            done.start()
            done.join(20)
            assert not done.is_alive()
    finally:
        while lock._is_owned():
            lock.release()


def test_an_interrupt_stops_the_caller_and_not_what_is_translated(monkeypatch):
    """LLVM runs in other threads, which Ctrl-C does not reach; the caller waits no longer."""
    translate, begin, codes, once = translation.translate, threading.Event(), [], iter([None])

    def slow(text, level):
        assert threading.current_thread() is not threading.main_thread()
        for _ in once:
            _thread.interrupt_main()
        begin.wait(20)
        codes.append(translate(text, level))
        return codes[-1]

    monkeypatch.setattr(translation, "translate", slow)
    with machine.using(threads=2, min_characters_of_translation_thread=10):
        with pytest.raises(KeyboardInterrupt):
            object_codes([Module(add(i)) for i in range(9)])
        begin.set()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join(20)
        assert 1 <= len(codes) <= 2, "what was begun is finished, and the rest left"
        monkeypatch.undo()
        assert object_codes([Module(add(1))])
