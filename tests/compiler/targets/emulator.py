"""An emulator of GPUs: the same kernels, with the numbers of blocks and threads as counters of loops on the processor.

A phase is a loop over all threads, so that what a thread reads in a phase was written in an earlier one, as after a
barrier. Registers that live longer are arrays with an element for each thread.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from tests.stand_in.device_array import Device, ndarray
from tests.stand_in.library import LIBRARY, registered

from wengert.compiler.machine import target
from wengert.compiler.machine.tables import aligned_empty
from wengert.compiler.machine.translation import object_code
from wengert.compiler.nests.thread_order import THREADS, WARP
from wengert.compiler.program.prepare import prepare_for_device
from wengert.compiler.schedule.memory_plan import Pointers
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.targets.device_division import INVERSE, INVERSE_ROOT
from wengert.compiler.targets.device_module import module_text, translate
from wengert.compiler.targets.device_program import DeviceProgram, DeviceWriter, Launches
from wengert.compiler.targets.device_run import LoadedProgram, launches_of
from wengert.compiler.targets.thread_block import I32, ThreadBlock
from wengert.core.spec import Spec
from wengert.core.tree import flatten, unflatten
from wengert.graph.graph import Graph
from wengert.transforms.tracing import trace

FIRST_STEPS = "rcp.approx.ftz.f", "rsqrt.approx.ftz.f"
"""The approximations from which quotients and roots start."""


class EmulatedBlock(ThreadBlock):
    """Threads one after the other."""

    pointers = Pointers

    @property
    def number(self) -> Lanes:
        return Lanes(self.code, "%block", I64)

    @contextmanager
    def phase(self) -> Iterator[Lanes]:
        with self.code.loop(0, THREADS) as thread:
            self.thread = thread
            yield thread

    exchange = warp_phase = phase

    def allocate(self, type: Type) -> Lanes:
        return self.shared(type, THREADS)

    def load(self, array: Lanes, type: Type) -> Lanes:
        return self.code.load(self.code.offset(array, self.thread, type), type)

    def store(self, value: Lanes, array: Lanes) -> None:
        self.code.store(value, self.code.offset(array, self.thread, value.type))

    def load_following(self, array: Lanes, type: Type, distance: int) -> Lanes:
        is_in_warp = (self.thread & (WARP - 1)) + distance < WARP
        at = select(is_in_warp, self.thread + distance, self.thread)
        return self.code.load(self.code.offset(array, at, type), type)

    def load_preceding(self, array: Lanes, type: Type, distance: int) -> Lanes:
        is_in_warp = (self.thread & (WARP - 1)) >= distance
        at = select(is_in_warp, self.thread - distance, self.thread)
        return select(is_in_warp, self.code.load(self.code.offset(array, at, type), type), 0)

    def find_peers(self, array: Lanes, type: Type, bits: int) -> Lanes:
        code, number, peers = self.code, self.load(array, type), self.code.variable(I32, 0)
        with code.loop(0, WARP) as lane:
            other = code.load(code.offset(array, (self.thread & -WARP) + lane, type), type)
            is_peer = ((number ^ other) & ((1 << bits) - 1)).eq(0)
            code.store(code.load(peers, I32) | (is_peer.to("i32") << lane.to("i32")), peers)
        return code.load(peers, I32)

    def shared(self, type: Type, count: int) -> Lanes:
        return self.code.array(type, count)

    @staticmethod
    def function(name: str, code: Code, table: int, resident: int) -> str:
        head = f"define void @{name}(ptr %table, i64 %block) nounwind {{\nentry:\n"
        return head + "\n".join([*code.hoisted, *code.lines, "  ret void", "}"])


class EmulatedKernels:
    """Kernels that are functions of the processor."""

    def __init__(self, program: DeviceProgram, loaded: target.Loaded):
        self.program = program
        make = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self.functions = [make(loaded.address(kernel.name)) for kernel in program.kernels]
        self.groups: list[Launches] = launches_of(program)

    def launch(self, group: int, table: list[int]) -> None:
        pointers = np.array(table, np.int64)
        for k in self.groups[group].kernels:
            for block in range(self.program.kernels[k].blocks):
                self.functions[k](pointers.ctypes.data, block)


def address_of(array: ndarray) -> int:
    """Where the numbers of an array are."""
    return array._numbers.ctypes.data


class Emulator:
    """A device whose memory is the processor's; its arrays are those of the stand-in for CuPy."""

    library, arrays = LIBRARY, LIBRARY.numpy
    address = staticmethod(address_of)

    def __init__(self, text: str):
        self.loaded = target.Loaded(object_code(text), {})

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> ndarray:
        """An array full of numbers that nothing should read."""
        out = aligned_empty(shape, np.dtype(dtype))
        out.reshape(-1).view(np.uint8)[...] = 0x5A
        return ndarray(out)

    def allocator(self, specs: Sequence[Spec]) -> Callable[[], list[ndarray]]:
        return lambda: [self.empty(*spec) for spec in specs]

    def multiply(self, x: ndarray, y: ndarray, out: ndarray) -> None:
        self.arrays.matmul(x, y, out=out)

    def load(self, program: DeviceProgram) -> EmulatedKernels:
        return EmulatedKernels(program, self.loaded)


