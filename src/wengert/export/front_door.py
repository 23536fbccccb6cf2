"""`export` and `load_exported`: functions that run where no Python is. LLVM is imported when one of them is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.export.exporter import Export, Format
    from wengert.export.loaded import ExportedFunction

__all__ = ["export", "load_exported"]


def export(
    f: Callable[..., Any],
    *examples: Any,
    path: str | Path,
    target: str | None = None,
    name: str | None = None,
    format: Format = "library",
    allocate: bool = False,
) -> Export:
    """Write a function as native code that C can call, without Python, to the folder `path`.

    `examples` are arguments like those of a call: their shapes and dtypes count, or `wg.Spec`s stand for them. The
    function may be anything that `wg.compile` takes: values, gradients, Jacobians, Hessians, loops, steps of solvers;
    of a sparse Jacobian or Hessian the entries are computed, and the pattern is in the header.

    The `format` is a static "library" or an "object" file with a header, an example, and files for pkg-config and
    CMake; one file of "c"; or the "llvm" or "assembly" text. `target` is another machine: "cortex-m4", "wasm32",
    "aarch64-linux" (an unknown one gives an error that lists all). The function is called `name` in C. It is for one
    thread at a time and arena, and allocates nothing, except for loops of unknown length in reverse mode, if they are
    allowed to `allocate`.

    Captured arrays, tensors and globals are constants with their present values. Operations without native code are
    listed in one error, with their lines.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = export(lambda x: (x * x).sum(), np.ones(3), path=folder, name="square")
    ...     sorted(file.name for file in made.files)
    ['libsquare.a', 'square.cmake', 'square.h', 'square.json', 'square.pc', 'square_example.c']
    """
    from wengert.export.exporter import write_export

    return write_export(f, examples, path, target, name, format, allocate)


def load_exported(path: str | Path) -> ExportedFunction:
    """The function in an object file or library that `export` has written, for this kind of machine.

    `path` is the file, or the folder if it has one export. The description (.json) must be beside it. Also shared
    libraries that a C compiler made of an export are loaded, if they have the same name.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = export(lambda x: 3.0 * x, np.ones(2), path=folder, name="triple").file
    ...     triple = load_exported(file)
    >>> triple(np.array([1.0, 2.0]))
    array([3., 6.])
    """
    from wengert.export.loaded import load

    return load(path)
