"""How kernels call the vector functions: out of line, or inlined where there are few calls.

`FUNCTIONS` has each function by its name in the table of operations: Python that writes its body on lanes. A function written with
`@vector("exp")` may call others by `call`.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.compiler.lanes import Code, Lanes, Type

FUNCTIONS: dict[str, Callable[..., Lanes]] = {}

INLINED_CALLS = 12
"""So many calls of vector functions in one module are inlined; more would make LLVM slow."""


def vector(*names: str) -> Callable[[Callable[..., Lanes]], Callable[..., Lanes]]:
    """Make the decorated body a function that kernels can call by these names."""

    def decorate(body: Callable[..., Lanes]) -> Callable[..., Lanes]:
        for name in names:
            FUNCTIONS[name] = body
        return body

    return decorate


def call(name: str, x: Lanes, *rest: Lanes) -> Lanes:
    """A call of a vector function, of the type of its first argument."""
    code, type = x.code, x.type
    code.calls[name, type] = code.calls.get((name, type), 0) + 1
    arguments = ", ".join(a.typed for a in (x, *rest))
    return code.add(f"call {type.text} @{symbol(name, type)}({arguments})", type)


def symbol(name: str, type: Type) -> str:
    return f"wengert.{name}.{type.suffix}"


def definitions(calls: dict[tuple[str, Type], int]) -> tuple[list[str], dict[str, str]]:
    """The texts of all functions that are called, directly or by others, and the declarations that they need."""
    inline = sum(calls.values()) <= INLINED_CALLS
    wanted, texts = dict(calls), []
    declarations: dict[str, str] = {}
    done: set[tuple[str, Type]] = set()
    while len(done) < len(wanted):
        for name, type in [key for key in wanted if key not in done]:
            done.add((name, type))
            code, arity = Code(), FUNCTIONS[name].__code__.co_argcount
            result = FUNCTIONS[name](*[Lanes(code, f"%x{i}", type) for i in range(arity)])
            parameters = ", ".join(f"{type.text} %x{i}" for i in range(arity))
            attributes = "alwaysinline" if inline else "noinline"
            texts.append(
                f"define internal {type.text} @{symbol(name, type)}({parameters}) {attributes} nounwind willreturn memory(none) {{\n"
                + "\n".join([*code.hoisted, *code.lines, f"  ret {result.typed}", "}"])
            )
            declarations |= code.declarations
            for key, count in code.calls.items():
                wanted[key] = wanted.get(key, 0) + count
    return texts, declarations
