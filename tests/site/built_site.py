"""The site, built once for all processes of a session."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build_site(request, tmp_path_factory):
    """The folder of the site, built strictly: a warning is an error."""
    for name in ("material", "mkdocstrings", "latex2mathml", "nbformat"):
        pytest.importorskip(name, reason="The site needs its extra: pip install wengert[docs]")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "site"
    report = folder.with_suffix(".txt")
    try:
        folder.mkdir()
    except FileExistsError:
        while not report.exists():  # another process builds it
            time.sleep(0.2)
    else:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        written = folder.with_suffix(".part")
        written.write_text(f"{done.returncode}\n{done.stdout}{done.stderr}")
        written.replace(report)
    status, _, output = report.read_text().partition("\n")
    assert status == "0", output
    return folder
