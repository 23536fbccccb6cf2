"""The instructions of which entries consist, beside those of all code: calls of Python, and its objects."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.entry.tree_calls import OBJECTS
from wengert.compiler.machine.python_calls import LAYOUT
from wengert.compiler.machine.python_objects import dtype_name, python_symbol
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import PTR, Type
from wengert.core.spec import Spec

I8, I32 = Type("i8"), Type("i32")


class EntryCode:
    """The code of one entry, the external objects that it uses, and the number of objects in its own table."""

    def __init__(self) -> None:
        self.code = Code()
        self.globals: dict[str, str] = {}
        self.object_count = self.table_count = 0

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

    def helper(self, name: str, type: Type, *args: Lanes) -> Lanes:
        """A call of one of the functions in the entry's own module."""
        return self.code.add(f"call {type.text} {python_symbol(name)}({', '.join(a.typed for a in args)})", type)

    def do(self, name: str, *args: Lanes) -> None:
        """A call of a function that has no result."""
        self.code.do(f"call void {python_symbol(name)}({', '.join(a.typed for a in args)})")

    def null(self) -> Lanes:
        """The null pointer."""
        return Lanes(self.code, "null", PTR)

    def layout(self, spec: Spec) -> tuple[Lanes, Lanes, Lanes]:
        """The dtype of an array, its number of axes and the address of its shape."""
        shape = python_symbol(f"shape.{'.'.join(map(str, spec.shape))}")
        extents = ", ".join(f"i64 {n}" for n in spec.shape)
        self.globals[shape] = f"{shape} = private unnamed_addr constant [{spec.ndim} x i64] [{extents}]"
        dtype = self.external(f"{dtype_name(spec.dtype)}.dtype")
        return dtype, self.code.constant(spec.ndim, I32), Lanes(self.code, shape, PTR)

    def layouts(self, specs: Sequence[Spec]) -> Lanes:
        """The address of a table of the layouts of arrays."""
        rows = [f"{LAYOUT} {{ {', '.join(part.typed for part in self.layout(spec))} }}" for spec in specs]
        table = python_symbol(f"layouts.{self.table_count}")
        self.table_count += 1
        self.globals[table] = f"{table} = private unnamed_addr constant [{len(rows)} x {LAYOUT}] [{', '.join(rows)}]"
        return Lanes(self.code, table, PTR)

    def next_objects(self, count: int) -> Lanes:
        """The address of the next objects in the table, which has them in the order of their use."""
        first = self.code.offset(Lanes(self.code, f"@{OBJECTS}", PTR), self.object_count, PTR)
        self.object_count += count
        return first

    def next_object(self) -> Lanes:
        """The next object in the table."""
        return self.code.load(self.next_objects(1), PTR)

    def object_table(self) -> str:
        """The definition of the table, which is filled when the code is loaded."""
        return f"@{OBJECTS} = global [{self.object_count} x ptr] zeroinitializer"
