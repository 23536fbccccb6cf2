"""A program as one file of C99: `write_c` is the way in (`document.py`)."""

from __future__ import annotations

from wengert.export.c_source.document import CSource, write_c

__all__ = ["CSource", "write_c"]
