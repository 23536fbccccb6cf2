"""How kernels call the vector functions: out of line, or inlined where there are few calls.

A function is Python that writes its body on lanes. `@vector(ops.exp)` makes it the native code of an operation, whose
name is its symbol; `@function("sin.huge")` is for parts that have a symbol of their own. A body may call others by
`call`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

from wengert.compiler.lanes import Code, Lanes, Type
from wengert.compiler.lowering import lowering, on_floats
from wengert.compiler.target import object_code
from wengert.core.aspects import Operation, primitive_of

Body = Callable[..., Lanes]
FUNCTIONS: dict[str, Body] = {}
"""Every function by its symbol."""

COST = 16
"""Of one element, in additions."""

INLINED_CALLS = 12
"""So many calls of vector functions in one module are inlined; more would make LLVM slow."""


def vector(*operations: Operation) -> Callable[[Body], Body]:
    """Make the decorated body the native code of these operations, a function that kernels call by the operation's
    name.
    """

    def decorate(body: Body) -> Body:
        for primitive in map(primitive_of, operations):
            vector_function(primitive.name)(body)
            lowering.enter(on_floats(partial(call, primitive.name), COST), primitive)
        return body

    return decorate


def vector_function(name: str) -> Callable[[Body], Body]:
    """Make the decorated body a function that other functions call by this name."""

    def decorate(body: Body) -> Body:
        FUNCTIONS[name] = body
        return body

    return decorate


def call(name: str, x: Lanes, *rest: Lanes) -> Lanes:
    """A call of a vector function, of the type of its first argument."""
    code, type = x.code, x.type
    code.calls[name, type] = code.calls.get((name, type), 0) + 1
    arguments = ", ".join(a.typed for a in (x, *rest))
    return code.add(f"call {type.text} @{vector_symbol(name, type)}({arguments})", type)


def vector_symbol(name: str, type: Type) -> str:
    return f"wengert.{name}.{type.suffix}"


def is_inlined(calls: dict[tuple[str, Type], int]) -> bool:
    return sum(calls.values()) <= INLINED_CALLS


def definitions(calls: Iterable[tuple[str, Type]], linkage: str = "internal") -> tuple[list[str], dict[str, str]]:
    """The texts of functions, and of those that they call; and the declarations that they need.

    With another linkage than "internal", which is for one function, that one is seen from outside; what is not is
    inlined.
    """
    wanted = dict.fromkeys(calls)
    texts: list[str] = []
    declarations: dict[str, str] = {}
    done: set[tuple[str, Type]] = set()
    while len(done) < len(wanted):
        for name, type in [key for key in wanted if key not in done]:
            own = "internal" if done else linkage
            done.add((name, type))
            code, arity = Code(), FUNCTIONS[name].__code__.co_argcount
            result = FUNCTIONS[name](*[Lanes(code, f"%x{i}", type) for i in range(arity)])
            parameters = ", ".join(f"{type.text} %x{i}" for i in range(arity))
            inline = "alwaysinline" if own == "internal" else ""
            texts.append(
                f"define {own} {type.text} @{vector_symbol(name, type)}({parameters}) {inline} nounwind willreturn "
                f"memory(none) {{\n" + "\n".join([*code.hoisted, *code.lines, f"  ret {result.typed}", "}"])
            )
            declarations |= code.declarations
            wanted |= dict.fromkeys(code.calls)
    return texts, declarations


def declaration(name: str, type: Type) -> str:
    """How a module names a function that is compiled on its own."""
    parameters = ", ".join([type.text] * FUNCTIONS[name].__code__.co_argcount)
    return f"declare {type.text} @{vector_symbol(name, type)}({parameters}) nounwind willreturn memory(none)"


@cache
def function_code(name: str, type: Type) -> bytes:
    """The machine code of one function, made once."""
    texts, declarations = definitions([(name, type)], linkage="")
    return object_code("\n".join([*declarations.values(), *texts]))
