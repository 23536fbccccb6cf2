"""Small programs written by hand, with native entries: they copy their inputs to their outputs."""

from __future__ import annotations

import pytest

from wengert.compiler.entry import entry
from wengert.compiler.entry.entry import callable_from
from wengert.compiler.entry.entry_signature import EntrySignature, ResultTree
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine import python_objects
from wengert.compiler.machine.target import Loaded
from wengert.compiler.machine.translation import object_code
from wengert.core.spec import Spec

needs_support = pytest.mark.skipif(
    not python_objects.is_supported(), reason="this interpreter keeps its objects otherwise"
)


def copies(specs: list[Spec], status: int = 0) -> str:
    """A program that copies input i to output i."""
    lines = []
    for i, spec in enumerate(specs):
        for name in ("inputs", "outputs"):
            lines += [
                f"  %{name}.{i} = getelementptr ptr, ptr %{name}, i64 {i}",
                f"  %{name}.data{i} = load ptr, ptr %{name}.{i}",
            ]
        size = spec.size * spec.dtype.itemsize
        lines.append(f"  call void @copy(ptr %outputs.data{i}, ptr %inputs.data{i}, i64 {size})")
    return "\n".join(
        [COPY, "define i32 @wengert.run(ptr %inputs, ptr %outputs) {", *lines, f"  ret i32 {status}", "}", ""]
    )


COPY = """
define internal void @copy(ptr %to, ptr %from, i64 %size) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %size
  br i1 %more, label %body, label %end
body:
  %source = getelementptr i8, ptr %from, i64 %i
  %target = getelementptr i8, ptr %to, i64 %i
  %byte = load i8, ptr %source
  store i8 %byte, ptr %target
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}
"""


def load_entry(run: str, signature: EntrySignature, release_gil=False) -> Loaded:
    return Loaded(object_code(entry.write_entry(signature, release_gil) + run), python_objects.python_addresses())


def identity_of(signature: EntrySignature, status: int = 0, release_gil: bool = False):
    """A native function that returns copies of the leaves of its arguments."""
    run = copies([argument.spec for argument in signature.leaves], status)
    return callable_from(load_entry(run, signature, release_gil), signature)


def identity_entry(values, result: ResultTree | None = None, status: int = 0, release_gil: bool = False):
    """A native function of values like these that returns copies of them, by default in a tuple."""
    arguments = [argument for value in values if (argument := Argument.of(value))]
    assert len(arguments) == len(values)
    whole = tuple([argument.spec for argument in arguments]) if result is None else result
    return identity_of(EntrySignature(arguments, whole), status, release_gil)
