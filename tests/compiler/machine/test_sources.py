"""The hash of the sources: what is on disk is used as long as no file has changed, in whatever way, and no longer."""

from __future__ import annotations

import ast
import builtins
import os
import time
from pathlib import Path

import pytest

import wengert
from wengert.compiler.machine import cache, sources
from wengert.core import machine


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package of a few files, older than this process by its clock, and a cache of its own."""
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "one.py").write_text("x = 1\n")
    (package / "inner" / "two.py").write_text("y = 2\n")
    (package / "notes.txt").write_text("no source\n")
    monkeypatch.setattr(sources, "PACKAGE", str(package))
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "cache"))
    grow_older(monkeypatch)
    return package


def grow_older(monkeypatch) -> None:
    """Let a new process begin, a moment later."""
    time.sleep(3 * machine.current.seconds_of_file_clock)
    monkeypatch.setattr(sources, "IMPORTED", time.time())


@pytest.fixture
def without_reading(monkeypatch):
    """`without_reading(f)` calls f where no source can be opened."""

    def call(f):
        def refuse(path, *args):
            if str(path).endswith(".py"):
                raise AssertionError(f"{path} was read")
            return builtins.open(path, *args)

        with monkeypatch.context() as changed:
            changed.setattr(sources, "open", refuse, raising=False)
            return f()

    return call


def test_sources_are_read_once(without_reading):
    with pytest.raises(AssertionError, match="was read"):
        without_reading(sources.contents)
    first = sources.contents()
    assert first is not None
    assert without_reading(sources.contents) == first
    cache.clear()
    assert sources.contents() == first


def keep_size_and_time(package):
    """Another digit in a file, whose size and times are as before, but for that which only the system sets."""
    path = package / "one.py"
    status = path.stat()
    path.write_text("x = 7\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def replace(package):
    """Another file in place of one, with the same size and times."""
    path, new = package / "one.py", package / "new"
    status = path.stat()
    new.write_text("x = 7\n")
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.rename(path)


def exchange(package):
    one, two = package / "one.py", package / "inner" / "two.py"
    (new := package / "new").write_bytes(one.read_bytes())
    two.rename(one)
    new.rename(two)


CHANGES = {
    "edited": lambda package: (package / "inner" / "two.py").write_text("y = 3\n"),
    "edited, with the same size and time": keep_size_and_time,
    "replaced": replace,
    "exchanged": exchange,
    "added": lambda package: (package / "inner" / "three.py").write_text(""),
    "removed": lambda package: (package / "one.py").unlink(),
    "renamed": lambda package: (package / "one.py").rename(package / "three.py"),
    "moved": lambda package: (package / "one.py").rename(package / "inner" / "one.py"),
    "a folder renamed": lambda package: (package / "inner").rename(package / "outer"),
    "a folder added": lambda package: ((package / "one").mkdir(), (package / "one" / "__init__.py").write_text("")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_any_change_the_hash_is_another(package, monkeypatch, change):
    before = sources.contents()
    change(package)
    grow_older(monkeypatch)
    after = sources.contents()
    assert None not in (before, after)
    assert after != before
    cache.clear()
    assert sources.contents() == after


def test_what_is_no_source_does_not_matter(package, monkeypatch):
    before = sources.contents()
    (package / "notes.txt").write_text("other notes\n")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "one.pyc").write_bytes(b"bytecode")
    grow_older(monkeypatch)
    assert sources.contents() == before


def test_a_source_that_changed_after_the_import_is_not_what_runs(package, monkeypatch):
    assert sources.contents() is not None
    (package / "one.py").write_text("x = 2\n")
    assert sources.contents() is None
    (package / "one.py").write_text("x = 1\n")
    assert sources.contents() is None
    with monkeypatch.context() as changed:  # another process knows the new states; this one is older than they are
        grow_older(changed)
        assert sources.contents() is not None
    assert sources.contents() is None


def test_young_states_are_not_kept(package):
    """A file that has just been written may be written again at the same time, by a coarse clock."""
    (package / "inner" / "two.py").write_text("y = 3\n")
    assert sources.contents() is None
    assert cache.info().entries == 0


def test_files_with_one_time_are_always_read(monkeypatch, without_reading):
    """As in the image of a file system that was made without times: another image may have the same states."""
    states = sources.file_states
    monkeypatch.setattr(sources, "file_states", lambda paths: [(*state[:3], 1_000_000_000) for state in states(paths)])
    assert sources.contents() == sources.contents()
    with pytest.raises(AssertionError, match="was read"):
        without_reading(sources.contents)


def test_no_sources(package, monkeypatch):
    monkeypatch.setattr(sources, "PACKAGE", str(package / "archive.zip"))
    assert sources.contents() is None
    empty = package / "empty"
    empty.mkdir()
    monkeypatch.setattr(sources, "PACKAGE", str(empty))
    grow_older(monkeypatch)
    assert sources.contents() is None


def test_without_a_cache(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    assert sources.contents() == sources.contents() is not None


def test_folders_are_left_out_at_the_top_only(package):
    for folder in (package / "explain", package / "inner" / "explain"):
        folder.mkdir()
        (folder / "three.py").write_text("z = 3\n")
    found = {Path(path).relative_to(package).as_posix() for path in sources.walk(str(package))}
    assert "explain/three.py" not in found
    assert "inner/explain/three.py" in found


TABLES = {
    "complex_lowering", "expansion", "held_graphs", "improvement", "lowering", "native_call", "part_key",
    "shorter_reduction", "simplifications", "vector_function", "view_merger",
}  # fmt: skip


def imports_of(file: Path) -> list[ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]


def entered_tables(file: Path) -> set[str]:
    """The tables of the compiler that a file enters something into: `@table(...)`, `table.enter(...)`."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    methods = [f.value for f in calls if isinstance(f, ast.Attribute) and f.attr in ("enter", "without")]
    return {ast.unparse(table).split(".")[-1] for table in (*calls, *methods)} & TABLES - own


def test_folders_that_are_left_out_enter_nothing_into_the_tables_of_the_compiler(tmp_path):
    folders = [Path(wengert.__file__).parent / name for name in sources.LEFT_OUT]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    assert len(files) > 300
    for file in files:
        renamed = {alias.name for node in imports_of(file) for alias in node.names if alias.asname}
        assert renamed.isdisjoint(TABLES), f"{file} has another name for {renamed & TABLES}"
        assert not entered_tables(file), f"{file} enters something into {entered_tables(file)}"
    entering = Path(wengert.__file__).parent / "compiler" / "aspects" / "elementwise.py"
    assert entered_tables(entering) >= {"lowering"}
    (other := tmp_path / "other.py").write_text("@forms.expansion(f)\ndef g(x):\n    return x\n")
    assert entered_tables(other) == {"expansion"}


def test_folders_that_are_left_out_are_imported_by_calls_alone():
    """Which make graphs of functions, and are not on the way from a graph to machine code."""
    folder = Path(wengert.__file__).parent / "compiler"
    files = [file for file in folder.rglob("*.py") if file.parent.name != "call"]
    assert len(files) > 150
    for file in files:
        used = {part for node in imports_of(file) for part in (node.module or "").split(".")[1:2]}
        assert used.isdisjoint(sources.LEFT_OUT), f"{file} uses {used & sources.LEFT_OUT}"
