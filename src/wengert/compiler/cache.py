"""Compiled programs on disk, so that a second process compiles nothing: bytes by key.

Machine code that is loaded is trusted. So it is read only from a folder and from files that nobody else can write to,
and only if its checksum is right. The cache is a help and never a hindrance: whatever the disk does, `load` finds
nothing or `store` does nothing at worst, and a warning says so once.

`WENGERT_CACHE_DIR` names the folder ("off" or nothing: no cache), `WENGERT_CACHE_SIZE` the bytes that it may hold.
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
import time
import warnings
from pathlib import Path
from typing import NamedTuple

DEFAULT_SIZE = 256 * 2**20
_KEPT = 0.8
"""The part of the allowed size that is left when old entries are removed."""
_CHECK = 16
"""The size is checked at a process's first entry, and again after each such part of the allowed size."""
_ABANDONED = 3600.0
"""Seconds after which a file that is still being written belongs to a process that died."""

_HEADER = struct.Struct("<8sIQ32s")
"""Magic, version of the format, length and SHA-256 of what follows."""
_MAGIC, _VERSION = b"wengert\0", 1
_ENTRY, _UNFINISHED = ".wengert", ".wengert-new"

_warned: set[str] = set()
_stored: dict[Path, int] = {}
"""Bytes that this process has stored in each folder since it last looked at the size."""


class Info(NamedTuple):
    """Where the cache is, None if it is off, and what it holds."""

    folder: Path | None
    entries: int
    bytes: int


def load(key: str) -> bytes | None:
    """What was stored under a key, if it is there and whole."""
    place = _folder()
    if place is None:
        return None
    path = _path(place, key)
    with contextlib.suppress(OSError):
        if not _safe(place):
            return None
        with open(path, "rb") as file:
            if not _private(os.fstat(file.fileno())):
                _warn(f"Others can write to {path}, so that it is not loaded. Remove it.")
                return None
            content = file.read()
        data = _checked(content)
        with contextlib.suppress(OSError):
            if data is None:
                path.unlink()
            else:
                os.utime(path)  # used just now: removed last
        return data
    return None


def store(key: str, data: bytes) -> None:
    """Keep bytes under a key, in place of what was there.

    Other processes see the old or the new, and nothing in between.
    """
    place = _folder()
    if place is None or len(data) > (allowed := _allowed_size()):
        return
    path, unfinished = _path(place, key), ""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _safe(place):
            return
        try:
            descriptor, unfinished = tempfile.mkstemp(_UNFINISHED, dir=place)
            with open(descriptor, "wb") as file:
                file.write(_HEADER.pack(_MAGIC, _VERSION, len(data), hashlib.sha256(data).digest()))
                file.write(data)
            os.replace(unfinished, path)
        except OSError:
            if unfinished:
                os.unlink(unfinished)
            raise
        _bound(place, len(data), allowed)
    except OSError as error:
        _warn(
            f"Compiled programs cannot be kept in {place} ({error.strerror or error}), so that they are compiled in "
            f"each process. "
            f"Name another folder in WENGERT_CACHE_DIR, or set it to off."
        )


def clear() -> None:
    """Remove all entries, and nothing else that may be in the folder."""
    place = _folder()
    for path, _ in _files(place) if place else ():
        with contextlib.suppress(OSError):
            path.unlink()


def info() -> Info:
    place = _folder()
    sizes = [status.st_size for path, status in _files(place) if path.name.endswith(_ENTRY)] if place else []
    return Info(place, len(sizes), sum(sizes))


def _folder() -> Path | None:
    """The folder as the environment says, which may not exist; None if there is no cache."""
    chosen = os.environ.get("WENGERT_CACHE_DIR")
    try:
        if chosen is not None:
            return None if chosen.strip().lower() in ("", "off") else Path(chosen).expanduser().absolute()
        return _user_folder() / "wengert"
    except (OSError, RuntimeError):  # no home, or no current folder
        return None


def _user_folder() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return Path(shared) if os.path.isabs(shared) else Path.home() / ".cache"


def _path(place: Path, key: str) -> Path:
    if not key or not set(key) <= set(string.hexdigits):
        raise ValueError(f"a key of the cache is hexadecimal, not {key!r}")
    return place / (key + _ENTRY)


def _private(status: os.stat_result) -> bool:
    """Whether only this user, or the system's administrator, can have written something.

    Windows sees to that in a user's own folder.
    """
    if sys.platform == "win32":
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _safe(place: Path) -> bool:
    if _private(place.stat()):
        return True
    _warn(
        f"Others can write to {place}, so that compiled code is neither loaded from there nor stored. "
        f"Make it yours alone (chmod 700, or chown), or name another folder in WENGERT_CACHE_DIR."
    )
    return False


def _warn(message: str) -> None:
    """Once, and never as an exception: where warnings are errors, a program is compiled nevertheless."""
    if message not in _warned:
        _warned.add(message)
        try:
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        except RuntimeWarning:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn(message, RuntimeWarning, stacklevel=4)


def _checked(content: bytes) -> bytes | None:
    """What a file holds after its header, if the header says so."""
    if len(content) < _HEADER.size:
        return None
    magic, version, length, digest = _HEADER.unpack_from(content)
    data = content[_HEADER.size :]
    whole = (magic, version, length, digest) == (_MAGIC, _VERSION, len(data), hashlib.sha256(data).digest())
    return data if whole else None


def _allowed_size() -> int:
    given = os.environ.get("WENGERT_CACHE_SIZE", "").strip()
    if not given:
        return DEFAULT_SIZE
    try:
        return int(given)
    except ValueError:
        _warn(f"WENGERT_CACHE_SIZE is a number of bytes, not {given!r}; the cache may hold {DEFAULT_SIZE} bytes.")
        return DEFAULT_SIZE


def _files(place: Path) -> list[tuple[Path, os.stat_result]]:
    """The cache's own files, finished or not."""
    found = []
    with contextlib.suppress(OSError), os.scandir(place) as files:
        for file in files:
            if file.name.endswith((_ENTRY, _UNFINISHED)):
                with contextlib.suppress(OSError):  # another process has removed it
                    found.append((Path(file.path), file.stat(follow_symlinks=False)))
    return found


def _bound(place: Path, added: int, allowed: int) -> None:
    """Remove what was used longest ago if there is too much, after what died processes left behind."""
    since = _stored.get(place)
    if since is not None and since + added < allowed // _CHECK:
        _stored[place] = since + added
        return
    _stored[place] = 0
    files = sorted(_files(place), key=lambda item: item[1].st_mtime_ns)
    total = sum(status.st_size for _, status in files)
    goal = allowed * _KEPT if total > allowed else allowed
    died = time.time() - _ABANDONED
    for path, status in files:
        unfinished = path.name.endswith(_UNFINISHED)
        if (unfinished and status.st_mtime < died) or (not unfinished and total > goal):
            with contextlib.suppress(OSError):
                path.unlink()
                total -= status.st_size
