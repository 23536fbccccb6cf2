"""Imports point down: each folder may use those before it in the order in which data flows, and nothing after it."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tests.fresh_python import run_python
from tests.sampling import by_operation

PACKAGE = Path(__file__).parent.parent / "src" / "wengert"
LAYERS = [
    "core", "ops", "array_libraries", "graph", "modes", "control", "source", "transforms", "random", "stats",
    "compiler", "autograd", "structure", "implicit", "integrate", "optimize", "nn", "optim", "data", "distributed",
    "export", "explain", "compat",
]  # fmt: skip
COMPILER = [
    "machine", "simd", "threads", "forms", "functions", "small_matrices", "products", "routines", "aspects",
    "schedule", "nests", "kernels", "program", "entry", "targets", "call",
]  # fmt: skip
"""The folders of the compiler, in the same order."""
ROOT = {
    "__init__": "explain", "__main__": "cli", "cli": "cli", "fft": "modes", "linalg": "ops", "signal": "ops",
    "special": "ops", "terminal": "core", "commands": "cli", "completion": "cli", "tree": "structure",
}  # fmt: skip
"""For each module of the package itself, the highest folder that it may use; the command line may use everything."""
WHOLE_PACKAGE = {
    "core/array.py": "the array API standard asks a value for its namespace, which is the package",
    "core/numpy_calls.py": "errors name the functions of the package that do what one of NumPy or SciPy does",
    "explain/reading/vocabulary.py": "the words of formulas are the public names",
}
FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    parts = ["wengert", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def function_name(call: ast.Call) -> str:
    """The name of the function or method that is called; "" if it has none."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def imports(tree: ast.AST, lazy: bool = True) -> set[str]:
    """The modules of the package that code imports; without `lazy`, only those that it needs to be imported itself."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if is_for_types(node) or (not lazy and isinstance(node, ast.FunctionDef | ast.Lambda)):
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and function_name(node).endswith("import_module"):
            found |= {str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant)}
        found |= imports(node, lazy)
    return {name for name in found if name.split(".")[0] == "wengert"}


@cache
def imports_of(path: Path, lazy: bool = True) -> set[str]:
    return imports(ast.parse(path.read_text()), lazy)


def folder_of(module: str) -> str:
    """The folder of a module, or what stands for it; "" for the package itself."""
    parts = module.split(".")
    if len(parts) == 1:
        return ""
    return parts[1] if parts[1] in LAYERS else ROOT[parts[1]]


@by_operation("path", FILES, ids=[f"{folder_of(module_of(p))}-{p.relative_to(PACKAGE)}" for p in FILES])
def test_imports_point_down(path):
    layer = folder_of(module_of(path)) or ROOT["__init__"]
    allowed = {*LAYERS, "cli"} if layer == "cli" else set(LAYERS[: LAYERS.index(layer) + 1])
    used = {folder_of(name) for name in imports_of(path)}
    if str(path.relative_to(PACKAGE)) not in WHOLE_PACKAGE and layer not in ("compat", "cli"):
        assert "" not in used, "a module names the modules that it needs, not the whole package"
    assert used - {""} <= allowed


@pytest.mark.parametrize("folder", COMPILER)
def test_folders_of_the_compiler_are_ordered(folder):
    allowed = set(COMPILER[: COMPILER.index(folder) + 1])
    for path in (PACKAGE / "compiler" / folder).rglob("*.py"):
        used = {name.split(".")[2] for name in imports_of(path) if name.startswith("wengert.compiler.")}
        assert used <= allowed, path


def test_all_folders_of_the_compiler_have_a_place():
    assert {path.name for path in (PACKAGE / "compiler").iterdir() if path.is_dir() and path.name[0] != "_"} == set(
        COMPILER
    )


def test_tests_of_the_compiler_are_in_its_folders():
    """What is in no folder speaks of the whole pipeline: random programs, all operations, shrunken machines."""
    tests = Path(__file__).parent / "compiler"
    folders = {path.name for path in tests.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert folders - set(COMPILER) == set()
    for folder in folders:
        assert list((tests / folder).glob("test_*.py")), f"no tests in {folder}"


def test_no_module_needs_itself():
    graph = {}
    for module, path in MODULES.items():
        needed = imports_of(path, lazy=False)
        graph[module] = {name for name in needed if name in MODULES and not module.startswith(name + ".")} - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_no_lazy_import_hides_a_cycle():
    """An import inside a function is there for a heavy library or a layer that is loaded late, not to break a cycle."""
    eager = {module: imports_of(path, lazy=False) for module, path in MODULES.items()}

    @cache
    def behind(module: str) -> set[str]:
        seen: set[str] = set()
        left = [module]
        while left:
            for name in eager.get(left.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    left.append(name)
        return seen

    for module, path in MODULES.items():
        late = imports_of(path) - eager[module] - {"wengert"}  # see WHOLE_PACKAGE
        for name in late:
            assert module not in behind(name), f"{module} imports {name} late because {name} needs {module}"


def test_no_tricks():
    """No module reaches for others of the package behind the back of the import system."""
    for path in FILES:
        assert 'sys.modules["wengert' not in path.read_text(), path


def test_the_test_can_fail():
    assert imports(ast.parse("def f():\n    from wengert.modes import tensor")) == {"wengert.modes.tensor"}
    assert imports(ast.parse("def f():\n    from wengert.modes import tensor"), lazy=False) == set()
    assert imports(ast.parse("import wengert")) == {"wengert"}


def test_import_leaves_heavy_parts_alone():
    code = "import sys, wengert; print([m for m in ('llvmlite', 'scipy', 'rich', 'torch', 'jax') if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"


def test_a_first_trace_leaves_heavy_parts_alone():
    code = """
import sys, numpy as np, wengert as wg

def f(x):
    for _ in range(40):
        x = wg.nn.functional.gelu(x)
    return wg.nn.functional.softmax(x, -1).sum()

wg.trace(wg.grad(f), np.ones(3))
heavy = "scipy", "numpy.random", "wengert.random", "wengert.nn.training", "wengert.nn.module"
print([name for name in heavy if name in sys.modules])
"""
    assert run_python(code).stdout.strip() == "[]"
