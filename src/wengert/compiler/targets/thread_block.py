"""The threads of a block, in LLVM text for NVIDIA's GPUs.

A kernel is written as phases: in each of them, every thread runs the same code to its end. What a thread computes in
one phase and needs in another is in a `ThreadVariable`, or in shared memory. So a kernel means the same whether threads
run side by side or one after the other, phase by phase: the emulator of the tests runs them in a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from wengert.compiler.nests.thread_order import THREADS, WARP
from wengert.compiler.schedule.memory_plan import POINTER, Memory, Pointers, Slot
from wengert.compiler.simd.complex_lanes import constant, from_parts, parts_of
from wengert.compiler.simd.lane_operations import Fold
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.graph.ir import Node

PARAMETER_BYTES = 4096
"""The most bytes that a kernel takes by value."""
I32 = Type("i32")
SAME_BIT = (
    '"{ .reg .pred %p; and.b32 $0, $1, $2; setp.ne.b32 %p, $0, 0; '
    'vote.sync.ballot.b32 $0, %p, 0xffffffff; @!%p not.b32 $0, $0; }", "=r,r,n"'
)
"""The threads of a warp in which a bit of a number is as in this one: four instructions, of LLVM's intrinsics six."""


class DeviceKernel(NamedTuple):
    """A kernel: the code of one thread, the number of blocks, and the bytes that it reads and writes at the least.

    A multiprocessor should have room for so many `resident` blocks, by their registers; zero if that does not matter.
    """

    name: str
    code: Code
    blocks: int
    nbytes: int
    what: str
    resident: int = 0


class DevicePointers(Pointers):
    """Addresses in the device's memory, which loads and stores are told of."""

    def at(self, slot: Slot) -> Lanes:
        if slot not in self.known:
            name = f"{POINTER}{len(self.known)}"
            self.code.hoisted += [
                f"  {name}.entry = getelementptr ptr, ptr %table, i64 {slot.entry}",
                f"  {name}.global = load ptr addrspace(1), ptr {name}.entry, !invariant.load !0",
                f"  {name}.base = addrspacecast ptr addrspace(1) {name}.global to ptr",
                f"  {name} = getelementptr i8, ptr {name}.base, i64 {slot.offset}",
            ]
            self.known[slot] = Lanes(self.code, name, PTR)
        return self.known[slot]


class ThreadVariable:
    """A number that each thread has from one phase to the next: one address for each of its parts."""

    def __init__(self, block: ThreadBlock, type: Type):
        self.block, self.type = block, type
        self.arrays = [block.allocate(type.part) for _ in range(type.parts)]

    def load(self) -> Lanes:
        """The number of the present thread."""
        return from_parts([self.block.load(array, self.type.part) for array in self.arrays], self.type)

    def store(self, value: Lanes) -> None:
        """Replace it."""
        for part, array in zip(parts_of(value), self.arrays, strict=True):
            self.block.store(part, array)

    def following(self, distance: int) -> Lanes:
        """The number that a later thread of the same warp had before this phase."""
        parts = [self.block.load_following(array, self.type.part, distance) for array in self.arrays]
        return from_parts(parts, self.type)

    def preceding(self, distance: int) -> Lanes:
        """The integer that an earlier thread of the same warp had before this phase; zero if there is none.

        Earlier threads may have changed it in the meantime, if this phase stores to the same variable.
        """
        return self.block.load_preceding(self.arrays[0], self.type, distance)

    def peers(self, bits: int) -> Lanes:
        """A bit for each thread of the same warp that had an integer with the same last bits before this phase."""
        return self.block.find_peers(self.arrays[0], self.type, bits)


