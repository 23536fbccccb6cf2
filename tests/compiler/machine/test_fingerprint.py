"""The fingerprint in the keys of the disk cache: contents of sources, versions, and the target."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wengert
from wengert.compiler.machine import fingerprint
from wengert.core import blas, machine

PROGRAM = """
import json, sys, pathlib, os
import numpy as np
import wengert as wg
if sys.argv[1:]:
    wg.compile
    path = pathlib.Path(wg.__file__).parent / sys.argv[1]
    status = path.stat()
    path.write_text(path.read_text().replace(sys.argv[2], sys.argv[3]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
f = wg.compile(lambda x: np.maximum(x, 0.5))
out = f(np.zeros(3)).tolist()
print(json.dumps([out, f.report(np.zeros(3)).is_warm]))
"""
FILE, OLD, NEW = (
    "compiler/aspects/elementwise.py",
    "on_scalars(maximum), choices.maximum",
    "on_scalars(minimum), choices.maximum",
)


@pytest.fixture
def package(tmp_path):
    """A copy of the package, to be changed."""
    shutil.copytree(
        Path(wengert.__file__).parent, tmp_path / "src" / "wengert", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert OLD in (tmp_path / "src" / "wengert" / FILE).read_text()
    return tmp_path


def run(package: Path, *change: str) -> list:
    environment = os.environ | {
        "PYTHONPATH": str(package / "src"),
        "WENGERT_CACHE_DIR": str(package / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, *change],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_file_of_the_same_size_and_time_is_another_program(package):
    assert run(package) == [[0.5] * 3, False]
    assert run(package) == [[0.5] * 3, True]
    path = package / "src" / "wengert" / FILE
    status = path.stat()
    path.write_text(path.read_text().replace(OLD, NEW))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert run(package) == [[0.0] * 3, False]
    path.write_text(path.read_text().replace(NEW, OLD))
    assert run(package) == [[0.5] * 3, True]


def test_sources_that_change_after_the_import_are_not_those_that_run(package):
    """The process runs what it has imported, and stores nothing under the name of what is on the disk now."""
    assert run(package, FILE, OLD, NEW) == [[0.5] * 3, False]
    assert run(package) == [[0.0] * 3, False]


def test_the_key_is_the_same_whether_the_cache_was_empty_or_not(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "cache"))
    first = fingerprint.CacheEntry("a", "b")
    assert first.load(bytes) is None
    first.store(b"code")
    assert fingerprint.CacheEntry("a", "b").load(bytes) == b"code"
    assert fingerprint.CacheEntry("a", "c").load(bytes) is None
    host = fingerprint.machine_target()
    assert fingerprint.CacheEntry("a", "b").key(host) == first.key(host) != fingerprint.CacheEntry("a", "c").key(host)
    monkeypatch.setattr(fingerprint, "surroundings", lambda made_for: None)
    fingerprint.CacheEntry("d").store(b"code of sources that have changed")
    assert fingerprint.CacheEntry("a", "b").load(bytes) is None
    monkeypatch.undo()
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "cache"))
    assert fingerprint.CacheEntry("d").load(bytes) is None


def test_nothing_is_hashed_without_a_cache(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    monkeypatch.setattr(fingerprint, "known_contents", lambda modules: pytest.fail("the sources were hashed"))
    entry = fingerprint.CacheEntry("a")
    assert entry.load(bytes) is None
    entry.store(b"code")
    assert entry.key(fingerprint.machine_target()) is None


def test_everything_is_part_of_the_key(monkeypatch):
    made_for = fingerprint.machine_target()
    known = {fingerprint.surroundings(made_for)}
    assert None not in known
    for changed in ({"triple": "aarch64-apple-darwin"}, {"cpu": "generic"}, {"features": "+none"}, {"vector_bytes": 1}):
        known.add(fingerprint.surroundings(made_for._replace(**changed)))
    monkeypatch.setattr(fingerprint, "versions", lambda: ("BLAS", 32))
    known.add(fingerprint.surroundings(made_for))
    assert len(known) == 6


def test_the_library_of_blas_is_a_version(monkeypatch):
    """Its file decides how wide its integers are: SciPy's, where NumPy ships none, has others."""
    versions = set()
    for names in ([], ["libscipy_openblas64_-1.so"], ["libscipy_openblas64_-2.so"]):
        monkeypatch.setattr(fingerprint, "bundled_libraries", lambda names=names: ("numpy.libs", names))
        versions.add(repr(fingerprint.versions.__wrapped__()))
    assert len(versions) == 3
    assert blas.integer_bits() == blas.blas().bits
    assert (blas.integer_bits() == 64) == bool(blas.bundled_libraries()[1])


def test_keys_have_the_machine_record_and_nothing_is_stored_for_another_one(monkeypatch):
    stored = []
    monkeypatch.setattr(fingerprint.disk, "is_used", lambda: True)
    monkeypatch.setattr(fingerprint.disk, "store_later", lambda key, data: stored.append((key(), data)))
    host, first = fingerprint.machine_target(), fingerprint.CacheEntry("a")
    with machine.using(min_operations_per_thread=7):
        inside = fingerprint.CacheEntry("a")
        first.store(b"begun before")
        inside.store(b"inside")
    inside.store(b"ended after")
    first.store(b"outside")
    assert stored == [(inside.key(host), b"inside"), (first.key(host), b"outside")]
    assert inside.key(host) != first.key(host)
