"""The call of a routine in a program: where its operands and results are, and the functions that it uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.machine.tables import Table
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import PTR, Number, Type
from wengert.compiler.threads.pool import share_work
from wengert.core import machine
from wengert.core.blas import blas
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.program.module_text import Shared


class FunctionText(NamedTuple):
    """A function that routines call, without its name."""

    parameters: str
    code: Code
    attributes: str = ""


class Operand(NamedTuple):
    """The address of an operand; `is_transposed` if the last two axes are exchanged in memory.

    Routines that read with strides have one for each axis, in elements.
    """

    pointer: Lanes
    is_transposed: bool = False
    strides: tuple[int, ...] = ()


class RoutineCall:
    """One call of a routine: `write` of its lowering adds the instructions to `code`.

    `results` are the addresses of the results, None for those that nothing reads. `workspace` is the address of the
    bytes that the routine asked for. `is_in_loop` says whether the call is in the body of a loop, and `is_in_place`
    whether the result has taken over the memory of the operand that it updates. What the routine calls itself in
    reports is `name`.
    """

    def __init__(
        self,
        code: Code,
        node: Operation,
        operands: Sequence[Operand],
        results: Sequence[Lanes | None],
        workspace: Lanes | None,
        shared: Shared,
        is_in_loop: bool,
        is_in_place: bool = False,
    ):
        self.code, self.node, self.operands, self.results = code, node, operands, results
        self.workspace, self.shared, self.is_in_loop, self.is_in_place = workspace, shared, is_in_loop, is_in_place
        self.name = node.primitive.name

    @property
    def result(self) -> Lanes:
        """The address of the only result."""
        (found,) = self.results
        assert found is not None
        return found

    def blas(self, name: str, *arguments: Lanes | str | Number, element: Type | None = None) -> None:
        """Call a function of BLAS or LAPACK, whose arguments are all addresses: letters and numbers are constants.

        Numbers are integers, or floats of the type `element`.
        """
        self.shared.blas_users.setdefault(name, self.node)
        self.code.call_blas(name, *[self.address(a, element) for a in arguments])

    def address(self, argument: Lanes | str | Number, element: Type | None) -> Lanes:
        """The address of an argument of BLAS."""
        if isinstance(argument, Lanes):
            return argument
        if isinstance(argument, str):
            return self.code.number(Type("i8"), ord(argument))
        if isinstance(argument, float):
            assert element is not None
            return self.code.number(element, argument)
        return self.code.number(Type(f"i{blas().bits}"), argument)

    def table(self, code: Code, table: Table) -> Lanes:
        """The address of an array that is made when the program is loaded, once for all calls."""
        constants = self.shared.constants
        number = constants.index(table) if table in constants else len(constants)
        if number == len(constants):
            constants.append(table)
        entry = code.offset(Lanes(code, "@wengert.constants", PTR), number, PTR)
        return code.add(f"load ptr, {entry.typed}, !invariant.load !0", PTR)

    def define(self, name: str, parameters: Sequence[str], write: Callable[[Code], None], attributes: str = "") -> None:
        """Define a function of the module, once for all calls; `write` adds its lines, without the return.

        `parameters` are LLVM's types and names: `ptr noalias %x`.
        """
        if name not in self.shared.functions:
            self.shared.functions[name] = function = FunctionText(", ".join(parameters), Code(), attributes)
            write(function.code)
            function.code.do("ret void")

    def define_part(self, name: str, write: Callable[[Code], None], attributes: str = "") -> None:
        """Define a function of a table and the bounds of a part, for `run_on_all_cores`; `read_part` has them."""
        self.define(name, ("ptr %table", "i64 %begin", "i64 %end"), write, attributes)

    def run(self, name: str, *arguments: Lanes) -> None:
        """Call a function of the module."""
        self.code.do(f"call void @{name}({', '.join(a.typed for a in arguments)})")

    def run_on_all_cores(
        self, name: str, pointers: Sequence[Lanes], extent: int, grain: int, work: int | None = None
    ) -> None:
        """Call a function of a part for parts of a range, which are multiples of `grain`.

        `pointers` are the contents of the table, `work` is the number of scalar operations: enough to wake
        threads, if it is not given.
        """
        code = self.code
        table = Lanes(code, f"%pointers.{len(pointers)}", PTR)
        line = f"  {table.text} = alloca [{len(pointers)} x ptr], align 8"
        if line not in code.hoisted:  # all calls of a program use one table of each length
            code.hoisted.append(line)
        for i, pointer in enumerate(pointers):
            code.store(pointer, code.offset(table, i, PTR))
        work = machine.current.min_operations_to_wake if work is None else work
        if work < machine.current.min_shared_operations or extent < 2 * grain:
            code.do(f"call void @{name}({table.typed}, i64 0, i64 {extent})")
            return
        self.shared.uses_threads = True
        share_work(code, name, table, extent, grain, work)
