"""A function as an object file, a static library, or source, for any target, with all that C needs to call it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from wengert.compiler.machine.target import Target
from wengert.core.errors import user_error
from wengert.core.levels import strip_level
from wengert.core.spec import Spec
from wengert.core.tree import flatten, leaf_names, unflatten
from wengert.export.archive import write_archive
from wengert.export.build_files import write_cmake, write_example, write_pkg_config
from wengert.export.header import write_header
from wengert.export.interface import (
    Interface,
    Sparse,
    describe_parameters,
    describe_sparse,
    describe_tree,
    make_interface,
)
from wengert.export.native_module import NativeModule
from wengert.export.targets import find_target
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import make_constant
from wengert.structure.sparse_derivatives import SparseDerivative
from wengert.transforms.tracing import trace

Format = Literal["object", "library", "c", "llvm", "assembly"]
FORMATS = get_args(Format)
VERSION = metadata.version("wengert")


class Code(NamedTuple):
    """What is written in one format: its contents, the end of its file's name, and the bytes of its arena."""

    content: bytes
    suffix: str
    arena: int
    allocates: bool = False


class Export(NamedTuple):
    """What `export` has written: `file` has the code, `files` are all; `arena` and `size` are bytes."""

    name: str
    target: str
    file: Path
    files: tuple[Path, ...]
    arena: int
    size: int

    def __repr__(self) -> str:
        return f"<{self.file} for {self.target}: {self.size} bytes, and an arena of {self.arena}>"


def write_export(
    f: Callable[..., Any],
    examples: tuple[Any, ...],
    path: str | Path,
    target: str | None,
    name: str | None,
    format: Format,
    allocate: bool,
) -> Export:
    """What `wg.export` does."""
    folder, chosen = Path(path), target or "native"
    check_request(f, folder, target, format)
    made_for = find_target(target, allocate)
    leaves, structure = flatten(examples)
    values = [np.ones(x.shape, x.dtype) if isinstance(x, Spec) else x for x in leaves]
    arguments = unflatten(structure, values)
    graph, sparse = trace_export(f, arguments)
    paths = [path for path, x in zip(leaf_names(f, flatten((arguments, {}))[1]), values, strict=True) if is_traced(x)]
    interface = make_interface(f, graph, paths, name, sparse)
    code = write_code(graph, interface, made_for, format)
    file = f"lib{interface.name}{code.suffix}" if code.suffix == ".a" else interface.name + code.suffix
    origin = f"Wengert {VERSION} for {target or 'this machine'}"
    numbers = [np.asarray(strip_level(x, 0)) for x in values if is_traced(x)]
    known = describe_export(interface, code, file, made_for) | {
        "format": format,
        "target": chosen,
        "constants": [None if is_traced(x) else repr(x) for x in values],
    }
    texts = {
        f"{interface.name}.h": write_header(interface, code.arena, origin, code.allocates),
        **write_example(interface, code.arena, numbers, file, made_for),
        f"{interface.name}.json": json.dumps(known, indent=1) + "\n",
    }
    if format in ("object", "library"):
        texts[f"{interface.name}.pc"] = write_pkg_config(interface, file, VERSION)
        texts[f"{interface.name}.cmake"] = write_cmake(interface, file)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(code.content)
    for other, text in texts.items():
        (folder / other).write_text(text)
    files = (folder / file, *[folder / other for other in texts])
    return Export(interface.name, chosen, folder / file, files, code.arena, len(code.content))


def check_request(f: Any, folder: Path, target: str | None, format: str) -> None:
    """Raise an error if arguments of `wg.export` are wrong, or do not belong together."""
    if not callable(f):
        raise user_error(TypeError, f"export takes a function, and was given a {type(f).__name__}")
    if format not in FORMATS:
        raise user_error(
            ValueError, f"export has the formats {', '.join(map(repr, FORMATS))}, and was given {format!r}"
        )
    if format == "c" and target is not None:
        raise user_error(
            ValueError, f"A file of C is for all machines, and was asked for as one for {target}", "Leave target= out."
        )
    if folder.exists() and not folder.is_dir():
        raise user_error(NotADirectoryError, f"{folder} is a file", "Pass the folder that is to have all files.")


def describe_export(interface: Interface, code: Code, file: str, target: Target) -> dict[str, Any]:
    """What `load_exported` needs to know of a file, as data of JSON."""
    return {
        "wengert": VERSION,
        "name": interface.name,
        "summary": interface.summary,
        "file": file,
        "sha256": hashlib.sha256(code.content).hexdigest(),
        "triple": target.triple,
        "cpu": target.cpu,
        "features": target.features,
        "arena": code.arena,
        "inputs": describe_parameters(interface.inputs),
        "outputs": describe_parameters(interface.outputs),
        "result": describe_tree(interface.result),
        "sparse": None if interface.sparse is None else describe_sparse(interface.sparse),
    }


def trace_export(f: Callable[..., Any], arguments: Any) -> tuple[Graph, Sparse | None]:
    """The graph of a function, with all that it captured as constants; and the pattern of a sparse derivative."""
    sparse = None
    if isinstance(f, SparseDerivative):
        sparse = Sparse(f.pattern(*arguments), f.colors(*arguments))
        f = f.values
    graph = fix_captured(trace(f, *arguments))
    if not graph.outputs:
        raise user_error(ValueError, "The function returns no array, so there is nothing to export")
    return graph, sparse


def fix_captured(graph: Graph) -> Graph:
    """A graph with captured tensors as constants."""
    new: dict[Any, Any] = {
        node: make_constant(np.asarray(strip_level(node.value, 0))) for node in graph.constants if node.is_captured
    }
    for node in graph.operations if new else ():
        if any(a in new for a in node.args):
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    return Graph(graph.inputs, [new.get(node, node) for node in graph.outputs], graph.arguments, graph.result)


def write_code(graph: Graph, interface: Interface, target: Target, format: Format) -> Code:
    """The code in a format."""
    if format == "c":
        from wengert.export.c_source import write_c

        source = write_c(graph, interface)
        return Code(source.text.encode(), ".c", source.arena)
    module = NativeModule(graph, interface.name, target)
    if format == "llvm":
        return Code(module.llvm.encode(), ".ll", module.arena, module.allocates)
    if format == "assembly":
        return Code(module.assembly.encode(), ".s", module.arena, module.allocates)
    is_windows, is_macos = "windows" in target.triple, "macosx" in target.triple
    suffix = ".obj" if is_windows else ".o"
    if format == "object":
        return Code(module.object_code, suffix, module.arena, module.allocates)
    symbol = f"_{interface.name}" if is_macos else interface.name
    archive = write_archive(interface.name[:11] + suffix, module.object_code, [symbol], is_bsd=is_macos)
    return Code(archive, ".lib" if is_windows else ".a", module.arena, module.allocates)