class ThreadBlock:
    """Writes what depends on the numbers of threads and blocks."""

    pointers: type[Pointers] = DevicePointers

    def __init__(self, code: Code, name: str):
        self.code, self.name = code, name
        self.is_first = True
        self.arrays = 0

    @property
    def number(self) -> Lanes:
        """The number of the block."""
        return self.read("ctaid.x")

    def read(self, register: str) -> Lanes:
        """A special register."""
        return self.code.call(f"@llvm.nvvm.read.ptx.sreg.{register}", I32).to("i64")

    @contextmanager
    def phase(self) -> Iterator[Lanes]:
        """Code that every thread runs; yields the number of the thread. All threads have finished earlier phases."""
        if not self.is_first:
            self.code.call("@llvm.nvvm.barrier0", None)  # a name that all versions of LLVM know
        self.is_first = False
        yield self.read("tid.x")

    @contextmanager
    def exchange(self) -> Iterator[Lanes]:
        """A phase that reads variables of other threads of the same warp, which are in step."""
        yield self.read("tid.x")

    @contextmanager
    def warp_phase(self) -> Iterator[Lanes]:
        """A phase before which threads of the same warp have finished earlier ones; those of others may not have."""
        self.code.call("@llvm.nvvm.bar.warp.sync", None, self.code.constant(-1, I32))
        yield self.read("tid.x")

    def find_item(self, thread: Lanes, width: int) -> tuple[Lanes, Lanes]:
        """The number of the item that a group of `width` threads works on, and the thread's number in the group."""
        number = self.number * THREADS + thread
        return number.logical_right(width.bit_length() - 1), thread & (width - 1)

    # Memory

    def allocate(self, type: Type) -> Lanes:
        """A register of each thread."""
        name = self.code.name()
        self.code.hoisted.append(f"  {name} = alloca {type.text}")
        return Lanes(self.code, name, PTR)

    def load(self, array: Lanes, type: Type) -> Lanes:
        """The register of the present thread."""
        return self.code.load(array, type)

    def store(self, value: Lanes, array: Lanes) -> None:
        """Replace the register of the present thread."""
        self.code.store(value, array)

    def load_following(self, array: Lanes, type: Type, distance: int) -> Lanes:
        """The register of a thread `distance` further on."""
        return self.shuffle(self.code.load(array, type), "down", distance, WARP - 1)

    def load_preceding(self, array: Lanes, type: Type, distance: int) -> Lanes:
        """The register of a thread `distance` before this one, or zero."""
        lane = self.read("tid.x") & (WARP - 1)
        return select(lane >= distance, self.shuffle(self.code.load(array, type), "up", distance, 0), 0)

    def shuffle(self, value: Lanes, direction: str, distance: int, clamp: int) -> Lanes:
        """A number of another thread of the warp."""
        type, bits = value.type, value.bits() if value.type.is_float else value
        if bits.type.bits <= 32:
            moved = self.shuffle_word(bits.to("i32"), direction, distance, clamp)
            moved = moved if bits.type.bits == 32 else moved.to(bits.type.kind)
        else:
            low = self.shuffle_word(bits.to("i32"), direction, distance, clamp)
            high = self.shuffle_word(bits.logical_right(32).to("i32"), direction, distance, clamp)
            word = lambda x: self.code.add(f"zext {x.typed} to i64", I64)
            moved = word(low) | (word(high) << 32)
        return moved.floats() if type.is_float else moved

    def shuffle_word(self, word: Lanes, direction: str, distance: int, clamp: int) -> Lanes:
        """A word of another thread of the warp."""
        numbers = [self.code.constant(n, I32) for n in (-1, distance, clamp)]
        return self.code.call(f"@llvm.nvvm.shfl.sync.{direction}.i32", I32, numbers[0], word, *numbers[1:])

    def find_peers(self, array: Lanes, type: Type, bits: int) -> Lanes:
        """The threads of the warp whose register has the same last bits: a vote on each of them."""
        number, peers = self.code.load(array, type), self.code.constant(-1, I32)
        for k in range(bits):
            peers = peers & self.code.add(f"call i32 asm {SAME_BIT}({number.typed}, i32 {1 << k}) convergent", I32)
        return peers

    def shared(self, type: Type, count: int) -> Lanes:
        """The address of an array that all threads of a block share."""
        name = f"@{self.name}.shared.{self.arrays}"
        self.arrays += 1
        self.code.declarations[name] = (
            f"{name} = internal addrspace(3) global [{count} x {type.scalar}] undef, align 16"
        )
        address = self.code.name()
        self.code.hoisted.append(f"  {address} = addrspacecast ptr addrspace(3) {name} to ptr")
        return Lanes(self.code, address, PTR)

    # Reductions

    def fold(self, variable: ThreadVariable, fold: Fold, identity: Any, width: int) -> None:
        """Fold the numbers of groups of `width` threads, in a fixed order; the first thread of each has the result."""
        self.fold_warps(variable, fold, min(width, WARP))
        if width <= WARP:
            return
        type, code, warps = variable.type, self.code, width // WARP
        stored = type.part.in_memory
        arrays = [self.shared(stored, THREADS // WARP) for _ in variable.arrays]
        with self.phase() as thread, code.when((thread & (WARP - 1)).eq(0)):
            warp = thread.logical_right(WARP.bit_length() - 1)
            for part, array in zip(parts_of(variable.load()), arrays, strict=True):
                code.store(part.to(stored.kind), code.offset(array, warp, stored))
        with self.phase() as thread:
            member, first = thread & (width - 1), thread.logical_right(WARP.bit_length() - 1)
            within = member < warps
            at = select(within, first + member, 0)
            parts = [code.load(code.offset(array, at, stored), stored) for array in arrays]
            value = from_parts([part.to(type.part.kind) for part in parts], type)
            variable.store(value.where(within, constant(code, identity, type)))
        self.fold_warps(variable, fold, warps)

    def fold_warps(self, variable: ThreadVariable, fold: Fold, width: int) -> None:
        """Fold the numbers of groups of at most a warp."""
        distance = width // 2
        while distance:
            with self.exchange():
                variable.store(fold(variable.load(), variable.following(distance)))
            distance //= 2

    def sum_before(self, variable: ThreadVariable) -> ThreadVariable:
        """The sum of the integers of all earlier threads of the block."""
        type, code, sums = variable.type, self.code, variable
        distance = 1
        while distance < WARP:
            longer = ThreadVariable(self, type)
            with self.exchange():
                longer.store(sums.load() + sums.preceding(distance))
            sums, distance = longer, 2 * distance
        totals, before = self.shared(type, THREADS // WARP), ThreadVariable(self, type)
        with self.phase() as thread, code.when((thread & (WARP - 1)).eq(WARP - 1)):
            code.store(sums.load(), code.offset(totals, thread.logical_right(WARP.bit_length() - 1), type))
        with self.phase() as thread:
            warp, total = thread.logical_right(WARP.bit_length() - 1), sums.load() - variable.load()
            for k in range(THREADS // WARP - 1):
                total = total + select(warp > k, code.load(code.offset(totals, k, type), type), 0)
            before.store(total)
        return before

    # Functions

    @staticmethod
    def function(name: str, code: Code, table: int, resident: int) -> str:
        """The text of a kernel. A `table` of so many pointers is passed by value; without it, its address is."""
        parameter = f"ptr byval([{table} x i64]) align 8 %table" if table else "ptr %table"
        blocks = f'"nvvm.minctasm"="{resident}"' if resident else ""
        limits = f'"nvvm.maxntid"="{THREADS}" {blocks}'
        head = f"define ptx_kernel void @{kernel_symbol(name)}({parameter}) nounwind {limits} {{\nentry:\n"
        return head + "\n".join([*code.hoisted, *code.lines, "  ret void", "}"])


def kernel_symbol(name: str) -> str:
    """The name of a kernel in PTX, which has no dots.

    >>> kernel_symbol("kernel.0")
    'kernel_0'
    """
    return name.replace(".", "_")


def make_pointers(block: ThreadBlock, memory: Memory, aliases: Mapping[Node, Node]) -> Pointers:
    """The addresses that a kernel uses."""
    return block.pointers(block.code, memory, aliases)
