"""The command in a shell: streams that are closed or full, and input that is meant badly.

Always an exit status, never a traceback.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from wengert.cli import FAILED, FINE, USAGE
from wengert.terminal import printable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the streams are redirected by a POSIX shell")

WENGERT = f"{shlex.quote(sys.executable)} -m wengert"


def shell(line: str, **environment: str) -> tuple[int, str, str]:
    """The status, the output and the messages of a line of the shell, in which W is the command."""
    done = subprocess.run(
        ["sh", "-c", line.replace("W ", f"{WENGERT} ", 1)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )
    assert "Traceback" not in done.stderr + done.stdout
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


CLOSED = "error: standard output: Bad file descriptor\n"
FULL = "error: standard output: No space left on device\n"
STREAMS = [
    ("W grad x x=1 >&-", FAILED, CLOSED),
    ("W explain x x=1 >&-", FAILED, CLOSED),
    ("W explain x x=1 --html=- >&-", FAILED, CLOSED),
    ("W --help >&-", FAILED, CLOSED),
    ("W grad --help >&-", FAILED, CLOSED),
    ("W --version >&-", FAILED, CLOSED),
    ("W info --json >&-", FAILED, CLOSED),
    ("W grad x x=1 <&- >&- 2>&-", FAILED, ""),
    (
        "W grad x+ x=1 >&-",
        USAGE,
        "error: The formula ends too early: a number, a name or a bracket is missing.\n  x+\n    ^\n",
    ),
    ("W grad x x=1 2>&-", FINE, ""),
    ("W grad x x=inf 2>&-", FINE, ""),
    ("W grad x+ x=1 2>&-", USAGE, ""),
    ("W grad x+ x=1 --traceback 2>&-", USAGE, ""),
    ("W grad x --frobnicate 2>&-", USAGE, ""),
    ("W --help 2>&-", FINE, ""),
    ("W grad x x=1 >/dev/full", FAILED, FULL),
    ("W explain x x=1 --html=- >/dev/full", FAILED, FULL),
    ("W why x x=1 >/dev/full", FAILED, FULL),
    ("W compare x x=1 >/dev/full", FAILED, FULL),
    ("W --help >/dev/full", FAILED, FULL),
    ("W --version >/dev/full", FAILED, FULL),
    ("W grad x x=inf 2>/dev/full", FINE, ""),
    ("W grad x+ x=1 2>/dev/full", USAGE, ""),
    ("W grad x --frobnicate 2>/dev/full", USAGE, ""),
    ("W grad x x=1 >/dev/full 2>&1", FAILED, ""),
]
STREAMS = [case for case in STREAMS if "/dev/full" not in case[0] or os.path.exists("/dev/full")]


@pytest.mark.parametrize(("line", "status", "messages"), STREAMS, ids=[line for line, _, _ in STREAMS])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_streams_that_cannot_be_written(line, status, messages, unbuffered):
    found, _, err = shell(line, PYTHONUNBUFFERED=unbuffered)
    assert (found, err) == (status, messages)


@pytest.mark.parametrize("words", ["explain 'sin(x)' x=1 --html=-", "--help", "--version", "grad x x=1"])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_nobody_reads_on(words, unbuffered):
    status, _, err = shell(f"{{ sleep 0.2; W {words}; echo $? >&2; }} | true", PYTHONUNBUFFERED=unbuffered)
    assert (status, err) == (0, f"{FAILED}\n")


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    for ending in ("html", "svg"):
        (tmp_path / f"full.{ending}").symlink_to("/dev/full")
        for command in ("explain", "compare")[: 1 + (ending == "svg")]:
            status, _, err = shell(f"W {command} x x=1 --{ending} {tmp_path}/full.{ending}")
            assert (status, err) == (FAILED, f"error: {tmp_path}/full.{ending}: No space left on device\n")


MANY = "9" * 5000
LARGE = "9" * 320
BAD = [
    (["grad", "__debug__", "__debug__=1"], "'__debug__' cannot be the name of a variable"),
    (["grad", "__debug__*x", "x=1"], "'__debug__' has a meaning in Python"),
    (["explain", "x", "x=1", "--seed", "__debug__=1"], "'__debug__' cannot be the name of a variable"),
    (["grad", "x", f"x={MANY}"], "The value of x: an integer of 5000 digits is larger than any floating-point number."),
    (["grad", "x", f"x=-{MANY}"], "an integer of 5000 digits"),
    (["grad", "x", f"x=[1, {MANY}]"], "an integer of 5000 digits"),
    (["grad", "x", f"x={LARGE}"], "an integer of 320 digits"),
    (["grad", "x", "x=1e999"], "The value of x: 1e999 is larger than any floating-point number."),
    (["grad", "x", f"x=+{LARGE}"], "larger than any floating-point number"),
    (["grad", f"x*{MANY}", "x=1"], "larger than any floating-point number"),
    (["grad", "x*1e999", "x=1"], "larger than any floating-point number"),
    (["grad", f"x[{MANY}]", "x=[1]"], "An index or an axis is an integer."),
    (["grad", f"x^{'9' * 400}", "x=1"], "larger than any floating-point number"),
    (["explain", "x", "x=1", "--seed", f"x={MANY}"], "an integer of 5000 digits"),
    (["grad", "x", "--at", f"x={'[' * 30000}{']' * 30000}"], "The value of x is nested too deeply."),
    (["grad", "x", "--at", f"x={'[' * 65}1{']' * 65}"], "The value of x is nested deeper than 64 levels."),
    (["grad", "x", "--at", "x=" + '{"a":' * 5000 + "1" + "}" * 5000], "The value of x is nested too deeply."),
    (["grad", "x", "--at", "x=" + '{"a":' * 100 + "1" + "}" * 100], "nested deeper than 64 levels"),
    (["grad", "(" * 3000 + "x" + ")" * 3000, "x=1"], "nested deeper than 50 levels"),
    (["grad", "x + \x1b[31m", "x=1"], r"'\x1b' means nothing in a formula."),
    (["grad", "x + \x1b]0;title\x07", "x=1"], r"'\x1b' means nothing in a formula."),
    (["grad", "x + $ \x9b31m", "x=1"], "'$' means nothing in a formula."),
    (["grad", "x", "x=\x1b[2J"], r"The value of x: '\x1b' means nothing in a formula."),
    (["grad", "x", "\x1b=1"], r"'\x1b=1' is not an argument"),
    (["grad", "\x1b[31m.py:f", "x=1"], r"There is no file \x1b[31m.py."),
    (["grad", "x", "x=@\x1b[31m.npy"], r"\x1b[31m.npy cannot be read"),
    (["grad", "x", "x=1", "--\x1b[31m"], r"unrecognized arguments: --\x1b[31m"),
    (["\x1b[31m"], r"invalid choice: '\x1b[31m'"),
    (["grad", "\udcff", "x=1"], r"'\udcff' means nothing in a formula."),
]


@pytest.mark.parametrize(
    ("words", "message"), BAD, ids=[f"{i}-{printable(words[-1])[:12]}" for i, (words, _) in enumerate(BAD)]
)
def test_bad_input(words, message, tmp_path):
    arguments = [word.encode(errors="surrogateescape") for word in words]
    done = subprocess.run([sys.executable, "-m", "wengert", *arguments], capture_output=True, timeout=300, cwd=tmp_path)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert (done.returncode, out) == (USAGE, "")
    assert message in err
    assert "Traceback" not in err
    assert all(c.isprintable() or c == "\n" for c in err)
    assert len(err) < 1000


def test_an_escape_in_the_name_of_a_file_stays_a_text(tmp_path):
    status, _, err = shell(f"W explain x x=1 --html '{tmp_path}/none/\x1b[31m.html'")
    assert (status, err) == (FAILED, f"error: {tmp_path}/none/\\x1b[31m.html: No such file or directory\n")


@pytest.mark.parametrize(
    "environment",
    [{"LANG": "C", "LC_ALL": "C"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}, {"HOME": "/nonexistent"}],
)
def test_environments(environment):
    status, out, err = shell("W explain 'sin(x)' x=1", **environment)
    assert (status, err) == (FINE, "")
    assert out.startswith("f(x) = 0.841")
