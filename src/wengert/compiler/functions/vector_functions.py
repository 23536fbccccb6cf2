"""Vector functions, which kernels call, or inline if there are few calls.

A function is Python code that writes its body on lanes. `@vector(ops.exp)` makes it the native code of an operation;
`@vector_function("fmod.far")` is for parts that other functions call by name. A body calls others by `call`.
`@vector_pair` is for two functions that have most of their work in common: where both are called with one argument, one
function computes both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from wengert.compiler.forms.lowering import lowering, on_floats
from wengert.compiler.machine.fingerprint import CacheEntry
from wengert.compiler.machine.target import read_code
from wengert.compiler.machine.translation import Level, Module, object_codes
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.core.aspects import Operation, primitive_of
from wengert.core.machine import Machine

Body = Callable[..., Lanes | tuple[Lanes, ...]]
Function = TypeVar("Function", bound=Body)
FUNCTIONS: dict[str, Body] = {}
"""All functions by name."""


class Half(NamedTuple):
    """What a function is of a pair: the name of the pair, which of its results, and the other function."""

    pair: str
    result: int
    other: str


HALVES: dict[str, Half] = {}
"""The functions that are one of a pair, by name."""
PAIRS: set[str] = set()
"""The names of pairs, which have two results."""


def function_cost(now: Machine) -> int:
    """The cost of one element, in additions."""
    return now.operations_of_function


def vector(*operations: Operation) -> Callable[[Function], Function]:
    """Make the decorated body the native code of operations: a function with the name of the operation."""

    def decorate(body: Function) -> Function:
        for primitive in map(primitive_of, operations):
            vector_function(primitive.name)(body)
            lowering.enter(on_floats(partial(call, primitive.name), function_cost), primitive)
        return body

    return decorate


def vector_function(name: str) -> Callable[[Function], Function]:
    """Make the decorated body a function that others call by this name."""

    def decorate(body: Function) -> Function:
        FUNCTIONS[name] = body
        return body

    return decorate


def vector_pair(name: str, *operations: Operation) -> Callable[[Function], Function]:
    """Make the decorated body, which has two results, what is called for two operations on one argument."""
    first, second = [primitive_of(operation).name for operation in operations]
    HALVES[first], HALVES[second] = Half(name, 0, second), Half(name, 1, first)
    PAIRS.add(name)
    return vector_function(name)


def call(name: str, x: Lanes, *rest: Lanes) -> Lanes:
    """Call a vector function for the type of its first argument."""
    if name in HALVES:
        return call_half(name, x)
    count_call(x.code, name, x.type)
    return x.code.add(call_text(name, x, *rest), x.type)


def call_half(name: str, x: Lanes) -> Lanes:
    """Call one function of a pair, once in a block for each argument.

    If the other one was called with this argument, the line of that call becomes a call of the pair.
    """
    code, type, half = x.code, x.type, HALVES[name]
    if (name, x.typed) in code.halves:
        return code.halves[name, x.typed][1]
    if (half.other, x.typed) in code.halves:
        line, other = code.halves[half.other, x.typed]
        both, results = code.name(), result_text(half.pair, type)
        code.lines[line] = (
            f"  {both} = {call_text(half.pair, x)}\n  {other.text} = extractvalue {results} {both}, {1 - half.result}"
        )
        count_call(code, half.other, type, -1)
        count_call(code, half.pair, type)
        found = code.add(f"extractvalue {results} {both}, {half.result}", type)
    else:
        line, found = len(code.lines), code.add(call_text(name, x), type)
        count_call(code, name, type)
    code.halves[name, x.typed] = line, found
    return found


def call_text(name: str, x: Lanes, *rest: Lanes) -> str:
    """The instruction that calls a function."""
    arguments = ", ".join(a.typed for a in (x, *rest))
    return f"call {result_text(name, x.type)} @{vector_symbol(name, x.type)}({arguments})"


def count_call(code: Code, name: str, type: Type, change: int = 1) -> None:
    """Count a call of a function, or one that is no more."""
    count = code.calls.pop((name, type), 0) + change
    if count:
        code.calls[name, type] = count


def result_text(name: str, type: Type) -> str:
    """The type of the result of a function, or of both results of a pair."""
    return f"{{ {type.text}, {type.text} }}" if name in PAIRS else type.text


def replace_rare(value: Lanes, rare: Lanes, name: str, x: Lanes, *rest: Lanes) -> Lanes:
    """A value, replaced where a rare condition holds by a function, which is called if any lane needs it.

    The function is never inlined.
    """
    code = x.code
    result = code.variable(x.type, value)
    then, done = code.label("rare"), code.label("done")
    code.branch(any_lane(rare), then, done)
    code.begin(then)
    other = call(name, x, *rest)
    code.lines[-1] += " noinline cold"
    code.store(select(rare, other, value), result)
    code.jump(done)
    code.begin(done)
    return code.load(result, x.type)


def vector_symbol(name: str, type: Type) -> str:
    """The name of a function in LLVM text."""
    return f"wengert.{name}.{type.suffix}"


def is_inlined(calls: dict[tuple[str, Type], int]) -> bool:
    """Whether there are few enough calls to inline them."""
    return sum(calls.values()) <= machine.current.max_inlined_calls_of_module


def definitions(
    calls: Iterable[tuple[str, Type]],
    linkage: str = "internal",
    inlining: str = "alwaysinline",
    bodies: Mapping[str, Body] = FUNCTIONS,
) -> tuple[list[str], dict[str, str]]:
    """The texts of functions and of those that they call, and their declarations.

    Internal functions are inlined, or LLVM decides if `inlining` is empty. Another linkage, for one function, makes it
    visible to other modules. Another target may have other `bodies`.
    """
    wanted = dict.fromkeys(calls)
    texts: list[str] = []
    declarations: dict[str, str] = {}
    done: set[tuple[str, Type]] = set()
    while len(done) < len(wanted):
        for name, type in [key for key in wanted if key not in done]:
            own = "internal" if done else linkage
            done.add((name, type))
            code, arity = Code(), bodies[name].__code__.co_argcount
            result = write_result(code, bodies[name](*[Lanes(code, f"%x{i}", type) for i in range(arity)]))
            parameters = ", ".join(f"{type.text} %x{i}" for i in range(arity))
            inline = inlining if own == "internal" else ""
            texts.append(
                f"define {own} {result_text(name, type)} @{vector_symbol(name, type)}({parameters}) {inline} "
                f"nounwind willreturn memory(none) {{\n"
                + "\n".join([*code.hoisted, *code.lines, f"  ret {result_text(name, type)} {result}", "}"])
            )
            declarations |= code.declarations
            wanted |= dict.fromkeys(code.calls)
    return texts, declarations


def write_result(code: Code, result: Lanes | tuple[Lanes, ...]) -> str:
    """The text of what a function returns; several results are one value."""
    if isinstance(result, Lanes):
        return result.text
    types, whole = ", ".join([x.type.text for x in result]), "poison"
    for i, x in enumerate(result):
        name = code.name()
        code.do(f"{name} = insertvalue {{ {types} }} {whole}, {x.typed}, {i}")
        whole = name
    return whole


def declaration(name: str, type: Type) -> str:
    """The declaration of a function that is compiled by itself."""
    parameters = ", ".join([type.text] * FUNCTIONS[name].__code__.co_argcount)
    symbol = vector_symbol(name, type)
    return f"declare {result_text(name, type)} @{symbol}({parameters}) nounwind willreturn memory(none)"


def translate_with_functions(
    modules: Sequence[Module], functions: Sequence[tuple[str, Type]], is_quick: bool
) -> list[bytes]:
    """The machine code of modules and of the functions that they call, which is found in this process or on disk."""
    level = Level.QUICK if is_quick else Level.USUAL
    entries = {(*key, level): CacheEntry("vector function", *map(str, (*key, level))) for key in functions}
    for key, kept in entries.items():
        if key not in _CODES and (code := kept.load(read_code)) is not None:
            _CODES[key] = code
    missing = [key for key in entries if key not in _CODES]
    codes = object_codes([*modules, *[function_module(*key) for key in missing]])
    for key, code in zip(missing, codes[len(modules) :], strict=True):
        _CODES[key] = code
        entries[key].store(code)
    return [*codes[: len(modules)], *[_CODES[key] for key in entries]]


_CODES: dict[tuple[str, Type, Level], bytes] = {}
"""The machine code of functions."""


def function_module(name: str, type: Type, level: Level) -> Module:
    """The module of one function."""
    texts, declarations = definitions([(name, type)], linkage="")
    return Module("\n".join([*declarations.values(), *texts]), level)
