"""Programs on NVIDIA's GPUs: arrays, memory and streams are CuPy's, kernels are loaded by CUDA's driver.

Everything is asynchronous, in the order of CuPy's current stream. A program of one kernel is one launch, whose argument
is the table of pointers. Kernels that follow each other are one CUDA graph: its first kernel writes the table to the
device, where the others read it, so that a call changes the argument of one kernel, whatever their number.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import pickle
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np

from wengert.compiler.entry.native import is_portable
from wengert.compiler.machine.fingerprint import CacheEntry
from wengert.compiler.nests.thread_order import THREADS, VECTOR_BYTES
from wengert.compiler.program.prepare import prepare_for_device
from wengert.compiler.targets import batched_products
from wengert.compiler.targets.cuda_driver import Graph, Launch, Module, link
from wengert.compiler.targets.device_module import (
    TABLE_KERNEL,
    is_passed_by_value,
    module_text,
    table_kernel,
    translate,
)
from wengert.compiler.targets.device_program import DeviceProgram, DeviceWriter, Launches
from wengert.compiler.targets.device_report import DeviceBuild, DeviceReport
from wengert.compiler.targets.device_run import LoadedProgram, launches_of
from wengert.compiler.targets.thread_block import PARAMETER_BYTES, ThreadBlock
from wengert.core import machine
from wengert.core.devices import LIBRARIES
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.graph.graph import Graph as Program

ALIGNED = 256
"""The bytes that results begin at multiples of."""
NEWEST = 90
"""The newest compute capability that code is written for; later devices run it, too."""

try:
    import cupy  # type: ignore[import-not-found]  # an extra
except ImportError:  # then nothing here runs: `device_call.find_backend` says what to install
    cupy = None


class StreamState:
    """What the kernels of a program need on one stream: the table of pointers, and the graphs that read it.

    `written` is the list that the table was last written from: that of one call, whose later groups need it there.
    """

    def __init__(self, entries: int):
        self.table = cupy.empty(entries, np.int64)
        self.written: list[int] | None = None
        self.address = np.array([self.table.data.ptr], np.int64)
        self.graphs: dict[int, Graph | Launch] = {}


class CudaKernels:
    """The loaded kernels of one program."""

    def __init__(self, program: DeviceProgram, module: Module | None, is_single: bool):
        self.program, self.module = program, module
        self.by_value = is_passed_by_value(is_single, program.entries)
        self.groups: list[Launches] = launches_of(program)
        self.table: Any = (ctypes.c_int64 * program.entries)()
        self.states: dict[int, StreamState] = {}
        self.lock = threading.Lock()  # one launch has the table for itself
        if self.by_value and module is not None and self.groups:
            (kernel,) = program.kernels
            self.only = Launch(module.function(kernel.name), kernel.blocks, THREADS, ctypes.addressof(self.table))

    def launch(self, group: int, table: list[int]) -> None:
        """Launch a group of kernels on the current stream."""
        stream = cupy.cuda.get_current_stream().ptr
        with self.lock:
            if self.by_value:
                self.table[:] = table
                self.only(stream)  # which copies the table
            else:
                self.launch_group(group, table, stream)

    def launch_group(self, group: int, table: list[int], stream: int) -> None:
        """Launch a group of kernels that read the table in the device's memory.

        The first group writes it, and so do others if another thread has begun a call in between.
        """
        self.table[:] = table
        state = self.states.get(stream)
        if state is None:
            state = self.states[stream] = StreamState(self.program.entries)
        writes_table = group == 0 and 8 * self.program.entries <= PARAMETER_BYTES
        run = state.graphs.get(group)
        if run is None:
            run = state.graphs[group] = self.prepare(group, state, writes_table)
        if writes_table:
            assert isinstance(run, Graph)
            run.update()
        elif group == 0 or state.written is not table:
            state.table.set(np.array(table, np.int64))
        state.written = table
        run(stream)

    def prepare(self, group: int, state: StreamState, writes_table: bool) -> Graph | Launch:
        """The kernels of a group, ready to be launched."""
        assert self.module is not None
        address, launches = state.address.ctypes.data, []
        if writes_table:
            first = self.module.function(f"{TABLE_KERNEL}.{self.program.entries}")
            launches.append(Launch(first, 1, 1, address, ctypes.addressof(self.table)))
        for k in self.groups[group].kernels:
            kernel = self.program.kernels[k]
            launches.append(Launch(self.module.function(kernel.name), kernel.blocks, THREADS, address))
        return launches[0] if len(launches) == 1 else Graph(launches)


class CudaDevice:
    """A GPU, with a loaded module."""

    address = staticmethod(lambda array: array.data.ptr)

    def __init__(self, module: Module | None, is_single: bool):
        self.module, self.is_single = module, is_single
        self.library, self.arrays, self.empty = LIBRARIES["cuda"], cupy, cupy.empty
        self.blocks: dict[int, tuple[Any, int]] = {}  # for each stream, memory for small results, and where it is free
        self.lock = threading.Lock()  # one call takes memory of a block at a time

    def allocator(self, specs: Sequence[Spec]) -> Callable[[], list[Any]]:
        """What makes new arrays; small ones are parts of a block that is allocated for many calls."""
        sizes = [-(-spec.size * spec.dtype.itemsize // ALIGNED) * ALIGNED for spec in specs]
        total = sum(sizes)
        now = machine.current
        if not 0 < total <= now.max_bytes_of_small_device_results:
            return lambda: [cupy.empty(*spec) for spec in specs]
        size = max(now.bytes_of_device_result_block, total)
        placed = [(*spec, start) for spec, start in zip(specs, itertools.accumulate(sizes, initial=0), strict=False)]

        def allocate() -> list[Any]:
            stream = cupy.cuda.get_current_stream().ptr
            with self.lock:
                memory, start = self.blocks.get(stream, (None, size))
                if start + total > size:
                    memory, start = cupy.cuda.alloc(size), 0
                self.blocks[stream] = memory, start + total
            return [cupy.ndarray(shape, dtype, memory + (start + offset)) for shape, dtype, offset in placed]

        return allocate

    def multiply(self, x: Any, y: Any, out: Any) -> None:
        """Write the product of matrices to an array."""
        batched_products.multiply(cupy, x, y, out)

    def load(self, program: DeviceProgram) -> CudaKernels:
        """The kernels of a program."""
        return CudaKernels(program, self.module, self.is_single)


def read_build(stored: bytes) -> DeviceBuild:
    """A program from the disk; an error if it is something else."""
    found = pickle.loads(stored)
    if not isinstance(found, DeviceBuild):
        raise TypeError(type(found).__name__)
    return found


class CudaProgram:
    """A program on a GPU, compiled or read from disk. It is called with CuPy's arrays."""

    def __init__(self, graph: Program, name: str, rolls: bool = True):
        self.name = name
        self.capability = f"sm_{min(int(cupy.cuda.Device().compute_capability), NEWEST)}"
        kept = CacheEntry(graph.fingerprint, f"GPU {self.capability} {rolls}") if is_portable(graph) else None
        self.build = kept.load(read_build) if kept is not None else None
        self.is_warm = self.build is not None
        if self.build is None:
            self.build = build_program(graph, self.capability, rolls)
            if kept is not None:
                with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError, RecursionError):
                    kept.store(pickle.dumps(self.build))
        self.module = Module(self.build.code) if self.build.code else None
        kernels = sum(len(part.kernels) for part in self.build.program.programs)
        self.loaded = LoadedProgram(self.build.program, CudaDevice(self.module, kernels == 1))

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The results, as CuPy's arrays."""
        try:
            return self.loaded(inputs)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise self.memory_error() from error

    def report(self) -> DeviceReport:
        """What the program consists of."""
        assert self.build is not None
        return DeviceReport(self.name, self.build, self.module, self.is_warm)

    def memory_error(self) -> MemoryError:
        """What a program needs, and what there is."""
        assert self.build is not None
        program = self.build.program
        free, total = cupy.cuda.runtime.memGetInfo()
        results = sum(spec.size * spec.dtype.itemsize for spec in program.outputs)
        size = lambda n: f"{n / 2**30:.2f} GiB"
        return user_error(
            MemoryError,
            f"{self.name} needs {size(program.arena)} for intermediate results and {size(results)} for its results, "
            f"and the device has {size(free)} of {size(total)} free",
            "Use smaller batches, or release arrays and call cupy.get_default_memory_pool().free_all_blocks().",
        )


