"""The stack of a program: it does not grow with the number of results, arguments, fallbacks or products."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import wengert as wg
from wengert.compiler.entry.entry import write_entry
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_writer import write_program
from wengert.core import machine

MANY = """
import numpy as np, wengert as wg

def products(a, n):
    for _ in range(n):
        a = np.sin(a @ a[:, ::-1])
    return a

def cases(n):
    x = np.arange(float(n))
    return {
        "results": (lambda x: tuple(x[i] * 2.0 for i in range(n)), (x,)),
        "arguments": (lambda *x: x[::2], tuple(map(float, x))),
        "fallbacks": (lambda x: [np.sort(x[i : i + 3] * 1.0, kind="quicksort") for i in range(n // 5)], (x,)),
        "products": (lambda a: products(a, n // 8), (np.ones((40, 40)) / 40,)),
    }
"""
SMALL_STACK = f"""
import threading
{MANY}
programs = [(wg.compile(f), args) for f, args in cases(300).values()]
results, agree = [f(*args) for f, args in programs], []
threading.stack_size(64 * 1024)
def work():
    for (f, args), expected in zip(programs, results):
        agree.append(all(map(np.array_equal, f(*args), expected)))
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(agree)
"""
CASES: dict = {}
exec(MANY, CASES)


def stack_bytes(function: str) -> int:
    """The bytes of the variables of a function in LLVM text."""
    sizes = {"i1": 1, "i8": 1, "i32": 4, "i64": 8, "ptr": 8, "float": 4, "double": 8}
    found = re.findall(r"alloca (?:[\[<](\d+) x )?(\w+)", function)
    return sum(int(count or 1) * sizes[element] for count, element in found)


@pytest.mark.parametrize("name", CASES["cases"](1))
def test_little_is_put_on_the_stack(name):
    f, args = CASES["cases"](3000)[name]
    program = write_program(prepare(wg.compile(f).trace(*args), rolls=False))
    functions = "\n".join([module.text for module in program.modules]).split("\ndefine ")
    assert max(map(stack_bytes, functions)) <= 4096


def test_an_entry_puts_few_values_on_the_stack():
    argument, count = Argument.of(1.0), machine.current.max_values_of_native_entry
    most = EntrySignature([argument] * (count - 1), argument.spec)
    assert most.fits
    assert not EntrySignature([argument] * count, argument.spec).fits
    assert stack_bytes(write_entry(most)) <= 32 * count
    tree = EntrySignature([[argument] * 50, {"a": (argument,) * 50}], {"b": argument.spec})
    assert tree.fits
    assert stack_bytes(write_entry(tree)) <= 32 * count
    assert not EntrySignature([[[argument] * (count - 2)]], argument.spec).fits


def test_programs_run_on_a_small_stack():
    done = subprocess.run(
        [sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, timeout=300, env=os.environ.copy()
    )
    assert (done.returncode, done.stdout.strip()) == (0, str([True] * 4)), done.stderr
