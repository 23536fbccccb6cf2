"""The native entry: from Python's arguments to `wengert.run` and back to NumPy's arrays, without Python code.

A compiled program is a module with `define i32 @wengert.run(ptr %inputs, ptr %outputs)`, which reads the data of each
input, fills the data of each output (both C-contiguous and aligned) and returns 0, or another status if it failed. The
pointers to data are followed by pointers to the objects that own the data, null if there is none. `write_entry` writes
the function that CPython calls (METH_FASTCALL, with keywords) for one signature; it returns `NotImplemented` for other
arguments, and the caller then takes the general path.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.entry.argument_reader import ArgumentReader
from wengert.compiler.entry.entry_code import I8, I32, EntryCode
from wengert.compiler.entry.entry_signature import EntrySignature, Nothing, ResultTree, count_containers
from wengert.compiler.entry.entry_values import NO_STATES, States
from wengert.compiler.entry.state_calls import HELD_SIZE, STATE_FUNCTIONS
from wengert.compiler.entry.tree_calls import OBJECTS, TREE_FUNCTIONS
from wengert.compiler.machine.python_calls import ENTRY_FUNCTIONS, RELEASED, UNOPTIMISED
from wengert.compiler.machine.python_objects import DATA, EXTRA, LEVEL, NUMBER, PAYLOAD, dtype_name
from wengert.compiler.machine.target import Loaded
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import BOOL, I64, PTR, Type
from wengert.core import machine
from wengert.core.spec import Spec

RUN, RUN_RELEASED, ENTRY = "wengert.run", "wengert.run.released", "wengert.entry"

_FASTCALL_KEYWORDS = 0x82


def write_entry(signature: EntrySignature, release_gil: bool = False, states: States = NO_STATES) -> str:
    """The LLVM text of `wengert.entry`, for a module that defines or declares `wengert.run`."""
    return _EntryWriter(signature, release_gil, states).write()


def declare_once(text: str) -> str:
    """A module without declarations that occur twice."""
    known: set[str] = set()
    lines: list[str] = []
    for line in text.splitlines():
        if line not in known:
            lines.append(line)
        if line.startswith("declare ") or " = external global " in line:
            known.add(line)
    return "\n".join([*lines, ""])


class _EntryWriter(EntryCode):
    """Writes one entry.

    All objects are made before they are put together: first the arrays, after the run the scalars, then the containers.
    Each is kept in a list on the stack; if anything fails, these are dropped.
    """

    def __init__(self, signature: EntrySignature, release_gil: bool, states: States):
        super().__init__()
        self.result, self.release_gil, self.states = signature.result, release_gil, states
        self.outputs, self.is_flat = signature.outputs, signature.is_flat
        self.capacity = (2 if states.is_taped else 1) * len(self.outputs) + count_containers(signature.result)
        self.list = self.stack_bytes(8 * self.capacity)
        self.length = 0
        self.remaining: Iterator[Lanes] = iter(())
        self.fillings: list[Callable[[], Any]] = []
        self.arguments = ArgumentReader(self, signature)

    def write(self) -> str:
        """The text of the entry."""
        code, outputs = self.code, self.outputs
        input_count = self.arguments.leaves + self.states.inputs
        output_count = len(outputs) + self.states.outputs
        inputs_data, outputs_data = self.stack_bytes(16 * input_count), self.stack_bytes(16 * output_count)
        self.held, self.memory = self.begin_states(), self.stack_bytes(self.states.memory)
        self.arguments.read(inputs_data, input_count)
        if self.capacity:
            code.clear(self.list, 8 * self.capacity)
        self.bind_states(inputs_data, input_count, outputs_data, output_count)
        made = self.make_outputs(outputs_data, code.offset(outputs_data, output_count, PTR))
        self.run(inputs_data, outputs_data)
        self.release_states(True)
        pairs = zip(outputs, made, strict=True)
        self.finish([value if spec.shape else self.new_scalar(spec.dtype, value) for spec, value in pairs])
        return self.module()

    def module(self) -> str:
        """All lines, with their declarations."""
        head = f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %count, ptr %names) {UNOPTIMISED} {{"
        lines = [
            *self.globals.values(),
            *self.code.declarations.values(),
            self.object_table(),
            ENTRY_FUNCTIONS,
            "" if self.is_flat else TREE_FUNCTIONS,
            STATE_FUNCTIONS if self.states.records else "",
            RELEASED if self.release_gil else "",
            head,
            "entry:",
            *self.code.hoisted,
            *self.code.lines,
        ]
        return declare_once("\n".join([*lines, "}", ""]))

    # Results

    def keep(self, new: Lanes) -> Lanes:
        """Put a new object on the list, or fail if it is null."""
        self.require(new.ne(self.null()), "failed")
        self.code.store(new, self.code.offset(self.list, self.length, PTR))
        self.length += 1
        return new

    def make_outputs(self, data: Lanes, owners: Lanes) -> list[Lanes]:
        """New arrays, and the addresses of memory on the stack for outputs without axes."""
        made: list[Lanes] = []
        for has_axes, group in groupby(self.outputs, lambda spec: bool(spec.shape)):
            run = list(group)
            is_long = has_axes and len(run) > machine.current.max_unrolled_arrays_of_entry
            for specs in [run] if is_long else [[spec] for spec in run]:
                at = [self.code.offset(table, len(made), PTR) for table in (data, owners)]
                made += self.new_arrays(specs, *at) if is_long else [self.new_output(specs[0], *at)]
        return made

    def new_output(self, spec: Spec, data: Lanes, owner: Lanes) -> Lanes:
        """A new array, or the address of memory on the stack."""
        if spec.shape:
            new = self.keep(self.helper("new_array", PTR, *self.layout(spec)))
            self.code.store(self.code.load(self.code.offset(new, DATA, I8), PTR), data)
            self.code.store(new, owner)
        else:
            new = self.stack_bytes(spec.dtype.itemsize)
            self.code.store(new, data)
            self.code.store(self.null(), owner)
        return new

    def new_arrays(self, specs: list[Spec], data: Lanes, owners: Lanes) -> list[Lanes]:
        """New arrays, made in a loop."""
        count, first = len(specs), self.code.offset(self.list, self.length, PTR)
        arguments = self.code.constant(count, I64), self.layouts(specs), first, data, owners
        self.require(self.helper("new_arrays", BOOL, *arguments), "failed")
        self.length += count
        return [self.code.load(self.code.offset(first, i, PTR), PTR) for i in range(count)]

    def new_scalar(self, dtype: np.dtype, number: Lanes) -> Lanes:
        """A new NumPy scalar, allocated by its type; NumPy returns one of its two booleans."""
        if dtype.kind == "b":
            return self.keep(self.python("PyArray_Scalar", PTR, number, self.external("bool.dtype"), self.null()))
        new = self.keep(
            self.python(
                f"{dtype_name(dtype)}.new", PTR, self.external(f"{dtype_name(dtype)}.type"), self.code.constant(0, I64)
            )
        )
        bits, align = Type(f"i{8 * dtype.itemsize}"), dtype.alignment
        self.code.store(self.code.load(number, bits, align), self.code.offset(new, NUMBER, I8), align)
        return new

    # Captured tensors

    def begin_states(self) -> Lanes:
        """Memory for what the run holds of captured tensors, nothing at first; other calls if something has changed."""
        size = HELD_SIZE * self.states.records
        held = self.stack_bytes(size)
        if self.states.records:
            zero, no = self.code.constant(0, I8), self.code.constant(False, BOOL)
            self.code.call("@llvm.memset.p0.i64", None, held, zero, self.code.constant(size, I64), no)
            self.require(self.helper("is_usual", BOOL), "other")
        return held

    def bind_states(self, inputs: Lanes, input_count: int, outputs: Lanes, output_count: int) -> None:
        """Pass the data of captured tensors to the program, if they are what it was made for."""
        if not self.states.records:
            return
        counts = [self.code.constant(n, I64) for n in (self.states.records, input_count, output_count)]
        arguments = (counts[0], inputs, counts[1], outputs, counts[2], self.held, self.memory)
        status = self.helper("bind_states", I32, *arguments)
        self.require(status.ne(2), "failed")
        self.require(status.eq(0), "other")

    def release_states(self, succeeded: bool) -> None:
        """Give up what the run holds of captured tensors."""
        if self.states.records:
            count, success = self.code.constant(self.states.records, I64), self.code.constant(succeeded, BOOL)
            self.do("release_states", count, self.held, self.memory, success)

    def new_tensor(self) -> Lanes:
        """A new tensor, which has nothing yet."""
        return self.keep(self.python("Tensor.new", PTR, self.external("Tensor.type"), self.code.constant(0, I64)))

    def fill_tensor(self, tensor: Lanes, value: Lanes) -> None:
        """Give a new tensor its numbers."""
        level, node = self.external("zero"), self.external("None")
        for constant in (level, node):
            self.do("Py_IncRef", constant)
        for content, offset in ((value, PAYLOAD), (level, LEVEL), (node, EXTRA)):
            self.code.store(content, self.code.offset(tensor, offset, I8))

    def run(self, inputs: Lanes, outputs: Lanes) -> None:
        """Call the program."""
        run = RUN_RELEASED if self.release_gil else RUN
        self.status = status = self.code.add(f"call i32 @{run}({inputs.typed}, {outputs.typed})", I32)
        self.require(status.eq(0), "stopped")

    def finish(self, values: list[Lanes]) -> None:
        """Make the containers and return the result; and the blocks for calls that fail."""
        code = self.code
        tensors = [self.new_tensor() for _ in values] if self.states.is_taped else []
        self.remaining = iter(tensors or values)
        whole = self.build(self.result)
        for tensor, value in zip(tensors, values, strict=False):
            self.fill_tensor(tensor, value)
        for fill in self.fillings:
            fill()
        self.arguments.release()
        code.do(f"ret {whole.typed}")

        objects = self.list, code.constant(self.capacity, I64)
        code.begin("stopped")
        self.release_states(False)
        self.do("drop", *objects)
        self.arguments.release()
        code.branch(self.python("PyErr_Occurred", PTR).eq(self.null()), "gave_up", "raised")
        code.begin("gave_up")
        number = self.python("PyLong_FromLongLong", PTR, code.add(f"sext {self.status.typed} to i64", I64))
        self.require(number.ne(self.null()), "raised")
        answer = self.python("PyObject_CallOneArg", PTR, Lanes(code, "%self", PTR), number)
        self.do("Py_DecRef", number)
        code.do(f"ret {answer.typed}")
        code.begin("other")
        self.release_states(False)
        self.arguments.release()
        refused = self.external("NotImplemented")
        self.do("Py_IncRef", refused)
        code.do(f"ret {refused.typed}")
        code.begin("failed")
        self.release_states(False)
        self.do("drop", *objects)
        self.arguments.release()
        code.jump("raised")
        code.begin("raised")
        code.do("ret ptr null")

    def build(self, result: ResultTree) -> Lanes:
        """An object of the result: a value, or a new container that is filled when all others are made."""
        if isinstance(result, Spec):
            return next(self.remaining)
        if isinstance(result, Nothing):
            none = self.external("None")
            self.do("Py_IncRef", none)
            return none
        if isinstance(result, dict):
            whole = self.keep(self.python("PyDict_Copy", PTR, self.next_object()))
            keys = [self.next_object() for _ in result]
            parts = [self.build(part) for part in result.values()]
            self.fillings += [partial(self.put_value, whole, *item) for item in zip(keys, parts, strict=True)]
            return whole
        name = "PyList" if isinstance(result, list) else "PyTuple"
        whole = self.keep(self.python(f"{name}_New", PTR, self.code.constant(len(result), I64)))
        for i, part in enumerate(result):
            item = self.code.constant(i, I64), self.build(part)
            self.fillings.append(partial(self.python, f"{name}_SetItem", I32, whole, *item))
        return whole

    def put_value(self, whole: Lanes, key: Lanes, value: Lanes) -> None:
        """Give a dict, which has the key, its value; it takes no memory, so it does not fail."""
        self.python("PyDict_SetItem", I32, whole, key, value)
        self.do("Py_DecRef", value)


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _EntryOwner(NamedTuple):
    """The `self` of a native function: keeps its code alive, and raises the error of a failed run.

    A function reads its definition when it is freed. Of a cycle without other references the garbage collector clears
    all objects in any order, but no tuple and no bytes: the definition lives as long as the function that refers to it.
    """

    loaded: Loaded
    name: bytes
    method: bytes
    error: Callable[[int], BaseException] | None

    def __call__(self, status: int) -> Any:
        if self.error is None:
            return NotImplemented
        raise self.error(status)


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_char_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def callable_from(
    loaded: Loaded,
    signature: EntrySignature,
    name: str = "compiled",
    error: Callable[[int], BaseException] | None = None,
) -> Callable[..., Any]:
    """The entry in a loaded module as a Python function.

    It returns `NotImplemented` for arguments that do not match, and raises the `error` of the status of a failed run.
    """
    objects = signature.objects
    if objects:
        loaded.fill(OBJECTS, list(map(id, objects)), objects)
    text = name.encode()
    method = bytes(_Method(text, loaded.address(ENTRY), _FASTCALL_KEYWORDS, None))
    return _new_function(method, _EntryOwner(loaded, text, method, error), None)
