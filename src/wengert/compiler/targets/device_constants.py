"""Constants of double precision in PTX: they are read from a table, by one instruction each.

An instruction has room for 32 bits of a constant. Where the others are not zero, two instructions would put both
halves into registers, and in a polynomial that is as many as compute. Half as many read them from constant memory.
"""

from __future__ import annotations

import re

from wengert.core import machine

TABLE = "wengert_constants"
ARITHMETIC = re.compile(r"\t(?:fma|add|sub|mul)\.rn\.f64 ")
LONG = re.compile(r"0d[0-9A-F]{8}(?!00000000)[0-9A-F]{8}")
"""Constants that need more than 32 bits."""


def read_constants(ptx: str) -> str:
    """PTX whose arithmetic reads long constants from a table."""
    numbers: dict[str, int] = {}
    most = machine.current.max_constants_of_device_table
    lines: list[str] = []
    start, registers = 0, 0
    for line in ptx.splitlines():
        if line == "{":
            start, registers = len(lines) + 1, 0
        elif line == "}" and registers:
            lines.insert(start, f"\t.reg .f64 \t%constant<{registers}>;")
        elif ARITHMETIC.match(line):
            for text in LONG.findall(line):
                if text not in numbers and len(numbers) >= most:
                    continue
                number = numbers.setdefault(text, len(numbers))
                lines.append(f"\tld.const.f64 \t%constant{registers}, [{TABLE}+{8 * number}];")
                line = line.replace(text, f"%constant{registers}")
                registers += 1
        lines.append(line)
    if not numbers:
        return ptx
    table = f".const .align 8 .f64 {TABLE}[{len(numbers)}] = {{{', '.join(numbers)}}};"
    head = next(i for i, line in enumerate(lines) if line.startswith(".address_size")) + 1
    return "\n".join([*lines[:head], table, *lines[head:], ""])
