"""The lines of a function in its file.

`inspect.getsourcelines` asks every module for its file and divides the lines into tokens, which takes longer than to
load a compiled program. The code of a function knows its first line and the positions of its instructions; where these
do not show where the function ends, `inspect` decides.
"""

from __future__ import annotations

import inspect
import linecache
import types
from collections.abc import Iterator


def source_blocks(f: types.FunctionType) -> Iterator[tuple[list[str], int]]:
    """The lines of a function and the number of the first one, as its code says, and then as `inspect` finds them.

    Those of a lambda are the whole file in the end.

    Raises OSError or TypeError if there is no source.
    """
    code = f.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, f.__globals__)
    first, last = code.co_firstlineno, last_line(code)
    if 0 < first <= last <= len(lines) and (code.co_name == "<lambda>" or ends_at(lines, first, last)):
        yield lines[first - 1 : last], first
    yield inspect.getsourcelines(code)  # not that of a function that this one wraps
    if code.co_name == "<lambda>":  # its line may be part of a statement, such as a table
        start = next((i for i, line in enumerate(lines) if line.strip()), 0)
        yield lines[start:], start + 1


def last_line(code: types.CodeType) -> int:
    """The last line of all instructions, also of functions inside."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return max([end or 0 for _, end, _, _ in code.co_positions()] + [last_line(part) for part in inner], default=0)


def ends_at(lines: list[str], first: int, last: int) -> bool:
    """Whether the next line after the last one belongs to what is around a function, by its indentation."""
    following = next((line for line in lines[last:] if line.strip()), "")
    return indentation(following) <= indentation(lines[first - 1])


def indentation(line: str) -> int:
    """The number of characters before the first that is no space."""
    return len(line) - len(line.lstrip())
