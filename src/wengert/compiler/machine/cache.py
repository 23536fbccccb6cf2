"""The disk cache of compiled programs, so that a second process need not compile: bytes by key.

Loaded machine code is trusted. So it is read only from a folder and files that nobody else can write to, and only if
its checksum is right, which covers the key too: what was written for another key, or by another program, is discarded.
If the disk fails, `load` finds nothing and `store` does nothing, with one warning. What is stored later, by a thread,
is waited for by whatever looks into the cache, and by the end of the process.

`WENGERT_CACHE_DIR` names the folder ("off" or empty: no cache), `WENGERT_CACHE_SIZE` is its maximal size in bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import string
import struct
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from wengert.core import machine
from wengert.core.errors import user_error

_HEADER = struct.Struct("<8sIQ32s")
"""Magic, version of the format, length of the data, and SHA-256 of the key and the data."""
_MAGIC, _VERSION = b"wengert\0", 2
_ENTRY, _UNFINISHED = ".wengert", ".wengert-new"

_warned: set[str] = set()
_stored: dict[str, int] = {}
"""Bytes that this process has stored in each folder since it last checked the size."""
_storing: list[threading.Thread] = []
"""The thread that was started last to store something: it waits for those before it."""


class Info(NamedTuple):
    """The folder of the cache (None if it is off), the number of its entries, and their size."""

    folder: Path | None
    entries: int
    bytes: int


def is_used() -> bool:
    """Whether there is a cache."""
    return _cache_folder() is not None


def is_empty() -> bool:
    """Whether there is nothing to load."""
    finish_storing()
    folder = _cache_folder()
    if folder is None:
        return True
    try:
        with os.scandir(folder) as files:  # up to the first one: a state of each would take long
            return not any(file.name.endswith(_ENTRY) for file in files)
    except OSError:
        return True


def load(key: str) -> bytes | None:
    """The bytes that were stored under a key, if they are intact."""
    folder = _cache_folder()
    if folder is None:
        return None
    path = _path(folder, key)
    with contextlib.suppress(OSError):
        if not _is_safe(folder):
            return None
        with open(path, "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                _warn(f"Others can write to {path}, so it is not loaded. Remove it.")
                return None
            content = file.read()
        data = _data_of(key, content)
        with contextlib.suppress(OSError):
            if data is None:
                os.unlink(path)
            else:
                os.utime(path)  # entries used last are removed last
        return data
    return None


def discard(key: str) -> None:
    """Remove what is stored under a key: whoever loaded it could not read it."""
    folder = _cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            os.unlink(_path(folder, key))


def store(key: str, data: bytes) -> None:
    """Keep bytes under a key, instead of earlier ones. Other processes see either the old or the new ones."""
    _store(_cache_folder(), key, data)


def _store(folder: str | None, key: str, data: bytes) -> None:
    if folder is None or len(data) > (allowed := _allowed_size()):
        return
    path, unfinished = _path(folder, key), ""
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_safe(folder):
            return
        try:
            descriptor, unfinished = tempfile.mkstemp(_UNFINISHED, dir=folder)
            with open(descriptor, "wb") as file:
                file.write(_HEADER.pack(_MAGIC, _VERSION, len(data), _digest(key, data)))
                file.write(data)
            os.replace(unfinished, path)
        except OSError:
            if unfinished:
                os.unlink(unfinished)
            raise
        _remove_old(folder, len(data), allowed)
    except OSError as error:
        _warn(
            f"Compiled programs cannot be kept in {folder} ({error.strerror or error}), so each process compiles them. "
            f"Name another folder in WENGERT_CACHE_DIR, or set it to off."
        )


def store_later(key: Callable[[], str | None], data: bytes) -> None:
    """Store bytes while the caller continues, under a key that takes long to find; nothing if there is none."""
    before, folder = _storing[:], _cache_folder()

    def store_after() -> None:
        for thread in before:
            thread.join()
        if (found := key()) is not None:
            _store(folder, found, data)

    thread = threading.Thread(target=store_after, name="wengert cache")
    try:
        thread.start()
    except RuntimeError:  # Python is about to end
        store_after()
    else:
        _storing[:] = [thread]


def finish_storing() -> None:
    """Wait for what is being stored."""
    for thread in _storing:
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish_storing)  # a child would have half of what a thread does


def clear() -> None:
    """Remove all entries, and no other files of the folder."""
    finish_storing()
    folder = _cache_folder()
    for path, _ in _files(folder) if folder else ():
        with contextlib.suppress(OSError):
            os.unlink(path)


def info() -> Info:
    """The folder, and the number and size of its entries."""
    finish_storing()
    folder = _cache_folder()
    sizes = [status.st_size for path, status in _files(folder) if path.endswith(_ENTRY)] if folder else []
    return Info(Path(folder) if folder else None, len(sizes), sum(sizes))


def _cache_folder() -> str | None:
    """The folder, which may not exist; None if there is no cache.

    It is a string: the first use of a path takes as long as to read a file.
    """
    chosen = os.environ.get("WENGERT_CACHE_DIR")
    if chosen is None:
        user = _user_folder()
        return os.path.join(user, "wengert") if os.path.isabs(user) else None
    if os.path.isabs(chosen):
        return chosen
    if chosen.strip().lower() in ("", "off"):
        return None
    try:
        expanded = os.path.expanduser(chosen)
        return None if expanded.startswith("~") else os.path.abspath(expanded)
    except OSError:  # no current folder
        return None


def _user_folder() -> str:
    """Where this user's programs keep what they can make again; no absolute path if the user has no home."""
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join(os.path.expanduser("~"), "Library", "Caches")
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return shared if os.path.isabs(shared) else os.path.join(os.path.expanduser("~"), ".cache")


