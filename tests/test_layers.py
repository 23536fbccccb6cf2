"""Imports point down: each folder may use those before it in the order in which data flows, and nothing after it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "wengert"
LAYERS = [
    "core", "ops", "graph", "modes", "transforms", "random", "stats", "compiler", "autograd",
    "structure", "implicit", "integrate", "optimize", "explain",
]  # fmt: skip
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def imported(path: Path) -> set[str]:
    """The folders of the package that a file imports from."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: imports are absolute"
    return {name.split(".")[1] for name in names if name.startswith("wengert.")}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    layer = path.relative_to(PACKAGE).parts[0]
    assert layer in LAYERS, f"{layer} has no place in the order of layers yet"
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    assert imported(path) <= allowed


def test_the_test_can_fail(tmp_path):
    upward = tmp_path / "upward.py"
    upward.write_text("from wengert.modes import tensor\n")
    assert imported(upward) == {"modes"}


def test_import_leaves_heavy_parts_alone():
    code = "import sys, wengert; print([m for m in ('llvmlite', 'scipy', 'rich', 'torch', 'jax') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
