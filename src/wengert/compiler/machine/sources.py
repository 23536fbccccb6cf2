"""The sources of this package as a hash of their contents, which is kept on disk until a file changes.

To read hundreds of files takes longer than to load a program. So the cache on disk has the hash, and one of the states
of all files and folders when it was computed; files are read again only if that is different. To ask for states takes
time, too, so folders are left out that have no part in the way from a graph to machine code. A state has the time of
the last change (`st_ctime`), which only the system sets: after any change of a file, also of its name or its other
times, it is the time of the change. That is right to a few milliseconds, so younger states are not kept.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import time
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path

from wengert.compiler.machine import cache as disk
from wengert.core import IMPORTED, machine

PACKAGE = str(Path(__file__).parent.parent.parent)
LEFT_OUT = frozenset(
    (
        *("array_libraries", "autograd", "compat", "data", "explain", "export", "integrate", "nn", "optim", "optimize"),
        *("random", "source", "stats"),
    )
)
"""Folders that enter nothing into the tables of the compiler, and that it does not call on the way from a graph to
machine code: they make graphs, and call programs. (The disk also keeps colourings, so `structure/` is not left out.)
"""

FORMAT = "sources, 5"
"""What is kept on disk, as part of its key."""

State = tuple[int, int, int, int]
"""Number and size of a file or folder, and when it was modified and changed, in nanoseconds."""


def contents() -> str | None:
    """A hash of the sources; None if they cannot be read, or have changed since this process imported the package."""
    try:
        digest, changed = read_known() or hash_files()
    except OSError:  # the package is no folder of files
        return None
    return digest if changed is not None and is_older(changed, IMPORTED) else None


def read_known() -> tuple[str, int] | None:
    """The hash that is on disk, and when a source was last changed; None if a file or folder has another state now."""
    stored = disk.load(stored_key())
    if stored is not None:
        try:
            digest, changed, paths, states = marshal.loads(stored)
            if hash(tuple(file_states(paths))) == states:
                return digest, changed
        except OSError:  # a file is not there any more
            return None
        except (EOFError, TypeError, ValueError):  # something else is under this key
            disk.discard(stored_key())
    return None


def hash_files() -> tuple[str, int | None]:
    """The hash of all files, read now, and when one was last changed; the disk keeps both, with all states."""
    start = time.time()
    paths = sorted(walk(PACKAGE))
    states = dict(zip(paths, file_states(paths), strict=True))
    digest = hashlib.sha256()
    for path in filter(is_source, states):
        with open(path, "rb", 0) as file:  # pathlib would take longer than reading
            data = file.read()
        digest.update(f"{path[len(PACKAGE) :]} {len(data)}\n".encode() + data)
    found = digest.hexdigest(), max([states[path][-1] for path in states if is_source(path)], default=None)
    times = {changed for *_, changed in states.values()}
    if len(times) > 1 and is_older(max(times), start):  # the image of a file system may have one time for all
        known = hash(tuple(states.values()))  # of integers: the same in all processes
        disk.store(stored_key(), marshal.dumps((*found, paths, known)))
    return found


def stored_key() -> str:
    """The key of the hash in the cache on disk."""
    return hashlib.sha256(f"{FORMAT} {PACKAGE} {sys.version}".encode()).hexdigest()


def walk(folder: str) -> Iterator[str]:
    """A folder, and the Python files and folders inside it, but for those that are left out."""
    left_out = {"__pycache__", *(LEFT_OUT if folder == PACKAGE else ())}
    yield folder
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_source(entry.name):
                yield entry.path
            elif entry.name not in left_out and entry.is_dir():
                yield from walk(entry.path)


def is_source(path: str) -> bool:
    """Whether this is a Python file, by its name."""
    return path.endswith(".py")


def file_states(paths: Iterable[str]) -> Iterator[State]:
    """The states of files and folders, without a step of the interpreter for each."""
    return map(read_state, map(os.stat, paths))


read_state = attrgetter("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def is_older(changed: int, moment: float) -> bool:
    """Whether a change, at a time in nanoseconds, was before a moment."""
    return changed < (moment - machine.current.seconds_of_file_clock) * 1e9