def _path(folder: str, key: str) -> str:
    """The file of a key."""
    if not key or not set(key) <= set(string.hexdigits):
        raise user_error(ValueError, f"{key!r} is not a key of the cache", "Use hexadecimal digits.")
    return os.path.join(folder, key + _ENTRY)


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user or the administrator can have written a file; on Windows, the user's folder ensures it."""
    if sys.platform == "win32":
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_safe(folder: str) -> bool:
    if _is_private(os.stat(folder)):
        return True
    _warn(
        f"Others can write to {folder}, so compiled code is neither loaded from there nor stored. "
        f"Make it private (chmod 700, or chown), or name another folder in WENGERT_CACHE_DIR."
    )
    return False


def _warn(message: str) -> None:
    """Warn once, and never raise: where warnings are errors, a program is compiled nevertheless."""
    if message not in _warned:
        _warned.add(message)
        try:
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        except RuntimeWarning:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn(message, RuntimeWarning, stacklevel=4)


def _digest(key: str, data: bytes) -> bytes:
    """The checksum of an entry."""
    digest = hashlib.sha256(key.encode())
    digest.update(data)
    return digest.digest()


def _data_of(key: str, content: bytes) -> bytes | None:
    """The data of the file of a key, if its header is right."""
    if len(content) < _HEADER.size:
        return None
    magic, version, length, digest = _HEADER.unpack_from(content)
    data = content[_HEADER.size :]
    whole = (magic, version, length, digest) == (_MAGIC, _VERSION, len(data), _digest(key, data))
    return data if whole else None


def _allowed_size() -> int:
    given = os.environ.get("WENGERT_CACHE_SIZE", "").strip()
    if not given:
        return machine.current.max_bytes_of_disk_cache
    try:
        return int(given)
    except ValueError:
        most = machine.current.max_bytes_of_disk_cache
        _warn(f"WENGERT_CACHE_SIZE is a number of bytes, not {given!r}; the cache may hold {most} bytes.")
        return most


def _files(folder: str) -> list[tuple[str, os.stat_result]]:
    """The files of the cache, finished or not: by strings, since there may be thousands."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if file.name.endswith((_ENTRY, _UNFINISHED)):
                with contextlib.suppress(OSError):  # another process has removed it
                    found.append((file.path, file.stat(follow_symlinks=False)))
    return found


def _remove_old(folder: str, added: int, allowed: int) -> None:
    """Remove unfinished files of dead processes, and the entries used longest ago if the cache is too large."""
    since = _stored.get(folder)
    if since is not None and since + added < allowed // machine.current.checks_of_full_disk_cache:
        _stored[folder] = since + added
        return
    _stored[folder] = 0
    files = sorted(_files(folder), key=lambda item: item[1].st_mtime_ns)
    total = sum(status.st_size for _, status in files)
    goal = allowed * machine.current.percent_kept_of_disk_cache // 100 if total > allowed else allowed
    died = time.time() - machine.current.seconds_of_unfinished_file
    for path, status in files:
        unfinished = path.endswith(_UNFINISHED)
        if (unfinished and status.st_mtime < died) or (not unfinished and total > goal):
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= status.st_size
