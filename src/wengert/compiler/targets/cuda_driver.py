"""CUDA's driver: machine code from PTX, launches of kernels, and graphs of kernels.

CuPy owns the device, its streams and its memory. It has no functions for the arguments of kernels in graphs, and
launches by its own functions take longer than these.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from wengert.compiler.targets.thread_block import kernel_symbol
from wengert.core.errors import user_error

OLD_DRIVER = 222
"""The error of a driver that does not know this version of PTX."""
REGISTERS, LOCAL_BYTES, SHARED_BYTES = 4, 3, 1
"""Attributes of functions."""
PTX_INPUT = 1


class NodeParameters(ctypes.Structure):
    """A kernel in a graph, as the driver describes it."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


class LaunchConfiguration(ctypes.Structure):
    """How a kernel is launched, as the driver describes it."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    ]


class Usage(NamedTuple):
    """What a thread of a kernel needs: registers, and bytes of local memory; a block: bytes of shared memory."""

    registers: int
    local_bytes: int
    shared_bytes: int


@cache
def driver() -> Any:
    """The driver's library. Its functions return soon, so that the GIL is held."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.PyDLL(name)
    except OSError as error:
        raise user_error(
            RuntimeError, f"There is no CUDA driver on this machine ({error})", "Install one, or use arrays of NumPy."
        ) from None


def check(result: int, what: str) -> None:
    """Raise an error if the driver reports one."""
    if not result:
        return
    text = ctypes.c_char_p()
    driver().cuGetErrorString(result, ctypes.byref(text))
    reason = text.value.decode() if text.value else f"error {result}"
    advice = "The driver is older than the code: install a newer one." if result == OLD_DRIVER else ""
    raise user_error(RuntimeError, f"CUDA could not {what}: {reason}", advice)


def link(ptx: str) -> bytes:
    """The machine code of PTX, for the device of the present context."""
    cuda, state, log = driver(), ctypes.c_void_p(), ctypes.create_string_buffer(8192)
    options = (ctypes.c_int * 2)(5, 6)  # where the log of errors is, and its size
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
    check(cuda.cuLinkCreate_v2(2, options, values, ctypes.byref(state)), "start its linker")
    try:
        source = ptx.encode() + b"\0"
        failed = cuda.cuLinkAddData_v2(
            state, PTX_INPUT, source, ctypes.c_size_t(len(source)), b"wengert", 0, None, None
        )
        check(failed, f"translate PTX ({log.value.decode(errors='replace').strip()})")
        code, size = ctypes.c_void_p(), ctypes.c_size_t()
        check(cuda.cuLinkComplete(state, ctypes.byref(code), ctypes.byref(size)), "link a program")
        return ctypes.string_at(code, size.value)
    finally:
        cuda.cuLinkDestroy(state)


class Module:
    """Machine code on a device."""

    def __init__(self, code: bytes):
        self.code = code
        self.handle = ctypes.c_void_p()
        check(driver().cuModuleLoadData(ctypes.byref(self.handle), code), "load a program")

    def function(self, name: str) -> int:
        """The handle of a kernel."""
        found = ctypes.c_void_p()
        symbol = kernel_symbol(name).encode()
        check(driver().cuModuleGetFunction(ctypes.byref(found), self.handle, symbol), f"find the kernel {name}")
        assert found.value is not None
        return found.value

    def usage(self, name: str) -> Usage:
        """What a kernel needs."""
        function, value = ctypes.c_void_p(self.function(name)), ctypes.c_int()
        found = []
        for attribute in (REGISTERS, LOCAL_BYTES, SHARED_BYTES):
            check(driver().cuFuncGetAttribute(ctypes.byref(value), attribute, function), "describe a kernel")
            found.append(value.value)
        return Usage(*found)


class Launch:
    """A kernel with its number of blocks and threads, and the addresses of its arguments."""

    def __init__(self, function: int, blocks: int, threads: int, *arguments: int):
        self.function, self.blocks, self.threads = function, blocks, threads
        self.arguments = (ctypes.c_void_p * len(arguments))(*arguments)
        self.address = ctypes.addressof(self.arguments)
        shape = ctypes.c_uint * 3
        self.configuration = LaunchConfiguration(shape(blocks, 1, 1), shape(threads, 1, 1))
        self.call = driver().cuLaunchKernelEx  # which has fewer arguments to convert than `cuLaunchKernel`
        self.call.argtypes = [ctypes.c_void_p] * 4
        self.given = ctypes.addressof(self.configuration), function, self.address, None

    def __call__(self, stream: int) -> None:
        """Launch it; only one thread may do so at a time."""
        self.configuration.stream = stream
        failed = self.call(*self.given)
        if failed:
            check(failed, "launch a kernel")

    @property
    def node(self) -> NodeParameters:
        """The kernel in a graph."""
        shape = ctypes.c_uint * 3
        return NodeParameters(
            self.function, shape(self.blocks, 1, 1), shape(self.threads, 1, 1), 0, self.address, None, None, None
        )


class Graph:
    """Kernels that run one after the other, launched at once; the arguments of the first may change in between."""

    def __init__(self, launches: Sequence[Launch]):
        cuda = driver()
        self.launches, self.handle, self.runs = list(launches), ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuGraphCreate(ctypes.byref(self.handle), 0), "make a graph")
        nodes: list[ctypes.c_void_p] = []
        for launch in launches:
            node, parameters = ctypes.c_void_p(), launch.node
            before = (ctypes.c_void_p * 1)(nodes[-1]) if nodes else None
            failed = cuda.cuGraphAddKernelNode_v2(
                ctypes.byref(node), self.handle, before, ctypes.c_size_t(len(nodes[-1:])), ctypes.byref(parameters)
            )
            check(failed, "add a kernel to a graph")
            nodes.append(node)
        flags = ctypes.c_ulonglong(0)
        check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(self.runs), self.handle, flags), "prepare a graph")
        self.first, self.parameters = nodes[0], launches[0].node
        self.reference = ctypes.byref(self.parameters)
        release = weakref.finalize(self, destroy_graph, self.runs, self.handle)
        release.atexit = False  # then the driver gives everything back

    def update(self) -> None:
        """Let the next launches have the present arguments of the first kernel."""
        failed = driver().cuGraphExecKernelNodeSetParams_v2(self.runs, self.first, self.reference)
        if failed:
            check(failed, "change a graph")

    def __call__(self, stream: int) -> None:
        """Launch it."""
        failed = driver().cuGraphLaunch(self.runs, ctypes.c_void_p(stream))
        if failed:
            check(failed, "launch a graph")


def destroy_graph(runs: ctypes.c_void_p, handle: ctypes.c_void_p) -> None:
    """Give the memory of a graph back."""
    driver().cuGraphExecDestroy(runs)
    driver().cuGraphDestroy(handle)
