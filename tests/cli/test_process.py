"""The command as a process, and what documentation shows of it."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys

import pytest
from tests.cli.commands import ROOT, RUNNING, run_process
from tests.fresh_python import run_python

from wengert.cli import FAILED, FINE


def test_the_module_is_the_command():
    done = run_process("explain", *RUNNING, PYTHONIOENCODING="utf-8")
    assert done.returncode == FINE
    assert done.stderr == ""
    for piece in ("ln v-1", "11.652", "5.5", "1.716"):
        assert piece in done.stdout
    assert "\x1b" not in done.stdout


def test_a_terminal_without_mathematics():
    done = run_process("explain", *RUNNING, PYTHONIOENCODING="ascii")
    assert done.returncode == FINE
    assert "?f/?x1 = 5.5" in done.stdout


def test_a_reader_that_goes_away_is_no_traceback():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "wengert", "grad", *RUNNING],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == FAILED
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_help_leaves_heavy_parts_alone():
    heavy = (
        "llvmlite",
        "scipy",
        "rich",
        "sympy",
        "igraph",
        "json",
        "wengert.compiler",
        "wengert.explain.tables.plain_text",
    )
    code = "import sys, wengert.cli; wengert.cli.main(['--help']);"
    code += f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    done = run_python(code)
    assert done.stderr.strip() == "[]"
    assert "wengert explain" in done.stdout


def test_the_script_is_declared():
    import tomllib

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"] == {"wengert": "wengert.cli:main"}


CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = [
    (page.name, lines[0], "\n".join(lines[1:]))
    for page in (ROOT / "README.md", ROOT / "docs" / "explain.md")
    for block in CONSOLE.findall(page.read_text(encoding="utf-8"))
    for lines in [part.splitlines() for part in block.split("$ ")[1:]]
]


@pytest.mark.parametrize(("page", "line", "output"), SHOWN, ids=[f"{page}: {line}" for page, line, _ in SHOWN])
def test_documented_commands_print_what_is_shown(command, tmp_path, page, line, output):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program, *words = shlex.split(line)
    assert program == "wengert"
    _, out, err = command(*words)
    found = "\n".join(
        text.rstrip() for text in f"{out}{re.sub(r'.* written$', '', err, flags=re.MULTILINE)}".strip().splitlines()
    )
    assert doctest.OutputChecker().check_output(output, found, doctest.ELLIPSIS), found


def test_commands_are_documented():
    assert len(SHOWN) >= 4
