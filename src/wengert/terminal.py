"""What the command prints: results on standard output, messages on standard error, even if one of them is closed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

STDOUT = "standard output"


def prepare_streams() -> None:
    """Replace characters that a terminal cannot show, and open closed streams as the null device.

    Otherwise the next file that is opened would take the place of a closed stream.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, os.O_RDONLY), "r" if name == "stdin" else "w"))  # noqa: SIM115  # it stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def obstacle(stream: TextIO) -> OSError | None:
    """The error that keeps a stream from being flushed, if there is one.

    The stream is then the null device, so that flushing it at exit raises no error.
    """
    try:
        stream.flush()
    except OSError as error:
        error.filename = STDOUT
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def complain(message: str) -> None:
    """Print an error message."""
    red, plain = ("\x1b[1;31m", "\x1b[0m") if is_colored(sys.stderr) else ("", "")
    say(f"{red}error:{plain} {printable(message)}")


def note(message: str) -> None:
    """Print a message beside the results."""
    faint, plain = ("\x1b[2m", "\x1b[0m") if is_colored(sys.stderr) else ("", "")
    say(f"{faint}{printable(message)}{plain}")


def show(text: Any) -> None:
    """Print and flush a result; an error then names standard output."""
    with naming_file(STDOUT):
        print(text, flush=True)


@contextmanager
def naming_file(file: str) -> Iterator[None]:
    """Make an OSError name this file, which that of a full disk does not do."""
    try:
        yield
    except OSError as error:
        error.filename = file
        raise


def say(text: str) -> None:
    """Print to standard error, unless that is closed."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def printable(text: str) -> str:
    r"""A string in which control characters are escaped.

    >>> print(printable("red: \x1b[31m"))
    red: \x1b[31m
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def is_colored(stream: TextIO) -> bool:
    """Whether a stream shows colours, and the user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
