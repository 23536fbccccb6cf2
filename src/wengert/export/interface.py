"""The interface of an exported function: its name in C, and the name, shape and dtype of each argument and result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.core.tree import LEAF, Structure, leaf_paths
from wengert.export.c_names import check_name, is_reserved
from wengert.graph.graph import Graph
from wengert.structure.coloring import Coloring
from wengert.structure.patterns import Pattern
from wengert.transforms.transformed_function import function_name

C_TYPES = {
    "f8": ("double", 1),
    "f4": ("float", 1),
    "c16": ("double", 2),
    "c8": ("float", 2),
    "i8": ("int64_t", 1),
    "i4": ("int32_t", 1),
    "b1": ("uint8_t", 1),
}
"""The type of C for each dtype, and how many of it an element is: complex numbers are two."""


class Parameter(NamedTuple):
    """A parameter in C: an array by rows, of an argument or a result; `path` is what it is in Python."""

    name: str
    path: str
    spec: Spec

    @property
    def c_type(self) -> str:
        """The type of C of its numbers."""
        return C_TYPES[self.spec.dtype.str[1:]][0]

    @property
    def length(self) -> int:
        """How many numbers of C it has."""
        return self.spec.size * C_TYPES[self.spec.dtype.str[1:]][1]


class Sparse(NamedTuple):
    """What the entries of a sparse derivative belong to."""

    pattern: Pattern
    coloring: Coloring


class Interface(NamedTuple):
    """The function of C: `int name(inputs, outputs, arena)`. `summary` says what it is, `result` how Python has it."""

    name: str
    summary: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    result: Structure
    sparse: Sparse | None = None


def make_interface(
    f: Callable, graph: Graph, names: Sequence[str | None], name: str | None, sparse: Sparse | None
) -> Interface:
    """The interface of the graph of a function, whose arrays have these `names` among its arguments."""
    python_name = getattr(f, "__name__", type(f).__name__)
    assert graph.result is not None
    chosen = name if name is not None else as_identifier(python_name.replace("<lambda>", "function"))
    check_name(chosen)
    paths = list(leaf_paths(graph.result))
    labels = [f"result{path}" if path else "result" for path in paths]
    given = [path or f"x{i}" for i, path in enumerate(names)]
    for path, node in (*zip(given, graph.inputs, strict=True), *zip(labels, graph.outputs, strict=True)):
        if node.dtype.str[1:] not in C_TYPES:
            raise user_error(
                TypeError,
                f"{path} has the dtype {node.dtype}, which exported functions do not take or give",
                f"Use one of {', '.join(str(np.dtype(key)) for key in C_TYPES)}.",
            )
    taken: set[str] = {chosen}
    inputs, outputs = [
        tuple(
            [
                Parameter(unused_name(as_identifier(path), taken), path, node.spec)
                for path, node in zip(paths, nodes, strict=True)
            ]
        )
        for paths, nodes in ((given, graph.inputs), (labels, graph.outputs))
    ]
    return Interface(chosen, summary_of(f, chosen), inputs, outputs, graph.result, sparse)


def as_identifier(path: str) -> str:
    """A name in C: `params['w'][0]` is `params_w_0`.

    >>> as_identifier("params['w'][0]"), as_identifier("double")
    ('params_w_0', 'double_')
    """
    word = re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_") or "x"
    word = f"_{word}" if word[0].isdigit() else word
    return f"{word}_" if is_reserved(word) else word


def unused_name(name: str, taken: set[str]) -> str:
    """A name that no other has, which is `taken` then."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


def summary_of(f: Callable, name: str) -> str:
    """What a function is: its name in Python, with those of transforms, and the first line of its documentation."""
    python_name = function_name(f).strip("()")
    lines = (getattr(f, "__doc__", None) or "").strip().splitlines()
    about = f": {lines[0].rstrip('.')}" if lines else ""
    return (name if "<" in python_name else python_name) + about


# As data of JSON


def describe_tree(structure: Structure) -> Any:
    """The containers of a result as data of JSON: classes other than tuples, lists and dicts become one of these."""
    if structure is LEAF:
        return "array"
    if structure.make is type(None):
        return None
    children = [describe_tree(child) for child in structure.children]
    if isinstance(structure.make, type) and issubclass(structure.make, list | tuple):
        return {"list" if issubclass(structure.make, list) else "tuple": children}
    return {"dict": [list(pair) for pair in zip(structure.keys, children, strict=True)]}


def build_tree(described: Any, leaves: Iterable[Any]) -> Any:
    """The result that a description and arrays make.

    >>> build_tree({"tuple": ["array", {"dict": [["w", "array"]]}]}, [1, 2])
    (1, {'w': 2})
    """
    remaining = iter(leaves)

    def build(part: Any) -> Any:
        if part == "array":
            return next(remaining)
        if part is None:
            return None
        ((kind, children),) = part.items()
        if kind == "dict":
            return {key: build(child) for key, child in children}
        return (list if kind == "list" else tuple)([build(child) for child in children])

    return build(described)


def describe_parameters(parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
    """Parameters as data of JSON."""
    return [
        {"name": p.name, "path": p.path, "shape": list(p.spec.shape), "dtype": str(p.spec.dtype)} for p in parameters
    ]


def describe_sparse(sparse: Sparse) -> dict[str, Any]:
    """The pattern and the colours of a sparse matrix, as data of JSON."""
    pattern, coloring = sparse
    return {
        "shape": list(pattern.shape),
        "row_starts": pattern.indptr.tolist(),
        "columns": pattern.indices.tolist(),
        "kind": coloring.kind,
        "colors": coloring.colors.tolist(),
    }
