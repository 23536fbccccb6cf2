"""Exported libraries in Python, called without a compiler."""

from __future__ import annotations

import ctypes
import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.entry.native import run_error
from wengert.compiler.machine.target import LEVELS, Loaded, needed_features
from wengert.compiler.program.program import RAISED
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.core.tree import flatten
from wengert.export.archive import MAGIC, read_archive
from wengert.export.header import FAILED_ROUTINE
from wengert.export.interface import build_tree
from wengert.export.targets import native_target
from wengert.graph.graph import is_traced

SHARED = (".so", ".dylib", ".dll")
"""The ends of the names of shared libraries, which C compilers make of any format."""


def load(path: str | Path) -> ExportedFunction:
    """What `wg.load_exported` does."""
    file, known = find_description(Path(path))
    if file.suffix in SHARED:
        library = ctypes.CDLL(str(file.resolve()))
        return ExportedFunction(known, library, ctypes.cast(library[known["name"]], ctypes.c_void_p).value or 0)
    data = file.read_bytes()
    check_target(file, known)
    if hashlib.sha256(data).hexdigest() != known["sha256"]:
        raise user_error(
            ValueError, f"{file} is not the file that {known['name']}.json describes", "Export the function again."
        )
    code = [content for _, content in read_archive(data)] if data.startswith(MAGIC) else [data]
    loaded = Loaded(code, {})
    return ExportedFunction(known, loaded, loaded.address(known["name"]))


def find_description(path: Path) -> tuple[Path, dict[str, Any]]:
    """The file with the code, and what is known of it."""
    if not path.exists():
        raise user_error(FileNotFoundError, f"There is no file {path}")
    if path.is_dir():
        found = sorted(path.glob("*.json"))
        if len(found) != 1:
            raise user_error(ValueError, f"{path} has {len(found)} exports", "Pass the file of one.")
    else:
        names = {path.stem, path.stem.removeprefix("lib")}
        found = [path.with_name(f"{name}.json") for name in names if path.with_name(f"{name}.json").exists()]
        if not found:
            raise user_error(FileNotFoundError, f"There is no description (.json) beside {path}", "Copy it, too.")
    try:
        known = json.loads(found[0].read_text())
        written = found[0].with_name(known["file"])
        file = written if path.is_dir() or path == found[0] else path
    except (KeyError, TypeError, ValueError):  # no JSON, or a file elsewhere
        raise user_error(ValueError, f"{found[0]} does not describe an export") from None
    return file, known


def check_target(file: Path, known: dict[str, Any]) -> None:
    """Refuse text, and code for other machines."""
    if known["format"] not in ("object", "library"):
        raise user_error(
            ValueError,
            f"{file} is {known['format']}, which needs a compiler",
            f"Export a library, or compile it to {file.stem}.so.",
        )
    triple = native_target().triple
    if platform_of(known["triple"]) != platform_of(triple):
        raise user_error(
            ValueError,
            f"{file} is for {known['target']} ({known['triple']}), and this machine is {triple}",
            "Export it without target=, or run it there.",
        )
    host, level = llvm.get_host_cpu_features(), known["cpu"]
    needed = [feature[1:] for feature in known["features"].split(",") if feature.startswith("+")]
    missing = [name for name in (*needed, *(needed_features(level) if level in LEVELS else ())) if not host.get(name)]
    if missing:
        raise user_error(
            ValueError,
            f"{file} is for processors ({level}) that have {', '.join(missing)}, which this one lacks",
            "Export it for a lower level, such as target='x86-64-v2'.",
        )


def platform_of(triple: str) -> tuple[str, str]:
    """The processor and the operating system of LLVM's name for a machine."""
    name = triple.replace("arm64", "aarch64").replace("macosx", "darwin")
    return name.split("-")[0], next((system for system in ("linux", "darwin", "windows") if system in name), "")


class ExportedFunction:
    """An exported function, called with arguments like those of its export. It owns its code."""

    def __init__(self, known: dict[str, Any], owner: Any, address: int):
        self.known, self.name, self.arena = known, known["name"], known["arena"]
        self.inputs, self.outputs = [
            [Spec(tuple(p["shape"]), np.dtype(p["dtype"])) for p in known[key]] for key in ("inputs", "outputs")
        ]
        self._owner = owner
        count = len(self.inputs) + len(self.outputs) + 1
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * count)(address)
        self._memory = threading.local()

    def __call__(self, *args: Any) -> Any:
        given = self.check_arguments(flatten(args)[0])
        outs = [np.empty(spec.shape, spec.dtype) for spec in self.outputs]
        status = self._call(*[x.ctypes.data for x in (*given, *outs)], self.arena_address())
        if status == RAISED:
            raise user_error(np.linalg.LinAlgError, FAILED_ROUTINE[0].upper() + FAILED_ROUTINE[1:])
        if status:
            raise run_error(self.arena, status)
        if (sparse := self.known["sparse"]) is not None:
            from scipy.sparse import csr_array  # slow to import

            return csr_array((outs[0], sparse["columns"], sparse["row_starts"]), shape=tuple(sparse["shape"]))
        return build_tree(self.known["result"], [out if out.ndim else out[()] for out in outs])

    def arena_address(self) -> int | None:
        """The address of this thread's arena."""
        if not self.arena:
            return None
        if not hasattr(self._memory, "arena"):
            self._memory.arena = np.empty(self.arena, np.uint8)
        address: int = self._memory.arena.ctypes.data
        return address

    def check_arguments(self, leaves: list[Any]) -> list[np.ndarray]:
        """The arrays of the arguments, by rows, if they are what the function was exported for."""
        constants = self.known["constants"]
        if len(leaves) != len(constants):
            raise user_error(TypeError, f"{self.name} takes {len(constants)} arguments, and was given {len(leaves)}")
        arrays: list[np.ndarray] = []
        for i, (x, constant) in enumerate(zip(leaves, constants, strict=True)):
            if constant is not None or not is_traced(x):
                if repr(x) != constant:
                    raise user_error(
                        ValueError, f"{self.name} was exported with {constant} as argument {i}, and was given {x!r}"
                    )
                continue
            spec = self.inputs[len(arrays)]
            path = self.known["inputs"][len(arrays)]["path"]
            if np.shape(x) != spec.shape or not np.can_cast(np.asarray(x).dtype, spec.dtype, "same_kind"):
                raise user_error(
                    TypeError, f"{path} of {self.name} is {spec!r}, and was given {Spec.of(np.asarray(x))!r}"
                )
            arrays.append(np.ascontiguousarray(x, spec.dtype))
        return arrays

    def __repr__(self) -> str:
        paths = [p["path"] for p in self.known["inputs"]]
        arguments = [f"{path}: {spec!r}" for path, spec in zip(paths, self.inputs, strict=True)]
        return f"<exported {self.name}({', '.join(arguments)})>"