def compile_graph(graph: Graph) -> LoadedProgram:
    """The program of a prepared graph on the emulator."""
    writer = DeviceWriter(EmulatedBlock)
    program = writer.write(graph)
    text = module_text(writer.kernels, EmulatedBlock, len(writer.kernels) == 1)
    return LoadedProgram(program, Emulator(emulate_approximations(text)))


def emulate_approximations(text: str) -> str:
    """A module that has the approximations of reciprocals as functions: of doubles 20 bits, of singles about all."""
    inverse = lambda x: without_subnormals(1.0 / without_subnormals(x))
    functions: dict[str, tuple[str, Callable[[Lanes], Lanes]]] = {
        INVERSE["f64"]: ("f64", lambda x: (inverse(x).bits() & -(1 << 32)).floats()),
        INVERSE["f32"]: ("f32", inverse),
        INVERSE_ROOT["f64"]: ("f64", lambda x: (inverse(x.sqrt()).bits() & -(1 << 32)).floats()),
        INVERSE_ROOT["f32"]: ("f32", lambda x: inverse(without_subnormals(x).sqrt())),
    }
    for number, (symbol, (kind, f)) in enumerate(functions.items()):
        if symbol not in text:
            continue
        code, type, own = Code(), Type(kind), f"@emulated.{number}"
        found = f(Lanes(code, "%x", type))
        head = f"define internal {type.text} {own}({type.text} %x) {{"
        function = "\n".join([head, *code.lines, f"  ret {found.typed}", "}"])
        text = text.replace(f"declare {type.text} {symbol}({type.text})", "").replace(symbol, own)
        text = f"{text}\n\n{function}"
    return text


def without_subnormals(x: Lanes) -> Lanes:
    """x, or a zero of its sign if it is subnormal."""
    digits = {"f64": 52, "f32": 23}[x.type.kind]
    is_subnormal = ((x.bits() << 1).logical_right(digits + 1)).eq(0)
    return select(is_subnormal, x.bits() & -(1 << (x.type.bits - 1)), x.bits()).floats()


class Emulated:
    """A function that runs on the emulator; its kernels are also translated to PTX, and checked."""

    def __init__(self, f: Callable):
        self.f = f

    def __call__(self, *args: Any) -> Any:
        leaves, _ = flatten(args)
        traced = trace(self.f, *args)
        graph = prepare_for_device(traced)
        loaded = compile_graph(graph)
        self.program = loaded.program
        self.ptx = ptx_of(graph)
        check_ptx(self.ptx)
        inputs = [to_device(x, spec.dtype) for x, spec in zip(leaves, self.program.inputs, strict=True)]
        with registered():
            LIBRARY.backend()  # which makes the arrays payloads
            outs = [out._numbers if out.ndim else out._numbers[()] for out in loaded(inputs)]
        assert traced.result is not None
        return unflatten(traced.result, outs)


def to_device(x: Any, dtype: np.dtype) -> ndarray:
    """A contiguous array at an address from which threads can read several numbers at once."""
    numbers = np.asarray(x._numbers if isinstance(x, ndarray) else x, dtype)
    out = aligned_empty(numbers.shape, numbers.dtype)
    out[...] = numbers
    return ndarray(out)


class EmulatedBackend:
    """The emulator as what compiles for the devices of the stand-in."""

    array_type = ndarray
    number_of = staticmethod(lambda array: array.device.id)
    address_of = staticmethod(address_of)
    current = staticmethod(lambda: Device().id)
    use = staticmethod(Device)
    to_device = staticmethod(to_device)
    to_host = staticmethod(ndarray.get)

    def __init__(self) -> None:
        self.compiled: list[str] = []

    def compile(self, graph: Graph, name: str, rolls: bool) -> Callable[[Sequence[Any]], list[Any]]:
        self.compiled.append(name)
        return compile_graph(prepare_for_device(graph, rolls))


@cache
def backend() -> EmulatedBackend:
    """What `ArrayLibrary.backend` asks for."""
    return EmulatedBackend()


def ptx_of(graph: Any, capability: str = "sm_90") -> str:
    """The PTX of the kernels of a graph; empty if there are none."""
    writer = DeviceWriter(ThreadBlock)
    writer.write(graph)
    if not writer.kernels:
        return ""
    return translate(module_text(writer.kernels, ThreadBlock, len(writer.kernels) == 1), capability)


def check_ptx(ptx: str) -> None:
    """Every kernel is an entry, calls nothing that does not exist, and rounds each operation by itself.

    Nothing is approximated but the reciprocals from which quotients and roots start (`device_division.py`).
    """
    for line in ptx.splitlines():
        words = line.split()
        if ".entry" in words and not re.fullmatch(r"[A-Za-z_]\w*", words[words.index(".entry") + 1].split("(")[0]):
            raise AssertionError(f"no name of a kernel: {line}")
        if words and words[0] in {f"{op}.{kind}" for op in ("add", "sub", "mul") for kind in ("f32", "f64")}:
            raise AssertionError(f"an operation that may be fused: {line}")
        if (".approx" in line or ".ftz" in line) and not line.strip().startswith(FIRST_STEPS):
            raise AssertionError(f"an approximate operation: {line}")
        if words and words[0] == ".extern" and "vprintf" not in line:
            raise AssertionError(f"a function that is missing: {line}")
