"""Type checkers know the names of the package, and the signatures of functions that transforms return."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wengert

ROOT = Path(__file__).parent.parent
TYPED = ROOT / "tests" / "typed"
SOURCE = Path(wengert.__file__).parent.parent


def run_mypy(files, folder):
    """The lines of each file in which mypy finds errors, and its output."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={folder}"]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, files)],
        capture_output=True, text=True, cwd=TYPED, env=os.environ | {"MYPYPATH": str(SOURCE)},
    )  # fmt: skip
    assert found.returncode in (0, 1), found.stdout + found.stderr
    errors = re.findall(r"^(\w+\.py):(\d+): error", found.stdout, re.M)
    return [(name, int(line)) for name, line in errors], found.stdout


def run_pyright(files, folder):
    """The lines of each file in which pyright finds errors, and its output."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    settings = {"include": [file.name for file in files], "extraPaths": [str(SOURCE)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    for file in files:
        shutil.copy(file, folder)
    found = subprocess.run(
        [sys.executable, "-m", "pyright", "--project", str(folder), "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True, text=True,
    )  # fmt: skip
    try:
        report = json.loads(found.stdout)
    except ValueError:
        pytest.skip(f"pyright cannot run, perhaps because it cannot be downloaded: {found.stderr[-200:]}")
    assert report["summary"]["filesAnalyzed"] == len(files), found.stdout
    errors = [d for d in report["generalDiagnostics"] if d["severity"] == "error"]
    return [(Path(d["file"]).name, d["range"]["start"]["line"] + 1) for d in errors], found.stdout


@pytest.mark.parametrize("checker", [run_mypy, run_pyright])
def test_a_typed_program_has_no_errors_and_mistakes_are_errors(checker, tmp_path):
    """In one run, as most of its time goes to reading the package."""
    script, mistakes = TYPED / "script.py", TYPED / "mistakes.py"
    wrong = [i for i, line in enumerate(mistakes.read_text().splitlines(), 1) if line.endswith("# error")]
    errors, output = checker([script, mistakes], tmp_path)
    assert not [line for name, line in errors if name == script.name], output
    assert sorted({line for name, line in errors if name == mistakes.name}) == wrong, output
    if checker is run_mypy:
        assert 'has no attribute "no_such_name"' in output
        assert 'Argument "axes" to "sum" has incompatible type' in output


def test_the_typed_program_runs():
    runpy.run_path(str(TYPED / "script.py"), run_name="__main__")
