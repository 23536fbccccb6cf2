"""The compiler, from graphs to native code: schedule, memory plan, LLVM text, native entry."""

import sys


def missing_part() -> str | None:
    """Why there is no native code on this system; None if there is."""
    if sys.platform == "win32" or sys.maxsize < 2**32 or sys.implementation.name != "cpython":
        return (
            f"it is made for CPython on 64-bit Linux and macOS, and this is {sys.implementation.name} on {sys.platform}"
        )
    try:
        import llvmlite.binding  # noqa: F401  # whether it can be imported
    except (ImportError, OSError) as error:
        return f"it needs llvmlite, which cannot be imported ({error})"
    return None


if (_why := missing_part()) is not None:
    raise ImportError(  # not user_error: the innermost line outside the package is one of importlib
        f"There is no compiler here: {_why}. Functions run without wg.compile, and have all their derivatives."
    )

from wengert.compiler import aspects  # noqa: E402, F401  # defines the native code of each operation
