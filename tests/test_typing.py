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


def run_mypy(file, cache, _):
    """The lines in which mypy finds errors, and its output."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={cache}"]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(file)],
        capture_output=True, text=True, cwd=TYPED, env=os.environ | {"MYPYPATH": str(SOURCE)},
    )  # fmt: skip
    assert found.returncode in (0, 1), found.stdout + found.stderr
    return [int(line) for line in re.findall(rf"^{file.name}:(\d+): error", found.stdout, re.M)], found.stdout


def run_pyright(file, _, project):
    """The lines in which pyright finds errors, and its output."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    (project / "pyrightconfig.json").write_text(json.dumps({"include": [file.name], "extraPaths": [str(SOURCE)]}))
    shutil.copy(file, project)
    found = subprocess.run(
        [sys.executable, "-m", "pyright", "--project", str(project), "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True, text=True,
    )  # fmt: skip
    try:
        report = json.loads(found.stdout)
    except ValueError:
        pytest.skip(f"pyright cannot run, perhaps because it cannot be downloaded: {found.stderr[-200:]}")
    assert report["summary"]["filesAnalyzed"] == 1, found.stdout
    errors = [d for d in report["generalDiagnostics"] if d["severity"] == "error"]
    return [d["range"]["start"]["line"] + 1 for d in errors], found.stdout


@pytest.fixture(scope="module")
def cache(request):
    return Path(request.config.cache.mkdir("typing"))


@pytest.mark.parametrize("checker", [run_mypy, run_pyright])
def test_a_typed_program_has_no_errors(checker, cache, tmp_path):
    lines, output = checker(TYPED / "script.py", cache, tmp_path)
    assert not lines, output


@pytest.mark.parametrize("checker", [run_mypy, run_pyright])
def test_mistakes_are_errors(checker, cache, tmp_path):
    file = TYPED / "mistakes.py"
    wrong = [i for i, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# error")]
    lines, output = checker(file, cache, tmp_path)
    assert sorted(set(lines)) == wrong, output


def test_the_typed_program_runs():
    runpy.run_path(str(TYPED / "script.py"), run_name="__main__")
