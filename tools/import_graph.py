"""Which tests depend on a change: those whose module imports a changed one, directly or through others.

    python -m tools.import_graph            the tests that depend on the last commit and on the working tree
    python -m tools.import_graph main       the same for all that changed since main

`make test CHANGED=1` runs them. The graph has an edge for each import, also of those inside functions, for each name of
`wg.` that is loaded on first use, and for each string that is the name of a module, as lists of lazy names have them.
Where imports do not tell, tests run: those that read sources or start a process after each change of a module, those
that name a file or its folder after a change of a file that is no module, and all of them after a change of how tests
run. What only `tests/conftest.py` imports does not count: if its import breaks, any test that runs shows it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src/wengert", "tests", "tools", "benchmarks", "docs", "examples")
EVERYTHING = ("conftest.py", "tests/sampling.py", "pyproject.toml", "Makefile", "tools/import_graph.py")
"""A change of these concerns all tests."""
READERS = re.compile(r"subprocess|rglob|runpy|read_text|\"src\"|import_module|run_process")
"""What a test does that reads or runs more than it imports."""
LOADERS = re.compile(r"(import_module|gather_names|name_functions|lazy_names)\(")
"""What a module calls that imports modules by their names in strings."""
NEUTRAL = ("CHANGELOG.md", "LICENSE", "tests/costs.txt", ".gitignore")
"""Files on which no test depends."""


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    parts = path.relative_to(ROOT / "src" if "src" in path.relative_to(ROOT).parts[:1] else ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """The files of the repository by the names of their modules."""
    return {module_of(path): path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))}


@cache
def lazy_names() -> dict[str, str]:
    """The names of the package that are loaded on first use, with their modules."""
    for node in ast.parse((ROOT / "src/wengert/__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAZY":
            table = ast.literal_eval(node.value)
            return {
                name: f"wengert.{path}{'' if path and not path.endswith('.') else name}" for name, path in table.items()
            }
    raise LookupError("src/wengert/__init__.py has no LAZY")


def with_parents(name: str) -> set[str]:
    """A module, if the repository has it, and the packages that are imported with it."""
    parts = name.split(".")
    return {parent for k in range(1, len(parts) + 1) if (parent := ".".join(parts[:k])) in modules()}


@cache
def imports_of(name: str) -> frozenset[str]:
    """The modules of the repository that a module imports, at once or later."""
    text = modules()[name].read_text()
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and LOADERS.search(text):
            found.update(named_by(node.value.split(":")[0], name))
    if not name.startswith("wengert"):
        lazy = lazy_names()
        used = lazy if re.search(r"\b(dir|vars|getattr)\(wg\b", text) else re.findall(r"\bwg\.(\w+)", text)
        found.update(lazy[word] for word in used if word in lazy)
    return frozenset({module for word in found for module in with_parents(word)} - {name})


def named_by(word: str, name: str) -> set[str]:
    """The modules that a string in a module may name: as they are imported, or in a table of names of a package."""
    if name == "wengert":
        return {f"wengert.{word}"} - set(lazy_names().values())  # whoever uses a lazy name has the edge
    is_package = modules()[name].name == "__init__.py"
    return {word if word.startswith("wengert.") else "", f"{name}.{word}" if is_package else ""} | (
        {f"wengert.{word}"} if "." in word else set()
    )


@cache
def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    found: dict[str, set[str]] = {}
    for name in modules():
        for imported in imports_of(name):
            found.setdefault(imported, set()).add(name)
    return found


def dependents(names: Iterable[str]) -> set[str]:
    """Modules, and all that import them, directly or through others."""
    seen = set(names)
    left = [*seen]
    while left:
        new = importers().get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


def tests() -> dict[str, Path]:
    """The modules that pytest collects: files of tests, and those of the package for the examples in docstrings."""
    return {
        name: path
        for name, path in modules().items()
        if (path.name.startswith("test_") and name.startswith("tests.")) or name.split(".")[0] == "wengert"
    }


def mentions(path: Path, changed: str) -> bool:
    """Whether a test may read a file that is no module: it names the file, or a folder that it is in."""
    text = path.read_text()
    words = {Path(changed).name, Path(changed).stem, *Path(changed).parts[:-1]} - {"tests", "src", "wengert", "tools"}
    return changed.startswith(str(path.parent.relative_to(ROOT))) or any(word in text for word in words)


def select(changed: Iterable[str]) -> set[Path]:
    """The files of tests that depend on changed files, whose paths are relative to the root."""
    changed = [path for path in changed if path not in NEUTRAL]
    if any(path.endswith(EVERYTHING) for path in changed):
        return set(tests().values())
    known = {str(path.relative_to(ROOT)): name for name, path in modules().items()}
    names = {known[path] for path in changed if path in known}
    others = [path for path in changed if path not in known]
    chosen, depending = set(), dependents(names)
    for name, path in tests().items():
        reader = bool(names) and name.startswith("tests.") and READERS.search(path.read_text())
        if reader or name in depending or any(mentions(path, other) for other in others):
            chosen.add(path)
    return chosen


def changed_files(base: str) -> list[str]:
    """What differs from a commit in the working tree, files that git does not know included."""
    commands = (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"])
    outputs = [subprocess.run(c, cwd=ROOT, capture_output=True, text=True, check=True).stdout for c in commands]
    return [line for output in outputs for line in output.splitlines()]


def main(words: list[str]) -> None:
    for path in sorted(select(changed_files(words[0] if words else "HEAD~1"))):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
