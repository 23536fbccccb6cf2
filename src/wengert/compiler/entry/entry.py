"""The native entry: from Python's arguments to `wengert.run` and back to NumPy's arrays, without Python code.

A compiled program is a module with `define i32 @wengert.run(ptr %inputs, ptr %outputs)`, which reads the data of each
input, fills the data of each output (both C-contiguous and aligned) and returns 0, or another status if it failed. The
pointers to data are followed by pointers to the objects that own the data, null if there is none. `write_entry` writes
the function that CPython calls (METH_FASTCALL) for one signature; it returns `NotImplemented` for other arguments, and
the caller then takes the general path.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.entry.entry_values import (
    NO_STATES,
    Argument,
    Nothing,
    ResultTree,
    States,
    count_tuples,
    output_specs,
)
from wengert.compiler.entry.python_calls import ENTRY_FUNCTIONS, RELEASED, UNOPTIMISED
from wengert.compiler.entry.python_objects import (
    DATA,
    EXTRA,
    LEVEL,
    NUMBER,
    PAYLOAD,
    dtype_name,
    python_symbol,
)
from wengert.compiler.entry.state_calls import HELD_SIZE, STATE_FUNCTIONS
from wengert.compiler.machine.target import Loaded
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import BOOL, I64, PTR, Type
from wengert.core.spec import Spec

RUN, RUN_RELEASED, ENTRY = "wengert.run", "wengert.run.released", "wengert.entry"

_I8, _I32 = Type("i8"), Type("i32")
_FASTCALL = 0x80


def write_entry(
    arguments: Sequence[Argument], result: ResultTree, release_gil: bool = False, states: States = NO_STATES
) -> str:
    """The LLVM text of `wengert.entry`, for a module that defines or declares `wengert.run`."""
    return _EntryWriter(arguments, result, release_gil, states).write()


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


class _EntryWriter:
    """Writes one entry.

    All objects are made before they are put together: first the arrays, after the run the scalars, then the tuples.
    Each is kept in a list on the stack; if anything fails, these are dropped.
    """

    def __init__(self, arguments: Sequence[Argument], result: ResultTree, release_gil: bool, states: States):
        self.arguments, self.result, self.release_gil, self.states = arguments, result, release_gil, states
        self.code = Code()
        self.globals: dict[str, str] = {}
        self.outputs = list(output_specs(result))
        self.capacity = (2 if states.is_taped else 1) * len(self.outputs) + count_tuples(result)
        self.list = self.stack_bytes(8 * self.capacity)
        self.length = 0

    def write(self) -> str:
        """The text of the entry."""
        code, outputs = self.code, self.outputs
        input_count = len(self.arguments) + self.states.inputs
        output_count = len(outputs) + self.states.outputs
        inputs_data, outputs_data = self.stack_bytes(16 * input_count), self.stack_bytes(16 * output_count)
        self.held, self.memory = self.begin_states(), self.stack_bytes(self.states.memory)
        self.require(Lanes(code, "%count", I64).eq(len(self.arguments)), "other")
        given, fit = Lanes(code, "%args", PTR), code.constant(True, BOOL)
        for i, argument in enumerate(self.arguments):
            value = code.load(code.offset(given, i, PTR), PTR)
            data = self.argument_data(value, argument)
            code.store(data, code.offset(inputs_data, i, PTR))
            code.store(value, code.offset(inputs_data, input_count + i, PTR))
            fit = fit & data.ne(self.null())
        self.require(fit, "other")
        for i in range(self.capacity):
            code.store(self.null(), code.offset(self.list, i, PTR))
        self.bind_states(inputs_data, input_count, outputs_data, output_count)
        arrays = {i: self.keep(self.new_array(spec)) for i, spec in enumerate(outputs) if spec.shape}
        numbers = {i: self.stack_bytes(spec.dtype.itemsize) for i, spec in enumerate(outputs) if not spec.shape}
        for i in range(len(outputs)):
            data = numbers[i] if i in numbers else code.load(code.offset(arrays[i], DATA, _I8), PTR)
            code.store(data, code.offset(outputs_data, i, PTR))
            code.store(arrays.get(i, self.null()), code.offset(outputs_data, output_count + i, PTR))
        self.run(inputs_data, outputs_data)
        self.release_states(True)
        values = arrays | {i: self.new_scalar(outputs[i].dtype, number) for i, number in numbers.items()}
        self.finish([values[i] for i in range(len(outputs))])
        return self.module()

    def module(self) -> str:
        """All lines, with their declarations."""
        head = f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %count) {UNOPTIMISED} {{"
        lines = [
            *self.globals.values(),
            *self.code.declarations.values(),
            ENTRY_FUNCTIONS,
            STATE_FUNCTIONS if self.states.records else "",
            RELEASED if self.release_gil else "",
            head,
            "entry:",
            *self.code.hoisted,
            *self.code.lines,
        ]
        return declare_once("\n".join([*lines, "}", ""]))

    # Instructions

    def require(self, condition: Lanes, otherwise: str) -> None:
        """Continue only if a condition holds; `otherwise` is a label."""
        onward = self.code.label("onward")
        self.code.branch(condition, onward, otherwise)
        self.code.begin(onward)

    def stack_bytes(self, size: int) -> Lanes:
        """Bytes on the stack."""
        name = self.code.name()
        self.code.hoisted.append(f"  {name} = alloca [{size} x i8], align 64")
        return Lanes(self.code, name, PTR)

    def external(self, name: str) -> Lanes:
        """The address of an external object."""
        self.globals[name] = f"{python_symbol(name)} = external global i8"
        return Lanes(self.code, python_symbol(name), PTR)

    def python(self, name: str, type: Type | None, *args: Lanes) -> Lanes:
        """A call of an external function."""
        return self.code.call(python_symbol(name), type, *args)

    def helper(self, name: str, *args: Lanes) -> Lanes:
        """A call of one of `ENTRY_FUNCTIONS`."""
        return self.code.add(f"call ptr {python_symbol(name)}({', '.join(a.typed for a in args)})", PTR)

    def null(self) -> Lanes:
        """The null pointer."""
        return Lanes(self.code, "null", PTR)

    def keep(self, new: Lanes) -> Lanes:
        """Put a new object on the list, or fail if it is null."""
        self.require(new.ne(self.null()), "failed")
        self.code.store(new, self.code.offset(self.list, self.length, PTR))
        self.length += 1
        return new

    def layout(self, spec: Spec) -> tuple[Lanes, Lanes, Lanes]:
        """The dtype of an array, its number of axes and the address of its shape."""
        name = python_symbol(f"shape.{'.'.join(map(str, spec.shape))}")
        self.globals[name] = (
            f"{name} = private unnamed_addr constant [{spec.ndim} x i64] [{', '.join(f'i64 {n}' for n in spec.shape)}]"
        )
        return (
            self.external(f"{dtype_name(spec.dtype)}.dtype"),
            self.code.constant(spec.ndim, _I32),
            Lanes(self.code, name, PTR),
        )

    # Arguments and results

    def argument_data(self, given: Lanes, argument: Argument) -> Lanes:
        """The address of an argument's data, or null if it does not match."""
        kind, spec = argument
        if kind == "array":
            return self.helper("array_data", given, *self.layout(spec))
        if kind == "int":
            return self.helper("int_data", given, self.stack_bytes(8))
        return self.helper(
            "number_data", given, self.external("float" if kind == "float" else f"{dtype_name(spec.dtype)}.type")
        )

    def new_array(self, spec: Spec) -> Lanes:
        """A new array."""
        return self.helper("new_array", *self.layout(spec))

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
        self.code.store(self.code.load(number, bits, align), self.code.offset(new, NUMBER, _I8), align)
        return new

    # Captured tensors

    def begin_states(self) -> Lanes:
        """Memory for what the run holds of captured tensors, nothing at first; other calls if something has changed."""
        size = HELD_SIZE * self.states.records
        held = self.stack_bytes(size)
        if self.states.records:
            zero, no = self.code.constant(0, _I8), self.code.constant(False, BOOL)
            self.code.call("@llvm.memset.p0.i64", None, held, zero, self.code.constant(size, I64), no)
            self.require(self.code.add(f"call i1 {python_symbol('is_usual')}()", BOOL), "other")
        return held

    def bind_states(self, inputs: Lanes, input_count: int, outputs: Lanes, output_count: int) -> None:
        """Pass the data of captured tensors to the program, if they are what it was made for."""
        if not self.states.records:
            return
        counts = [self.code.constant(n, I64) for n in (self.states.records, input_count, output_count)]
        arguments = (counts[0], inputs, counts[1], outputs, counts[2], self.held, self.memory)
        listed = ", ".join(a.typed for a in arguments)
        status = self.code.add(f"call i32 {python_symbol('bind_states')}({listed})", _I32)
        self.require(status.ne(2), "failed")
        self.require(status.eq(0), "other")

    def release_states(self, succeeded: bool) -> None:
        """Give up what the run holds of captured tensors."""
        if self.states.records:
            held = f"i64 {self.states.records}, {self.held.typed}, {self.memory.typed}"
            self.code.do(f"call void {python_symbol('release_states')}({held}, i1 {'true' if succeeded else 'false'})")

    def new_tensor(self) -> Lanes:
        """A new tensor, which has nothing yet."""
        return self.keep(self.python("Tensor.new", PTR, self.external("Tensor.type"), self.code.constant(0, I64)))

    def fill_tensor(self, tensor: Lanes, value: Lanes) -> None:
        """Give a new tensor its numbers."""
        level, node = self.external("zero"), self.external("None")
        for constant in (level, node):
            self.code.do(f"call void {python_symbol('Py_IncRef')}({constant.typed})")
        for content, offset in ((value, PAYLOAD), (level, LEVEL), (node, EXTRA)):
            self.code.store(content, self.code.offset(tensor, offset, _I8))

    def run(self, inputs: Lanes, outputs: Lanes) -> None:
        """Call the program."""
        run = RUN_RELEASED if self.release_gil else RUN
        self.status = status = self.code.add(f"call i32 @{run}({inputs.typed}, {outputs.typed})", _I32)
        self.require(status.eq(0), "stopped")

    def finish(self, values: list[Lanes]) -> None:
        """Make the tuples and return the result; and the blocks for calls that fail."""
        code = self.code
        items: list[tuple[Lanes, int, Lanes]] = []
        tensors = [self.new_tensor() for _ in values] if self.states.is_taped else []
        remaining = iter(tensors or values)

        def build(result: ResultTree) -> Lanes:
            if isinstance(result, Spec):
                return next(remaining)
            if isinstance(result, Nothing):
                none = self.external("None")
                code.do(f"call void {python_symbol('Py_IncRef')}({none.typed})")
                return none
            whole = self.keep(self.python("PyTuple_New", PTR, code.constant(len(result), I64)))
            items.extend([(whole, i, build(part)) for i, part in enumerate(result)])
            return whole

        whole = build(self.result)
        for tensor, value in zip(tensors, values, strict=False):
            self.fill_tensor(tensor, value)
        for owner, i, part in items:
            self.python("PyTuple_SetItem", _I32, owner, code.constant(i, I64), part)
        code.do(f"ret {whole.typed}")

        drop = f"call void {python_symbol('drop')}({self.list.typed}, i64 {self.capacity})"
        code.begin("stopped")
        self.release_states(False)
        code.do(drop)
        code.branch(self.python("PyErr_Occurred", PTR).eq(self.null()), "gave_up", "raised")
        code.begin("gave_up")
        number = self.python("PyLong_FromLongLong", PTR, code.add(f"sext {self.status.typed} to i64", I64))
        self.require(number.ne(self.null()), "raised")
        answer = self.python("PyObject_CallOneArg", PTR, Lanes(code, "%self", PTR), number)
        code.do(f"call void {python_symbol('Py_DecRef')}({number.typed})")
        code.do(f"ret {answer.typed}")
        code.begin("other")
        self.release_states(False)
        refused = self.external("NotImplemented")
        code.do(f"call void {python_symbol('Py_IncRef')}({refused.typed})")
        code.do(f"ret {refused.typed}")
        code.begin("failed")
        self.release_states(False)
        code.do(drop)
        code.jump("raised")
        code.begin("raised")
        code.do("ret ptr null")


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _EntryOwner:
    """The `self` of a native function: keeps its code alive, and raises the error of a failed run."""

    __slots__ = ("error", "loaded", "method")

    def __init__(self, loaded: Loaded, name: str, error: Callable[[int], BaseException] | None):
        self.loaded, self.error = loaded, error
        self.method = _Method(name.encode(), loaded.address(ENTRY), _FASTCALL, None)

    def __call__(self, status: int) -> Any:
        if self.error is None:
            return NotImplemented
        raise self.error(status)


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def callable_from(
    loaded: Loaded, name: str = "compiled", error: Callable[[int], BaseException] | None = None
) -> Callable[..., Any]:
    """The entry in a loaded module as a Python function.

    It returns `NotImplemented` for arguments that do not match, and raises the `error` of the status of a failed run.
    """
    owner = _EntryOwner(loaded, name, error)
    return _new_function(ctypes.addressof(owner.method), owner, None)
