"""How many elements at computed indices the machine reads, adds to, or distributes in a second.

The indices are random, and the loops have nothing else to do: reads by single loads or by gathers, whichever is faster.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.peaks import ROUNDS, best_seconds, on_cores, start_compiler, vector_bits

ACCESSES, PASSES = 2**17, 32
"""Indices, and how often a round uses all of them: it takes some milliseconds, as to start threads takes less."""
AT_ONCE = 8
"""Elements of one turn of a loop."""
DIGITS = 256
LEAST = 2**18
"""The bytes of the smallest array into which elements are moved: fewer take as long for each, and too little in all."""


LOOP = """
define void @{name}(ptr %table, ptr %indices, ptr %other, i64 %count) {{
entry:
  br label %turn
turn:
  %i = phi i64 [0, %entry], [%next, %turn]
{carried}
{body}
  %next = add i64 %i, {step}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %turn, label %end
end:
{last}
  ret void
}}"""
INDEX = """
  %j{k} = add i64 %i, {k}
  %p{k} = getelementptr i64, ptr %indices, i64 %j{k}
  %n{k} = load i64, ptr %p{k}"""
ELEMENT = f"""{INDEX}
  %q{{k}} = getelementptr double, ptr %table, i64 %n{{k}}
  %v{{k}} = load double, ptr %q{{k}}"""
ADD = """
  %t{k} = fadd double %v{k}, 1.0
  store double %t{k}, ptr %q{k}"""
MOVE = """
  %d{k} = and i64 %n{k}, 255
  %c{k} = getelementptr i64, ptr %other, i64 %d{k}
  %m{k} = load i64, ptr %c{k}
  %after{k} = add i64 %m{k}, 1
  store i64 %after{k}, ptr %c{k}
  %q{k} = getelementptr i64, ptr %table, i64 %m{k}
  store i64 %n{k}, ptr %q{k}"""
SUM = """
  %t{k} = fadd {type} %s{k}, %v{k}"""
GATHER = """
  %j{k} = add i64 %i, {first}
  %p{k} = getelementptr i64, ptr %indices, i64 %j{k}
  %n{k} = load <{n} x i64>, ptr %p{k}, align 8
  %q{k} = getelementptr double, ptr %table, <{n} x i64> %n{k}
  %v{k} = call {type} {gather}(<{n} x ptr> %q{k}, i32 8, <{n} x i1> splat (i1 true), {type} poison)"""


def _text() -> str:
    lanes, numbers = vector_bits() // 64, range(AT_ONCE)
    vector, gather = f"<{lanes} x double>", f"@llvm.masked.gather.v{lanes}f64.v{lanes}p0"
    write = lambda name, line, carried="", last="", step=AT_ONCE: LOOP.format(
        name=name,
        carried="\n".join([carried.format(k=k) for k in numbers]),
        body="".join([line(k) for k in numbers]),
        step=step,
        last="\n".join([last.format(k=k) for k in numbers]),
    )
    sums = lambda type, zero: f"  %s{{k}} = phi {type} [{zero}, %entry], [%t{{k}}, %turn]"
    stores = lambda type: f"  store volatile {type} %t{{k}}, ptr %other, align 8"
    read = lambda k: (ELEMENT + SUM).format(k=k, type="double")
    gathered = lambda k: (GATHER + SUM).format(k=k, first=k * lanes, n=lanes, type=vector, gather=gather)
    return "\n".join(
        [
            f"declare {vector} {gather}(<{lanes} x ptr>, i32, <{lanes} x i1>, {vector})",
            write("read", read, sums("double", "0.0"), stores("double")),
            write("gather", gathered, sums(vector, "zeroinitializer"), stores(vector), AT_ONCE * lanes),
            write("added", lambda k: (ELEMENT + ADD).format(k=k)),
            write("moved", lambda k: (INDEX + MOVE).format(k=k)),
        ]
    )


@cache
def _loops() -> tuple[Any, dict[str, Callable]]:
    """The compiler, which must live as long as the loops, and the loops."""
    engine = start_compiler(_text())
    made = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return engine, {name: made(engine.get_function_address(name)) for name in ("read", "gather", "added", "moved")}


def _rate(loop: str, nbytes: int, threads: int) -> float:
    """The elements of a second of one loop, each core with an array of its own unless all only read."""
    rng, elements = np.random.default_rng(0), max(nbytes // 8, AT_ONCE)
    count = min(ACCESSES, elements // AT_ONCE * AT_ONCE) if loop == "moved" else ACCESSES
    table = np.ones(elements)
    jobs = []
    for _ in range(threads):
        indices = rng.integers(0, elements, count)
        starts = np.concatenate([[0], np.cumsum(np.bincount(indices & (DIGITS - 1), minlength=DIGITS))[:-1]])
        jobs.append((table if loop in ("read", "gather") else table.copy(), indices, starts, np.zeros(DIGITS)))
    function = _loops()[1][loop]

    def run(job: tuple[np.ndarray, ...]) -> None:
        array, indices, starts, other = job
        other[:] = starts.astype(np.int64).view(np.float64)
        function(array.ctypes.data, indices.ctypes.data, other.ctypes.data, len(indices))

    repeat = PASSES * max(1, ACCESSES // count)
    with on_cores(threads) as spread:
        seconds = best_seconds(lambda: spread(lambda job: [run(job) for _ in range(repeat)], jobs), ROUNDS)
    return threads * repeat * count / seconds


@cache
def index_rate(kind: str, nbytes: int, threads: int) -> float:
    """The elements of a second that are `read`, `added` to or `moved`, in an array of so many bytes."""
    loops = ("read", "gather") if kind == "read" else (kind,)
    nbytes = max(nbytes, LEAST) if kind == "moved" else nbytes
    return max([_rate(loop, nbytes, threads) for loop in loops])
