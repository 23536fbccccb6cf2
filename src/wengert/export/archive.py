"""Static libraries: archives of object files with a table of their symbols, as linkers read them.

>>> [name for name, _ in read_archive(write_archive("model.o", b"code", ["model"]))]
['model.o']
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from wengert.core.errors import user_error

MAGIC = b"!<arch>\n"
HEADER = 60
"""The bytes before the contents of each member: its name, times, owners, mode and size, as text."""
END = b"`\n"


def write_archive(name: str, code: bytes, symbols: Sequence[str], is_bsd: bool = False) -> bytes:
    """An archive with one object file that defines these symbols; macOS has another table than all others."""
    body = write_member(f"{name}/" if not is_bsd else name, code)
    table = write_bsd_table(symbols) if is_bsd else write_table(symbols)
    return MAGIC + table + body


def write_member(name: str, content: bytes) -> bytes:
    """A member with its header; members begin at even offsets."""
    fields = f"{name:<16}{0:<12}{0:<6}{0:<6}{0o644:<8o}{len(content):<10}".encode()
    return fields + END + content + b"\n" * (len(content) % 2)


def write_table(symbols: Sequence[str]) -> bytes:
    """The table of symbols of GNU, LLVM and Windows: the offset of the member for each, and the names."""
    names = b"".join([symbol.encode() + b"\0" for symbol in symbols])
    size = 4 + 4 * len(symbols) + len(names)
    offset = len(MAGIC) + HEADER + size + size % 2
    return write_member("/", struct.pack(f">I{len(symbols)}I", len(symbols), *[offset] * len(symbols)) + names)


def write_bsd_table(symbols: Sequence[str]) -> bytes:
    """The table of symbols of macOS: pairs of offsets of a name and of the member, and the names."""
    names = b"".join([symbol.encode() + b"\0" for symbol in symbols])
    names += b"\0" * (-len(names) % 8)
    size = 8 + 8 * len(symbols) + len(names)
    offset, starts, at = len(MAGIC) + HEADER + size + size % 2, [], 0
    for symbol in symbols:
        starts += [at, offset]
        at += len(symbol) + 1
    content = struct.pack(f"<I{len(starts)}I", 4 * len(starts), *starts) + struct.pack("<I", len(names)) + names
    return write_member("__.SYMDEF", content)


def read_archive(data: bytes) -> list[tuple[str, bytes]]:
    """The object files of an archive, with their names; tables are left out."""
    if not data.startswith(MAGIC):
        raise user_error(ValueError, "This is not a static library")
    members, at = [], len(MAGIC)
    while at + HEADER <= len(data):
        name, size = data[at : at + 16].decode().strip(), int(data[at + 48 : at + 58])
        content = data[at + HEADER : at + HEADER + size]
        if name not in ("/", "//", "/SYM64/", "__.SYMDEF"):
            members.append((name.rstrip("/"), content))
        at += HEADER + size + size % 2
    return members
