"""A stable sort of rows by their targets on a GPU: a partition by one digit after the other, the lowest first.

Each pass has three kernels. Blocks count how often each digit occurs in their rows; where the rows of each digit and
block begin is a sum over lower digits, and over earlier blocks of the same digit; then blocks move their rows there, in
order. Within a block, the place of a row is found by votes in its warp, by counters for each digit and warp, and by a
sum over digits and warps. Rows are put in order in shared memory first, so that those of one digit are written as
neighbours. Only integers are counted and added, so the order is the same in every run: it is that of a stable sort.

A digit has eight bits: each thread of a block has one of its values. For 10^7 rows and 10^6 targets there are three
passes: the first reads indices of 64 bits and writes and reads targets (160 MB), the others read 40 MB and 80 MB, each
writes 80 MB. If only the places of the rows of each target are asked for, the last pass finds them instead of writing
targets (40 MB): its tiles are in order, so the places of a target begin and end where neighbours in a tile differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.nests.thread_order import THREADS, VECTOR_BYTES, WARP
from wengert.compiler.simd.lane_operations import load_element, pick_lanes
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import Type
from wengert.compiler.targets.grid_plan import AT_ONCE, BITS, DIGITS, PartitionPlan
from wengert.compiler.targets.thread_block import I32, ThreadBlock, ThreadVariable

WARPS = THREADS // WARP
I8, I16 = Type("i8"), Type("i16")


class PartitionWriter:
    """Writes the code of one kernel of a partition, at an address of its arrays."""

    def __init__(self, plan: PartitionPlan, block: ThreadBlock, memory: Lanes):
        self.plan, self.block, self.code, self.memory = plan, block, block.code, memory
        self.number = plan.number

    # Kernels

    def count_digits(self, digit: int, find_target: Callable[[Lanes], Lanes] | None = None) -> None:
        """Count the rows of each block by a digit of their targets, which the first pass finds and stores."""
        plan, code, block = self.plan, self.code, self.block
        counts = block.shared(I32, DIGITS)
        with block.phase() as thread:
            code.store(code.constant(0, I32), code.offset(counts, thread, I32))
            if find_target is not None and plan.has_bounds:
                with code.loop(block.number * THREADS + thread, 2 * plan.targets, plan.blocks * THREADS) as at:
                    nowhere = select((at & 1).eq(0), code.constant(plan.rows, self.number), 0)
                    self.write(nowhere, "bounds", at)
        with block.phase() as thread:
            first = block.number * (plan.tiles * plan.tile)
            with code.loop(0, plan.tiles * plan.each, AT_ONCE) as step:
                if find_target is None:
                    targets = self.read_neighbours(f"targets.{digit % 2}", first + step * THREADS + thread * AT_ONCE)
                else:
                    rows = [first + (step + k) * THREADS + thread for k in range(AT_ONCE)]
                    targets = [self.target_or_none(find_target, row) for row in rows]
                    for row, target in zip(rows, targets, strict=True):
                        self.write(target, f"targets.{digit % 2}", row)
                for target in targets:
                    at = code.offset(counts, self.digit_of(target, digit).to("i64"), I32)
                    code.update_shared("add", at, code.constant(1, I32))
        with block.phase() as thread:
            count = code.load(code.offset(counts, thread, I32), I32)
            self.write(count.to(self.number.kind), "counts", thread * plan.blocks + block.number)

    def sum_counts(self) -> None:
        """Replace the counts of a digit by their sums over earlier blocks, and store their total: a block for each."""
        plan, code, block = self.plan, self.code, self.block
        each = -(-plan.blocks // THREADS)
        counts = [ThreadVariable(block, self.number) for _ in range(each)]
        total = ThreadVariable(block, self.number)
        with block.phase() as thread:
            known = code.constant(0, self.number)
            for k, count in enumerate(counts):
                at = thread * each + k
                within = at < plan.blocks
                found = self.read("counts", block.number * plan.blocks + select(within, at, 0), True)
                count.store(select(within, found, 0))
                known = known + count.load()
            total.store(known)
        before = block.sum_before(total)
        with block.exchange() as thread:
            place = before.load()
            for k, count in enumerate(counts):
                at = thread * each + k
                with code.when(at < plan.blocks):
                    self.write(place, "counts", block.number * plan.blocks + at)
                place = place + count.load()
            with code.when(thread.eq(THREADS - 1)):
                self.write(place, "totals", block.number)

    def move_rows(self, digit: int, finds_bounds: bool) -> None:
        """Move the numbers of rows to their places, and their targets, or find the bounds of these."""
        plan, code, block = self.plan, self.code, self.block
        total = ThreadVariable(block, self.number)
        with block.phase() as thread:
            total.store(self.read("totals", thread))
        place = block.sum_before(total)  # of the next row with the digit of a thread
        with block.exchange() as thread:
            place.store(place.load() + self.read("counts", thread * plan.blocks + block.number))
        tile = TileWriter(self, digit, place, finds_bounds)
        with code.loop(0, plan.tiles) as number:
            tile.write((block.number * plan.tiles + number) * plan.tile)

    # Results

    def target(self, place: Lanes) -> Lanes:
        """The target of the row at a place in the sorted order."""
        return self.read(f"targets.{self.plan.result}", place).to("i64")

    def row(self, place: Lanes) -> Lanes:
        """The row at a place in the sorted order."""
        return self.read(f"rows.{self.plan.result}", place)

    def bounds(self, target: Lanes) -> tuple[Lanes, Lanes]:
        """The places in the sorted order at which the rows of a target begin and end."""
        first, last = self.read_neighbours("bounds", target * 2, 2)
        return first.to("i64"), last.to("i64")

    # Parts of kernels

    def target_or_none(self, find_target: Callable[[Lanes], Lanes], row: Lanes) -> Lanes:
        """The target of a row, -1 if there is no such row."""
        target = find_target(select(row < self.plan.rows, row, self.plan.rows - 1)).to(self.number.kind)
        return select(row < self.plan.rows, target, -1)

    def digit_of(self, target: Lanes, digit: int) -> Lanes:
        """A digit of a target."""
        return (target.logical_right(digit * BITS) & (DIGITS - 1)).to("i32")

    def read(self, name: str, at: Lanes, is_overwritten: bool = False) -> Lanes:
        """An element of an array."""
        return load_element(self.code, self.address(name, at), self.number, self.number.align, is_overwritten)

    def read_neighbours(self, name: str, at: Lanes, count: int = AT_ONCE) -> list[Lanes]:
        """So many neighbours in an array, from a multiple of their number on."""
        align = min(count * self.number.align, VECTOR_BYTES)
        found = load_element(self.code, self.address(name, at), Type(self.number.kind, count), align)
        return [pick_lanes(found, [k]) for k in range(count)]

    def write(self, value: Lanes, name: str, at: Lanes) -> None:
        """Replace an element of an array."""
        self.code.store(value, self.address(name, at))

    def address(self, name: str, at: Lanes) -> Lanes:
        """The address of an element of an array."""
        return self.code.offset(self.code.offset(self.memory, self.plan.offsets[name], I8), at, self.number)


class TileWriter:
    """Writes what a block does with one tile of its rows; a warp has neighbouring rows, some for each thread.

    Shared memory has the counters of each warp and digit first, then the targets in order, and then the rows. `bases`
    has the differences between the places of the rows of a digit in the result and in the tile.
    """

    def __init__(self, kernel: PartitionWriter, digit: int, place: ThreadVariable, finds_bounds: bool):
        self.kernel, self.plan, self.block, self.code = kernel, kernel.plan, kernel.block, kernel.code
        self.digit, self.place, self.finds_bounds, self.number = digit, place, finds_bounds, kernel.number
        block, each = self.block, range(self.plan.each)
        self.memory = block.shared(self.number, self.plan.tile)
        self.bases = block.shared(self.number, DIGITS)
        self.targets = [ThreadVariable(block, self.number) for _ in each]
        self.rows = [ThreadVariable(block, self.number) for _ in each]
        self.results = [ThreadVariable(block, self.number) for _ in each]  # places in the result
        self.digits = [ThreadVariable(block, I32) for _ in each]
        self.ranks = [ThreadVariable(block, I32) for _ in each]
        self.added = [ThreadVariable(block, I32) for _ in each]  # to the counter of a digit, by its first thread

    def write(self, first: Lanes) -> None:
        """Move the rows from `first` on."""
        self.read_targets(first)
        self.rank_in_warps()
        self.sum_counters()
        self.find_places()
        self.put_in_order(self.targets)
        self.write_targets(first)
        self.put_in_order(self.rows)
        self.write_rows()

    def read_targets(self, first: Lanes) -> None:
        """Read the targets of each thread, all of them now: reads of what is known to be constant might be put off."""
        plan, code, kernel, source = self.plan, self.code, self.kernel, self.digit % 2
        with self.block.phase() as thread:
            warp, lane = self.find_warp(thread)
            words = DIGITS // 2
            for k in range(0, words, WARP):
                at = code.offset(self.memory, warp * words + lane + k, I32)
                code.store(code.constant(0, I32), at)
            for k in range(plan.each):
                target = kernel.read(f"targets.{source}", first + (warp * plan.each + k) * WARP + lane, True)
                self.targets[k].store(target)
                self.digits[k].store(kernel.digit_of(target, self.digit))

    def rank_in_warps(self) -> None:
        """The number of earlier rows of the warp with the same digit; counters have the numbers of all of them."""
        code, block, each = self.code, self.block, range(self.plan.each)
        with block.exchange() as thread:
            below = (code.constant(1, I32) << self.find_warp(thread)[1].to("i32")) - 1
            for k in each:
                peers = self.digits[k].peers(BITS)
                rank = code.intrinsic("ctpop", I32, peers & below)
                self.ranks[k].store(rank)
                self.added[k].store(select(rank.eq(0), code.intrinsic("ctpop", I32, peers), 0))
        for k in each:
            with block.warp_phase() as thread:
                counter = self.counter(self.find_warp(thread)[0], self.digits[k].load().to("i64"))
                self.ranks[k].store(self.ranks[k].load() + code.load(counter, I16).to("i32"))
            with block.warp_phase() as thread, code.when(self.added[k].load().ne(0)):
                counter = self.counter(self.find_warp(thread)[0], self.digits[k].load().to("i64"))
                code.store((self.ranks[k].load() + self.added[k].load()).to("i16"), counter)

    def sum_counters(self) -> None:
        """Replace counters by the places of the first rows of each digit and warp in the tile."""
        code, block, total = self.code, self.block, ThreadVariable(self.block, I32)
        with block.phase() as thread:
            known = code.constant(0, I32)
            for warp in range(WARPS):
                known = known + code.load(self.counter(warp, thread), I16).to("i32")
            total.store(known)
        before = block.sum_before(total)
        with block.exchange() as thread:
            base = self.place.load() - before.load().to(self.number.kind)
            code.store(base, code.offset(self.bases, thread, self.number))
            self.place.store(self.place.load() + total.load().to(self.number.kind))
            place = before.load()
            for warp in range(WARPS):
                counter = self.counter(warp, thread)
                count = code.load(counter, I16).to("i32")
                code.store(place.to("i16"), counter)
                place = place + count

    def find_places(self) -> None:
        """The place of each row in the tile."""
        with self.block.phase() as thread:
            warp, _ = self.find_warp(thread)
            for digit, rank in zip(self.digits, self.ranks, strict=True):
                start = self.code.load(self.counter(warp, digit.load().to("i64")), I16)
                rank.store(rank.load() + start.to("i32"))

    def put_in_order(self, numbers: Sequence[ThreadVariable]) -> None:
        """Write numbers of rows to shared memory, at their places in the tile."""
        code = self.code
        with self.block.phase():
            for rank, number in zip(self.ranks, numbers, strict=True):
                code.store(number.load(), code.offset(self.memory, rank.load().to("i64"), self.number))

    def write_targets(self, first: Lanes) -> None:
        """Write the targets of the tile to memory, or extend the bounds of their places.

        The numbers of their rows are read here, as registers are free.
        """
        code, kernel, each = self.code, self.kernel, self.plan.each
        with self.block.phase() as thread:
            warp, lane = self.find_warp(thread)
            for k, number in enumerate(self.rows):
                row = first + (warp * each + k) * WARP + lane
                known = kernel.read(f"rows.{self.digit % 2}", row, True) if self.digit else row.to(self.number.kind)
                number.store(known)
            for k, place in enumerate(self.results):
                at = thread + k * THREADS
                target = code.load(code.offset(self.memory, at, self.number), self.number)
                digit = kernel.digit_of(target, self.digit).to("i64")
                base = code.load(code.offset(self.bases, digit, self.number), self.number)
                place.store(base + at.to(self.number.kind))
                if self.finds_bounds:
                    self.extend_bounds(target, at, place.load())
                else:
                    kernel.write(target, f"targets.{(self.digit + 1) % 2}", place.load().to("i64"))

    def extend_bounds(self, target: Lanes, at: Lanes, place: Lanes) -> None:
        """Let the bounds of a target include the place of its first row in the tile, and that of the last one.

        Other tiles do the same at any time: the least and the greatest of integers do not depend on their order.
        """
        code, exists = self.code, target.ne(-1)
        for k, (operation, edge, step) in enumerate((("min", 0, -1), ("max", self.plan.tile - 1, 1))):
            is_edge = at.eq(edge)
            neighbour = code.load(code.offset(self.memory, select(is_edge, at, at + step), self.number), self.number)
            with code.when(exists & (is_edge | neighbour.ne(target))):
                bound = self.kernel.address("bounds", target.to("i64") * 2 + k)
                code.update_shared(operation, bound, place + k)

    def write_rows(self) -> None:
        """Write the numbers of the rows of the tile to memory."""
        code = self.code
        with self.block.phase() as thread:
            for k, place in enumerate(self.results):
                row = code.load(code.offset(self.memory, thread + k * THREADS, self.number), self.number)
                self.kernel.write(row, f"rows.{(self.digit + 1) % 2}", place.load().to("i64"))

    def counter(self, warp: Lanes | int, digit: Lanes) -> Lanes:
        """The address of the counter of a warp and a digit."""
        return self.code.offset(self.memory, digit + warp * DIGITS, I16)

    def find_warp(self, thread: Lanes) -> tuple[Lanes, Lanes]:
        """The warp of a thread, and its number in it."""
        return thread.logical_right(WARP.bit_length() - 1), thread & (WARP - 1)
