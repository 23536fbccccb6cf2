"""What stands beside an exported library: files for pkg-config and CMake, and an example in C."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wengert.compiler.machine.target import Target
from wengert.export.c_names import is_in_library
from wengert.export.interface import Interface, Parameter, unused_name

MOST_NUMBERS = 4096
"""An example has so many numbers as text; more are computed."""


def write_pkg_config(interface: Interface, file: str, version: str) -> str:
    """The description for pkg-config, of files in one folder, wherever that is."""
    link = f"-L${{pcfiledir}} -l{interface.name}" if file.startswith("lib") else f"${{pcfiledir}}/{file}"
    return "\n".join(
        [
            f"Name: {interface.name}",
            f"Description: {interface.summary}",
            f"Version: {version}",
            "Cflags: -I${pcfiledir}",
            f"Libs: {link}",
            "",
        ]
    )


def write_cmake(interface: Interface, file: str) -> str:
    """The target for CMake: `include(name.cmake)`, `target_link_libraries(program name)`."""
    name = interface.name
    kind, location = ("STATIC", "IMPORTED_LOCATION") if is_library(file) else ("OBJECT", "IMPORTED_OBJECTS")
    return "\n".join(
        [
            f"add_library({name} {kind} IMPORTED)",
            f"set_target_properties({name} PROPERTIES",
            f'    {location} "${{CMAKE_CURRENT_LIST_DIR}}/{file}"',
            '    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")',
            "",
        ]
    )


def is_library(file: str) -> bool:
    """Whether a file is a static library."""
    return file.endswith((".a", ".lib"))


def write_example(
    interface: Interface, arena: int, values: Sequence[np.ndarray], file: str, target: Target
) -> dict[str, str]:
    """A program that calls the function once and prints the results, by the name of its file: in C, or JavaScript."""
    if target.triple.startswith("wasm") and not file.endswith(".c"):
        return {f"{interface.name}_example.mjs": write_module_example(interface, arena, values, file)}
    return {f"{interface.name}_example.c": write_c_example(interface, arena, values, file)}


def write_c_example(interface: Interface, arena: int, values: Sequence[np.ndarray], file: str) -> str:
    """A program in C that calls the function once, and prints all numbers of the results."""
    name, interface = interface.name, with_free_names(interface)
    arguments = ", ".join([*[p.name for p in (*interface.inputs, *interface.outputs)], "arena" if arena else "0"])
    computed = [
        line
        for p, value in zip(interface.inputs, values, strict=True)
        if value.size > MOST_NUMBERS
        for line in compute_array(p)
    ]
    memory = [f"static unsigned char arena[{name.upper()}_ARENA];"] if arena else []
    return "\n".join(
        [
            f"/* Calls {name} once:  cc {name}_example.c {file} -lm -o example && ./example */",
            "#include <stdio.h>",
            "",
            f'#include "{name}.h"',
            "",
            *[define_array(p, value) for p, value in zip(interface.inputs, values, strict=True)],
            *[f"static {p.c_type} {p.name}[{max(p.length, 1)}];" for p in interface.outputs],
            *memory,
            "",
            "int main(void)",
            "{",
            *(["    int i;", *computed] if computed or any(p.length for p in interface.outputs) else []),
            f"    int status = {name}({arguments});",
            "    if (status != 0) {",
            f'        fprintf(stderr, "{name} failed: %d\\n", status);',
            "        return 1;",
            "    }",
            *[line for p in interface.outputs for line in print_array(p)],
            "    return 0;",
            "}",
            "",
        ]
    )


def with_free_names(interface: Interface) -> Interface:
    """The interface with names of parameters that the example may have for arrays: none that it, or <stdio.h>, uses."""
    used = {p.name for p in (*interface.inputs, *interface.outputs)}
    is_used = lambda name: name in ("i", "status") or is_in_library(name)
    free = lambda p: p._replace(name=unused_name(f"{p.name}_", used)) if is_used(p.name) else p
    return interface._replace(inputs=tuple(map(free, interface.inputs)), outputs=tuple(map(free, interface.outputs)))


def define_array(p: Parameter, value: np.ndarray) -> str:
    """An argument of the example, with its numbers if they are few."""
    if value.size > MOST_NUMBERS:
        return f"static {p.c_type} {p.name}[{p.length}];"
    numbers = np.ascontiguousarray(value).reshape(-1)
    if numbers.dtype.kind == "c":
        numbers = numbers.view(numbers.real.dtype)
    text = ", ".join(map(c_number, numbers.tolist())) or "0"
    return f"static const {p.c_type} {p.name}[{max(p.length, 1)}] = {{{text}}};"


def c_number(value: float | int | bool) -> str:
    """A number of C that is exactly this one.

    >>> c_number(0.5), c_number(True), c_number(-2)
    ('0.5', '1', '-2')
    """
    if isinstance(value, float):
        if math.isnan(value):
            return "(0.0 / 0.0)"
        return repr(value) if math.isfinite(value) else f"({'-' if value < 0 else ''}1.0 / 0.0)"
    return str(int(value))


def compute_array(p: Parameter) -> list[str]:
    """The lines that fill a long argument with numbers between 0 and 1, or with zeros."""
    value = "1.0 / (1 + i % 7)" if p.spec.dtype.kind in "fc" else "0"
    return [f"    for (i = 0; i < {p.length}; i++) {p.name}[i] = {value};"]


def print_array(p: Parameter) -> list[str]:
    """The lines that print a result, each number on a line of its own."""
    is_float = p.spec.dtype.kind in "fc"
    printed = f'"{p.name}[%d] = %.17g\\n", i, (double){p.name}[i]'
    if not is_float:
        printed = f'"{p.name}[%d] = %lld\\n", i, (long long){p.name}[i]'
    return [f"    for (i = 0; i < {p.length}; i++) printf({printed});"]


# WebAssembly

JAVASCRIPT_ARRAYS = {
    "double": "Float64Array",
    "float": "Float32Array",
    "int64_t": "BigInt64Array",
    "int32_t": "Int32Array",
    "uint8_t": "Uint8Array",
}


def write_module_example(interface: Interface, arena: int, values: Sequence[np.ndarray], file: str) -> str:
    """A module of JavaScript that calls the function once, and prints all numbers of the results."""
    name = interface.name
    inputs = [
        f"    put(new {JAVASCRIPT_ARRAYS[p.c_type]}([{javascript_numbers(p, value)}])),"
        for p, value in zip(interface.inputs, values, strict=True)
    ]
    outputs = [f"    put(new {JAVASCRIPT_ARRAYS[p.c_type]}({p.length}))," for p in interface.outputs]
    names = ", ".join([f'"{p.name}"' for p in interface.outputs])
    return "\n".join(
        [
            f"// Calls {name} once, in Node; a browser fetches the module instead of reading it:",
            f"//   wasm-ld --no-entry --export={name} --export=__heap_base {file} -o {name}.wasm",
            f"//   node {name}_example.mjs",
            'import { readFileSync } from "node:fs";',
            "",
            f'const code = readFileSync(new URL("{name}.wasm", import.meta.url));',
            "const { instance } = await WebAssembly.instantiate(code);",
            "const { memory, __heap_base } = instance.exports;",
            "let next = __heap_base.value;",
            "",
            "// Copies an array to the memory of the module, and returns where it is.",
            "function put(array) {",
            "    const start = (next + 63) & ~63;",
            "    next = start + array.byteLength;",
            "    const missing = next - memory.buffer.byteLength;",
            "    if (missing > 0) memory.grow(Math.ceil(missing / 65536));",
            "    new array.constructor(memory.buffer, start, array.length).set(array);",
            "    return { start, length: array.length, type: array.constructor };",
            "}",
            "",
            "const inputs = [",
            *inputs,
            "];",
            "const outputs = [",
            *outputs,
            "];",
            f"const arena = put(new Uint8Array({arena}));",
            f"const status = instance.exports.{name}(...[...inputs, ...outputs, arena].map((part) => part.start));",
            f'if (status !== 0) throw new Error("{name} failed: " + status);',
            f"[{names}].forEach((name, k) => {{",
            "    const { start, length, type } = outputs[k];",
            "    new type(memory.buffer, start, length).forEach((x, i) => console.log(`${name}[${i}] = ${x}`));",
            "});",
            "",
        ]
    )


def javascript_numbers(p: Parameter, value: np.ndarray) -> str:
    """The numbers of an argument in JavaScript."""
    numbers = np.ascontiguousarray(value).reshape(-1)
    parts = (numbers.view(numbers.real.dtype) if numbers.dtype.kind == "c" else numbers).tolist()
    if p.c_type == "int64_t":
        return ", ".join([f"{part}n" for part in parts])
    words = [repr(x) if isinstance(x, float) else str(int(x)) for x in parts]
    return ", ".join(words).replace("inf", "Infinity").replace("nan", "NaN")
