"""What the machine can do at most, measured here: bytes that it reads and writes, and floating-point operations.

The loops are written in LLVM's language and run on all cores; products are NumPy's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.reports.figure import Figure
from benchmarks.systems import cores

MEMORY = 2**28
"""Bytes that no cache holds."""

ORDER = 1_536
STRIDE = 8
"""Vectors that a loop handles in one turn: enough of them to hide the latency of each."""

SHARE = STRIDE * 8
"""Every loop passes over a multiple of so many doubles."""

LINE = 64
"""The bytes of a cache line."""

ROUNDS = 30
"""Rounds of a few milliseconds, so that to start threads takes little of them, and some fall between whatever else the
machine does.
"""

PASSED, CACHED = 2**28, 2**20
"""Bytes that a loop passes over in a round, and twice as many where so few are read or written again and again."""


class Peaks(NamedTuple):
    """The most bytes and floating-point operations of a second."""

    read: float
    copy: float
    dgemm: float
    sgemm: float
    fma: float


def vector_bits() -> int:
    """The bits of the machine's vectors."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return 512 if features.get("avx512f") else 256 if features.get("avx") else 128


def _loop(signature: str, body: list[str], sums: int, width: int) -> str:
    """A function that runs `body` over `%n` doubles, `%count` of them in all, and adds `%next0`, `%next1` ... up."""
    vector = f"<{width} x double>"
    lines = [f"define double @{signature} {{", "entry:", "  br label %turn", "turn:"]
    lines += ["  %done = phi i64 [0, %entry], [%over, %turn]", "  %i = phi i64 [0, %entry], [%k, %turn]"]
    for k in range(sums):
        lines.append(f"  %sum{k} = phi {vector} [zeroinitializer, %entry], [%next{k}, %turn]")
    lines += [f"  {line}" for line in body]
    lines += [f"  %over = add i64 %done, {STRIDE * width}", f"  %j = add i64 %i, {STRIDE * width}"]
    lines += ["  %again = icmp eq i64 %j, %n", "  %k = select i1 %again, i64 0, i64 %j"]
    lines += ["  %more = icmp ult i64 %over, %count", "  br i1 %more, label %turn, label %end", "end:"]
    total = "zeroinitializer"
    for k in range(sums):
        lines.append(f"  %total{k} = fadd {vector} {total}, %next{k}")
        total = f"%total{k}"
    if sums:
        lines.append(f"  %out = call double @llvm.vector.reduce.fadd.v{width}f64(double 0.0, {vector} {total})")
    return "\n".join([*lines, f"  ret double {'%out' if sums else '0.0'}", "}"])


def _element(k: int, array: str, width: int) -> list[str]:
    """The address of the k-th vector of a turn."""
    return [
        f"%{array}i{k} = add i64 %i, {k * width}",
        f"%{array}p{k} = getelementptr double, ptr %{array}, i64 %{array}i{k}",
    ]


def _text(width: int) -> str:
    vector = f"<{width} x double>"
    read, copied, written, fused = [], [], [], []
    for k in range(STRIDE):
        load = [*_element(k, "x", width), f"%value{k} = load {vector}, ptr %xp{k}, align 8"]
        read += [*load, f"%next{k} = fadd {vector} %sum{k}, %value{k}"]
        copied += [*load, *_element(k, "y", width), f"store {vector} %value{k}, ptr %yp{k}, align 8"]
        written += [*_element(k, "x", width), f"store {vector} %factor, ptr %xp{k}, align 8"]
        fused.append(
            f"%next{k} = call {vector} @llvm.fma.v{width}f64({vector} %sum{k}, {vector} %factor, {vector} %factor)"
        )
    spread = [
        f"%one = insertelement {vector} poison, double %a, i64 0",
        f"%factor = shufflevector {vector} %one, {vector} poison, <{width} x i32> zeroinitializer",
    ]
    arguments = "ptr %x, ptr %y, double %a, i64 %n, i64 %count"
    return "\n".join(
        [
            f"declare double @llvm.vector.reduce.fadd.v{width}f64(double, {vector})",
            f"declare {vector} @llvm.fma.v{width}f64({vector}, {vector}, {vector})",
            _loop(f"read({arguments})", read, STRIDE, width),
            _loop(f"copy({arguments})", copied, 0, width),
            _loop(f"write({arguments})", [*spread, *written], 0, width),
            _loop(f"fma({arguments})", [*spread, *fused], STRIDE, width),
        ]
    )


