"""How long an instruction waits for the one before it, a value for its way through memory, and a core for another.

The loops are written in LLVM's language, and have one chain of instructions on single numbers.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from benchmarks.peaks import ROUNDS, best_seconds, start_compiler
from benchmarks.systems import cores

TURNS, TIMES = 2**13, 20
IN_A_TURN = 4
"""Turns of a round, which is short, with as many times more rounds than in the measurement of rates; and instructions
of the chain in one turn, which take longer than the rest of the turn.
"""
CHAINS = {
    "add": "fadd {t} {x}, %a",
    "multiply": "call {t} @llvm.fma.{s}({t} {x}, {t} %a, {t} %a)",
    "divide": "fdiv {t} %a, {x}",
    "sqrt": "call {t} @llvm.sqrt.{s}({t} {x})",
}
"""The instructions of chains; `{x}` is the result of the one before."""
MEMORY = "memory"
LATENCIES = "add", "multiply", "divide double", "divide float", "sqrt double", "sqrt float", MEMORY
"""What instructions of a chain wait for: others are not counted."""
PASSES = 2**12
"""Elements that a value passes through: all are in the nearest cache."""
JOBS, WORK = 200, 1 << 40
"""Jobs of a round, and the work that they pretend to have, so that threads do not sleep."""


def _chain(name: str) -> str:
    """A function that runs `%turns` turns of a chain."""
    kind, _, type = name.partition(" ")
    type = type or "double"
    suffix = "f32" if type == "float" else "f64"
    lines = [CHAINS[kind].format(t=type, s=suffix, x=f"%x{k}") for k in range(IN_A_TURN)]
    return "\n".join(
        [
            *[f"declare {type} @llvm.{f}.{suffix}({', '.join([type] * n)})" for f, n in (("fma", 3), ("sqrt", 1))],
            f"define {type} @run({type} %a, i64 %turns) {{\nentry:\n  br label %turn\nturn:",
            "  %i = phi i64 [0, %entry], [%next, %turn]",
            f"  %x0 = phi {type} [%a, %entry], [%x{IN_A_TURN}, %turn]",
            *[f"  %x{k + 1} = {line}" for k, line in enumerate(lines)],
            "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %turns",
            f"  br i1 %more, label %turn, label %end\nend:\n  ret {type} %x{IN_A_TURN}\n}}",
        ]
    )


PASSED_ON = """
define void @run(ptr %x, i64 %turns) {
entry:
  br label %turn
turn:
  %i = phi i64 [0, %entry], [%next, %turn]
  %next = add i64 %i, 1
  %from = getelementptr i64, ptr %x, i64 %i
  %to = getelementptr i64, ptr %x, i64 %next
  %value = load volatile i64, ptr %from
  store volatile i64 %value, ptr %to
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %turn, label %end
end:
  ret void
}
"""
"""Each element is the one before it: read, written, and read again."""

EMPTY_JOBS = """
define void @empty(ptr %table, i64 %begin, i64 %end) noinline {
  ret void
}
define void @run(ptr %parallel, i64 %parts, i64 %work, i64 %turns) {
entry:
  br label %turn
turn:
  %i = phi i64 [0, %entry], [%next, %turn]
  call void %parallel(ptr @empty, ptr null, i64 %parts, i64 1, i64 %work)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %turn, label %end
end:
  ret void
}
"""


@cache
def latency(name: str) -> float:
    """The seconds from one instruction to the next that waits for it: "add", "divide float", or "memory"."""
    if name == MEMORY:
        engine, values = start_compiler(PASSED_ON), np.zeros(PASSES + 1)
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("run"))
        return best_seconds(lambda: run(values.ctypes.data, PASSES), TIMES * ROUNDS) / PASSES
    engine = start_compiler(_chain(name))
    element = ctypes.c_float if name.endswith("float") else ctypes.c_double
    function = ctypes.CFUNCTYPE(element, element, ctypes.c_int64)(engine.get_function_address("run"))
    return best_seconds(lambda: function(1.37, TURNS), TIMES * ROUNDS) / (TURNS * IN_A_TURN)


@cache
def seconds_of_hand_off() -> float:
    """The time of a job that computes nothing on all cores, which wait for work: half is until others have begun."""
    import wengert as wg
    from wengert.compiler.threads.pool import parallel_address

    wg.compile(lambda x: x + 1.0)(np.ones(1))  # which says how many threads there are
    if cores() == 1:
        return 0.0
    engine = start_compiler(EMPTY_JOBS)
    types = [ctypes.c_void_p, *[ctypes.c_int64] * 3]
    run = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address("run"))
    return best_seconds(lambda: run(parallel_address(), cores(), WORK, JOBS), ROUNDS) / JOBS