def build_program(graph: Program, capability: str, rolls: bool) -> DeviceBuild:
    """graph -> passes -> schedule -> memory plan -> LLVM text -> PTX -> machine code."""
    start = time.perf_counter()
    optimised = prepare_for_device(graph, rolls)
    writer = DeviceWriter(ThreadBlock)
    program = writer.write(optimised)
    text = ptx = ""
    code = b""
    if writer.kernels:
        text = module_text(writer.kernels, ThreadBlock, len(writer.kernels) == 1)
        entries = {part.entries for part in program.programs if 8 * part.entries <= PARAMETER_BYTES}
        if len(writer.kernels) > 1:
            text = "\n\n".join([text, *map(table_kernel, sorted(entries))])
        ptx = translate(text, capability)
        code = link(ptx)
    counts = len(graph.operations), len(optimised.operations)
    return DeviceBuild(program, ptx, code, zlib.compress(text.encode(), 1), counts, time.perf_counter() - start)


class CudaBackend:
    """The GPUs that CuPy knows."""

    number_of = staticmethod(lambda array: array.data.device_id)
    address_of = staticmethod(lambda array: array.data.ptr)
    compile = staticmethod(CudaProgram)

    def __init__(self) -> None:
        self.array_type, self.to_host, self.current = cupy.ndarray, cupy.asnumpy, cupy.cuda.runtime.getDevice

    def use(self, number: int | None) -> AbstractContextManager[Any]:
        """A context in which new arrays are on a device."""
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            count, reason = 0, f" ({error})"
        else:
            reason = ""
        if count <= (number or 0):
            raise user_error(
                RuntimeError,
                f"There is no GPU {number or 0} that CuPy can use{reason}",
                "Look for it with nvidia-smi, install a newer driver, or leave out `device`.",
            )
        return cupy.cuda.Device(number)

    def to_device(self, x: Any, dtype: np.dtype) -> Any:
        """A contiguous array on the current device, whose address is a multiple of what threads read at once."""
        found = cupy.asarray(x, dtype, order="C").reshape(np.shape(x))
        return found if found.data.ptr % VECTOR_BYTES == 0 else found.copy()


@cache
def backend() -> CudaBackend:
    """The GPUs of this machine."""
    return CudaBackend()