def start_compiler(text: str) -> Any:
    """LLVM's compiler with the code of a module in memory, for as long as it lives."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine


@cache
def _loops() -> tuple[Any, dict[str, Callable]]:
    """The compiler, which must live as long as the loops, and the loops."""
    engine = start_compiler(_text(vector_bits() // 64))
    made = ctypes.CFUNCTYPE(
        ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_int64, ctypes.c_int64
    )
    return engine, {name: made(engine.get_function_address(name)) for name in ("read", "copy", "write", "fma")}


def best_seconds(run: Callable, rounds: int) -> float:
    """The shortest time of a function."""
    best = float("inf")
    for _ in range(rounds):
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
    return best


@contextmanager
def on_cores(threads: int) -> Iterator[Callable[[Callable, Iterable], list]]:
    """A function that applies another one to several arguments, on so many cores."""
    if threads == 1:
        yield lambda function, arguments: [function(a) for a in arguments]
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda function, arguments: list(pool.map(function, arguments))


def aligned_ones(count: int) -> np.ndarray:
    """Ones whose vectors are within cache lines."""
    whole = np.ones(count + LINE // 8)  # written: pages of zeros would be one page
    return whole[-whole.ctypes.data % LINE // 8 :][:count]


def _rate(loop: str, doubles: int, passes: int = 1, threads: int | None = None) -> float:
    """The doubles of a second where a loop passes over as many, in equal shares on so many cores, or on all."""
    threads = cores() if threads is None else threads
    share = max(1, doubles // threads // SHARE) * SHARE
    arrays = [aligned_ones(2 * share).reshape(2, share) for _ in range(threads)]
    function = _loops()[1][loop]
    pass_over = lambda pair: function(pair[0].ctypes.data, pair[1].ctypes.data, 1e-3, share, share * passes)
    with on_cores(threads) as spread:
        seconds = best_seconds(lambda: spread(pass_over, arrays), ROUNDS)
    return share * passes * threads / seconds


def _passes(size: int) -> int:
    """How often a round passes over so many bytes."""
    return max(1, (2 * PASSED if size <= CACHED else PASSED) // size)


@cache
def read_bandwidth(size: int, threads: int | None = None) -> float:
    """The bytes of a second where as many bytes are read again and again: few come from a cache."""
    return 8 * _rate("read", size // 8, _passes(size), threads)


@cache
def write_bandwidth(size: int, threads: int | None = None) -> float:
    """The same where they are written."""
    return 8 * _rate("write", size // 8, _passes(size), threads)


@cache
def copy_bandwidth(size: int, threads: int | None = None) -> float:
    """The same where half of them are read, and the others written."""
    return 16 * _rate("copy", size // 16, _passes(size), threads)


@cache
def peaks() -> Peaks:
    """The machine's peaks."""
    products = []
    for dtype in (np.float64, np.float32):
        a, out = np.ones((ORDER, ORDER), dtype), np.empty((ORDER, ORDER), dtype)
        seconds = best_seconds(lambda a=a, out=out: np.matmul(a, a, out=out), ROUNDS)
        products.append(2 * ORDER**3 / seconds)
    return Peaks(read_bandwidth(MEMORY), 16 * _rate("copy", MEMORY // 8), *products, 2 * _rate("fma", SHARE, 2**20))


def peak_figures() -> list[Figure]:
    """The machine's peaks: memory read and copied, matrix products, and fused multiplications and additions."""
    found = peaks()
    return [
        Figure("memory, read, each second", found.read, "B"),
        Figure("memory, read and written, each second", found.copy, "B"),
        Figure("product of matrices, float64, operations each second", found.dgemm, "flop"),
        Figure("product of matrices, float32, operations each second", found.sgemm, "flop"),
        Figure("fused multiply-add, float64, operations each second", found.fma, "flop"),
    ]
