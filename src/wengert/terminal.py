"""What the command says and where: results on the output, messages beside them, whatever became of the two streams."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

STDOUT = "standard output"


def prepare_streams() -> None:
    """A terminal that cannot write ∂ shows a question mark.

    A stream that is closed cannot be written, and no file may take its place.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, os.O_RDONLY), "r" if name == "stdin" else "w"))  # noqa: SIM115  # it stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def obstacle(stream: TextIO) -> OSError | None:
    """What keeps a stream from being written, if anything does.

    It then leads nowhere, so that nothing is left to be flushed at exit.
    """
    try:
        stream.flush()
    except OSError as error:
        error.filename = STDOUT
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def complain(message: str) -> None:
    red, plain = ("\x1b[1;31m", "\x1b[0m") if is_colored(sys.stderr) else ("", "")
    say(f"{red}error:{plain} {printable(message)}")


def note(message: str) -> None:
    faint, plain = ("\x1b[2m", "\x1b[0m") if is_colored(sys.stderr) else ("", "")
    say(f"{faint}{printable(message)}{plain}")


def show(text: Any) -> None:
    """Print a result, at once: that it cannot be written is an error of its own."""
    with about(STDOUT):
        print(text, flush=True)


@contextmanager
def about(file: str) -> Iterator[None]:
    """Errors of the system name this file; a full disk does not by itself."""
    try:
        yield
    except OSError as error:
        error.filename = file
        raise


def say(text: str) -> None:
    """Tell the user, who may have closed this way of being told."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def printable(text: str) -> str:
    """A text in which characters that would command the terminal are spelt out.

    >>> print(printable("red: \\x1b[31m"))
    red: \\x1b[31m
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def is_colored(stream: TextIO) -> bool:
    """Whether colours can be seen and are wanted."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
