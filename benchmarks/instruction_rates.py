"""How many vector instructions of each class one core runs in a second, measured by loops that have no others.

The loops are written in LLVM's language. Each has enough chains of instructions to hide their latency.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.peaks import ROUNDS, best_seconds, on_cores, start_compiler, vector_bits

TURNS, SLOW_TURNS = 2**21, 2**18
"""Turns of a round, which takes some milliseconds: of most instructions, and of divisions and roots."""
CHAINS = {
    "multiply": {"multiply": 8},
    "add": {"add": 8},
    "all": {"multiply": 6, "add": 4, "exclusive or": 4},
    "shuffle": {"shuffle": 8},
    "divide double": {"divide": 8},
    "divide float": {"divide": 8},
    "sqrt double": {"sqrt": 8},
    "sqrt float": {"sqrt": 8},
}
"""The chains of each loop, by the instruction that they repeat."""


def _instruction(kind: str, vector: str, suffix: str, k: int) -> str:
    """One instruction of chain k; a shuffle takes lanes of two vectors in turn."""
    lanes = int(vector[1:].split()[0])
    exchanged = ", ".join([f"i32 {i // 2 + (lanes if i % 2 else 0)}" for i in range(lanes)])
    return {
        "multiply": f"call {vector} @llvm.fma.{suffix}({vector} %x{k}, {vector} %factor, {vector} %factor)",
        "add": f"fadd {vector} %x{k}, %factor",
        "divide": f"fdiv {vector} %factor, %x{k}",
        "sqrt": f"call {vector} @llvm.sqrt.{suffix}({vector} %y{k})",
        "exclusive or": f"xor {vector} %x{k}, %bits",
        "shuffle": f"shufflevector {vector} %x{k}, {vector} %factor, <{lanes} x i32> <{exchanged}>",
    }[kind]


def _function(name: str) -> str:
    """A function that runs `%turns` turns of one loop, and returns a number that depends on all of its chains."""
    element = "float" if name.endswith("float") else "double"
    width = vector_bits() // (32 if element == "float" else 64)
    vector, suffix = f"<{width} x {element}>", f"v{width}f{32 if element == 'float' else 64}"
    whole = f"<{vector_bits() // 64} x i64>"
    chains = [kind for kind, count in CHAINS[name].items() for _ in range(count)]
    head = [
        f'define double @"{name}"({element} %a, i64 %turns) {{',
        "entry:",
        f"  %one = insertelement {vector} poison, {element} %a, i64 0",
        f"  %factor = shufflevector {vector} %one, {vector} poison, <{width} x i32> zeroinitializer",
        f"  %first = fmul {vector} %factor, %factor",  # quotients by it are not round numbers
        f"  %bits = bitcast {vector} %first to {whole}",
        "  br label %turn",
        "turn:",
        "  %done = phi i64 [0, %entry], [%following, %turn]",
    ]
    phis, body, ends, total = [], [], [], "%factor"
    for k, kind in enumerate(chains):
        is_integer = kind == "exclusive or"
        type, first = (whole, "%bits") if is_integer else (vector, "%first")
        phis.append(f"  %x{k} = phi {type} [{first}, %entry], [%next{k}, %turn]")
        if kind == "sqrt":  # so that roots are not 1 after some turns
            body.append(f"  %y{k} = fadd {vector} %x{k}, %factor")
        body.append(f"  %next{k} = {_instruction(kind, type, suffix, k)}")
        if is_integer:
            ends.append(f"  %end{k} = bitcast {whole} %next{k} to {vector}")
        ends.append(f"  %total{k} = fadd {vector} {total}, %{'end' if is_integer else 'next'}{k}")
        total = f"%total{k}"
    tail = [
        "  %following = add i64 %done, 1",
        "  %more = icmp ult i64 %following, %turns",
        "  br i1 %more, label %turn, label %end",
        "end:",
        *ends,
        f"  %out = extractelement {vector} {total}, i64 0",
        *(["  %wide = fpext float %out to double"] if element == "float" else []),
        f"  ret double {'%wide' if element == 'float' else '%out'}",
        "}",
    ]
    declared = [f"declare {vector} @llvm.{f}.{suffix}({', '.join([vector] * n)})" for f, n in (("fma", 3), ("sqrt", 1))]
    return "\n".join([*declared, *head, *phis, *body, *tail])


@cache
def _loop(name: str) -> tuple[Any, Callable]:
    """The compiler, which must live as long as the loop, and the loop."""
    engine = start_compiler(_function(name))
    element = ctypes.c_float if name.endswith("float") else ctypes.c_double
    return engine, ctypes.CFUNCTYPE(ctypes.c_double, element, ctypes.c_int64)(engine.get_function_address(name))


@cache
def instruction_rate(name: str, threads: int) -> float:
    """The vector instructions of a class in a second, on so many cores."""
    run, turns = _loop(name)[1], SLOW_TURNS if name.startswith(("divide", "sqrt")) else TURNS
    with on_cores(threads) as spread:
        seconds = best_seconds(lambda: spread(lambda _: run(0.73, turns), range(threads)), ROUNDS)
    return threads * turns * sum(CHAINS[name].values()) / seconds
